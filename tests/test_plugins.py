"""Code that uses vLLM without being part of it: what it imports, behind which tests, and how it is entered."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.model import Severity
from preflight.program import Program
from preflight.run import Request, run_checks
from preflight.syntax.cst import CstParser
from preflight.tree import Tree, TreeRequest, open_tree
from tests.minitree import make_tree, write

RELEASE = {
    "vllm/__init__.py": "from vllm.version import __version__\n",
    "vllm/version.py": '__version__ = "0.16.0"\n',
    "vllm/engine.py": "def run():\n    return 1\n\n\nclass Engine:\n    def step(self, a):\n        return a\n",
    "vllm/envs.py": "import os\nNAMES = os.environ.get('NAMES')\nTARGET = os.environ.get('TARGET')\n",
    "vllm/plugins.py": """\
from importlib.metadata import entry_points

from vllm import envs

GENERAL = "vllm.general_plugins"


def taken_in(group):
    wanted = envs.NAMES
    found = {}
    for one in entry_points(group=group):
        if wanted is None or one.name in wanted:
            try:
                found[one.name] = one.load()
            except Exception:
                print("without", one.name)
    return found


def load_general_plugins():
    for start in taken_in(group=GENERAL).values():
        start()
""",
    "vllm/platforms.py": """\
import importlib
from itertools import chain

from vllm import envs
from vllm.plugins import taken_in


def chosen():
    if envs.TARGET == "cpu":
        return "vllm.engine.Engine"
    others = taken_in("vllm.platform_plugins")
    for name, ask in chain({}.items(), others.items()):
        try:
            where = ask()
        except Exception:
            continue
        if where is not None:
            return others[name]()
    return "vllm.engine.Engine"


def __getattr__(name):
    if name == "current_platform":
        module, _, last = chosen().rpartition(".")
        return getattr(importlib.import_module(module), last)()
    raise AttributeError(name)
