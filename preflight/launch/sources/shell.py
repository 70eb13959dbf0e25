"""The commands that a shell script runs, with the variables that it sets put in; what it does not tell is marked."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from preflight.launch.sources.found import Assignment, Doubt, FoundCommand
from preflight.launch.sources.shell_tokens import REDIRECTIONS, Piece, Scanner, ShellSyntaxError, Token
from preflight.launch.unresolved import is_open, mark
from preflight.launch.words import Origin, Word

_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\[[^\]]*\])?(\+?)=(.*)", re.DOTALL)
_PARAMETER = re.compile(r"([A-Za-z_][A-Za-z0-9_]*|[@*#?$!-]|[0-9]+)(\[[@*]\])?(:?[-=?+])?(.*)", re.DOTALL)
_DECLARING = frozenset({"export", "declare", "typeset", "local", "readonly"})
_OPENING = frozenset({"if", "for", "while", "until", "case", "select"})
_CLOSING = frozenset({"fi", "done", "esac"})
_BETWEEN = frozenset({"then", "else", "elif", "do", "{", "}", "!", "time", "in"})
#: files that source files that source files
_MOST_SOURCED = 8
#: how much text expansions may make, so that a script that doubles a variable ends in a sentence
_MAX_TEXT = 1_000_000


@dataclass(frozen=True, slots=True)
class _Variable:
    """``value`` is text, a tuple for an array, or None where a condition decides on it (then ``reason`` says so)."""

    value: str | tuple[str, ...] | None
    exported: bool = False
    reason: str = ""
    origin: Origin | None = None  #: where its value was given


@dataclass(slots=True)
class Script:
    """What a script does: its commands in order, and what cannot be told."""

    commands: list[FoundCommand] = field(default_factory=list)
    doubts: list[Doubt] = field(default_factory=list)


def read_script(
    text: str,
    path: str | None,
    *,
    first_line: int = 1,
    environment: tuple[Assignment, ...] = (),
    arguments: tuple[str, ...] | None = None,
    sourced: Callable[[str], str | None] | None = None,
) -> Script:
    """Read a script. ``environment`` is set before it starts, ``arguments`` are ``$1`` and so on if they are known;
    ``sourced`` gives the text of a file that the script reads by ``source``, None if it is not to be had."""
    reader = _Reader(path, environment, arguments, sourced)
    reader.read_text(text, first_line)
    return reader.script


class _Reader:
    def __init__(
        self,
        path: str | None,
        environment: tuple[Assignment, ...],
        arguments: tuple[str, ...] | None,
        sourced: Callable[[str], str | None] | None,
    ) -> None:
        self.script = Script()
        self._path = path
        self._variables = {item.name: _Variable(item.value, True, origin=item.origin) for item in environment}
        self._arguments = arguments
        self._sourced = sourced
        self._depth = 0
        self._exports = False  #: ``set -a``: whatever is set is exported
        self._conditions: list[int] = []
        self._made = 0

    def read_text(self, text: str, first_line: int = 1) -> None:
        """Run through a text; one that cannot be read to its end is a doubt."""
        try:
            self.read(list(Scanner(text, first_line).tokens()))
        except ShellSyntaxError as error:
            where = Origin(self._path, error.line)
            self.script.doubts.append(Doubt(f"the script cannot be read to its end: {error}", where))

    # -- structure ----------------------------------------------------------------------------------------------------

    def read(self, tokens: list[Token]) -> None:
        """Run through the tokens command by command."""
        at = 0
        once: int | None = None  # the line of a && or || before this command
        while at < len(tokens):
            token = tokens[at]
            if token.operator:
                once = token.line if token.operator in ("&&", "||") else None
                if token.operator == "\n" and at and tokens[at - 1].operator in ("&&", "||", "|"):
                    once = tokens[at - 1].line if tokens[at - 1].operator != "|" else None
                at += 1
                continue
            word = token.plain
            if word in _OPENING:
                self._conditions.append(token.line)
                at = self._head(tokens, at + 1, word)
                continue
            if word in _CLOSING:
                if self._conditions:
                    self._conditions.pop()
                at += 1
                continue
            if word in _BETWEEN:
                at += 1
                continue
            if word == "[[":
                while at < len(tokens) and tokens[at].plain != "]]":
                    at += 1
                at += 1
                continue
            if word == "function" or self._defines_function(tokens, at):
                at += 2 if word == "function" else 1
                continue
            at = self._command(tokens, at, once)
            once = None

    def _head(self, tokens: list[Token], at: int, keyword: str) -> int:
        """Behind ``for x in ...`` and ``case x in``: the variable of a loop is whatever the list holds."""
        if keyword in ("for", "select") and at < len(tokens) and tokens[at].plain:
            name = tokens[at].plain or ""
            self._variables[name] = _Variable(None, reason=f"a loop in line {tokens[at].line} sets it")
        if keyword in ("for", "select", "case"):
            while at < len(tokens) and tokens[at].operator not in ("\n", ";"):
                if tokens[at].plain == "in" and keyword == "case":
                    return at + 1
                at += 1
        return at

    def _defines_function(self, tokens: list[Token], at: int) -> bool:
        return (
            at + 2 < len(tokens)
            and (name := tokens[at].plain) is not None
            and not name.endswith("=")
            and tokens[at + 1].operator == "("
            and tokens[at + 2].operator == ")"
        )

    def _command(self, tokens: list[Token], at: int, once: int | None) -> int:
        """One simple command; returns the place behind it."""
        start = tokens[at]
        words: list[Word] = []
        own: list[Assignment] = []
        condition = once or (self._conditions[-1] if self._conditions else None)
        declaring = False
        while at < len(tokens):
            token = tokens[at]
            if token.operator in REDIRECTIONS:
                at += 2
                continue
            if token.operator:
                break
            assigned = self._assignment(token) if not words or declaring else None
            if assigned is not None:
                name, appends, pieces = assigned
                if not pieces and at + 1 < len(tokens) and tokens[at + 1].operator == "(":
                    at = self._array(tokens, at + 2, name, appends, condition, token.line)
                    continue
                value = "".join(self._fields(pieces, split=False))
                own.append(Assignment(name, value, Origin(self._path, token.line)))
                if declaring or self._is_last(tokens, at, own):
                    export = declaring and words[0] == "export"
                    self._set(name, value, appends, condition, token.line, export)
            else:
                words.extend(Word(text, Origin(self._path, token.line)) for text in self._fields(token.pieces))
                declaring = bool(words) and words[0] in _DECLARING
            at += 1
        if not words:
            for item in own:
                if item.name not in self._variables:
                    self._set(item.name, item.value, False, condition, item.origin.line)
            return max(at, tokens.index(start) + 1)
        self._run(words, own, condition)
        return at

    def _is_last(self, tokens: list[Token], at: int, own: list[Assignment]) -> bool:
        """True where no command follows the assignments of this line: they stay."""
        while at + 1 < len(tokens) and not tokens[at + 1].operator:
            at += 1
            if self._assignment(tokens[at]) is None:
                return False
        return True

    def _assignment(self, token: Token) -> tuple[str, bool, tuple[Piece, ...]] | None:
        first = token.pieces[0] if token.pieces else None
        if first is None or first.kind != "text" or first.quoted:
            return None
        found = _ASSIGNMENT.fullmatch(first.text)
        if found is None:
            return None
        rest = (Piece("text", found.group(4), False),) if found.group(4) else ()
        return found.group(1), bool(found.group(3)), (*rest, *token.pieces[1:])

    def _array(self, tokens: list[Token], at: int, name: str, appends: bool, condition: int | None, line: int) -> int:
        elements: list[str] = []
        while at < len(tokens) and tokens[at].operator != ")":
            if not tokens[at].operator:
                elements.extend(self._fields(tokens[at].pieces))
            at += 1
        self._set(name, tuple(elements), appends, condition, line)
        return at + 1

    def _set(
        self,
        name: str,
        value: str | tuple[str, ...],
        appends: bool,
        condition: int | None,
        line: int | None,
        export: bool = False,
    ) -> None:
        origin = Origin(self._path, line)
        known = self._variables.get(name)
        exported = export or self._exports or (known is not None and known.exported)
        if condition is not None:
            if known is None or known.value != value or appends:
                self._variables[name] = _Variable(
                    None, exported, f"a condition in line {condition} decides on it", origin
                )
            return
        if appends and known is not None:
            if known.value is None:
                return
            if isinstance(value, tuple):
                before = known.value if isinstance(known.value, tuple) else (known.value,)
                value = (*before, *value)
            else:
                value = (*known.value, value) if isinstance(known.value, tuple) else known.value + value
        self._variables[name] = _Variable(value, exported, origin=origin)

    # -- commands that matter -----------------------------------------------------------------------------------------

    def _run(self, words: list[Word], own: list[Assignment], condition: int | None) -> None:
        name, rest = words[0], words[1:]
        if name in _DECLARING:
            for word in rest:
                known = self._variables.get(word)
                if name == "export" and known is not None:
                    self._variables[word] = replace(known, exported=True)
            return
        if name == "unset":
            for word in rest:
                self._variables.pop(word, None)
        elif name == "read":
            for word in rest:
                self._variables[word] = _Variable(None, reason=f"line {word.origin.line} reads it")
        elif name == "set" and "--" in rest:
            self._arguments = tuple(rest[rest.index("--") + 1 :])
        elif name == "set" and rest and rest[-1] in ("-a", "+a", "allexport"):
            self._exports = "-a" in rest or "-o" in rest
        elif name in ("source", ".") and rest:
            self._source(rest[0])
        elif name == "shift":
            self._arguments = None
        else:
            self.script.commands.append(FoundCommand(tuple(words), self._environment(own), None, condition))

    def _source(self, file: Word) -> None:
        """Run a file in this shell: what it sets is set here. Of one that is not here (most often it activates an
        environment) nothing is known; a word that needs what it sets says so."""
        text = self._sourced(file) if self._sourced is not None and not is_open(file) else None
        if text is None or self._depth >= _MOST_SOURCED:
            return
        path, self._path = self._path, file
        self._depth += 1
        try:
            self.read_text(text)
        finally:
            self._path = path
            self._depth -= 1

    def _environment(self, own: list[Assignment]) -> tuple[Assignment, ...]:
        names = {item.name for item in own}
        exported = [
            Assignment(name, self._text(name), variable.origin or Origin(self._path))
            for name, variable in self._variables.items()
            if variable.exported and name not in names
        ]
        return (*exported, *own)

    # -- expansions ---------------------------------------------------------------------------------------------------

    def _text(self, name: str) -> str:
        variable = self._variables.get(name)
        if variable is None or variable.value is None:
            return mark(f"${name}")
        return " ".join(variable.value) if isinstance(variable.value, tuple) else variable.value

    def _fields(self, pieces: tuple[Piece, ...], split: bool = True) -> list[str]:
        """The words that a word becomes: none, one, or several."""
        fields: list[list[str]] = [[]]
        kept = [False]

        def add(text: str, quoted: bool) -> None:
            fields[-1].append(text)
            kept[-1] = kept[-1] or quoted or bool(text)

        for piece in pieces:
            if piece.kind == "text":
                add(piece.text, piece.quoted)
            elif piece.kind == "output":
                add(mark(piece.text), True)
            else:
                values = self._parameter(piece.text, piece.quoted)
                one = isinstance(values, str)
                elements = [values] if isinstance(values, str) else list(values)
                for position, element in enumerate(elements):
                    parts = [element] if piece.quoted or not split else _split(element)
                    for number, part in enumerate(parts):
                        if number or position:
                            fields.append([])
                            kept.append(False)
                        add(part, piece.quoted)
                if one and piece.quoted:
                    kept[-1] = True
        made = ["".join(parts) for parts, keep in zip(fields, kept, strict=True) if keep]
        self._made += sum(map(len, made))
        if self._made > _MAX_TEXT:
            raise ShellSyntaxError("its variables grow beyond a million characters", 1)
        return made

    def _parameter(self, inside: str, quoted: bool) -> str | tuple[str, ...]:
        """The value of ``${inside}``; a tuple for the elements of an array or the arguments."""
        found = _PARAMETER.fullmatch(inside)
        if found is None:
            return mark(f"${{{inside}}}")
        name, subscript, operator, rest = found.group(1), found.group(2), found.group(3), found.group(4)
        value = self._value(name)
        if value is None and operator is None:
            return mark(f"${{{inside}}}" if rest or subscript else f"${name}")
        if operator is None:
            if rest:
                return mark(f"${{{inside}}}")
            if isinstance(value, tuple):
                if subscript == "[*]" or name == "*":
                    return _joined(value, quoted)
                return value if subscript or name == "@" else (value[0] if value else "")
            return value or ""
        known = self._variables.get(name)
        undecided = known is not None and known.value is None
        if undecided:
            return mark(f"${{{inside}}}")
        empty = value is None or (operator.startswith(":") and not value)
        if operator.endswith(("-", "=")):
            return self._nested(rest) if empty else (value if value is not None else "")
        if operator.endswith("+"):
            return "" if empty else self._nested(rest)
        return mark(f"${{{inside}}}") if empty else (value if value is not None else "")

    def _value(self, name: str) -> str | tuple[str, ...] | None:
        if name in ("@", "*"):
            return self._arguments
        if name.isdigit():
            index = int(name) - 1
            if self._arguments is None or index < 0:
                return None
            return self._arguments[index] if index < len(self._arguments) else ""
        variable = self._variables.get(name)
        return variable.value if variable is not None else None

    def _nested(self, text: str) -> str:
        """The word behind ``:-``, which may hold expansions and quotes of its own."""
        try:
            tokens = [token for token in Scanner(text).tokens() if not token.operator]
        except ShellSyntaxError:
            return mark(text)
        return " ".join(" ".join(self._fields(token.pieces, split=False)) for token in tokens)


def _joined(elements: tuple[str, ...], quoted: bool) -> str | tuple[str, ...]:
    """``${A[*]}``: one word if it is quoted, as many as there are elements if not."""
    return " ".join(elements) if quoted else elements


def _split(text: str) -> list[str]:
    """Field splitting: at blanks, marks stay whole; a leading blank begins a new word."""
    parts = text.split()
    if not parts:
        return [""] if not text else ["", ""]
    return [*([""] if text[:1].isspace() else []), *parts, *([""] if text[-1:].isspace() else [])]
