"""A run leaves nothing behind: who checks many trees in one process must not keep the programs of all of them."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any
from weakref import ref

from preflight.program import Program
from preflight.tree import TreeRequest, open_tree
from preflight.walk.values import ModuleValue
from tests.checking import report_of
from tests.minilaunch import ENGINE, check_launch, engine
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


def test_the_modules_of_a_walk_are_let_go(tmp_path: Path, capsys: Any) -> None:
    limits = (
        "from pydantic import Field, field_validator\n"
        "from pydantic.dataclasses import dataclass as validated\n\n\n"
        "@validated\nclass Limits:\n    size: int = Field(default=2, ge=1)\n\n"
        "    @field_validator('size', mode='before')\n    @classmethod\n    def _free(cls, value):\n"
        "        if value == 7:\n            raise ValueError('7 is taken')\n        return value\n\n\n"
    )
    _code, report = check_launch(tmp_path, capsys, patch={ENGINE: limits + engine("Limits(7)")})
    assert [finding["rule"] for finding in report["findings"]] == ["PF601"]
    gc.collect()
    assert not [value for value in gc.get_objects() if isinstance(value, ModuleValue)]
