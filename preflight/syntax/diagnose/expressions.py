"""Expressions that cannot stand where they stand."""

from __future__ import annotations

import re
from collections.abc import Iterator

from preflight.syntax.diagnose.model import Candidate
from preflight.syntax.fixes import Patch, insert
from preflight.syntax.scene import HEADERS, Scene, depths, ends_operand
from preflight.syntax.tokens import ASSIGNMENTS, CLOSERS, OPENERS, Kind, Token, words

_OPERATORS = words("+ - * / // % @ & | ^ << >> ** == != < > <= >=")
_LEADING_ZERO = re.compile(r"0+[1-9][0-9_]*$")


def assignment_target(scene: Scene) -> Iterator[Candidate]:
    """An assignment to what cannot be assigned to."""
    for statement in scene.around(before=1, after=0):
        tokens = statement.tokens
        around = depths(tokens) if statement.word not in HEADERS else []
        for at, token in enumerate(tokens[: len(around)]):
            if token.text not in ASSIGNMENTS or around[at] is not None or not at:
                continue
            start = max((i + 1 for i in range(at) if tokens[i].text in ("=", ";") and around[i] is None), default=0)
            target = tokens[start:at]
            what = _no_target(target)
            if what is None:
                continue
            text = scene.text[target[0].start : target[-1].end]
            yield Candidate(
                "assignment-target",
                target[0].start,
                target[-1].end,
                f"{what} cannot be assigned to: `{' '.join(text.split())[:60]}`",
                (Patch(target[0].start, target[-1].end, "_"),),
                why="on the left of '=' there must be a name, an attribute or an element",
                help="write '==' if a comparison is meant" if token.text == "=" else "put a name on the left",
                rank=60,
            )
            break


def _no_target(tokens: tuple[Token, ...]) -> str | None:
    """What an assignment's left side is, if it cannot be one."""
    if not tokens or any(t.text == ":" for t, around in zip(tokens, depths(tokens), strict=True) if around is None):
        return None
    last = tokens[-1]
    if len(tokens) == 1 and last.kind in (Kind.NUMBER, Kind.STRING):
        return "a literal"
    if len(tokens) == 1 and last.kind is Kind.KEYWORD:
        return f"the keyword `{last.text}`"
    operators = [
        token
        for at, (token, around) in enumerate(zip(tokens, depths(tokens), strict=True))
        if around is None and at and token.text in _OPERATORS and ends_operand(tokens[at - 1])
    ]
    if operators:
        return "an expression"
    if last.text == ")" and any(token.text == "(" for token in tokens[1:]) and tokens[0].text != "(":
        return "the result of a call"
    return None


def walrus(scene: Scene) -> Iterator[Candidate]:
    """``:=`` where only ``=`` can stand."""
    for statement in scene.around(before=1, after=0):
        tokens = statement.tokens
        around = depths(tokens)
        for at, token in enumerate(tokens):
            if token.text != ":=" or not at:
                continue
            bare = tokens[at - 1].kind is Kind.NAME and (at < 2 or tokens[at - 2].text not in (".",))
            if around[at] is None:
                yield Candidate(
                    "walrus",
                    token.start,
                    token.end,
                    "':=' does not stand by itself; an assignment is written '='",
                    (Patch(token.start, token.end, "="),),
                    help="write '='",
                    sure=True,
                    rank=73,
                )
            elif not bare:
                yield Candidate(
                    "walrus",
                    tokens[at - 1].start,
                    token.end,
                    "':=' assigns to plain names only, not to attributes or elements",
                    (Patch(token.start, token.end, "=="),),
                    help="assign on a line of its own",
                    rank=73,
                )
            else:
                yield Candidate(
                    "walrus",
                    token.start,
                    token.end,
                    "a keyword argument is written with '=', not ':='",
                    (Patch(token.start, token.end, "="),),
                    help="write '='",
                    rank=60,
                )


