"""Subscripts: reading, setting and deleting items of containers."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

from preflight.walk import derived
from preflight.walk.classes import class_of, lookup
from preflight.walk.derived import Derived
from preflight.walk.hashing import Unhashed, key_of
from preflight.walk.operands import distribute
from preflight.walk.stored import both, hidden
from preflight.walk.texts import text
from preflight.walk.values import (
    Bound,
    Builtin,
    Class,
    Const,
    External,
    Form,
    Function,
    Instance,
    Map,
    OneOf,
    Perhaps,
    Seq,
    SetValue,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from preflight.walk.machine import Machine


def member_named(machine: Machine, enum: Class, key: Value) -> Value:
    """``Enum[key]`` as the metaclass of enums does it."""
    members = enum.notes["members"]
    if isinstance(key, Const):
        if key.value in members:
            return members[key.value]
        if not enum.gap():
            machine.fail("KeyError", repr(key.value))
    return machine.unknown("which member of an enum it is, is not known")


def get_item(machine: Machine, owner: Value, key: Value) -> Value:
    """``owner[key]``."""
    if isinstance(owner, OneOf) or (isinstance(key, OneOf) and not isinstance(owner, (Class, Form, External))):
        return distribute(machine, owner, key, lambda a, b: get_item(machine, a, b))
    if isinstance(owner, Map):
        return _map_item(machine, owner, key)
    if isinstance(owner, Seq) or (isinstance(owner, Const) and isinstance(owner.value, (str, bytes, range))):
        return _seq_item(machine, owner, key)
    if isinstance(owner, Instance):
        found = lookup(owner.cls, "__getitem__")
        if found.value is not None and found.sure:
            return machine.call(found.value, [owner, key])
        if owner.payload is not None:
            return get_item(machine, owner.payload, key)
        if found.sure and not owner.cls.gap() and not owner.loose:
            machine.fail("TypeError", f"'{owner.cls.name}' object is not subscriptable")
        return machine.unknown(f"the items of {owner.cls.name} are not known")
    if isinstance(owner, Class):
        if owner.metaclass is not None and (getter := lookup(owner.metaclass, "__getitem__").value) is not None:
            return machine.call(getter, [owner, key])
        if "members" in owner.notes:
            return member_named(machine, owner, key)
        return machine.library.subscript(machine, owner, key)
    if isinstance(owner, (Form, External)):
        return machine.library.subscript(machine, owner, key)
    if isinstance(owner, Unknown):
        machine.may_raise(owner.reason)
        return Unknown(owner.reason, owner.place)
    if isinstance(owner, Const):
        if hasattr(owner.value, "__getitem__") and isinstance(key, Const):
            try:
                return machine.value(owner.value[key.value])
            except (LookupError, TypeError) as error:
                machine.fail(type(error).__name__, str(error))
        machine.fail("TypeError", f"'{type(owner.value).__name__}' object is not subscriptable")
    cls = class_of(machine, owner)
    if isinstance(owner, (SetValue, Function, Bound, Builtin)):
        machine.fail("TypeError", f"'{cls.name if cls is not None else 'object'}' object is not subscriptable")
    return machine.unknown("a subscript that is not modelled")


def _map_item(machine: Machine, owner: Map, key: Value) -> Value:
    try:
        hashed = key_of(machine, key)
    except Unhashed:
        machine.may_raise("which key is read is not known")
        if not owner.content and not owner.loose and owner.factory is None and owner.kind.native is dict:
            machine.fail("KeyError", "the dict is empty")
        return machine.unknown("which key is read is not known")
    entry = owner.content.get(hashed)
    if entry is None:
        if owner.factory is not None and not owner.loose:
            made = machine.call(owner.factory, [])
            store_item(machine, owner, key, made)
            return made
        why = hidden(owner.loose, hashed)
        if why:
            machine.may_raise(why)
            return machine.unknown(why)
        machine.fail("KeyError", text(machine, key, quoted=True) or "?", values=(("the key", key),))
    if isinstance(entry[1], Perhaps):
        machine.may_raise("whether the key is there is not known")
        return entry[1].value
    return entry[1]


def _seq_item(machine: Machine, owner: Seq | Const, key: Value) -> Value:
    if isinstance(key, Instance) and key.payload is not None:
        key = key.payload
    if isinstance(owner, Seq) and owner.loose:
        machine.may_raise(owner.loose)
        return machine.unknown(owner.loose)
    if isinstance(key, Derived) or isinstance(owner, Derived):
        made = _derived_item(machine, owner, key)
        if made is not None:
            return made
    if isinstance(key, Const):
        try:
            if isinstance(owner, Const):
                return Const(owner.value[key.value])
            found = owner.content[key.value]
        except IndexError:
            kind = (
                owner.kind.name
                if isinstance(owner, Seq)
                else {"str": "string"}.get(type(owner.value).__name__, "range object")
            )
            machine.fail("IndexError", f"{kind} index out of range", values=(("the index", key),))
        except TypeError:
            kind = (
                owner.kind.name
                if isinstance(owner, Seq)
                else {"str": "string"}.get(type(owner.value).__name__, type(owner.value).__name__)
            )
            machine.fail("TypeError", f"{kind} indices must be integers or slices, not {type(key.value).__name__}")
        if isinstance(found, list):
            return Seq(owner.kind, found, machine.state.fresh())
        return found
    machine.may_raise("which item is read is not known")
    if isinstance(owner, Seq) and owner.content and isinstance(key, Unknown):
        if len(owner.content) == 1 and key.cls is machine.natives.int:
            return owner.content[0]
        return machine.unknown("which item is read is not known")
    if _is_no_index(key):
        cls = class_of(machine, key)
        kind = owner.kind.name if isinstance(owner, Seq) else "string"
        machine.fail(
            "TypeError", f"{kind} indices must be integers or slices, not {cls.name if cls is not None else 'object'}"
        )
    return machine.unknown("which item is read is not known")


def _derived_item(machine: Machine, owner: Seq | Const, key: Value) -> Value | None:
    """An item that depends on the number of a round; None where it is read as any other."""
    if isinstance(owner, Seq):
        return derived.item_of(machine, owner.content, key) if isinstance(key, Derived) else None
    if not isinstance(key, Const):
        return None
    try:
        return derived.apply(machine, operator.getitem, (owner, key))
    except (IndexError, TypeError):
        return None


def _is_no_index(key: Value) -> bool:
    """Whether a value can surely not index a list."""
    if isinstance(key, Instance):
        return not key.loose and not key.cls.gap() and lookup(key.cls, "__index__").value is None
    return isinstance(key, (Seq, Map, SetValue, Function, Class))


def need_index(machine: Machine, value: Value) -> None:
    """A method of a list that takes a position refuses what is none."""
    if _is_no_index(value):
        cls = class_of(machine, value)
        machine.fail(
            "TypeError", f"'{cls.name if cls is not None else 'object'}' object cannot be interpreted as an integer"
        )


def set_item(machine: Machine, owner: Value, key: Value, value: Value) -> None:
    """``owner[key] = value``."""
    if isinstance(owner, Map):
        store_item(machine, owner, key, value)
        write_back(machine, owner)
    elif isinstance(owner, Seq):
        if owner.kind is machine.natives.tuple:
            machine.fail("TypeError", "'tuple' object does not support item assignment")
        if owner.loose:
            return
        machine.state.touch(owner)
        if isinstance(key, Const) and isinstance(key.value, slice):
            items = machine.items(value)
            if items is None:
                machine.loosen(owner, "the items put into it are not known", clear=True)
            else:
                try:
                    owner.content[key.value] = items
                except ValueError as error:
                    machine.fail("ValueError", str(error))
        elif isinstance(key, Const):
            try:
                owner.content[key.value] = value
            except IndexError:
                machine.fail("IndexError", "list assignment index out of range")
            except TypeError:
                machine.fail("TypeError", f"list indices must be integers or slices, not {type(key.value).__name__}")
        elif _is_no_index(key):
            cls = class_of(machine, key)
            machine.fail(
                "TypeError", f"list indices must be integers or slices, not {cls.name if cls is not None else 'object'}"
            )
        else:
            machine.may_raise("which item is set is not known")
            machine.loosen(owner, "which item was set is not known", clear=True)
    elif isinstance(owner, Instance):
        found = lookup(owner.cls, "__setitem__")
        if found.value is not None and found.sure:
            machine.call(found.value, [owner, key, value])
        elif owner.payload is not None:
            set_item(machine, owner.payload, key, value)
        elif found.sure and not owner.cls.gap():
            machine.fail("TypeError", f"'{owner.cls.name}' object does not support item assignment")
    elif isinstance(owner, (Const, SetValue, Function)) or (isinstance(owner, Class) and owner.metaclass is None):
        cls = class_of(machine, owner)
        machine.fail(
            "TypeError", f"'{cls.name if cls is not None else 'object'}' object does not support item assignment"
        )
    elif isinstance(owner, OneOf):
        machine.may_raise("which object is changed is not known")
        machine.escape(list(owner.options), "which of several objects was changed is not known")
        machine.escape([value], "it is held by one of several objects")
    else:
        machine.may_raise("an item is set on something that is not known")
        machine.escape([value], "it is held by something that is not known")


def write_back(machine: Machine, changed: Map) -> None:
    """A change of an object's ``__dict__`` is one of the object."""
    owner = changed.owner
    if owner is None:
        return
    machine.state.touch(owner)
    owner.content = {str(name): entry for name, (_key, entry) in changed.content.items()}
    owner.loose = both(owner.loose, changed.loose)


