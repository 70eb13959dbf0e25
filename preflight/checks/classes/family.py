"""The checks of classes as one family: they share what they found out about the tree."""

from __future__ import annotations

from collections.abc import Iterator

from preflight.checks.classes.ids import ALL
from preflight.checks.context import Check, Context
from preflight.model import Fault, Undecided


def check_classes(context: Context) -> Iterator[Fault | Undecided]:
    """The faults of the classes in the files of this run, and of what depends on them.

    Raises UsageError for a ``--require`` that this tree cannot answer.
    """
    if any(path.endswith(".py") for path in context.paths) or context.options.require:
        from preflight.checks.classes.checking import checked

        yield from checked(context)


CHECKS = (Check(ALL, check_classes),)
