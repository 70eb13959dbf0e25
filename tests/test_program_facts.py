"""The facts of one file: places, conditions, stubs, what makes names at run time, and files that are no Python."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from preflight.program.extract import facts_of
from preflight.program.facts import Assign, ClassFacts, FunctionFacts, If, ModuleFacts, SetAttribute, Try


def facts(text: str) -> ModuleFacts:
    return facts_of(textwrap.dedent(text).encode())[0]


def test_every_import_is_there_with_its_place_and_what_it_stands_under() -> None:
    found = facts(
        """\
        import os.path, sys as system
        from ..a import (b as c,
                         d)
        if TYPE_CHECKING:
            from x import y
        else:
            from x import z
        try:
            import fast
        except (ImportError, errors.Other):
            import slow
        def f():
            if ready():
                from late import *
        class C:
            import inner
        """
    ).imports
    told = [(i.level, i.module, i.name, i.bound, i.aliased, i.line, i.column) for i in found]
    assert told[:4] == [
        (0, "os.path", None, "os", False, 1, 8),
        (0, "sys", None, "system", True, 1, 17),
        (2, "a", "b", "c", True, 2, 18),
        (2, "a", "d", "d", False, 3, 18),
    ]
    guards = {i.name or i.module: [(g.kind, g.caught, g.name) for g in i.guards] for i in found}
    assert guards["y"] == [("if", (), "")]
    assert guards["z"] == [("else", (), "")]
    assert guards["fast"] == [("try", ("ImportError", "errors.Other"), "")]
    assert guards["slow"] == [("except", ("ImportError", "errors.Other"), "")]
    assert guards["*"] == [("function", (), "f"), ("if", (), "")]
    assert guards["inner"] == [("class", (), "C")]
    assert found[2].statement_line == found[3].statement_line == 2


def test_columns_count_characters_whatever_the_encoding() -> None:
    text = 'é = "ü"; from a import b\n'
    for data in (text.encode(), b"\xef\xbb\xbf" + text.encode(), b"# coding: latin-1\n" + text.encode("latin-1")):
        found, tree = facts_of(data)
        assert tree is not None
        assert found.imports[0].column == 24


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_expressions_are_the_very_text_with_any_line_ending(newline: str) -> None:
    text = newline.join(
        ["class C(", "    A,", "    B[", "        T", "    ],", "):", "    x = f(1,", "          2)", ""]
    )
    found = facts_of(text.encode())[0].body[0]
    assert isinstance(found, ClassFacts)
    assert [(b.text, b.line, b.column) for b in found.bases] == [("A", 2, 5), ("B[\n        T\n    ]", 3, 5)]
    assigned = found.body[0]
    assert isinstance(assigned, Assign) and assigned.value is not None
    assert assigned.value.text == "f(1,\n          2)"


def test_bodies_without_content_are_told_from_real_ones() -> None:
    found = facts(
        '''\
        def a(): ...
        def b():
            """Says something."""
        def c(): pass
        def d():
            "doc"
            raise NotImplementedError("later")
        def e(): raise NotImplementedError
        def f(): raise ValueError
        def g():
            "doc"
            ...
        def h(): return None
        async def i(): ...
        '''
    ).body
    stubs = {f.name: f.stub for f in found if isinstance(f, FunctionFacts)}
    assert stubs == {
        "a": "...",
        "b": "docstring",
        "c": "pass",
        "d": "raise NotImplementedError",
        "e": "raise NotImplementedError",
        "f": None,
        "g": "...",
        "h": None,
        "i": "...",
    }


def test_what_a_method_sets_on_itself() -> None:
    (cls,) = facts(
        """\
        class C:
            def __init__(this, x):
                super().__init__()
                Base.__init__(this)
                this.a, (this.b, *this.c) = x
                if x:
                    this.d = 1
                with open(x) as this.e:
                    this.f: int = 2
                this.g: int
                del this.h
                this.prepare()
                other.i = 3
            @classmethod
            def make(cls):
                cls.j = 1
        """
    ).body
    assert isinstance(cls, ClassFacts)
    init, make = cls.body
    assert isinstance(init, FunctionFacts) and isinstance(make, FunctionFacts)
    assert {s.attribute: (s.certain, s.kind) for s in init.stores} == {
        "a": (True, "="),
        "b": (True, "="),
        "c": (True, "="),
        "d": (False, "="),
        "e": (True, "="),
        "f": (True, "="),
        "g": (True, ":"),
        "h": (True, "del"),
    }
    assert init.init_calls == ("super", "Base")
    assert init.self_calls == ("prepare",)
    assert make.stores == ()


def test_targets_are_taken_apart() -> None:
    body = facts("a = b = 1\n(c, d) = (2, 3)\n[e, *f] = g\nC.x = 4\nD['k'] = 5\nh: int\ni += 6\n").body
    assigned = [(i.name, i.kind, i.value.text if i.value else None) for i in body if isinstance(i, Assign)]
    assert assigned == [
        ("a", "=", "1"),
        ("b", "=", "1"),
        ("c", "=", "2"),
        ("d", "=", "3"),
        ("e", "=", None),
        ("f", "=", None),
        ("h", ":", None),
        ("i", "+=", "6"),
    ]
    sets = [(i.target.text, i.attribute, i.key.text if i.key else None) for i in body if isinstance(i, SetAttribute)]
    assert sets == [("C", "x", None), ("D", "[]", "'k'")]


@pytest.mark.parametrize(
    "text",
    [
        "globals()['x'] = 1\n",
        "def f():\n    globals().update(names)\nf()\n",
        "g = globals()\n",
        "exec(code, globals())\n",
        "import sys\nsys.modules['other'] = thing\n",
        "import sys\nsys.modules.setdefault('other', thing)\n",
        "import sys\nsetattr(sys.modules[__name__], n, v)\n",
        "import sys\nsys.meta_path.insert(0, finder)\n",
    ],
)
def test_names_made_at_run_time_are_noticed(text: str) -> None:
    assert facts(text).dynamic


@pytest.mark.parametrize(
    "text", ["x = globals()['y']\n", "if n in globals(): pass\n", "import sys\nm = sys.modules[__name__]\n", "a == b\n"]
)
def test_reading_names_is_not_making_them(text: str) -> None:
    assert not facts(text).dynamic


def test_a_module_that_replaces_itself() -> None:
    found = facts("import sys\nif TYPE_CHECKING:\n    from .a import b\nelse:\n    sys.modules[__name__] = Lazy()\n")
    assert found.replaced == 5


def test_nested_blocks_keep_their_shape() -> None:
    body = facts(
        "if a:\n    if b:\n        x = 1\nelse:\n    try:\n        import c\n    except E:\n        c = None\n"
    ).body
    outer = body[0]
    assert isinstance(outer, If) and isinstance(outer.body[0], If) and isinstance(outer.orelse[0], Try)
    assert outer.orelse[0].handlers[0].caught == ("E",)


@pytest.mark.parametrize(
    "data",
    [
        b"def f(:\n",
        b"\x00\x01\x02",
        b"# coding: no-such-thing\nx = 1\n",
        b"\xff\xfe",
        b"x = " + b"(" * 5000,
        b"x = " + b"-" * 100_000 + b"1",
        b"import " + b"a." * 3000 + b"b\n" + b"if x:\n" * 1,
        b'"\xed\xa0\x80"\n',
    ],
)
def test_a_file_that_is_no_python_is_a_hole(data: bytes) -> None:
    found, tree = facts_of(data)
    assert tree is None
    assert found.hole is not None and found.hole.message
    assert found.body == () and found.imports == ()


PYTHONIC = "abc=().:,[]{}'\"\\\n #@*+\tifdefclass_import"


@settings(max_examples=150, deadline=None)
@given(
    st.binary(max_size=200)
    | st.text(alphabet="abc=().:,[]{}'\"\\\n #@*+\tifdefclass_import", max_size=120).map(str.encode)
)
def test_no_file_makes_it_raise(data: bytes) -> None:
    found, tree = facts_of(data)
    assert (tree is None) is (found.hole is not None)
