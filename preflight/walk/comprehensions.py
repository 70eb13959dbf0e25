"""Comprehensions, and the generators that are written like them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from preflight.walk import subscripts
from preflight.walk.frames import Frame, Scope, scan
from preflight.walk.generators import Unclear
from preflight.walk.outcomes import Raised
from preflight.walk.truth import Truth
from preflight.walk.values import (
    Store,
    Stream,
    Value,
)

if TYPE_CHECKING:
    from preflight.walk.machine import Machine


#: the methods by which lists, dicts and sets are changed
_CHANGING = frozenset(
    ("add", "append", "clear", "discard", "extend", "insert", "pop", "popitem", "remove", "setdefault", "update")
)


def _inner_frame(machine: Machine, generators: list[ast.comprehension]) -> Frame:
    outer = machine.frame
    scope = Scope()
    for generator in generators:
        scope.bound |= scan([ast.Assign(targets=[generator.target], value=ast.Constant(None))]).bound
    frame = Frame("comprehension", outer.name, outer.module, outer, scope, machine.state.fresh())
    frame.owner = outer.owner
    frame.node = outer.node
    return frame


def _rounds(
    machine: Machine, frame: Frame, generators: list[ast.comprehension], source: Value, index: int = 0
) -> Iterator[None]:
    """Runs through the nested ``for`` and ``if`` of a comprehension; the names are bound in ``frame`` at each stop."""
    generator = generators[index]
    if generator.is_async:
        raise Unclear("an asynchronous comprehension")
    for item in machine.iterate(source):
        machine.step()
        machine.store(generator.target, item)
        accepted = True
        for test in generator.ifs:
            truth = machine.truth(machine.evaluate(test))
            if truth is Truth.MAYBE:
                raise Unclear("a condition of a comprehension is not known")
            if truth is Truth.NO:
                accepted = False
                break
        if not accepted:
            continue
        if index + 1 < len(generators):
            yield from _rounds(machine, frame, generators, machine.evaluate(generators[index + 1].iter), index + 1)
        else:
            yield None


def _collect(machine: Machine, node: ast.ListComp | ast.SetComp | ast.DictComp, take: Callable[[], None]) -> str | None:
    """Run a comprehension, ``take`` at each stop; why it is not known, where it is not. What became of containers that
    it takes from or adds to is then not known either."""
    reason = _run(machine, node, take)
    for inner in ast.walk(node) if reason is not None else ():
        method = inner.func if isinstance(inner, ast.Call) else None
        if isinstance(method, ast.Attribute) and method.attr in _CHANGING and isinstance(method.value, ast.Name):
            try:
                machine.escape([machine.evaluate(method.value)], reason or "")
            except Raised:
                continue  # a name of the comprehension's own
    return reason


def _run(machine: Machine, node: ast.ListComp | ast.SetComp | ast.DictComp, take: Callable[[], None]) -> str | None:
    source = machine.evaluate(node.generators[0].iter)
    frame = _inner_frame(machine, node.generators)
    machine.frames.append(frame)
    count = 0
    try:
        for _ in _rounds(machine, frame, node.generators, source):
            take()
            count += 1
            if count > machine.limits.size or machine.spent():
                return "a comprehension was not walked to its end"
        return None
    except Unclear as unclear:
        return str(unclear)
    finally:
        machine.frames.pop()
        machine.frame.node = node


def listcomp(machine: Machine, node: ast.ListComp) -> Value:
    """``[... for ...]``."""
    items: list[Value] = []
    reason = _collect(machine, node, lambda: items.append(machine.evaluate(node.elt)))
    made = machine.list([] if reason else items)
    if reason:
        machine.may_raise(reason)
        made.loose = reason
    return made


def setcomp(machine: Machine, node: ast.SetComp) -> Value:
    """``{... for ...}``."""
    items: list[Value] = []
    reason = _collect(machine, node, lambda: items.append(machine.evaluate(node.elt)))
    made = machine.set(items)
    if reason and isinstance(made, Store):
        machine.may_raise(reason)
        made.loose = reason
    return made


def dictcomp(machine: Machine, node: ast.DictComp) -> Value:
    """``{...: ... for ...}``."""
    made = machine.dict([])

    def take() -> None:
        key = machine.evaluate(node.key)
        subscripts.store_item(machine, made, key, machine.evaluate(node.value))

    reason = _collect(machine, node, take)
    if reason:
        machine.may_raise(reason)
        made.content = {}
        made.loose = reason
    return made


def genexp(machine: Machine, node: ast.GeneratorExp) -> Value:
    """``(... for ...)``: its source is evaluated at once, the rest when it is asked on."""
    source = machine.evaluate(node.generators[0].iter)
    frame = _inner_frame(machine, node.generators)

    def values() -> Iterator[Value]:
        machine.frames.append(frame)
        try:
            rounds = _rounds(machine, frame, node.generators, source)
        finally:
            machine.frames.pop()
        while True:
            machine.frames.append(frame)
            try:
                if next(rounds, True) is True:
                    return
                value = machine.evaluate(node.elt)
            finally:
                machine.frames.pop()
            yield value

    return Stream(values(), machine.state.fresh())
