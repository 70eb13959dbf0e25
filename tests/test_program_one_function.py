"""A function that is parsed by itself is what it is in the syntax tree of its whole file."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from preflight.checks.bound import statements
from preflight.program.extract import facts_of
from preflight.program.facts import ClassFacts, FunctionFacts, Item
from preflight.program.one_function import cut_out, functions_in
from preflight.program.source_text import SourceText
from tests.trees import released


def functions(items: tuple[Item, ...] | tuple[FunctionFacts | ClassFacts, ...]) -> Iterator[FunctionFacts]:
    for item in statements(items):
        if isinstance(item, FunctionFacts):
            yield item
            yield from functions(item.inner)
        elif isinstance(item, ClassFacts):
            yield from functions(item.body)


def compared(data: bytes) -> tuple[int, list[str]]:
    """How many functions a file has, and those that are not the same when they are cut out."""
    facts, tree = facts_of(data)
    assert tree is not None
    text = SourceText(data)
    found = list(functions(facts.body))
    unlike = []
    known = functions_in(tree)
    for function in found:
        whole = known.get((function.line, function.name))
        alone = cut_out(text, function)
        assert whole is not None
        if alone is None or ast.dump(alone, include_attributes=True) != ast.dump(whole, include_attributes=True):
            unlike.append(function.qualname)
    return len(found), unlike


WAYS = '''\
def first(a, b=1): return a
class A:
    @property
    def decorated(self): return """a string
at the left margin
    def no_function(self): pass
"""
    @one
    # a comment between
    @two(
        3,
    )
    async def again(
        self,
        *,
        x: "int" = 3,
    ) -> int:
        def inner(y):
            class Within:
                def method(self): return f"{y!r:>{x}}"
            return Within
        return inner; x = 2
    if DEBUG:
        def conditional(self): yield (yield)
    def_ = 1
try:
    def attempted(): return 1
except ImportError:
    async def attempted():
        await something
    del attempted
'''


def test_a_function_by_itself_is_the_one_of_its_file() -> None:
    assert compared(WAYS.encode()) == (8, [])


def test_lines_and_characters_of_any_kind_are_counted_alike() -> None:
    text = "class Ä:\n\tdef größe(self, *, ä='ß'):\n\t\treturn 'é' + ä\n\n\x0c\n\tdef b(self): return 1\n"
    assert compared(text.encode()) == (2, [])
    assert compared(text.replace("\n", "\r\n").encode()) == (2, [])
    assert compared(b"\xef\xbb\xbf" + text.encode()) == (2, [])
    assert compared(("# coding: latin-1\n" + text).encode("latin-1")) == (2, [])


def test_what_is_no_function_by_its_lines_is_left_to_the_whole_file() -> None:
    data = b"class A:\n    @(\n        outer\n    )\n    def f(self): pass\n"
    facts, tree = facts_of(data)
    (function,) = functions(facts.body)
    assert tree is not None
    assert cut_out(SourceText(data), function) is None
    assert (function.line, function.name) in functions_in(tree)


@pytest.mark.real
def test_functions_of_the_models_are_the_same_by_themselves() -> None:
    folder = released("0.33.0") / "vllm" / "model_executor" / "models"
    counts = []
    for file in sorted(folder.glob("*.py"))[::5]:
        count, unlike = compared(file.read_bytes())
        assert unlike == [], file.name
        counts.append(count)
    assert sum(counts) > 800
