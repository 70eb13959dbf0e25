"""Assigning and deleting attributes, by the rules of the object model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from preflight.walk import attributes
from preflight.walk.classes import lookup, rebase
from preflight.walk.outcomes import Next, run_arm, settle
from preflight.walk.values import (
    Class,
    Const,
    Descriptor,
    Function,
    Instance,
    Map,
    ModuleValue,
    OneOf,
    Perhaps,
    Seq,
    SetValue,
    Value,
)

if TYPE_CHECKING:
    from preflight.walk.machine import Machine


def assign(machine: Machine, value: Value, name: str, item: Value) -> None:
    """``value.name = item``."""
    if isinstance(value, OneOf):
        arms = []
        for option in value.options:

            def body(option: Value = option) -> Next:
                assign(machine, option, name, item)
                return Next()

            arms += run_arm(machine, body)
        settle(machine, arms, attributes.uncertain(machine))
        return
    if isinstance(value, Instance):
        special = lookup(value.cls, "__setattr__")
        if special.value is not None and special.sure:
            machine.call(special.value, [value, Const(name), item])
            return
        assign_plain(machine, value, name, item)
    elif isinstance(value, Class) and name == "__bases__":
        rebase(machine, value, item)
    elif isinstance(value, Class) and value.native is not None:
        machine.fail("TypeError", f"cannot set '{name}' attribute of immutable type '{value.name}'")
    elif isinstance(value, (Class, Function)):
        machine.state.touch(value)
        value.content[name] = item
    elif isinstance(value, ModuleValue):
        machine.modules.bind(machine, value, name, item)
    elif isinstance(value, (Const, Seq, Map, SetValue)):
        machine.fail("AttributeError", attributes.absent(machine, value, name), missing=(value, name))
    else:
        machine.may_raise(f"whether {name} can be set on what is not known")
        machine.escape(
            [item], f"it is held by something that is not known ({machine.place().path}:{machine.place().line})"
        )


def assign_plain(machine: Machine, value: Instance, name: str, item: Value) -> None:
    """What ``object.__setattr__`` does."""
    found = lookup(value.cls, name)
    if isinstance(found.value, Descriptor) and found.value.kind == "property" and found.sure:
        if found.value.setter is None:
            machine.fail(
                "AttributeError", f"property '{name}' of '{value.cls.name}' object has no setter", missing=(value, name)
            )
        machine.call(found.value.setter, [value, item])
        return
    if isinstance(found.value, Instance):
        setter = lookup(found.value.cls, "__set__").value
        if setter is not None:
            machine.call(setter, [found.value, value, item])
            return
    machine.state.touch(value)
    value.content[name] = item


def delete(machine: Machine, value: Value, name: str) -> None:
    """``del value.name``."""
    if isinstance(value, (Instance, Class)):
        special = lookup(value.cls, "__delattr__").value if isinstance(value, Instance) else None
        if special is not None:
            machine.call(special, [value, Const(name)])
            return
        found = lookup(value.cls, name).value if isinstance(value, Instance) else None
        if isinstance(value, Instance) and isinstance(found, Descriptor) and found.kind == "property":
            if found.deleter is None:
                reason = f"property '{name}' of '{value.cls.name}' object has no deleter"
                machine.fail("AttributeError", reason, missing=(value, name))
            machine.call(found.deleter, [value])
            return
        if name in value.content:
            if isinstance(value.content[name], Perhaps):
                machine.may_raise(f"the attribute {name} may be missing")
            machine.state.touch(value)
            del value.content[name]
            return
        if not value.loose:
            machine.fail("AttributeError", attributes.absent(machine, value, name), missing=(value, name))
