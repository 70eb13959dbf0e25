"""What a vLLM log looks like, as data: ``rules/triage/*.toml`` -> tables, strictly.

An unknown key, a missing one, a regular expression that does not compile or a placeholder that nothing fills ends in
RuleFileError, as for rule files. docs/triage.md tells the format.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from pathlib import Path
from string import Formatter

from preflight.rulebook.load import own_rules_folder
from preflight.rulebook.table import Table, parse_text, read_text


class Weight(IntEnum):
    """How sure it is that a sign of failure ended the launch."""

    SPARE = 0  #: an echo of something else, or somebody's wish; for when nothing else is left
    HINT = 1  #: a process is gone, nobody says why
    LIKELY = 2  #: an error was logged; the launch may have gone on
    CERTAIN = 3


@dataclass(frozen=True, slots=True)
class Noise:
    """Lines that look bad and mean nothing for the launch."""

    contains: str
    why: str


@dataclass(frozen=True, slots=True)
class Handled:
    """What stands before a traceback that was caught (``contains``), or before one that was not (``fatal``)."""

    contains: str
    fatal: bool


@dataclass(frozen=True, slots=True)
class Echo:
    """An exception that only says that another one was raised elsewhere, or (``flow``) that something was ended.

    ``message`` may have a group ``error``: the text of that other one, for a log that does not hold it otherwise, and a
    group ``code``: the exit code of the process that failed.
    """

    exception: re.Pattern[str] | None
    message: re.Pattern[str] | None
    path: re.Pattern[str] | None
    flow: bool


@dataclass(frozen=True, slots=True)
class Ending:
    """A line that tells the end of a process that could say nothing itself."""

    contains: str
    pattern: re.Pattern[str] | None
    exception: str
    message: str
    weight: Weight


@dataclass(frozen=True, slots=True)
class Stage:
    """A part of a launch. ``markers`` are expressions for what vLLM writes when it begins, ``functions`` those that
    only run in it (``function`` or ``file.py:function``)."""

    name: str
    rank: int
    markers: tuple[str, ...]
    functions: frozenset[str]


@dataclass(frozen=True, slots=True)
class Cause:
    """What a root cause means, what to do, and the rules (names, codes, checks) that decide it, the likeliest first.

    ``nature`` is set where no static check can decide it: a word for why (memory, hardware, network, ...).
    """

    id: str
    exception: re.Pattern[str] | None
    message: re.Pattern[str] | None
    path: re.Pattern[str] | None
    stages: tuple[str, ...]
    rules: tuple[str, ...]
    nature: str | None
    meaning: str
    help: str


@dataclass(frozen=True, slots=True)
class Patterns:
    """All tables."""

    noise: tuple[Noise, ...]
    handled: tuple[Handled, ...]
    echoes: tuple[Echo, ...]
    endings: tuple[Ending, ...]
    stages: tuple[Stage, ...]
    waiting: tuple[str, ...]
    shutdown: tuple[str, ...]
    causes: tuple[Cause, ...]

    def stage(self, name: str) -> Stage:
        return next(stage for stage in self.stages if stage.name == name)


@lru_cache(maxsize=1)
def load_patterns(folder: Path | None = None) -> Patterns:
    """The tables of ``folder`` (default: ours). Raises RuleFileError."""
    folder = folder or own_rules_folder() / "triage"
    with _File(folder / "noise.toml") as table:
        noise = tuple(_noise(entry) for entry in table.each("noise"))
    with _File(folder / "tracebacks.toml") as table:
        handled = tuple(_handled(entry) for entry in table.each("before"))
        echoes = tuple(_echo(entry) for entry in table.each("echo"))
    with _File(folder / "endings.toml") as table:
        endings = tuple(_ending(entry) for entry in table.each("ending"))
        waiting = table.regexes("waiting")
        shutdown = table.regexes("shutdown")
    with _File(folder / "stages.toml") as table:
        stages = tuple(_stage(entry, rank) for rank, entry in enumerate(table.each("stage")))
    names = {stage.name for stage in stages}
    with _File(folder / "causes.toml") as table:
        causes = tuple(_cause(entry, names) for entry in table.each("cause"))
    return Patterns(noise, handled, echoes, endings, stages, waiting, shutdown, causes)


class _File:
    """One file as a table, whose every key must be understood."""

    def __init__(self, file: Path) -> None:
        text = read_text(file)
        self._table = Table(parse_text(file, text), file, text, ())

    def __enter__(self) -> _File:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self._table.finish()

    def regexes(self, key: str) -> tuple[str, ...]:
        return _regexes(self._table, key)

    def each(self, key: str) -> Iterator[Table]:
        for entry in self._table.tables(key):
            yield entry
            entry.finish()


def _noise(entry: Table) -> Noise:
    return Noise(entry.text("contains"), entry.text("why"))


def _handled(entry: Table) -> Handled:
    return Handled(entry.text("contains"), entry.text("verdict", among=["handled", "fatal"]) == "fatal")


def _echo(entry: Table) -> Echo:
    entry.text("why")
    flow = entry.text("kind", among=["echo", "flow"]) == "flow"
    return Echo(_regex(entry, "exception"), _regex(entry, "message"), _regex(entry, "path"), flow)


def _ending(entry: Table) -> Ending:
    pattern = _regex(entry, "pattern")
    message = entry.text("message", required=False)
    _placeholders(entry, "message", message, pattern)
    weight = entry.text("weight", among=["certain", "likely", "hint", "spare"])
    return Ending(entry.text("contains"), pattern, entry.text("exception"), message, Weight[weight.upper()])


def _stage(entry: Table, rank: int) -> Stage:
    return Stage(entry.text("name"), rank, _regexes(entry, "markers"), frozenset(entry.texts("functions")))


def _cause(entry: Table, stages: set[str]) -> Cause:
    message = _regex(entry, "message")
    meaning, help = entry.text("meaning"), entry.text("help")
    _placeholders(entry, "meaning", meaning, message)
    _placeholders(entry, "help", help, message)
    rules, nature = tuple(entry.texts("rules")), entry.text("nature", required=False) or None
    if rules and nature:
        raise entry.error("nature", "what rules decide is not undecidable", "take `rules` or `nature` away")
    only = tuple(entry.texts("stages"))
    for name in only:
        if name not in stages:
            raise entry.error(
                "stages", f"`{name}` is no stage of stages.toml", f"write one of {', '.join(sorted(stages))}"
            )
    return Cause(
        entry.text("id"),
        _regex(entry, "exception"),
        message,
        _regex(entry, "path"),
        only,
        rules,
        nature,
        meaning.strip(),
        help.strip(),
    )


def _regexes(entry: Table, key: str) -> tuple[str, ...]:
    for text in entry.texts(key):
        _compiled(entry, key, text)
    return tuple(entry.texts(key))


def _regex(entry: Table, key: str) -> re.Pattern[str] | None:
    text = entry.text(key, required=False)
    return _compiled(entry, key, text) if text else None


def _compiled(entry: Table, key: str, text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise entry.error(key, f"`{text}` is no regular expression: {error}", "correct it") from None


def _placeholders(entry: Table, key: str, text: str, pattern: re.Pattern[str] | None) -> None:
    groups = pattern.groupindex if pattern is not None else {}
    try:
        names = [name for _, name, _, _ in Formatter().parse(text) if name is not None]
    except ValueError as error:
        raise entry.error(key, f"its braces do not match: {error}", "write a brace that is text twice") from None
    for name in names:
        if name not in groups:
            raise entry.error(key, f"nothing fills `{{{name}}}`", "name a group of the regular expression so")
