"""What the README shows is what the program prints."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
#: a block that shows a command behind ``$`` and below it what it prints
_SHOWN = re.compile(r"^```console\n\$ (?P<command>.*)\n(?P<output>(?:.*\n)*?)```$", re.MULTILINE)
_COLUMNS = "100"


def printed(command: str) -> str:
    """What the command prints on a page of 100 columns, with the version of this Python left open."""
    words = shlex.split(command)
    assert words[0] == ".venv/bin/preflight"
    done = subprocess.run(
        [sys.executable, "-m", "preflight", *words[1:]],
        cwd=ROOT,
        env={**os.environ, "COLUMNS": _COLUMNS, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode in (0, 1), done.stderr
    return _without_python(done.stdout)


def _without_python(text: str) -> str:
    """The text with the reader's own Python left open, and the lines that its length breaks made one."""
    return re.sub(r"preflight's own Python [\d.]+", "preflight's own Python", " ".join(text.split()))


@pytest.mark.real
@pytest.mark.parametrize(("command", "output"), _SHOWN.findall(README.read_text("utf-8")))
def test_what_is_shown_is_printed(command: str, output: str) -> None:
    assert output.strip()
    assert printed(command) == _without_python(output)


def test_the_readme_shows_the_main_job() -> None:
    commands = [command for command, _ in _SHOWN.findall(README.read_text("utf-8"))]
    assert any("check --vllm" in command for command in commands)
    assert any("triage" in command for command in commands)
