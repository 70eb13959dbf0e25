"""What detectors propose and what the engine makes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from preflight.model import Edit

if TYPE_CHECKING:
    from preflight.syntax.scene import Scene


@dataclass(frozen=True, slots=True)
class Patch:
    """Replace ``text[start:end]`` by ``new``."""

    start: int
    end: int
    new: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """A cause that a detector proposes, with the repair that would prove it.

    The engine compiles the repaired text: the cause is believed only if the interpreter then gets past the place.
    ``repair`` must keep the number of lines, so that places of later faults stay true; ``fix`` is what the person is
    offered, if that differs. ``sure``: whoever passes that proof may be offered as a fix; otherwise there are several
    ways to repair it, and the fix is offered only if it restores what the release had.
    """

    cause: str
    start: int
    end: int
    message: str
    repair: tuple[Patch, ...]
    why: str | None = None
    help: str | None = None
    fix: tuple[Patch, ...] | None = None
    sure: bool = True
    rank: int = 0  #: of two causes that explain equally much, the higher rank wins


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


Detector = Callable[["Scene"], Iterator[Candidate]]


def carry_out(text: str, patches: tuple[Patch, ...]) -> str:
    """The text with the patches carried out."""
    parts: list[str] = []
    at = 0
    for patch in sorted(patches, key=lambda patch: (patch.start, patch.end)):
        parts += (text[at : patch.start], patch.new)
        at = patch.end
    return "".join([*parts, text[at:]])
