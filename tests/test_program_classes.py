"""Classes as Python makes them: C3, generics, protocols, decorators, factories, generated constructors."""

from __future__ import annotations

import dataclasses
import inspect
import sys
import textwrap
import typing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from preflight.program import CallShape, Class, Program
from preflight.program.evaluate.protocols import is_instance, is_subclass
from preflight.program.evaluate.values import Raised, Unknown
from preflight.program.linearize import linearize
from tests.programs import class_of, program_of

#: the Python that runs the tests is the measure here, so it is the one that runs the tree
_OURS = sys.version_info[:2]


def run(text: str) -> dict:
    """The names that a module of this text has, by running it (without the __future__ imports of this one)."""
    scope: dict = {"__name__": __name__}
    exec(compile(text, "made", "exec", dont_inherit=True), scope)
    return scope


def names(cls: Class) -> list[str]:
    return [base.name for base in cls.mro]


# -- C3 -------------------------------------------------------------------------------------------------------------


@st.composite
def hierarchies(draw: st.DrawFn) -> list[tuple[str, tuple[int, ...]]]:
    """Classes, each with the indices of its bases among those before it."""
    found: list[tuple[str, tuple[int, ...]]] = []
    for index in range(draw(st.integers(1, 9))):
        bases = draw(st.lists(st.integers(0, index - 1), max_size=4)) if index else []
        found.append((f"C{index}", tuple(bases)))
    return found


@settings(max_examples=300, deadline=None)
@given(hierarchies())
def test_c3_is_the_order_of_cpython(hierarchy: list[tuple[str, tuple[int, ...]]]) -> None:
    real: list[type | None] = []
    ours: list[list | None] = []
    for name, bases in hierarchy:
        own = [real[index] for index in bases]
        orders = [ours[index] for index in bases]
        if None in own:
            real.append(None)
            ours.append(None)
            continue
        try:
            made = type(name, tuple(base for base in own if base is not None), {})
        except TypeError:
            made = None
        expected = [cls.__name__ for cls in made.__mro__[:-1]] if made is not None else None
        found = linearize(name, [hierarchy[index][0] for index in bases], [order or [] for order in orders])
        assert found == expected
        real.append(made)
        ours.append(found)


BASES = (
    "Generic[T]",
    "Protocol",
    "Protocol[T]",
    "List[T]",
    "Dict[str, T]",
    "list[T]",
    "NamedTuple",
    "TypedDict",
    "ABC",
    "Exception",
    "Mapping[str, T]",
    "Iterable[T]",
    "Enum",
    "str",
)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(st.sampled_from(BASES), min_size=1, max_size=3), min_size=8, max_size=8), st.data())
def test_the_mro_of_typing_classes_is_the_one_of_cpython(
    tmp_path_factory: pytest.TempPathFactory, bases: list[list[str]], data: st.DataObject
) -> None:
    lines = [
        "from abc import ABC",
        "from enum import Enum",
        "from typing import Dict, Generic, Iterable, List, Mapping, NamedTuple, Protocol, TypedDict, TypeVar",
        "T = TypeVar('T')",
    ]
    scope: dict = {}
    exec("\n".join(lines), scope)
    made: dict[str, type] = {}
    for index, listed in enumerate(bases):
        known = sorted(made)
        candidates = [*known, *(f"{name}[T]" for name in known if getattr(made[name], "__parameters__", ()))]
        earlier = data.draw(st.lists(st.sampled_from(candidates), max_size=2, unique=True)) if made else []
        statement = f"class K{index}({', '.join([*earlier, *listed])}): ..."
        try:
            exec(statement, scope)
        except Exception:
            continue  # an order that does not exist; enumerations fail in ways of their own
        made[f"K{index}"] = scope[f"K{index}"]
        lines.append(statement)
    program = program_of(tmp_path_factory.mktemp("typing"), {"vllm/m.py": "\n".join(lines) + "\n"}, python=_OURS)
    for name, real in made.items():
        # what abstract collections have behind them is the library's own affair
        expected = [cls.__name__ for cls in real.__mro__ if cls.__module__ != "collections.abc"]
        found = [c.name for c in class_of(program, "vllm.m", name).mro if "collections" not in c.module]
        assert found == expected, lines


