"""Paths as the user writes them, and folders that may not be readable."""

from __future__ import annotations

import os
from pathlib import Path

from preflight.errors import UsageError


def absolute(text: str | Path) -> Path:
    """``text`` as an absolute path without ``..``; links stay (the ``python`` of an environment is one).

    Raises UsageError for what can be no path.
    """
    if not os.fspath(text) or "\0" in os.fspath(text):
        raise UsageError(f"{os.fspath(text)!r} is no path.", "Write a path to a file or a folder.")
    try:
        return Path(os.path.abspath(os.path.expanduser(text)))  # noqa: PTH100, PTH111 - Path would follow links
    except OSError:
        raise UsageError("The working folder is not there any more.", "Change to a folder that is.") from None


def working_folder() -> Path | None:
    """The working folder; None if it was deleted."""
    try:
        return Path.cwd()
    except OSError:
        return None


def is_file(path: str | Path) -> bool:
    """True for a file, links followed. False also for what cannot be looked at (pathlib's own would raise)."""
    return os.path.isfile(path)  # noqa: PTH113


def is_folder(path: str | Path) -> bool:
    """True for a folder, links followed. False also for what cannot be looked at."""
    return os.path.isdir(path)  # noqa: PTH112


def exists(path: str | Path) -> bool:
    """True if there is something, links followed. False also for what cannot be looked at."""
    return os.path.exists(path)  # noqa: PTH110


def names_in(folder: Path) -> list[str]:
    """The names in a folder, sorted; none if it cannot be listed."""
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208 - names are wanted, not a Path each
    except (OSError, ValueError):
        return []


def same_place(a: Path, b: Path) -> bool:
    """True if two paths lead to the same place."""
    return os.path.realpath(a) == os.path.realpath(b)
