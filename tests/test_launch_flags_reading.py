"""The reading of code on plain values, held against Python: what it computes, what it raises, what it leaves open."""

from __future__ import annotations

import copy
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from preflight.launch.reading.calls import call
from preflight.launch.reading.modules import look_up
from preflight.launch.reading.values import Class, Instance, NotKnown, OutOfBudget, Raised, Unknown, describe
from tests.launch_code import FUNCTIONS, run_of, value_of

_VALUES = st.sampled_from((0, 1, -2, 7, "", "x", "xyz", None, True, [1, 2], [], {"k": 1}, (1, 2)))
_LISTS = st.lists(st.sampled_from((0, 1, 2, "x")), max_size=3)
_DICTS = st.dictionaries(st.sampled_from(("k", "x", 1)), st.sampled_from((0, 1, "x")), max_size=2)


def _by_python(text: str, arguments: list) -> tuple[str, object]:
    """What Python does: ("returns", value) or ("raises", (class, line))."""
    names: dict = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(text, "m.py", "exec"), names)
    try:
        return "returns", names["f"](*map(copy.deepcopy, arguments))
    except Exception as error:
        trace = error.__traceback__
        line = 0
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == "m.py":
                line = trace.tb_lineno
            trace = trace.tb_next
        return "raises", (type(error), line)


def _by_reading(text: str, arguments: list) -> tuple[str, object]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = run_of({"m": text})
        function = value_in(run, "f")
    try:
        return "returns", call(run, function, list(map(copy.deepcopy, arguments)), {})
    except Raised as raised:
        return "raises", (type(raised.error), raised.line)
    except NotKnown as missing:
        return "returns", missing.unknown


def value_in(run, name):
    return look_up(run, run.modules.get("m"), name)


def _open(value: object, depth: int = 0) -> bool:
    """True if a part of ``value`` is not known."""
    if isinstance(value, Unknown):
        return True
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return depth < 8 and any(_open(part, depth + 1) for part in parts)


def _agrees(found: object, real: object, depth: int = 0) -> bool:
    """True if ``found`` says nothing of ``real`` that is wrong: its open parts may be anything."""
    if isinstance(found, Unknown) or depth > 8:  # a list may hold itself
        return True
    if isinstance(found, (list, tuple)) and type(found) is type(real) and len(found) == len(real):
        return all(_agrees(one, other, depth + 1) for one, other in zip(found, real, strict=True))
    if isinstance(found, dict) and isinstance(real, dict):
        return all(key not in real or _agrees(value, real[key], depth + 1) for key, value in found.items()) and all(
            key in found for key in real
        )
    return type(found) is type(real) and found == real


@settings(max_examples=150, deadline=None)
@given(FUNCTIONS, _VALUES, _VALUES, _VALUES, _LISTS, _DICTS)
def test_known_values_give_what_python_gives(text, a, b, c, xs, d):
    real, found = _by_python(text, [a, b, c, xs, d]), _by_reading(text, [a, b, c, xs, d])
    if found[0] == "returns" and _open(found[1]) and real[0] == "raises":
        return  # a container that holds itself is given up on, and said to be unknown
    assert found[0] == real[0], (text, found, real)
    if real[0] == "returns":
        assert _agrees(found[1], real[1]), (text, found, real)
    else:
        assert found[1] == real[1], (text, found, real)


@settings(max_examples=150, deadline=None)
@given(FUNCTIONS, st.lists(_VALUES, min_size=4, max_size=4), _VALUES, _VALUES, _LISTS, _DICTS)
def test_an_unknown_is_never_guessed(text, candidates, b, c, xs, d):
    """Whatever the unknown argument is, what the reading says for certain is true of it."""
    kind, found = _by_reading(text, [Unknown("an argument"), b, c, xs, d])
    for candidate in candidates:
        real = _by_python(text, [candidate, b, c, xs, d])
        if kind == "raises":
            assert real[0] == "raises", (text, found, candidate, real)
        elif real[0] == "returns":
            assert _agrees(found, real[1]), (text, found, candidate, real)


def test_classes_have_their_order_their_super_and_their_properties():
    text = """
class A:
    kind = "a"
    def __init__(self, x): self.x = x
    def who(self): return self.kind
    @classmethod
    def make(cls, x): return cls(x)
    @staticmethod
    def twice(x): return 2 * x
    @property
    def doubled(self): return self.twice(self.x)
class B(A):
    kind = "b"
    def who(self): return "B" + super().who()
class C(A):
    kind = "c"
    def who(self): return "C" + super().who()
class D(B, C): pass
one = D.make(3)
result = (one.who(), one.doubled, D.__name__, D.kind, isinstance(one, C), issubclass(B, C))
"""
    assert value_of(text, "result") == ("BCb", 6, "D", "b", True, False)


def test_dataclasses_take_their_fields_and_refuse_others():
    text = """
from dataclasses import dataclass, field, fields, is_dataclass
from typing import ClassVar
@dataclass
class A:
    x: int
    shared: ClassVar[int] = 3
    y: str = "y"
@dataclass
class B(A):
    z: list = field(default_factory=list)
names = [f.name for f in fields(B)]
whole = B(1, z=[2])
result = (names, whole.x, whole.y, whole.z, is_dataclass(B), is_dataclass(int))
def refused():
    return B(1, nosuch=2)
def missing():
    return B()
"""
    assert value_of(text, "result") == (["x", "y", "z"], 1, "y", [2], True, False)
    run = run_of({"m": text})
    for name in ("refused", "missing"):
        with pytest.raises(Raised) as caught:
            call(run, value_in(run, name), [], {})
        assert isinstance(caught.value.error, TypeError)


