"""``sed -i``: the commands that patch scripts use, applied to text line by line as GNU sed would."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from preflight.tree.scripts.texts import TooMuch, checked_pattern

_CLASSES = {
    "space": r"\s", "digit": "0-9", "alpha": "A-Za-z", "alnum": "A-Za-z0-9", "upper": "A-Z", "lower": "a-z",
    "blank": r" \t", "word": r"\w",
}  # fmt: skip


class NotFollowed(Exception):
    """A sed script with something in it that is not followed."""


@dataclass(frozen=True, slots=True)
class Address:
    """Which lines a command is for: a number, ``$`` (-1) or a pattern."""

    number: int | None = None
    pattern: re.Pattern[str] | None = None


@dataclass(frozen=True, slots=True)
class SedCommand:
    """One command. ``text`` is what ``a``, ``i`` and ``c`` put, or what ``s`` does; ``shown`` is its pattern."""

    name: str
    first: Address | None
    last: Address | None
    negated: bool
    shown: str
    text: str = ""
    pattern: re.Pattern[str] | None = None
    everywhere: bool = False
    nth: int = 1


@dataclass(slots=True)
class SedCall:
    """A command line of sed, as its options say. ``scripts`` are texts, ``script_files`` files that hold such."""

    in_place: bool = False
    suffix: str = ""
    extended: bool = False
    open: str | None = None  #: an option that is not followed
    scripts: list[str] = field(default_factory=list)
    script_files: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)


_LONG = {
    "in-place": "i", "expression": "e", "file": "f", "regexp-extended": "E", "quiet": "n", "silent": "n",
    "separate": "s", "unbuffered": "u", "null-data": "z", "line-length": "l", "posix": "s", "follow-symlinks": "s",
}  # fmt: skip


def read_call(words: Sequence[str]) -> SedCall:
    """The words behind ``sed``, as GNU's option parser reads them: what follows ``i`` in one word is a suffix."""
    call = SedCall()
    waiting = [*words]
    rest: list[str] = []
    while waiting:
        word = waiting.pop(0)
        if word == "--":
            rest += waiting
            break
        if not word.startswith("-") or word == "-":
            rest.append(word)
            continue
        if word.startswith("--"):
            name, given, value = word[2:].partition("=")
            letter = _LONG.get(name)
            if letter is None:
                call.open = word
                continue
            tail: str | None = value if given else None
            letters = letter
        else:
            letters, tail = word[1:], None
        for at, letter in enumerate(letters):
            after = letters[at + 1 :] if tail is None else tail
            if letter == "i":
                call.in_place, call.suffix = True, after
                break
            if letter in "efl":
                value = after if after or tail is not None else (waiting.pop(0) if waiting else "")
                if letter == "e":
                    call.scripts.append(value)
                elif letter == "f":
                    call.script_files.append(value)
                break
            if letter in "Er":
                call.extended = True
            elif letter not in "su":
                call.open = f"-{letter}"
    if not call.scripts and not call.script_files:
        call.scripts, rest = rest[:1], rest[1:]
    call.files = rest
    return call


def parse_sed(script: str, extended: bool) -> list[SedCommand]:
    """The commands of a sed script. Raises NotFollowed."""
    found: list[SedCommand] = []
    at = 0
    while at < len(script):
        if script[at] in " \t\n;":
            at += 1
            continue
        if script[at] == "#":
            end = script.find("\n", at)
            at = len(script) if end < 0 else end
            continue
        command, at = _command(script, at, extended)
        found.append(command)
    return found


def _command(script: str, at: int, extended: bool) -> tuple[SedCommand, int]:
    first, shown, at = _address(script, at, extended)
    last: Address | None = None
    if first is not None and script[at : at + 1] == ",":
        last, _, at = _address(script, at + 1, extended)
        if last is None:
            raise NotFollowed("an address of this kind is not followed")
    while script[at : at + 1] == " ":
        at += 1
    negated = script[at : at + 1] == "!"
    at += negated
    name = script[at : at + 1]
    if name == "d":
        end = at + 1
        if script[end : end + 1] not in ("", ";", "\n", " ", "}"):
            raise NotFollowed("it is not followed")
        return SedCommand("d", first, last, negated, shown), end
    if name in ("a", "i", "c") and name:
        text = script[at + 1 :]
        text = text.lstrip(" ")
        if text.startswith("\\"):
            text = text[2:] if text[1:2] == "\n" else text[1:]
        return SedCommand(name, first, last, negated, shown, _unescaped(text).rstrip("\n") + "\n"), len(script)
    if name == "s":
        return _substitution(script, at, extended, (first, last, negated))
    raise NotFollowed(f"the sed command {name or 'of this kind'!r} is not followed")


