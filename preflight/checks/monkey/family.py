"""The checks of monkey patches as one family."""

from __future__ import annotations

from collections.abc import Iterator

from preflight.checks.context import Check, Context
from preflight.checks.monkey.ids import BOUND_BEFORE, PARENT_ONLY, REPLACEMENT, UNREAD
from preflight.checks.released import plugin_paths
from preflight.model import Fault, Span


def check_monkey_patches(context: Context) -> Iterator[Fault]:
    """What the code beside the tree replaces in it, and whether that takes effect and can be called."""
    if not plugin_paths(context):
        return
    from preflight.checks.monkey.calls import call_faults
    from preflight.checks.monkey.collect import patches_beside
    from preflight.checks.monkey.effect import bound_before_faults, unread_fault
    from preflight.checks.monkey.parents import parent_only_faults
    from preflight.checks.monkey.receivers import Receivers
    from preflight.checks.monkey.words import Words

    program = context.load_program()
    patches = patches_beside(context, program)
    receivers = Receivers(context, program)
    words = Words(file.data for file in context.tree.outside)
    seen: set[Span] = set()
    for patch in patches:
        fault = unread_fault(words, program, patch)
        if fault is not None:
            yield fault
        for found in call_faults(program, patch, receivers):
            if found.span not in seen:
                seen.add(found.span)
                yield found
    yield from bound_before_faults(program, patches)
    yield from parent_only_faults(context, program, patches, words)


CHECKS = (Check(frozenset({REPLACEMENT, UNREAD, BOUND_BEFORE, PARENT_ONLY}), check_monkey_patches),)
