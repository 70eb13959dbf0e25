"""Expressions that choose: ``and``, ``or``, ``if`` and chains of comparisons."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from preflight.walk import comparison, operands
from preflight.walk.outcomes import Outcome, Return, run_arm, settle
from preflight.walk.truth import Truth
from preflight.walk.values import (
    FALSE,
    TRUE,
    OneOf,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from preflight.walk.machine import Machine


def boolop(machine: Machine, node: ast.BoolOp) -> Value:
    """``and`` and ``or``: operands that are not known may end it or not."""
    return _bool_from(machine, node, 0)


def _bool_from(machine: Machine, node: ast.BoolOp, index: int) -> Value:
    value = machine.evaluate(node.values[index])
    if index == len(node.values) - 1:
        return value
    stops_on = Truth.NO if isinstance(node.op, ast.And) else Truth.YES
    truth = machine.truth(value)
    if truth is stops_on:
        return value
    if truth is not Truth.MAYBE:
        return _bool_from(machine, node, index + 1)
    from preflight.walk import narrowing

    def rest() -> Outcome:
        narrowing.narrow(machine, node.values[index], isinstance(node.op, ast.And))
        return Return(_bool_from(machine, node, index + 1))

    stopped: Value = value
    if isinstance(value, OneOf):
        kept = [option for option in value.options if machine.truth(option) is not stops_on.negated()]
        stopped = kept[0] if len(kept) == 1 else OneOf(tuple(kept))
    elif isinstance(value, Unknown):
        if value.cls is machine.natives.bool:
            stopped = FALSE if stops_on is Truth.NO else TRUE
        else:
            stopped = Unknown(value.reason, value.place, truthy=stops_on is Truth.YES, cls=value.cls)
    arms = [*run_arm(machine, lambda: Return(stopped)), *run_arm(machine, rest)]
    outcome = settle(machine, arms, operands.why(machine) if not isinstance(value, Unknown) else value.reason)
    assert isinstance(outcome, Return)
    return outcome.value


def ifexp(machine: Machine, node: ast.IfExp) -> Value:
    """``a if test else b``."""
    test = machine.evaluate(node.test)
    truth = machine.truth(test)
    if truth is not Truth.MAYBE:
        return machine.evaluate(node.body if truth is Truth.YES else node.orelse)
    from preflight.walk import narrowing

    def arm(wanted: bool) -> Outcome:
        narrowing.narrow(machine, node.test, wanted)
        return Return(machine.evaluate(node.body if wanted else node.orelse))

    arms = [*run_arm(machine, lambda: arm(True)), *run_arm(machine, lambda: arm(False))]
    outcome = settle(machine, arms, operands.why(machine))
    assert isinstance(outcome, Return)
    return outcome.value


def compare(machine: Machine, node: ast.Compare) -> Value:
    """A chain of comparisons."""
    return _compare_from(machine, node, machine.evaluate(node.left), 0)


def _compare_from(machine: Machine, node: ast.Compare, left: Value, index: int) -> Value:
    right = machine.evaluate(node.comparators[index])
    machine.frame.node = node
    result = comparison.compare(machine, node.ops[index], left, right)
    if index == len(node.ops) - 1:
        return result
    truth = machine.truth(result)
    if truth is Truth.NO:
        return result
    if truth is Truth.YES:
        return _compare_from(machine, node, right, index + 1)
    arms = [
        *run_arm(machine, lambda: Return(FALSE)),
        *run_arm(machine, lambda: Return(_compare_from(machine, node, right, index + 1))),
    ]
    outcome = settle(machine, arms, operands.why(machine))
    assert isinstance(outcome, Return)
    return outcome.value
