"""Brackets that are never closed, closed by the wrong one, or never opened."""

from __future__ import annotations

from collections.abc import Iterator

from preflight.syntax.diagnose.model import Candidate
from preflight.syntax.fixes import Patch, insert
from preflight.syntax.scene import HEADERS, Scene, Statement, depths, ends_operand, starts_operand
from preflight.syntax.tokens import CLOSERS, OPENERS, Kind, Token

#: How many lines below an opening bracket its end is looked for.
_REACH = 60
#: So many of the innermost open brackets are looked at.
_MAX_OPENERS = 6
#: So many places for it are tried.
_MAX_TAILS = 10


def unclosed(scene: Scene) -> Iterator[Candidate]:
    """A bracket that is opened and not closed: the place is where it was opened."""
    for statement in _with_open_bracket(scene):
        lines = _line_tails(scene, statement)
        for opener in reversed(statement.open[-_MAX_OPENERS:]):
            opened_on = scene.index.place(opener.start)[0]
            for tail in [*lines[:_MAX_TAILS], *lines[_MAX_TAILS:][-1:]]:
                if tail.start < opener.start or scene.index.place(tail.start)[0] > opened_on + _REACH:
                    continue
                yield from _closed_behind(scene, statement, opener, tail)
            yield _taken_away(scene, opener)


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
    text = scene.index.line(line)
    own_line = (scene.index.line_end(line) or "\n") + text[: len(text) - len(text.lstrip())]
    places: list[tuple[int, str]] = []
    if scene.index.ends[line - 1] == opener.end and not same_line:
        # the style of a bracket that ends its line: the closing one stands on a line of its own
        places += [(tail.end, own_line + closer)]
    if tail.text in (":", ","):
        places.append((tail.start, closer))
    arrow = next((t for t in statement.tokens if t.text == "->" and opener.start < t.start < tail.end), None)
    if arrow is not None:
        places.insert(0, (arrow.start, closer))
    places.append((tail.end, closer))
    if opener is statement.open[0] and statement.word in HEADERS and tail.text != ":":
        # the line that closed the bracket and ended the header is gone as a whole
        places.append((tail.end, own_line + closer + ":"))
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


def _taken_away(scene: Scene, opener: Token) -> Candidate:
    """The other way to repair it, which keeps the first one from being certain."""
    return Candidate(
        "bracket-unclosed",
        opener.start,
        opener.end,
        f"the bracket {opener.text!r} that is opened here is never closed",
        (scene.removal(opener.start, opener.end),),
        help=f"put {OPENERS[opener.text]!r} where the expression ends, or take {opener.text!r} away",
        rank=58,
    )


def _places_on_line(statement: Statement, opener: Token, tail: Token) -> list[int]:
    """Where else on its own line the bracket could have been closed: behind each operand that it holds."""
    inner = [token for token in statement.tokens if opener.start < token.start <= tail.start]
    around = depths((opener, *inner))[1:]
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
                yield from _misfit(scene, statement, token, stack)
                break


def _operand_starts(statement: Statement, token: Token) -> list[int]:
    """Where the missing bracket could have stood: behind a name that would be called, or before an operand."""
    tokens = statement.tokens[: statement.tokens.index(token)]
    places: list[int] = []
    for at, before in enumerate(tokens):
        after = tokens[at + 1] if at + 1 < len(tokens) else None
        if before.kind is Kind.NAME and (
            after is None or starts_operand(after) or after.text in ("-", "*", "**", "[", "(")
        ):
            places.append(before.end)
        if at and starts_operand(before) and not ends_operand(tokens[at - 1]) and tokens[at - 1].text != ".":
            places.append(before.start)
    return places[:12]


