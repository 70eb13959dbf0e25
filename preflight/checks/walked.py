"""The launch, walked through the tree's own start-up code: what must be raised, and what stays undecided."""

from __future__ import annotations

from collections.abc import Iterator

from preflight.checks.context import Check, Context
from preflight.model import Fault, Note, Undecided
from preflight.walk.ids import ASSERTION, ATTRIBUTE, DEMANDED, RAISES, TYPE


def check_walk(context: Context) -> Iterator[Fault | Undecided | Note]:
    """The faults that the launch must run into before its weights are loaded; none without a launch.

    Raises UsageError for assumptions that mean nothing. A fault of the walk itself is an open question of the report.
    """
    launch = context.launch
    if launch is None:
        return
    from preflight.walk.following import follow
    from preflight.walk.report import assumed
    from preflight.walk.stages import Scope

    options = context.options
    followed = follow(
        launch, context.tree, context.load_program(), options.assume, Scope(demanded=options.require_config)
    )
    if isinstance(followed, Undecided):
        yield followed
        return
    if context.tree.outside:
        from preflight.checks.beside_walk import as_patched

        yield from as_patched(context, followed.found)
    else:
        yield from followed.found
    yield from assumed(followed.walk, followed.assumptions)


CHECKS = (Check(frozenset({RAISES, ASSERTION, ATTRIBUTE, TYPE, DEMANDED}), check_walk),)
