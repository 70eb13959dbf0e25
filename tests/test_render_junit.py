"""JUnit XML, read back by junitparser."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from junitparser import Error, Failure, JUnitXml, Skipped, TestCase
from situations import SITUATIONS, SYNTAX, TOY, finding, report

from preflight.model import Report, Span, Undecided
from preflight.render import render


def suites(situation: Report) -> dict[str, list[TestCase]]:
    """Suite name -> its cases."""
    xml = JUnitXml.fromstring(render(situation, "junit").encode())
    listed = {suite.name: list(suite) for suite in xml}
    cases = [case for cases in listed.values() for case in cases]
    kinds = [type(outcome) for case in cases for outcome in case.result]
    assert (xml.tests, xml.failures, xml.errors, xml.skipped) == (
        len(cases),
        *(kinds.count(kind) for kind in (Failure, Error, Skipped)),
    )
    assert cases, "a file without cases looks like a broken run"
    return listed


@pytest.mark.parametrize("name", sorted(SITUATIONS))
def test_a_suite_for_each_file_and_a_case_for_each_finding(name: str) -> None:
    situation = SITUATIONS[name]
    listed = suites(situation)
    cases = sum(len(cases) for suite, cases in listed.items() if suite not in ("preflight", "undecided"))
    assert cases == len(situation.findings)
    assert len(listed.get("undecided", [])) == len(situation.undecided)


def test_a_failure_tells_rule_place_and_message() -> None:
    (case,) = suites(SITUATIONS["trail"])["vllm/v1/spec_decode/toy.py"]
    (failure,) = case.result
    assert isinstance(failure, Failure)
    assert failure.type == "PF401"
    assert failure.message == SITUATIONS["trail"].findings[0].message
    assert "vllm/v1/spec_decode/toy.py:3:12" in failure.text
    assert "vllm/worker/6.py:60 in step_6" in failure.text
    assert (case._elem.get("file"), case._elem.get("line")) == ("vllm/v1/spec_decode/toy.py", "3")


@pytest.mark.parametrize("name", ["clear", "nothing-patched"])
def test_clear_is_one_passing_case(name: str) -> None:
    ((case,),) = suites(SITUATIONS[name]).values()
    assert case.is_passed


def test_a_warning_does_not_fail() -> None:
    listed = suites(SITUATIONS["warning"])
    assert [case.is_skipped for case in listed[TOY]] == [True, False]
    assert not any(case.is_failure or case.is_error for cases in listed.values() for case in cases)


def test_open_questions_are_skipped_cases() -> None:
    listed = suites(SITUATIONS["undecided"])
    assert listed.keys() == {"undecided"}
    assert all(case.is_skipped for case in listed["undecided"])


def test_a_run_without_verdict_is_an_error() -> None:
    ((case,),) = suites(SITUATIONS["error"]).values()
    assert case.is_error
    assert not case.is_failure


@given(st.text(st.characters(codec=None), max_size=20))
def test_any_text_makes_well_formed_xml(text: str) -> None:
    found = finding(SYNTAX, text, Span(f"vllm/{text}", 1), why=text, help=text)
    listed = suites(report(found, undecided=(Undecided(text, text, text),), notes=(text,)))
    assert sum(map(len, listed.values())) == 2
