"""The ids of the checks of patches without effect, which rule files name."""

from __future__ import annotations

UNUSED = "added-file-unused"
IDENTICAL = "patch-file-identical"
STALE = "stale-bytecode"
CACHED = "model-info-cached"
