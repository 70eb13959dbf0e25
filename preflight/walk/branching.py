"""Conditions: one that is not known takes both arms."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from preflight.walk import narrowing
from preflight.walk.files import ASKED
from preflight.walk.naming import why
from preflight.walk.outcomes import (
    NEXT,
    Arm,
    Condition,
    Outcome,
    Raise,
    run_arms,
    settle,
)
from preflight.walk.truth import Truth
from preflight.walk.values import Class, Function, Instance, Perhaps, Store, Unknown, Value

if TYPE_CHECKING:
    from preflight.walk.frames import Frame
    from preflight.walk.machine import Machine


def named_values(frame_: Frame, test: ast.expr) -> tuple[tuple[str, Value], ...]:
    """The names and attribute chains in a condition with what they hold, for messages; nothing is called for it."""
    found: dict[str, Value] = {}

    def look(node: ast.expr) -> Value | None:
        if isinstance(node, ast.Name):
            frame: Frame | None = frame_
            while frame is not None:
                value = frame.content.get(node.id)
                if value is not None:
                    return value
                if frame.closure is None or frame.kind == "module":
                    return None
                frame = frame.closure
            return None
        if isinstance(node, ast.Attribute):
            owner = look(node.value)
            if isinstance(owner, (Instance, Class)):
                return owner.content.get(node.attr)
        return None

    todo: list[ast.AST] = [test]
    while todo and len(found) < 6:
        node = todo.pop(0)
        if isinstance(node, (ast.Name, ast.Attribute)):
            value = look(node)
            if (
                value is not None
                and not isinstance(value, (Function, Class))
                and not (isinstance(value, Store) and isinstance(node, ast.Name) and isinstance(value, Instance))
            ):
                found[ast.unparse(node)] = value.value if isinstance(value, Perhaps) else value
            continue
        if isinstance(node, ast.Call):
            todo = [*node.args, *todo]
            continue
        todo = [*ast.iter_child_nodes(node), *todo]
    return tuple(found.items())


def execute_if(machine: Machine, node: ast.If) -> Outcome:
    frame = machine.frame
    value = machine.evaluate(node.test)
    truth = machine.truth(value)
    if truth is Truth.MAYBE:
        arms = run_arms(
            machine,
            (
                lambda: narrowed(machine, node.test, True, lambda: machine.execute(node.body)),
                lambda: narrowed(machine, node.test, False, lambda: machine.execute(node.orelse)),
            ),
        )
        frame.node = node
        leave_open(machine, value, arms)
        return settle(machine, arms, why(machine, node))
    taken = truth is Truth.YES
    body = node.body if taken else node.orelse
    if not body:
        return NEXT
    frame.node = node
    frame.conditions.append(condition(machine, node.test, taken))
    try:
        return machine.execute(body)
    finally:
        frame.conditions.pop()


def leave_open(machine: Machine, value: Value, arms: list[Arm]) -> None:
    """Say of a raise that the launch comes to, and that hangs on a file of the machine alone, that it may come. Below
    another condition that is not known, or where a ``try`` may catch it, it is one of many."""
    if not isinstance(value, Unknown) or not value.reason.startswith(ASKED):
        return
    if machine.state.tries or machine.state.arms or all(isinstance(arm.outcome, Raise) for arm in arms):
        return
    for exit in (exit for arm in arms if isinstance(arm.outcome, Raise) for exit in arm.outcome.exits):
        if exit.cls is not None:
            said = f"{exit.cls.name} ({exit.message})" if exit.message else exit.cls.name
            machine.doubt("walk-file-asked", f"{value.reason} is not known, and by that {said} is raised or not")


def condition(machine: Machine, test: ast.expr, taken: bool) -> Condition:
    """A decided condition, for the trail; its values are looked up only when a raise asks for them."""
    return Condition(machine.place(test), test, taken)


def narrowed(machine: Machine, test: ast.expr, wanted: bool, body: Callable[[], Outcome]) -> Outcome:
    narrowing.narrow(machine, test, wanted)
    return body()
