"""A scanner that reads any text as Python tokens and never refuses: broken code is what it is made for.

The standard ``tokenize`` stops at the first unclosed string, and libcst and parso give trees, not the places where
quotes and brackets were opened; a diagnosis needs just those.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto


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


@dataclass(frozen=True, slots=True)
class Token:
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


_SPACE = re.compile(r"[ \t\f]+")
_NEWLINE = re.compile(r"\r\n|\r|\n")
_JOIN = re.compile(r"\\(?:\r\n|\r|\n)")
_COMMENT = re.compile(r"#[^\r\n]*")
_NAME = re.compile(r"[^\W\d]\w*")
_NUMBER = re.compile(
    r"0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+"
    r"|(?:\d[\d_]*\.[\d_]*|\.\d[\d_]*|\d[\d_]*)(?:[eE][+-]?\d[\d_]*)?[jJ]?"
)
_STRING_START = re.compile(r"([rRbBuUfFtT]{0,3})('''|\"\"\"|'|\")")
_OP = re.compile(
    r"\*\*=|//=|>>=|<<=|\.\.\.|->|:=|==|!=|<=|>=|\+=|-=|\*=|/=|%=|@=|&=|\|=|\^=|\*\*|//|<<|>>|[-+*/%@&|^~<>()\[\]{},:.;=!]"
)
_PREFIXES = words("r b u f t br rb fr rf tr rt")
_KEYWORDS = frozenset(keyword.kwlist)

OPENERS = {"(": ")", "[": "]", "{": "}"}
CLOSERS = {")": "(", "]": "[", "}": "{"}


def scan(text: str, nested_quotes: bool = True) -> list[Token]:
    """All tokens of a text; whitespace is left out.

    ``nested_quotes``: f-strings are read as Python 3.12 does, where a replacement field may hold the quotes that the
    string itself is written with.
    """
    tokens: list[Token] = []
    at, size = 0, len(text)
    add = tokens.append
    while at < size:
        space = _SPACE.match(text, at)
        if space:
            at = space.end()
            if at >= size:
                break
        kind, end = _next(text, at, nested_quotes)
        add(Token(kind, text[at:end], at, end))
        at = end
    return tokens


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
            at = _string(text, inner.end(), inner.group(2), "", False)[0] - 1
        at += 1


def _next(text: str, at: int, nested_quotes: bool) -> tuple[Kind, int]:
    start = _STRING_START.match(text, at)
    if start and (not start.group(1) or start.group(1).lower() in _PREFIXES):
        end, closed = _string(text, start.end(), start.group(2), start.group(1).lower(), nested_quotes)
        return (Kind.STRING if closed else Kind.UNCLOSED), end
    found = _NAME.match(text, at)
    if found:
        return (Kind.KEYWORD if found.group() in _KEYWORDS else Kind.NAME), found.end()
    for kind, pattern in (
        (Kind.NUMBER, _NUMBER),
        (Kind.OP, _OP),
        (Kind.NEWLINE, _NEWLINE),
        (Kind.COMMENT, _COMMENT),
        (Kind.JOIN, _JOIN),
    ):
        found = pattern.match(text, at)
        if found:
            return kind, found.end()
    return Kind.ODD, at + 1


def _string(text: str, at: int, quote: str, prefix: str, nested_quotes: bool) -> tuple[int, bool]:
    """Where a string ends whose first quote ends at ``at``, and whether it is closed."""
    if nested_quotes and ("f" in prefix or "t" in prefix):
        end = _nested_string(text, at, quote, "r" in prefix)
        if end is not None:
            return end, True
    triple = len(quote) == 3
    size = len(text)
    while at < size:
        if text.startswith(quote, at):
            return at + len(quote), True
        char = text[at]
        if char == "\\":
            at += 3 if text.startswith("\r\n", at + 1) else 2
        elif char in "\r\n" and not triple:
            return at, False
        else:
            at += 1
    return size, False


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
            end, closed = _string(text, inner.end(), inner.group(2), "", False)
            if not closed:
                return None
            at = end
        else:
            at += 1
    return None
