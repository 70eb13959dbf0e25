"""What is said when no cause is known, and how a statement is taken out of the way so that the search can go on."""

from __future__ import annotations

from collections.abc import Iterator

from preflight.syntax.diagnose.model import WEAK, Candidate
from preflight.syntax.diagnose.release import hunk_near
from preflight.syntax.diagnose.strings import swallowing
from preflight.syntax.fixes import Patch
from preflight.syntax.scene import Scene, Statement
from preflight.syntax.tokens import CLOSERS, OPENERS

CAUSE = "invalid-syntax"
#: CPython's tokenizer has room for so many open brackets (MAXLEVEL in its sources).
_MAX_BRACKETS = 200


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


def beyond_limits(scene: Scene) -> Candidate | None:
    """Code that is nested deeper than an interpreter can follow: nobody wrote it by hand, and no repair is sought."""
    deep = 0
    depth = 0
    for token in scene.tokens:
        depth += (token.text in OPENERS) - (token.text in CLOSERS)
        deep = max(deep, depth)
    if deep < _MAX_BRACKETS and scene.error.type in ("SyntaxError", "IndentationError", "TabError"):
        return None
    said = scene.error.message or scene.error.type
    return Candidate(
        "too-deep",
        scene.offset,
        scene.offset,
        f"the code is nested deeper than {scene.python} can read ({said})",
        (),
        why=f"{deep} brackets are open at once" if deep >= _MAX_BRACKETS else "the compiler runs out of its own stack",
        help="put data of this size into a file of its own",
        rank=WEAK,
    )


def plain(scene: Scene) -> Candidate:
    """The interpreter's own words at its own place, when nothing gets past it."""
    return _at(scene, scene.offset, ())


def swallowed(scene: Scene) -> Candidate:
    """What can be said of a string of three quotes that is never closed, when no place for its end is found."""
    token = swallowing(scene)[0]
    return Candidate(
        "string-triple-unclosed",
        token.start,
        token.start + token.prefix_length + 3,
        f"the string that {token.quote} opens here is never closed",
        (),
        why="Python reads everything up to the next three quotes as text",
        help=f"put {token.quote} where the string ends",
        rank=WEAK,
    )


def without(scene: Scene, position: int) -> Candidate:
    """A statement replaced by ``pass``, or by a harmless header where a block hangs on it."""
    statement = scene.statements[position]
    block = scene.block_end(position) > position + 1
    same = [s for s in scene.statements[max(position - 1, 0) : position] if s.is_header and s.width == statement.width]
    new = "pass"
    if block or statement.last == ":":
        new = _header(statement) + ("" if block else " pass")
    if same and not block:
        new = " " + new  # the header above has no other body
    return _at(scene, scene.offset, (Patch(statement.start, statement.end, new),))


def _header(statement: Statement) -> str:
    """A header of the same kind with nothing in it that can be wrong, so that what its block may hold stays allowed."""
    tokens = [token.text for token in statement.tokens[:2]]
    if "def" in tokens:
        return "async def _(*_, **__):" if tokens[0] == "async" else "def _(*_, **__):"
    plain = {"class": "class _:", "for": "while 1:", "while": "while 1:", "elif": "elif 1:", "case": "case _:"}
    plain |= {word: f"{word}:" for word in ("else", "try", "except", "finally")}
    return plain.get(statement.word, "if 1:")


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
        rank=0,
    )
