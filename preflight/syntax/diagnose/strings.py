"""Strings that are never closed, and quotes within strings."""

from __future__ import annotations

import re
from collections.abc import Iterator

from preflight.syntax.diagnose.model import Candidate
from preflight.syntax.fixes import Patch, insert
from preflight.syntax.scene import Scene
from preflight.syntax.tokens import Kind, Token

#: A line that is code rather than prose.
CODE_LINE = re.compile(r"^[ \t]*(?:def |class |import |from \S+ import |return\b|@\w|if .*:$|self\.\w+ = )", re.M)
#: Where the closing quote of a one-line string may have stood: before closing punctuation.
_PUNCTUATION = re.compile(r"[\])},:;]|\s*#|\s*$")
#: How many places for a closing quote are tried.
_MAX_PLACES = 24


def unclosed_string(scene: Scene) -> Iterator[Candidate]:
    """A string on one line without its closing quote: the place is where it was opened."""
    for token in _unclosed(scene, triple=False):
        quote = token.quote
        yield from _inner_quote(scene, token, quote)
        yield from _unopened(scene, token, quote)
        if token.text[1:2].isspace() or not token.text.strip(quote + ")]},: ").isidentifier():
            # with more than a word behind it the quote itself may be what is too many
            yield Candidate(
                "string-unclosed",
                token.start,
                token.end,
                "the string that is opened here is not closed on its line",
                (scene.removal(token.start, token.start + 1),),
                help=f"put {quote} where the string ends, or take this one away",
                rank=70,
            )
        yield from _unpaired(scene, token, quote)
        tail = token.text
        for place in list(_PUNCTUATION.finditer(tail, 1))[-_MAX_PLACES:]:
            last = place.end() >= len(tail.rstrip())
            yield Candidate(
                "string-unclosed",
                token.start,
                token.end,
                "the string that is opened here is not closed on its line",
                (insert(token.start + place.start(), quote),),
                why="Python ends a string of one quote at the end of its line at the latest",
                help=f"put {quote} where the string ends",
                sure_if_alone=True,
                rank=72 if last else 71,
            )


def _inner_quote(scene: Scene, token: Token, quote: str) -> Iterator[Candidate]:
    """``'don't'``: the quote within the string ended it."""
    line_start = scene.text.rfind("\n", 0, token.start) + 1
    before = [t for t in scene.tokens if line_start <= t.start < token.start]
    for first in reversed(before):
        if first.kind is not Kind.STRING or not first.text.endswith(quote) or first.text.endswith(quote * 3):
            continue
        if first.end >= len(scene.text) or not scene.text[first.end].isalnum():
            continue
        opening = first.start + first.prefix_length
        other = "'" if quote == '"' else '"'
        if other in scene.text[opening : token.start + 1]:
            repair: tuple[Patch, ...] = (insert(first.end - 1, "\\"),)
        else:
            repair = (Patch(opening, opening + 1, other), Patch(token.start, token.start + 1, other))
        yield Candidate(
            "string-inner-quote",
            first.end - 1,
            first.end,
            f"this {quote} ends the string; the text goes on behind it",
            repair,
            why=f"within {quote}...{quote} the same quote ends the string",
            help=f"write \\{quote}, or put the string in {other}",
            sure=scene.text[first.end - 2].isalpha() and scene.text[first.end].isalpha(),
            rank=76,
        )


def _unpaired(scene: Scene, token: Token, quote: str) -> Iterator[Candidate]:
    """Several strings on the line, and a quote is missing before the last: all behind it turn inside out."""
    line = scene.index.place(token.start)[0]
    start = scene.index.starts[line - 1]
    edges = [m.start() for m in re.finditer(r"(?<=\w)(?!\w)|(?<!\w)(?=\w)", scene.text[start : token.start])]
    for edge in edges[-_MAX_PLACES:]:
        yield Candidate(
            "quotes-unpaired",
            token.start,
            token.end,
            f"the {quote} on this line do not pair",
            (insert(start + edge, quote),),
            why="one is missing before this place, so that text and code have changed sides",
            help=f"put the missing {quote} in",
            rank=68,
        )


