"""What a patch has done to the lines of a file, as far as it bears on what other code can find there."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

#: added lines that can take away what stands below them: they end a body, put it under a condition, or into a string
_TAKES = re.compile(
    rb"'''|\"\"\"|\\$|^\s{0,8}(?:del|raise|return|if|elif|else|try|except|finally|with|for|while|match|case|sys\.exit|exit)\b"
)
_SILENT = re.compile(rb"\s*(?:#.*)?$")


@dataclass(frozen=True, slots=True)
class Change:
    """``kept``: the numbers of the lines that the release's file has too. ``takes``: whether something that the
    release's file defines may be gone; certain only where it is False."""

    kept: frozenset[int]
    takes: bool


def change_of(data: bytes, released: bytes) -> Change:
    """Compare a file with the release's. Lines that were only moved count as kept."""
    left = Counter(released.splitlines())
    kept: set[int] = set()
    takes = False
    for number, line in enumerate(data.splitlines(), 1):
        if left[line] > 0:
            left[line] -= 1
            kept.add(number)
        elif _TAKES.search(line):
            takes = True
    takes = takes or any(count > 0 and not _SILENT.match(line) for line, count in left.items())
    return Change(frozenset(kept), takes)
