"""What ends a run without a verdict. Exit codes are given to these in one place, ``preflight.cli``."""

from __future__ import annotations


class PreflightError(Exception):
    """The request cannot be carried out (exit code 2).

    ``message`` is one sentence with the file, the line and the value that was met; ``help`` is the way out.
    """

    def __init__(self, message: str, help: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.help = help


class UsageError(PreflightError):
    """The command line or the configuration asks for something that does not exist or does not fit together."""


class TreeError(PreflightError):
    """No vLLM tree is where it was looked for, or it cannot be read as one."""


class FetchError(PreflightError):
    """A released tree cannot be had from the package index."""


class RuleFileError(PreflightError):
    """A rule file cannot be read, or says what no check understands."""
