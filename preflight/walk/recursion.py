"""Functions that call themselves: with the same arguments again, or down a structure that is not known."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from preflight.walk import loops
from preflight.walk.joining import same
from preflight.walk.outcomes import Return
from preflight.walk.values import Class, Const, External, Function, Instance, Unknown, Value

if TYPE_CHECKING:
    from preflight.walk.machine import Machine


def repeats(machine: Machine, function: Function, arguments: list[Value]) -> bool:
    """Whether a function is being walked twice already with the same arguments."""
    inside = 0
    names = None
    for frame in machine.frames:
        if frame.function is function:
            if names is None:
                names = [parameter.arg for parameter in function.node.args.args]
            held = [frame.content.get(name) for name in names[: len(arguments)]]
            if all(
                value is not None and same(value, argument) for value, argument in zip(held, arguments, strict=False)
            ):
                inside += 1
    return inside > 1


def descends(machine: Machine, function: Function, arguments: list[Value], keywords: dict[str, Value]) -> bool:
    """Whether a function that calls itself goes down what is not known: nothing among its arguments that is known could
    be what it counts, or goes down as well.
    """
    values = _given(function, arguments) + list(keywords.values())
    return (
        any(isinstance(value, Unknown) for value in values)
        and all(isinstance(value, Unknown) or _bounds_nothing(value) for value in values)
        and _calls_itself(function)
    )


def _bounds_nothing(value: Value) -> bool:
    """Whether a value that a function passes on to itself leads to no end: a text, a switch, a type, a function."""
    if isinstance(value, Const):
        return value.value is None or isinstance(value.value, (str, bool))
    return isinstance(value, (External, Class, Function))


def _given(function: Function, arguments: list[Value]) -> list[Value]:
    """The arguments, without the object of a method."""
    method = function.owner is not None and bool(arguments) and isinstance(arguments[0], Instance)
    return arguments[1:] if method else arguments


def _calls_itself(function: Function) -> bool:
    node = function.node
    if isinstance(node, ast.Lambda) or node.name == "__init__":  # what a constructor calls so is that of a base
        return False
    known = getattr(node, "walk_recurs", None)
    if known is None:
        known = any(
            (isinstance(inner, ast.Name) and inner.id == node.name)
            or (isinstance(inner, ast.Attribute) and inner.attr == node.name and not _is_of_base(inner.value))
            for statement in node.body
            for inner in ast.walk(statement)
        )
        node.walk_recurs = known  # pyrefly: ignore
    return known


def _is_of_base(owner: ast.expr) -> bool:
    """Whether it is ``super()``: a method of the same name there is another."""
    return isinstance(owner, ast.Call) and isinstance(owner.func, ast.Name) and owner.func.id == "super"


def descend(
    machine: Machine,
    function: Function,
    arguments: list[Value],
    keywords: dict[str, Value],
    enter: Callable[[list[Value], dict[str, Value]], Value],
) -> Value:
    """One call of it that stands for any number of them, which ``enter`` walks: what calls with any arguments may
    change is forgotten before, and those inside are not entered (``any_depth``).
    """
    reason = _why(function)
    given = _given(function, arguments)
    any_of = [*arguments[: len(arguments) - len(given)], *(machine.unknown(reason) for _ in given)]
    unknown = {name: machine.unknown(reason) for name in keywords}
    machine.descending.append(function)
    try:
        loops.forget_changes(machine, lambda: Return(enter(any_of, unknown)), reason)
        return enter(arguments, keywords)
    finally:
        machine.descending.pop()


def any_depth(machine: Machine, function: Function) -> Value:
    """What comes of a call inside the one that stands for any number of them."""
    machine.may_raise(_why(function))
    return machine.unknown(_why(function))


def _why(function: Function) -> str:
    return f"how often {function.qualname} calls itself is not known"
