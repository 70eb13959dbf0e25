"""Imports of modules and names that are not there: when they are an error, a warning, or nothing at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults import Found, found_by, found_in, keep_release, open_mini, report_of
from tests.programs import WHOLE_ENVIRONMENT

TOY = "vllm/models/toy.py"
RELEASE = {
    "vllm/config.py": "class Config: ...\nclass CacheConfig: ...\ndef load(): ...\n",
    "vllm/layers/__init__.py": "from .linear import *\n",
    "vllm/layers/linear.py": "__all__ = ['Linear']\nclass Linear: ...\nclass Hidden: ...\n",
    "vllm/lazy.py": "def __getattr__(name):\n    return len(name)\n",
    TOY: "from vllm.config import Config\n",
}


def found(folder: Path, text: str) -> list[tuple[str, str, int | None]]:
    """The findings for a patched file with this text."""
    return [(one.rule, one.severity, one.line) for one in found_by(folder, RELEASE, {TOY: text})]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("from vllm.config import Confg\n", [("PF201", "error", 1)]),
        ("from ..config import (\n    Config,\n    Confg,\n)\n", [("PF201", "error", 3)]),
        ("import vllm.confg\n", [("PF202", "error", 1)]),
        ("import vllm.confg.deep as c\n", [("PF202", "error", 1)]),
        ("from vllm.confg import Config, CacheConfig\n", [("PF202", "error", 1)]),
        ("from vllm import confg\n", [("PF201", "error", 1)]),
        ("from vllm.config.cache import X\n", [("PF202", "error", 1)]),
        ("from ....config import Config\n", [("PF201", "error", 1)]),
        ("from vllm.layers import Hidden\n", [("PF201", "error", 1)]),
        ("from vllm.confg import *\n", [("PF202", "error", 1)]),
        ("class Toy:\n    from vllm.config import Confg\n", [("PF201", "error", 2)]),
        ("if True:\n    from vllm.config import Confg\n", [("PF201", "error", 2)]),
        ("try:\n    from vllm.config import Confg\nfinally:\n    x = 1\n", [("PF201", "error", 2)]),
        ("try:\n    from vllm.config import Confg\nexcept KeyError:\n    x = 1\n", [("PF201", "error", 2)]),
        ("def f():\n    from vllm.config import Confg\nf()\n", [("PF201", "error", 2)]),
    ],
)
def test_errors(tmp_path: Path, text: str, expected: list[tuple[str, str, int]]) -> None:
    assert found(tmp_path, text) == expected


def test_a_handler_that_does_not_help(tmp_path: Path) -> None:
    """What the handler does after a certain failure is certain too."""
    text = "try:\n    from vllm.config import Confg\nexcept ImportError:\n    from vllm.config import Konfg as Confg\n"
    assert found(tmp_path, text) == [("PF201", "error", 4)]


def test_a_handler_for_modules_does_not_catch_a_missing_name(tmp_path: Path) -> None:
    text = "try:\n    from vllm.config import Confg\nexcept ModuleNotFoundError:\n    Confg = None\n"
    assert found(tmp_path, text) == [("PF201", "error", 2)]


@pytest.mark.parametrize(
    "text",
    [
        "def f():\n    from vllm.config import Confg\n",
        "class Toy:\n    def f(self):\n        import vllm.confg\n",
        "import os\nif os.environ.get('X'):\n    from vllm.config import Confg\n",
        "with open('/dev/null') as file:\n    from vllm.config import Confg\n",
        "import os\ndef f():\n    if os.environ.get('X'):\n        return\n    from vllm.config import Confg\nf()\n",
    ],
)
def test_warnings(tmp_path: Path, text: str) -> None:
    assert [severity for _, severity, _ in found(tmp_path, text)] == ["warning"]


@pytest.mark.parametrize(
    "text",
    [
        "from vllm.config import Config, CacheConfig as C, load\nfrom vllm import config\nimport vllm.config as d\n",
        "from vllm.layers import Linear, linear\nfrom vllm.layers.linear import Hidden\n",
        "from vllm.lazy import anything\n",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from vllm.config import Confg\n",
        "try:\n    from vllm.config import Confg\nexcept ImportError:\n    Confg = None\n",
        "try:\n    import vllm.confg\nexcept (ValueError, ModuleNotFoundError):\n    pass\n",
        "try:\n    from vllm.config import Confg\nexcept Exception:\n    pass\nelse:\n    from vllm.config import Config\n",
        "from contextlib import suppress\nwith suppress(ImportError):\n    from vllm.config import Confg\n",
        "try:\n    from vllm.config import Config\nexcept ImportError:\n    from vllm.confg import Config\n",
        "import sys\nif sys.version_info < (3, 8):\n    from vllm.config import Confg\n",
        "if False:\n    import vllm.confg\n",
        "import torch.nothing\nfrom numpy import whatever\n",
        "import vllm._C\n",
    ],
)
def test_nothing_is_said(tmp_path: Path, text: str) -> None:
    assert found(tmp_path, text) == []


def test_packages_are_missing_only_where_the_environment_is_whole(tmp_path: Path) -> None:
    text = "import torch\nimport nowhere\n"
    whole = found_by(tmp_path / "whole", {**RELEASE, **WHOLE_ENVIRONMENT}, {TOY: text})
    assert whole == [Found("PF202", "error", TOY, 2)]
    assert found_by(tmp_path / "sources", RELEASE, {TOY: text}) == []


def test_a_package_that_is_not_installed_is_one_finding(tmp_path: Path) -> None:
    text = "def f():\n    import nowhere.part\nfrom nowhere import a\nfrom nowhere.more import b, c\n"
    found = found_by(tmp_path, {**RELEASE, **WHOLE_ENVIRONMENT}, {TOY: text})
    assert found == [Found("PF202", "error", TOY, 3)]


def test_a_package_that_the_release_asks_for_too_is_left_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = {**RELEASE, "vllm/optional.py": "import nowhere\nx = nowhere.x\n"}
    monkeypatch.setenv("PREFLIGHT_CACHE", str(tmp_path / "cache"))
    keep_release(tmp_path / "cache", "0.16.0", release)
    text = release["vllm/optional.py"]
    for number, patched in enumerate((text + "y = 1\n", "x = 2\n" + text, text.replace("nowhere.x", "nowhere.y"))):
        tree = open_mini(tmp_path / str(number), {**release, **WHOLE_ENVIRONMENT}, {"vllm/optional.py": patched})
        assert found_in(report_of(tree, tmp_path)) == []


def test_a_star_that_lists_what_is_not_there(tmp_path: Path) -> None:
    release = {**RELEASE, "vllm/open.py": "__all__ = ['shown']\nshown = 1\n"}
    patched = {"vllm/open.py": "__all__ = ['shown', 'gone']\nshown = 1\n", TOY: "from vllm.open import *\n"}
    assert found_by(tmp_path, release, patched) == [Found("PF201", "error", TOY, 1)]


def test_what_a_star_lacks_is_an_attribute(tmp_path: Path) -> None:
    release = {**RELEASE, "vllm/open.py": "__all__ = ['gone']\n"}
    text = "try:\n    from vllm.open import *\nexcept {}:\n    pass\n"
    assert found_by(tmp_path, release, {TOY: text.format("ImportError")}) == [Found("PF201", "error", TOY, 2)]
    assert found_by(tmp_path / "caught", release, {TOY: text.format("AttributeError")}) == []


def test_a_name_behind_a_reexport(tmp_path: Path) -> None:
    release = {
        **RELEASE,
        "vllm/api/__init__.py": "from .parts import Part\n",
        "vllm/api/parts.py": "class Part: ...\n",
        "vllm/uses.py": "from vllm.api import Part\n",
    }
    (one,) = found_by(tmp_path, release, {"vllm/api/parts.py": "class Piece: ...\n"})
    assert (one.rule, one.severity, one.path) == ("PF201", "error", "vllm/api/parts.py")


def test_what_a_patched_file_took_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = {
        "vllm/config.py": "import os\n\n\nclass Config: ...\n\n\ndef load(): ...\n",
        "vllm/a.py": "from vllm.config import Config\n",
        "vllm/b.py": "def f():\n    from vllm.config import load\n",
        "vllm/c.py": "try:\n    from vllm.config import Config\nexcept ImportError:\n    pass\n",
        "vllm/d.py": "from vllm import config\nclass D(config.Config): ...\n",
    }
    monkeypatch.setenv("PREFLIGHT_CACHE", str(tmp_path / "cache"))
    keep_release(tmp_path / "cache", "0.16.0", release)
    patched = {"vllm/config.py": "import os\n\n\nclass Settings: ...\n\n\ndef read(): ...\n"}
    report = report_of(open_mini(tmp_path, release, patched), tmp_path)
    assert found_in(report) == [
        Found("PF201", "error", "vllm/config.py", 4),
        Found("PF201", "warning", "vllm/config.py", 7),
    ]
    trail = [(step.path, step.line) for step in report.findings[0].fault.trail]
    assert trail == [("vllm/a.py", 1), ("vllm/d.py", 2)]


def test_a_name_that_nobody_asks_for_may_go(tmp_path: Path) -> None:
    assert found_by(tmp_path, RELEASE, {"vllm/config.py": "class Config: ...\n"}) == []


def test_a_module_that_is_gone(tmp_path: Path) -> None:
    release = {**RELEASE, "vllm/models/pair.py": "import os\nfrom .toy import Config\n"}
    assert found_by(tmp_path, release, {TOY: None}) == [Found("PF202", "error", "vllm/models/pair.py", 2)]
    assert found_by(tmp_path / "alone", RELEASE, {TOY: None}) == []


def test_a_module_that_became_a_package(tmp_path: Path) -> None:
    release = {**RELEASE, "vllm/models/pair.py": "from .toy import Config\n"}
    assert found_by(tmp_path, release, {TOY: None, "vllm/models/toy/__init__.py": RELEASE[TOY]}) == []
    gone = found_by(tmp_path / "gone", release, {TOY: None, "vllm/models/toy/__init__.py": "class Toy: ...\n"})
    assert [(one.rule, one.severity, one.path) for one in gone] == [("PF201", "error", "vllm/models/toy/__init__.py")]


def test_a_fault_of_the_release_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = {**RELEASE, "vllm/broken.py": "from vllm.config import Never\nimport vllm.never\n"}
    monkeypatch.setenv("PREFLIGHT_CACHE", str(tmp_path / "cache"))
    keep_release(tmp_path / "cache", "0.16.0", release)
    tree = open_mini(tmp_path, release)
    assert found_in(report_of(tree, tmp_path, whole_tree=True)) == []
    touched = open_mini(tmp_path / "touched", release, {"vllm/broken.py": release["vllm/broken.py"] + "x = 1\n"})
    assert found_in(report_of(touched, tmp_path)) == []


def test_a_module_that_cannot_be_imported_itself(tmp_path: Path) -> None:
    release = {**RELEASE, "vllm/broken.py": "import os\nfrom vllm.config import Never\n"}
    assert found_by(tmp_path, release, {TOY: "import vllm.broken\n"}) == [Found("PF202", "error", TOY, 1)]


def test_what_is_not_known_is_said(tmp_path: Path) -> None:
    release = {**RELEASE, "vllm/made.py": "for name in ('a', 'b'):\n    globals()[name] = 1\n"}
    report = report_of(open_mini(tmp_path, release, {TOY: "from vllm.made import a\n"}), tmp_path)
    assert report.findings == ()
    assert [(one.id, one.path, one.line) for one in report.undecided] == [("import-not-decided", TOY, 1)]


def test_nothing_hostile_ends_in_a_traceback(tmp_path: Path) -> None:
    deep = "x = " + "-" * 3000 + "1\n"
    nested = "".join(f"{'    ' * depth}if flag:\n" for depth in range(90)) + "    " * 90 + "pass\n"
    texts = {
        "vllm/deep.py": deep,
        "vllm/nested.py": nested,
        "vllm/odd.py": "from . import *\nfrom .. import *\nfrom .odd import *\nimport vllm.odd.odd.odd\n",
        "vllm/self.py": "from vllm.self import *\nfrom vllm.self import x\nx = x\n",
        "vllm/bytes.py": "# -*- coding: latin-1 -*-\nfrom vllm.config import Confg  # \xe4\n",
        "vllm/empty.py": "",
    }
    report = report_of(open_mini(tmp_path, RELEASE, texts), tmp_path)
    assert "vllm/self.py" in {finding.span.path for finding in report.findings}
    assert "vllm/bytes.py" in {finding.span.path for finding in report.findings}


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("from vllm.config import Zebra\n", ()),
        ("from vllm.zebra import Stripes\n", ()),
        ("from vllm.zebra import Linear\n", ("vllm.layers.linear",)),
        ("from vllm.layers.zebra import Stripes\n", ("vllm.layers", "linear")),
        ("from ....config import Config\n", ("vllm.models", "2 dots")),
        ("from vllm.config import Zyzzyva\n", ("0.12.0", "0.17.0")),
        ("import vllm.older\n", ("0.12.0",)),
        ("import nowhere\n", ("nowhere",)),
    ],
)
def test_every_import_that_cannot_be_had_has_a_way_out(tmp_path, monkeypatch, text, named):
    cache = tmp_path / "cache"
    monkeypatch.setenv("PREFLIGHT_CACHE", str(cache))
    keep_release(cache, "0.10.0", {"vllm/config.py": "class Zyzzyva: ...\n", "vllm/older.py": "x = 1\n"})
    keep_release(cache, "0.12.0", {"vllm/config.py": "from x import Zyzzyva\n", "vllm/older.py": "x = 1\n"})
    keep_release(cache, "0.17.0", {"vllm/config.py": "def Zyzzyva(): ...\n"})
    keep_release(cache, "0.18.0", {"vllm/config.py": "Zyzzyva = 1\n"})
    report = report_of(open_mini(tmp_path, {**RELEASE, **WHOLE_ENVIRONMENT}, {TOY: text}), tmp_path)
    assert len(report.findings) == 1
    help = report.findings[0].fault.help
    assert help is not None
    assert all(name in help for name in named)
