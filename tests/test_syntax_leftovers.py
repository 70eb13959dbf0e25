"""What patch and merge tools leave behind, told from what only looks like it."""

from __future__ import annotations

import json
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from minitree import make_tree
from syntaxlab import Lab

from preflight.cli import main
from preflight.syntax.conflicts import find_conflicts
from preflight.syntax.source import decode

PATH = "vllm/toy.py"
GOOD = "ANSWER = 42\n"
SIDES = "<<<<<<< HEAD\nANSWER = 1\n=======\nANSWER = 2\n>>>>>>> topic\n"


def checked(site: Path, capsys: pytest.CaptureFixture[str]) -> list[tuple[str, str, str, int | None]]:
    main(["check", "--vllm-site-packages", str(site), "--output-format", "json"])
    report = json.loads(capsys.readouterr().out)
    assert report["error"] is None
    return [(f["name"], f["severity"], f["path"], f["line"]) for f in report["findings"]]


def test_a_conflict_in_code_is_one_syntax_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    site = make_tree(tmp_path, {PATH: GOOD}, {PATH: "x = 1\n" + SIDES})
    assert checked(site, capsys) == [("syntax-error", "error", PATH, 2)]


def test_two_conflicts_are_two(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    site = make_tree(tmp_path, {PATH: GOOD}, {PATH: SIDES + "x = 1\n\n\n\n" + SIDES})
    assert checked(site, capsys) == [("syntax-error", "error", PATH, 1), ("syntax-error", "error", PATH, 10)]


def test_a_conflict_of_a_real_merge(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()

    def git(*words: str, fails: bool = False) -> None:
        names = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
        done = subprocess.run(["git", *names, *words], cwd=repository, capture_output=True, check=False)
        assert (done.returncode != 0) is fails, done.stderr

    def commit(text: str) -> None:
        (repository / "toy.py").write_text(text)
        git("add", "toy.py")
        git("commit", "-m", "a change")

    git("init")
    commit("def f():\n    return 1\n")
    git("checkout", "-b", "topic")
    commit("def f():\n    return 2\n")
    git("checkout", "main")
    commit("def f():\n    return 3\n")
    git("merge", "topic", fails=True)
    merged = (repository / "toy.py").read_text()
    site = make_tree(tmp_path, {PATH: "def f():\n    return 1\n"}, {PATH: merged})
    assert checked(site, capsys) == [("syntax-error", "error", PATH, 2)]


def test_a_conflict_in_a_string_is_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    site = make_tree(tmp_path, {PATH: GOOD}, {PATH: f"x = '''\n{SIDES}'''\n"})
    assert checked(site, capsys) == [("conflict-marker", "warning", PATH, 2)]


@pytest.mark.parametrize(
    "text",
    [
        "x = '''\nTitle\n=======\ntext\n'''\n",
        "x = '''\n<<<<<<< shift left\n'''\n",
        "x = 1  # <<<<<<< HEAD\n",
        "x = '''\n  <<<<<<< HEAD\n  =======\n  >>>>>>> topic\n'''\n",
    ],
)
def test_what_only_looks_like_a_conflict(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert checked(make_tree(tmp_path, {PATH: GOOD}, {PATH: text}), capsys) == []


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("vllm/toy.py.rej", "--- toy.py\n+++ toy.py\n@@ -1 +1,2 @@\n ANSWER = 42\n+x = 1\n", [("warning", 1)]),
        ("vllm/toy.py.rej", "***************\n*** 1,2 ****\n  x\n--- 1,2 ----\n  y\n", [("warning", 1)]),
        ("vllm/toy.py.rej", "", []),
        ("vllm/rejected.rej", "just words\n", []),
        ("vllm/toy.py.orig", GOOD, [("info", None)]),
        ("vllm/nowhere.py.orig", GOOD, []),
    ],
)
def test_residue_files(
    name: str, text: str, expected: list[tuple[str, int]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site = make_tree(tmp_path, {PATH: GOOD}, {name: text})
    assert checked(site, capsys) == [("residue-file", severity, name, line) for severity, line in expected]


MARKERS = st.sampled_from(["<<<<<<< a", "||||||| b", "=======", ">>>>>>> c", "x = 1", "", "<<<<<<<", "======== "])


@given(st.lists(MARKERS, max_size=12))
def test_conflicts_do_not_overlap_and_hold_their_sides(lines: list[str]) -> None:
    found = find_conflicts(lines)
    for before, after in pairwise(found):
        assert before.last < after.first
    for conflict in found:
        assert 1 <= conflict.first <= conflict.last <= len(lines)
        for side in conflict.sides:
            assert all(conflict.first <= line <= conflict.last for line in side)


def test_no_side_is_offered_even_if_the_release_has_it() -> None:
    lab = Lab()
    try:
        (fault,) = lab.diagnose(decode("x.py", SIDES.encode()), "ANSWER = 1\n")
        assert (fault.cause, fault.start, fault.end, fault.fix) == ("conflict-marker", (1, 1), (5, 14), None)
    finally:
        lab.compiler.close()
