"""The structure of shell text: lists of commands, conditions, loops and functions, with each command as it is written.

Nothing is expanded here: what a variable is, is known only when the command is come to.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from preflight.tree.scripts.words import HEREDOC, Logical, logical_lines

_OPERATORS = ("&&", "||", ";", "|&", "|", "&")
#: what ends an arm of a `case`
_ARM_ENDS = (";;&", ";;", ";&")
_FUNCTION = re.compile(
    r"(?:function[ \t]+([\w.:-]+)[ \t]*(?:\([ \t]*\))?|([\w.:-]+)[ \t]*\([ \t]*\))[ \t\n]*(?=[{(]|$)"
)
_WORD = re.compile(r"[^\s;&|()<>]+")
_OPENING = frozenset({"if", "for", "while", "until", "case", "{", "(", "select"})
_CLOSING = frozenset({"fi", "done", "esac", "}", ")"})
_KEYWORDS = _OPENING | _CLOSING | {"then", "elif", "else", "do", "!", "time"}


@dataclass(frozen=True, slots=True)
class Simple:
    """A command as it is written. ``before`` is the operator between it and what stands before it; "" for the
    redirections of a block."""

    before: str
    logical: Logical
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Block:
    """A compound command. ``kind``: "if" (``arms`` are condition and body of each, the condition of ``else`` empty),
    "for" (``name`` and ``words``, one arm), "while" and "until" (one arm), "group", "subshell", "function" (``name``),
    and "case" (its word in ``words``; ``patterns`` are those of each arm, ``ends`` what each arm ends with).
    ``redirected`` are the redirections behind it."""

    before: str
    kind: str
    line: int
    arms: tuple[tuple[tuple[Node, ...], tuple[Node, ...]], ...] = ()
    name: str = ""
    words: str = ""
    patterns: tuple[tuple[str, ...], ...] = ()
    ends: tuple[str, ...] = ()
    negated: bool = False
    redirected: Simple | None = None


Node = Simple | Block


class Unclosed(ValueError):
    """A compound command that does not end, or ends another one."""


@dataclass(slots=True)
class _Piece:
    """A keyword, or the text of a command, with the operator before it."""

    before: str
    text: str
    line: int
    keyword: bool
    heredocs: list[tuple[str, int]] = field(default_factory=list)
    literal: list[bool] = field(default_factory=list)


def _logical(piece: _Piece) -> Logical:
    return Logical(piece.line, piece.text, tuple(piece.heredocs), tuple(piece.literal))


def blocks(text: str, first_line: int = 1) -> tuple[Node, ...]:
    """The commands of shell text. Raises ValueError for text that is no shell's."""
    return structured(logical_lines(text, first_line))


def structured(lines: Iterable[Logical]) -> tuple[Node, ...]:
    """The same of lines that were read before."""
    pieces: list[_Piece] = []
    for logical in lines:
        pieces += _pieces(logical)
    reader = _Reader(pieces)
    found = reader.commands(frozenset())
    if reader.at < len(pieces):
        raise Unclosed(f"`{pieces[reader.at].text}` in line {pieces[reader.at].line} closes nothing")
    return found


def _pieces(logical: Logical) -> Iterator[_Piece]:
    """The commands and keywords of a line."""
    text = logical.text
    at = 0
    before = ";"
    heredocs = iter(zip(logical.heredocs, logical.literal or [False] * len(logical.heredocs), strict=False))
    while at < len(text):
        rest = text[at:]
        ending = next((one for one in _ARM_ENDS if rest.startswith(one)), None)
        if ending is not None:
            yield _Piece(before, ending, logical.line + text.count("\n", 0, at), True)
            at, before = at + len(ending), ";"
            continue
        operator = next((one for one in _OPERATORS if rest.startswith(one)), None)
        if operator is not None:
            before = operator
            at += len(operator)
            continue
        if text[at].isspace():
            at += 1
            continue
        if text[at] == "#":
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
            continue
        line = logical.line + text.count("\n", 0, at)
        function = _FUNCTION.match(text, at)
        if function is not None:
            yield _Piece(before, f"function {function[1] or function[2]}", line, True)
            at, before = function.end(), ";"
            continue
        if text[at] in "()":
            yield _Piece(before, text[at], line, True)
            before = "" if text[at] == ")" else ";"
            at += 1
            continue
        word = _WORD.match(text, at)
        if word is not None and word[0] in _KEYWORDS:
            piece = _Piece(before, word[0], line, True)
            at = word.end()
            if word[0] == "for":
                end = _end(text, at)
                piece.text = f"for {text[at:end].strip()}"
                at = end
            elif word[0] == "case":
                end = _word_end(text, at)
                piece.text = f"case {text[at:end].strip()}"
                at = end
            yield piece
            before = "" if word[0] in _CLOSING else ";"
            continue
        end = _end(text, at)
        part = text[at:end]
        taken = [next(heredocs, None) for _ in HEREDOC.finditer(part)]
        own = [one for one in taken if one is not None]
        yield _Piece(before, part, line, False, [one[0] for one in own], [one[1] for one in own])
        at, before = end, ";"


def _word_end(text: str, at: int) -> int:
    """Behind the word that a `case` asks for and the `in` behind it."""
    while at < len(text) and text[at].isspace():
        at += 1
    while at < len(text) and not text[at].isspace():
        opened = text[at : at + 2] in ("$(", "${")
        at = _quote_end(text, at) if text[at] in "'\"`" else _end(text, at) if opened else at + 1
    found = re.compile(r"\s+in(?=\s|$)").match(text, at)
    if found is None:
        raise Unclosed("a `case` has no `in`")
    return found.end()


