"""Code for the tests of the launch room: read from text, or generated so that Python itself can be asked the same."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from hypothesis import strategies as st

from preflight.launch.reading.modules import Module, Modules, look_up
from preflight.launch.reading.run import Run


class TextSource:
    """Modules out of a dict from import path to text; a name that ends in ``.__init__`` is a package."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts

    def find(self, name: str) -> tuple[str, bool] | None:
        if f"{name}.__init__" in self._texts:
            return f"{name.replace('.', '/')}/__init__.py", True
        return (f"{name.replace('.', '/')}.py", False) if name in self._texts else None

    def syntax(self, path: str) -> ast.Module | None:
        return ast.parse(self._texts[path[:-3].replace("/", ".")])


def run_of(texts: Mapping[str, str], **options: object) -> Run:
    """A reading over ``texts`` in which a fault of a stand-in is shown as one."""
    run = Run(Modules(TextSource(texts)), ["vllm"], {}, **options)  # type: ignore[arg-type]
    run.strict = True
    return run


def value_of(text: str, name: str, **options: object) -> object:
    """The value of a global name of a module that consists of ``text``."""
    run = run_of({"m": text}, **options)
    module = run.modules.get("m")
    assert isinstance(module, Module)
    return look_up(run, module, name)


# -- generated functions --------------------------------------------------------------------------------------------

_NAMES = ("a", "b", "c", "xs", "d")
_ATOMS = st.sampled_from(
    ("0", "1", "2", "-3", "'x'", "''", "None", "True", "False", "[1, 2]", "[]", "{'k': 1}", "(1,)")
)
_NAME = st.sampled_from(_NAMES)


def _binary(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    operators = st.sampled_from(
        ("+", "-", "*", "//", "%", "|", "&", "and", "or", "==", "!=", "<", "<=", "is", "in", "not in")
    )
    return st.builds(lambda left, operator, right: f"({left} {operator} {right})", parts, operators, parts)


def _compound(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        _binary(parts),
        st.builds("(not {})".format, parts),
        st.builds("({} if {} else {})".format, parts, parts, parts),
        st.builds("len({})".format, parts),
        st.builds("str({})".format, parts),
        st.builds("f'{{{}}}!'".format, _NAME),
        st.builds("[v for v in {} if v != {}]".format, parts, parts),
        st.builds("{{v: {} for v in {}}}".format, parts, parts),
        st.builds("sum(v for v in {})".format, parts),
        st.builds("{}[{}]".format, parts, parts),
        st.builds("{}[1:]".format, parts),
        st.builds("d.get({}, {})".format, parts, parts),
        st.builds("sorted({})".format, parts),
        st.builds("any(v == {} for v in xs)".format, parts),
        st.builds("isinstance({}, (int, str))".format, parts),
        st.builds("(lambda v, w=2: {})({})".format, parts, parts),
        st.builds("helper({}, w={})".format, parts, parts),
    )


EXPRESSIONS = st.recursive(st.one_of(_ATOMS, _NAME, _NAME), _compound, max_leaves=5)


@st.composite
def blocks(draw: st.DrawFn, depth: int = 2, loop: bool = False) -> list[str]:
    """The lines of a block, not indented."""
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        kinds = ["assign", "assign", "augment", "append", "store", "return", "raise", "unpack", "assert"]
        if depth:
            kinds += ["if", "if", "for", "while", "try", "try"]
        if loop:
            kinds += ["break", "continue"]
        lines += draw(_statement(draw(st.sampled_from(kinds)), depth, loop))
    return lines


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


@st.composite
def _statement(draw: st.DrawFn, kind: str, depth: int, loop: bool) -> list[str]:
    name, value = draw(_NAME), draw(EXPRESSIONS)
    if kind == "assign":
        return [f"{name} = {value}"]
    if kind == "augment":
        return [f"{name} {draw(st.sampled_from(('+=', '-=', '|=')))} {value}"]
    if kind == "append":
        return [f"xs.append({value})"]
    if kind == "store":
        return [f"d[{value}] = {draw(EXPRESSIONS)}"]
    if kind == "unpack":
        return [f"a, *b = {value}"]
    if kind == "return":
        return [f"if {value}:", f"    return {draw(EXPRESSIONS)}"]
    if kind == "raise":
        return [f"if {value}:", f"    raise {draw(st.sampled_from(('ValueError', 'KeyError', 'TypeError')))}('told')"]
    if kind == "assert":
        return [f"assert {value}, 'told'"]
    if kind in ("break", "continue"):
        return [f"if {value}:", f"    {kind}"]
    inner = _indented(draw(blocks(depth - 1, loop or kind in ("for", "while"))))
    if kind == "if":
        lines = [f"if {value}:", *inner]
        if draw(st.booleans()):
            lines += [f"elif {draw(EXPRESSIONS)}:", *_indented(draw(blocks(depth - 1, loop)))]
        if draw(st.booleans()):
            lines += ["else:", *_indented(draw(blocks(depth - 1, loop)))]
        return lines
    if kind == "for":
        lines = [f"for {name} in list({value})[:3]:", *inner]
        return [*lines, "else:", *_indented(draw(blocks(depth - 1, loop)))] if draw(st.booleans()) else lines
    if kind == "while":
        counter = f"n{depth}"
        return [f"{counter} = 0", f"while {counter} < 3 and {value}:", f"    {counter} += 1", *inner]
    caught = draw(st.sampled_from(("ValueError", "(TypeError, KeyError)", "Exception", "LookupError as e")))
    lines = ["try:", *inner, f"except {caught}:", *_indented(draw(blocks(depth - 1, loop)))]
    if draw(st.booleans()):
        lines += ["finally:", f"    c = {draw(EXPRESSIONS)}"]
    return lines


FUNCTIONS = st.builds(
    lambda body, result: "\n".join(
        [
            "def helper(v, *rest, w=1, **more):",
            "    return [v, w, rest, more]",
            "def f(a, b, c, xs, d):",
            *_indented(body),
            f"    return [a, b, c, xs, d, {result}]",
        ]
    ),
    blocks(),
    EXPRESSIONS,
)
