"""Sets: their methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from preflight.walk import hashing, subscripts, texts
from preflight.walk.library import whole
from preflight.walk.library.whole import Method
from preflight.walk.values import (
    NONE,
    Const,
    Perhaps,
    SetValue,
    Value,
)

if TYPE_CHECKING:
    from preflight.walk.machine import Machine


def _add(machine: Machine, value: SetValue, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    subscripts.add_element(machine, value, arguments[0])
    return NONE


def _discard(
    machine: Machine, value: SetValue, arguments: list[Value], keywords: dict[str, Value], strict: bool = False
) -> Value:
    try:
        hashed = hashing.key_of(machine, arguments[0])
    except hashing.Unhashed:
        machine.may_raise("which element is removed is not known")
        machine.loosen(value, "which element was removed is not known", clear=True)
        return NONE
    if hashed in value.content:
        if isinstance(value.content[hashed], Perhaps) and strict:
            machine.may_raise("whether the element is there is not known")
        machine.state.touch(value)
        del value.content[hashed]
    elif strict:
        if value.loose:
            machine.may_raise(value.loose)
        else:
            machine.fail("KeyError", texts.text(machine, arguments[0], quoted=True) or "?")
    return NONE


def _set_remove(machine: Machine, value: SetValue, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    return _discard(machine, value, arguments, keywords, strict=True)


def _set_update(machine: Machine, value: SetValue, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    for argument in arguments:
        items = machine.items(argument)
        if items is None:
            machine.loosen(value, "what it was updated by is not known", clear=False)
        for item in items or ():
            subscripts.add_element(machine, value, item)
    return NONE


def _as_set(machine: Machine, value: Value) -> SetValue | None:
    if isinstance(value, SetValue):
        return None if value.loose or any(isinstance(element, Perhaps) for element in value.content.values()) else value
    items = machine.items(value)
    if items is None:
        return None
    made = machine.set(items)
    return made if isinstance(made, SetValue) and not made.loose else None


def _set_operation(name: str, host: Callable[[Any, Any], Any]) -> Method:
    def run(machine: Machine, value: SetValue, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        left = _as_set(machine, value)
        for argument in arguments:
            right = _as_set(machine, argument)
            if left is None or right is None:
                return machine.unknown("a set of which not all elements are known")
            result = host(left.content.keys(), right.content.keys())
            if isinstance(result, bool):
                return Const(result)
            every = {**left.content, **right.content}
            left = SetValue(value.kind, {key: every[key] for key in every if key in result}, machine.state.fresh())
        return left if left is not None else machine.unknown("a set of which not all elements are known")

    return run


SET: dict[str, Method] = {
    "add": _add,
    "discard": _discard,
    "remove": _set_remove,
    "update": _set_update,
    "clear": whole.clear,
    "copy": whole.copy,
    "union": _set_operation("union", lambda a, b: a | b),
    "intersection": _set_operation("intersection", lambda a, b: a & b),
    "difference": _set_operation("difference", lambda a, b: a - b),
    "symmetric_difference": _set_operation("symmetric_difference", lambda a, b: a ^ b),
    "issubset": _set_operation("issubset", lambda a, b: a <= b),
    "issuperset": _set_operation("issuperset", lambda a, b: a >= b),
    "isdisjoint": _set_operation("isdisjoint", lambda a, b: a.isdisjoint(b)),
}
