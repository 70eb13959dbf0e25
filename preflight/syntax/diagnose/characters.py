"""Characters that came in by copy and paste, and ends of lines that are not what they seem."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from preflight.syntax.diagnose.model import Candidate
from preflight.syntax.fixes import Patch
from preflight.syntax.scene import Scene
from preflight.syntax.tokens import Kind, Token

#: Characters that stand for another one where code is meant; the fullwidth forms are computed from Unicode.
_MEANT = {
    "\u2018": "'", "\u2019": "'", "\u201a": "'", "\u201b": "'", "\u2032": "'",
    "\u201c": '"', "\u201d": '"', "\u201e": '"', "\u201f": '"', "\u2033": '"', "\u00ab": '"', "\u00bb": '"',
    "\u2013": "-", "\u2014": "-", "\u2212": "-", "\u2010": "-", "\u2011": "-",
    "\u00d7": "*", "\u2217": "*", "\u2026": "...", "\u2192": "->",
    "\u2260": "!=", "\u2264": "<=", "\u2265": ">=", "\u3001": ",", "\u3002": ".",
}  # fmt: skip
_WHY = "it looks like a part of the code, but Python has no such token"


def odd_characters(scene: Scene) -> Iterator[Candidate]:
    """Quotes, dashes, spaces and brackets of typography; characters that cannot be seen."""
    odd = [token for token in scene.tokens if token.kind is Kind.ODD and not token.text.isascii()]
    if not odd:
        return
    nearest = min(odd, key=lambda token: (abs(token.start - scene.offset), token.start))
    line = scene.index.place(nearest.start)[0]
    same_line = [token for token in odd if scene.index.place(token.start)[0] == line]
    first = same_line[0]
    everywhere = [token for token in odd if _meant(token.text) == _meant(first.text)]
    for chosen, rank in ((_in_line(scene, same_line), 92), (_in_line(scene, everywhere), 91)):
        yield Candidate(
            "odd-character",
            first.start,
            first.end,
            f"{_described(first.text)} stands in the code",
            chosen,
            why=_WHY,
            help=_help(first.text),
            sure=all(_meant(token.text) is not None for token in same_line),
            rank=rank,
        )


def odd_names(scene: Scene) -> Iterator[Candidate]:
    """Fullwidth or otherwise decorated letters: Python reads them as the plain ones, so only keywords go wrong."""
    for statement in scene.around(before=1, after=0):
        for token in statement.tokens:
            plain = unicodedata.normalize("NFKC", token.text)
            if token.kind is Kind.NAME and not token.text.isascii() and plain.isascii():
                yield Candidate(
                    "odd-character",
                    token.start,
                    token.end,
                    f"the word {token.text!r} is written with letters that only look like {plain!r}",
                    (Patch(token.start, token.end, plain),),
                    help=f"write {plain!r}",
                    sure=True,
                    rank=60,
                )


def backslashes(scene: Scene) -> Iterator[Candidate]:
    """A backslash at the end of a line with something behind it, or with nothing to go on with."""
    for number in range(max(scene.line - 1, 1), min(scene.line + 1, len(scene.index)) + 1):
        start, end = scene.index.starts[number - 1], scene.index.ends[number - 1]
        for token in (t for t in _tokens_in(scene, start, end + 2) if t.text.startswith("\\")):
            rest = scene.text[token.start + 1 : end]
            if token.kind is Kind.ODD and rest and not rest.strip():
                yield Candidate(
                    "backslash-space",
                    token.start,
                    end,
                    "a space stands behind the backslash at the end of the line",
                    (Patch(token.start + 1, end),),
                    why="a backslash joins two lines only if the line ends right behind it",
                    help="take the space away",
                    sure=True,
                    rank=88,
                )
            if token.kind is Kind.ODD and rest.lstrip().startswith("#"):
                yield Candidate(
                    "backslash-comment",
                    token.start,
                    end,
                    "a comment stands behind the backslash at the end of the line",
                    (Patch(token.start + 1, end),),
                    why="a backslash joins two lines only if the line ends right behind it",
                    help="put the comment on a line of its own above",
                    sure=True,
                    rank=87,
                )
            yield Candidate(
                "backslash-dangling",
                token.start,
                token.start + 1,
                "the backslash joins the line with one that does not go on with it",
                (scene.removal(token.start, token.start + 1),),
                help="take the backslash away",
                sure=token.kind is Kind.JOIN or not rest,
                rank=64,
            )


def control_characters(scene: Scene) -> Iterator[Candidate]:
    """Control characters in the code: a form feed is white space to Python, the others are not."""
    odd = [t for t in scene.tokens if t.kind is Kind.ODD and (t.text < " " or t.text == "\x7f")]
    if odd:
        nearest = min(odd, key=lambda token: abs(token.start - scene.offset))
        yield Candidate(
            "odd-character",
            nearest.start,
            nearest.end,
            f"the control character U+{ord(nearest.text):04X} stands in the code",
            tuple(Patch(t.start, t.end) for t in odd if t.text == nearest.text),
            help="take it away",
            sure=True,
            rank=90,
        )


def lone_return(scene: Scene) -> Iterator[Candidate]:
    """A carriage return in the middle of a line: Python ends the line there."""
    for number in (scene.line - 1, scene.line, scene.line + 1):
        if 1 <= number < len(scene.index) and scene.index.line_end(number) == "\r":
            start = scene.index.ends[number - 1]
            for new in ("", " "):
                yield Candidate(
                    "carriage-return",
                    start,
                    start + 1,
                    "a lone carriage return ends the line in the middle",
                    (Patch(start, start + 1, new),),
                    why="Python counts it as the end of a line, most editors do not show it",
                    help="take it away",
                    rank=70,
                )


def _in_line(scene: Scene, tokens: list[Token]) -> tuple[Patch, ...]:
    return tuple(Patch(token.start, token.end, _meant(token.text) or "") for token in tokens)


def _meant(char: str) -> str | None:
    """What the character stands for: a plain one, nothing for one that cannot be seen; None if that is not known."""
    if char in _MEANT:
        return _MEANT[char]
    category = unicodedata.category(char)
    if category == "Zs":
        return " "
    if category in ("Cf", "Cc") or char == "\ufeff":
        return ""
    plain = unicodedata.normalize("NFKC", char)
    return plain if plain.isascii() and plain.isprintable() and len(plain) == 1 else None


def _described(char: str) -> str:
    name = unicodedata.name(char, "a character without a name").lower()
    article = "" if name.startswith("a ") else "an " if name[0] in "aeiou" else "a "
    return f"{article}{name} (U+{ord(char):04X})"


def _help(char: str) -> str:
    meant = _meant(char)
    if meant is None:
        return "write what is meant in plain characters"
    return (
        f"write {meant!r}" if meant.strip() else "write a plain space" if meant else "take it away; it cannot be seen"
    )


def _tokens_in(scene: Scene, start: int, end: int) -> list[Token]:
    return [token for token in scene.tokens if start <= token.start < end]
