"""The flags and the environment of the launch, against the parser and the table of the tree that will run."""

from __future__ import annotations

from collections.abc import Iterator

from preflight.checks.context import Check, Context
from preflight.model import Fault, Undecided

UNKNOWN = "flag-unknown"
INVALID = "flag-value-invalid"
MISPLACED = "argument-misplaced"
DEPRECATED = "flag-deprecated"
VARIABLE = "environment-variable-unknown"
REPEATED = "flag-repeated"
REFUSED = "arguments-refused"


def check_flags(context: Context) -> Iterator[Fault | Undecided]:
    """The faults of the launch's flags and variables; none without a launch."""
    launch = context.launch
    if launch is None:
        return
    from preflight.checks.flag_faults import flag_faults
    from preflight.checks.variable_faults import variable_faults

    for one in (launch, *launch.others):
        yield from flag_faults(context.tree, one)
        yield from variable_faults(context, one)


CHECKS = (Check(frozenset({UNKNOWN, INVALID, MISPLACED, DEPRECATED, VARIABLE, REPEATED, REFUSED}), check_flags),)
