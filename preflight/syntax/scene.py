"""What the diagnosis looks at: a broken text, its tokens and statements, and where the interpreter gave up."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass

from preflight.syntax.compiler import CompileError
from preflight.syntax.fixes import LineIndex, Patch
from preflight.syntax.tokens import CLOSERS, OPENERS, Kind, Token, scan, swallowed, words

#: Keywords that begin a statement and can stand nowhere inside an expression: a bracket open before them was forgotten.
_STATEMENT_WORDS = words(
    "def class import return while try raise assert del pass break continue global nonlocal elif except finally with"
)
#: Compound statements: a colon and a block must follow.
HEADERS = words("if elif else for while try except finally with def class async match case")
#: So many tokens of a statement are looked at one by one, those around the error.
_WINDOW = 200
_CONSTANTS = words("None True False")
#: Keywords that can begin an operand.
_OPERAND_WORDS = words("None True False lambda not await yield")


@dataclass(frozen=True, slots=True)
class Statement:
    """A logical line as far as it can be told in a broken text.

    ``tokens`` leaves out comments and line ends. ``open`` are the brackets that it opens and does not close.
    """

    tokens: tuple[Token, ...]
    first_line: int
    last_line: int
    indent: str
    open: tuple[Token, ...]

    @property
    def word(self) -> str:
        """The text of the first token."""
        return self.tokens[0].text

    @property
    def last(self) -> str:
        """The text of the last token."""
        return self.tokens[-1].text

    @property
    def start(self) -> int:
        return self.tokens[0].start

    @property
    def end(self) -> int:
        return self.tokens[-1].end

    @property
    def width(self) -> int:
        """The width of the indent as Python measures it: a tab reaches to the next multiple of eight."""
        return len(self.indent.expandtabs(8))

    @property
    def is_header(self) -> bool:
        """Whether a block must follow: a compound statement that ends in a colon."""
        if self.last != ":" or self.open:
            return False
        if self.word in ("match", "case"):
            return len(self.tokens) > 2 and self.tokens[1].text not in ("=", ".", ":", ",")
        return self.word in HEADERS

    @property
    def defines(self) -> bool:
        """Whether it is a ``def`` (plain or async)."""
        return self.word == "def" or (self.word == "async" and len(self.tokens) > 1 and self.tokens[1].text == "def")


class Scene:
    """One broken text and the error that an interpreter reports for it. Made anew for every repaired text."""

    def __init__(
        self,
        text: str,
        error: CompileError,
        version: tuple[int, int],
        pristine: str | None = None,
        original: Callable[[int], int] | None = None,
    ) -> None:
        self.text = text
        self.error = error
        self.version = version
        self.pristine = pristine
        self.index = LineIndex(text)
        self.tokens = scan(text, nested_quotes=version >= (3, 12))
        self.statements = split_statements(text, self.tokens, self.index)
        self.line = min(max(error.line or 1, 1), len(self.index))  #: the line the interpreter names
        self.offset = self.index.offset(self.line, error.column or 1)  #: the place the interpreter names
        #: the string of three quotes that is never closed, if there is one
        self.swallowed = swallowed(self.tokens)
        self._first_lines = [statement.first_line for statement in self.statements]
        self._original = original

    @property
    def python(self) -> str:
        """The interpreter's name in a message."""
        return f"Python {self.version[0]}.{self.version[1]}"

    def number(self, offset: int) -> int:
        """The line number that a reader of the file as it is on disk knows this place by."""
        if self._original is not None:
            return self._original(offset)
        return self.index.place(offset)[0]

    def removal(self, start: int, end: int) -> Patch:
        """A piece of text taken away: with its whole line if nothing else is on it, else with the spaces beside it."""
        first, last = self.index.place(start)[0], self.index.place(max(end - 1, start))[0]
        line_start, line_end = self.index.starts[first - 1], self.index.ends[last - 1]
        before, after = self.text[line_start:start], self.text[end:line_end]
        if not before.strip() and not after.strip():
            return Patch(line_start, self.index.offset(last + 1, 1))
        if before.strip() and not after.strip():
            return Patch(line_start + len(before.rstrip(" ")), line_end)
        end += len(after) - len(after.lstrip(" "))
        apart = before[-1:].isidentifier() and (self.text[end : end + 1].isalnum() or self.text[end : end + 1] == "_")
        return Patch(start, end, " " if apart else "")

    def statement_at(self, line: int) -> int | None:
        """The position in ``statements`` of the one that covers a line, or else of the last one before it."""
        at = bisect_right(self._first_lines, line) - 1
        return at if at >= 0 else None

    def last_line_at(self, line: int) -> int:
        """The last line of the statement that covers a line."""
        at = self.statement_at(line)
        return max(line, self.statements[at].last_line) if at is not None else line

    def here(self) -> Statement | None:
        """The statement that the error stands in or, on an empty line, the one before it."""
        at = self.statement_at(self.line)
        return None if at is None else self.statements[at]

    def near(self, before: int = 1, after: int = 1) -> list[int]:
        """The positions of the statement that the error stands in and of its neighbours, nearest first."""
        at = self.statement_at(self.line) or 0
        order = [at]
        for distance in range(1, max(before, after) + 1):
            order += [at - distance] if distance <= before else []
            order += [at + distance] if distance <= after else []
        return [position for position in order if 0 <= position < len(self.statements)]

    def around(self, before: int = 1, after: int = 1) -> list[Statement]:
        """The statements of ``near``."""
        return [self.statements[position] for position in self.near(before, after)]

    def near_positions(self, tokens: tuple[Token, ...]) -> range:
        """The positions (from 1) of a statement's tokens around the error; a dict literal can have thousands."""
        if len(tokens) <= _WINDOW:
            return range(1, len(tokens))
        at = bisect_right(tokens, self.offset, key=lambda token: token.start)
        return range(max(at - _WINDOW // 2, 1), min(at + _WINDOW // 2, len(tokens)))

    def parents(self, position: int) -> list[Statement]:
        """The headers whose blocks the statement stands in by its indent, innermost first."""
        found: list[Statement] = []
        width = self.statements[position].width
        for statement in reversed(self.statements[:position]):
            if statement.width < width:
                width = statement.width
                if statement.is_header:
                    found.append(statement)
            if width == 0:
                break
        return found

    def block_end(self, position: int) -> int:
        """The position behind the statements that are indented deeper than the one at ``position``."""
        width = self.statements[position].width
        end = position + 1
        while end < len(self.statements) and self.statements[end].width > width:
            end += 1
        return end


def split_statements(text: str, tokens: list[Token], index: LineIndex) -> list[Statement]:
    """The logical lines of a token list.

    A keyword at the start of a line that can only begin a statement ends any bracket left open before it.
    """
    statements: list[Statement] = []
    current: list[Token] = []
    stack: list[Token] = []
    open_now = dict.fromkeys(OPENERS, 0)  # how many of each kind stand on the stack

    def finish() -> None:
        if current:
            first, last = index.place(current[0].start)[0], index.place(max(current[-1].end - 1, 0))[0]
            start = index.starts[first - 1]
            indent = text[start : current[0].start]
            statements.append(
                Statement(tuple(current), first, last, indent if not indent.strip() else "", tuple(stack))
            )
        current.clear()
        stack.clear()
        open_now.update(dict.fromkeys(OPENERS, 0))

    def close(token: Token, at: int) -> None:
        wanted = CLOSERS[token.text]
        while open_now[wanted]:
            popped = stack.pop().text
            open_now[popped] -= 1
            if popped == wanted:
                return
        # it closes nothing that is open: taken for the end of the bracket only where the lines go on as after one
        after = tokens[at + 1] if at + 1 < len(tokens) else None
        if stack and (after is None or after.kind is Kind.NEWLINE) and current:
            line = index.place(token.start)[0] + 1
            below = index.line(line) if line <= len(index) else ""
            start = index.starts[index.place(current[0].start)[0] - 1]
            if len(below) - len(below.lstrip()) <= current[0].start - start:
                stack.clear()
                open_now.update(dict.fromkeys(OPENERS, 0))

    fresh = True  # the next token is the first of its physical line
    for at, token in enumerate(tokens):
        kind = token.kind
        if kind is Kind.NEWLINE:
            if not stack:
                finish()
            fresh = True
            continue
        if kind is Kind.COMMENT:
            continue
        if kind is Kind.JOIN:
            fresh = False
            continue
        if fresh and stack and kind is Kind.KEYWORD and token.text in _STATEMENT_WORDS:
            finish()
        fresh = False
        if kind is Kind.OP:
            if token.text in OPENERS:
                stack.append(token)
                open_now[token.text] += 1
            elif token.text in CLOSERS:
                close(token, at)
        current.append(token)
    finish()
    return statements


def ends_operand(token: Token) -> bool:
    """Whether an operand can end with this token."""
    if token.kind in (Kind.NAME, Kind.NUMBER, Kind.STRING):
        return True
    return token.text in (")", "]", "}", "...") or token.text in _CONSTANTS


def starts_operand(token: Token) -> bool:
    """Whether the token, right behind an operand, can only begin another one (``(`` and ``[`` could be a call)."""
    if token.kind in (Kind.NAME, Kind.NUMBER, Kind.STRING):
        return True
    return token.text in ("{", "~", "...") or token.text in _OPERAND_WORDS


def gaps(tokens: tuple[Token, ...]) -> list[int]:
    """The positions of tokens that begin an operand right behind another operand: something is missing between."""
    return [
        at
        for at in range(1, len(tokens))
        if ends_operand(tokens[at - 1])
        and starts_operand(tokens[at])
        and not (tokens[at - 1].kind is Kind.STRING and tokens[at].kind is Kind.STRING)
        and not (at == 1 and tokens[0].text in ("match", "case", "type", "print", "lazy"))
    ]


def depths(tokens: tuple[Token, ...]) -> list[Token | None]:
    """For every token, the innermost bracket that is open before it; for a bracket itself, the one around it."""
    stack: list[Token] = []
    open_now = dict.fromkeys(OPENERS, 0)
    found: list[Token | None] = []
    for token in tokens:
        if token.kind is Kind.OP and token.text in CLOSERS:
            wanted = CLOSERS[token.text]
            while open_now[wanted]:
                popped = stack.pop().text
                open_now[popped] -= 1
                if popped == wanted:
                    break
        found.append(stack[-1] if stack else None)
        if token.kind is Kind.OP and token.text in OPENERS:
            stack.append(token)
            open_now[token.text] += 1
    return found
