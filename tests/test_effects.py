"""Files of a patch that change nothing."""

from __future__ import annotations

import json
import os
import sys
from importlib.util import MAGIC_NUMBER, cache_from_source, source_hash
from marshal import dumps
from pathlib import Path

import pytest

from preflight.cli import main
from preflight.model import Report
from preflight.tree import TreeRequest, open_tree
from tests.checking import report_of
from tests.minitree import make_tree, write

RELEASE = {
    "vllm/toy.py": "limit = 3\n",
    "vllm/models/model.py": "class Model:\n    pass\n",
    "vllm/listed/__init__.py": "import pkgutil\n\nfor found in pkgutil.iter_modules(__path__):\n    print(found)\n",
    "vllm/listed/one.py": "one = 1\n",
}


def laid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str]) -> Report:
    site = make_tree(tmp_path / "site", RELEASE)
    for path, text in files.items():
        write(tmp_path / "repo" / path, text.encode())
    monkeypatch.chdir(tmp_path / "repo")
    return report_of(open_tree(TreeRequest(site_packages=str(site), paths=(".",)), {}))


def of(report: Report, rule: str) -> list[str]:
    return [one.span.path for one in report.findings if one.rule == rule]


@pytest.mark.parametrize(
    ("files", "unused"),
    [
        ({"vllm/models/extra.py": "x = 1\n"}, ["vllm/models/extra.py"]),
        ({"vllm/extra.py": "x = 1\n", "vllm/toy.py": "limit = 4\n"}, ["vllm/extra.py"]),
        ({"vllm/old/model.py": "x = 1\n", "vllm/toy.py": "limit = 4\n"}, ["vllm/old/model.py"]),
        ({"vllm/extra.py": "x = 1\n", "vllm/toy.py": "import vllm.extra\n"}, []),
        ({"vllm/extra.py": "x = 1\n", "vllm/toy.py": "from . import extra\n"}, []),
        ({"vllm/extra.py": "x = 1\n", "vllm/toy.py": "def f():\n    from .extra import x\n"}, []),
        ({"vllm/extra.py": "x = 1\n", "vllm/toy.py": "name = 'vllm.extra'\n"}, []),
        ({"vllm/extra.py": "x = 1\n", "vllm/toy.py": "name = 'extra:x'\n"}, []),
        ({"vllm/extra.py": "x = 1\n", "vllm/toy.py": "# extra\n"}, ["vllm/extra.py"]),
        ({"vllm/extra.py": "x = 1\nif __name__ == '__main__':\n    print(x)\n"}, []),
        ({"vllm/extra/__init__.py": "x = 1\n"}, []),
        ({"vllm/listed/two.py": "x = 1\n"}, []),
        ({"vllm/extra.py": "x = 1\n", "plug.py": "from vllm import extra\n"}, []),
    ],
)
def test_new_files_that_nothing_imports(tmp_path, monkeypatch, files, unused):
    assert of(laid(tmp_path, monkeypatch, files), "PF710") == unused


def test_a_file_that_the_launch_names_is_used(tmp_path, monkeypatch, capsys):
    site = make_tree(tmp_path / "site", RELEASE)
    write(tmp_path / "repo/vllm/models/extra.py", b"x = 1\n")
    monkeypatch.chdir(tmp_path / "repo")
    for words, rules in ((["--worker-cls", "vllm.models.extra.X"], []), ([], ["PF710"])):
        command = ["--", "vllm", "serve", "toy", *words]
        main(["check", ".", "--vllm-site-packages", str(site), "--output-format", "json", *command])
        report = json.loads(capsys.readouterr().out)
        assert report["error"] is None
        assert [one["rule"] for one in report["findings"] if one["rule"] == "PF710"] == rules


def test_a_moved_file_is_told_where_its_class_is(tmp_path, monkeypatch):
    report = laid(
        tmp_path, monkeypatch, {"vllm/old/model.py": "class Model:\n    changed = 1\n", "vllm/toy.py": "limit = 4\n"}
    )
    (fault,) = [one.fault for one in report.findings if one.rule == "PF710"]
    assert "vllm/models/model.py" in fault.message


def test_many_identical_files_are_counted(tmp_path, monkeypatch):
    files = {f"vllm/m{number}.py": f"x = {number}\n" for number in range(15)}
    site = make_tree(tmp_path / "site", files)
    for path, text in files.items():
        write(tmp_path / "repo" / path, text.encode())
    monkeypatch.chdir(tmp_path / "repo")
    report = report_of(open_tree(TreeRequest(site_packages=str(site), paths=(".",)), {}))
    found = [one.fault.message for one in report.findings if one.rule == "PF711"]
    assert len(found) == 10
    assert "5 more" in found[-1]


HEADS = {
    "timely": lambda file, text: (0).to_bytes(4, "little") + _stat(file),
    "late": lambda file, text: (0).to_bytes(4, "little") + b"\1\0\0\0" + _stat(file)[4:],
    "unchecked": lambda file, text: (1).to_bytes(4, "little") + source_hash(text.encode()),
    "checked": lambda file, text: (3).to_bytes(4, "little") + source_hash(text.encode()),
}


def _stat(file: Path) -> bytes:
    status = file.stat()
    return b"".join(number.to_bytes(4, "little") for number in (int(status.st_mtime), status.st_size))


@pytest.mark.parametrize(
    ("head", "source", "magic", "rules", "questions"),
    [
        ("timely", "limit = 3\n", MAGIC_NUMBER, ["vllm/toy.py"], 0),
        ("timely", "limit = 4\n", MAGIC_NUMBER, [], 0),
        ("late", "limit = 3\n", MAGIC_NUMBER, [], 0),
        ("unchecked", "limit = 3\n", MAGIC_NUMBER, ["vllm/toy.py"], 0),
        ("unchecked", "limit = 4\n", MAGIC_NUMBER, [], 0),
        ("checked", "limit = 3\n", MAGIC_NUMBER, [], 0),
        ("timely", "limit = 3\n", b"\1\2\r\n", [], 1),
    ],
)
def test_byte_code_of_other_source(tmp_path, head, source, magic, rules, questions):
    site = make_tree(tmp_path, RELEASE, {"vllm/toy.py": "limit = 4\n"})
    file = site / "vllm/toy.py"
    cached = Path(cache_from_source(str(file)))
    write(cached, magic + HEADS[head](file, source) + dumps(compile(source, "elsewhere.py", "exec", dont_inherit=True)))
    report = report_of(open_tree(TreeRequest(site_packages=str(site), python=sys.executable), dict(os.environ)))
    assert of(report, "PF712") == rules
    assert len([one for one in report.undecided if one.id == "bytecode-not-compared"]) == questions


def test_byte_code_that_is_garbage_is_undecided(tmp_path):
    site = make_tree(tmp_path, RELEASE, {"vllm/toy.py": "limit = 4\n"})
    file = site / "vllm/toy.py"
    write(Path(cache_from_source(str(file))), MAGIC_NUMBER + (0).to_bytes(4, "little") + _stat(file) + b"\xff\xfe")
    report = report_of(open_tree(TreeRequest(site_packages=str(site), python=sys.executable), dict(os.environ)))
    assert of(report, "PF712") == []
    assert [one.path for one in report.undecided if one.id == "bytecode-not-compared"] == ["vllm/toy.py"]
