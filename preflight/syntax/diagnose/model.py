"""What detectors propose and what the engine makes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from preflight.model import Edit
from preflight.syntax.fixes import Patch, in_order

if TYPE_CHECKING:
    from preflight.syntax.scene import Scene


#: Candidates of this rank and below only take the fault out of the way.
WEAK = 40


@dataclass(frozen=True, slots=True)
class Candidate:
    """A cause that a detector proposes, with the repair that would prove it.

    The engine compiles the repaired text: the cause is believed only if the interpreter then gets past the place.
    A repair that passes this proof is offered as a fix if it is ``sure``, or ``sure_if_alone`` and no other repair of
    the same cause at the same place passes. Otherwise there is more than one way to repair it (or the repair only takes
    the fault out of the way), and it is offered only if it restores what the release had.
    """

    cause: str
    start: int
    end: int
    message: str
    repair: tuple[Patch, ...]
    why: str | None = None
    help: str | None = None
    sure: bool = False
    sure_if_alone: bool = False
    #: of syntax that is newer than the interpreter: its name, and the first Python that reads it
    feature: str | None = None
    since: tuple[int, int] | None = None
    rank: int = 50  #: of two causes that explain equally much, the higher rank wins

    @property
    def is_weak(self) -> bool:
        """Whether it hardly says more than that something is wrong there."""
        return self.rank <= WEAK


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One fault of a text. Places are (line, column) from 1 in the text as it was read."""

    cause: str
    start: tuple[int, int]
    end: tuple[int, int]
    message: str
    why: str | None = None
    help: str | None = None
    fix: tuple[Edit, ...] | None = None
    safe: bool = False  #: with all offered fixes of the file together it compiles
    #: of syntax that is newer than the interpreter: its name, and the first Python that reads it
    feature: str | None = None
    since: tuple[int, int] | None = None


Detector = Callable[["Scene"], Iterator[Candidate]]


class Shifts:
    """How offsets of a text under repair lead back to the text as it was read."""

    def __init__(self) -> None:
        self._rounds: list[list[Patch]] = []

    def add(self, patches: tuple[Patch, ...]) -> None:
        """One more round of patches was carried out."""
        self._rounds.append(in_order(patches))

    def back(self, offset: int) -> int:
        """The original offset of a place in the text as it is now; within text put in, the end of what it replaced."""
        for patches in reversed(self._rounds):
            shift = 0
            for patch in patches:
                begin = patch.start + shift  # where the patch's own text begins now
                if offset < begin or (offset == begin and patch.new):
                    break
                if offset < begin + len(patch.new):
                    offset, shift = patch.end, 0
                    break
                shift += len(patch.new) - (patch.end - patch.start)
            offset -= shift
        return offset

    def original(self, patches: tuple[Patch, ...]) -> tuple[Patch, ...]:
        """Patches of the text as it is now, as patches of the text as it was read."""
        return tuple(Patch(self.back(patch.start), self.back(patch.end), patch.new) for patch in patches)
