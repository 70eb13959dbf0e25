"""The functions of a module, each with what names mean in it."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Iterator
from typing import TYPE_CHECKING

from preflight.checks.bound import statements
from preflight.checks.inference.values import Env
from preflight.checks.reach import classes_of, function_facts
from preflight.program.facts import FunctionFacts

if TYPE_CHECKING:
    from preflight.checks.inference.bodies import Body
    from preflight.checks.inference.inference import Inference
    from preflight.program import Module


def scopes_of(inference: Inference, module: Module, lines: frozenset[int] | None = None) -> Iterator[tuple[Body, Env]]:
    """The functions of a module, all or those that have one of these lines, with their scopes: those of classes as
    methods."""
    ordered = sorted(lines) if lines is not None else None
    for facts in function_facts(module.facts.body):
        body = inference.code.body(module, facts) if _has(facts, ordered) else None
        for inner in body.all() if body is not None else ():
            yield inner, Env(module, inner)
    for cls in classes_of(inference.program, module):
        # those of the class statement: what a decorator has put over them is written elsewhere
        for facts in statements(cls.facts.body) if cls.facts is not None else ():
            if not isinstance(facts, FunctionFacts) or not _has(facts, ordered):
                continue
            method = inference.objects.method(cls, facts)
            for inner in method.body.all() if method is not None else ():
                yield inner, Env(module, inner, cls, cls)


def _has(facts: FunctionFacts, lines: list[int] | None) -> bool:
    """Whether a function has one of these lines, which are in order."""
    if lines is None:
        return True
    at = bisect_left(lines, facts.line)
    return at < len(lines) and lines[at] <= facts.end_line


def spans(node: ast.stmt, lines: frozenset[int]) -> bool:
    """Whether a statement, its decorators among it, has one of these lines."""
    first = min(part.lineno for part in (node, *getattr(node, "decorator_list", ())))
    last = node.end_lineno or node.lineno
    return any(first <= number <= last for number in lines)
