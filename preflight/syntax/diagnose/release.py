"""What the release had: the changed region around a fault, line by line."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from preflight.syntax.diagnose.model import Candidate
from preflight.syntax.fixes import LineIndex, carry_out
from preflight.syntax.scene import Scene
from preflight.tree.compare import hunks


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines ``first`` to ``last`` of the file (from 1) stand where the release has the lines ``released``.

    ``last`` is ``first - 1`` where the patch only took lines away. Lines are whole, with their ends.
    """

    first: int
    last: int
    released: tuple[str, ...]


def all_hunks(scene: Scene) -> list[Hunk]:
    """Every region that differs from the release; none when the release's text is not known."""
    return _hunks(scene.text, scene.pristine) if scene.pristine is not None else []


@lru_cache(maxsize=2)
def _hunks(text: str, pristine: str) -> list[Hunk]:
    """Several detectors ask for one scene."""
    released = LineIndex(pristine).whole_lines()
    regions = hunks(LineIndex(text).whole_lines(), released)
    return [Hunk(a + 1, b, tuple(released[c:d])) for a, b, c, d in regions]


def hunk_near(scene: Scene, line: int) -> Hunk | None:
    """The region that holds a line, or the last one before it."""
    found = None
    for hunk in all_hunks(scene):
        if hunk.first > line + 1:
            break
        found = hunk
    return found


def restores(scene: Scene, candidate: Candidate) -> bool:
    """Whether the lines that a repair touches become the lines that the release has there."""
    if scene.pristine is None or not candidate.repair:
        return False
    start = min(patch.start for patch in candidate.repair)
    hunk = hunk_near(scene, scene.index.place(start)[0])
    if hunk is None:
        return False
    repaired = carry_out(scene.text, candidate.repair)
    end = max(patch.end for patch in candidate.repair) + len(repaired) - len(scene.text)
    index = LineIndex(repaired)
    first, last = index.place(start)[0], index.place(max(start, end))[0]
    released = {line.rstrip("\r\n") for line in hunk.released}
    lines = [index.line(number) for number in range(first, last + 1)]
    return any(line.strip() for line in lines) and all(line in released for line in lines if line.strip())