def test_a_generic_base_that_is_written_twice_is_one_object(tmp_path: Path) -> None:
    head = "from typing import Generic, List, TypeVar\nT = TypeVar('T')\n"
    program = program_of(
        tmp_path,
        {
            "vllm/m.py": head
            + "class A(Generic[T], List[T], Generic[T]): ...\n"
            + "class B(Generic[T], Generic[T]): ...\n"
            + "class C(List[T], List[T]): ...\n"
        },
        python=_OURS,
    )
    assert [cls.name for cls in class_of(program, "vllm.m", "A").mro] == ["A", "list", "object"]
    assert "duplicate base class Generic" in (class_of(program, "vllm.m", "B").mro_error or "")
    assert "duplicate base class list" in (class_of(program, "vllm.m", "C").mro_error or "")


def test_an_inconsistent_or_doubled_base_is_reported(tmp_path: Path) -> None:
    text = """\
        class A: ...
        class B(A): ...
        class C(A, B): ...
        class D(A, A): ...
        class E(C): ...
        """
    program = program_of(tmp_path, {"vllm/m.py": text})
    assert class_of(program, "vllm.m", "B").mro_error is None
    assert "MRO" in (class_of(program, "vllm.m", "C").mro_error or "")
    assert "duplicate base class A" in (class_of(program, "vllm.m", "D").mro_error or "")
    assert not class_of(program, "vllm.m", "C").complete


def test_a_class_may_be_named_like_its_base(tmp_path: Path) -> None:
    files = {
        "vllm/a.py": "class Layer:\n    def old(self): ...\n",
        "vllm/b.py": "from vllm.a import Layer\ndef mark(c): return c\n@mark\nclass Layer(Layer):\n    x = 1\n",
    }
    cls = class_of(program_of(tmp_path, files), "vllm.b", "Layer")
    assert [base.target for base in cls.mro] == ["vllm.b.Layer", "vllm.a.Layer", "builtins.object"]
    assert cls.has("old") and cls.mro_error is None


def test_unresolved_bases_leave_the_class_incomplete_and_say_why(tmp_path: Path) -> None:
    text = """\
        import torch.nn as nn
        from elsewhere import Unknown
        from vllm.gone import Missing
        class A(nn.Module): ...
        class B(Unknown): ...
        class C(Missing): ...
        class D(make()): ...
        class E(A, metaclass=Meta): ...
        class F(B): ...
        """
    program = program_of(tmp_path, {"vllm/m.py": text})
    assert class_of(program, "vllm.m", "A").complete
    for name in "BCDEF":
        cls = class_of(program, "vllm.m", name)
        assert not cls.complete and cls.doubts[0].reason, name
        assert cls.has("anything") is None
    assert class_of(program, "vllm.m", "A").has("anything") is False
    assert class_of(program, "vllm.m", "A").has("named_parameters") is True
    assert class_of(program, "vllm.m", "A").mro[1].defined == "torch.nn.modules.module.Module"


def test_one_opaque_class_is_one_class_under_every_import(tmp_path: Path) -> None:
    text = "from torch import nn\nfrom torch.nn import Module\nclass A(nn.Module): ...\nclass B(A, Module): ...\n"
    cls = class_of(program_of(tmp_path, {"vllm/m.py": text}), "vllm.m", "B")
    assert names(cls) == ["B", "A", "Module", "object"]


# -- members --------------------------------------------------------------------------------------------------------