def _substitution(
    script: str, at: int, extended: bool, where: tuple[Address | None, Address | None, bool]
) -> tuple[SedCommand, int]:
    delimiter = script[at + 1 : at + 2]
    if not delimiter or delimiter in "\\\n":
        raise NotFollowed("a substitution has no delimiter")
    pattern, after = _until(script, at + 2, delimiter)
    replacement, end = _until(script, after, delimiter)
    flags = re.match(r"[gIi0-9pm]*", script[end:])
    text = flags[0] if flags is not None else ""
    end += len(text)
    if script[end : end + 1] not in ("", ";", "\n", " ", "}") or "p" in text or "m" in text:
        raise NotFollowed("the flags of a substitution are not followed")
    number = re.sub(r"\D", "", text)
    compiled = _compiled(pattern, extended, delimiter, "i" in text.lower())
    return (
        SedCommand(
            "s", where[0], where[1], where[2], pattern, _replacement(replacement, delimiter), compiled, "g" in text,
            int(number or 1),
        ),
        end,
    )  # fmt: skip


def _until(script: str, at: int, delimiter: str) -> tuple[str, int]:
    begin = at
    while at < len(script):
        char = script[at]
        if char == "\\":
            at += 2
            continue
        if char == delimiter:
            return script[begin:at], at + 1
        at += 1
    raise NotFollowed("a substitution is not closed")


def _address(script: str, at: int, extended: bool) -> tuple[Address | None, str, int]:
    if script[at : at + 1] == "$":
        return Address(-1), "$", at + 1
    number = re.match(r"\d+", script[at:])
    if number is not None:
        if script[at + len(number[0]) : at + len(number[0]) + 1] == "~":
            raise NotFollowed("an address of this kind is not followed")
        return Address(int(number[0])), number[0], at + len(number[0])
    delimiter = script[at : at + 1]
    if delimiter == "\\":
        delimiter = script[at + 1 : at + 2]
        at += 1
    elif delimiter != "/":
        return None, "", at
    pattern, at = _until(script, at + 1, delimiter)
    ignore = script[at : at + 1] == "I"
    return Address(None, _compiled(pattern, extended, delimiter, ignore)), pattern, at + ignore


def _compiled(pattern: str, extended: bool, delimiter: str, ignore: bool) -> re.Pattern[str]:
    text = posix_pattern(pattern, extended, delimiter)
    try:
        checked_pattern(text)
        return re.compile(text, re.IGNORECASE if ignore else 0)
    except TooMuch as error:
        raise NotFollowed(str(error)) from None
    except re.error as error:
        raise NotFollowed(f"the pattern {pattern!r} is not followed: {error}") from None


def posix_pattern(pattern: str, extended: bool, delimiter: str = "/") -> str:
    """A basic or extended regular expression of POSIX, with GNU's additions, as one of Python."""
    found: list[str] = []
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "\\":
            following = pattern[at + 1 : at + 2]
            at += 2
            if following == delimiter and delimiter not in "+?|(){}.*[]^$":
                found.append(re.escape(following))
            elif following in "(){}|+?" and following:
                found.append(re.escape(following) if extended else following)
            elif following in "sSwWbB123456789nt" and following:
                found.append("\\" + following)
            elif following == "<" or following == ">":
                found.append(r"\b")
            elif following.isalnum():
                raise NotFollowed(f"\\{following} in a pattern is not followed")
            else:
                found.append(re.escape(following or "\\"))
            continue
        if char == "[":
            text, at = _bracket(pattern, at)
            found.append(text)
            continue
        if char in "(){}|+?":
            found.append(char if extended else "\\" + char)
        elif char == "*" and (not found or found[-1] in ("(", "|", "^")):
            found.append(r"\*")
        elif char == "^" and found and found[-1] not in ("(", "|") and not extended:
            found.append(r"\^")
        elif char == "$" and at + 1 < len(pattern) and not extended and not pattern.startswith(("\\)", "\\|"), at + 1):
            found.append(r"\$")
        else:
            found.append(char if char in ".*^$" else re.escape(char))
        at += 1
    return "".join(found)


