"""A scanner that reads any text as Python tokens and never refuses: broken code is what it is made for.

The standard ``tokenize`` stops at the first unclosed string, and libcst and parso give trees, not the places where
quotes and brackets were opened; a diagnosis needs just those.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator, Sequence
from enum import Enum, auto
from typing import NamedTuple


class Kind(Enum):
    """What a token is."""

    NAME = auto()
    KEYWORD = auto()
    NUMBER = auto()
    STRING = auto()
    UNCLOSED = auto()  #: a string whose closing quote is not there
    OP = auto()
    COMMENT = auto()
    NEWLINE = auto()  #: the end of a physical line
    JOIN = auto()  #: a backslash at the end of a line
    ODD = auto()  #: a character that no Python token has


class Token(NamedTuple):
    """One token: its text, and where it stands (offsets into the text)."""

    kind: Kind
    text: str
    start: int
    end: int

    @property
    def quote(self) -> str:
        """The quotes that a string is opened with; empty for what is no string."""
        if self.kind not in (Kind.STRING, Kind.UNCLOSED):
            return ""
        rest = self.text[self.prefix_length :]
        return rest[:3] if rest[:3] in ('"""', "'''") else rest[:1]

    @property
    def prefix_length(self) -> int:
        """How many letters stand before a string's quotes."""
        return len(self.text) - len(self.text.lstrip("rRbBuUfFtT"))


def words(text: str) -> frozenset[str]:
    """A set of words, written as a line of text."""
    return frozenset(text.split())


_PREFIX = r"[rR][bBfFtT]?|[bBfFtT][rR]?|[uU]"
_STRING_START = re.compile(rf"({_PREFIX}|)('{{3}}|\"{{3}}|'|\")")
_TOKEN = re.compile(
    rf"""(?P<STRING>(?:{_PREFIX}|)['"])
    |(?P<NAME>[^\W\d]\w*)
    |(?P<NUMBER>0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+
        |(?:\d[\d_]*\.[\d_]*|\.\d[\d_]*|\d[\d_]*)(?:[eE][+-]?\d[\d_]*)?[jJ]?)
    |(?P<OP>\*\*=|//=|>>=|<<=|\.\.\.|->|:=|[=!<>+\-*/%@&|^]=|\*\*|//|<<|>>|[-+*/%@&|^~<>()\[\]{{}},:.;=!])
    |(?P<NEWLINE>\r\n|\r|\n)
    |(?P<COMMENT>\#[^\r\n]*)
    |(?P<JOIN>\\(?:\r\n|\r|\n))""",
    re.VERBOSE,
)
#: What can end a string or must be stepped over in it: its quotes, an escaped character, the end of a line.
_STRING_STOP = {quote: re.compile(rf"{quote}|\\(?:\r\n|.|$)|[\r\n]", re.DOTALL) for quote in ('"', "'", '"""', "'''")}
_SPACE = re.compile(r"[ \t\f]*")
_LINE_END = re.compile(r"[\r\n]")
_KEYWORDS = frozenset(keyword.kwlist)

#: The operators that make a statement an assignment.
ASSIGNMENTS = words("= += -= *= /= //= %= @= &= |= ^= >>= <<= **=")
OPENERS = {"(": ")", "[": "]", "{": "}"}
CLOSERS = {")": "(", "]": "[", "}": "{"}


def scan(text: str, nested_quotes: bool = True) -> list[Token]:
    """All tokens of a text; whitespace is left out.

    ``nested_quotes``: f-strings are read as Python 3.12 does, where a replacement field may hold the quotes that the
    string itself is written with.
    """
    tokens: list[Token] = []
    add, space, match = tokens.append, _SPACE.match, _TOKEN.match
    kinds = Kind.__members__
    at, size = 0, len(text)
    plain_until = 0  # where an f-string did not close in the newer way, the rest of its line is not tried again
    while True:
        found = space(text, at)
        assert found is not None
        at = found.end()
        if at >= size:
            return tokens
        found = match(text, at)
        if found is None:
            kind, end = Kind.ODD, at + 1
        else:
            kind, end = kinds[found.lastgroup or ""], found.end()
            if kind is Kind.STRING:
                kind, end, failed = _string_at(text, at, nested_quotes and at >= plain_until)
                plain_until = max(plain_until, failed)
            elif kind is Kind.NAME and found.group() in _KEYWORDS:
                kind = Kind.KEYWORD
        add(Token(kind, text[at:end], at, end))
        at = end