""",
}


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """An installed toy vLLM 0.16.0."""
    return make_tree(tmp_path / "site", RELEASE)


def lay_out(repo: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        write(repo / path, text.encode())


def opened(site: Path, *paths: str) -> Tree:
    return open_tree(TreeRequest(site_packages=str(site), paths=paths or (".",)), {})


def findings(tree: Tree, tmp_path: Path, **environment: str) -> list[tuple[str, str, str, int | None]]:
    from preflight.launch.request import LaunchRequest

    request = LaunchRequest(environment=tuple(f"{name}={value}" for name, value in environment.items()))
    with CstParser() as cst:
        report = run_checks(tree, Request(launch=request), {"XDG_CACHE_HOME": str(tmp_path / "cache")}, cst)
    return [
        (one.rule, "E" if one.severity is Severity.ERROR else "W", one.span.path, one.span.line)
        for one in report.findings
    ]


FAILS = "from vllm.engine import gone\n"
PACKAGE = {
    "plug/__init__.py": "def register():\n    from plug import loaded\n    return 'plug.platform.Platform'\n",
    "plug/loaded.py": FAILS,
    "plug/platform.py": f"{FAILS}\n\nclass Platform:\n    pass\n",
    "plug/idle.py": FAILS,
}
ENTRY = '[project]\nname = "plug"\n[project.entry-points."vllm.general_plugins"]\nplug = "plug:register"\n'
PLATFORM_ENTRY = ENTRY.replace("general", "platform")


@pytest.mark.parametrize(
    "build",
    [
        {"pyproject.toml": ENTRY},
        {
            "setup.py": "from setuptools import setup\n\nsetup(entry_points={'vllm.general_plugins': ['plug = plug:register']})\n"
        },
        {"setup.cfg": "[options.entry_points]\nvllm.general_plugins =\n    plug = plug:register\n"},
        {"plug-1.0.dist-info/entry_points.txt": "[vllm.general_plugins]\nplug = plug:register\n"},
    ],
)
def test_what_a_registering_function_loads_is_an_error_and_the_rest_a_warning(site, repo, tmp_path, build):
    lay_out(repo, {**PACKAGE, **build})
    assert findings(opened(site), tmp_path) == [
        ("PF201", "W", "plug/idle.py", 1),
        ("PF201", "E", "plug/loaded.py", 1),
        ("PF201", "W", "plug/platform.py", 1),
    ]


def without(tree: Tree, tmp_path: Path) -> list[str]:
    """The files of findings that say that the launch goes on without something."""
    with CstParser() as cst:
        report = run_checks(tree, Request(), {"XDG_CACHE_HOME": str(tmp_path / "cache")}, cst)
    return [one.span.path for one in report.findings if "starts without" in f"{one.message} {one.fault.why}".lower()]


@pytest.mark.parametrize("fault", [FAILS, "gone()\n", "import vllm.engine\nvllm.engine.gone\n", "def f(:\n"])
@pytest.mark.parametrize("entry", [ENTRY, PLATFORM_ENTRY])
def test_a_plug_in_that_cannot_be_loaded_is_left_out(site, repo, tmp_path, fault, entry):
    text = f"{fault}\n\ndef register():\n    from plug import loaded\n    return 'plug.platform.Platform'\n"
    lay_out(repo, {**PACKAGE, "plug/__init__.py": text, "pyproject.toml": entry})
    found = findings(opened(site), tmp_path)
    assert {severity for _, severity, *_ in found} == {"W"}
    # what stands behind is not come to
    assert without(opened(site), tmp_path) == ["plug/__init__.py"]


def test_where_the_tree_catches_nothing_a_plug_in_that_cannot_be_loaded_ends_the_launch(site, repo, tmp_path):
    loader = RELEASE["vllm/plugins.py"]
    text = loader.replace('print("without", one.name)', "raise")
    lay_out(repo, {"vllm/plugins.py": text, **PACKAGE, "plug/__init__.py": FAILS, "pyproject.toml": ENTRY})
    assert ("PF201", "E", "plug/__init__.py", 1) in findings(opened(site), tmp_path)


def test_a_platform_that_cannot_be_asked_is_left_out_and_its_class_has_to_be_there(site, repo, tmp_path):
    lay_out(repo, {**PACKAGE, "pyproject.toml": PLATFORM_ENTRY})
    tree = opened(site)
    assert without(tree, tmp_path) == ["plug/loaded.py"]
    assert {severity for _, severity, *_ in findings(tree, tmp_path)} == {"W"}
    lay_out(repo, {"plug/loaded.py": ""})
    assert ("PF201", "E", "plug/platform.py", 1) in findings(opened(site), tmp_path)


@pytest.mark.parametrize(
    ("variable", "value", "severity"),
    [("NAMES", "other", "W"), ("NAMES", "other,plug", "E"), ("TARGET", "cpu", "W"), ("OTHER", "x", "E")],
)
def test_a_launch_may_leave_a_plug_in_out(site, repo, tmp_path, variable, value, severity):
    lay_out(repo, {**PACKAGE, "plug/loaded.py": "", "pyproject.toml": PLATFORM_ENTRY})
    found = findings(opened(site), tmp_path, **{variable: value})
    assert ("PF201", severity, "plug/platform.py", 1) in found


@pytest.mark.parametrize(
    ("group", "name", "severity"),
    [
        ("console_scripts", "vllm", "E"),
        ("console_scripts", "vllm-other", "W"),
        ("vllm.io_processor_plugins", "plug", "W"),
    ],
)
def test_what_else_enters_a_plug_in(site, repo, tmp_path, group, name, severity):
    entry = f"[{group}]\n{name} = plug:register\n"
    lay_out(repo, {"plug/__init__.py": FAILS, "plug-1.0.dist-info/entry_points.txt": entry})
    assert findings(opened(site), tmp_path) == [("PF201", severity, "plug/__init__.py", 1)]


@pytest.mark.parametrize(
    "start",
    [
        {"plug.pth": "import plug.loaded; plug.loaded.run()\n"},
        {"sitecustomize.py": "import plug.loaded\n"},
        {"usercustomize.py": "from plug import loaded\n"},
    ],
)
def test_what_python_itself_imports_at_its_start_ends_no_launch(site, repo, tmp_path, start):
    lay_out(repo, {**PACKAGE, **start})
    found = findings(opened(site), tmp_path)
    assert {severity for _, severity, *_ in found} == {"W"}
    assert without(opened(site), tmp_path) == ["plug/loaded.py"]


def test_without_entry_points_any_launch_that_loads_the_file_fails(site, repo, tmp_path):
    lay_out(repo, PACKAGE)
    assert {severity for _, severity, *_ in findings(opened(site), tmp_path)} == {"E"}


def test_the_entry_points_beside_a_package(site, repo, tmp_path):
    lay_out(repo, {**{f"src/{path}": text for path, text in PACKAGE.items()}, "pyproject.toml": ENTRY})
    tree = opened(site, "src/plug")
    assert [(point.module, point.attribute) for point in tree.entry_points] == [("plug", "register")]
    assert ("PF201", "W", "src/plug/idle.py", 1) in findings(tree, tmp_path)


GATES = {
    'vllm.__version__ == "0.16.0"': True,
    'vllm.__version__.startswith("0.15")': False,
    'Version(vllm.__version__) >= Version("0.16")': True,
    'version.parse(__version__) < version.parse("0.16.0")': False,
    'metadata.version("vllm") == "0.16.0"': True,
    "Version(vllm.__version__).minor > 16": False,
    'version_is("0.16.0")': True,
    'not version_is("0.16.0")': False,
    'version_is("0.18.0")': False,
    "IS_NEW": True,
    "not IS_NEW and other()": False,
    'version_is("0.16.0") or other()': True,
}
HEADER = """\
import os
from importlib import metadata
from packaging import version
from packaging.version import InvalidVersion, Version