def _bracket(pattern: str, at: int) -> tuple[str, int]:
    end = at + 1
    end += pattern[end : end + 1] == "^"
    end += pattern[end : end + 1] == "]"
    while end < len(pattern) and pattern[end] != "]":
        end = pattern.index(":]", end) + 2 if pattern.startswith("[:", end) and ":]" in pattern[end:] else end + 1
    if end >= len(pattern):
        raise NotFollowed("a bracket of a pattern is not closed")
    inner = pattern[at + 1 : end].replace("\\", "\\\\")
    negated = inner.startswith("^")
    inner = inner[1:] if negated else inner
    inner = inner.replace("[", "\\[") if "[:" not in inner else inner
    if inner.startswith("]"):
        inner = "\\" + inner
    inner = re.sub(r"\[:(\w+):\]", lambda match: _CLASSES.get(match[1], "\ue002"), inner)
    if "\ue002" in inner:
        raise NotFollowed("a class of characters is not followed")
    return f"[{'^' if negated else ''}{inner}]", end + 1


def _replacement(text: str, delimiter: str) -> str:
    found: list[str] = []
    at = 0
    while at < len(text):
        char = text[at]
        if char == "\\":
            following = text[at + 1 : at + 2]
            at += 2
            if following.isdigit():
                found.append(f"\\g<{following}>")
            elif following in "nt" and following:
                found.append("\\" + following)
            elif following in "ULEul" and following:
                raise NotFollowed("the case of a replacement is not followed")
            else:
                found.append("\\\\" if following == "\\" else following)
            continue
        found.append("\\g<0>" if char == "&" else char)
        at += 1
    return "".join(found)


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: {"n": "\n", "t": "\t"}.get(match[1], match[1]), text, flags=re.DOTALL)


def apply_sed(commands: list[SedCommand], text: str) -> tuple[str, list[int]]:
    """The text after the commands, and how often each of them had something to do."""
    lines = text.split("\n")
    ended = lines[-1] == ""
    if ended:
        lines.pop()
    hits = [0] * len(commands)
    inside = [False] * len(commands)
    result: list[str] = []
    for number, line in enumerate(lines, 1):
        before: list[str] = []
        after: list[str] = []
        kept = True
        for at, command in enumerate(commands):
            if not _selected(command, at, inside, number, number == len(lines), line):
                continue
            if command.name == "s" and command.pattern is not None:
                line, count = _substitute(command, line)
                hits[at] += count
                continue
            hits[at] += 1
            if command.name == "a":
                after.append(command.text)
            elif command.name == "i":
                before.append(command.text)
            else:
                kept = False
                if command.name == "c":
                    before.append(command.text)
                break
        result += before
        if kept:
            result.append(line + "\n")
        result += after
    made = "".join(result)
    return (made if ended or not made.endswith("\n") else made[:-1]), hits


def _selected(command: SedCommand, at: int, inside: list[bool], number: int, final: bool, line: str) -> bool:
    if command.first is None:
        chosen = True
    elif command.last is None:
        chosen = _at(command.first, number, final, line)
    elif inside[at]:
        chosen = True
        end = command.last
        over = number >= end.number if end.number is not None and end.number >= 0 else _at(end, number, final, line)
        inside[at] = not over
    else:
        chosen = _at(command.first, number, final, line)
        end = command.last
        inside[at] = chosen and not (end.number is not None and 0 <= end.number <= number)
    return chosen is not command.negated


def _at(address: Address, number: int, final: bool, line: str) -> bool:
    if address.number is not None:
        return final if address.number < 0 else number == address.number
    return address.pattern is not None and address.pattern.search(line) is not None


def _substitute(command: SedCommand, line: str) -> tuple[str, int]:
    assert command.pattern is not None
    count = 0
    end = -1

    def expand(match: re.Match[str]) -> str:
        nonlocal count, end
        if match.start() == match.end() == end:
            return ""  # sed finds nothing right behind what it has found
        end = match.end()
        count += 1
        if count < command.nth or (count > command.nth and not command.everywhere):
            return match[0]
        return match.expand(command.text)

    try:
        made = command.pattern.sub(expand, line)
    except (re.error, IndexError) as error:
        raise NotFollowed(f"a replacement is not followed: {error}") from None
    return made, int(count >= command.nth)
