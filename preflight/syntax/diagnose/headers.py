"""Headers that lack a part, and branches, decorators and `try` without the one that they belong to."""

from __future__ import annotations

from collections.abc import Iterator

from preflight.syntax.diagnose.model import Candidate
from preflight.syntax.diagnose.statements import MAX_GAPS, SIMPLE_STARTS
from preflight.syntax.fixes import Patch, insert
from preflight.syntax.scene import HEADERS, Scene, Statement, depths, ends_operand, gaps
from preflight.syntax.tokens import words

#: What a branch can belong to.
_OWNERS = {
    "else": words("if elif for while try except async"),
    "elif": words("if elif"),
    "except": words("try except"),
    "finally": words("try except else"),
    "case": words("case match"),
}


_OTHER_LANGUAGES = {
    "elseif": "elif",
    "elsif": "elif",
    "elsf": "elif",
    "function": "def",
    "fun": "def",
    "catch": "except",
}


def colon(scene: Scene) -> Iterator[Candidate]:
    """A header without its colon, or with something else in its place."""
    for position in scene.near(before=2, after=0):
        statement = scene.statements[position]
        tokens = statement.tokens
        if statement.word not in HEADERS:
            continue
        colon_there = any(t.text == ":" and around is None for t, around in zip(tokens, depths(tokens), strict=True))
        if colon_there and "lambda" not in [t.text for t in tokens]:
            continue
        block = position + 1 < len(scene.statements) and scene.statements[position + 1].width > statement.width
        yield Candidate(
            "colon-missing",
            statement.end,
            statement.end,
            f"the colon is missing at the end of the `{_kind(statement)}` line",
            (insert(statement.end, ":"),),
            why="a block follows, and the colon announces it",
            help="put ':' at the end of the line",
            sure=block,
            rank=75 if block else 45,
        )
        if tokens[-1].text in (";", ",", ".", "=", "{", "then"):
            yield Candidate(
                "colon-missing",
                tokens[-1].start,
                tokens[-1].end,
                f"{tokens[-1].text!r} stands where the `{_kind(statement)}` line needs its colon",
                (Patch(tokens[-1].start, tokens[-1].end, ":"),),
                help="write ':' there",
                sure=True,
                rank=76,
            )
        for at in gaps(tokens)[:MAX_GAPS]:
            yield Candidate(
                "colon-missing",
                tokens[at - 1].end,
                tokens[at - 1].end,
                f"the colon of the `{_kind(statement)}` is missing behind {tokens[at - 1].text!r}",
                (insert(tokens[at - 1].end, ":"),),
                help="put ':' there",
                rank=56,
            )
        for at in range(1, len(tokens)):
            if tokens[at].text in SIMPLE_STARTS and ends_operand(tokens[at - 1]):
                yield Candidate(
                    "colon-missing",
                    tokens[at - 1].end,
                    tokens[at - 1].end,
                    f"the colon of the `{_kind(statement)}` is missing behind {tokens[at - 1].text!r}",
                    (insert(tokens[at - 1].end, ":"),),
                    help="put ':' there",
                    sure=True,
                    rank=66,
                )


def orphan_branch(scene: Scene) -> Iterator[Candidate]:
    """``else``, ``elif``, ``except``, ``finally`` without the statement that they belong to."""
    for position in scene.near(before=1, after=0):
        statement = scene.statements[position]
        owners = _OWNERS.get(statement.word)
        if owners is None:
            continue
        owner = _previous_at(scene, position, statement.width)
        if owner is not None and owner.word in owners:
            continue
        message = f"this `{statement.word}` belongs to no statement above it"
        help = "give it the indent of its statement, or put that statement back"
        for above in reversed(scene.statements[:position]):
            if above.word in owners and above.width != statement.width and above.is_header:
                end = scene.block_end(position)
                moved = scene.statements[position:end]
                repair = []
                for one in moved:
                    for number in range(one.first_line, one.last_line + 1):
                        start = scene.index.starts[number - 1]
                        if scene.index.line(number).startswith(statement.indent):
                            repair.append(Patch(start, start + len(statement.indent), above.indent))
                yield Candidate(
                    "branch-without-statement",
                    statement.start,
                    statement.end,
                    message,
                    tuple(repair),
                    why=f"the nearest `{above.word}` that it could belong to is on line {scene.number(above.start)},"
                    " with another indent",
                    help=help,
                    rank=69 if above.width % 4 == 0 else 60,
                )
                break
        yield Candidate(
            "branch-without-statement",
            statement.start,
            statement.end,
            message,
            (Patch(statement.start, statement.end, "if 1:"),),
            help=help,
            rank=64,
        )


