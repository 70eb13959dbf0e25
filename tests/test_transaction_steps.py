"""Transactions that are stopped at every step: the tree is as before or fully applied, and what comes next works."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.transaction_driver import ENDED

_OTHERS = {"linked.py": "value = 4\n", "shared.py": "value = 3\n"}


@pytest.mark.parametrize("mode", ["kill", "interrupt", "full", "read-only", "restore-kill", "restore-full", "twice"])
def test_a_transaction_that_is_stopped_anywhere_is_all_or_nothing(mode: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.transaction_driver", mode, str(tmp_path / "work")],
        cwd=Path(__file__).parents[1],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        capture_output=True,
        text=True,
        check=True,
    )
    first, *rows = map(json.loads, done.stdout.splitlines())
    before, after = first["before"], first["after"]
    assert before != after and len(rows) > 40
    start, goal = (after, before) if mode.startswith("restore-") else (before, after)
    outcomes: set[str] = set()
    for row in rows:
        at = f"step {row['step']}"
        for path, content in row["raw"].items():
            temporary = "/.preflight-" in path or path in ("vllm/new/", "vllm/new/deep/")
            assert temporary or content in (before.get(path), after.get(path)), at
        assert row["settled"] in (before, after), at
        outcomes.add("before" if row["settled"] == before else "after")
        if "full" in mode:  # what fails says so, or is done; never the one with the other's result
            assert row["settled"] == {2: start, 0: goal, ENDED: goal}[row["code"]], at
            assert row["raw"] == row["settled"] or row["code"] == 0, at
        assert row.get("applied", after) == after, at
        assert not row.get("bytecode", False), at
        assert row["restored"] == before, at
        assert row["rest"] == [], at
        assert row["cache"] == _OTHERS, at
    assert outcomes == {"before", "after"}
