"""The incident written as each of the shapes that patches come in: the same findings, whatever the shape."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from preflight.cli import main
from tests.minitree import write
from tests.real.test_real_launch import FOUR, THREE, TWO, errors, incident, malformed
from tests.walk_launches import SPECULATIVE, listed, source

pytestmark = pytest.mark.real

PACKAGES = "/usr/local/lib/python3.12/dist-packages"


def mirrored(folder: Path, changes: dict[str, bytes]) -> None:
    """Files laid out as in the tree."""
    for path, data in changes.items():
        write(folder / path, data)


def diffs(folder: Path, changes: dict[str, bytes]) -> None:
    """One unified diff."""
    lines: list[str] = []
    for path, data in changes.items():
        old, new = source("0.16.0", path).splitlines(True), data.decode().splitlines(True)
        lines += difflib.unified_diff(old, new, f"a/{path}", f"b/{path}")
    write(folder / "incident.patch", "".join(lines).encode())


def script(folder: Path, changes: dict[str, bytes]) -> None:
    """A Python script that replaces strings, and asserts that they are there."""
    edits = [
        (path.removeprefix("vllm/"), old, new)
        for path, data in changes.items()
        for old, new in _edits(source("0.16.0", path), data.decode())
    ]
    text = (
        "import os\nimport vllm\n\nROOT = os.path.dirname(vllm.__file__)\nEDITS = [\n"
        + "".join(f"    ({path!r}, {old!r}, {new!r}),\n" for path, old, new in edits)
        + "]\n\nfor name, old, new in EDITS:\n    place = os.path.join(ROOT, name)\n    with open(place) as file:\n"
        "        text = file.read()\n    assert text.count(old) == 1, name\n    with open(place, 'w') as file:\n"
        "        file.write(text.replace(old, new))\nprint('all patched')\n"
    )
    write(folder / "apply_patches.py", text.encode())


def dockerfile(folder: Path, changes: dict[str, bytes]) -> None:
    """Patched files under other names, copied into the image by a Dockerfile."""
    lines = ["FROM vllm/vllm-openai:v0.16.0", f"ARG SITE={PACKAGES}"]
    for number, (path, data) in enumerate(changes.items()):
        write(folder / "files" / f"{number}_{Path(path).name}", data)
        lines.append(f"COPY files/{number}_{Path(path).name} ${{SITE}}/{path}")
    write(folder / "Dockerfile", "\n".join([*lines, ""]).encode())


def _edits(old: str, new: str) -> list[tuple[str, str]]:
    """Replacements, each with enough lines around it to stand at one place only."""
    before, after = old.splitlines(True), new.splitlines(True)
    found = []
    for tag, a, b, c, d in difflib.SequenceMatcher(None, before, after, False).get_opcodes():
        if tag != "equal":
            more = 0
            while old.count("".join(before[a - more : b + more])) != 1:
                more += 1
            found.append(("".join(before[a - more : b + more]), "".join(after[c - more : d + more])))
    return found


SHAPES: dict[str, tuple[Callable[[Path, dict[str, bytes]], None], str]] = {
    "mirrored": (mirrored, "."),
    "diffs": (diffs, "incident.patch"),
    "script": (script, "."),
    "dockerfile": (dockerfile, "."),
}


def report(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    main(["check", *words])
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_malformed_import(
    shape: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make, path = SHAPES[shape]
    make(tmp_path, malformed())
    monkeypatch.chdir(tmp_path)
    found = report(capsys, path, "--vllm", "0.16.0", "--output-format", "json")
    assert errors(found) == [FOUR]
    (finding,) = [one for one in found["findings"] if one["severity"] == "error"]
    if shape in ("diffs", "script", "dockerfile"):
        assert finding["trail"][0]["note"] == "made by"
    assert {file["path"] for file in found["tree"]["patched"]} == set(malformed())


def test_the_launch_with_a_script_that_repairs_the_first_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script(tmp_path, listed())
    monkeypatch.chdir(tmp_path)
    words = incident(tmp_path, True)
    found = report(capsys, "apply_patches.py", "--vllm", "0.16.0", "--output-format", "json", "--", *words)
    assert errors(found) == [TWO, THREE]


PLUGIN = """\
import vllm.config.speculative as speculative
{import}
from vllm.model_executor.models import kimi_k25

_released = speculative.SpeculativeConfig._verify_args


def verify(self):
    return self if self.method == "eagle3" else _released(self)


def register():
    speculative.SpeculativeConfig._verify_args = verify
"""


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        (
            "from vllm.model_executor.models.interfaces import SupportsEagle,\n    SupportsEagle3,\n    SupportsPP",
            ("PF101", "plug/__init__.py", 2),
        ),
        (
            "from vllm.model_executor.models.interfaces import SupportsEagle4",
            ("PF201", "plug/__init__.py", 2),
        ),
    ],
)
def test_a_plugin_with_the_faulty_import(
    line: str,
    wanted: tuple[str, str, int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write(tmp_path / "plug/__init__.py", PLUGIN.replace("{import}", line).encode())
    monkeypatch.chdir(tmp_path)
    assert errors(report(capsys, ".", "--vllm", "0.16.0", "--output-format", "json")) == [wanted]


def test_a_plugin_that_replaces_what_raises_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The walk follows vLLM's own code: what the plug-in has replaced is no fault of the launch any more, and the other
    two are."""
    write(tmp_path / "plug/__init__.py", PLUGIN.replace("{import}", "import vllm").encode())
    monkeypatch.chdir(tmp_path)
    found = report(capsys, "plug", "--vllm", "0.16.0", "--output-format", "json", "--", *incident(tmp_path, True))
    assert errors(found) == [TWO, THREE]
    assert [one["path"] for one in found["undecided"] if one["id"] == "walk-patched-beside"] == [SPECULATIVE]
