"""What ends the reading of a launch without a verdict (exit code 2)."""

from __future__ import annotations

from preflight.errors import PreflightError


class LaunchError(PreflightError):
    """A file that the launch is made of cannot be read as what it should be."""
