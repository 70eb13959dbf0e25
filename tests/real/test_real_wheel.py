"""The wheel: built from the project, installed in an environment of its own, it works from any folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.minitree import make_tree

pytestmark = pytest.mark.real

PROJECT = Path(__file__).parents[2]


def run(*words: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [str(word) for word in words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=environ, timeout=300)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done


def test_the_wheel_works_from_any_folder(tmp_path: Path) -> None:
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    run(*pip, "wheel", "--no-deps", "--wheel-dir", tmp_path / "dist", PROJECT, cwd=tmp_path)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    environment = tmp_path / "environment"
    run(sys.executable, "-m", "venv", "--without-pip", environment, cwd=tmp_path)
    run(*pip, "--python", environment, "install", "--no-deps", wheel, cwd=tmp_path)
    # What it depends on comes from the environment of the tests; preflight itself must not.
    (site,) = environment.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    program = environment / "bin" / "preflight"
    where = run(environment / "bin" / "python", "-c", "import preflight; print(preflight.__file__)", cwd=elsewhere)
    assert where.stdout.startswith(str(site))
    tree = make_tree(tmp_path / "tree", {"vllm/toy.py": "x = 1\n"}, {"vllm/toy.py": "x = = 1\n"})
    done = run(program, "check", "--vllm-site-packages", tree, "--output-format", "json", cwd=elsewhere)
    report = json.loads(done.stdout)
    assert [(f["rule"], f["line"]) for f in report["findings"]] == [("PF101", 1)]
    assert "PF101" in run(program, "rules", cwd=elsewhere).stdout
    assert run(program, "triage", "--help", cwd=elsewhere).stdout