def store_item(machine: Machine, owner: Map, key: Value, value: Value) -> None:
    """Put an entry into a dict."""
    machine.state.touch(owner)
    try:
        hashed = key.raw if isinstance(key, Derived) else key_of(machine, key)
    except Unhashed:
        owner.content = {}
        owner.loose = "a key that was set is not known"
        return
    known_entry = owner.content.get(hashed)
    owner.content[hashed] = (known_entry[0] if known_entry is not None else key, value)


def add_element(machine: Machine, owner: SetValue, element: Value) -> None:
    """Put an element into a set."""
    machine.state.touch(owner)
    try:
        key = element.raw if isinstance(element, Derived) else key_of(machine, element)
        owner.content.setdefault(key, element)
    except Unhashed:
        owner.loose = "an element that was added is not known"


def delete_item(machine: Machine, owner: Value, key: Value) -> None:
    """``del owner[key]``."""
    if isinstance(owner, Map):
        try:
            hashed = key_of(machine, key)
        except Unhashed:
            machine.may_raise("which key is deleted is not known")
            machine.loosen(owner, "a key that was deleted is not known", clear=True)
            return
        entry = owner.content.get(hashed)
        if entry is None:
            if not owner.loose:
                machine.fail("KeyError", text(machine, key, quoted=True) or "?", values=(("the key", key),))
            machine.may_raise(owner.loose)
            return
        if isinstance(entry[1], Perhaps):
            machine.may_raise("whether the key is there is not known")
        machine.state.touch(owner)
        del owner.content[hashed]
        write_back(machine, owner)
    elif isinstance(owner, Seq) and isinstance(key, Const) and not owner.loose:
        machine.state.touch(owner)
        try:
            del owner.content[key.value]
        except IndexError:
            machine.fail("IndexError", "list assignment index out of range")
    elif isinstance(owner, Instance):
        found = lookup(owner.cls, "__delitem__").value
        if found is not None:
            machine.call(found, [owner, key])
        elif owner.payload is not None:
            delete_item(machine, owner.payload, key)
    else:
        machine.may_raise("what is deleted is not known")
        machine.escape([owner], "what was deleted is not known")