import vllm
from plug import settings
from plug.other import other
from vllm import __version__

IS_NEW = Version(vllm.__version__) >= Version("0.12.0")


def version_is(target: str) -> bool:
    if settings.VLLM_VERSION is not None:
        found = settings.VLLM_VERSION
    else:
        import vllm

        found = vllm.__version__
    try:
        return Version(found) == Version(target)
    except InvalidVersion:
        raise ValueError("no version") from None

"""
SETTINGS = """\
import os

_table = {"VLLM_VERSION": lambda: os.getenv("VLLM_VERSION", None)}


def __getattr__(name):
    if name in _table:
        return _table[name]()
    raise AttributeError(name)
"""


@pytest.mark.parametrize("gate", GATES)
def test_gates(site, repo, tmp_path, gate):
    lay_out(repo, {
        "plug/__init__.py": "", "plug/settings.py": SETTINGS, "plug/other.py": "def other():\n    return input()\n",
        "plug/use.py": f"{HEADER}\nif {gate}:\n    from vllm.engine import gone\nelse:\n    from vllm.engine import lost\n",
    })  # fmt: skip
    line = HEADER.count("\n") + (3 if GATES[gate] else 5)
    assert findings(opened(site), tmp_path) == [("PF201", "E", "plug/use.py", line)]


def test_a_gate_asks_the_variables_of_the_launch(site, repo, tmp_path):
    text = f'{HEADER}\nif not version_is("0.16.0"):\n    from vllm.engine import gone\n'
    lay_out(repo, {"plug/__init__.py": "", "plug/settings.py": SETTINGS, "plug/other.py": "", "plug/use.py": text})
    assert findings(opened(site), tmp_path) == []
    found = findings(opened(site), tmp_path, VLLM_VERSION="0.18.0")
    assert found == [("PF201", "E", "plug/use.py", text.count("\n"))]


@pytest.mark.parametrize("gate", ["other()", "os.getenv('X')", "vllm.engine.run()", "settings.DEBUG", "vllm"])
def test_what_a_gate_does_not_know_stays_open(site, repo, tmp_path, gate):
    lay_out(repo, {
        "plug/__init__.py": "", "plug/settings.py": SETTINGS, "plug/other.py": "def other():\n    return input()\n",
        "plug/use.py": f"{HEADER}\nif {gate}:\n    from vllm.engine import gone\n",
    })  # fmt: skip
    assert [severity for _, severity, *_ in findings(opened(site), tmp_path)] == ["W"]


def test_gates_are_not_asked_in_vllm_itself(site, repo, tmp_path):
    lay_out(repo, {"vllm/engine.py": 'import vllm\nif vllm.__version__ == "0.1":\n    from vllm.version import gone\n'})
    assert [severity for _, severity, *_ in findings(opened(site), tmp_path)][:1] == ["W"]


@pytest.mark.parametrize(
    ("body", "loads"),
    [
        ("from . import a", True),
        ("import plug.a", True),
        ("start(True)", True),
        ("start(False)", False),
        ("start()", False),
        ("if input():\n        from . import a", False),
        ("if input():\n        return\n    from . import a", False),
        ("if _DONE:\n        return\n    from . import a", True),
        ("try:\n        from . import a\n    except ImportError:\n        pass", False),
        ("with open('x'):\n        from . import a", True),
        ("for _ in range(3):\n        from . import a", False),
        ("return start(now=True)", True),
        ("from plug.more import go\n    go()", True),
    ],
)
def test_what_certainly_runs(site, repo, body, loads):
    lay_out(repo, {
        "plug/__init__.py": (
            "_DONE = False\n\n\ndef start(now=False):\n    if now:\n        from plug import a\n\n\n"
            f"def register():\n    global _DONE\n    {body}\n    _DONE = True\n"
        ),
        "plug/a.py": "", "plug/more.py": "def go():\n    import plug.a\n", "pyproject.toml": ENTRY,
    })  # fmt: skip
    run = Program(opened(site)).plugin_run
    assert run is not None
    assert ("plug.a" in run.loaded) is loads


@pytest.mark.parametrize(
    ("body", "severity"),
    [
        ("from vllm.engine import gone", "E"),
        ("start()", "E"),
        ("with suppress(ImportError):\n        from vllm.engine import gone", None),
        ("try:\n        from vllm.engine import gone\n    except ImportError:\n        pass", None),
        ("if input():\n        from vllm.engine import gone", "W"),
        ("if input():\n        return\n    from vllm.engine import gone", "W"),
        ("vllm.engine.gone()", "E"),
        ("print(vllm.engine.run(), [\n        vllm.engine.gone])", "E"),
        ("gone", "E"),
        ("import vllm.engine as e\n    e.run()\n    e.gone()", "E"),
        ("from vllm import engine\n    engine.gone()", "E"),
        ("from vllm.engine import Engine\n    Engine.step, Engine.gone", "E"),
        ("from vllm import engine\n    if input():\n        engine.gone()", "W"),
        ("from vllm import engine\n    engine = input()\n    engine.gone()", None),
        ("from vllm import engine\n    hasattr(engine, 'gone') and engine.gone()", None),
        ("if input():\n        vllm.engine.gone()", "W"),
        ("try:\n        vllm.engine.gone()\n    except AttributeError:\n        pass", None),
        ("return lambda: vllm.engine.gone", None),
    ],
)
def test_an_import_that_the_entry_point_comes_to(site, repo, tmp_path, body, severity):
    lay_out(repo, {
        "plug/__init__.py": (
            "from contextlib import suppress\nimport vllm.engine\n\ndef start():\n    from vllm.engine import gone as other\n\n\n"
            f"def register():\n    {body}\n"
        ),
        "pyproject.toml": ENTRY,
    })  # fmt: skip
    found = [(line, severity) for _, severity, _, line in findings(opened(site), tmp_path)]
    started = (5, "E" if body == "start()" else "W")
    if body == "start()":
        assert found == [started]
    else:
        assert started in found
        assert [one for line, one in found if line != 5] == ([severity] if severity else [])


def test_an_installed_distribution_says_all_of_how_it_is_entered(site, repo, tmp_path):
    lay_out(repo, {**PACKAGE, "plug-1.0.dist-info/METADATA": "Name: plug\nVersion: 1.0\n"})
    assert {severity for _, severity, *_ in findings(opened(site), tmp_path)} == {"W"}


def test_modules_in_folders_without_an_init_are_the_package_s_as_well(site, repo, tmp_path):
    lay_out(
        repo, {"plug/__init__.py": "", "plug/more/deep/lost.py": FAILS, "pyproject.toml": ENTRY, "top/alone.py": FAILS}
    )
    found = findings(opened(site), tmp_path)
    assert found == [("PF201", "W", "plug/more/deep/lost.py", 1), ("PF201", "E", "top/alone.py", 1)]


def test_a_package_that_is_given_from_the_inside(site, repo, tmp_path, monkeypatch):
    lay_out(repo, {"plug/__init__.py": "from . import loaded\n", "plug/loaded.py": FAILS})
    monkeypatch.chdir(repo / "plug")
    assert findings(opened(site), tmp_path) == [("PF201", "E", "loaded.py", 1)]


CALL = "vllm.engine.run(3)"


@pytest.mark.parametrize(
    ("start", "register", "entry", "severity"),
    [
        (CALL, "pass", True, "W"),
        ("pass", CALL, True, "E"),
        ("pass", f"if input():\n        {CALL}", True, "W"),
        ("pass", f"try:\n        {CALL}\n    except TypeError:\n        pass", True, None),
        (CALL, "pass", False, "E"),
        ("pass", CALL, False, "W"),
    ],
)
def test_a_call_that_cannot_bind(site, repo, tmp_path, start, register, entry, severity):
    text = f"import vllm.engine\n\n{start}\n\n\ndef register():\n    {register}\n"
    lay_out(repo, {"plug/__init__.py": text, **({"pyproject.toml": ENTRY} if entry else {})})
    found = [(rule, one) for rule, one, *_ in findings(opened(site), tmp_path)]
    assert found == ([("PF305", severity)] if severity else [])


RAISING = """\
import os
from contextlib import suppress
from functools import wraps