def test_members_along_the_mro_with_their_kinds_and_places(tmp_path: Path) -> None:
    text = """\
        class A:
            flag: bool = True
            only_annotated: int
            def method(self): ...
            @classmethod
            def made(cls): return 1
            @property
            def prop(self): return 1
            @staticmethod
            def plain(x): ...
            class Inner: ...
            if undecided():
                maybe = 1
        class B(A):
            method = None
        B.later = 3
        """
    program = program_of(tmp_path, {"vllm/m.py": text})
    cls = class_of(program, "vllm.m", "B")
    kinds = {name: member.kind for name in ("flag", "made", "prop", "plain", "Inner", "method", "later")
             if (member := cls.lookup(name)) is not None}  # fmt: skip
    assert kinds == {
        "flag": "value",
        "made": "classmethod",
        "prop": "property",
        "plain": "staticmethod",
        "Inner": "class",
        "method": "value",
        "later": "value",
    }
    later, flag = cls.lookup("later"), cls.lookup("flag")
    assert later is not None and later.line == 16
    assert flag is not None and (flag.owner.name, flag.line) == ("A", 2)
    assert cls.has("only_annotated") is False
    assert cls.has("maybe") is None
    assert cls.gives_none("method") and not cls.gives_none("flag")
    assert list(class_of(program, "vllm.m", "A").annotations()) == ["flag", "only_annotated"]


def test_a_class_has_what_its_metaclass_gives_it(tmp_path: Path) -> None:
    text = """\
        import enum
        from abc import ABC, ABCMeta
        from typing import Protocol
        class Colour(enum.Enum):
            RED = 1
        class Abstract(ABC): ...
        class Own(metaclass=ABCMeta): ...
        class Shape(Protocol): ...
        class Plain: ...
        """
    program = program_of(tmp_path, {"vllm/m.py": text})
    module = program.module("vllm.m")
    has = {name: class_of(program, "vllm.m", name).has("register") for name in ("Abstract", "Own", "Shape", "Plain")}
    assert has == {"Abstract": True, "Own": True, "Shape": True, "Plain": False}
    for text in ("Colour.__members__", "Colour.RED", "Abstract.register", "Plain.mro", "Plain.__name__"):
        assert program.resolve_in(module, text).missing is None, text
    for text in ("Colour.GREEN", "Plain.register"):
        assert program.resolve_in(module, text).missing is not None, text


def test_instance_attributes_of_the_whole_chain(tmp_path: Path) -> None:
    text = """\
        class A:
            def __init__(self):
                self.a = 1
        class B(A):
            def __init__(self):
                super().__init__()
                self.setup()
            def setup(self):
                self.b = 1
        """
    found = class_of(program_of(tmp_path, {"vllm/m.py": text}), "vllm.m", "B").instance_attributes()
    assert {name: (stores[0][0].name, stores[0][2]) for name, stores in found.items()} == {"b": ("B", 9), "a": ("A", 3)}


DECORATORS = """\
    import functools
    from typing import TypeVar, final
    REGISTRY = {}
    class Wrapper:
        def wrapped(self): ...
    def register(name):
        def decorator(cls):
            assert name not in REGISTRY
            REGISTRY[name] = cls
            cls.registered_as = name
            return cls
        return decorator
    def mark(cls=None, *, value=True):
        def helper(cls):
            if not hasattr(cls, "forward"):
                raise TypeError("no forward")
            cls.marked = value
            setattr(cls, "also_" + "marked", value)
            return cls
        return helper(cls) if cls is not None else helper
    def compiled(cls):
        if Wrapper in cls.__bases__:
            return cls
        cls.__bases__ = cls.__bases__ + (Wrapper,)
        old_init = cls.__init__
        def __init__(self, *, config, prefix="", **kwargs):
            old_init(self, config=config, prefix=prefix, **kwargs)
        cls.__init__ = __init__
        return cls
    class Registry:
        def __init__(self):
            self.known = {}
        def add(self, *, info):
            def wrapper(cls):
                if "_info" in cls.__dict__:
                    print("again")
                cls._info = info
                return cls
            return wrapper
    REG = Registry()
    def replaced(cls):
        return 5
    def outside(cls):
        return elsewhere(cls)
    from elsewhere import elsewhere
    """


def decorated(tmp_path: Path, text: str) -> Program:
    return program_of(tmp_path, {"vllm/d.py": DECORATORS, "vllm/m.py": textwrap.dedent(text)})


