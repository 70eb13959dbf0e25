"""A run leaves nothing behind: who checks many trees in one process must not keep the programs of all of them."""

from __future__ import annotations

import gc
from pathlib import Path
from weakref import ref

from preflight.program import Program
from preflight.tree import TreeRequest, open_tree
from tests.checking import report_of
from tests.minitree import make_tree


def test_the_programs_of_a_run_are_let_go(tmp_path: Path, monkeypatch) -> None:
    made: list[ref[Program]] = []
    before = Program.__init__

    def noted(self: Program, *arguments, **keywords) -> None:
        made.append(ref(self))
        before(self, *arguments, **keywords)

    monkeypatch.setattr(Program, "__init__", noted)
    site = make_tree(
        tmp_path,
        {"vllm/__init__.py": "", "vllm/a.py": "value = 1\n", "vllm/b.py": "from vllm.a import value\n"},
        {"vllm/b.py": "from vllm.a import valeu\n\n\ndef f():\n    return missing\n"},
    )
    report = report_of(open_tree(TreeRequest(site_packages=str(site)), {}))
    assert {finding.rule for finding in report.findings} == {"PF201", "PF204"}
    gc.collect()
    assert made and not [program for program in made if program() is not None]
