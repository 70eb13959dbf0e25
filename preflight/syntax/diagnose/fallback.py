"""What is said when no cause is known, and how a statement is taken out of the way so that the search can go on."""

from __future__ import annotations

from collections.abc import Iterator

from preflight.syntax.diagnose.model import Candidate, Patch
from preflight.syntax.diagnose.release import hunk_near
from preflight.syntax.scene import Scene

CAUSE = "invalid-syntax"


def candidates(scene: Scene) -> Iterator[Candidate]:
    """Ways to get past the place without knowing what is wrong, the narrowest first."""
    hunk = hunk_near(scene, scene.line)
    if hunk is not None:
        start, end = scene.index.starts[hunk.first - 1], _line_start(scene, hunk.last + 1)
        inside = hunk.first <= scene.line <= hunk.last
        place = scene.offset if inside else start
        yield _at(scene, place, (Patch(start, end, "".join(hunk.released)),))
    at = scene.statement_at(scene.line)
    if at is not None:
        yield without(scene, at)
        for distance in range(1, 4):
            if at - distance >= 0:
                yield without(scene, at - distance)
            if at + distance < len(scene.statements):
                yield without(scene, at + distance)
        yield _cut(scene, scene.statements[at].first_line, scene.line + 1)
    yield _cut(scene, scene.line, scene.line)
    for reach in (3, 10, 30, 100, 1000):
        yield _cut(scene, scene.line - reach, scene.line + reach)


def plain(scene: Scene) -> Candidate:
    """The interpreter's own words at its own place, when nothing gets past it."""
    return _at(scene, scene.offset, ())


def without(scene: Scene, position: int) -> Candidate:
    """A statement replaced by ``pass``, or by a harmless header where a block hangs on it."""
    statement = scene.statements[position]
    block = scene.block_end(position) > position + 1
    same = [s for s in scene.statements[max(position - 1, 0) : position] if s.is_header and s.width == statement.width]
    if block or statement.last == ":":
        new = "if 1:" if block else "if 1: pass"
    else:
        new = "pass"
    if same and not block:
        new = " " + new  # the header above has no other body
    return _at(scene, scene.offset, (Patch(statement.start, statement.end, new),))


def _cut(scene: Scene, first: int, last: int) -> Candidate:
    """Lines made empty, but for their ends."""
    first, last = max(first, 1), min(last, len(scene.index))
    repair = tuple(
        Patch(scene.index.starts[number - 1], scene.index.ends[number - 1])
        for number in range(first, last + 1)
        if scene.index.ends[number - 1] > scene.index.starts[number - 1]
    )
    return _at(scene, scene.offset, repair)


def _line_start(scene: Scene, number: int) -> int:
    return scene.index.starts[number - 1] if number <= len(scene.index) else len(scene.text)


def _at(scene: Scene, place: int, repair: tuple[Patch, ...]) -> Candidate:
    error = scene.error
    said = error.message or error.type
    return Candidate(
        CAUSE,
        place,
        place,
        f"{scene.python} cannot read this: {said}",
        repair,
        why="no cause that preflight knows explains it; the place is the one where Python gave up",
    )
