"""The launch, walked through the tree's own start-up code: what must be raised, and what stays undecided."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING

from preflight.checks.context import Check, CheckOptions, Context
from preflight.model import Fault, Note, Undecided
from preflight.walk.ids import ASSERTION, ATTRIBUTE, DEMANDED, RAISES, TYPE

if TYPE_CHECKING:
    from preflight.launch.launch import Launch
    from preflight.program import Program
    from preflight.tree import Tree
    from preflight.walk.following import Followed


def check_walk(context: Context) -> Iterator[Fault | Undecided | Note]:
    """The faults that the launch must run into before its weights are loaded; none without a launch.

    Raises UsageError for assumptions that mean nothing. A fault of the walk itself is an open question of the report.
    """
    followed = context.follow()
    if followed is None:
        return
    if isinstance(followed, Undecided):
        yield followed
        return
    from preflight.walk.report import assumed

    if context.tree.outside:
        from preflight.checks.beside_walk import as_patched

        yield from as_patched(context, followed.found)
    else:
        yield from followed.found
    yield from assumed(followed.walk, followed.assumptions)


def following(
    launch: Launch | None, tree: Tree, load_program: Callable[[], Program], options: CheckOptions
) -> Callable[[], Followed | Undecided | None]:
    """What walks a launch when it is first asked to, and gives the same outcome from then on."""

    @cache
    def once() -> Followed | Undecided | None:
        if launch is None:
            return None
        from preflight.walk.following import follow
        from preflight.walk.stages import Scope

        return follow(launch, tree, load_program(), options.assume, Scope(demanded=options.require_config))

    return once


CHECKS = (Check(frozenset({RAISES, ASSERTION, ATTRIBUTE, TYPE, DEMANDED}), check_walk),)
