"""Files that are wrong, endless or meant to harm: every question ends in an answer, in bounded time and space."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.program import Class, Truth
from preflight.program.evaluate.values import Unknown
from preflight.program.facts import Expression
from tests.programs import class_of, program_of


@pytest.mark.parametrize(
    "text",
    [
        "def d(cls): return d(cls)\n",
        "def d(cls):\n    while True:\n        pass\n",
        "def d(cls):\n    for i in range(10**12):\n        pass\n    return cls\n",
        "def d(cls): return e(cls)\ndef e(cls): return d(cls)\n",
        "d = d\n",
        "d = lambda cls: [x for x in range(10**9)] and cls\n",
        "def d(cls):\n    x = 'a' * 10**12\n    return x\n",
        "def d(cls): return 1 << 10**10\n",
        "def d(cls):\n    import re\n    return re.compile('(a+)+$').match('a' * 40 + 'b')\n",
        "def d(cls):\n    x = [1]\n    while True:\n        x.extend(x)\n",
        "def d(cls):\n    x = 'ab'\n    while True:\n        x = x.replace('a', x)\n",
        "def d(cls):\n    x = (1,)\n    while True:\n        x = x + x\n",
        "def d(cls):\n    x = [1]\n    while True:\n        x += x\n",
        "def d(cls):\n    x = []\n    x.append(x)\n    return x == x and x\n",
        "def d(cls):\n    while cls:\n        cls.__bases__ = cls.__bases__ + (cls,)\n",
        "def d(cls):\n    cls.__bases__ = (cls,)\n    return cls\n",
        "class d:\n    def __new__(cls, x): return d(x)\n",
        "def d(cls): return " + "(" * 80 + "cls" + ")" * 80 + "\n",
        "def d(cls): return " + "not " * 900 + "cls\n",
        "def d(cls): raise SystemExit\n",
        "def d(cls): return type('x', (cls,), {})\n",
        "def d(cls): return {}[cls]\n",
        "def d(cls): return {cls: {}}[cls][[]]\n",
    ],
)
def test_a_decorator_of_any_kind_ends(tmp_path: Path, text: str) -> None:
    program = program_of(tmp_path, {"vllm/d.py": text, "vllm/m.py": "from vllm.d import d\n@d\nclass C:\n    x = 1\n"})
    found = program.find_class("vllm.m", "C")
    if isinstance(found, Class):
        assert found.mro[0] is found
        assert found.complete or found.doubts or found.mro_error


def test_endless_chains_of_bases_and_imports_end(tmp_path: Path) -> None:
    files = {f"vllm/c{i}.py": f"from vllm.c{i + 1} import C as B\nclass C(B): ...\n" for i in range(200)}
    files["vllm/c200.py"] = "class C: ...\n"
    files.update({f"vllm/s{i}.py": f"from vllm.s{i + 1} import *\n" for i in range(200)})
    files["vllm/s200.py"] = "x = 1\n"
    files["vllm/a.py"] = "from vllm.b import B\nclass A(B): ...\n"
    files["vllm/b.py"] = "from vllm.a import A\nclass B(A): ...\n"
    files["vllm/own.py"] = "class C(C): ...\nclass D(E): ...\nclass E(D): ...\n"
    program = program_of(tmp_path, files)
    assert not class_of(program, "vllm.c0", "C").complete
    assert class_of(program, "vllm.c190", "C").complete
    assert program.resolve("vllm.s0", "x").exists is not Truth.NO
    assert program.resolve("vllm.s190", "x").exists is Truth.YES
    for module, name in (("vllm.a", "A"), ("vllm.b", "B"), ("vllm.own", "C"), ("vllm.own", "D")):
        cls = class_of(program, module, name)
        assert cls.mro[0] is cls and not cls.complete
    assert program.importing.failure("vllm.c0") is None


@pytest.mark.parametrize("data", [b"\xff\xfe\x00", b"\x00" * 100, b"(" * 10_000, b"x" * (17 << 20), b"", b"\r\r\r"])
def test_any_bytes_are_a_module_or_a_hole(tmp_path: Path, data: bytes) -> None:
    program = program_of(tmp_path, {"vllm/m.py": data, "vllm/n.py": "from vllm.m import thing\nimport vllm.m\n"})
    module = program.module("vllm.m")
    found = program.resolve("vllm.m", "thing")
    assert found.exists is (Truth.MAYBE if module.hole is not None else Truth.NO)
    assert program.importing.failure("vllm.n") is not None


def test_links_that_lead_nowhere_or_in_circles(tmp_path: Path) -> None:
    program = program_of(tmp_path, {"vllm/m.py": "x = 1\n"})
    root = program.tree.root
    (root / "vllm/loop.py").symlink_to("loop.py")
    (root / "vllm/gone.py").symlink_to("nowhere.py")
    (root / "vllm/circle").symlink_to(".")
    (root / "outside").symlink_to(root)
    from preflight.tree import TreeRequest, open_tree

    again = type(program)(open_tree(TreeRequest(site_packages=str(root)), {}), None, (3, 12))
    for name in ("vllm.loop", "vllm.gone", "vllm.circle", "outside", "vllm.m"):
        module = again.module(name)
        assert module.hole is not None or module.spec.kind is not None
        assert again.resolve(name, "y").exists is not Truth.YES
    assert again.resolve("vllm.m", "x").exists is Truth.YES


EXPRESSIONS = (")", "(", "x" * 100_000, "[" * 300, "a.b" * 3000, "f'{x!r:>{10**9}}'", "1/0")


@pytest.mark.parametrize("text", [*EXPRESSIONS, "~'a'", "-[]", "'%1000000000d' % 1", "10**10**10", "2**63 << 2**63"])
def test_an_expression_without_a_value_says_why(tmp_path: Path, text: str) -> None:
    program = program_of(tmp_path, {"vllm/m.py": "x = 1\n"})
    value = program.evaluate(program.module("vllm.m"), Expression(text, 1, 1))
    assert isinstance(value, Unknown) and value.reason, value


@pytest.mark.parametrize("name", ["", ".", "a..b", "vllm.", ".vllm", "vllm.m.x.y", "1a", "vllm/m", "vllm.m\0", "é.ü"])
def test_names_that_are_no_import_paths(tmp_path: Path, name: str) -> None:
    program = program_of(tmp_path, {"vllm/m.py": "x = 1\n"})
    assert program.resolve(name, "x").exists is not Truth.YES
    assert not program.module(name).has_source
    assert program.importing.failure(name) is None or name
