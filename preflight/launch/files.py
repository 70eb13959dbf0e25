"""Files that a launch names, read with their dangers in mind: size, kind, encoding, loops of links."""

from __future__ import annotations

from pathlib import Path

from preflight.launch.errors import LaunchError
from preflight.tree.reading import read_bytes


def read_file(path: Path, shown: str, most: int, what: str) -> bytes:
    """The bytes of a regular file of at most ``most`` bytes. Raises LaunchError that names ``what`` it should be."""
    try:
        return read_bytes(path, most)
    except OSError as error:
        raise LaunchError(f"{shown} cannot be read as {what}: {error.strerror or error}") from None
    except ValueError as error:  # a null byte in the name
        raise LaunchError(f"{shown!r} is no file name: {error}") from None


def read_text(path: Path, shown: str, most: int, what: str) -> str:
    """The same as text. Raises LaunchError for bytes that are no UTF-8."""
    data = read_file(path, shown, most, what)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise LaunchError(f"{shown} is not {what}: byte {error.start + 1} (line {line}) is no UTF-8 text") from None


def exists(path: Path) -> bool:
    """True if there is something at ``path``; a loop of links and a name that cannot be one are nothing."""
    try:
        path.stat()
    except (OSError, ValueError):
        return False
    return True