import vllm
from packaging.version import Version
from plug import settings

_READY = False
IS_OLD = Version(vllm.__version__) < Version("0.18")
LEAST = "0.18"


def safe(function):
    @wraps(function)
    def inner():
        with suppress(Exception):
            function()
    return inner


def setup():
    global _READY
    _READY = True


def fail():
    raise RuntimeError("here")


def fail_unless(ready):
    if not ready:
        raise RuntimeError("here")


"""


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("raise", 0),
        ("raise RuntimeError('no')", 0),
        ("print('a')\n    raise SystemExit(1)", 1),
        ("fail()", "here"),
        ("return fail()", "here"),
        ("if IS_OLD:\n        raise RuntimeError('too old')", 1),
        ("if Version(vllm.__version__) < Version(LEAST):\n        raise RuntimeError('too old')", 1),
        ("found = vllm.__version__\n    if not found.startswith('0.18'):\n        raise RuntimeError('too old')", 2),
        ("if not IS_OLD:\n        return\n    fail()", "here"),
        ("fail_unless(not IS_OLD)", "here"),
        ("for _ in range(3):\n        print(_)\n    raise ValueError", 2),
        # not certain
        ("if input():\n        raise ValueError", None),
        ("if input():\n        return\n    raise ValueError", None),
        ("if not IS_OLD:\n        raise RuntimeError('too new')", None),
        ("IS_OLD = input()\n    if IS_OLD:\n        raise ValueError", None),
        ("if os.getenv('PLUG_VERSION') is None:\n        raise ValueError", None),
        ("while True:\n        if input():\n            return\n    raise ValueError", None),
        ("match input():\n        case 'a':\n            raise ValueError", None),
        # set by what is called before
        ("setup()\n    if not _READY:\n        raise ValueError", None),
        ("setup()\n    fail_unless(_READY)", None),
        ("if _READY:\n        return\n    raise ValueError", None),
        ("settings.READY = True\n    if not settings.READY:\n        raise ValueError", None),
        # something keeps it
        ("with suppress(ValueError):\n        raise ValueError", None),
        ("try:\n        raise ValueError\n    except ValueError:\n        pass", None),
        ("try:\n        raise ValueError\n    finally:\n        return", None),
        ("yield\n    raise ValueError", None),
        ("def later():\n        raise ValueError\n    print(later)", None),
    ],
)
def test_what_an_entry_point_certainly_raises(site, repo, tmp_path, body, line):
    text = f"{RAISING}def register():\n    {body}\n"
    lay_out(repo, {"plug/__init__.py": text, "plug/settings.py": "READY = False\n", "pyproject.toml": ENTRY})
    lines = text.splitlines()
    at = lines.index('    raise RuntimeError("here")') + 1 if line == "here" else None
    if body.startswith("fail_unless"):
        at = lines.index('        raise RuntimeError("here")') + 1
    elif isinstance(line, int):
        at = lines.index("def register():") + 2 + line
    wanted = [("PF601", "E", "plug/__init__.py", at)] if line is not None else []
    assert findings(opened(site), tmp_path) == wanted


@pytest.mark.parametrize(
    ("changes", "environment"),
    [
        ({"plug/__init__.py": RAISING + "@safe\ndef register():\n    raise ValueError\n"}, {}),
        # the loading fails before, which is caught
        ({"plug/__init__.py": "import sys\nassert_not = vllm_gone\n\ndef register():\n    raise ValueError\n"}, {}),
        # a platform that is asked may say no by an exception
        ({"pyproject.toml": PLATFORM_ENTRY}, {}),
        # this launch leaves it out
        ({}, {"NAMES": "other"}),
        # nothing of vLLM enters it
        ({"pyproject.toml": ENTRY.replace("vllm.general_plugins", "other.plugins")}, {}),
        # a script that ends by it has ended
        ({"pyproject.toml": '[project]\nname = "plug"\n[project.scripts]\nvllm = "plug:register"\n'}, {}),
    ],
    ids=["decorator", "not loaded", "platform", "left out", "not entered", "script"],
)
def test_what_an_entry_point_raises_and_ends_no_launch(site, repo, tmp_path, changes, environment):
    start = "def register():\n    raise ValueError\n"
    lay_out(repo, {"plug/__init__.py": start, "plug/settings.py": "", "pyproject.toml": ENTRY, **changes})
    assert "PF601" not in [rule for rule, *_ in findings(opened(site), tmp_path, **environment)]


def test_a_try_that_is_only_for_a_missing_vllm(site, repo):
    text = "try:\n    from . import a\nexcept ModuleNotFoundError as error:\n    if error.name != {}:\n        raise\n    a = None\n"
    for name, loads in (("'vllm'", True), ("'torch'", False)):
        lay_out(repo, {"plug/__init__.py": text.format(name), "plug/a.py": "", "pyproject.toml": ENTRY})
        run = Program(opened(site)).plugin_run
        assert run is not None
        assert ("plug.a" in run.loaded) is loads


def test_a_folder_called_vllm_in_another_package_is_no_copy_of_the_tree(site, repo):
    lay_out(
        repo, {"plug/__init__.py": "", "plug/vllm/__init__.py": "import vllm\n", "plug/vllm/engine.py": "import vllm\n"}
    )
    tree = opened(site)
    assert not tree.facts.patched
    assert [file.path for file in tree.outside] == ["plug/__init__.py", "plug/vllm/__init__.py", "plug/vllm/engine.py"]


def test_what_a_build_brings_is_not_missing(site, repo, tmp_path):
    lay_out(repo, {"plug/__init__.py": "from ._version import version\nfrom plug.engine import x\nimport vllm\n"})
    assert findings(opened(site), tmp_path) == []


@pytest.mark.parametrize("folder", ["plug", "vllm/extra"])
def test_names_of_star_imports_are_bound_in_functions(site, repo, tmp_path, folder):
    lay_out(repo, {
        f"{folder}/a.py": "__all__ = ['X', 'Y']\nX = 1\nY = 2\n",
        f"{folder}/__init__.py": (
            "import vllm\nfrom .a import *\n\n\ndef f():\n    return X\n\n\ng = lambda: Y\n\n\ndef h():\n    return Z\n\n\n"
            "def module():\n    return a.X\n"
        ),
        "vllm/version.py": "__version__ = '0.16.1'\n",
    })  # fmt: skip
    found = [one for one in findings(opened(site), tmp_path) if one[0] == "PF204"]
    assert found == [("PF204", "W", f"{folder}/__init__.py", 13)]
