"""The Python 2 that old patches and snippets still bring along."""

from __future__ import annotations

from collections.abc import Iterator

from preflight.syntax.diagnose.model import Candidate
from preflight.syntax.fixes import Patch, insert
from preflight.syntax.scene import Scene, starts_operand
from preflight.syntax.tokens import Kind

_WHY = "this is Python 2"


def statements(scene: Scene) -> Iterator[Candidate]:
    """``print x``, ``exec x``, ``except E, e``, ``raise E, x``, backticks."""
    for statement in scene.around(before=1, after=0):
        tokens = statement.tokens
        texts = [token.text for token in tokens]
        for at, token in enumerate(tokens[:-1]):
            first = at == 0 or tokens[at - 1].text in (":", ";")
            if first and token.text in ("print", "exec") and token.kind is Kind.NAME and starts_operand(tokens[at + 1]):
                yield Candidate(
                    "python-2",
                    token.start,
                    statement.end,
                    f"`{token.text}` is a function: its arguments stand in parentheses",
                    (Patch(token.end, tokens[at + 1].start, "("), insert(statement.end, ")")),
                    why=_WHY,
                    help=f"write `{token.text}(...)`",
                    sure=statement.last != ",",
                    rank=79,
                )
        if statement.word == "except" and "," in texts and "as" not in texts and ":" in texts:
            comma, colon = texts.index(","), texts.index(":")
            name = tokens[comma + 1] if comma + 1 < len(tokens) else None
            # with a capital it is rather a second exception, which Python 3.14 reads as such
            if colon == comma + 2 and name is not None and name.kind is Kind.NAME and name.text[:1].islower():
                yield Candidate(
                    "python-2",
                    tokens[comma].start,
                    name.end,
                    f"the exception is named with `as {name.text}`, not behind a comma",
                    (Patch(tokens[comma].start, name.start, " as "),),
                    why=_WHY,
                    help=f"write `as {name.text}`",
                    sure=True,
                    rank=95,
                )
        if statement.word == "raise" and "," in texts:
            comma = texts.index(",")
            yield Candidate(
                "python-2",
                tokens[comma].start,
                tokens[comma].end,
                "the exception's argument stands in parentheses, not behind a comma",
                (Patch(tokens[comma].start, tokens[comma].end, "("), insert(statement.end, ")")),
                why=_WHY,
                help="write `raise Error(...)`",
                sure=comma == 2 and texts.count(",") == 1,
                rank=72,
            )
        ticks = [token for token in tokens if token.text == "`"]
        if len(ticks) == 2:
            yield Candidate(
                "python-2",
                ticks[0].start,
                ticks[1].end,
                "backticks have no meaning in Python 3",
                (Patch(ticks[0].start, ticks[0].end, "repr("), Patch(ticks[1].start, ticks[1].end, ")")),
                why=_WHY,
                help="write `repr(...)`; a markdown backtick is to be taken away",
                rank=79,
            )
