"""Launches that died of an interface or a signature, as they were reported: what the tree alone says of each."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from preflight.checks.classes.family import check_classes
from preflight.checks.context import CheckOptions
from preflight.cli import main
from preflight.model import Fault
from preflight.program import load_program
from preflight.tree import TreeRequest, open_tree
from tests.checking import context_of
from tests.trees import released

pytestmark = pytest.mark.real

CASES = json.loads((Path(__file__).parents[1] / "fixtures" / "cases" / "classes.json").read_text())
DEMANDS = [(case, state) for case in CASES["demanded"] for state in ("bad", "fixed")]
CALLS = [(case, state) for case in CASES["calls"] for state in ("bad", "fixed")]


@pytest.mark.parametrize(("case", "state"), DEMANDS, ids=[f"{case['id']}-{state}" for case, state in DEMANDS])
def test_an_interface_that_the_launch_needs(case: dict, state: str, capsys: pytest.CaptureFixture[str]) -> None:
    version = case[state]
    demand = f"{case['interface']}={case['architecture']}"
    code = main(["check", "--vllm", version, "--require", demand, "--output-format", "json"])
    report = json.loads(capsys.readouterr().out)
    if state == "fixed":
        assert (code, report["findings"]) == (0, [])
        return
    (finding,) = report["findings"]
    assert (code, finding["rule"], finding["severity"]) == (1, "PF310", "error")
    line = (released(version) / finding["path"]).read_text().splitlines()[finding["line"] - 1]
    assert line.startswith(f"class {case['architecture']}(")


@pytest.mark.parametrize(("case", "state"), CALLS, ids=[f"{case['id']}-{state}" for case, state in CALLS])
def test_a_call_that_cannot_bind(case: dict, state: str) -> None:
    # the release has the fault itself: as if nobody knew which files are its own
    tree = replace(open_tree(TreeRequest(vllm=case[state]), os.environ), reference=None)
    program = load_program(tree, os.environ)
    context = context_of(tree, program, (case["file"],), CheckOptions(whole_tree=True))
    faults = [item for item in check_classes(context) if isinstance(item, Fault)]
    found = [fault for fault in faults if fault.check == case["check"] and case["says"] in fault.message]
    assert bool(found) is (state == "bad")
    for fault in found:
        assert {step.path for step in fault.trail} == {case["file"], case["caller"]}
