"""A TOML file of ours, read strictly: what is missing, wrong or not understood ends in RuleFileError, with its line."""

from __future__ import annotations

import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from preflight.errors import RuleFileError
from preflight.rulebook.near import did_you_mean, nearest

_T = TypeVar("_T", str, int, list[Any], dict[str, Any])
_TYPES = {str: "a text", int: "a whole number", list: "a list", dict: "a table"}
#: No rule file is near this size; what is larger was put there by mistake.
MAX_BYTES = 256 * 1024


def read_text(file: Path) -> str:
    """The text of a rule file. Raises RuleFileError."""
    try:
        # Opening a named pipe would wait for ever, so look first.
        if not stat.S_ISREG(file.stat().st_mode):
            raise RuleFileError(f"{file} is no regular file", "put a rule file there, or take it away")
        with file.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise RuleFileError(f"{file} cannot be read: {error.strerror}", "make it readable, or take it away") from error
    if len(data) > MAX_BYTES:
        raise RuleFileError(f"{file} is larger than {MAX_BYTES // 1024} KiB, which no rule file is", "take it away")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise RuleFileError(
            f"{file}:{line}: the byte 0x{data[error.start]:02x} is not UTF-8", "save the file as UTF-8 text"
        ) from error


def parse_text(file: Path, text: str) -> Mapping[str, Any]:
    """The TOML of ``text``, which is that of ``file``. Raises RuleFileError."""
    from preflight.toml import TomlError, parse_toml

    try:
        return parse_toml(text)
    except TomlError as error:
        raise RuleFileError(f"{file} is not valid TOML: {error}", "correct it at that place") from error


class Table:
    """One table of a rule file while it is read: hands out values by type, and knows which keys were not asked for."""

    def __init__(self, content: Mapping[str, Any], file: Path, text: str, at: tuple[str | int, ...]) -> None:
        self.content = content
        self._file = file
        self._text = text
        self._at = at
        self._asked: set[str] = set()

    def error(self, key: str, problem: str, way_out: str) -> RuleFileError:
        """The error for the key, with the line where it stands (or where its table begins)."""
        line = _nearest_line(self._text, self._at, key)
        where = self._file if line is None else f"{self._file}:{line}"
        return RuleFileError(f"{where}: {_dotted((*self._at, key))}: {problem}", way_out)

    def text(
        self,
        key: str,
        *,
        required: bool = True,
        among: list[str] | tuple[str, ...] = (),
        pattern: re.Pattern[str] | None = None,
        hint: str = "",
    ) -> str:
        """A text that is not blank; "" when it is neither there nor required."""
        value = self._get(key, str, required)
        if value is None:
            return ""
        if among and value not in among:
            raise self.error(
                key, f"`{value}` is none of the values that it can have", f"write one of {', '.join(among)}"
            )
        if pattern and not pattern.fullmatch(value):
            raise self.error(key, f"`{value}` is not how this is written", f"write {hint}")
        if not value.strip():
            raise self.error(key, "it is empty", "fill it in" if required else "fill it in, or take the key away")
        return value

    def line(self, key: str) -> int | None:
        value = self._get(key, int, required=False)
        if value is not None and value < 1:
            raise self.error(
                key, f"{value} is no line number", "count lines from 1, or leave it out for the file as a whole"
            )
        return value

    def path(self, key: str) -> str:
        return self._relative(key, self.text(key))

    def texts(self, key: str) -> list[str]:
        value = self._get(key, list, required=False) or []
        for item in value:
            if not isinstance(item, str):
                raise self.error(key, f"{item!r} is no text", 'write ["...", "..."]')
        return value

    def table(self, key: str, *, required: bool = True) -> Table:
        return self._inner(self._get(key, dict, required) or {}, key)

    def tables(self, key: str) -> list[Table]:
        inner = []
        for number, item in enumerate(self._get(key, list, required=False) or []):
            if not isinstance(item, dict):
                raise self.error(key, f"{item!r} is no table", f"write [[{key}]] tables, or {{ key = value }} entries")
            inner.append(self._inner(item, key, number))
        return inner

    def files(self, key: str) -> dict[str, str]:
        """path -> text."""
        table = self.table(key, required=False)
        for path, text in table.all().items():
            table._relative(path, path)
            if not isinstance(text, str):
                raise table.error(path, f"{text!r} is not the text of a file", "write the file's text")
        return dict(table.content)

    def all(self) -> Mapping[str, Any]:
        self._asked.update(self.content)
        return self.content

    def finish(self) -> None:
        """Raises RuleFileError when a key was never asked for, which means that nothing understands it."""
        for key in self.content:
            if key not in self._asked:
                known = ", ".join(sorted(self._asked))
                raise self.error(
                    key, "nothing understands this key", f"{did_you_mean(key, self._asked)}the keys here are {known}"
                )

    def _get(self, key: str, kind: type[_T], required: bool) -> _T | None:
        self._asked.add(key)
        if key not in self.content:
            if required:
                near = nearest(key, self.content.keys() - self._asked)
                raise self.error(key, "the key is missing", f"correct `{near[0]}`, or add it" if near else "add it")
            return None
        value = self.content[key]
        if not isinstance(value, kind) or isinstance(value, bool):
            raise self.error(key, f"{_short(value)} is not {_TYPES[kind]}", f"write {_TYPES[kind]}")
        return value

    def _inner(self, content: Mapping[str, Any], *at: str | int) -> Table:
        return Table(content, self._file, self._text, (*self._at, *at))

    def _relative(self, key: str, path: str) -> str:
        if "\\" in path or "\0" in path or not {"", ".", ".."}.isdisjoint(path.split("/")):
            raise self.error(key, f"`{path}` is no path inside the tree", "write it relative to the tree, with `/`")
        return path


def line_of(text: str, at: tuple[str | int, ...], key: str) -> int | None:
    """The line of ``text`` where ``key`` of the table ``at`` stands, else the line of the table's header, else None.

    Only good enough to lead a reader to the place: it knows headers and keys at the start of a line, and skips texts
    of several lines.
    """
    names = [part for part in at if isinstance(part, str)]
    index = next((part for part in at if isinstance(part, int)), 0)
    header, seen = None if names else 1, -1
    inside = not names
    quote = ""
    for number, line in enumerate(text.splitlines(), 1):
        if quote:
            quote = "" if quote in line else quote
            continue
        stripped = line.strip()
        if stripped.startswith("["):
            name = stripped.strip("[] \t").replace('"', "")
            if names and name == names[0] and stripped.startswith("[["):
                seen += 1
            inside = (
                name.split(".") == names
                and (not stripped.startswith("[[") or seen == index)
                and (len(names) == 1 or seen in (-1, index))
            )
            header = number if inside else header
        elif inside and re.match(rf"""["']?{re.escape(key)}["']?\s*[=.]""", stripped):
            return number
        for mark in ("'''", '"""'):
            if line.count(mark) % 2:
                quote = mark
    return header if names else None


def _nearest_line(text: str, at: tuple[str | int, ...], key: str) -> int | None:
    """The line of the key or, where the file writes its table inside a value, of that value."""
    line = line_of(text, at, key)
    while line is None and at:
        *outer, last = at
        at = tuple(outer)
        line = line_of(text, at, last) if isinstance(last, str) else None
    return line


def _dotted(parts: tuple[str | int, ...]) -> str:
    """``explain.why``, ``example[2].expect``; examples are counted from 1, as people do."""
    out = ""
    for part in parts:
        out += f"[{part + 1}]" if isinstance(part, int) else f".{part}" if out else part
    return f"`{out}`"


def _short(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."
