"""Brackets that are never closed, closed by the wrong one, or never opened."""

from __future__ import annotations

from collections.abc import Iterator

from preflight.syntax.diagnose.model import Candidate, Patch, insert
from preflight.syntax.scene import Scene, Statement, depths, ends_operand
from preflight.syntax.tokens import CLOSERS, OPENERS, Kind, Token

#: How many lines below an opening bracket its end is looked for.
_REACH = 60


def unclosed(scene: Scene) -> Iterator[Candidate]:
    """A bracket that is opened and not closed: the place is where it was opened."""
    for statement in _with_open_bracket(scene):
        lines = _line_tails(scene, statement)
        for opener in reversed(statement.open):
            opened_on = scene.index.place(opener.start)[0]
            for tail in lines:
                if tail.start < opener.start or scene.index.place(tail.start)[0] > opened_on + _REACH:
                    continue
                yield from _closed_behind(scene, statement, opener, tail)


def _with_open_bracket(scene: Scene) -> list[Statement]:
    near = [s for s in scene.around(before=2, after=0) if s.open]
    if near:
        return near
    return [s for s in scene.statements if s.open and s.first_line <= scene.line][-2:]


def _line_tails(scene: Scene, statement: Statement) -> list[Token]:
    """The last tokens of the lines among which a statement could end: the next line is indented no deeper than it.

    Those behind lines that go back to the statement's own indent belong to the next statements.
    """
    tails: list[Token] = []
    width = statement.width
    for token, after in zip(statement.tokens, (*statement.tokens[1:], None), strict=True):
        line = scene.index.place(token.end - 1)[0]
        if after is not None and scene.index.place(after.start)[0] == line:
            continue
        tails.append(token)
        if after is None:
            break
        start = scene.index.starts[scene.index.place(after.start)[0] - 1]
        if len(scene.text[start : after.start].expandtabs(8)) <= width and after.text not in CLOSERS:
            break
    return tails


def _closed_behind(scene: Scene, statement: Statement, opener: Token, tail: Token) -> Iterator[Candidate]:
    closer = OPENERS[opener.text]
    line = scene.index.place(opener.start)[0]
    same_line = scene.index.place(tail.end - 1)[0] == line
    places: list[tuple[int, str]] = []
    if scene.index.ends[line - 1] == opener.end and not same_line:
        # the style of a bracket that ends its line: the closing one stands on a line of its own
        newline = scene.index.line_end(line) or "\n"
        text = scene.index.line(line)
        places.append((tail.end, newline + text[: len(text) - len(text.lstrip())] + closer))
    if tail.text in (":", ","):
        places.append((tail.start, closer))
    arrow = next((t for t in statement.tokens if t.text == "->" and opener.start < t.start < tail.end), None)
    if arrow is not None:
        places.insert(0, (arrow.start, closer))
    places.append((tail.end, closer))
    if same_line:
        places += [(place, closer) for place in _places_on_line(statement, opener, tail)]
    for rank, (place, new) in enumerate(places):
        yield Candidate(
            "bracket-unclosed",
            opener.start,
            opener.end,
            f"the bracket {opener.text!r} that is opened here is never closed",
            (insert(place, new),),
            why=None if same_line else "Python reads on until the bracket is closed, and gives up below",
            help=f"put {closer!r} where the expression ends",
            sure_if_alone=same_line,
            rank=64 - min(rank, 4),
        )


def _places_on_line(statement: Statement, opener: Token, tail: Token) -> list[int]:
    """Where else on its own line the bracket could have been closed: behind each operand that it holds."""
    inner = [token for token in statement.tokens if opener.start < token.start <= tail.start]
    around = depths(tuple([opener, *inner]))[1:]
    ends = [
        token.end for token, bracket in zip(inner, around, strict=True) if (bracket is opener) and ends_operand(token)
    ]
    return [end for end in ends[:8] if end < tail.end]


def wrong_closer(scene: Scene) -> Iterator[Candidate]:
    """A closing bracket that does not fit the one that was opened, or that nothing was opened for."""
    for statement in scene.around(before=1, after=1):
        stack: list[Token] = []
        for token in statement.tokens:
            if token.kind is not Kind.OP:
                continue
            if token.text in OPENERS:
                stack.append(token)
            elif token.text in CLOSERS:
                if stack and stack[-1].text == CLOSERS[token.text]:
                    stack.pop()
                    continue
                yield from _misfit(scene, token, stack)
                break


def _misfit(scene: Scene, token: Token, stack: list[Token]) -> Iterator[Candidate]:
    if not stack:
        yield Candidate(
            "bracket-stray",
            token.start,
            token.end,
            f"the bracket {token.text!r} closes nothing",
            (Patch(*scene.removal(token.start, token.end)),),
            help="take it away, or put in the bracket that it should close",
            sure=True,
            rank=62,
        )
        return
    opener = stack[-1]
    wanted = OPENERS[opener.text]
    where = f"the {opener.text!r} of line {scene.number(opener.start)}"
    yield Candidate(
        "bracket-mismatch",
        token.start,
        token.end,
        f"the bracket {token.text!r} does not close {where}",
        (Patch(token.start, token.end, wanted),),
        sure_if_alone=True,
        help=f"write {wanted!r} here, or change the bracket that was opened",
        rank=64,
    )
    if CLOSERS[token.text] in [open_.text for open_ in stack[:-1]]:
        yield Candidate(
            "bracket-unclosed",
            opener.start,
            opener.end,
            f"the bracket {opener.text!r} that is opened here is never closed",
            (insert(token.start, wanted),),
            why=f"{token.text!r} on line {scene.number(token.start)} closes a bracket around it",
            help=f"put {wanted!r} where the expression ends",
            rank=63,
        )
    yield Candidate(
        "bracket-stray",
        token.start,
        token.end,
        f"the bracket {token.text!r} closes nothing; {where} is still open",
        (Patch(token.start, token.end),),
        help="take it away",
        rank=61,
    )
