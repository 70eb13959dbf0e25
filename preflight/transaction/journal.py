"""What is written down: the manifest of what is applied, and the journal of a transaction that is under way.

Both are JSON. They are read strictly: a path that leads out of the package, or a value of another kind, is an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NoReturn

from preflight.errors import TreeError
from preflight.transaction.state import Kind, State
from preflight.tree.kinds import PACKAGE

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of the manifest: what was there before the first apply, the kept file that has it (None where that was
    no file), and what was written."""

    path: str
    original: State
    kept: str | None
    written: State


@dataclass(frozen=True, slots=True)
class Manifest:
    """What is applied. ``identity`` is that of the transaction that wrote it; ``record`` is the sha256 of the RECORD
    that the tree had (None without one), ``folders`` were made for files that were added."""

    identity: str
    vllm: str | None
    record: str | None
    entries: tuple[Entry, ...] = ()
    folders: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {"format": FORMAT, **asdict(self)}


@dataclass(frozen=True, slots=True)
class Step:
    """One file of a transaction. ``kept`` has what was ``before`` (None where that was no file), ``part`` is the name
    of the new content beside the file until it is renamed."""

    path: str
    before: State
    after: State
    kept: str | None
    part: str


@dataclass(frozen=True, slots=True)
class Journal:
    """A transaction that has begun. It is carried out once the manifest has its ``identity``."""

    identity: str
    steps: tuple[Step, ...]
    folders: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {"format": FORMAT, **asdict(self)}


def read_manifest(data: bytes, file: Path) -> Manifest:
    """The manifest that ``data`` is. Raises TreeError, naming ``file``."""
    reader = _Reader(file)
    table = reader.table(data)
    entries = tuple(
        Entry(reader.path(row), reader.state(row, "original"), reader.name(row, "kept"), reader.state(row, "written"))
        for row in reader.rows(table, "entries")
    )
    return Manifest(
        reader.text(table, "identity"),
        reader.optional(table, "vllm"),
        reader.optional(table, "record"),
        entries,
        reader.folders(table),
    )


def read_journal(data: bytes, file: Path) -> Journal:
    """The journal that ``data`` is. Raises TreeError, naming ``file``."""
    reader = _Reader(file)
    table = reader.table(data)
    steps = tuple(
        Step(
            reader.path(row),
            reader.state(row, "before"),
            reader.state(row, "after"),
            reader.name(row, "kept"),
            reader.name(row, "part") or reader.fail("part"),
        )
        for row in reader.rows(table, "steps")
    )
    return Journal(reader.text(table, "identity"), steps, reader.folders(table))


def inside_package(path: str) -> bool:
    """True for a path that is below the package's folder."""
    parts = path.split("/")
    return len(parts) > 1 and parts[0] == PACKAGE and "\0" not in path and not {"", ".", ".."}.intersection(parts)


class _Reader:
    """Takes values out of JSON, or says which one is not what it should be."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def fail(self, what: str) -> NoReturn:
        raise TreeError(
            f"{self._file} is not what preflight wrote there: its `{what}` cannot be right.",
            "Somebody changed it. Reinstall vLLM, and remove the folder that the file is in.",
        )

    def table(self, data: bytes) -> Mapping[str, Any]:
        import json

        try:
            table = json.loads(data)
        except (ValueError, RecursionError):
            return self.fail("JSON")
        if not isinstance(table, dict) or table.get("format") != FORMAT:
            return self.fail("format")
        return table

    def rows(self, table: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
        rows = table.get(key)
        return rows if isinstance(rows, list) and all(isinstance(row, dict) for row in rows) else self.fail(key)

    def text(self, table: Mapping[str, Any], key: str) -> str:
        value = table.get(key)
        return value if isinstance(value, str) else self.fail(key)

    def optional(self, table: Mapping[str, Any], key: str) -> str | None:
        return None if table.get(key) is None else self.text(table, key)

    def path(self, row: Mapping[str, Any]) -> str:
        value = self.text(row, "path")
        return value if inside_package(value) else self.fail("path")

    def folders(self, table: Mapping[str, Any]) -> tuple[str, ...]:
        values = table.get("folders")
        if not isinstance(values, list) or not all(
            isinstance(value, str) and inside_package(value) for value in values
        ):
            return self.fail("folders")
        return tuple(values)

    def name(self, row: Mapping[str, Any], key: str) -> str | None:
        """The name of a file, which has no folder in it."""
        value = self.optional(row, key)
        return self.fail(key) if value is not None and (value in ("", ".", "..") or set(value) & set("/\0")) else value

    def state(self, row: Mapping[str, Any], key: str) -> State:
        table = row.get(key)
        if not isinstance(table, dict) or table.get("kind") not in [kind.value for kind in Kind]:
            return self.fail(key)
        kind = Kind(table["kind"])
        mode, mtime = (self._number(table, name) for name in ("mode", "mtime"))
        state = State(kind, self.optional(table, "digest"), self.optional(table, "target"), mode, mtime)
        whole = {Kind.FILE: state.digest and mode is not None, Kind.LINK: state.target, Kind.ABSENT: True}[kind]
        return state if whole else self.fail(key)

    def _number(self, table: Mapping[str, Any], key: str) -> int | None:
        value = table.get(key)
        return value if value is None or (isinstance(value, int) and value >= 0) else self.fail(key)
