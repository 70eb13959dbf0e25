"""The words of shell text: commands, their operators and heredocs, as far as patch scripts use them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from preflight.tree.scripts.files import ANYWHERE

HEREDOC = re.compile(r"(?<!<)<<(-?)[ \t]*(['\"]?)([A-Za-z_][\w.]*)\2")
_OPERATORS = ("&&", "||", ">>", "2>", "&>", ";", "|", ">", "<", "&", "(", ")")
_VARIABLE = re.compile(r"\$(?:\{(\w+|[@*])(:?[-=][^}]*)?\}|([A-Za-z_]\w*|[0-9@*]))")
#: under this name the variables of a script hold the folder that it stands in
HERE = "\ue004here"
_IS_HERE = re.compile(r"\bdirname\b.*(?:\$0|BASH_SOURCE)|^\s*pwd\s*$|\brev-parse\b")


@dataclass(slots=True)
class Command:
    """A simple command. ``before`` is the operator between it and the one before it (``&&``, ``||``, ``;`` or ``|``).

    ``sources`` and ``targets`` are its redirections (``append``: of ``>>``), ``heredoc`` the text that it is given with
    the line at which that begins.
    """

    line: int
    before: str = ";"
    words: list[str] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    targets: list[tuple[str, bool]] = field(default_factory=list)
    heredoc: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Logical:
    """A line with those that it goes on in, and the texts of its heredocs."""

    line: int
    text: str
    heredocs: tuple[tuple[str, int], ...]
    #: of each heredoc, whether its text is taken as it stands: its word is quoted
    literal: tuple[bool, ...] = ()


def logical_lines(text: str, first_line: int = 1) -> Iterator[Logical]:
    """The lines of shell text, or the instructions of a Dockerfile: continuations joined, heredocs apart."""
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        start = at
        whole = lines[at]
        while whole.endswith("\\") and at + 1 < len(lines):
            at += 1
            nxt = lines[at]
            # a comment between the lines of an instruction is no part of it
            whole = whole if nxt.lstrip().startswith("#") else whole[:-1] + "\n" + nxt
        at += 1
        if whole.lstrip().startswith("#"):
            continue
        joined = at
        while joined < len(lines) and not HEREDOC.search(whole) and _goes_on(whole):
            whole += "\n" + lines[joined]
            joined += 1
            at = joined if not _goes_on(whole) else at
        heredocs: list[tuple[str, int]] = []
        literal: list[bool] = []
        for match in HEREDOC.finditer(whole):
            begin = at
            strip = bool(match[1])
            while at < len(lines) and (lines[at].lstrip("\t") if strip else lines[at]).rstrip() != match[3]:
                at += 1
            body = [line.lstrip("\t") if strip else line for line in lines[begin:at]]
            heredocs.append(("".join(line + "\n" for line in body), first_line + begin))
            literal.append(bool(match[2]))
            at += 1
        if whole.strip():
            yield Logical(first_line + start, whole, tuple(heredocs), tuple(literal))


def _goes_on(text: str) -> bool:
    """Whether a line ends within quotes, or behind an operator that wants another command."""
    at = 0
    begun = False
    while at < len(text):
        char = text[at]
        if char == "\\":
            at += 1
        elif char == "#" and not begun:
            at = text.find("\n", at) if "\n" in text[at:] else len(text)
        elif char in "'\"":
            at += 1
            while at < len(text) and text[at] != char:
                at += 2 if text[at] == "\\" and char == '"' else 1
            if at >= len(text):
                return True
        begun = at < len(text) and not text[at].isspace() and text[at] not in ";&|("
        at += 1
    return text.rstrip().endswith(("&&", "||", "|")) and not text.lstrip().startswith("#")


def commands(logical: Logical, variables: Mapping[str, str]) -> list[Command]:
    """The simple commands of a line. Raises ValueError for a quote that is not closed."""
    found: list[Command] = [Command(logical.line)]
    heredocs = [
        (text if literal else _expanded(text, variables), line)
        for (text, line), literal in zip(logical.heredocs, logical.literal, strict=True)
    ]
    text = HEREDOC.sub(" \ue001 ", logical.text)
    redirect: str | None = None
    for kind, word, line in _words(text, logical.line, variables):
        current = found[-1]
        if kind == "operator":
            if word in (">", ">>", "<", "2>", "&>"):
                redirect = word
            elif word in ("&&", "||", ";", "|", "&"):
                found.append(Command(line, word))
            else:
                current.words.append(word)
            continue
        if word == "\ue001":
            current.heredoc = heredocs.pop(0) if heredocs else None
        elif redirect is not None:
            if redirect == "<":
                current.sources.append(word)
            elif redirect in (">", ">>"):
                current.targets.append((word, redirect == ">>"))
            redirect = None
        else:
            if not current.words:
                current.line = line
            current.words.append(word)
    return [one for one in found if one.words or one.targets or one.sources or one.heredoc]


def _expanded(text: str, variables: Mapping[str, str]) -> str:
    """The text of a heredoc whose word is not quoted."""
    made: list[str] = []
    at = 0
    while at < len(text):
        if text[at] == "\\" and text[at + 1 : at + 2] in ("$", "`", "\\"):
            made.append(text[at + 1])
            at += 2
        elif text[at] in "$`":
            value, at = _expansion(text, at, variables)
            made.append(value)
        else:
            made.append(text[at])
            at += 1
    return "".join(made)


def _words(text: str, line: int, variables: Mapping[str, str]) -> Iterator[tuple[str, str, int]]:
    """(kind, word, line) of each word and operator."""
    at = 0
    word: list[str] = []
    begun = False
    start = line
    while at < len(text):
        char = text[at]
        if char == "'":
            end = text.index("'", at + 1)
            word.append(text[at + 1 : end])
            line += text.count("\n", at, end)
            begun, at = True, end + 1
        elif char == '"':
            inner, end = _quoted(text, at + 1, variables)
            word.append(inner)
            line += text.count("\n", at, end)
            begun, at = True, end
        elif char == "\\" and at + 1 < len(text):
            word.append("" if text[at + 1] == "\n" else text[at + 1])
            begun, at = True, at + 2
        elif char in "$`":
            value, at = _expansion(text, at, variables)
            word.append(value)
            begun = True
        elif char in " \t\n" or any(text.startswith(operator, at) for operator in _OPERATORS):
            if begun:
                yield "word", "".join(word), start
            word, begun = [], False
            if char in " \t\n":
                line += char == "\n"
                at += 1
            else:
                operator = next(one for one in _OPERATORS if text.startswith(one, at))
                yield "operator", operator, line
                at += len(operator)
            start = line
            continue
        elif char == "#" and not begun:
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
        else:
            word.append(char)
            begun, at = True, at + 1
    if begun:
        yield "word", "".join(word), start


def _quoted(text: str, at: int, variables: Mapping[str, str]) -> tuple[str, int]:
    found: list[str] = []
    while True:
        if at >= len(text):
            raise ValueError("a quote is not closed")
        char = text[at]
        if char == '"':
            return "".join(found), at + 1
        if char == "\\" and text[at + 1 : at + 2] in ('"', "\\", "$", "`", "\n"):
            found.append("" if text[at + 1] == "\n" else text[at + 1])
            at += 2
        elif char in "$`":
            value, at = _expansion(text, at, variables)
            found.append(value)
        else:
            found.append(char)
            at += 1


def _expansion(text: str, at: int, variables: Mapping[str, str]) -> tuple[str, int]:
    """The value of a variable or of a command's output, and where the text goes on."""
    if text[at] == "`":
        end = text.index("`", at + 1)
        return ANYWHERE, end + 1
    if text.startswith("$(", at):
        depth, end = 1, at + 2
        while end < len(text) and depth:
            depth += (text[end] == "(") - (text[end] == ")")
            end += 1
        if depth:
            raise ValueError("a bracket is not closed")
        return (variables.get(HERE, ANYWHERE) if _IS_HERE.search(text[at + 2 : end - 1]) else ANYWHERE), end
    match = _VARIABLE.match(text, at)
    if match is None and text.startswith("${", at):
        end = text.find("}", at)
        whole = text[at : end + 1]
        return (variables.get(HERE, ANYWHERE) if re.search(r"BASH_SOURCE|\{0%", whole) else ANYWHERE), end + 1 or len(
            text
        )
    if match is None:
        return "$", at + 1
    name = match[1] or match[3]
    if name == "PWD":
        name = HERE
    if name in variables:
        return variables[name], match.end()
    default = match[2] or ""
    return (default.lstrip(":")[1:] if default else ANYWHERE), match.end()
