"""What patch and merge tools leave beside and inside the files: rejected hunks, backups, conflict markers in text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from preflight.checks.context import Context
from preflight.model import Fault, Severity, Span, Undecided
from preflight.syntax.conflicts import find_conflicts
from preflight.syntax.excerpt import excerpt

CONFLICT_MARKER = "conflict-marker"
RESIDUE_FILE = "residue-file"

#: Files above this size are data; nobody merges them by hand.
_MAX_BYTES = 4 * 1024 * 1024
_HUNK = re.compile(r"^(?:@@ |\*{15}|\d+(?:,\d+)?[acd]\d)", re.M)


def check_leftovers(context: Context, patched: frozenset[str]) -> Iterator[Fault | Undecided]:
    """Residue files anywhere in the tree, and conflict markers in ``patched``, files that nothing else speaks of."""
    for path in context.tree.files():
        if path.endswith((".rej", ".orig")):
            yield from _residue(context, path)
    for path in sorted(patched):
        if context.tree.exists(path):
            yield from _markers(context, path)


def _residue(context: Context, path: str) -> Iterator[Fault]:
    target, _, kind = path.rpartition(".")
    if kind == "orig":
        if context.tree.exists(target):
            yield Fault(
                RESIDUE_FILE,
                Span(path),
                f"a patch tool left its copy of {target} beside it",
                why="`patch` keeps the file as it was before a hunk that it was not sure of",
                help=f"compare the two, then delete {path}",
                severity=Severity.INFO,
            )
        return
    source = context.sources.get(path)
    if source.text is None or not (hunks := len(_HUNK.findall(source.text))):
        return
    yield Fault(
        RESIDUE_FILE,
        Span(path, 1),
        f"a patch tool left out {hunks} {'hunk' if hunks == 1 else 'hunks'} of a patch to {target}",
        why="it writes what does not fit into a `.rej` file and goes on, so the file is patched in part",
        help=f"carry out the hunks by hand, then delete {path}",
        excerpt=excerpt(path, source.lines, 1, 1),
    )


def _markers(context: Context, path: str) -> Iterator[Fault]:
    source = context.sources.get(path)
    if source.text is None or "<<<<<<<" not in source.text or len(source.data) > _MAX_BYTES:
        return
    python = path.endswith(".py")
    for conflict in find_conflicts(source.lines):
        if not conflict.whole:
            continue
        yield Fault(
            CONFLICT_MARKER,
            Span(path, conflict.first, 1, conflict.last, len(source.lines[conflict.last - 1]) + 1),
            f"a merge conflict was left unresolved (lines {conflict.first} to {conflict.last})",
            why="the markers stand inside a string, so the file compiles, and the string holds both sides"
            if python
            else None,
            help="keep one side, or join the two, and take the marker lines away",
            excerpt=excerpt(path, source.lines, conflict.first, conflict.last),
        )
