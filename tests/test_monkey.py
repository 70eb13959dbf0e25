"""Monkey patches: which take effect, and which can be called."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.tree import TreeRequest, open_tree
from tests.checking import report_of
from tests.minitree import make_tree, write

RELEASE = {
    "vllm/toy.py": (
        "def limit():\n    return 3\n\n\ndef total(a, b=1):\n    return limit() + a + b\n\n\n"
        "def use():\n    return total(1, b=2)\n\n\n"
        "class Toy:\n    size = 1\n\n    def run(self, data):\n        return data\n\n    def step(self, n):\n        return n\n\n"
        "    def jump(self, n):\n        return n\n\n    def leap(self):\n        return self.jump(1)\n\n"
        "    def turn(self, n):\n        return n\n\n    def spin(self):\n        return self.turn(1)\n"
    ),
    "vllm/other.py": (
        "from vllm.toy import Toy\n\n\nclass Other:\n    def step(self, n, m):\n        return n\n\n    def jump(self, n, m):\n        return n\n\n\n"
        "class Child(Toy):\n    def turn(self, n):\n        return n\n\n\n"
        "class Holder:\n    def __init__(self):\n        self.toy = Toy()\n\n    def hop(self):\n        return self.toy.skip(1)\n"
    ),
    "vllm/user.py": "from vllm.toy import Toy, limit\n\n\ndef use(toy: Toy):\n    return limit() + toy.run(1) + toy.step(2)\n",
    "vllm/reader.py": (
        "from vllm import far, user\n\n\ndef read():\n    return user\n\n\ndef near():\n    return far.count(1, 2)\n\n\n"
        "def late():\n    from vllm.far import late\n\n    return late(1, 2)\n\n\n"
        "def given(own):\n    return own(1, 2)\n\n\n"
        "def safe():\n    try:\n        return far.safe(1, 2)\n    except TypeError:\n        return far.safe(1)\n"
    ),
    "vllm/far.py": (
        "from vllm.taken import taken\n\n\ndef count(a, b=0):\n    return a\n\n\ndef late(a, b=0):\n    return a\n\n\n"
        "def safe(a, b=0):\n    return a\n\n\ndef own(a, b=0):\n    return a\n\n\ndef call(own):\n    return own(1, 2)\n"
    ),
    "vllm/taken.py": "def taken(a, b=0):\n    return a\n",
    "vllm/taker.py": "from vllm.taken import taken\n\n\ndef take():\n    return taken(1, 2)\n",
}
PATCHED = {"PF707", "PF708", "PF709"}


def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> list[tuple[str, int | None]]:
    site = make_tree(tmp_path / "site", RELEASE)
    repo = tmp_path / "repo"
    write(repo / "plug.py", text.encode())
    monkeypatch.chdir(repo)
    report = report_of(open_tree(TreeRequest(site_packages=str(site), paths=("plug.py",)), {}))
    return [(one.rule, one.span.line) for one in report.findings if one.rule in PATCHED]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import vllm.toy\nvllm.toy.maximum = 4\n", [("PF707", 2)]),
        ("from vllm import toy\nsetattr(toy, 'maximum', 4)\n", [("PF707", 2)]),
        ("from vllm.toy import Toy\nToy.walk = lambda self: 1\n", [("PF707", 2)]),
        ("def patch():\n    from vllm.toy import Toy as T\n    T.walk = print\n", [("PF707", 3)]),
        ("def patch():\n    import vllm.toy as t\n    t.maximum = 4\n", [("PF707", 3)]),
        ("import vllm.toy\nvllm.toy.limit = lambda: 4\n", []),
        ("from vllm.toy import Toy\nToy.size = 2\n", []),
        ("import vllm.toy\nvllm.toy.maximum = 4\nprint(vllm.toy.maximum)\n", []),
        ("import vllm.toy\nvllm.toy.maximum = 4\nprint(getattr(vllm.toy, 'maximum'))\n", []),
        ("def patch(toy):\n    toy.maximum = 4\n", []),
        ("import vllm.toy as toy\ndef patch(toy):\n    toy.maximum = 4\n", []),
        ("import vllm\nif vllm.__version__ == '1':\n    import vllm.toy\n    vllm.toy.maximum = 4\n", [("PF707", 4)]),
        ("import torch\ntorch.maximum_of = 4\n", []),
        ("import vllm.toy\ndef put(module):\n    module.maximum = 4\nput(vllm.toy)\n", [("PF707", 3)]),
        (
            "def put(kind, x):\n    kind.walk = x\ndef go():\n    from vllm.toy import Toy\n    put(x=1, kind=Toy)\n",
            [("PF707", 2)],
        ),
        ("import vllm.toy\ndef put(module):\n    module = input()\n    module.maximum = 4\nput(vllm.toy)\n", []),
        ("import vllm.toy, json\ndef put(module):\n    module.maximum = 4\nput(json)\n", []),
        ("import vllm.toy\ndef put(module):\n    put(module)\nput(vllm.toy)\n", []),
    ],
)
def test_names_that_nothing_reads(tmp_path, monkeypatch, text, expected):
    assert found(tmp_path, monkeypatch, text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import vllm.user\nimport vllm.toy\nvllm.toy.limit = lambda: 4\n", [("PF708", 3)]),
        ("import vllm.reader\nimport vllm.toy\nvllm.toy.limit = lambda: 4\n", [("PF708", 3)]),
        ("import vllm.user\ndef patch():\n    import vllm.toy\n    vllm.toy.limit = lambda: 4\n", [("PF708", 4)]),
        ("def patch():\n    import vllm.user\n    import vllm.toy\n    vllm.toy.limit = lambda: 4\n", [("PF708", 4)]),
        ("import vllm.toy\nvllm.toy.limit = lambda: 4\n", []),
        ("import vllm.toy\nvllm.toy.limit = lambda: 4\nimport vllm.user\n", []),
        ("import vllm.user\nimport vllm.toy\nvllm.toy.limit = vllm.user.limit = lambda: 4\n", []),
        ("if input():\n    import vllm.user\nimport vllm.toy\nvllm.toy.limit = print\n", []),
        ("import vllm.user\nimport vllm.toy\nvllm.toy.use = lambda: 4\n", []),
    ],
)
def test_names_that_were_bound_before(tmp_path, monkeypatch, text, expected):
    assert found(tmp_path, monkeypatch, text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("from vllm.toy import Toy\ndef run(self):\n    return 1\nToy.run = run\n", [("PF709", 2)]),
        ("from vllm.toy import Toy\ndef run(self, data, more):\n    return 1\nToy.run = run\n", [("PF709", 2)]),
        ("from vllm.toy import Toy\ndef run(self, *args, **kwargs):\n    return 1\nToy.run = run\n", []),
        ("from vllm.toy import Toy\ndef run(self, x):\n    return 1\nToy.run = run\n", []),
        ("from vllm.toy import Toy\n@print\ndef run(self):\n    return 1\nToy.run = run\n", []),
        # another class has a method of this name: whose it is that is called, nobody knows
        ("from vllm.toy import Toy\ndef step(self):\n    return 1\nToy.step = step\n", []),
        ("import vllm.toy\ndef total(a):\n    return a\nvllm.toy.total = total\n", [("PF709", 2)]),
        ("import vllm.toy\ndef total(a, b):\n    return a\nvllm.toy.total = total\n", []),
        # and where it is known, it is said
        ("from vllm.toy import Toy\ndef jump(self):\n    return 1\nToy.jump = jump\n", [("PF709", 2)]),
        ("from vllm.toy import Toy\ndef jump(self, n, m=1):\n    return 1\nToy.jump = jump\n", []),
        ("from vllm.toy import Toy\ndef turn(self):\n    return 1\nToy.turn = turn\n", []),
        ("import vllm.far\ndef count(a):\n    return a\nvllm.far.count = count\n", [("PF709", 2)]),
        ("import vllm.far\ndef late(a):\n    return a\nvllm.far.late = late\n", [("PF709", 2)]),
        ("import vllm.far\ndef safe(a):\n    return a\nvllm.far.safe = safe\n", []),
        ("import vllm.far\ndef own(a):\n    return a\nvllm.far.own = own\n", []),
        ("import vllm.taken\ndef taken(a):\n    return a\nvllm.taken.taken = taken\n", []),
        (
            "import vllm.user\nclass Mine(vllm.user.Toy):\n    def run(self):\n        return 1\nvllm.user.Toy = Mine\n",
            [("PF709", 3)],
        ),
        ("import vllm.user\nclass Mine(vllm.user.Toy):\n    def go(self):\n        return 1\nvllm.user.Toy = Mine\n", []),
        ("import vllm.toy\nif input():\n    def total(a):\n        return a\nelse:\n    def total(a, b):\n        return a\n"
         "vllm.toy.total = total\n", []),
    ],
)  # fmt: skip
def test_replacements_that_cannot_take_what_is_passed(tmp_path, monkeypatch, text, expected):
    assert found(tmp_path, monkeypatch, text) == expected


def test_what_vllm_imports_before_it_loads_plugins(tmp_path, monkeypatch):
    release = {
        **RELEASE,
        "vllm/plugins.py": "def load_general_plugins():\n    pass\n",
        "vllm/engine.py": (
            "import vllm.user\nfrom vllm.plugins import load_general_plugins\n\n\ndef start():\n    load_general_plugins()\n"
        ),
    }
    plugin = "import vllm.toy\n\n\ndef register():\n    vllm.toy.limit = lambda: 4\n"
    entry = '[project.entry-points."{}"]\nplug = "plug:register"\n'
    site = make_tree(tmp_path / "site", release)
    repo = tmp_path / "repo"
    write(repo / "plug/__init__.py", plugin.encode())
    monkeypatch.chdir(repo)
    for group, other, wanted in (
        ("vllm.general_plugins", "import vllm.user\n", [("PF708", 5)]),
        ("vllm.platform_plugins", "import vllm.user\n", []),
        # where another process loads them first, and without the module, that one may be where it starts from
        ("vllm.general_plugins", "", []),
    ):
        worker = release["vllm/engine.py"].replace("import vllm.user\n", other)
        write(site / "vllm/worker.py", worker.encode())
        write(repo / "pyproject.toml", entry.format(group).encode())
        report = report_of(open_tree(TreeRequest(site_packages=str(site), paths=(".",)), {}))
        assert [(one.rule, one.span.line) for one in report.findings if one.rule in PATCHED] == wanted
