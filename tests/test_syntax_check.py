"""The check as a whole: which Python compiled, what that leaves open, and fixes that reach the file."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from minitree import make_tree

from preflight.cli import main

PATH = "vllm/toy.py"
GOOD = "ANSWER = 42\n"
T_STRING = "a = 1\nx = t'{a}'\n"
TYPE_STATEMENT = "type A = int\n"


def checked(site: Path, capsys: pytest.CaptureFixture[str], *words: str) -> dict:
    main(["check", "--vllm-site-packages", str(site), "--output-format", "json", *words])
    report = json.loads(capsys.readouterr().out)
    assert report["error"] is None
    return report


def open_questions(report: dict) -> list[tuple[str, int | None]]:
    return [(question["id"], question["line"]) for question in report["undecided"]]


@pytest.mark.parametrize(
    ("code", "requires", "verdict", "line"),
    [
        (TYPE_STATEMENT, "<3.14,>=3.10", "undecided", 1),
        (TYPE_STATEMENT, ">=3.12,<3.15", "clear", None),
        (TYPE_STATEMENT, "<3.12,>=3.10", "would-not-launch", 1),
        (T_STRING, "<3.14,>=3.10", "would-not-launch", 2),
        ("z, a = {}, ()\ny = z[*a]\n", "<3.14,>=3.10", "undecided", 2),
    ],
)
def test_newer_syntax_under_a_stand_in(
    code: str, requires: str, verdict: str, line: int | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # whatever Python runs this test, the answer is that of the Pythons that this vLLM allows
    report = checked(make_tree(tmp_path, {PATH: GOOD}, {PATH: code}, requires_python=requires), capsys)
    assert report["verdict"] == verdict
    places = [f["line"] for f in report["findings"]] + [n for id, n in open_questions(report) if id == "python-version"]
    if verdict != "clear":
        assert places == [line]


def test_a_stand_in_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    site = make_tree(tmp_path, {PATH: GOOD}, {PATH: "ANSWER = 43\n"})
    report = checked(site, capsys)
    assert (report["verdict"], open_questions(report)) == ("clear", [("interpreter", None)])
    report = checked(site, capsys, "--python", sys.executable)
    assert (report["verdict"], open_questions(report)) == ("clear", [])


def test_an_unpatched_tree_asks_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = checked(make_tree(tmp_path, {PATH: TYPE_STATEMENT}), capsys, "--all")
    assert (report["verdict"], open_questions(report)) == ("clear", [])


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("head", [b"", b"\xef\xbb\xbf", b"# coding: latin-1\n"], ids=["plain", "bom", "latin-1"])
def test_a_fix_keeps_line_ends_mark_and_encoding(
    newline: str, head: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    encoding = "latin-1" if b"latin" in head else "utf-8"
    lines = ["from .names import Alpha,", "    Beta, Gamma", "x = 'ü'", ""]
    fixed = ["from .names import (", "    Alpha,", "    Beta,", "    Gamma,", ")", "x = 'ü'", ""]
    names = "Alpha = Beta = Gamma = 1\n"
    broken = head + newline.join(lines).encode(encoding)
    site = make_tree(tmp_path, {PATH: GOOD, "vllm/names.py": names}, {PATH: broken})
    checked(site, capsys, "--fix")
    assert (site / PATH).read_bytes() == head + newline.join(fixed).encode(encoding)
    assert checked(site, capsys)["verdict"] == "clear"


@pytest.mark.parametrize(
    "split",
    [
        ["from .names import Alpha,", "    Beta,", "    Gamma"],
        ["from .names import Alpha, Beta", "    Gamma,"],
        ["from .names import Alpha,", "Beta,", "    Gamma"],
        ["from .names import Alpha", "    , Beta", "    , Gamma"],
        ["from .names import Alpha, \\", "    Beta,", "    Gamma"],
        ["from .names import Alpha,", "", "    Beta, Gamma"],
    ],
    ids=lambda lines: "|".join(lines),
)
def test_every_way_to_split_an_import_ends_in_the_same_list(
    split: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = "Alpha = Beta = Gamma = 1\n"
    site = make_tree(tmp_path, {PATH: GOOD, "vllm/names.py": names}, {PATH: "\n".join([*split, "x = 1", ""])})
    (finding,) = checked(site, capsys)["findings"]
    assert (finding["name"], finding["line"]) == ("syntax-error", 1)
    checked(site, capsys, "--fix")
    expected = "from .names import (\n    Alpha,\n    Beta,\n    Gamma,\n)\nx = 1\n"
    assert (site / PATH).read_text() == expected


def test_comments_in_a_split_import_are_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = ["from .names import Alpha,  # noqa", "    Beta,  # the patch", "    Gamma", ""]
    names = "Alpha = Beta = Gamma = 1\n"
    site = make_tree(tmp_path, {PATH: GOOD, "vllm/names.py": names}, {PATH: "\n".join(lines)})
    checked(site, capsys, "--fix")
    text = (site / PATH).read_text()
    assert "# noqa" in text
    assert "# the patch" in text
    assert checked(site, capsys)["verdict"] == "clear"
