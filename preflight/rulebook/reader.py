"""One parsed rule file -> Rule, strictly: an unknown key, a missing one or a wrong type ends in RuleFileError.

The file format is fixed by the contract; docs/writing-rules.md tells it to the people who write rules.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from preflight.errors import RuleFileError
from preflight.model import Severity
from preflight.rulebook.near import did_you_mean, nearest
from preflight.rulebook.rule import Example, Expected, Rule, Status

_T = TypeVar("_T", str, int, list[Any], dict[str, Any])

CODE = re.compile(r"[A-Z]{2,8}[1-9][0-9]{2}")
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_RELEASE = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+")
_LONGEST_SUMMARY = 160
_ENCODINGS = ("utf-8", "latin-1", "utf-16")
_DEFAULT_VLLM = "0.16.0"
_TYPES = {str: "a text", int: "a whole number", list: "a list", dict: "a table"}


def read_rule(document: Mapping[str, Any], file: Path, text: str) -> Rule:
    """Make a Rule of ``document``, the parsed content of ``file``; ``text`` is the same unparsed, for line numbers.

    Raises RuleFileError for whatever the format does not allow. The specifiers of ``[applies]`` are not looked into,
    see ``check_specifiers``.
    """
    table = _Table(document, file, text, ())
    code = table.text("code", pattern=CODE, hint="two to eight capital letters and three digits, like `PF101`")
    name = table.text(
        "name", pattern=NAME, hint="lower-case words joined by `-` that say the fault, like `syntax-error`"
    )
    if file.name != f"{code}-{name}.toml":
        raise table.error(
            "name", f"the file is called `{file.name}`", f"rename it to `{code}-{name}.toml`, or correct code and name"
        )
    status = Status(table.text("status", among=[status.value for status in Status]))
    removed = status is Status.REMOVED
    summary = table.text("summary")
    if "\n" in summary or len(summary) > _LONGEST_SUMMARY:
        raise table.error(
            "summary", "it is no single line", f"say the fault in one line of at most {_LONGEST_SUMMARY} characters"
        )
    explain = table.table("explain")
    examples = tuple(map(_example, table.tables("example")))
    if not examples and not removed:
        raise table.error("example", "there is none", "add [[example]] tables: one that fails and one that is clear")
    if not removed and len({example.fails for example in examples}) < 2:
        raise table.error("example", "all have the same verdict", "give at least one that fails and one that is clear")
    applies = table.table("applies", required=False)
    rule = Rule(
        code=code,
        name=name,
        severity=Severity(table.text("severity", among=[severity.value for severity in Severity])),
        since=table.text("since", pattern=_RELEASE, hint="the release of preflight that first had it, like `0.1.0`"),
        status=status,
        check=table.text("check", required=not removed, pattern=NAME, hint="the id of a check, like `syntax-error`"),
        summary=summary,
        what=explain.text("what").strip(),
        why=explain.text("why").strip(),
        fix=explain.text("fix").strip(),
        applies={key: applies.text(key) for key in ("vllm", "transformers", "python") if key in applies.content},
        parameters=dict(table.table("parameters", required=False).all()),
        examples=examples,
        file=file,
    )
    for read in (explain, applies, table):
        read.finish()
    return rule


def check_specifiers(rule: Rule, text: str) -> None:
    """Raises RuleFileError when a value of ``[applies]`` is no PEP 440 specifier."""
    if not rule.applies:
        return
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    for key, specifier in rule.applies.items():
        try:
            SpecifierSet(specifier)
        except InvalidSpecifier:
            table = _Table({}, rule.file, text, ("applies",))
            raise table.error(
                key, f"`{specifier}` is no version specifier", 'write it like ">=0.8,<0.20" (PEP 440)'
            ) from None


def _example(table: _Table) -> Example:
    fails = table.text("verdict", among=["fails", "clear"]) == "fails"
    expect = tuple(_expected(entry) for entry in table.tables("expect"))
    if fails and not expect:
        raise table.error(
            "expect", "an example that fails does not say where", 'add expect = [{ path = "vllm/x.py", line = 3 }]'
        )
    if expect and not fails:
        raise table.error(
            "expect", "an example that is clear expects findings", "take `expect` away, or make the verdict `fails`"
        )
    example = Example(
        title=table.text("title"),
        fails=fails,
        expect=expect,
        options=tuple(table.texts("options")),
        release=table.files("release"),
        files=table.files("files"),
        missing=tuple(table.texts("missing")),
        workspace=table.files("workspace"),
        encoding=table.text("encoding", required=False, among=_ENCODINGS) or "utf-8",
        vllm=table.text("vllm", required=False) or _DEFAULT_VLLM,
        transformers=table.text("transformers", required=False) or None,
    )
    for path in example.missing:
        if path not in example.release:
            raise table.error("missing", f"`{path}` is not a file of the release", "name it in [example.release] too")
    if not (example.release or example.files or example.workspace):
        raise table.error("files", "the example has no file at all", "add [example.files]")
    table.finish()
    return example


def _expected(table: _Table) -> Expected:
    expected = Expected(table.path("path"), table.line("line"))
    table.finish()
    return expected


class _Table:
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

    def table(self, key: str, *, required: bool = True) -> _Table:
        return self._inner(self._get(key, dict, required) or {}, key)

    def tables(self, key: str) -> list[_Table]:
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

    def _inner(self, content: Mapping[str, Any], *at: str | int) -> _Table:
        return _Table(content, self._file, self._text, (*self._at, *at))

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
