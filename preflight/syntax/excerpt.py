"""The lines of a file around a place, and what a release had there."""

from __future__ import annotations

from collections.abc import Sequence

from preflight.model import Excerpt

#: Lines shown before and after the place.
MARGIN = 2
#: An excerpt is cut behind so many lines, a line behind so many characters: a hostile file is not a report.
MAX_LINES = 12
MAX_WIDTH = 300


def excerpt(path: str, lines: Sequence[str], first: int, last: int, title: str | None = None) -> Excerpt:
    """The lines ``first`` to ``last`` (from 1) with a margin around them."""
    begin = max(first - MARGIN, 1)
    end = min(last + MARGIN, len(lines), begin + MAX_LINES - 1)
    return Excerpt(path, begin, tuple(line[:MAX_WIDTH] for line in lines[begin - 1 : end]), title)


def pristine_excerpt(
    path: str, lines: Sequence[str], pristine: Sequence[str], first: int, last: int, title: str
) -> Excerpt | None:
    """What the release has where a file has the lines ``first`` to ``last``; None if it has the same there."""
    from preflight.tree.compare import hunks

    for a, b, c, d in hunks(lines, pristine):
        # a deletion has no lines of its own: it counts for the lines on both sides of it
        if a <= last and b >= first - 1:
            return excerpt(path, pristine, c + 1, max(d, c + 1), title)
    return None
