"""Strings that are never closed, and quotes within strings."""

from __future__ import annotations

import re
from collections.abc import Iterator

from preflight.syntax.diagnose.model import Candidate, Patch, insert
from preflight.syntax.scene import Scene
from preflight.syntax.tokens import Kind, Token

_CODE_LINE = re.compile(r"^[ \t]*(?:def |class |import |from \S+ import |return\b|@\w|if .*:$|self\.\w+ = )", re.M)
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
            sure=True,
            rank=76,
        )


def _unopened(scene: Scene, token: Token, quote: str) -> Iterator[Candidate]:
    """A quote with nothing but punctuation behind it closed a string whose opening quote is gone."""
    if token.prefix_length or re.search(r"\w", token.text):
        return
    line_start = scene.text.rfind("\n", 0, token.start) + 1
    before = [t for t in scene.tokens if line_start <= t.start < token.start]
    for at, first in enumerate(before):
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
    suspects = _unclosed(scene, triple=True)[:1]
    for token in scene.tokens:
        if token.kind is Kind.STRING and len(token.quote) == 3 and _CODE_LINE.search(token.text):
            suspects.insert(0, token)
            break
    for token in suspects:
        quote = token.quote
        opened = token.start + token.prefix_length + 3
        first, last = scene.index.place(opened)[0], scene.index.place(token.end - 1)[0]
        alone = scene.index.line(first).strip() == quote
        if alone:
            yield Candidate(
                "string-triple-stray",
                opened - 3,
                opened,
                f"this {quote} begins a string that swallows the code below it",
                (Patch(opened - 3, opened),),
                help="take it away, or put in the one that should end the string",
                rank=74,
            )
        for number in range(first, min(last, first + _MAX_PLACES) + 1):
            at = scene.index.ends[number - 1]
            if at < opened or at > token.end:
                continue
            yield Candidate(
                "string-triple-unclosed",
                opened - 3,
                opened,
                f"the string that {quote} opens here is never closed",
                (insert(at, quote),),
                why="Python reads everything up to the next three quotes as text, and gives up behind them",
                help=f"put {quote} where the string ends",
                rank=73,
            )
        if first == last or token.kind is Kind.UNCLOSED:
            yield Candidate(
                "string-triple-stray",
                opened - 3,
                opened,
                f"this {quote} begins a string that is never closed",
                (Patch(opened - 3, opened),),
                help="take it away, or put in the one that should end the string",
                rank=58,
            )


def _unclosed(scene: Scene, triple: bool) -> list[Token]:
    found = [token for token in scene.tokens if token.kind is Kind.UNCLOSED and (len(token.quote) == 3) is triple]
    return sorted(found, key=lambda token: abs(token.start - scene.offset))[:2]
