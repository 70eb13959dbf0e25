"""A patch repository that is meant for several releases: one run, each release with its own verdict."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest

from preflight.cli import main
from tests.trees import released

pytestmark = pytest.mark.real

DEEPSEEK = "vllm/model_executor/models/deepseek_v2.py"
PATCH = Path(__file__).parents[1] / "fixtures" / "patches" / "incident-malformed.patch"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for version in ("0.16.0", "0.18.1"):
        released(version)
    shutil.copy(PATCH, tmp_path / "own.patch")
    (tmp_path / "preflight.toml").write_text('vllm = ["0.16.0", "0.18.1"]\noverlay = ["own.patch"]\n')
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_each_release_has_its_own_findings(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--output-format", "json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["verdict"] == "would-not-launch"
    found = [
        (release["tree"]["vllm"], [(f["rule"], f["path"], f["line"]) for f in release["findings"]])
        for release in report["releases"]
    ]
    assert found == [("0.16.0", [("PF101", DEEPSEEK, 83)]), ("0.18.1", [("PF701", "own.patch", 6)])]


def test_every_format_holds_both(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def printed(format: str) -> str:
        assert main(["check", "--output-format", format]) == 1
        return capsys.readouterr().out

    runs = json.loads(printed("sarif"))["runs"]
    assert [[result["ruleId"] for result in run["results"]] for run in runs] == [["PF101"], ["PF701"]]
    suites = ElementTree.fromstring(printed("junit"))
    assert suites.get("failures") == "2"
    *_, table_end, _, last = printed("text").splitlines()
    assert table_end.startswith("verdict")
    assert "0.16.0" in last
    assert "0.18.1" in last
    for format in ("short", "github"):
        text = printed(format)
        assert "PF101" in text
        assert "PF701" in text


def test_what_is_about_one_tree_wants_one(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--fix"]) == 2
    assert main(["interfaces"]) == 2
    assert main(["check", "--vllm", "0.16.0", "--output-format", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["tree"]["vllm"] == "0.16.0"


def test_a_release_that_does_not_exist_is_an_error(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository / "preflight.toml").write_text('vllm = ["0.16.0", "0.0.999"]\n')
    assert main(["check", "--output-format", "json"]) == 2
    assert "0.0.999" in json.loads(capsys.readouterr().out)["error"]["message"]
