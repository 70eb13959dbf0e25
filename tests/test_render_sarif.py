"""SARIF: valid by the standard's schema, and what code scanning services need is there.

pydantic-sarif is generated from the official schema (unknown keys refused, ranges and enumerations checked); what its
form cannot say (no nulls, which properties go together) is checked here.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_sarif.model import StaticAnalysisResultsFormatSarifVersion210JsonSchema as SarifLog
from situations import SITUATIONS, SYNTAX, TOY, finding, report

from preflight.model import Edit, Fix, Report, Span, Step, Undecided, Value
from preflight.render import render


def sarif(situation: Report) -> dict[str, Any]:
    """The one run of the log, checked against the standard."""
    text = render(situation, "sarif")
    assert text.isascii()
    log = json.loads(text)
    SarifLog.model_validate(log)
    _no_nulls(log)
    (run,) = log["runs"]
    for result in run["results"]:
        for location in [*result["locations"], *_steps(result)]:
            _region(location["physicalLocation"].get("region"))
        if "ruleIndex" in result:
            assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    return run


def _steps(result: dict[str, Any]) -> list[dict[str, Any]]:
    flows = result.get("codeFlows", [])
    return [step["location"] for flow in flows for thread in flow["threadFlows"] for step in thread["locations"]]


def _no_nulls(data: Any) -> None:
    assert data is not None
    if isinstance(data, dict):
        for key, value in data.items():
            if key != "properties":
                _no_nulls(value)
    elif isinstance(data, list):
        for value in data:
            _no_nulls(value)


def _region(region: dict[str, int] | None) -> None:
    if region is not None:
        start = (region["startLine"], region.get("startColumn", 1))
        end = (region.get("endLine", region["startLine"]), region.get("endColumn", 10**9))
        assert start <= end


@pytest.mark.parametrize("name", sorted(SITUATIONS))
def test_valid(name: str) -> None:
    run = sarif(SITUATIONS[name])
    assert len(run["results"]) == len(SITUATIONS[name].findings)
    assert run["columnKind"] == "unicodeCodePoints"


def test_rules_carry_their_help() -> None:
    (rule,) = sarif(SITUATIONS["multi-line"])["tool"]["driver"]["rules"]
    assert rule["id"] == "PF101"
    assert rule["defaultConfiguration"] == {"level": "error"}
    for text in (SYNTAX.what, SYNTAX.why, SYNTAX.fix):
        assert text in rule["help"]["text"]
        assert text in rule["help"]["markdown"]


def test_levels() -> None:
    levels = [result["level"] for result in sarif(SITUATIONS["warning"])["results"]]
    assert levels == ["warning", "note"]


def test_the_trail_is_a_code_flow_that_ends_at_the_finding() -> None:
    situation = SITUATIONS["trail"]
    (result,) = sarif(situation)["results"]
    (thread,) = result["codeFlows"][0]["threadFlows"]
    places = [step["location"]["physicalLocation"] for step in thread["locations"]]
    trail = situation.findings[0].fault.trail
    assert [place["artifactLocation"]["uri"] for place in places[:-1]] == [step.path for step in trail]
    assert [place["region"]["startLine"] for place in places[:-1]] == [step.line for step in trail]
    assert places[-1] == result["locations"][0]["physicalLocation"]
    assert [step["nestingLevel"] for step in thread["locations"]] == list(range(7))


def test_only_proven_fixes_go_out() -> None:
    proven, unproven = sarif(SITUATIONS["fix"])["results"]
    (change,) = proven["fixes"][0]["artifactChanges"]
    assert change["artifactLocation"]["uri"] == TOY
    assert [(r["deletedRegion"]["startLine"], r["insertedContent"]["text"]) for r in change["replacements"]] == [
        (83, "(\n    "),
        (84, ",\n)"),
    ]
    assert "fixes" not in unproven


def test_what_is_undecided_is_a_notification() -> None:
    (invocation,) = sarif(SITUATIONS["undecided"])["invocations"]
    assert invocation["executionSuccessful"] is True
    notifications = invocation["toolExecutionNotifications"]
    assert [n["descriptor"]["id"] for n in notifications[:2]] == ["target-python-not-found", "walk-budget"]
    assert [n["level"] for n in notifications[:2]] == ["warning", "note"]
    assert notifications[1]["locations"][0]["physicalLocation"]["region"] == {"startLine": 1}


def test_a_run_without_verdict_was_not_successful() -> None:
    run = sarif(SITUATIONS["error"])
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    assert [n["level"] for n in invocation["toolExecutionNotifications"]] == ["error"]
    assert run["results"] == []


def test_files_that_are_not_of_the_tree_have_another_base() -> None:
    paths = ("vllm/a.py", "patches/a.py", "/etc/a.py")
    run = sarif(report(*(finding(SYNTAX, "m", Span(path, 1)) for path in paths)))
    artifacts = [result["locations"][0]["physicalLocation"]["artifactLocation"] for result in run["results"]]
    assert [artifact.get("uriBaseId") for artifact in artifacts] == ["TREE", "%SRCROOT%", None]
    assert artifacts[2]["uri"] == "file:///etc/a.py"
    assert run["originalUriBaseIds"]["TREE"]["uri"] == "file:///srv/venv/lib/python3.12/site-packages/"


NAMES = st.text(st.characters(exclude_characters="/\0", codec="utf-8"), min_size=1, max_size=12)


@given(st.lists(NAMES, min_size=1, max_size=3), st.text(st.characters(codec=None), max_size=20))
def test_any_path_and_text_goes_through(names: list[str], text: str) -> None:
    path = f"vllm/{'/'.join(names)}"
    found = finding(
        SYNTAX,
        text or "m",
        Span(path, 1, 1, 1, 2),
        values=(Value(text, text, text),),
        trail=(Step(path, 1, text or "f", text),),
        fix=Fix((Edit(path, (1, 1), (1, 2), text),)),
    )
    run = sarif(report(found, undecided=(Undecided("walk-budget", text, path),), notes=(text,)))
    artifact = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert unquote(artifact["uri"]) == path
    assert artifact["uri"].isascii()
