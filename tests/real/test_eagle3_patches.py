"""The SupportsEagle3 patch of the incident on real 0.16.0 files: right it is clear, wrong it is found at the line to
change."""

from __future__ import annotations

import os
from functools import cache

import pytest

from preflight.checks.classes.family import check_classes
from preflight.checks.context import CheckOptions
from preflight.model import Fault, Report, Severity, Verdict
from preflight.program import Program, load_program
from preflight.tree import Tree, TreeRequest, open_tree
from tests import checking
from tests.real.eagle3_patch import CLAIMED, DEEPSEEK, KIMI, MISNAMED, SPOILT, Patch, Spoilt, right_patch

pytestmark = pytest.mark.real

DEMAND = "SupportsEagle3=KimiK25ForConditionalGeneration"
#: without the base the demand itself is the finding
DEMANDED = [one for one in SPOILT if not one.grave and one.check != CLAIMED][::4]


@cache
def tree() -> Tree:
    return open_tree(TreeRequest(vllm="0.16.0"), os.environ)


@cache
def released() -> Program:
    """The program of the release: those of its patches share what was read of the files that they leave alone."""
    return load_program(tree(), os.environ)


def report_of(patch: Patch, require: tuple[str, ...] = ()) -> Report:
    return checking.report_of(tree().with_overlay(patch.changes()), CheckOptions(require=require))


def faults_of(patch: Patch, require: tuple[str, ...] = ()) -> list[Fault]:
    """What the checks of classes alone say."""
    changed = tree().with_overlay(patch.changes())
    program = released().beside(changed)
    context = checking.context_of(changed, program, tuple(patch.changes()), CheckOptions(require=require))
    return [item for item in check_classes(context) if isinstance(item, Fault)]


@pytest.mark.parametrize("require", [(), ("SupportsEagle3",), (DEMAND,)], ids=["plain", "patched", "named"])
def test_the_right_patch_is_clear(require: tuple[str, ...]) -> None:
    report = report_of(right_patch(), require)
    assert (report.findings, report.verdict) == ((), Verdict.CLEAR)
    assert not any(question.decisive for question in report.undecided)


@pytest.mark.parametrize("spoilt", SPOILT, ids=[one.name for one in SPOILT])
def test_a_wrong_patch_is_found_at_the_line_to_change(spoilt: Spoilt) -> None:
    patch = spoilt.spoil(right_patch())
    assert patch != right_patch()
    faults = faults_of(patch)
    lines = patch.lines_of(spoilt.path, spoilt.snippet)
    at_line = [fault for fault in faults if fault.span.path == spoilt.path and fault.span.line in lines]
    assert spoilt.check in {fault.check for fault in at_line}
    # None is what the rule says
    grave = {None} if spoilt.grave or spoilt.check == CLAIMED else {Severity.WARNING}
    assert {fault.severity for fault in faults if fault.check == spoilt.check} == grave


@pytest.mark.parametrize("spoilt", MISNAMED, ids=[one.name for one in MISNAMED])
def test_a_wrong_name_is_found_as_well(spoilt: Spoilt) -> None:
    patch = spoilt.spoil(right_patch())
    found = [finding for finding in report_of(patch).findings if finding.rule.startswith(spoilt.check)]
    assert {finding.span.line for finding in found if finding.span.path == spoilt.path} & patch.lines_of(
        spoilt.path, spoilt.snippet
    )
    assert not spoilt.grave or {finding.severity for finding in found} == {Severity.ERROR}


@pytest.mark.parametrize("spoilt", DEMANDED, ids=[one.name for one in DEMANDED])
def test_what_is_demanded_and_wrong_is_an_error(spoilt: Spoilt) -> None:
    patch = spoilt.spoil(right_patch())
    lines = patch.lines_of(spoilt.path, spoilt.snippet)
    assert any(
        fault.severity is Severity.ERROR and fault.span.path == spoilt.path and fault.span.line in lines
        for fault in faults_of(patch, (DEMAND,))
    )


def test_the_incident_is_one_finding_although_both_files_were_patched() -> None:
    patch = right_patch().in_deepseek("SupportsEagle, SupportsEagle3, ", "SupportsEagle,\n    SupportsEagle3,\n    ")
    (finding,) = report_of(patch).findings
    assert (finding.rule, finding.span.path) == ("PF101", DEEPSEEK)


def test_half_a_patch_does_not_have_what_is_demanded() -> None:
    right = right_patch()
    base = tree()
    for path, found_in in ((KIMI, KIMI), (DEEPSEEK, KIMI)):
        changed = base.with_overlay({path: right.changes()[path]})
        report = checking.report_of(changed, CheckOptions(require=(DEMAND,)))
        errors = [finding for finding in report.findings if finding.severity is Severity.ERROR]
        assert errors and {finding.span.path for finding in errors} == {found_in}


def test_a_release_without_it_names_every_member_with_its_signature_and_an_example() -> None:
    report = checking.report_of(tree(), CheckOptions(require=(DEMAND,)))
    (finding,) = report.findings
    assert (finding.rule, finding.severity, finding.span.path) == ("PF310", Severity.ERROR, KIMI)
    members = {value.name: value.value for value in finding.fault.values}
    assert members == {
        "SupportsEagle3.set_aux_hidden_state_layers": "set_aux_hidden_state_layers(self, layers: tuple[int, ...]) -> None",
        "SupportsEagle3.get_eagle3_aux_hidden_state_layers": "get_eagle3_aux_hidden_state_layers(self) -> tuple[int, ...]",
    }
    shown = {
        tree().read(step.path).decode().splitlines()[step.line - 1].strip().partition("(")[0]
        for step in finding.fault.trail
        if not step.path.endswith("interfaces.py")
    }
    assert "def set_aux_hidden_state_layers" in shown
