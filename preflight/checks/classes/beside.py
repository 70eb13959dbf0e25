"""Faults of classes and calls in code beside the tree: those that are about vLLM, and are not provided for there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from preflight.checks.classes.ids import BROKEN, CANNOT_BIND, MEMBER_MISSING, MRO_CONFLICT, NOT_REGISTERED, OVERRIDE
from preflight.checks.gated import is_closed
from preflight.checks.released import plugin_paths
from preflight.model import Fault

if TYPE_CHECKING:
    from preflight.checks.classes.survey import Survey

#: What an object has is not said of a plug-in's: it sets attributes on vLLM's objects, and vLLM on its.
_SAID = frozenset({CANNOT_BIND, OVERRIDE, MEMBER_MISSING, MRO_CONFLICT, BROKEN, NOT_REGISTERED})


def about_vllm(survey: Survey, faults: Iterable[Fault]) -> Iterator[Fault]:
    """Leave out what concerns the code beside the tree alone, what it replaces itself, and what a test of vLLM's
    version keeps from running in this release."""
    beside = set(plugin_paths(survey.context))
    for fault in faults:
        paths = {fault.span.path, *(step.path for step in fault.trail)}
        if not paths & beside:
            yield fault
        elif fault.check in _SAID and paths - beside and not _is_replaced(survey, fault, beside):
            places = [(fault.span.path, fault.span.line), *((step.path, step.line) for step in fault.trail)]
            if not any(path in beside and is_closed(survey.program, path, line) for path, line in places):
                yield fault


def _is_replaced(survey: Survey, fault: Fault, beside: set[str]) -> bool:
    """Whether the code beside the tree puts something else in the place of what the fault speaks of."""
    steps = [step for step in fault.trail if step.path not in beside]
    names = {part for step in steps for part in step.function.split(".") if part not in ("", "<module>")}
    if not names:
        return False
    put = re.compile(rb"\.(?:" + b"|".join(re.escape(name.encode()) for name in names) + rb")\s*=(?!=)")
    return any(put.search(file.data) is not None for file in survey.context.tree.outside)
