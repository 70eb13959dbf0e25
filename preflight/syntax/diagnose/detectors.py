"""All detectors, in one place."""

from __future__ import annotations

from preflight.syntax.diagnose import imports
from preflight.syntax.diagnose.model import Detector

DETECTORS: tuple[Detector, ...] = (imports.split_import_list,)
