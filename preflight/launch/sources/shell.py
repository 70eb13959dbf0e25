"""The commands that a shell script runs, with the variables that it sets put in; what it does not tell is marked."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from preflight.launch.sources.found import Assignment, Doubt, FoundCommand
from preflight.launch.sources.shell_blocks import (
    BETWEEN,
    BRACES,
    CLOSING,
    OPENING,
    Block,
    behind_brackets,
    behind_head,
    behind_name,
    behind_pipeline,
    behind_simple,
    block_in,
    defines_function,
    stop_of,
)
from preflight.launch.sources.shell_tests import TESTS, Tests
from preflight.launch.sources.shell_tokens import REDIRECTIONS, Piece, Scanner, ShellSyntaxError, Token
from preflight.launch.sources.shell_variables import Variables
from preflight.launch.unresolved import is_open
from preflight.launch.words import Origin, Word

_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\[[^\]]*\])?(\+?)=(.*)", re.DOTALL)
_DECLARING = frozenset({"export", "declare", "typeset", "local", "readonly"})
#: commands that set variables by ways that are not followed
_SETTING = frozenset({"mapfile", "readarray", "getopts", "let", "printf"})
#: a condition of more tokens is not decided
_LONGEST = 400
#: files that source files that source files
_MOST_SOURCED = 8


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
        self._variables = Variables(environment, arguments)
        self._tests = Tests(self._variables)
        self._sourced = sourced
        self._depth = 0
        self._blocks: list[Block] = []
        self._once: int | None = None  #: the line of a && or || before this command, if it may keep it from running
        self._status: bool | None = None  #: whether the command before succeeded, where that is known
        self._negated = False
        self._is_odd = False  #: variables may be set by ways that are not followed at all

    def read_text(self, text: str, first_line: int = 1) -> None:
        """Run through a text; one that cannot be read to its end is a doubt."""
        first, _, _ = text.partition("\n")
        self._tests.plain = first.startswith("#!") and "bash" not in first
        self._read_text(text, first_line)

    def _read_text(self, text: str, first_line: int) -> None:
        try:
            self.read(list(Scanner(text, first_line).tokens()))
        except ShellSyntaxError as error:
            where = Origin(self._path, error.line)
            self.script.doubts.append(Doubt(f"the script cannot be read to its end: {error}", where))

    # -- structure ----------------------------------------------------------------------------------------------------

    def read(self, tokens: list[Token]) -> None:
        """Run through the tokens command by command."""
        at = 0
        self._end()
        while at < len(tokens):
            token = tokens[at]
            word = token.plain
            if token.operator:
                at = self._operator(tokens, at)
            elif word == "!":
                self._negated = not self._negated
                at += 1
            elif word == "if":
                at = self._if(tokens, at)
            elif word in OPENING or word == "{":
                at = self._open(tokens, at, word)
            elif word in CLOSING or word == "}":
                self._close(BRACES if word == "}" else OPENING)
                at += 1
            elif word in ("else", "elif") and self._is_taken():
                self._close(OPENING)
                at = stop_of(tokens, at + 1, ("fi",)) + 1
            elif word in BETWEEN:
                if word != "time":
                    self._end()
                at += 1
            elif word == "function" or defines_function(tokens, at):
                at = self._function(tokens, at)
            elif word == "[[" or word in TESTS:
                at = self._test(tokens, at)
            else:
                at = self._done(self._command(tokens, at))

    def _end(self) -> None:
        """The end of a list of commands."""
        self._once = self._status = None
        self._negated = False

    def _close(self, kinds: Collection[str]) -> None:
        """End the innermost block of these kinds."""
        at = next((n for n in reversed(range(len(self._blocks))) if self._blocks[n].kind in kinds), len(self._blocks))
        del self._blocks[at:]
        self._end()

    def _is_taken(self) -> bool:
        """Whether the branch of the innermost ``if`` certainly runs, so that what stands behind it does not."""
        return next((block.is_taken for block in reversed(self._blocks) if block.kind == "if"), False)

    def _operator(self, tokens: list[Token], at: int) -> int:
        token = tokens[at]
        if token.operator in ("&&", "||"):
            if self._status is None:
                self._once = token.line
            elif self._status is not (token.operator == "&&"):
                return behind_pipeline(tokens, at + 1)
            at += 1
            while at < len(tokens) and tokens[at].operator == "\n":
                at += 1
            return at
        if token.operator in REDIRECTIONS:
            return at + 2
        if token.operator == "(":
            if at + 1 < len(tokens) and tokens[at + 1].operator == "(":
                return self._arithmetic(tokens, at)
            return self._open(tokens, at, "(")
        if token.operator == ")" and self._blocks and self._blocks[-1].kind == "(":
            self._variables.restore(self._blocks.pop().found)
        self._end()
        return at + 1

    def _open(self, tokens: list[Token], at: int, kind: str) -> int:
        """Begin a block. That of a loop or ``case`` is as if under a condition; the variable of a loop is whatever the
        list holds."""
        token = tokens[at]
        under = self._once if kind in ("{", "(") else token.line
        if kind in ("for", "select") and at + 1 < len(tokens) and tokens[at + 1].plain:
            self._variables.open(tokens[at + 1].plain or "")
        found = self._variables.snapshot() if kind == "(" else None
        self._blocks.append(block_in(self._blocks, kind, under, found=found))
        self._end()
        return behind_head(tokens, at)

    def _if(self, tokens: list[Token], at: int) -> int:
        """From ``if`` to the first command of the branch that runs; where that is not known, both are read."""
        line = tokens[at].line
        under = self._once
        self._end()
        while True:
            head = tokens[at + 1 : at + 1 + _LONGEST]
            then = stop_of(head, 0, ("then",))
            answer = None
            if under is None and then < len(head) and self._is_decidable():
                self._variables.condition = self._condition()
                answer = self._tests.condition(head[:then])
            if answer is None:
                self._blocks.append(block_in(self._blocks, "if", line))
                return at + 1
            at += 1 + then
            if not answer:
                at = stop_of(tokens, at + 1, ("elif", "else", "fi"))
                if at < len(tokens) and tokens[at].plain == "elif":
                    line = tokens[at].line
                    continue
            if at < len(tokens) and tokens[at].plain != "fi":
                self._blocks.append(block_in(self._blocks, "if", None, is_taken=True))
            return at + 1

    def _is_decidable(self) -> bool:
        """Whether variables have here what they were given before: not in a loop, whose rounds differ, nor in a
        function, which is called from elsewhere."""
        return not self._is_odd and not (self._blocks and self._blocks[-1].repeats)

    def _condition(self) -> int | None:
        """The line of the condition that the next command is under."""
        return self._once or (self._blocks[-1].under if self._blocks else None)

    def _test(self, tokens: list[Token], at: int) -> int:
        end = behind_simple(tokens, at)
        self._variables.condition = self._condition()
        answer = self._tests.command(tokens[at:end]) if self._is_decidable() and self._once is None else None
        if tokens[at].plain == "[[":
            return self._done((end, answer))
        behind, _ = self._command(tokens, at)
        return self._done((behind, answer))

    def _done(self, done: tuple[int, bool | None]) -> int:
        """Behind a command: what the list that it stands in goes on with."""
        at, answer = done
        self._status = None if answer is None or self._once is not None else answer is not self._negated
        self._once, self._negated = None, False
        return at

    def _arithmetic(self, tokens: list[Token], at: int) -> int:
        """Behind ``(( ... ))``, whose variables may be set in it."""
        end = behind_brackets(tokens, at)
        for token in tokens[at:end]:
            self._sets_somehow(token.plain or "")
        return self._done((end, None))

    def _function(self, tokens: list[Token], at: int) -> int:
        """The head of a function: its body is read as if it was called here, and what it sets may be set later."""
        self._blocks.append(block_in(self._blocks, "function", self._once))
        self._end()
        at = behind_name(tokens, at)
        return at + 1 if at < len(tokens) and tokens[at].plain == "{" else at

    def _command(self, tokens: list[Token], at: int) -> tuple[int, bool | None]:
        """One simple command; returns the place behind it, and whether it succeeds, if that is known."""
        start, line = at, tokens[at].line
        words: list[Word] = []
        own: list[Assignment] = []
        condition = self._variables.condition = self._condition()
        declaring = False
        while at < len(tokens):
            token = tokens[at]
            if token.operator in REDIRECTIONS:
                at += 2
                continue
            if token.operator:
                break
            self._variables.here = Origin(self._path, token.line)
            self._variables.asked_unsure = False
            assigned = self._assignment(token) if not words or declaring else None
            if assigned is not None:
                name, appends, pieces = assigned
                if not pieces and at + 1 < len(tokens) and tokens[at + 1].operator == "(":
                    at = self._array(tokens, at + 2, name, appends, token.line)
                    continue
                value = "".join(self._variables.fields(pieces, split=False))
                own.append(Assignment(name, value, Origin(self._path, token.line)))
                if declaring or self._is_last(tokens, at, own):
                    export = declaring and words[0] == "export"
                    self._set(name, value, token.line, appends=appends, export=export)
            else:
                words.extend(
                    Word(text, Origin(self._path, token.line)) for text in self._variables.fields(token.pieces)
                )
                declaring = bool(words) and words[0] in _DECLARING
            at += 1
        at = max(at, start + 1)
        if words:
            self._run(words, own, condition)
        else:
            for item in own:
                if not self._variables.has(item.name):
                    self._set(item.name, item.value, item.origin.line or line)
        made = [piece.kind for token in tokens[start:at] for piece in token.pieces]
        return at, True if "output" not in made and (not words or declaring) else None

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

    def _array(self, tokens: list[Token], at: int, name: str, appends: bool, line: int) -> int:
        elements: list[str] = []
        while at < len(tokens) and tokens[at].operator != ")":
            if not tokens[at].operator:
                elements.extend(self._variables.fields(tokens[at].pieces))
            at += 1
        self._set(name, tuple(elements), line, appends=appends)
        return at + 1

    def _set(
        self, name: str, value: str | tuple[str, ...], line: int | None, *, appends: bool = False, export: bool = False
    ) -> None:
        # a function may be called later, or not at all
        sure = not self._variables.asked_unsure and not (self._blocks and self._blocks[-1].repeats)
        self._is_odd = self._is_odd or name == "IFS"
        self._variables.set(
            name, value, Origin(self._path, line), self._variables.condition, appends=appends, export=export, sure=sure
        )

    # -- commands that matter -----------------------------------------------------------------------------------------

    def _run(self, words: list[Word], own: list[Assignment], condition: int | None) -> None:
        name, rest = words[0], words[1:]
        variables = self._variables
        if name in _DECLARING:
            for word in rest if name == "export" else ():
                variables.export(word)
        elif name == "unset":
            for word in rest:
                if condition is None:
                    variables.unset(word)
                else:
                    variables.open(word)
        elif name == "read":
            for word in rest:
                variables.open(word)
        elif name == "set" and "--" in rest:
            variables.arguments = tuple(rest[rest.index("--") + 1 :]) if condition is None else None
        elif name == "set" and rest and rest[-1] in ("-a", "+a", "allexport"):
            variables.exports = "-a" in rest or "-o" in rest
        elif name in ("source", ".") and rest:
            self._source(rest[0])
        elif name == "shift":
            variables.arguments = None
        else:
            for word in rest if name in _SETTING else ():
                self._sets_somehow(word)
            self._is_odd = self._is_odd or name == "eval"
            found = FoundCommand(tuple(words), variables.environment(own, self._path), None, condition)
            self.script.commands.append(found)

    def _sets_somehow(self, text: str) -> None:
        """Known variables that are named where a calculation or a command may set them."""
        for name in re.findall(r"[A-Za-z_]\w*", text):
            if self._variables.has(name):
                self._variables.open(name)

    def _source(self, file: Word) -> None:
        """Run a file in this shell: what it sets is set here. Of one that is not here (most often it activates an
        environment) nothing is known; a word that needs what it sets says so."""
        text = self._sourced(file) if self._sourced is not None and not is_open(file) else None
        if text is None or self._depth >= _MOST_SOURCED:
            if file.rpartition("/")[2] != "activate":
                self._variables.doubt()
            return
        path, self._path = self._path, file
        self._depth += 1
        try:
            self._read_text(text, 1)
        finally:
            self._path = path
            self._depth -= 1
