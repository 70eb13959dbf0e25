"""Broken files that a launch does without: new ones that nothing names, next to those that something does."""

from __future__ import annotations

from pathlib import Path

import pytest
from minilaunch import ENGINE, check_launch, engine

BROKEN = "def broken(:\n"
STRAY = "vllm/stray.py"


def severities(report: dict, rule: str = "PF101") -> list[tuple[str, str]]:
    return [(finding["path"], finding["severity"]) for finding in report["findings"] if finding["rule"] == rule]


def test_a_new_file_that_nothing_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, report = check_launch(tmp_path, capsys, patch={STRAY: BROKEN})
    assert (code, severities(report)) == (0, [(STRAY, "warning")])


@pytest.mark.parametrize(
    "line",
    [
        "import vllm.stray",
        "from vllm import stray",
        "from vllm.stray import broken",
        'importlib.import_module("vllm.stray")',
        'table = {"toy": ("stray", "Toy")}',
    ],
)
def test_a_new_file_that_some_function_names(line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    used = f"import importlib\n\n\ndef later():\n    {line}\n"
    code, report = check_launch(tmp_path, capsys, patch={STRAY: BROKEN, "vllm/used.py": used})
    assert (code, severities(report)) == (1, [(STRAY, "error")])


def test_a_new_file_beside_one_that_takes_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    takes = "import pkgutil\n\n\ndef all_of(path):\n    return list(pkgutil.iter_modules(path))\n"
    code, report = check_launch(tmp_path, capsys, patch={STRAY: BROKEN, "vllm/used.py": takes})
    assert (code, severities(report)) == (1, [(STRAY, "error")])


@pytest.mark.parametrize(
    ("then", "severity"),
    [("importlib.import_module(name[:-3])", "error"), ("__import__(name[:-3])", "error"), ("print(name)", "warning")],
)
def test_a_new_file_beside_one_that_lists_a_folder(
    then: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lists = f"import importlib\nimport os\n\n\ndef all_of(path):\n    for name in os.listdir(path):\n        {then}\n"
    _code, report = check_launch(tmp_path, capsys, patch={STRAY: BROKEN, "vllm/used.py": lists})
    assert severities(report) == [(STRAY, severity)]


def test_a_file_of_the_release(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = engine("x = (")
    code, report = check_launch(tmp_path, capsys, patch={ENGINE: broken})
    assert (code, severities(report)) == (1, [(ENGINE, "error")])


def test_a_new_file_without_a_launch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # every launch that loads the file fails, and which one is meant is not known
    code, report = check_launch(tmp_path, capsys, "--", "echo", patch={STRAY: BROKEN})
    assert (code, severities(report)) == (1, [(STRAY, "error")])


@pytest.mark.parametrize("words", [(), ("--", "echo")], ids=["launch", "no launch"])
@pytest.mark.parametrize(("used", "severity"), [("", "warning"), ("import vllm.stray\n", "error")])
def test_an_import_of_a_new_file(
    used: str, severity: str, words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    patch = {STRAY: "from vllm.nowhere import nothing\n", "vllm/used.py": used}
    code, report = check_launch(tmp_path, capsys, *words, patch=patch)
    assert severities(report, "PF201") + severities(report, "PF202") == [(STRAY, severity)]
    assert code == (severity == "error")
