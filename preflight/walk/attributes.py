"""Attributes: what ``value.name`` is, and what assigning it does, by the rules of the object model."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from preflight.walk.classes import Found, lookup, lookup_after
from preflight.walk.nearby import remark
from preflight.walk.outcomes import Raised, fork
from preflight.walk.stored import UNBUILT, has_name, hidden
from preflight.walk.truth import Truth
from preflight.walk.values import (
    Bound,
    Builtin,
    Class,
    Const,
    Descriptor,
    External,
    Form,
    Function,
    Instance,
    Map,
    ModuleValue,
    OneOf,
    Perhaps,
    Seq,
    SetValue,
    Stream,
    Super,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from preflight.walk.machine import Machine


def get(machine: Machine, value: Value, name: str) -> Value:
    """``value.name``; raises ``Raised`` where it surely is not there."""
    if isinstance(value, OneOf):
        return fork(
            machine, [lambda option=option: get(machine, option, name) for option in value.options], uncertain(machine)
        )
    try:
        found = find(machine, value, name)
    except Raised as raised:
        if not all(exit.missing is not None and exit.missing[0] is value for exit in raised.exits):
            raise
        if machine.is_past(name) or _is_stand_in(value):
            return _unfound(machine, value, name)
        # a class looks its attributes up itself: the fault is where it was asked, not in its lookup
        raise Raised(tuple(replace(exit, place=machine.place(), way=machine.way()) for exit in raised.exits)) from None
    if found is None:
        if machine.is_past(name) or _is_stand_in(value):
            return _unfound(machine, value, name)
        machine.fail("AttributeError", absent(machine, value, name), missing=(value, name))
    if isinstance(found, Perhaps):
        if not isinstance(value, External):
            machine.may_raise(f"the attribute {name} may be missing")
        return found.value
    return found


def _is_stand_in(value: Value) -> bool:
    """Whether the object stands for one of a class whose code is not here: it may have what nothing says it has."""
    return isinstance(value, Instance) and "lacks" in value.cls.notes


def _unfound(machine: Machine, value: Value, name: str) -> Value:
    if not machine.is_past(name):
        machine.may_raise(f"the attribute {name} may be missing")
    return machine.unknown(f"the attribute {name} that is missing")


def absent(machine: Machine, value: Value, name: str) -> str:
    """The sentence Python says about an attribute that is not there."""
    if isinstance(value, Class):
        return f"type object '{value.name}' has no attribute '{name}'"
    if isinstance(value, ModuleValue):
        return f"module '{value.name}' has no attribute '{name}'"
    if isinstance(value, Super):
        return f"'super' object has no attribute '{name}'"
    cls = machine.class_of(value)
    return f"'{cls.name if cls is not None else 'object'}' object has no attribute '{name}'"


def probe(machine: Machine, value: Value, name: str) -> tuple[Truth, Value | None]:
    """What ``hasattr`` and ``getattr`` with a default need: whether it is there, and the value if it is."""
    state = machine.state
    state.tries += 1
    base = len(state.pendings)
    try:
        found = find(machine, value, name)
    except Raised as raised:
        if all(
            exit.cls is not None and exit.cls.is_subclass(machine.natives.exception("AttributeError"))
            for exit in raised.exits
        ):
            return Truth.NO, None
        raise
    finally:
        state.tries -= 1
        uncertain = len(state.pendings) > base
        if not state.tries:
            del state.pendings[base:]
    if found is None:
        if isinstance(value, Class) and value.node is not None:
            remark(machine.remarks, value, name)
        return Truth.NO, None
    if isinstance(found, Perhaps):
        return Truth.MAYBE, found.value
    return (Truth.MAYBE if uncertain else Truth.YES), found


def find(machine: Machine, value: Value, name: str) -> Value | None:
    """``value.name``; None where it surely is not there, ``Perhaps`` where it may not be."""
    if isinstance(value, Instance):
        return _of_instance(machine, value, name)
    if isinstance(value, Class):
        return _of_class(machine, value, name)
    if isinstance(value, ModuleValue):
        return machine.modules.attribute(machine, value, name)
    if isinstance(value, External):
        return machine.library.attribute(machine, value, name)
    if isinstance(value, Super):
        return _of_super(machine, value, name)
    if isinstance(value, Unknown):
        return _of_unknown(machine, value, name)
    if isinstance(value, (Function, Bound, Builtin)):
        return _of_callable(machine, value, name)
    if isinstance(value, Descriptor):
        from preflight.walk.descriptors import of_descriptor

        return of_descriptor(machine, value, name)
    if isinstance(value, (Const, Seq, Map, SetValue, Stream)):
        return machine.library.native_attribute(machine, value, name)
    if isinstance(value, Form):
        return machine.library.form_attribute(machine, value, name)
    return Perhaps(machine.unknown(f"the attribute {name} of {value!r} is not known"))


def uncertain(machine: Machine) -> str:
    """Why it is not known which of several objects is meant here."""
    place = machine.place()
    return f"depends on a condition that is not known ({place.path}:{place.line})"


def _of_unknown(machine: Machine, value: Unknown, name: str) -> Value | None:
    if value.cls is not None:
        found = lookup(value.cls, name)
        if isinstance(found.value, (Function, Descriptor)) and found.sure and not value.cls.native:
            return Perhaps(machine.unknown(value.reason))
        if value.cls.native in (str, int, float, bool, bytes):
            if not hasattr(value.cls.native, name):
                return None
            return machine.library.native_attribute(machine, value, name)
    if name == "__class__":
        return value.cls if value.cls is not None else machine.unknown(value.reason)
    return Perhaps(Unknown(value.reason, value.place))


def _of_instance(machine: Machine, value: Instance, name: str) -> Value | None:
    cls = value.cls
    special = lookup(cls, "__getattribute__")
    if isinstance(special.value, Function):
        try:
            return machine.call(special.value, [value, Const(name)])
        except Raised as raised:
            getter = lookup(cls, "__getattr__").value
            if not isinstance(getter, Function) or not _all_attribute_errors(machine, raised):
                raise
            return machine.call(getter, [value, Const(name)])
    found = plain(machine, value, name)
    if found is not None:
        return found
    getter = lookup(cls, "__getattr__")
    if getter.value is not None and getter.sure:
        return machine.call(getter.value, [value, Const(name)])
    return None


def _all_attribute_errors(machine: Machine, raised: Raised) -> bool:
    error = machine.natives.exception("AttributeError")
    return all(exit.cls is not None and exit.cls.is_subclass(error) for exit in raised.exits)


def plain(machine: Machine, value: Instance, name: str) -> Value | None:
    """What ``object.__getattribute__`` finds."""
    cls = value.cls
    on_class = lookup(cls, name)
    if on_class.value is not None and on_class.sure and is_data_descriptor(on_class.value):
        return bind(machine, on_class.value, value, cls)
    own = value.content.get(name)
    if own is not None:
        return own
    if on_class.value is not None:
        if not on_class.sure:
            return Perhaps(machine.unknown(f"a base of {cls.name} is not known: {cls.gap()}"))
        return bind(machine, on_class.value, value, cls)
    if name == "__class__":
        return cls
    if name == "__dict__":
        return _namespace(machine, value)
    if name == "__doc__":
        return Const(None)
    if name == "__module__":
        return Const(cls.module)
    if value.payload is not None:
        found = find(machine, value.payload, name)
        if found is not None:
            return found
    if value.loose is UNBUILT:
        if has_name(value, name):
            return machine.unknown(UNBUILT)
    elif value.loose:
        why = hidden(value.loose, name)
        if why and not ("lacks" in cls.notes and cls.notes["lacks"](machine, name)):
            return Perhaps(machine.unknown(why))
    gap = cls.gap()
    if gap:
        return Perhaps(machine.unknown(f"not all attributes of {cls.name} are known: {gap}"))
    return machine.library.object_attribute(machine, value, name)


def _namespace(machine: Machine, value: Instance | Class) -> Value:
    """``__dict__``: a copy, which writes back what is put into it or taken out."""
    made = machine.strings(value.content)
    made.loose = value.loose
    made.owner = value if isinstance(value, Instance) else None
    return made


def is_data_descriptor(value: Value) -> bool:
    if isinstance(value, Descriptor):
        return value.kind == "property"
    return isinstance(value, Instance) and lookup(value.cls, "__set__").value is not None


def bind(machine: Machine, value: Value, receiver: Value | None, cls: Class) -> Value:
    """What an attribute found on ``cls`` becomes when it is read through ``receiver`` (None: through the class)."""
    if isinstance(value, Perhaps):
        return Perhaps(bind(machine, value.value, receiver, cls))
    if isinstance(value, (Function, Builtin)):
        return value if receiver is None else Bound(value, receiver)
    if isinstance(value, Descriptor):
        if value.kind == "staticmethod":
            return value.function
        if value.kind == "classmethod":
            return Bound(value.function, cls)
        if receiver is None:
            return value
        if value.kind == "cached_property" and isinstance(receiver, Instance):
            result = machine.call(value.function, [receiver])
            machine.state.touch(receiver)
            receiver.content[value.name] = result
            return result
        return machine.call(value.function, [receiver])
    if isinstance(value, Instance):
        getter = lookup(value.cls, "__get__").value
        if getter is not None:
            return machine.call(getter, [value, receiver if receiver is not None else Const(None), cls])
    if isinstance(value, OneOf):
        bound = [bind(machine, option, receiver, cls) for option in value.options]
        return OneOf(tuple(bound))
    return value


def _of_class(machine: Machine, value: Class, name: str) -> Value | None:
    meta = value.metaclass
    if meta is not None:
        on_meta = lookup(meta, name)
        if isinstance(on_meta.value, Descriptor) and on_meta.value.kind == "property":
            return bind(machine, on_meta.value, value, meta)
    found = lookup(value, name)
    if found.value is not None:
        if not found.sure:
            return Perhaps(machine.unknown(f"a base of {value.name} is not known: {value.gap()}"))
        if isinstance(found.value, Builtin) and found.value.attributes and value.node is not None:
            remark(machine.remarks, value, name)
        return bind(machine, found.value, None, value)
    if meta is not None:
        on_meta = lookup(meta, name)
        if on_meta.value is not None:
            return bind(machine, on_meta.value, value, meta)
    if name == "__dict__":
        return _namespace(machine, value)
    known = machine.library.class_attribute(machine, value, name)
    if known is not None:
        return known
    if meta is not None:
        getter = lookup(meta, "__getattr__").value
        if getter is not None:
            return machine.call(getter, [value, Const(name)])
    gap = value.gap()
    return Perhaps(machine.unknown(f"not all attributes of {value.name} are known: {gap}")) if gap else None


def _of_super(machine: Machine, value: Super, name: str) -> Value | None:
    found: Found = lookup_after(value.start, value.after, name)
    if found.value is not None:
        if not found.sure:
            return Perhaps(machine.unknown(f"a base of {value.start.name} is not known: {value.start.gap()}"))
        receiver = (
            None if isinstance(value.receiver, Class) and not isinstance(found.value, Builtin) else value.receiver
        )
        if isinstance(value.receiver, Class) and value.receiver.metaclass is value.start:
            receiver = value.receiver
        if name == "__new__":
            return found.value.function if isinstance(found.value, Descriptor) else found.value
        if isinstance(found.value, Descriptor) and found.value.kind == "classmethod":
            return Bound(found.value.function, value.receiver if isinstance(value.receiver, Class) else value.start)
        return bind(machine, found.value, receiver, value.start)
    if not found.sure:
        return Perhaps(machine.unknown(f"a base of {value.start.name} is not known: {value.start.gap()}"))
    return machine.library.super_attribute(machine, value, name)


def _of_callable(machine: Machine, value: Function | Bound | Builtin, name: str) -> Value | None:
    if isinstance(value, Bound):
        if name == "__self__":
            return value.receiver
        if name == "__func__":
            return value.function
        return find(machine, value.function, name) if not isinstance(value.function, Class) else None
    if isinstance(value, Function):
        own = value.content.get(name)
        if own is not None:
            return own
    return machine.library.callable_attribute(machine, value, name)
