"""What the diagnosis looks at: a broken text, its tokens and statements, and where the interpreter gave up."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from preflight.syntax.compiler import CompileError
from preflight.syntax.fixes import LineIndex
from preflight.syntax.tokens import CLOSERS, OPENERS, Kind, Token, scan, words

#: Keywords that begin a statement and can stand nowhere inside an expression: a bracket open before them was forgotten.
_STATEMENT_WORDS = words(
    "def class import return while try raise assert del pass break continue global nonlocal elif except finally with"
)
#: Compound statements: a colon and a block must follow.
HEADERS = words("if elif else for while try except finally with def class async match case")


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
    def start(self) -> int:
        return self.tokens[0].start

    @property
    def end(self) -> int:
        return self.tokens[-1].end


class Scene:
    """One broken text and the error that an interpreter reports for it. Made anew for every repaired text."""

    def __init__(
        self, text: str, error: CompileError, version: tuple[int, int], pristine: str | None = None, path: str = ""
    ) -> None:
        self.text = text
        self.error = error
        self.version = version
        self.pristine = pristine
        self.path = path
        self.index = LineIndex(text)
        self.tokens = scan(text, nested_quotes=version >= (3, 12))
        self.statements = split_statements(text, self.tokens, self.index)
        self._starts = [statement.first_line for statement in self.statements]
        line = min(max(error.line or 1, 1), len(self.index))
        self.line = line  #: the line the interpreter names
        self.offset = self.index.offset(line, error.column or 1)  #: the place the interpreter names

    def statement_at(self, line: int) -> int | None:
        """The position in ``statements`` of the one that covers a line, or else of the last one before it."""
        at = bisect_right(self._starts, line) - 1
        return at if at >= 0 else None

    def near(self, before: int = 1, after: int = 1) -> list[int]:
        """The positions of the statement that the error stands in and of its neighbours, nearest first."""
        at = self.statement_at(self.line)
        if at is None:
            at = 0
        order = [at]
        for distance in range(1, max(before, after) + 1):
            order += [at - distance] if distance <= before else []
            order += [at + distance] if distance <= after else []
        return [position for position in order if 0 <= position < len(self.statements)]


def split_statements(text: str, tokens: list[Token], index: LineIndex) -> list[Statement]:
    """The logical lines of a token list; a keyword that must begin a statement ends any bracket left open before it."""
    statements: list[Statement] = []
    current: list[Token] = []
    stack: list[Token] = []

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

    fresh = True  # the next token is the first of its physical line
    for token in tokens:
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
            elif token.text in CLOSERS and stack:
                stack.pop()
        current.append(token)
    finish()
    return statements
