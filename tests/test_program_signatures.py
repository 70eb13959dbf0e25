"""Calls bind to signatures exactly as Python binds them.

The measure is the call itself: ``inspect.Signature.bind`` of Python before 3.13 refuses a keyword that is named like a
positional-only parameter and goes into ``**kwargs``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from preflight.program import CallShape, Signature
from preflight.program.extract import facts_of
from preflight.program.facts import FunctionFacts

NAMES = ("a", "b", "c", "d", "e")


def signature_of(text: str) -> Signature:
    (function,) = facts_of(f"def f{text}: ...\n".encode())[0].body
    assert isinstance(function, FunctionFacts)
    return Signature(function.parameters)


@st.composite
def parameter_lists(draw: st.DrawFn) -> str:
    """A parameter list that Python accepts."""
    names = list(NAMES)
    kinds = draw(st.tuples(st.integers(0, 2), st.integers(0, 2), st.booleans(), st.integers(0, 2), st.booleans()))
    only, both, star, keyword, double = kinds
    parts: list[str] = []
    defaulted = False
    for index in range(only + both):
        defaulted = defaulted or draw(st.booleans())
        parts.append(names.pop(0) + ("=1" if defaulted else ""))
        if index == only - 1:
            parts.append("/")
    if star:
        parts.append("*args")
    elif keyword and names:
        parts.append("*")
    for _ in range(min(keyword, len(names))):
        parts.append(names.pop(0) + draw(st.sampled_from(["", "=1"])))
    if double:
        parts.append("**kwargs")
    return f"({', '.join(parts)})"


calls = st.builds(
    CallShape,
    st.integers(0, 5),
    st.lists(st.sampled_from([*NAMES, "z", "args", "kwargs"]), unique=True, max_size=4).map(tuple),
)


def real_function(text: str) -> Callable[..., None]:
    scope: dict = {}
    exec(f"def f{text}: ...", scope)
    return scope["f"]


def binds(real: Callable[..., None], call: CallShape) -> bool:
    try:
        real(*range(call.positional), **dict.fromkeys(call.keywords))
    except TypeError:
        return False
    return True


@settings(max_examples=400, deadline=None)
@given(parameter_lists(), calls)
def test_a_call_binds_exactly_when_python_binds_it(text: str, call: CallShape) -> None:
    problem = signature_of(text).bind(call)
    assert (problem is None) == binds(real_function(text), call), (text, call, problem)


@settings(max_examples=200, deadline=None)
@given(parameter_lists(), calls, st.integers(0, 3), st.lists(st.sampled_from(NAMES), unique=True, max_size=3))
def test_what_may_be_handed_on_is_never_called_missing(
    text: str, call: CallShape, more: int, keywords: list[str]
) -> None:
    """If some ``*args`` and ``**kwargs`` make the call bind, the open call has no problem."""
    whole = CallShape(call.positional + more, tuple(dict.fromkeys([*call.keywords, *keywords])))
    if binds(real_function(text), whole):
        opened = CallShape(call.positional, call.keywords, star=True, double_star=True)
        assert signature_of(text).bind(opened) is None


@settings(max_examples=200, deadline=None)
@given(parameter_lists())
def test_a_signature_is_written_as_it_was_read(text: str) -> None:
    signature = signature_of(text)
    assert str(inspect.signature(real_function(str(signature)))) == str(inspect.signature(real_function(text)))


@settings(max_examples=200, deadline=None)
@given(parameter_lists(), calls)
def test_a_bound_method_has_one_parameter_less(text: str, call: CallShape) -> None:
    scope: dict = {}
    inner = text[1:-1]
    listed = f"(self, {inner})" if inner else "(self)"
    exec(f"class C:\n    def f{listed}: ...\n", scope)
    real = scope["C"]().f
    assert (signature_of(listed).bound().bind(call) is None) == binds(real, call), listed


@pytest.mark.parametrize(
    ("text", "call", "kind", "names"),
    [
        ("(a, b)", CallShape(1), "missing", ("b",)),
        ("(a)", CallShape(2), "too-many", ()),
        ("(a)", CallShape(0, ("a", "b")), "unexpected", ("b",)),
        ("(a)", CallShape(1, ("a",)), "twice", ("a",)),
        ("(a, /)", CallShape(0, ("a",)), "positional-only", ("a",)),
    ],
)
def test_the_problem_is_named(text: str, call: CallShape, kind: str, names: tuple[str, ...]) -> None:
    problem = signature_of(text).bind(call)
    assert problem is not None
    assert (problem.kind, problem.names) == (kind, names)


def test_accepting_a_keyword() -> None:
    assert signature_of("(a, /, b, *, c)").accepts_keyword("b")
    assert signature_of("(a, /, b, *, c)").accepts_keyword("c")
    assert not signature_of("(a, /, b, *, c)").accepts_keyword("a")
    assert signature_of("(**rest)").accepts_keyword("anything")
