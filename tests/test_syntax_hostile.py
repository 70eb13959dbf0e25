"""Files that were never meant for a checker: each ends in a clear finding or an open question, and the others go on."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from minitree import make_tree

from preflight.cli import main

PATH = "vllm/toy.py"
OTHER = "vllm/other.py"
GOOD = "ANSWER = 42\n"


def checked(site: Path, capsys: pytest.CaptureFixture[str], *words: str) -> dict:
    main(["check", "--vllm-site-packages", str(site), "--output-format", "json", *words])
    report = json.loads(capsys.readouterr().out)
    assert report["error"] is None, report["error"]
    return report


def findings(report: dict, path: str = PATH) -> list[tuple[str, str, int | None]]:
    return [(f["name"], f["severity"], f["line"]) for f in report["findings"] if f["path"] == path]


def patched_with(data: bytes, tmp_path: Path) -> Path:
    """A tree in which a hostile file stands beside one with a plain syntax error."""
    return make_tree(tmp_path, {PATH: GOOD, OTHER: GOOD}, {PATH: data, OTHER: b"def f()\n    return 1\n"})


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", []),
        (b"\n", []),
        (b"\xef\xbb\xbf", []),
        (b"\x00", [("unreadable-source", "error", 1)]),
        (b"\x00" * 4096, [("unreadable-source", "error", 1)]),
        (b"\x7fELF\x02\x01\x01\x00" + bytes(range(256)) * 20, [("unreadable-source", "error", 1)]),
        ("x = 1\n".encode("utf-16"), [("unreadable-source", "error", 1)]),
        ("x = 1\n".encode("utf-32"), [("unreadable-source", "error", 1)]),
        (b"x = 1\ny = '\xff'\n", [("undecodable-source", "error", 2)]),
        (b"x = 1\n# \xff\n", [("undecodable-source", "warning", 2)]),
        (b"x = '\xed\xa0\x80'\n", [("undecodable-source", "error", 1)]),
        (b"# coding: no-such\n", [("undecodable-source", "error", 1)]),
        (b"x = " + b"(" * 100_000 + b"\n", [("syntax-error", "error", 1)]),
        (b"x = " + b"[" * 150 + b"]" * 150 + b"\n", []),
        (b"x = 1 +\n", [("syntax-error", "error", 1)]),
        (b"x = '" + b"a" * 3_000_000 + b"\n", [("syntax-error", "error", 1)]),
        (b"\r" * 10_000 + b"x = (\r", [("syntax-error", "error", 10_001)]),
        (b"\x0c\x0c x = 1\n", [("syntax-error", "error", 1)]),
        (b"\x1b[31mx = 1\n", [("syntax-error", "error", 1)]),
        (b"x = 1\n" * 9_999 + b"x =\n", [("syntax-error", "error", 10_000)]),
        (b"'''" * 10_001, [("syntax-error", "error", 1)]),
        (b"f'{" * 5_000, [("syntax-error", "error", 1)]),
        (b"\\\n" * 5_000, [("syntax-error", "error", None)]),
    ],
    ids=lambda value: repr(value[:12]) if isinstance(value, bytes) else "",
)
def test_hostile_content(
    data: bytes, expected: list[tuple[str, str, int | None]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = checked(patched_with(data, tmp_path), capsys)
    found = findings(report)
    assert [finding[:2] for finding in found] == [finding[:2] for finding in expected]
    for (*_, line), (*_, wanted) in zip(found, expected, strict=True):
        assert wanted is None or line == wanted
    assert findings(report, OTHER) == [("syntax-error", "error", 1)]


def test_nesting_that_no_python_compiles_is_not_called_clear(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # the interpreter runs out of its own stack here: by an exception or by dying, as its version has it
    report = checked(patched_with(b"x = " + b"-" * 200_000 + b"1\n", tmp_path), capsys)
    named = findings(report) or [q["id"] for q in report["undecided"] if q["path"] == PATH]
    assert named
    assert findings(report, OTHER) == [("syntax-error", "error", 1)]


def test_fifty_megabytes_are_an_open_question(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    site = make_tree(tmp_path, {PATH: GOOD}, {PATH: b"x = 1  # filler\n" * 3_300_000})
    report = checked(site, capsys)
    assert report["verdict"] == "undecided"
    assert [(q["id"], q["path"]) for q in report["undecided"] if q["path"] == PATH] == [("source-too-big", PATH)]


def test_a_link_in_a_circle_and_one_to_nowhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    site = make_tree(tmp_path, {PATH: GOOD, OTHER: GOOD})
    for path, target in ((PATH, "toy.py"), (OTHER, "nowhere.py")):
        (site / path).unlink()
        (site / path).symlink_to(target)
    report = checked(site, capsys)
    for path in (PATH, OTHER):
        assert {name for name, *_ in findings(report, path)} <= {"unreadable-source", "release-file-missing"}
        assert findings(report, path)


def test_a_pipe_in_place_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    site = make_tree(tmp_path, {PATH: GOOD})
    (site / PATH).unlink()
    os.mkfifo(site / PATH)
    assert findings(checked(site, capsys))


def test_a_release_file_for_another_python_is_no_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    template = "{% if cuda %}\nimport torch\n{% endif %}\n"
    site = make_tree(tmp_path, {PATH: template, OTHER: 'print "python 2"\n'})
    assert checked(site, capsys)["findings"] == []
    report = checked(site, capsys, "--all")
    assert findings(report) == [("syntax-error", "info", 1)]
    assert findings(report, OTHER) == [("syntax-error", "info", 1)]
    assert report["verdict"] == "clear"


def test_the_same_file_is_an_error_once_it_is_patched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    site = make_tree(tmp_path, {PATH: 'print "python 2"\n'}, {PATH: 'print "python 2", 3\n'})
    assert findings(checked(site, capsys)) == [("syntax-error", "error", 1)]
