"""The markers of a merge that was never resolved."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_MARKER = re.compile(r"(<{7}|\|{7}|={7}|>{7})(?: .*)?$")
#: Markers without their ``<<<<<<<`` that stand within so many lines of each other belong together.
_REACH = 400


@dataclass(frozen=True, slots=True)
class Conflict:
    """One conflict: its first and last line, and the lines of the markers between them (all from 1).

    ``base`` is the ``|||||||`` of the diff3 style. ``whole`` is False for one that was cleaned up in part.
    """

    first: int
    last: int
    middle: int | None = None
    base: int | None = None

    @property
    def whole(self) -> bool:
        return self.middle is not None and self.last > self.middle

    @property
    def sides(self) -> tuple[tuple[int, ...], ...]:
        """The lines that may be kept: what was merged in, what was there, or both."""
        middle = self.middle or self.last
        ours_end = self.base or middle
        markers = {self.first, self.last, self.middle, self.base}
        everything = tuple(line for line in range(self.first, self.last + 1) if line not in markers)
        return tuple(range(middle + 1, self.last)), tuple(range(self.first + 1, ours_end)), everything


def find_conflicts(lines: Sequence[str]) -> list[Conflict]:
    """Every conflict in these lines, in order; markers that lost their ``<<<<<<<`` are taken together."""
    found: list[Conflict] = []
    first: int | None = None
    marks: dict[str, int] = {}
    loose: list[int] = []
    for number, line in enumerate(lines, 1):
        if not line.startswith(("<<<<<<<", "|||||||", "=======", ">>>>>>>")):
            continue
        match = _MARKER.match(line)
        if match is None:
            continue
        mark = match.group(1)[0]
        if mark == "<":
            first, marks = number, {}
        elif first is None:
            if mark == ">" or (loose and number - loose[-1] < _REACH) or mark == "=":
                loose.append(number)
        elif mark in "|=":
            marks.setdefault(mark, number)
        else:
            found.append(Conflict(first, number, marks.get("="), marks.get("|")))
            first = None
    if first is not None:
        found.append(Conflict(first, max([first, *marks.values()]), marks.get("="), marks.get("|")))
    elif loose and not found:
        found.append(Conflict(loose[0], loose[-1]))
    return found