def test_decorators_of_the_tree_are_run(tmp_path: Path) -> None:
    program = decorated(
        tmp_path,
        """\
        import torch.nn as nn
        from vllm.d import REG, compiled, mark, register
        @register("one")
        @mark
        class One(nn.Module):
            def __init__(self, *, config, prefix=""): ...
            def forward(self): ...
        @REG.add(info="x")
        @compiled
        @mark(value=3)
        class Two(One): ...
        """,
    )
    one, two = class_of(program, "vllm.m", "One"), class_of(program, "vllm.m", "Two")
    assert one.complete and two.complete
    for name in ("registered_as", "marked", "also_marked"):
        assert one.has(name) is True
    assert names(two) == ["Two", "One", "Module", "Wrapper", "object"]
    assert two.has("wrapped") and two.has("_info") and not one.has("wrapped")
    init = two.lookup("__init__")
    assert init is not None
    signature = program.member_signature(init)
    assert signature is not None and str(signature) == '(self, *, config, prefix="", **kwargs)'
    assert program.constructor(two).bind(CallShape(0, ("config", "anything"))) is None  # type: ignore[union-attr]


def test_what_a_decorator_leaves_behind_is_not_found_by_another_class(tmp_path: Path) -> None:
    program = decorated(
        tmp_path,
        """\
        from vllm.d import register
        @register("same")
        class One: ...
        """,
    )
    files = {"vllm/n.py": "from vllm.d import register\n@register('same')\nclass Two: ...\n"}
    (program.tree.root / "vllm/n.py").write_text(files["vllm/n.py"])
    program = program_of(tmp_path / "again", {"vllm/d.py": DECORATORS, **files, "vllm/m.py": files["vllm/n.py"]})
    for module in ("vllm.m", "vllm.n"):
        cls = class_of(program, module, "Two")
        assert cls.has("registered_as") and cls.complete and cls.creation_error is None


def test_a_decorator_that_cannot_be_followed_is_a_doubt_with_a_place(tmp_path: Path) -> None:
    program = decorated(
        tmp_path,
        """\
        from vllm.d import outside, mark
        @outside
        class One: ...
        @mark
        class Two: ...
        """,
    )
    one, two = class_of(program, "vllm.m", "One"), class_of(program, "vllm.m", "Two")
    assert [(doubt.path, doubt.line) for doubt in one.doubts] == [("vllm/m.py", 2)]
    assert two.creation_error == "TypeError: no forward"


def test_class_factories_make_bases(tmp_path: Path) -> None:
    program = decorated(
        tmp_path,
        """\
        import torch.nn as nn
        class Pooling:
            is_pooling = True
        def create(original):
            class ForPooling(original, Pooling):
                def pool(self): ...
            return ForPooling
        def as_embedding(cls):
            if getattr(cls, "is_pooling", False):
                return cls
            class ForEmbedding(create(cls)):
                def embed(self): ...
            ForEmbedding.__name__ = cls.__name__.removesuffix("ForCausalLM") + "ForEmbedding"
            return ForEmbedding
        class ToyForCausalLM(nn.Module): ...
        class Embedding(as_embedding(ToyForCausalLM)): ...
        class Twice(as_embedding(Embedding)): ...
        """,
    )
    cls = class_of(program, "vllm.m", "Embedding")
    assert [base.target.partition(".m.")[2] or base.name for base in cls.mro] == [
        "Embedding",
        "as_embedding.<locals>.ForEmbedding",
        "create.<locals>.ForPooling",
        "ToyForCausalLM",
        "Module",
        "Pooling",
        "object",
    ]
    assert cls.mro[1].display_name == "ToyForEmbedding"
    assert cls.complete and cls.has("embed") and cls.has("pool") and cls.has("is_pooling")
    assert names(class_of(program, "vllm.m", "Twice"))[:2] == ["Twice", "Embedding"]


def test_init_subclass_is_run_or_leaves_its_attributes_open(tmp_path: Path) -> None:
    text = """\
        from elsewhere import table
        class A:
            def __init_subclass__(cls, tag=None, **kwargs):
                super().__init_subclass__(**kwargs)
                cls.tag = tag
                if set(cls.languages) - {"en", "de"}:
                    raise ValueError("unknown language")
        class B(A, tag="b"):
            languages = {"en": "English"}
        class C(A):
            languages = {"xx": "?"}
        class D:
            def __init_subclass__(cls):
                cls.opened = table[cls]
                if table:
                    cls.second = 1
        class E(D):
            def known(self): ...
        """
    program = program_of(tmp_path, {"vllm/m.py": text})
    assert class_of(program, "vllm.m", "B").has("tag") is True
    assert class_of(program, "vllm.m", "C").creation_error == "ValueError: unknown language"
    opened = class_of(program, "vllm.m", "E")
    assert [opened.has(name) for name in ("opened", "second", "known", "other")] == [True, None, True, False]


