"""What operators share: joining results, payloads of objects, and what is said of operands that do not fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from preflight.walk.classes import class_of
from preflight.walk.joining import join, same
from preflight.walk.outcomes import fork
from preflight.walk.values import (
    Host,
    Instance,
    OneOf,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from preflight.walk.machine import Machine


def join_values(machine: Machine, left: Value, right: Value) -> Value:
    return join(machine, left, right, why(machine))


def why(machine: Machine) -> str:
    place = machine.place()
    return f"depends on a condition that is not known ({place.path}:{place.line})"


def same_binding(left: Value, right: Value) -> bool:
    """Whether two bindings of a name are surely the same, bound and value."""
    if isinstance(left, Unknown) and isinstance(right, Unknown):
        return True
    return same(left, right)


def same_content(left: Host, right: Host) -> bool:
    if isinstance(left, list):
        return len(left) == len(right) and all(same_binding(a, b) for a, b in zip(left, right, strict=True))
    if left.keys() != right.keys():
        return False
    for key, entry in left.items():
        other = right[key]
        if not same_binding(
            entry[1] if isinstance(entry, tuple) else entry, other[1] if isinstance(other, tuple) else other
        ):
            return False
    return True


def payload(value: Value) -> Value:
    return value.payload if isinstance(value, Instance) and value.payload is not None else value


def unsupported(machine: Machine, start: str, left: Value, right: Value) -> None:
    names = [cls.name if (cls := class_of(machine, side)) is not None else "object" for side in (left, right)]
    machine.fail("TypeError", f"{start} '{names[0]}' and '{names[1]}'")


def distribute(machine: Machine, left: Value, right: Value, operation: Callable[[Value, Value], Value]) -> Value:
    """An operation on one of several values: each pair on its own, the results joined."""
    lefts = left.options if isinstance(left, OneOf) else (left,)
    rights = right.options if isinstance(right, OneOf) else (right,)
    bodies = [lambda a=a, b=b: operation(a, b) for a in lefts for b in rights]
    return fork(machine, bodies, why(machine))
