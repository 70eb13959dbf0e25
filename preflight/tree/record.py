"""``*.dist-info/RECORD``: the release's own list of its files with their hashes.

The format is that of the packaging guide's "Recording installed projects": CSV rows of path, ``algorithm=digest``
(urlsafe base64 without padding) and size, paths relative to the folder that holds the dist-info. RECORD names itself,
without a hash; so a RECORD that does not is not whole.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from preflight.errors import TreeError
from preflight.tree.reading import read_bytes, reason

_TOO_BIG = 64 << 20
_WAY_OUT = "Reinstall vLLM in this environment, or name the release to compare with: --vllm VERSION."


class Entry(NamedTuple):
    """One row. ``digest`` is RECORD's base64 text; hash and size are absent for files written at install."""

    path: str
    algorithm: str | None
    digest: str | None
    size: int | None
    line: int


@dataclass(frozen=True, slots=True)
class Record:
    """A RECORD that was read. ``entries`` are the rows inside the tree by path, ``outside`` the others.

    Rows such as ``../../../bin/vllm`` are legitimate (scripts, data files): they are kept apart and never opened.
    """

    file: Path
    entries: dict[str, Entry]
    outside: tuple[Entry, ...]

    @property
    def compiled(self) -> frozenset[str]:
        """The paths of compiled modules."""
        return frozenset(path for path in self.entries if is_compiled(path))

    def names_package(self, package: str) -> bool:
        """True if a Python file of ``package`` stands in RECORD with a hash."""
        prefix = package + "/"
        return any(e.digest and e.path.startswith(prefix) and e.path.endswith(".py") for e in self.entries.values())


def is_compiled(path: str) -> bool:
    """True for an extension module's file name (Linux, macOS, Windows)."""
    return path.endswith((".so", ".pyd", ".dylib", ".dll"))


def read_record(file: Path) -> Record:
    """Reads ``file``. Raises TreeError when it cannot be read or is no whole RECORD."""
    try:
        data = read_bytes(file, _TOO_BIG)
    except OSError as error:
        raise TreeError(f"{file} cannot be read: {reason(error)}.", _WAY_OUT) from None
    return parse_record(data, file)


def parse_record(data: bytes, file: Path) -> Record:
    """Reads RECORD's bytes; ``file`` is where they are from. Raises TreeError, with the line, for what is no RECORD."""
    if b"\0" in data:
        raise _bad(file, data[: data.index(b"\0")].count(b"\n") + 1, "holds null bytes, so it is a binary file")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise _bad(file, line, f"holds the byte 0x{data[error.start]:02x}, which is not UTF-8") from None
    if not text.strip():
        raise TreeError(f"{file} is empty.", _WAY_OUT)
    entries: dict[str, Entry] = {}
    outside: list[Entry] = []
    whole = False
    own = f"{file.parent.name}/{file.name}"
    for number, row in _rows(text, file):
        entry = _entry(row, number, file)
        if _leaves(entry.path):
            outside.append(entry)
            continue
        path = entry.path if "./" not in entry.path and "//" not in entry.path else os.path.normpath(entry.path)
        known = entries.setdefault(path, entry)
        if known is not entry and (known.digest, known.size) != (entry.digest, entry.size):
            raise _bad(file, number, f"names {path} again, with another hash than in line {known.line}")
        whole = whole or path == own
    if not whole:
        raise TreeError(
            f"{file} is truncated: it does not name itself ({own}), which every whole RECORD does.", _WAY_OUT
        )
    return Record(file, entries, tuple(outside))


def _rows(text: str, file: Path) -> list[tuple[int, list[str]]]:
    """Numbered rows. Only rows with quotes need the csv module, and they are few."""
    rows: list[tuple[int, list[str]]] = []
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        if '"' not in line:
            if line:
                rows.append((number, line.split(",")))
            continue
        import csv

        try:
            rows.append((number, next(csv.reader([line], strict=True))))
        except csv.Error as error:
            raise _bad(file, number, f"is no row of comma-separated values ({error})") from None
    return rows


def _entry(row: list[str], number: int, file: Path) -> Entry:
    if len(row) != 3:
        shown = ",".join(row)[:80]
        raise _bad(file, number, f"has {len(row)} fields where RECORD has three (path, hash, size): {shown!r}")
    path, hashed, size_text = row
    path = path.replace("\\", "/")
    if not path or not path.isprintable():
        raise _bad(file, number, f"has {path[:80]!r} where a file's path belongs")
    if ".." in path and ".." in path.split("/")[_climbs(path) :]:
        raise _bad(file, number, f"names a path that climbs out of the folder it went into: {path!r}")
    algorithm = digest = None
    if hashed:
        algorithm, equals, digest = hashed.partition("=")
        if not equals or not algorithm or not digest or not digest.isascii():
            raise _bad(file, number, f"has {hashed[:80]!r} where a hash (algorithm=digest) belongs")
    if size_text and not (size_text.isascii() and size_text.isdigit()):
        raise _bad(file, number, f"has {size_text[:40]!r} where a file's size belongs")
    return Entry(path, algorithm, digest, int(size_text[:20]) if size_text else None, number)


def _climbs(path: str) -> int:
    """How many leading parts are ``..``."""
    count = 0
    while path.startswith("../", 3 * count):
        count += 1
    return count


def _leaves(path: str) -> bool:
    return path.startswith(("../", "/")) or path[1:2] == ":"


def climbs_out_of(entry: Entry, depth: int) -> bool:
    """True if the row leads above ``depth`` parents of the folder: no installer's scripts or data files are there."""
    return _leaves(entry.path) and (not entry.path.startswith("../") or _climbs(entry.path) > depth)


def _bad(file: Path, line: int, what: str) -> TreeError:
    return TreeError(f"{file}, line {line}: {what}.", _WAY_OUT)
