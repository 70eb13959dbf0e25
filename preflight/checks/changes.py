"""What a patch has done to the lines of a file, as far as it bears on what other code can find there."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from preflight.checks.bound import statements
from preflight.program.facts import Assign, ClassFacts, FunctionFacts, Import, Item

#: an added line that can take away what stands below it: it ends the body, puts it under a condition, into a string
_TAKES = re.compile(
    rb"'''|\"\"\"|\\$|^(?:del|raise|return|if|elif|else|try|except|finally|with|for|while|match|exit|sys\.exit)\b"
    rb"|^ {1,4}(?:del|raise)\b|^ {1,4}(?:elif|else|except|finally)\b"
)
_IMPORT = re.compile(rb"^\s*(?:import|from)\b")
_SILENT = re.compile(rb"\s*(?:#.*)?$")


@dataclass(frozen=True, slots=True)
class Change:
    """How a file differs from the release's, line by line.

    ``kept``: the numbers of the lines that the release has in this order too. ``removes``: whether it has others that
    this file has not. ``unclear``: whether an added line may change what lines below it mean.
    """

    kept: frozenset[int]
    removes: bool
    unclear: bool

    def keeps(self, first: int, last: int) -> bool:
        """Whether all lines from the first to the last are the release's."""
        return all(number in self.kept for number in range(first, last + 1))


def change_of(data: bytes, released: bytes) -> Change:
    """Compare a file with the release's. Lines that were moved count as removed and added."""
    from preflight.tree.compare import hunks

    lines, before = data.splitlines(), released.splitlines()
    kept = set(range(1, len(lines) + 1))
    removes = unclear = False
    for begin, end, start, stop in hunks(lines, before):
        kept.difference_update(range(begin + 1, end + 1))
        removes = removes or not all(_SILENT.match(line) for line in before[start:stop])
        unclear = unclear or any(_TAKES.search(line) for line in lines[begin:end])
    return Change(frozenset(kept), removes, unclear)


def frame_of(data: bytes) -> list[bytes]:
    """The lines of a file that decide which imports run and what is bound when, blank ones and comments left out: two
    files of one frame import alike."""
    lines = data.splitlines()
    return [line for line in lines if (line[:1].strip() and not line.startswith(b"#")) or _IMPORT.match(line)]


def names_of(items: Iterable[Item], within: str = "") -> set[str]:
    """Every name that a body binds, those of its classes as ``Class.name``."""
    found: set[str] = set()
    for item in statements(items):
        if isinstance(item, Import):
            found.add(within + item.bound)
        elif isinstance(item, (Assign, FunctionFacts, ClassFacts)):
            found.add(within + item.name)
            if isinstance(item, ClassFacts):
                found |= names_of(item.body, f"{within}{item.name}.")
    return found