def _end(text: str, at: int) -> int:
    """Where a command ends that begins at a place: before an operator outside of quotes and brackets."""
    depth = 0
    begin = at
    if text.startswith("[[", at):
        at = max(text.find("]]", at), at)  # operators stand for other things in it
    while at < len(text):
        char = text[at]
        if char == "\\":
            at += 2
            continue
        if char in "'\"`":
            at = _quote_end(text, at)
            continue
        if char == "$" and text[at + 1 : at + 2] in ("(", "{"):
            depth += 1
            at += 2
            continue
        if char in "({" and depth:
            depth += 1
        elif char in ")}" and depth:
            depth -= 1
        elif depth == 0 and _ends_here(text, at, begin):
            return at
        at += 1
    return len(text)


def _ends_here(text: str, at: int, begin: int) -> bool:
    """Whether an operator or a comment stands here."""
    char = text[at]
    if char == "#":
        return at > begin and text[at - 1].isspace()
    return char in ";|)" or (char == "&" and not _redirects(text, at))


def _redirects(text: str, at: int) -> bool:
    """Whether an ``&`` belongs to a redirection: ``2>&1``, ``&>file``."""
    return text[at - 1 : at] in (">", "<") or (text[at + 1 : at + 2] == ">")


def _quote_end(text: str, at: int) -> int:
    """Behind the quote that is opened at a place."""
    quote = text[at]
    at += 1
    while at < len(text) and text[at] != quote:
        at += 2 if text[at] == "\\" and quote != "'" else 1
    if at >= len(text):
        raise Unclosed("a quote is not closed")
    return at + 1


class _Reader:
    def __init__(self, pieces: Sequence[_Piece]) -> None:
        self._pieces = pieces
        self.at = 0

    def commands(self, ends: frozenset[str]) -> tuple[Node, ...]:
        """The commands up to one of these keywords, which is not taken."""
        found: list[Node] = []
        negated = False
        before = ";"
        while self.at < len(self._pieces):
            piece = self._pieces[self.at]
            before = piece.before if not negated else before
            if not piece.keyword:
                self.at += 1
                found.append(Simple(before or ";", _logical(piece), negated))
                negated = False
            elif piece.text in ends:
                return tuple(found)
            elif piece.text in ("!", "time"):
                self.at += 1
                negated = negated is not (piece.text == "!")
            else:
                block = self._block(piece, before, negated)
                behind = self._pieces[self.at] if self.at < len(self._pieces) else None
                if behind is not None and not behind.keyword and behind.before == "":
                    self.at += 1
                    block = replace(block, redirected=Simple("", _logical(behind)))
                found.append(block)
                negated = False
        return tuple(found)

    def _block(self, piece: _Piece, before: str, negated: bool) -> Block:
        self.at += 1
        word, _, rest = piece.text.partition(" ")
        line = piece.line
        if word == "if":
            arms: list[tuple[tuple[Node, ...], tuple[Node, ...]]] = []
            condition = self.commands(frozenset({"then"}))
            self._take("then")
            while True:
                arms.append((condition, self.commands(frozenset({"elif", "else", "fi"}))))
                following = self._take("elif", "else", "fi")
                if following == "fi":
                    return Block(before, "if", line, tuple(arms), negated=negated)
                condition = ()
                if following == "elif":
                    condition = self.commands(frozenset({"then"}))
                    self._take("then")
        if word in ("for", "select"):
            name, _, words = rest.partition(" in ")
            return Block(before, "for", line, (((), self._body()),), name.strip(), words.strip(), negated=negated)
        if word in ("while", "until"):
            condition = self.commands(frozenset({"do"}))
            return Block(before, word, line, ((condition, self._body()),), negated=negated)
        if word == "case":
            return self._case(Block(before, "case", line, words=rest[:-2].strip(), negated=negated))
        if word in ("{", "("):
            close = "}" if word == "{" else ")"
            body = self.commands(frozenset({close}))
            self._take(close)
            return Block(before, "group" if word == "{" else "subshell", line, (((), body),), negated=negated)
        if word == "function":
            if self.at >= len(self._pieces):
                raise Unclosed(f"the function {rest} has no body")
            inner = self._block(self._pieces[self.at], ";", False)
            return Block(before, "function", line, inner.arms, rest)
        raise Unclosed(f"`{piece.text}` in line {line} closes nothing")

    def _case(self, block: Block) -> Block:
        """The arms of a `case`, behind its `in`."""
        arms: list[tuple[tuple[Node, ...], tuple[Node, ...]]] = []
        patterns: list[tuple[str, ...]] = []
        ends: list[str] = []
        while self._next() != "esac":
            if self._next() == "(":
                self.at += 1
            wanted: list[str] = []
            while self._next() != ")":
                wanted.append(self._next())
                self.at += 1
            self.at += 1
            patterns.append(tuple(wanted))
            arms.append(((), self.commands(frozenset({*_ARM_ENDS, "esac"}))))
            ends.append(self._next() if self._next() in _ARM_ENDS else ";;")
            self.at += self._next() in _ARM_ENDS
        self.at += 1
        return replace(block, arms=tuple(arms), patterns=tuple(patterns), ends=tuple(ends))

    def _next(self) -> str:
        if self.at >= len(self._pieces):
            raise Unclosed("there is no `esac`")
        return self._pieces[self.at].text.strip()

    def _body(self) -> tuple[Node, ...]:
        self._take("do")
        body = self.commands(frozenset({"done"}))
        self._take("done")
        return body

    def _take(self, *wanted: str) -> str:
        if self.at >= len(self._pieces):
            raise Unclosed(f"there is no `{wanted[-1]}`")
        piece = self._pieces[self.at]
        if piece.text not in wanted:
            raise Unclosed(f"`{piece.text}` in line {piece.line} stands for `{wanted[-1]}`")
        self.at += 1
        return piece.text