def _misfit(scene: Scene, statement: Statement, token: Token, stack: list[Token]) -> Iterator[Candidate]:
    if not stack:
        yield Candidate(
            "bracket-stray",
            token.start,
            token.end,
            f"the bracket {token.text!r} closes nothing",
            (scene.removal(token.start, token.end),),
            help="take it away, or put in the bracket that it should close",
            rank=62,
        )
        for before in _operand_starts(statement, token):
            yield Candidate(
                "bracket-unopened",
                token.start,
                token.end,
                f"the bracket {token.text!r} closes nothing: the one that should open it is missing",
                (insert(before, CLOSERS[token.text]),),
                help=f"put {CLOSERS[token.text]!r} where it belongs",
                rank=61,
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
        for tail in _tails_between(scene, statement, opener, token):
            for new in (wanted, wanted + ","):
                yield Candidate(
                    "bracket-unclosed",
                    opener.start,
                    opener.end,
                    f"the bracket {opener.text!r} that is opened here is never closed",
                    (insert(tail.end, new),),
                    why=f"{token.text!r} on line {scene.number(token.start)} closes a bracket around it",
                    help=f"put {wanted!r} where the expression ends",
                    rank=62,
                )
    for before in _operand_starts(statement, token)[-6:]:
        yield Candidate(
            "bracket-unopened",
            token.start,
            token.end,
            f"the bracket {token.text!r} closes nothing: the one that should open it is missing",
            (insert(before, CLOSERS[token.text]),),
            help=f"put {CLOSERS[token.text]!r} where it belongs",
            rank=60,
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


def closed_early(scene: Scene) -> Iterator[Candidate]:
    """A closing bracket too many in a line above: it ended what a later line should have ended."""
    for position in scene.near(before=1, after=_REACH):
        closing = scene.statements[position]
        if closing.word not in CLOSERS:
            continue
        first = _first_inside(scene, position)
        if not first:
            break
        closers = [token for token in scene.statements[first - 1].tokens if token.text == closing.word]
        for token in closers[-4:]:
            left_over = f"the one on line {scene.number(closing.start)} is left over"
            yield Candidate(
                "bracket-stray",
                token.start,
                token.end,
                f"the bracket {token.text!r} closes too early: {left_over}",
                (scene.removal(token.start, token.end),),
                help="take it away",
                rank=66,
            )
        break


def _tails_between(scene: Scene, statement: Statement, opener: Token, token: Token) -> list[Token]:
    """The last tokens of the lines from an opening bracket to a closing one."""
    inner = [t for t in statement.tokens if opener.start <= t.start < token.start]
    lines = [scene.index.place(t.start)[0] for t in inner]
    tails = [t for t, line, after in zip(inner, lines, [*lines[1:], 0], strict=True) if after != line]
    return tails[:_MAX_TAILS]


def lost_opener(scene: Scene) -> Iterator[Candidate]:
    """Lines that were the inside of a call or a list, and whose first line, or its bracket, is gone."""
    for position in scene.near(before=1, after=_REACH):
        closing = scene.statements[position]
        if closing.word not in CLOSERS:
            continue
        first = _first_inside(scene, position)
        if first == position:
            continue
        orphan, above = scene.statements[first], scene.statements[first - 1] if first else None
        too_deep = above is None or (orphan.width > above.width and not above.is_header)
        header = len(closing.tokens) > 1 and closing.last == ":"
        if not (too_deep or header or any(s.last == "," for s in scene.statements[first:position])):
            continue
        closed = f"{closing.word!r} on line {scene.number(closing.start)}"
        adjacent = above is not None and (above.last_line == orphan.first_line - 1 or above.last == "=")
        if above is not None and adjacent and above.last not in CLOSERS:
            yield Candidate(
                "bracket-unopened",
                above.end,
                above.end,
                f"the bracket is missing here that {closed} closes",
                (insert(above.end, CLOSERS[closing.word]),),
                help=f"put {CLOSERS[closing.word]!r} at the end of the line",
                sure=above.last == "=",
                rank=71,
            )
        block = position + 1 < len(scene.statements) and scene.statements[position + 1].width > closing.width
        new = "def _():" if block else "pass"
        start = scene.index.starts[orphan.first_line - 1]
        for indent in {closing.indent: 0, orphan.indent: 0}:
            yield Candidate(
                "bracket-unopened",
                orphan.start,
                orphan.end,
                f"the line is missing that should open the bracket {closed}",
                (Patch(start, closing.end, indent + new),),
                why="these lines are the inside of something that is not there",
                help="put the line back that opens it, or take the rest of it away too",
                rank=70,
            )
        break


def _first_inside(scene: Scene, position: int) -> int:
    """The position of the first of the lines that look like the inside of what the closing bracket there ends."""
    closing, first = scene.statements[position], position
    while first and _is_inside(scene.statements[first - 1], scene.statements[first], closing):
        first -= 1
    return first


def _is_inside(statement: Statement, after: Statement, closing: Statement) -> bool:
    """Whether a statement looks like a line of a list that ``closing`` ends, ``after`` being the next line of it."""
    if statement.width <= closing.width or statement.is_header:
        return False
    goes_on = after.word in ("and", "or", "if", "else", "for", "+", "-", "*", "/", "|", ".")
    return after is closing or statement.last == "," or goes_on
