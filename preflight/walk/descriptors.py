"""Descriptors as values: what a property, a class method and their like have themselves, read through their class."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from preflight.walk.attributes import bind, find
from preflight.walk.values import Builtin, Class, Const, Descriptor, Value

if TYPE_CHECKING:
    from preflight.walk.machine import Machine

#: what each kind is in Python
_HOSTS = {
    "property": property,
    "cached_property": cached_property,
    "classmethod": classmethod,
    "staticmethod": staticmethod,
}
#: the functions that a property holds, by the names that it has for them
_HELD = {"fget": "function", "fset": "setter", "fdel": "deleter"}
#: what makes another property of one, by what it replaces
_REPLACING = {"getter": "function", "setter": "setter", "deleter": "deleter"}


def of_descriptor(machine: Machine, value: Descriptor, name: str) -> Value | None:
    """``value.name`` of a descriptor that was not bound; None where it surely is not there."""
    if name == "__get__":
        return Builtin(f"{value.kind}.__get__", lambda machine, arguments, keywords: _got(machine, value, arguments))
    if value.kind == "property":
        if name in _REPLACING:
            return _replacing(value, _REPLACING[name], name)
        if name in _HELD:
            held: Value | None = getattr(value, _HELD[name])
            return held if held is not None else Const(None)
        if name in ("__set__", "__delete__"):
            return _writing(value, name)
    if name in ("__func__", "__wrapped__", "func"):
        return value.function
    found = find(machine, value.function, name)
    if found is None and hasattr(_HOSTS.get(value.kind, object), name):
        return machine.unknown(f"{name} of a {value.kind}")
    return found


def _got(machine: Machine, value: Descriptor, arguments: list[Value]) -> Value:
    """What is read through the object and the class given."""
    receiver = arguments[0] if arguments else Const(None)
    through_class = isinstance(receiver, Const) and receiver.value is None
    cls = arguments[1] if len(arguments) > 1 else machine.class_of(receiver)
    if not isinstance(cls, Class):
        return machine.unknown(f"what a {value.kind} gives for a class that is not known")
    return bind(machine, value, None if through_class else receiver, cls)


def _replacing(value: Descriptor, part: str, name: str) -> Builtin:
    def run(machine: Machine, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        made = Descriptor(value.kind, value.function, value.setter, value.deleter)
        setattr(made, part, arguments[0])
        return made

    return Builtin(f"property.{name}", run)


def _writing(value: Descriptor, name: str) -> Builtin:
    """``__set__`` or ``__delete__`` of a property."""
    held, called = (value.setter, "setter") if name == "__set__" else (value.deleter, "deleter")

    def run(machine: Machine, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        if held is None:
            machine.fail("AttributeError", f"property has no {called}")
        machine.call(held, list(arguments))
        return Const(None)

    return Builtin(f"property.{name}", run)
