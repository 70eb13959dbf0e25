"""The checks of files without effect as one family."""

from __future__ import annotations

from collections.abc import Iterator

from preflight.checks.context import Check, Context
from preflight.checks.effects.ids import CACHED, IDENTICAL, STALE, UNUSED
from preflight.model import Fault, FileState, Span, Undecided

#: so many files that are as released are named one by one
_NAMED = 10


def check_files_without_effect(context: Context) -> Iterator[Fault | Undecided]:
    """What of a patch's files changes nothing."""
    yield from _identical(context)
    patched = [file for file in context.tree.facts.patched if file.path.endswith(".py") and file.path in context.paths]
    if not patched:
        return
    added = [file.path for file in patched if context.tree.is_new(file.path)]
    if added:
        from preflight.checks.effects.unused import unused_files

        yield from unused_files(context, added)
    if any(file.state is not FileState.OVERLAY for file in patched):
        from preflight.checks.effects.bytecode import stale_bytecode

        yield from stale_bytecode(context, [file.path for file in patched if file.state is not FileState.OVERLAY])
    from preflight.checks.effects.cached_flags import cached_flags

    yield from cached_flags(context)


def _identical(context: Context) -> Iterator[Fault]:
    same = context.tree.same
    for number, path in enumerate(same[:_NAMED], 1):
        rest = f" (and so are {len(same) - _NAMED} more files)" if number == _NAMED < len(same) else ""
        yield Fault(
            IDENTICAL,
            Span(path),
            f"the patch's file is the release's own, byte for byte{rest}",
            why="it changes nothing in this release, and takes away what another release has in this file",
            help="take it out of the patch, or check whether its change was lost",
        )


CHECKS = (Check(frozenset({UNUSED, IDENTICAL, STALE, CACHED}), check_files_without_effect),)
