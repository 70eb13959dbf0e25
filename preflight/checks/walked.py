"""The launch, walked through the tree's own start-up code: what must be raised, and what stays undecided."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from preflight.checks.context import Check, CheckOptions, Context
from preflight.model import Fault, Note, Undecided
from preflight.walk.ids import ASSERTION, ATTRIBUTE, DEMANDED, RAISES, TYPE

if TYPE_CHECKING:
    from preflight.launch.launch import Launch
    from preflight.program import Program
    from preflight.tree import Tree
    from preflight.walk.following import Followed
    from preflight.walk.result import Walk


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
    from preflight.tree.plugin_entries import installed_plugins
    from preflight.walk.report import assumed

    if context.tree.outside:
        from preflight.checks.beside_walk import as_patched

        yield from as_patched(context, followed.found)
    else:
        yield from followed.found
    site = Path(context.tree.facts.site_packages)
    plugins = installed_plugins(site) if "plugins" in followed.walk.assumed else ()
    yield from assumed(followed.walk, followed.assumptions, [f"{one.name} of {one.module}" for one in plugins])
    yield from _served_otherwise(context, followed.walk)


def _served_otherwise(context: Context, walk: Walk) -> Iterator[Note]:
    """What the registry chose for an architecture that it does not have: a class for models of another task, or one
    that leaves the model to transformers. Whatever fails later is then no fault of a class of that name.
    """
    model = context.launch.model if context.launch is not None else None
    served = walk.target.served if walk.target is not None else ()
    if model is None or not served or not model.architectures:
        return
    entries = context.load_program().registry_reader.registry().entries
    if not any(name in entries for name in model.architectures):
        names, classes = " and ".join(model.architectures), " or ".join(served)
        yield Note(f"The registry of this vLLM has no {names}: the launch falls back to its class {classes}.")


def following(
    launch: Launch | None, tree: Tree, load_program: Callable[[], Program], options: CheckOptions
) -> Callable[[], Followed | Undecided | None]:
    """What walks a launch when it is first asked to, and gives the same outcome from then on."""

    @cache
    def once() -> Followed | Undecided | None:
        if launch is None:
            return None
        from preflight.checks.first_pass import asked_of
        from preflight.walk.following import follow
        from preflight.walk.result import Scope

        scope = Scope(first_pass=asked_of(tree, load_program), demanded=options.require_config)
        return follow(launch, tree, load_program(), options.assume, scope)

    return once


CHECKS = (Check(frozenset({RAISES, ASSERTION, ATTRIBUTE, TYPE, DEMANDED}), check_walk),)
