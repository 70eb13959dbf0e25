"""Text on a terminal: what a character looks like there, how wide it is, and how a line is cut and wrapped.

Sources and configs come from anywhere, so whatever could steer the terminal or hide itself (control characters, escape
sequences, bidirectional overrides, zero-width characters) is written as its escape.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

_TAB = 4
ELLIPSIS = "…"
_STYLES = {"error": "1;31", "warning": "1;33", "info": "1;36", "gutter": "1;34", "strong": "1", "good": "1;32"}


@dataclass(frozen=True, slots=True)
class Painter:
    """Puts colour on text, or leaves it alone."""

    colour: bool

    def __call__(self, text: str, style: str) -> str:
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if self.colour and text else text


@dataclass(frozen=True, slots=True)
class FittedLine:
    """A line of code as it is shown, and where its characters are in it."""

    text: str
    _first: int
    _starts: tuple[int, ...]
    _lead: int

    def x(self, index: int) -> int:
        """The terminal column (from 0) where character ``index`` of the line begins; of what was cut away, the edge."""
        return self._starts[min(max(index - self._first, 0), len(self._starts) - 1)] + self._lead


def visible(text: str) -> str:
    """``text`` with every character that does not show as itself replaced by its Python escape. Line feeds too."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escape(char) for char in text)


def visible_lines(text: str) -> str:
    """The same for a text of several lines: whatever ended a line becomes a line feed, a tab becomes spaces."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(visible(line.expandtabs(_TAB)) for line in lines)


def one_line(text: str) -> str:
    """``text`` as one visible line: its white space becomes single spaces."""
    return visible(" ".join(text.split()))


def width_of(text: str) -> int:
    """How many terminal columns ``text`` takes, which must be visible already."""
    return len(text) if text.isascii() else sum(map(_char_width, text))


def fit(line: str, focus: int, available: int) -> FittedLine:
    """Show ``line`` in ``available`` terminal columns; a longer one is cut so that character ``focus`` is there.

    Tabs become spaces up to the next multiple of four.
    """
    # A line may have megabytes: only the part that can be shown is looked at.
    base = max(0, min(focus, len(line)) - available)
    part = line[base : base + 3 * available]
    cells: list[str] = []
    starts = [0]
    for char in part:
        cell = " " * (_TAB - starts[-1] % _TAB) if char == "\t" else visible(char)
        cells.append(cell)
        starts.append(starts[-1] + width_of(cell))
    whole = base == 0 and len(part) == len(line)
    if whole and starts[-1] <= available:
        return FittedLine("".join(cells), 0, tuple(starts), 0)
    at = starts[min(max(focus - base, 0), len(cells))]
    wanted = 0 if base == 0 and at < available * 2 // 3 else at - available // 3
    first = next(index for index, start in enumerate(starts) if start >= min(wanted, starts[-1]))
    lead = ELLIPSIS if base + first > 0 else ""
    room = available - len(lead) - 1
    last = max(index for index in range(first, len(starts)) if starts[index] - starts[first] <= room)
    tail = ELLIPSIS if base + last < len(line) else ""
    shifted = tuple(start - starts[first] for start in starts[first : last + 1])
    return FittedLine(lead + "".join(cells[first:last]) + tail, base + first, shifted, len(lead))


def wrapped(text: str, first: str, rest: str, width: int) -> Iterable[str]:
    """The words of ``text`` in lines of at most ``width`` columns; ``first`` and ``rest`` are their prefixes."""
    line, used = first, width_of(first)
    fresh = True
    for word in visible(" ".join(text.split())).split(" "):
        wide = width_of(word)
        if not fresh and used + 1 + wide > width:
            yield line
            line, used, fresh = rest, width_of(rest), True
        line += word if fresh else f" {word}"
        used += wide + (0 if fresh else 1)
        fresh = False
    yield line


def _escape(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _char_width(char: str) -> int:
    if char.isascii():
        return 1
    from unicodedata import category, east_asian_width

    if category(char) in ("Mn", "Me"):
        return 0
    return 2 if east_asian_width(char) in "WF" else 1
