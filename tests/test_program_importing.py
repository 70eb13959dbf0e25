"""What importing a module needs, all the way down, and the first thing that stops it."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.program import Truth
from tests.programs import WHOLE_ENVIRONMENT, program_of

CHAIN = {
    "vllm/a.py": "import os\nfrom vllm.b import f\n",
    "vllm/b.py": "from vllm import c\ndef f(): ...\n",
    "vllm/c.py": "from vllm.d import gone\n",
    "vllm/d.py": "",
}


def test_the_first_failure_of_the_whole_chain(tmp_path: Path) -> None:
    failure = program_of(tmp_path, CHAIN).importing.failure("vllm.a")
    assert failure is not None
    assert (failure.span.path, failure.span.line, failure.module) == ("vllm/c.py", 1, "vllm.c")
    assert failure.missing is not None and failure.missing.name == "gone"
    assert failure.via == ("vllm.a", "vllm.b", "vllm.c")


@pytest.mark.parametrize(
    "text",
    [
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from vllm.d import gone\n",
        "def f():\n    from vllm.d import gone\n",
        "try:\n    from vllm.d import gone\nexcept ImportError:\n    gone = None\n",
        "if ready():\n    from vllm.d import gone\n",
        "import contextlib\nwith contextlib.suppress(ImportError):\n    from vllm.d import gone\n",
        "import sys\nif sys.version_info < (3, 9):\n    from vllm.d import gone\n",
        "for name in names:\n    from vllm.d import gone\n",
    ],
)
def test_imports_that_need_not_run_stop_nothing(tmp_path: Path, text: str) -> None:
    assert program_of(tmp_path, {**CHAIN, "vllm/c.py": text}).importing.failure("vllm.a") is None


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("import vllm.nowhere\n", 1),
        ("x = 1\nfrom .nowhere import x\n", 2),
        ("from ... import x\n", 1),
        ("if True:\n    raise ImportError('never')\n", 2),
        ("def f(:\n", 1),
        ("try:\n    from vllm.d import gone\nexcept ImportError:\n    from vllm.d import gone_too\n", 4),
        ("try:\n    from vllm.d import gone\nexcept ValueError:\n    pass\n", 2),
        ("class C:\n    from vllm.d import gone\n", 2),
        ("from vllm.nowhere import *\n", 1),
    ],
)
def test_what_certainly_fails_is_found_at_its_line(tmp_path: Path, text: str, line: int) -> None:
    failure = program_of(tmp_path, {**CHAIN, "vllm/c.py": text}).importing.failure("vllm.a")
    assert failure is not None
    assert (failure.span.path, failure.span.line) == ("vllm/c.py", line)


def test_a_package_runs_before_its_modules(tmp_path: Path) -> None:
    files = {"vllm/p/__init__.py": "from vllm.d import gone\n", "vllm/p/q.py": "", "vllm/d.py": ""}
    failure = program_of(tmp_path, files).importing.failure("vllm.p.q")
    assert failure is not None and failure.span.path == "vllm/p/__init__.py"


def test_cycles_end_and_fail_nothing_by_themselves(tmp_path: Path) -> None:
    files = {"vllm/a.py": "import vllm.b\nx = 1\n", "vllm/b.py": "import vllm.a\nfrom vllm import c\n", "vllm/c.py": ""}
    importing = program_of(tmp_path, files).importing
    assert importing.failure("vllm.a") is None
    assert set(importing.needs("vllm.a")) == {"vllm", "vllm.a", "vllm.b", "vllm.c"}


def test_many_modules_at_once(tmp_path: Path) -> None:
    files = {**CHAIN, "vllm/e.py": "import strangething.inner\n", "vllm/f.py": "import vllm.e\n", "vllm/g.py": ""}
    program = program_of(tmp_path, files)
    survey = program.importing.survey(["vllm.a", "vllm.f", "vllm.g"])
    assert survey.failing == {"vllm.a"}
    users, importers = survey.packages["strangething"]
    assert users == {"vllm.f"} and list(importers) == ["vllm.e"]


def test_a_package_that_is_not_installed_is_a_failure_only_where_that_is_known(tmp_path: Path) -> None:
    files = {"vllm/a.py": "import strangething\n"}
    assert program_of(tmp_path / "sources", files).importing.failure("vllm.a") is None
    failure = program_of(tmp_path / "whole", {**files, **WHOLE_ENVIRONMENT}).importing.failure("vllm.a")
    assert failure is not None and failure.missing is not None
    assert failure.message == "ModuleNotFoundError: No module named 'strangething'"


def test_what_only_few_need_and_nothing_requires_is_optional(tmp_path: Path) -> None:
    files = {f"vllm/models/m{i}.py": "import commonthing\n" for i in range(5)}
    files["vllm/models/m0.py"] += "import rarething\nimport vllm.shared\n"
    files["vllm/models/m1.py"] += "import regex\nimport cv2\n"
    files["vllm/shared.py"] = "import sharedthing\n"
    files["transformers-4.57.6.dist-info/METADATA"] = (
        "Metadata-Version: 2.1\nName: transformers\nVersion: 4.57.6\nRequires-Dist: regex!=2019\n"
        "Requires-Dist: opencv-python-headless>=4 ; python_version > '3.9'\nRequires-Dist: rarething; extra == 'rare'\n"
    )
    program = program_of(tmp_path, files)
    models = [f"vllm.models.m{i}" for i in range(5)]
    for asked in (models, models[:1]):
        found = program.requirements.optional(asked, models)
        assert {name: (need.package, need.importer, need.item.line) for name, need in found.items()} == {
            "vllm.models.m0": ("rarething", "vllm.models.m0", 2)
        }
    assert program.requirements.optional(models[1:], models) == {}


def test_a_try_looks_only_a_few_modules_deep(tmp_path: Path) -> None:
    program = program_of(tmp_path, CHAIN)
    assert program.importable("vllm.c") is Truth.YES  # the module is there; the name it lacks is the importer's fault
    assert program.importable("vllm.nowhere") is Truth.NO
    assert program.importable("strangething") is Truth.MAYBE
