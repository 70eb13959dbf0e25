"""The launch, walked through the tree's own start-up code: what must be raised, and what stays undecided."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from preflight.checks.context import Check, Context
from preflight.model import Fault, Note, Undecided

if TYPE_CHECKING:
    from preflight.walk.preparation import Prepared
    from preflight.walk.stages import Walk

RAISES = "walk-raise"
ASSERTION = "walk-assertion"
ATTRIBUTE = "walk-missing-attribute"
TYPE = "walk-type-error"
DEMANDED = "config-attribute-demanded"


def check_walk(context: Context) -> Iterator[Fault | Undecided | Note]:
    """The faults that the launch must run into before its weights are loaded; none without a launch.

    Raises UsageError for assumptions that mean nothing. A fault of the walk itself is an open question of the report.
    """
    launch = context.launch
    if launch is None:
        return
    from preflight.walk.preparation import prepare
    from preflight.walk.report import assumed, faults

    prepared = prepare(launch, context.tree, context.load_program(), context.options.assume)
    if isinstance(prepared, Undecided):
        yield prepared
        return
    try:
        walk = _walk(context, prepared)
    except Exception as error:  # the walk stands in for code of any kind: its own faults must not end the run
        yield Undecided(
            "walk-fault",
            f"what vLLM makes of the launch is not decided: the walk itself failed ({type(error).__name__}: {error})",
            decisive=True,
        )
        return
    told = launch.parsed.refused or launch.parsed.raised is not None
    yield from faults(walk, prepared.assumptions.defaults, told)
    yield from assumed(walk, prepared.assumptions)


def _walk(context: Context, prepared: Prepared) -> Walk:
    from preflight.walk.stages import Scope, walk_launch
    from preflight.walk.world import ProgramWorld

    world = ProgramWorld(context.load_program())
    scope = Scope(demanded=context.options.require_config)
    return walk_launch(world, prepared.argv, prepared.files, prepared.assumptions, scope)


CHECKS = (Check(frozenset({RAISES, ASSERTION, ATTRIBUTE, TYPE, DEMANDED}), check_walk),)
