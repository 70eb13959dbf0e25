"""The check ids of the walk, apart from what decides them: rule files are matched with ids at every start."""

from __future__ import annotations

RAISES = "walk-raise"
ASSERTION = "walk-assertion"
ATTRIBUTE = "walk-missing-attribute"
TYPE = "walk-type-error"
DEMANDED = "config-attribute-demanded"
