"""The ids of the checks of config reads, which rule files name."""

from __future__ import annotations

UNDECLARED = "config-read-undeclared"
HIDDEN = "config-default-hides-rename"
OVERWRITTEN = "config-value-overwritten"

ALL = frozenset({UNDECLARED, HIDDEN, OVERWRITTEN})