def numbers(scene: Scene) -> Iterator[Candidate]:
    """Numbers that Python does not know: leading zeros, letters stuck to digits, misplaced underscores."""
    for statement in scene.around(before=1, after=1):
        tokens = statement.tokens
        for at, token in enumerate(tokens):
            if token.kind is not Kind.NUMBER:
                continue
            after = tokens[at + 1] if at + 1 < len(tokens) else None
            if _LEADING_ZERO.match(token.text):
                octal = all(digit in "01234567_" for digit in token.text)
                plain = token.text.lstrip("0")
                help = f"write {plain}" + (f", or 0o{plain} if an octal number is meant" if octal else "")
                yield Candidate(
                    "number",
                    token.start,
                    token.end,
                    f"the number {token.text} has leading zeros",
                    (Patch(token.start, token.end, plain),),
                    help=help,
                    sure=not octal,
                    rank=78,
                )
            if after is not None and after.start == token.end and after.kind in (Kind.NAME, Kind.NUMBER):
                together = token.text + after.text
                long = after.text in ("L", "l")
                yield Candidate(
                    "number",
                    token.start,
                    after.end,
                    f"`{together[:40]}` is neither a number nor a name",
                    (Patch(token.start, after.end, token.text if long else f"_{together}"),),
                    why="a name cannot begin with a digit" if not long else "Python 3 has one kind of integers",
                    help=f"write {token.text}" if long else "give the name another first letter, or part the two",
                    sure=long,
                    rank=77,
                )
            if "__" in token.text or token.text.endswith("_") or re.match(r"0[xXoObB]$", token.text):
                yield Candidate(
                    "number",
                    token.start,
                    token.end,
                    f"`{token.text}` is no number",
                    (Patch(token.start, token.end, "0"),),
                    help="an underscore stands between two digits only",
                    rank=77,
                )


def operators(scene: Scene) -> Iterator[Candidate]:
    """An operator with nothing on one of its sides, and ones that Python does not have."""
    for statement in scene.around(before=1, after=0):
        tokens = statement.tokens
        for at, token in enumerate(tokens):
            before = tokens[at - 1] if at else None
            after = tokens[at + 1] if at + 1 < len(tokens) else None
            two = token.text + (after.text if after is not None and after.start == token.end else "")
            meant = {"=>": ">=", "=<": "<=", "><": "!=", "<>": "!=", "=!": "!=", "===": "==", "!==": "!="}
            if token.text in ("==", "!=") and after is not None and after.text == "=" and after.start == token.end:
                yield _operator(token, after, token.text, 79)
            elif two in meant and len(two) > len(token.text):
                assert after is not None
                yield _operator(token, after, meant[two], 76)
            if token.text in _OPERATORS | {".", "=", "and", "or", "in", "is", "+="} and (
                after is None or after.text in CLOSERS or after.text in (",", ":", "=")
            ):
                if token.text in ("*", "/") and before is not None and before.text in ("(", ","):
                    continue
                if (
                    token.text in ("*", "/", ".")
                    and after is not None
                    and after.text in (",", ")")
                    and before is not None
                    and before.text in OPENERS
                ):
                    continue
                yield Candidate(
                    "operand-missing",
                    token.start,
                    token.end,
                    f"nothing stands behind {token.text!r}",
                    (insert(token.end, " _" if token.text != "." else "_"),),
                    help="write what belongs there, or take the sign away",
                    rank=62,
                )


def _operator(first: Token, second: Token, meant: str, rank: int) -> Candidate:
    both = first.text + second.text
    return Candidate(
        "other-language",
        first.start,
        second.end,
        f"`{both}` is written `{meant}` in Python",
        (Patch(first.start, second.end, meant),),
        help=f"write `{meant}`",
        sure=True,
        rank=rank,
    )


def stray_token(scene: Scene) -> Iterator[Candidate]:
    """One token too many at the place where the interpreter gave up: the least that can be said."""
    tokens = [token for token in scene.tokens if token.kind not in (Kind.NEWLINE, Kind.COMMENT, Kind.JOIN)]
    near = sorted(tokens, key=lambda token: min(abs(token.start - scene.offset), abs(token.end - scene.offset)))[:3]
    for token in near:
        if scene.index.place(token.start)[0] != scene.line:
            continue
        text = token.text if len(token.text) <= 40 else token.text[:37] + "..."
        yield Candidate(
            "token-stray",
            token.start,
            token.end,
            f"{text!r} cannot stand here",
            (Patch(token.start, token.end),),
            help="take it away, or write what is missing around it",
            rank=30,
        )
