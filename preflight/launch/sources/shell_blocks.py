"""Where the parts of a shell script begin and end: compound commands, their branches, pipelines."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from preflight.launch.sources.shell_tokens import REDIRECTIONS, Token
from preflight.launch.sources.shell_variables import Variable

OPENING = frozenset({"if", "for", "while", "until", "case", "select"})
CLOSING = frozenset({"fi", "done", "esac"})
BETWEEN = frozenset({"then", "else", "elif", "do", "time", "in"})
BRACES = frozenset({"{", "function"})
_REPEATING = frozenset({"for", "while", "until", "select", "function"})


@dataclass(frozen=True, slots=True)
class Block:
    """A compound command that is being read: ``kind`` is the word that opens it. ``under`` is the line of a condition
    that may keep it from running, ``repeats``: it may run more than once, or elsewhere; both hold for what is in it.
    ``is_taken`` is an ``if`` whose branch at hand certainly runs, ``found`` are the variables that a shell of its own
    began with."""

    kind: str
    under: int | None = None
    repeats: bool = False
    is_taken: bool = False
    found: dict[str, Variable] | None = None


def block_in(
    around: Sequence[Block],
    kind: str,
    under: int | None,
    *,
    is_taken: bool = False,
    found: dict[str, Variable] | None = None,
) -> Block:
    """A block that begins in those around."""
    outer = around[-1] if around else Block("")
    return Block(kind, under or outer.under, outer.repeats or kind in _REPEATING, is_taken, found)


def behind_head(tokens: Sequence[Token], at: int) -> int:
    """The place behind the opening of a compound command: ``for x in ...``, ``case x in``, or the word alone."""
    keyword = tokens[at].plain
    at += 1
    if keyword in ("for", "select", "case"):
        while at < len(tokens) and tokens[at].operator not in ("\n", ";"):
            if tokens[at].plain == "in" and keyword == "case":
                return at + 1
            at += 1
    return at


def stop_of(tokens: Sequence[Token], at: int, stops: Collection[str]) -> int:
    """The place of the first of these words that belongs to the compound command around; the end if there is none."""
    depth = 0
    while at < len(tokens):
        token = tokens[at]
        word = token.plain
        if token.operator:
            at += 2 if token.operator in REDIRECTIONS else 1
        elif not depth and word in stops:
            return at
        elif word in OPENING or word == "{":
            depth += 1
            at = behind_head(tokens, at)
        elif word in CLOSING or word == "}":
            depth -= 1
            at += 1
        elif word in BETWEEN or word == "!":
            at += 1
        else:
            at = behind_simple(tokens, at)
    return at


def behind_pipeline(tokens: Sequence[Token], at: int) -> int:
    """The place behind the pipeline that begins here."""
    while at < len(tokens):
        while at < len(tokens) and (tokens[at].operator == "\n" or tokens[at].plain in ("!", "time")):
            at += 1
        at = _behind_command(tokens, at)
        while at < len(tokens) and tokens[at].operator in REDIRECTIONS:
            at += 2
        if at < len(tokens) and tokens[at].operator in ("|", "|&"):
            at += 1
        else:
            break
    return at


def _behind_command(tokens: Sequence[Token], at: int) -> int:
    while at < len(tokens) and (tokens[at].plain == "function" or defines_function(tokens, at)):
        at = behind_name(tokens, at)
    if at >= len(tokens):
        return at
    word = tokens[at].plain
    if word in OPENING:
        return stop_of(tokens, behind_head(tokens, at), CLOSING) + 1
    if word == "{":
        return stop_of(tokens, at + 1, ("}",)) + 1
    if tokens[at].operator == "(":
        return behind_brackets(tokens, at)
    return behind_simple(tokens, at)


def defines_function(tokens: Sequence[Token], at: int) -> bool:
    """Whether ``name()`` stands here."""
    return (
        at + 2 < len(tokens)
        and (name := tokens[at].plain) is not None
        and not name.endswith("=")
        and tokens[at + 1].operator == "("
        and tokens[at + 2].operator == ")"
    )


def behind_name(tokens: Sequence[Token], at: int) -> int:
    """The place of the body of a function whose definition begins here."""
    at += 2 if tokens[at].plain == "function" else 1
    if at + 1 < len(tokens) and tokens[at].operator == "(" and tokens[at + 1].operator == ")":
        at += 2
    while at < len(tokens) and tokens[at].operator == "\n":
        at += 1
    return at


def behind_simple(tokens: Sequence[Token], at: int) -> int:
    """The place behind the simple command, or the ``[[ ... ]]``, that begins here."""
    double = at < len(tokens) and tokens[at].plain == "[["
    while at < len(tokens):
        token = tokens[at]
        if double:
            if token.plain == "]]":
                return at + 1
        elif token.operator == "(" and at and _is_array(tokens[at - 1]):
            at = behind_brackets(tokens, at)
            continue
        elif token.operator and token.operator not in REDIRECTIONS:
            return at
        at += 1
    return at


def _is_array(token: Token) -> bool:
    last = token.pieces[-1] if token.pieces else None
    return last is not None and last.kind == "text" and not last.quoted and last.text.endswith("=")


def behind_brackets(tokens: Sequence[Token], at: int) -> int:
    """The place behind the bracket that closes the one which opens here."""
    depth = 0
    while at < len(tokens):
        depth += {"(": 1, ")": -1}.get(tokens[at].operator, 0)
        at += 1
        if not depth:
            break
    return at
