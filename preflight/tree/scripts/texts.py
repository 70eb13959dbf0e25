"""Text of a file of the tree on its way through a script: it stays known whose text it is, and what was looked for."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from preflight.tree.scripts.outcome import Made, Outcome, ScriptFailure, ScriptWhy

#: Longer text is no source that anybody patches; what a hostile script makes of it must end.
LONGEST = 16 << 20
#: Shorter anchors are words that stand in many places, and mean to.
_WHOLE_LINES = 2


class TreeText(str):
    """The text of a file of the tree, or what replacements have made of it. ``path`` is the tree's."""

    __slots__ = ("path",)
    path: str

    @classmethod
    def of(cls, text: str, path: str) -> TreeText:
        made = cls(text)
        made.path = path
        return made


class TooMuch(Exception):
    """A step that may take for ever, or more memory than there is."""


@dataclass(slots=True)
class Steps:
    """What one script has looked for and replaced, in order."""

    script: str
    outcome: Outcome
    #: anchors that a test did not find: (path, anchor) -> line
    missed: dict[tuple[str, str], int] = field(default_factory=dict)
    #: files that a test did not find: path -> line
    absent: dict[str, int] = field(default_factory=dict)
    found: set[str] = field(default_factory=set)  #: files of which some test or replacement found what it looked for
    misses: list[tuple[str, str, int]] = field(default_factory=list)  #: (path, anchor, line), in order
    reads: int = 0  #: how often a file of the tree was read
    hits: int = 0  #: how often a test or a replacement found its text

    def tested(self, text: object, anchor: str, line: int, found: bool) -> None:
        """A script asks whether ``anchor`` is in a file."""
        if isinstance(text, TreeText) and anchor:
            if found:
                self.found.add(text.path)
                self.hits += 1
            else:
                self.misses.append((text.path, anchor, line))
                self.missed.setdefault((text.path, anchor), line)

    def left(self, before: tuple[int, int, int, int]) -> None:
        """A function of the script has returned; ``before`` is what ``state`` was when it began. One that has read a
        file, has not found what it asked for, and has found nothing else, was to patch and did not."""
        reads, hits, misses, failures = before
        alone = self.reads > reads and self.hits == hits and len(self.outcome.failures) == failures
        if alone and len(self.misses) > misses:
            path, anchor, line = self.misses[-1]
            made = ScriptFailure(self.script, line, ScriptWhy.NO_ANCHOR, path, anchor, handled=True)
            self.outcome.failures.append(made)

    @property
    def state(self) -> tuple[int, int, int, int]:
        """How much was read, found, missed and reported so far."""
        return self.reads, self.hits, len(self.misses), len(self.outcome.failures)

    def replace(self, text: str, old: str, new: str, count: int, line: int) -> str:
        """``text.replace(old, new, count)``."""
        number = text.count(old)
        if len(text) + number * len(new) > LONGEST:
            raise TooMuch("the text gets too long")
        result = str.replace(text, old, new, count)
        if isinstance(text, TreeText):
            self._note(text, old, new, number, count, line)
            return TreeText.of(result, text.path)
        return result

    def substituted(self, text: str, result: str, pattern: str, number: int, line: int, made: str) -> str:
        """The ``result`` of a ``re.sub`` on ``text`` that replaced ``number`` places."""
        if not isinstance(text, TreeText):
            return result
        if not number:
            self._fail(line, ScriptWhy.NO_ANCHOR, text.path, pattern)
        else:
            self.found.add(text.path)
            self.hits += 1
            self.outcome.made.setdefault(text.path, []).append(Made(line, made))
        return TreeText.of(result, text.path)

    def _note(self, text: TreeText, old: str, new: str, number: int, count: int, line: int) -> None:
        if not old or old == new:
            return
        if number == 0:
            applied = new.strip() and new in text and new not in old
            self._fail(line, ScriptWhy.APPLIED if applied else ScriptWhy.NO_ANCHOR, text.path, old)
            return
        self.found.add(text.path)
        self.hits += 1
        self.outcome.made.setdefault(text.path, []).append(Made(line, new))
        if number > 1 and (count < 0 or number > count) and _is_block(old):
            self._fail(line, ScriptWhy.SEVERAL, text.path, old, lines_of(text, old))

    def _fail(self, line: int, why: ScriptWhy, path: str, anchor: str, lines: tuple[int, ...] = ()) -> None:
        self.outcome.failures.append(ScriptFailure(self.script, line, why, path, anchor, lines))


def lines_of(text: str, part: str) -> tuple[int, ...]:
    """The first lines (a few) at which ``part`` begins in ``text``."""
    found: list[int] = []
    at = text.find(part)
    while at >= 0 and len(found) < 4:
        lead = len(part) - len(part.lstrip("\n"))
        found.append(text.count("\n", 0, at + lead) + 1)
        at = text.find(part, at + len(part))
    return tuple(found)


def _is_block(anchor: str) -> bool:
    """Whether an anchor is a piece of code that somebody took for the only one of its kind."""
    return sum(bool(line.strip()) for line in anchor.splitlines()) >= _WHOLE_LINES


def checked_pattern(pattern: object, flags: int = 0) -> None:
    """Raises TooMuch for a pattern that may search for ever: a repeat without an end inside of another one."""
    if isinstance(pattern, re.Pattern):
        return  # it was looked at when it was compiled
    text = pattern
    if not isinstance(text, (str, bytes)):
        raise TooMuch("the pattern is no text")
    try:
        parsed = _parser()(text, flags)  # type: ignore[arg-type, call-arg]
    except (re.error, RecursionError, OverflowError) as error:
        raise TooMuch(f"the pattern is none: {error}") from None
    across = bool((flags | parsed.state.flags) & re.DOTALL)  # type: ignore[attr-defined]
    if _nested(parsed, 0, 2 if across else 6):
        raise TooMuch("the pattern repeats a repeat, and may search for ever")


def _parser() -> Callable[[str], object]:
    try:
        from re import _parser as parser  # type: ignore[attr-defined]
    except ImportError:  # Python 3.10
        import sre_parse as parser
    return parser.parse


def _nested(parsed: object, open_repeats: int, most: int) -> bool:
    """Whether a parsed pattern has a repeat of many inside another one, or more than ``most`` of them in a row."""
    repeats = 0
    for operation, argument in parsed:  # type: ignore[attr-defined]
        name = str(operation)
        if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            _, highest, inner = argument
            many = int(highest) > 64
            repeats += many
            if (many and open_repeats) or _nested(inner, open_repeats + many, most):
                return True
        elif name == "BRANCH":
            if any(_nested(arm, open_repeats, most) for arm in argument[1]):
                return True
        elif name in ("SUBPATTERN", "ASSERT", "ASSERT_NOT", "ATOMIC_GROUP"):
            inner = argument[-1] if isinstance(argument, tuple) else argument
            if _nested(inner, open_repeats, most):
                return True
    return repeats > most
