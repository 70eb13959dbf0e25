"""The checks of classes in their order, on one view of the tree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from preflight.checks.classes.attributes import check_attributes
from preflight.checks.classes.baseline import of_the_patch
from preflight.checks.classes.beside import about_vllm
from preflight.checks.classes.handing_on import check_handing_on
from preflight.checks.classes.interfaces import check_claims, check_members, check_orders
from preflight.checks.classes.overrides import check_overrides
from preflight.checks.classes.registry import check_registry
from preflight.checks.classes.require import check_required
from preflight.checks.classes.signatures import check_calls
from preflight.checks.classes.survey import GRAVER, Survey, parts_of, survey_of
from preflight.checks.classes.swallowed import check_swallowed
from preflight.checks.context import Context
from preflight.model import Fault, Severity, Undecided


def checked(context: Context) -> Iterator[Fault | Undecided]:
    """The faults of the classes of a run. Raises UsageError for a ``--require`` that this tree cannot answer."""
    survey = survey_of(context)
    demanded = dict[_Place, Fault]()
    for item in check_required(survey):
        if isinstance(item, Undecided):
            yield item
        else:
            demanded.setdefault(_place(item), item)
    found = [fault for fault in _gravest(_all_faults(survey)) if _place(fault) not in demanded]
    yield from demanded.values()
    for fault in of_the_patch(survey, about_vllm(survey, found), _all_faults):
        # what a release has of itself, or loses in launches of other models, is for those who look at the whole of it
        if fault.severity is not Severity.INFO or context.options.whole_tree:
            yield fault


def _all_faults(survey: Survey) -> Iterator[Fault]:
    for part in parts_of(survey):
        for check in _CHECKS:
            yield from check(part)
    yield from check_registry(survey)


_Place = tuple[str, str, int | None, int | None]


def _place(fault: Fault) -> _Place:
    return fault.check, fault.span.path, fault.span.line, fault.span.column


def _gravest(faults: Iterable[Fault]) -> Iterator[Fault]:
    """One fault of each check at each place: a milder one gives way to a graver one."""
    found: dict[_Place, Fault] = {}
    for fault in faults:
        known = found.get(_place(fault))
        if known is None or GRAVER[fault.severity] < GRAVER[known.severity]:
            found[_place(fault)] = fault
    yield from found.values()


_CHECKS = (
    check_orders,
    check_members,
    check_overrides,
    check_claims,
    check_handing_on,
    check_attributes,
    check_calls,
    check_swallowed,
)
