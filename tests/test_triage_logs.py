"""Every fixture log comes out as its truth says; and so do the real logs of tests/fixtures/cases/logs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.triage_reading import LOGS, answer, triage, truths

CASES = Path(__file__).parent / "fixtures" / "cases" / "logs"
TRUTHS = truths()


def test_there_are_enough_logs_and_each_has_its_truth() -> None:
    assert len(TRUTHS) >= 40
    assert {truth["file"] for truth in TRUTHS} == {path.name for path in LOGS.iterdir()} - {"truth.toml"}


@pytest.mark.parametrize("truth", TRUTHS, ids=lambda truth: truth["file"])
def test_the_root_cause_of_a_log(truth: dict) -> None:
    found = answer(LOGS / truth["file"])

    if "exception" not in truth and not truth.get("cut"):
        assert found["root_cause"] is None
    else:
        cause = found["root_cause"]
        assert cause is not None
        told = {key: cause[key] for key in ("exception", "path", "line", "process", "undecidable")}
        expected = {key: truth.get(key) for key in ("exception", "path", "line", "process")}
        assert told == {**expected, "undecidable": truth.get("nature")}
        assert truth.get("message", "") in cause["message"]
        assert (cause["second_hand"], cause["cut"]) == (truth.get("second_hand", False), truth.get("cut", False))
        if "rule" in truth:
            assert cause["rule"].startswith(truth["rule"])
    assert found["stage"].startswith(truth["stage"])
    assert found["launches"] == truth.get("launches", 1)
    assert found["launch"] == truth.get("launch", found["launch"])
    assert found["later"] == truth.get("later")
    assert found["state"] == (truth.get("state", "failed") or None)
    assert set(truth.get("cascade", ())) <= {failure["exception"] for failure in found["cascade"]}
    assert set(truth.get("noise", ())) <= {noise["pattern"] for noise in found["noise"]}


@pytest.mark.parametrize("truth", TRUTHS, ids=lambda truth: truth["file"])
def test_the_exit_code_of_a_log(truth: dict) -> None:
    code, _ = triage(LOGS / truth["file"])
    assert code == (1 if "exception" in truth or truth.get("cut") else 0)


@pytest.mark.parametrize("truth", TRUTHS, ids=lambda truth: truth["file"])
def test_the_line_of_the_root_cause_is_the_one_that_names_it(truth: dict) -> None:
    found = answer(LOGS / truth["file"])["root_cause"]
    if found is None or found["cut"]:
        assert "exception" not in truth
        return
    line = (LOGS / truth["file"]).read_bytes().split(b"\n")[found["log_line"] - 1].decode("utf-8", "replace")
    name = {"Killed": "illed", "Hang": "broadcast block", "SystemExit": "error:", "NCCL timeout": "Watchdog"}
    name |= {"C++ exception": "terminate called", "Died": "died", "ValidationError": "ValidationError"}
    shown = name.get(found["exception"], found["type"] or found["exception"])
    signs = ("137", "oom-kill", "-9")
    assert shown.rpartition(".")[2] in line or any(sign in line for sign in signs)


CASE_TRUTHS = json.loads((CASES / "truth.json").read_text())["logs"]


@pytest.mark.parametrize("name", CASE_TRUTHS)
def test_the_real_logs_of_dead_launches(name: str) -> None:
    truth = CASE_TRUTHS[name]
    found = answer(CASES / f"{name}.log")

    cause = found["root_cause"]
    assert found["stage"] == truth["stage"]
    assert (cause["exception"], cause["message"], cause["path"], cause["process"]) == (
        truth["exception"],
        truth["message"],
        truth["path"],
        truth["process"],
    )
    assert cause["line"] == truth.get("line", cause["line"])
    if truth["rule"] is None:
        assert cause["rule"] is None and cause["undecidable"]
    else:
        assert cause["rule"].startswith(truth["rule"])
