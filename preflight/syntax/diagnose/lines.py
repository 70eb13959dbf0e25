"""Whole lines that stand twice, or that a patch took away."""

from __future__ import annotations

from collections.abc import Iterator

from preflight.syntax.diagnose.model import Candidate
from preflight.syntax.diagnose.release import all_hunks
from preflight.syntax.fixes import Patch, insert
from preflight.syntax.scene import Scene


def doubled_line(scene: Scene) -> Iterator[Candidate]:
    """The same line twice, one right below the other."""
    for number in range(max(scene.line - 2, 2), min(scene.line + 2, len(scene.index)) + 1):
        line = scene.index.line(number)
        if not line.strip() or line != scene.index.line(number - 1):
            continue
        start = scene.index.starts[number - 1]
        yield Candidate(
            "line-doubled",
            start + len(line) - len(line.lstrip()),
            scene.index.ends[number - 1],
            "the line stands twice",
            (Patch(start, scene.index.offset(number + 1, 1)),),
            why="it is the same as the line above it",
            help="take one of the two away",
            sure=True,
            rank=77,
        )


def lost_lines(scene: Scene) -> Iterator[Candidate]:
    """Lines of the release that are gone, and without which the code around them cannot be read."""
    for hunk in all_hunks(scene):
        if hunk.last >= hunk.first or not scene.line - 300 <= hunk.first <= scene.line + 2:
            continue
        start = scene.index.offset(hunk.first, 1)
        count = len(hunk.released)
        lines = f"{count} lines" if count > 1 else "a line"
        at = min(hunk.first, len(scene.index))
        yield Candidate(
            "line-lost",
            start,
            scene.index.ends[at - 1],
            f"{lines} of the release {'are' if count > 1 else 'is'} missing before this one",
            (insert(start, "".join(hunk.released)),),
            why=f"the release has `{hunk.released[0].strip()[:60]}` there, and what is left cannot be read without it",
            help="put back what belongs together, or take away all of it",
            rank=60,
        )