# -- constructors ---------------------------------------------------------------------------------------------------


REQUIRED = ("int", "int = field(kw_only=True)")
OPTIONAL = (
    "int = 1",
    "list = field(default_factory=list)",
    "int = field(default=2)",
    "int = field(default=2, init=False)",
    "ClassVar[int] = 3",
    "int = field(default=1, kw_only=True)",
)


@st.composite
def field_lists(draw: st.DrawFn) -> tuple[str, str]:
    """The body of a dataclass and the options of its decorator."""
    options = draw(st.sampled_from(["", "(frozen=True)", "(kw_only=True)", "(init=True, slots=True)"]))
    lines: list[str] = []
    optional = False
    for index in range(draw(st.integers(0, 5))):
        optional = optional or draw(st.booleans())
        lines.append(f"    f{index}: {draw(st.sampled_from(OPTIONAL if optional else REQUIRED))}")
    return "\n".join(lines) or "    pass", options


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(field_lists(), field_lists())
def test_a_dataclass_has_the_constructor_that_python_generates(
    tmp_path_factory: pytest.TempPathFactory, first: tuple[str, str], second: tuple[str, str]
) -> None:
    body = second[0].replace("    f", "    g")
    text = textwrap.dedent(
        """\
        from dataclasses import dataclass, field
        from typing import ClassVar
        """
    )
    text += f"@dataclass{first[1]}\nclass A:\n{first[0]}\n@dataclass{second[1]}\nclass B(A):\n{body}\n"
    try:
        scope = run(text)
    except TypeError:
        return  # a required field behind an optional one, or a frozen class under another
    program = program_of(tmp_path_factory.mktemp("dataclass"), {"vllm/m.py": text}, python=_OURS)
    for name in ("A", "B"):
        found = program.constructor(class_of(program, "vllm.m", name))
        assert found is not None
        real = inspect.signature(scope[name])
        assert [(p.name, p.kind, p.default is None) for p in found.parameters] == [
            (p.name, int(p.kind), p.default is inspect.Parameter.empty) for p in real.parameters.values()
        ], text
        assert dataclasses.is_dataclass(scope[name])


def test_constructors_of_other_classes(tmp_path: Path) -> None:
    text = """\
        import torch.nn as nn
        from dataclasses import dataclass
        from typing import NamedTuple
        class Plain: ...
        class Taking:
            def __init__(self, a, *, b=1): ...
        class Point(NamedTuple):
            x: int
            y: int = 0
        class Point3(Point):
            z: int = 0
        @dataclass
        class Own:
            a: int
            def __init__(self, other): ...
        class Model(nn.Module): ...
        class Open(Elsewhere): ...
        """
    program = program_of(tmp_path, {"vllm/m.py": text})
    written = {
        name: str(found) if (found := program.constructor(class_of(program, "vllm.m", name))) is not None else None
        for name in ("Plain", "Taking", "Point", "Point3", "Own", "Model", "Open")
    }
    assert written == {
        "Plain": "()",
        "Taking": "(a, *, b=1)",
        "Point": "(x: int, y: int = 0)",
        "Point3": "(x: int, y: int = 0)",
        "Own": "(other)",
        "Model": "(*args, **kwargs)",
        "Open": None,
    }


