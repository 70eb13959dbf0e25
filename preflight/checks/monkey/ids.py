"""The ids of the checks of monkey patches, which rule files name."""

from __future__ import annotations

REPLACEMENT = "replacement-incompatible"
UNREAD = "patched-name-unread"
BOUND_BEFORE = "patched-name-bound-before"
PARENT_ONLY = "patch-in-parent-only"
