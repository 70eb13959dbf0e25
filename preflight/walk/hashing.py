"""Hash keys: what stands for a value as the key of a dict or the element of a set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from preflight.walk.classes import lookup
from preflight.walk.values import (
    Bound,
    Const,
    External,
    Form,
    Host,
    Instance,
    Map,
    OneOf,
    Seq,
    SetValue,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from preflight.walk.machine import Machine


class Unhashed(Exception):
    """The hash of the value is not known."""


def key_of(machine: Machine, value: Value) -> Host:
    """What stands for ``value`` as a key; raises ``Unhashed`` where that is not known."""
    if isinstance(value, Const):
        try:
            hash(value.value)
        except TypeError:
            machine.fail("TypeError", f"unhashable type: '{type(value.value).__name__}'")
        return value.value
    if isinstance(value, Seq) and value.kind is machine.natives.tuple:
        return tuple(key_of(machine, item) for item in value.content)
    if isinstance(value, SetValue) and value.kind is machine.natives.frozenset:
        if value.loose:
            raise Unhashed
        return frozenset(value.content)
    if isinstance(value, (Seq, Map, SetValue)):
        machine.fail("TypeError", f"unhashable type: '{value.kind.name}'")
    if isinstance(value, Instance):
        if "members" in value.cls.notes:
            return key_of(machine, value.payload) if value.payload is not None else value
        if value.payload is not None:
            return key_of(machine, value.payload)
        fields = value.cls.notes.get("fields")
        if fields is not None and value.cls.notes.get("frozen"):
            return (value.cls, *(key_of(machine, value.content[name]) for name in fields if name in value.content))
        for name in ("__hash__", "__eq__"):
            found = lookup(value.cls, name)
            if found.value is not None or not found.sure:
                raise Unhashed
        return value
    if isinstance(value, Form):
        return ("form", value.head, *(_argument_key(machine, argument) for argument in value.arguments))
    if isinstance(value, External):
        return ("external", value.name)
    if isinstance(value, Bound):
        return ("bound", value.function, value.receiver)
    if isinstance(value, (Unknown, OneOf)):
        raise Unhashed
    return value


def _argument_key(machine: Machine, value: Value) -> Host:
    """The arguments of ``Callable[[int], str]`` are a list, and hash all the same."""
    if isinstance(value, Seq) and not value.loose:
        return tuple(_argument_key(machine, item) for item in value.content)
    return key_of(machine, value)