def test_signatures_behind_decorators(tmp_path: Path) -> None:
    text = """\
        import functools
        from elsewhere import strange
        def logged(function):
            @functools.wraps(function)
            def wrapper(*args, **kwargs):
                return function(*args, **kwargs)
            return wrapper
        def tagged(name):
            def decorator(function):
                function.tag = name
                return function
            return decorator
        class C:
            @tagged("x")
            def same(self, a): ...
            @logged
            def wrapped(self, a): ...
            @strange
            def open(self, a): ...
            @functools.lru_cache(maxsize=1)
            def cached(self, a): ...
        """
    program = program_of(tmp_path, {"vllm/m.py": text})
    cls = class_of(program, "vllm.m", "C")
    found = {}
    for name in ("same", "wrapped", "open", "cached"):
        member = cls.lookup(name)
        assert member is not None
        signature = program.member_signature(member)
        assert signature is not None
        found[name] = (str(signature), signature.exact)
    assert found == {
        "same": ("(self, a)", True),
        "wrapped": ("(*args, **kwargs)", True),
        "open": ("(self, a)", False),
        "cached": ("(self, a)", True),
    }


# -- protocols ------------------------------------------------------------------------------------------------------

MEMBERS = ("def m{i}(self): ...", "d{i}: int", "e{i}: int = 1", "m{i} = None", "@classmethod\n    def c{i}(cls): ...")


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.sampled_from(MEMBERS), st.integers(0, 2)), max_size=3),
    st.lists(st.lists(st.tuples(st.sampled_from(MEMBERS), st.integers(0, 2)), max_size=4), min_size=4, max_size=4),
    st.booleans(),
)
def test_protocol_checks_are_those_of_cpython(
    tmp_path_factory: pytest.TempPathFactory,
    protocol: list[tuple[str, int]],
    classes: list[list[tuple[str, int]]],
    explicit: bool,
) -> None:
    def body(members: list[tuple[str, int]]) -> str:
        return "\n".join(f"    {member.format(i=index)}" for member, index in members) or "    pass"

    parts = [
        "from typing import Protocol, runtime_checkable",
        f"@runtime_checkable\nclass P(Protocol):\n{body(protocol)}",
        "class Base(P): ...\n" if explicit else "class Base: ...\n",
    ]
    for index, members in enumerate(classes):
        parts.append(f"class K{index}({'Base' if index % 2 else 'object'}):\n{body(members)}")
    text = "\n".join(parts) + "\n"
    scope = run(text)
    program = program_of(tmp_path_factory.mktemp("protocol"), {"vllm/m.py": text}, python=_OURS)
    interface = class_of(program, "vllm.m", "P")
    assert interface.is_protocol and interface.runtime_checkable
    for index in range(len(classes)):
        real = scope[f"K{index}"]
        cls = class_of(program, "vllm.m", f"K{index}")
        assert is_instance(program.evaluator, cls, interface) is isinstance(real, scope["P"]), (text, index)
        try:
            expected: bool | str = issubclass(real, scope["P"])
        except TypeError:
            expected = "TypeError"
        try:
            found = is_subclass(program.evaluator, cls, interface)
        except Raised as raised:
            found = raised.name
        assert found == expected, (text, index)


def test_a_protocol_that_is_not_runtime_checkable_refuses(tmp_path: Path) -> None:
    text = "from typing import Protocol\nclass P(Protocol):\n    x: int\nclass C: ...\n"
    program = program_of(tmp_path, {"vllm/m.py": text})
    protocol, cls = class_of(program, "vllm.m", "P"), class_of(program, "vllm.m", "C")
    with pytest.raises(Raised, match="runtime_checkable"):
        is_instance(program.evaluator, cls, protocol)
    with pytest.raises(TypeError, match="runtime_checkable"):
        isinstance(int, _NotChecked)


class _NotChecked(typing.Protocol):
    x: int


def test_an_incomplete_class_is_unknown_to_a_protocol(tmp_path: Path) -> None:
    text = """\
        from typing import Protocol, runtime_checkable
        from elsewhere import Base
        @runtime_checkable
        class P(Protocol):
            flag: bool = True
        class A(Base): ...
        class B(Base):
            flag = False
        """
    program = program_of(tmp_path, {"vllm/m.py": text})
    protocol = class_of(program, "vllm.m", "P")
    assert isinstance(is_instance(program.evaluator, class_of(program, "vllm.m", "A"), protocol), Unknown)
    assert is_instance(program.evaluator, class_of(program, "vllm.m", "B"), protocol) is True