def swallowed(tokens: Sequence[Token]) -> Token | None:
    """The string of three quotes that is never closed, so that text and code change sides from there on.

    An apostrophe in what used to be text can hide it: then the string is told by the words right behind its end.
    """
    lonely = False
    for token, after in zip(reversed(tokens), [None, *reversed(tokens[1:])], strict=True):
        if token.kind is Kind.UNCLOSED:
            if len(token.quote) == 3:
                return token
            lonely = True
        elif lonely and len(token.quote) == 3 and after is not None and after.kind is Kind.NAME:
            return token
    return None


def replacement_fields(token: Token) -> Iterator[str]:
    """What stands in the outermost braces of an f-string, as it was written."""
    text = token.text
    at = token.prefix_length + len(token.quote)
    depth, start = 0, 0
    while at < len(text) - len(token.quote):
        char = text[at]
        if depth == 0 and text[at : at + 2] in ("{{", "}}"):
            at += 1
        elif char == "{":
            depth += 1
            start = at + 1 if depth == 1 else start
        elif char == "}" and depth:
            depth -= 1
            if depth == 0:
                yield text[start:at]
        elif depth and char in "'\"":
            inner = _STRING_START.match(text, at)
            assert inner is not None
            at = _string(text, inner.end(), inner.group(2))[0] - 1
        at += 1


def _string_at(text: str, at: int, nested_quotes: bool) -> tuple[Kind, int, int]:
    """The string that begins here, its end, and up to where the newer way of reading f-strings failed (0: nowhere)."""
    start = _STRING_START.match(text, at)
    assert start is not None
    prefix, quote = start.group(1).lower(), start.group(2)
    failed = 0
    if nested_quotes and ("f" in prefix or "t" in prefix):
        end = _nested_string(text, start.end(), quote, "r" in prefix)
        if end is not None:
            return Kind.STRING, end, 0
        line_end = _LINE_END.search(text, at)
        failed = line_end.start() if line_end is not None else len(text)
    end, closed = _string(text, start.end(), quote)
    return (Kind.STRING if closed else Kind.UNCLOSED), end, failed


def _string(text: str, at: int, quote: str) -> tuple[int, bool]:
    """Where a plain string ends whose first quote ends at ``at``, and whether it is closed."""
    for found in _STRING_STOP[quote].finditer(text, at):
        stop = found.group()
        if stop == quote:
            return found.end(), True
        if stop[0] in "\r\n" and len(quote) == 1:
            return found.start(), False
    return len(text), False


def _nested_string(text: str, at: int, quote: str, raw: bool) -> int | None:
    """The end of an f-string that may hold strings in its replacement fields; None if it is not closed that way."""
    triple = len(quote) == 3
    depth, size = 0, len(text)
    while at < size:
        char = text[at]
        if depth == 0 and text.startswith(quote, at):
            return at + len(quote)
        if char in "\r\n" and not triple and depth == 0:
            return None
        if char == "\\" and (depth == 0 or not raw):
            at += 2
        elif char == "{":
            if depth == 0 and text.startswith("{{", at):
                at += 1
            else:
                depth += 1
            at += 1
        elif char == "}":
            depth = max(depth - 1, 0)
            at += 1
        elif depth and char in "'\"":
            inner = _STRING_START.match(text, at)
            assert inner is not None
            end, closed = _string(text, inner.end(), inner.group(2))
            if not closed:
                return None
            at = end
        else:
            at += 1
    return None