def else_if(scene: Scene) -> Iterator[Candidate]:
    """``else if`` and the words that other languages have for Python's."""
    for statement in scene.around(before=1, after=0):
        tokens = statement.tokens
        if statement.word == "else" and len(tokens) > 1 and tokens[1].text == "if":
            yield Candidate(
                "other-language",
                tokens[0].start,
                tokens[1].end,
                "`else if` is written `elif` in Python",
                (Patch(tokens[0].start, tokens[1].end, "elif"),),
                help="write `elif`",
                sure=True,
                rank=77,
            )
        meant = _OTHER_LANGUAGES.get(statement.word)
        if meant is not None and len(tokens) > 1:
            yield Candidate(
                "other-language",
                tokens[0].start,
                tokens[0].end,
                f"`{statement.word}` is written `{meant}` in Python",
                (Patch(tokens[0].start, tokens[0].end, meant),),
                help=f"write `{meant}`",
                sure=True,
                rank=77,
            )
        for at, token in enumerate(tokens):
            plain = {"&": "and", "|": "or"}.get(token.text)
            if (
                plain
                and at + 1 < len(tokens)
                and tokens[at + 1].text == token.text
                and tokens[at + 1].start == token.end
            ):
                yield Candidate(
                    "other-language",
                    token.start,
                    tokens[at + 1].end,
                    f"`{token.text * 2}` is written `{plain}` in Python",
                    (Patch(token.start, tokens[at + 1].end, plain),),
                    help=f"write `{plain}`",
                    sure=True,
                    rank=77,
                )
            if token.text == "!" and at + 1 < len(tokens):
                yield Candidate(
                    "other-language",
                    token.start,
                    token.end,
                    "`!` is written `not` in Python",
                    (Patch(token.start, token.end, "not "),),
                    help="write `not`",
                    sure=True,
                    rank=70,
                )
            if (
                token.text in ("+", "-")
                and at + 1 < len(tokens)
                and tokens[at + 1].text == token.text == tokens[-1].text
            ):
                yield Candidate(
                    "other-language",
                    token.start,
                    tokens[-1].end,
                    f"Python has no `{token.text * 2}`",
                    (Patch(token.start, tokens[-1].end, f"{token.text}= 1"),),
                    help=f"write `{token.text}= 1`",
                    sure=True,
                    rank=70,
                )


def try_alone(scene: Scene) -> Iterator[Candidate]:
    """``try`` without ``except`` or ``finally``."""
    at = scene.statement_at(scene.line)
    if at is None:
        return
    for position in range(at, max(at - 400, -1), -1):
        statement = scene.statements[position]
        if statement.word != "try":
            continue
        end = scene.block_end(position)
        after = scene.statements[end] if end < len(scene.statements) else None
        if after is not None and after.width == statement.width and after.word in ("except", "finally"):
            continue
        yield Candidate(
            "try-alone",
            statement.start,
            statement.end,
            "this `try` has neither `except` nor `finally`",
            (Patch(statement.start, statement.start + 3, "if 1"),),
            help="put the `except` back behind its block, with the indent of the `try`",
            rank=67,
        )
        break


def decorator_alone(scene: Scene) -> Iterator[Candidate]:
    """Decorators with no function or class below them."""
    for position in scene.near(before=2, after=0):
        statement = scene.statements[position]
        after = scene.statements[position + 1] if position + 1 < len(scene.statements) else None
        if statement.word != "@" or (after is not None and (after.defines or after.word in ("class", "@"))):
            continue
        first = position
        while first and scene.statements[first - 1].word == "@":
            first -= 1
        run = scene.statements[first : position + 1]
        yield Candidate(
            "decorator-alone",
            statement.start,
            statement.end,
            "the decorator has no function or class below it",
            tuple(Patch(one.start, one.end, "pass") for one in run),
            why="what was inserted below it, or what was taken away, parted the two",
            help="put the function back right below it, or take the decorator away",
            rank=69,
        )


def arrow(scene: Scene) -> Iterator[Candidate]:
    """The ``->`` before what a function returns, gone or half gone."""
    for statement in scene.around(before=2, after=0):
        tokens = statement.tokens
        if not statement.defines:
            continue
        around = depths(tokens)
        close = [at for at, token in enumerate(tokens) if token.text == ")" and around[at] is None]
        if not close or close[0] + 1 >= len(tokens):
            continue
        at = close[0] + 1
        half = 0
        while at + half < len(tokens) and tokens[at + half].text in ("-", ">", "=", ">=", "->"):
            half += 1
        if (
            at + half < len(tokens)
            and tokens[at + half].text != ":"
            and scene.text[tokens[at].start : tokens[at + half - 1].end] != "->"
        ):
            yield Candidate(
                "arrow-missing",
                tokens[at].start,
                tokens[at + half - 1].end if half else tokens[at].end,
                "'->' is missing before the type that the function returns",
                (Patch(tokens[at - 1].end, tokens[at + half].start, " -> "),),
                help="write '->' between the parameters and the type",
                sure=True,
                rank=74,
            )


def _kind(statement: Statement) -> str:
    return (
        "async " + statement.tokens[1].text
        if statement.word == "async" and len(statement.tokens) > 1
        else statement.word
    )


def _previous_at(scene: Scene, position: int, width: int) -> Statement | None:
    """The statement before this one that has the same indent, in the same block."""
    for statement in reversed(scene.statements[:position]):
        if statement.width == width:
            return statement
        if statement.width < width:
            return None
    return None
