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
    return Path(os.path.abspath(os.path.expanduser(text)))  # noqa: PTH100, PTH111 - Path follows links, and raises for ~nobody


def names_in(folder: Path) -> list[str]:
    """The names in a folder, sorted; none if it cannot be listed."""
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208 - names are wanted, not a Path each
    except (OSError, ValueError):
        return []


def same_place(a: Path, b: Path) -> bool:
    """True if two paths lead to the same place."""
    return os.path.realpath(a) == os.path.realpath(b)