def _unopened(scene: Scene, token: Token, quote: str) -> Iterator[Candidate]:
    """A quote with nothing but punctuation behind it closed a string whose opening quote is gone."""
    if token.prefix_length or re.search(r"\w", token.text):
        return
    line_start = scene.text.rfind("\n", 0, token.start) + 1
    before = [t for t in scene.tokens if line_start <= t.start < token.start]
    for at, first in enumerate([*before, token]):
        if at and before[at - 1].text not in ("=", "(", "[", "{", ",", ":", "==", "!=", "return", "in", "+", "%"):
            continue
        prefix = first.text.lower() in ("f", "r", "b", "rf", "fr", "rb", "br")
        place = first.end if prefix else first.start
        yield Candidate(
            "string-unopened",
            token.start,
            token.start + 1,
            f"this {quote} ends a string that was never opened",
            (insert(place, quote),),
            help=f"put {quote} where the string begins",
            sure_if_alone=True,
            rank=75 + prefix,
        )


def unclosed_triple(scene: Scene) -> Iterator[Candidate]:
    """A string of three quotes without its end: it swallows code up to the next three quotes, or the rest of the file.

    CPython gives up far below, in the prose of the next docstring or at the last quotes of the file.
    """
    for token in swallowing(scene):
        quote = token.quote
        opened = token.start + token.prefix_length + 3
        first, last = scene.index.place(opened)[0], scene.index.place(token.end - 1)[0]
        alone = scene.index.line(first).strip() == quote
        yield Candidate(
            "string-triple-stray",
            opened - 3,
            opened,
            f"this {quote} begins a string that swallows the code below it",
            (scene.removal(opened - 3, opened),),
            help="take it away, or put in the one that should end the string",
            rank=75 if alone else 58,
        )
        two = _two_quotes(scene, token)
        if two is not None:
            yield Candidate(
                "string-triple-short",
                two.start(),
                two.start() + 2,
                f"two quotes stand where three should end the text that begins on line {scene.number(opened)}",
                (insert(two.start(), quote[0]),),
                help=f"write {quote}",
                sure=True,
                rank=76,
            )
        for distance, number in enumerate(range(first, min(last, first + _MAX_PLACES) + 1)):
            at = scene.index.ends[number - 1]
            if opened <= at <= token.end:
                yield Candidate(
                    "string-triple-unclosed",
                    opened - 3,
                    opened,
                    f"the string that {quote} opens here is never closed",
                    (insert(at, quote),),
                    why="Python reads everything up to the next three quotes as text, and gives up behind them",
                    help=f"put {quote} where the string ends",
                    rank=74 if distance < 3 else 72,
                )


def _two_quotes(scene: Scene, token: Token) -> re.Match[str] | None:
    """Two quotes at the end of a line within a string of three, where the third may be missing."""
    quote = token.quote[0]
    pattern = re.compile(rf"(?<!{quote}){quote * 2}(?!{quote})[ \t]*$", re.M)
    return pattern.search(scene.text, token.start + token.prefix_length + 3, token.end)


def swallowing(scene: Scene) -> list[Token]:
    """The strings of three quotes that seem to hold code, and the one that is never closed, in their order."""
    if scene.swallowed is None:
        return []
    strings = (t for t in scene.tokens if t.kind is Kind.STRING and len(t.quote) == 3)
    with_code = [token for token in strings if CODE_LINE.search(token.text) or _two_quotes(scene, token)]
    return [*with_code[:2], scene.swallowed]


def unopened_triple(scene: Scene) -> Iterator[Candidate]:
    """Prose without the three quotes that should open it: those that end it open a string instead."""
    for token in swallowing(scene)[:2]:
        quote = token.quote
        line = scene.index.place(token.start)[0]
        before = [s for s in scene.statements if s.first_line <= line and s.start <= token.start]
        for distance, statement in enumerate(reversed(before[-_MAX_PLACES:])):
            two = statement.tokens[0].text == quote[0] * 2 or statement.tokens[-1].text == quote[0] * 2
            if statement.tokens[0].text == quote[0] * 2:
                yield Candidate(
                    "string-triple-short",
                    statement.start,
                    statement.start + 2,
                    "two quotes stand where three should open the text",
                    (insert(statement.start, quote[0]),),
                    help=f"write {quote}",
                    sure=True,
                    rank=76,
                )
            if statement.start >= token.start or two:
                continue
            yield Candidate(
                "string-triple-unopened",
                statement.start,
                statement.end,
                f"the {quote} is missing that should open this text",
                (insert(statement.start, quote),),
                why=f"the {quote} that should end it opens a string instead, which swallows the code below",
                help=f"put {quote} before it",
                rank=73 if distance < 4 else 71,
            )


def _unclosed(scene: Scene, triple: bool) -> list[Token]:
    found = [token for token in scene.tokens if token.kind is Kind.UNCLOSED and (len(token.quote) == 3) is triple]
    return sorted(found, key=lambda token: abs(token.start - scene.offset))[:2]