def test_enumerations_have_members_values_and_mixed_in_types():
    text = """
import enum
class Kind(str, enum.Enum):
    A = "a"
    B = "b"
class Level(enum.IntEnum):
    LOW = 0
    HIGH = enum.auto()
result = ([k.value for k in Kind], Kind("b").name, Kind.A == "a", Kind["A"] is Kind.A, Level.HIGH.value,
          1 == Level.HIGH, "a" in [Kind.A], sorted(k.value for k in Kind))
def refused():
    return Kind("c")
"""
    assert value_of(text, "result") == (["a", "b"], "B", True, True, 1, True, True, ["a", "b"])
    run = run_of({"m": text})
    with pytest.raises(Raised) as caught:
        call(run, value_in(run, "refused"), [], {})
    assert isinstance(caught.value.error, ValueError)


def test_annotations_are_what_typing_makes_of_them():
    text = """
from types import UnionType
from typing import Annotated, Any, Literal, Optional, Union, get_args, get_origin
Kind = Literal["b", "a", "b"]
result = (
    get_origin(int | None) is UnionType, get_args(int | None), get_origin(Optional[int]) is Union,
    get_args(Union[int, Union[str, int]]), get_args(Kind), get_origin(Kind) is Literal, get_origin(list[int]) is list,
    get_args(Annotated[int, 3])[0] is int, get_origin(int), list[int].__module__,
)
"""
    assert value_of(text, "result") == (
        True, (int, type(None)), True, (int, str), ("b", "a"), True, True, True, None, "builtins",
    )  # fmt: skip


def test_closures_caches_and_generators():
    text = """
import functools
made = ["first"]
@functools.lru_cache(maxsize=3)
def costly(x):
    made.append(x)
    return x + 1
def outer(n):
    total = 0
    def add(x):
        nonlocal total
        total += x
        return total
    for i in range(n):
        add(i)
    return total, next((i for i in range(10) if i > 3), None), next(iter([]), "none")
def use():
    return costly(1), costly(1), list(made), outer(4), any(x > 2 for x in (1, 3, 1 / 1))
result = use()
"""
    assert value_of(text, "result") == (2, 2, ["first", 1], (6, 4, "none"), True)


def test_modules_are_read_by_name_and_what_fails_elsewhere_is_not_touched():
    texts = {
        "p.__init__": "from p.low import *\nfrom p import deep\ndef __getattr__(name):\n    return 'lazy ' + name\n",
        "p.low": "import nosuch\nX = 3\n_hidden = 4\nbroken = nosuch.thing + 1\nY = X + 1\n",
        "p.deep": "Z = __name__\n",
        "m": "import p.low as low\nfrom p import X, other\nimport p\nresult = (X, low.Y, other, p.deep.Z)\n",
    }
    run = run_of(texts)
    assert value_in(run, "result") == (3, 4, "lazy other", "p.deep")


def test_statements_that_change_a_global_are_counted_to_it():
    text = """
table = {"a": 1}
table["b"] = 2
table.update(c=3)
names = ["x"]
for extra in ("y", "z"):
    names.append(extra)
if True:
    names += ["w"]
result = (table, names)
"""
    assert value_of(text, "result") == ({"a": 1, "b": 2, "c": 3}, ["x", "y", "z", "w"])


def test_an_empty_container_of_a_module_or_class_is_filled_by_others():
    text = "registry = {}\nclass C:\n    names = []\nresult = (len(registry), len(C.names))\n"
    result = value_of(text, "result")
    assert isinstance(result, tuple)
    assert all(isinstance(part, Unknown) for part in result)


def test_what_a_library_returns_is_unknown_and_goes_through():
    text = "import torch\nx = torch.count()\ny = x + 1\nz = [1, x]\nsure = 5 if x else 5\nopen_ = 5 if x else 6"
    assert isinstance(value_of(text, "y"), Unknown)
    assert isinstance(value_of(text, "open_"), Unknown)
    assert value_of(text, "sure") == 5
    listed = value_of(text, "z")
    assert isinstance(listed, list)
    assert listed[0] == 1


def test_endless_and_enormous_code_ends():
    text = """
def endless():
    while True:
        pass
def deep(x):
    return deep(x + 1)
def large():
    return 10 ** 10 ** 9
"""
    run = run_of({"m": text})
    with pytest.raises(OutOfBudget):
        call(run, value_in(run, "endless"), [], {})
    run = run_of({"m": text})
    assert isinstance(call(run, value_in(run, "large"), [], {}), Unknown)
    assert isinstance(call(run, value_in(run, "deep"), [1], {}), Unknown)


def test_values_are_described_for_people():
    made = value_of("class C:\n    pass\none = C()\ndef f(): pass\n", "one")
    assert isinstance(made, Instance)
    assert isinstance(made.cls, Class)
    assert (describe(made), describe(made.cls), describe(int), describe(Unknown("x"))) == ("C", "C", "int", "?")
