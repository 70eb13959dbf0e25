"""Which lines of a file differ from the release's."""

from __future__ import annotations

from collections.abc import Sequence

#: Line pairs that are compared; two files without anything in common are one large difference.
_MAX_COMPARED = 4_000_000


def hunks(lines: Sequence[str], released: Sequence[str]) -> list[tuple[int, int, int, int]]:
    """The regions that differ: (from, up to) in the file, (from, up to) in the release, counted from 0."""
    before = after = 0
    limit = min(len(lines), len(released))
    while before < limit and lines[before] == released[before]:
        before += 1
    while after < limit - before and lines[-1 - after] == released[-1 - after]:
        after += 1
    if (len(lines) - before - after) * (len(released) - before - after) > _MAX_COMPARED:
        return [(before, len(lines) - after, before, len(released) - after)]
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(None, lines[before : len(lines) - after], released[before : len(released) - after], False)
    return [
        (a + before, b + before, c + before, d + before) for tag, a, b, c, d in matcher.get_opcodes() if tag != "equal"
    ]
