"""Generator functions: walked lazily, one ``yield`` at a time, because ``any``, ``next`` and ``with`` do not run them
to the end.
"""

from __future__ import annotations

import ast
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

from preflight.walk.outcomes import BREAK, CONTINUE, NEXT, Break, Outcome, Raise, Raised, Return
from preflight.walk.truth import Truth
from preflight.walk.values import NONE, Stream, Value

if TYPE_CHECKING:
    from preflight.walk.frames import Frame
    from preflight.walk.machine import Machine

#: what a generator's body hands to its driver: a value, until its outcome
Walk = Generator[Value, Value, Outcome]


class Lost(Exception):
    """The generator met a condition that is not known: which values come is not known from here on."""


def run(machine: Machine, frame: Frame, node: ast.FunctionDef) -> Iterator[Value]:
    """The values that the body yields; an ``Unknown`` marked as the rest when they are not known."""
    body = _block(machine, frame, node.body)
    sent: Value = NONE
    while True:
        machine.frames.append(frame)
        try:
            value = body.send(sent) if sent is not NONE else next(body)
        except StopIteration as stop:
            return stop.value.value if isinstance(stop.value, Return) else NONE
        except Lost as lost:
            machine.forget_globals(frame.module, frame.scope.globals, str(lost))
            raise Unclear(str(lost)) from None
        finally:
            machine.frames.pop()
        sent = NONE
        received = yield value
        if received is not None:
            sent = received


class Unclear(Exception):
    """Raised while iterating: how many values come, and which, is not known."""


def holds_yield(node: ast.AST) -> bool:
    """Whether ``node`` yields, functions inside it aside."""
    cached = getattr(node, "walk_yields", None)
    if cached is None:
        cached = isinstance(node, (ast.Yield, ast.YieldFrom)) or any(
            holds_yield(child)
            for child in ast.iter_child_nodes(node)
            if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        )
        node.walk_yields = cached  # pyrefly: ignore
    return cached


def _block(machine: Machine, frame: Frame, body: list[ast.stmt]) -> Walk:
    for statement in body:
        outcome = yield from _statement(machine, frame, statement)
        if outcome is not NEXT:
            return outcome
    return NEXT


def _plain(machine: Machine, statements: list[ast.stmt]) -> Outcome:
    """Statements without a ``yield``, by the ordinary way; what waits cannot be carried past one."""
    base = len(machine.state.pendings)
    outcome = machine.execute(statements)
    if any(
        isinstance(pending.outcome, (Return, Break)) or pending.outcome is CONTINUE
        for pending in machine.state.pendings[base:]
    ):
        raise Lost("a generator leaves under a condition that is not known")
    return outcome


def _statement(machine: Machine, frame: Frame, node: ast.stmt) -> Walk:
    if not holds_yield(node):
        return _plain(machine, [node])
    machine.step()
    frame.node = node
    if isinstance(node, ast.Expr):
        yield from _yield(machine, node.value)
        return NEXT
    if isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(node.value, (ast.Yield, ast.YieldFrom)):
        value = yield from _yield(machine, node.value)
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            machine.store(target, value)
        return NEXT
    if isinstance(node, ast.If):
        truth = machine.truth(machine.evaluate(node.test))
        if truth is Truth.MAYBE:
            raise Lost("a generator yields under a condition that is not known")
        return (yield from _block(machine, frame, node.body if truth is Truth.YES else node.orelse))
    if isinstance(node, ast.For):
        for value in machine.iterate(machine.evaluate(node.iter)):
            machine.store(node.target, value)
            outcome = yield from _block(machine, frame, node.body)
            if outcome is BREAK:
                return NEXT
            if isinstance(outcome, Return):
                return outcome
        return (yield from _block(machine, frame, node.orelse))
    if isinstance(node, ast.While):
        while True:
            truth = machine.truth(machine.evaluate(node.test))
            if truth is Truth.MAYBE:
                raise Lost("a generator loops under a condition that is not known")
            if truth is Truth.NO:
                return (yield from _block(machine, frame, node.orelse))
            outcome = yield from _block(machine, frame, node.body)
            if outcome is BREAK:
                return NEXT
            if isinstance(outcome, Return):
                return outcome
    if isinstance(node, ast.Try):
        return (yield from _try(machine, frame, node))
    if isinstance(node, ast.With):
        entered = []
        for item in node.items:
            manager = machine.evaluate(item.context_expr)
            value = machine.enter(manager)
            entered.append(manager)
            if item.optional_vars is not None:
                machine.store(item.optional_vars, value)
        outcome = yield from _block(machine, frame, node.body)
        for manager in reversed(entered):
            machine.leave(manager, [NONE, NONE, NONE])
        return outcome
    raise Lost(f"a yield inside {type(node).__name__} is not modelled")


def _try(machine: Machine, frame: Frame, node: ast.Try) -> Walk:
    """``try`` around a ``yield``; an exception that the consumer throws in is no business of the walk."""
    outcome: Outcome
    try:
        outcome = yield from _block(machine, frame, node.body)
        if outcome is NEXT:
            outcome = yield from _block(machine, frame, node.orelse)
    except Raised as raised:
        outcome = yield from _handlers(machine, frame, node, raised)
    ended = yield from _block(machine, frame, node.finalbody)
    if ended is NEXT and isinstance(outcome, Raise):
        raise Raised(outcome.exits)
    return ended if ended is not NEXT else outcome


def _handlers(machine: Machine, frame: Frame, node: ast.Try, raised: Raised) -> Walk:
    """The first handler that surely catches what was raised in the body."""
    if not node.handlers:
        return Raise(raised.exits)
    if len(raised.exits) > 1:
        raise Lost("a generator handles one of several exceptions")
    exit = raised.exits[0]
    for handler in node.handlers:
        answer = Truth.YES if handler.type is None else machine.catches(exit, machine.evaluate(handler.type))
        if answer is Truth.MAYBE:
            raise Lost("whether a generator handles an exception is not known")
        if answer is Truth.YES:
            if handler.name:
                machine.store(ast.Name(handler.name, ast.Store()), exit.error)
            frame.caught.append(exit.error)
            try:
                return (yield from _block(machine, frame, handler.body))
            except Raised as again:
                return Raise(again.exits)
            finally:
                frame.caught.pop()
    return Raise(raised.exits)


def _yield(machine: Machine, node: ast.expr) -> Generator[Value, Value, Value]:
    if isinstance(node, ast.Yield):
        return (yield machine.evaluate(node.value) if node.value is not None else NONE)
    if isinstance(node, ast.YieldFrom):
        source = machine.evaluate(node.value)
        yield from machine.iterate(source)
        if isinstance(source, Stream):
            return machine.unknown("the value of a generator's return")
        return NONE
    raise Lost("a yield inside an expression is not modelled")
