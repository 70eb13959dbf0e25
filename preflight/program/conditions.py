"""Tests of ``if`` statements that are decided before anything runs: TYPE_CHECKING, the Python version, the platform."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from preflight.operators import COMPARISONS
from preflight.program.facts import Expression
from preflight.program.syntax_nodes import dotted


class Truth(Enum):
    """The answer to a question that may be open. It is never used as a bool."""

    YES = "yes"
    NO = "no"
    MAYBE = "maybe"

    def __bool__(self) -> bool:
        raise TypeError("a Truth is compared, not tested")

    def negated(self) -> Truth:
        return {Truth.YES: Truth.NO, Truth.NO: Truth.YES, Truth.MAYBE: Truth.MAYBE}[self]


@dataclass(frozen=True, slots=True)
class Platform:
    """What the interpreter that will run vLLM says of itself. vLLM serves on Linux; nothing else is assumed."""

    python: tuple[int, int] = (3, 12)
    sys_platform: str = "linux"
    os_name: str = "posix"


#: answers a part of a test
Ask = Callable[[ast.expr], Truth]


@lru_cache(maxsize=8192)
def parse_expression(text: str) -> ast.expr | None:
    """The tree of a piece of source, None if it is none."""
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(f"({text}\n)", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


class _Undecided(Exception):
    """A part of the test that only running it would tell."""


def decide(test: Expression | ast.expr, platform: Platform, name: str = "", asked: Ask | None = None) -> Truth:
    """Whether the test holds when a module called ``name`` is imported; ``asked`` answers its parts, if it can."""
    node = parse_expression(test.text) if isinstance(test, Expression) else test
    if node is None:
        return Truth.MAYBE
    return _truth(node, platform, name, asked)


def _truth(node: ast.expr, platform: Platform, name: str, asked: Ask | None) -> Truth:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return _truth(node.operand, platform, name, asked).negated()
    if isinstance(node, (ast.Call, ast.Compare, ast.Attribute, ast.Name)) and asked is not None:
        answer = asked(node)
        if answer is not Truth.MAYBE:
            return answer
    if isinstance(node, ast.BoolOp):
        deciding = Truth.NO if isinstance(node.op, ast.And) else Truth.YES
        answers = [_truth(value, platform, name, asked) for value in node.values]
        # A test in the middle that may raise or not is none of our business: it is reached or the answer stands.
        if deciding in answers:
            return deciding
        return Truth.MAYBE if Truth.MAYBE in answers else deciding.negated()
    try:
        return Truth.YES if _value(node, platform, name) else Truth.NO
    except (_Undecided, TypeError, IndexError):
        return Truth.MAYBE


def _value(node: ast.expr, platform: Platform, name: str) -> object:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Tuple):
        return tuple(_value(element, platform, name) for element in node.elts)
    if isinstance(node, (ast.Name, ast.Attribute)):
        return _name_value(dotted(node), platform, name)
    if isinstance(node, ast.Subscript):
        return _subscript(node, platform, name)
    if isinstance(node, ast.Compare):
        left = _value(node.left, platform, name)
        for operation, comparator in zip(node.ops, node.comparators, strict=True):
            right = _value(comparator, platform, name)
            compare = COMPARISONS.get(type(operation))
            if compare is None:
                raise _Undecided
            if not compare(left, right):
                return False
            left = right
        return True
    if isinstance(node, ast.Call) and not node.keywords:
        function = dotted(node.func)
        if function == "sys.platform.startswith" and len(node.args) == 1:
            prefix = _value(node.args[0], platform, name)
            if isinstance(prefix, (str, tuple)):
                return platform.sys_platform.startswith(prefix)
    raise _Undecided


def _name_value(dotted_name: str | None, platform: Platform, name: str) -> object:
    if dotted_name in ("TYPE_CHECKING", "typing.TYPE_CHECKING", "t.TYPE_CHECKING", "typing_extensions.TYPE_CHECKING"):
        return False
    if dotted_name == "__debug__":
        return True
    if dotted_name == "__name__":
        return name
    if dotted_name == "sys.version_info":
        # the micro release is not known, and no released vLLM asks for it
        return (*platform.python, 99, "final", 0)
    if dotted_name == "sys.platform":
        return platform.sys_platform
    if dotted_name == "os.name":
        return platform.os_name
    if dotted_name == "sys.version_info.major":
        return platform.python[0]
    if dotted_name == "sys.version_info.minor":
        return platform.python[1]
    raise _Undecided


def _subscript(node: ast.Subscript, platform: Platform, name: str) -> object:
    value = _value(node.value, platform, name)
    if not isinstance(value, tuple):
        raise _Undecided
    if isinstance(node.slice, ast.Slice):
        if node.slice.lower is not None or node.slice.step is not None:
            raise _Undecided
        upper = _value(node.slice.upper, platform, name) if node.slice.upper is not None else None
        if upper is None or isinstance(upper, int):
            return value[:upper]
        raise _Undecided
    index = _value(node.slice, platform, name)
    if isinstance(index, int):
        return value[index]
    raise _Undecided
