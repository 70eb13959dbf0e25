"""What the release had wrong by itself: a launch that worked before the patch works with it as well."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from preflight.checks.classes.survey import GRAVER, survey_of
from preflight.checks.released import released_tree
from preflight.model import Fault, Severity

if TYPE_CHECKING:
    from preflight.checks.classes.survey import Survey

_NUMBERS = re.compile(r"\d+")


def of_the_patch(
    survey: Survey, faults: Iterable[Fault], check: Callable[[Survey], Iterator[Fault]]
) -> Iterator[Fault]:
    """The faults, with those that ``check`` finds in the release too set down to what is worth knowing."""
    faults = list(faults)
    if all(fault.severity is Severity.INFO for fault in faults):
        yield from faults
        return
    known: dict[tuple[str, str, str], int] = {}
    before = _before(survey)
    for fault in check(before) if before is not None else ():
        known[_key(fault)] = min(GRAVER[fault.severity], known.get(_key(fault), len(GRAVER)))
    for fault in faults:
        # the same fault is the patch's doing where the patch makes it certain
        as_before = known.get(_key(fault), len(GRAVER)) <= GRAVER[fault.severity]
        yield replace(fault, severity=Severity.INFO) if as_before else fault


def _before(survey: Survey) -> Survey | None:
    """The same view of the tree as released, the patched files taken as patched; None where it is not known."""
    from preflight.syntax.source import SourceStore

    tree = released_tree(survey.context.tree)
    if tree is None:
        return None
    program = survey.program.beside(tree)
    context = replace(survey.context, tree=tree, sources=SourceStore(tree), load_program=lambda: program)
    before = survey_of(context, [module.path for module in survey.reach.modules if module.path is not None])
    before.reach = replace(before.reach, patched=survey.reach.patched)
    return before


def _key(fault: Fault) -> tuple[str, str, str]:
    """What tells a fault from others in both trees: its lines may have moved."""
    return fault.check, fault.span.path, _NUMBERS.sub("#", fault.message)
