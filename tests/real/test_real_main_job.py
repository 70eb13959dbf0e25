"""The main job on released trees: the incident is found and repaired, and what was released is clear."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from preflight.cli import main
from tests.trees import released

pytestmark = pytest.mark.real

RELEASES = ("0.8.5", "0.10.2", "0.12.0", "0.16.0", "0.18.1", "0.20.2", "0.26.0", "0.33.0")
PATCH = Path(__file__).parents[1] / "fixtures" / "patches" / "incident-malformed.patch"
DEEPSEEK = "vllm/model_executor/models/deepseek_v2.py"
RIGHT_IMPORT = (
    b"from .interfaces import (\n"
    b"    MixtureOfExperts,\n"
    b"    SupportsEagle,\n"
    b"    SupportsEagle3,\n"
    b"    SupportsLoRA,\n"
    b"    SupportsPP,\n"
    b")\n"
)


def check(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict]:
    code = main(["check", *words, "--output-format", "json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("version", RELEASES)
@pytest.mark.parametrize("words", [[], ["--all"]], ids=["patched", "all"])
def test_a_released_tree_is_clear(capsys: pytest.CaptureFixture[str], version: str, words: list[str]) -> None:
    code, report = check(capsys, "--vllm", version, *words)
    found = [(f["rule"], f["path"], f["line"]) for f in report["findings"] if f["severity"] != "info"]
    assert (code, report["verdict"], found) == (0, "clear", [])
    assert report["tree"]["vllm"] == version
    assert report["tree"]["patched"] == []


def test_the_incident_is_one_finding_at_the_import(capsys: pytest.CaptureFixture[str]) -> None:
    code, report = check(capsys, "--vllm", "0.16.0", "--overlay", str(PATCH))
    assert (code, report["verdict"]) == (1, "would-not-launch")
    (finding,) = report["findings"]
    assert (finding["rule"], finding["path"], finding["line"]) == ("PF101", DEEPSEEK, 83)
    assert finding["fix"]["safe"]


def test_the_incident_is_repaired_byte_for_byte(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    site = tmp_path / "site-packages"
    shutil.copytree(released("0.16.0"), site)
    file = site / DEEPSEEK
    was = b"from .interfaces import MixtureOfExperts, SupportsEagle, SupportsLoRA, SupportsPP\n"
    broken = (
        b"from .interfaces import MixtureOfExperts, SupportsEagle,\n    SupportsEagle3,\n    SupportsLoRA, SupportsPP\n"
    )
    pristine = file.read_bytes()
    assert pristine.count(was) == 1
    file.write_bytes(pristine.replace(was, broken))
    code, report = check(capsys, "--vllm-site-packages", str(site), "--fix")
    assert (code, report["findings"]) == (0, [])
    assert file.read_bytes() == pristine.replace(was, RIGHT_IMPORT)
