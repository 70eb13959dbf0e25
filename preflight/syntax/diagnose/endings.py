"""Files that were cut off."""

from __future__ import annotations

from collections.abc import Iterator

from preflight.syntax.diagnose.model import Candidate
from preflight.syntax.fixes import LineIndex, Patch
from preflight.syntax.scene import Scene, Statement
from preflight.syntax.tokens import Kind, Token


def cut_off(scene: Scene) -> Iterator[Candidate]:
    """A file that ends in the middle of a statement: it was only half written."""
    if not scene.statements:
        return
    last = scene.statements[-1]
    if scene.line < last.first_line and not (last.open or last.tokens[-1].kind is Kind.UNCLOSED):
        return
    text = scene.text.rstrip()
    no_newline = bool(scene.text) and scene.text[-1] not in "\r\n"
    shorter = _is_beginning(scene)
    unfinished = bool(last.open) or last.tokens[-1].kind is Kind.UNCLOSED or _hangs(last)
    if not (shorter or (no_newline and unfinished)):
        return
    position = len(scene.statements) - 1
    start = scene.statements[_block_start(scene, position)].start
    size = len(LineIndex(scene.pristine)) if scene.pristine is not None else None
    known = f"; the release's file has {size} lines, this one {len(scene.index)}" if shorter and size else ""
    for at in (last.start, start):
        yield Candidate(
            "cut-off",
            last.start,
            len(text),
            f"the file ends in the middle of a statement{known}",
            (Patch(at, len(scene.text), "pass\n"),),
            why="it was written only in part: a full disk, a broken copy, an interrupted tool",
            help="write the whole file again",
            rank=93 if shorter else 77,
        )


def _is_beginning(scene: Scene) -> bool:
    """Whether the file is the release's own, up to the place where it ends."""
    if scene.pristine is None or len(scene.text) >= len(scene.pristine):
        return False
    lines = scene.index.lines()
    while lines and not lines[-1].strip():
        lines.pop()
    if not lines:
        return False
    released = LineIndex(scene.pristine).lines()
    tail = lines[-4:-1]
    for at in range(len(released) - len(tail)):
        if released[at : at + len(tail)] == tail and at + len(tail) < len(released) - 1:
            after = released[at + len(tail)]
            if tail and after.startswith(lines[-1]) and (after != lines[-1] or len(lines) < len(released)):
                return True
    return False


def _hangs(statement: Statement) -> bool:
    last: Token = statement.tokens[-1]
    hangs = last.kind is Kind.OP and last.text not in (")", "]", "}", ":", "...")
    return hangs or statement.is_header


def _block_start(scene: Scene, position: int) -> int:
    """The outermost header that only waits for the last statement."""
    while position and scene.statements[position - 1].is_header and (
        scene.statements[position - 1].width < scene.statements[position].width
    ):  # fmt: skip
        position -= 1
    return position
