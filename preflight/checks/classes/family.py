"""The checks of classes as one family: they share what they found out about the tree."""

from __future__ import annotations

from collections.abc import Iterator

from preflight.checks.classes.ids import ALL
from preflight.checks.context import Check, Context
from preflight.checks.released import changed_paths
from preflight.model import Fault, FileState, Undecided


def check_classes(context: Context) -> Iterator[Fault | Undecided]:
    """The faults of the classes in the files of this run, and of what depends on them.

    Raises UsageError for a ``--require`` that this tree cannot answer.
    """
    gone = any(file.state is FileState.MISSING for file in context.tree.facts.patched)
    if gone or context.options.require or changed_paths(context):
        from preflight.checks.classes.checking import checked

        yield from checked(context)


CHECKS = (Check(ALL, check_classes),)
