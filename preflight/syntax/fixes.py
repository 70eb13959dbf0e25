"""Edits in a text: how a line and a column become an offset, and how edits are carried out."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from preflight.model import Edit

_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class Patch:
    """Replace ``text[start:end]`` by ``new``."""

    start: int
    end: int
    new: str = ""


def insert(at: int, new: str) -> Patch:
    """Put text in."""
    return Patch(at, at, new)


def carry_out(text: str, patches: Iterable[Patch]) -> str:
    """The text with the patches carried out."""
    parts: list[str] = []
    at = 0
    for patch in in_order(patches):
        parts += (text[at : patch.start], patch.new)
        at = patch.end
    return "".join([*parts, text[at:]])


def in_order(patches: Iterable[Patch]) -> list[Patch]:
    """The patches by their place."""
    return sorted(patches, key=lambda patch: (patch.start, patch.end))


class LineIndex:
    """The lines of a text as Python counts them (``\\n``, ``\\r\\n`` and a lone ``\\r`` end one)."""

    __slots__ = ("ends", "starts", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = [0]
        self.ends: list[int] = []  #: where the line's own end begins
        for match in _LINE_END.finditer(text):
            self.ends.append(match.start())
            self.starts.append(match.end())
        self.ends.append(len(text))

    def __len__(self) -> int:
        return len(self.starts)

    def line(self, number: int) -> str:
        """The line of this number (from 1) without its end."""
        return self.text[self.starts[number - 1] : self.ends[number - 1]]

    def line_end(self, number: int) -> str:
        """The characters that end the line; empty for the last."""
        return self.text[self.ends[number - 1] : self.starts[number]] if number < len(self.starts) else ""

    def lines(self) -> list[str]:
        """All lines without their ends."""
        return [self.text[start:end] for start, end in zip(self.starts, self.ends, strict=True)]

    def whole_lines(self) -> list[str]:
        """All lines with their ends; together they are the text."""
        return [
            self.text[start:end] for start, end in zip(self.starts, [*self.starts[1:], len(self.text)], strict=True)
        ]

    def offset(self, line: int, column: int) -> int:
        """The offset of a place; one beyond the text is drawn back to the nearest place that exists."""
        if line < 1:
            return 0
        if line > len(self.starts):
            return len(self.text)
        start = self.starts[line - 1]
        limit = self.starts[line] if line < len(self.starts) else len(self.text)
        return min(start + max(column, 1) - 1, limit)

    def place(self, offset: int) -> tuple[int, int]:
        """The line and column of an offset."""
        from bisect import bisect_right

        line = bisect_right(self.starts, offset)
        return line, offset - self.starts[line - 1] + 1


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """The text with the edits carried out; places are those of the text given. Raises ValueError when two overlap."""
    index = LineIndex(text)
    patches = in_order(Patch(index.offset(*edit.start), index.offset(*edit.end), edit.text) for edit in edits)
    for patch, after in zip(patches, [*patches[1:], None], strict=True):
        if patch.end < patch.start or (after is not None and after.start < patch.end):
            raise ValueError("two edits overlap")
    return carry_out(text, patches)
