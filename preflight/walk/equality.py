"""Truth, equality, identity and membership, three-valued."""

from __future__ import annotations

from typing import TYPE_CHECKING

from preflight.walk.classes import class_of, lookup
from preflight.walk.derived import Derived
from preflight.walk.hashing import Unhashed, key_of
from preflight.walk.stored import hidden
from preflight.walk.truth import Truth, both, known, unite
from preflight.walk.values import (
    NONE,
    Bound,
    Builtin,
    Class,
    Const,
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
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from preflight.walk.machine import Machine


SCALARS = (int, float, complex, str, bytes, type(None))


def truth(machine: Machine, value: Value) -> Truth:
    """Whether ``value`` counts as true."""
    if isinstance(value, Const):
        if value.origin is not None:
            machine.weigh(value.origin)
        return known(value.asked(bool) if isinstance(value, Derived) else bool(value.value))
    if isinstance(value, Unknown):
        return Truth.MAYBE if value.truthy is None else known(value.truthy)
    if isinstance(value, OneOf):
        return unite([truth(machine, option) for option in value.options])
    if isinstance(value, Seq):
        return Truth.MAYBE if value.loose else known(len(value.content) > 0)
    if isinstance(value, (Map, SetValue)):
        sure = any(
            not isinstance(entry[1] if isinstance(entry, tuple) else entry, Perhaps) for entry in value.content.values()
        )
        if sure:
            return Truth.YES
        return Truth.MAYBE if value.loose or value.content else Truth.NO
    if isinstance(value, Instance):
        for name in ("__bool__", "__len__"):
            found = lookup(value.cls, name)
            if found.value is not None and found.sure:
                return truth(machine, machine.call(found.value, [value]))
            if not found.sure:
                return Truth.MAYBE
        return truth(machine, value.payload) if value.payload is not None else Truth.YES
    if isinstance(value, Class):
        return (
            Truth.MAYBE
            if value.metaclass is not None and lookup(value.metaclass, "__bool__").value is not None
            else Truth.YES
        )
    if isinstance(value, (Function, Bound, Builtin, ModuleValue, Stream, Form)):
        return Truth.YES
    return Truth.MAYBE


def equal(machine: Machine, left: Value, right: Value) -> Truth:
    """``left == right``."""
    if isinstance(left, OneOf):
        return unite([equal(machine, option, right) for option in left.options])
    if isinstance(right, OneOf):
        return unite([equal(machine, left, option) for option in right.options])
    if isinstance(left, Instance) or isinstance(right, Instance):
        return _equal_instances(machine, left, right)
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return _equal_unknown(left, right)
    if left is right:
        return known(not (isinstance(left, Const) and left.value != left.value))
    if isinstance(left, Const) and isinstance(right, Const):
        return known(bool(left.value == right.value))
    if isinstance(left, Seq) and isinstance(right, Seq):
        if left.kind is not right.kind:
            return Truth.NO
        if left.loose or right.loose:
            return Truth.MAYBE
        if len(left.content) != len(right.content):
            return Truth.NO
        answer = Truth.YES
        for a, b in zip(left.content, right.content, strict=True):
            answer = both(answer, equal(machine, a, b))
        return answer
    if isinstance(left, Map) and isinstance(right, Map):
        if (
            left.loose
            or right.loose
            or any(isinstance(entry[1], Perhaps) for entry in (*left.content.values(), *right.content.values()))
        ):
            return Truth.NO if _told_apart(left, right) else Truth.MAYBE
        if left.content.keys() != right.content.keys():
            return Truth.NO
        answer = Truth.YES
        for key, entry in left.content.items():
            answer = both(answer, equal(machine, entry[1], right.content[key][1]))
        return answer
    if isinstance(left, SetValue) and isinstance(right, SetValue):
        if (
            left.loose
            or right.loose
            or any(isinstance(entry, Perhaps) for entry in (*left.content.values(), *right.content.values()))
        ):
            return Truth.MAYBE
        return known(left.content.keys() == right.content.keys())
    if isinstance(left, External) or isinstance(right, External):
        return _equal_external(left, right)
    if isinstance(left, Form) and isinstance(right, Form):
        try:
            return known(key_of(machine, left) == key_of(machine, right))
        except Unhashed:
            return Truth.MAYBE
    if isinstance(left, Bound) and isinstance(right, Bound):
        return known(left.function is right.function and left.receiver is right.receiver)
    return Truth.NO


def _told_apart(left: Map, right: Map) -> bool:
    """Whether two maps of which not all is known surely hold different constants under one key."""
    pairs = [(entry[1], right.content[key][1]) for key, entry in left.content.items() if key in right.content]
    return any(isinstance(a, Const) and isinstance(b, Const) and a.value != b.value for a, b in pairs)


def _equal_unknown(left: Value, right: Value) -> Truth:
    """A string is no number and no None; more is not known."""
    if left is right:
        return Truth.MAYBE
    unknown, other = (left, right) if isinstance(left, Unknown) else (right, left)
    if (
        isinstance(unknown, Unknown)
        and unknown.cls is not None
        and unknown.cls.native in SCALARS
        and isinstance(other, Const)
    ):
        numbers = (int, float, bool, complex)
        if unknown.cls.native in numbers and isinstance(other.value, numbers):
            return Truth.MAYBE
        if type(other.value) in (str, bytes, type(None), *numbers) and type(other.value) is not unknown.cls.native:
            return Truth.NO
    if (
        isinstance(unknown, Unknown)
        and unknown.truthy is not None
        and isinstance(other, Const)
        and unknown.truthy is not bool(other.value)
    ):
        return Truth.NO
    return Truth.MAYBE


def _equal_external(left: Value, right: Value) -> Truth:
    if isinstance(left, External) and isinstance(right, External):
        if left.name == right.name:
            return Truth.YES
        # two classes of one module of a library are two classes
        heads = [name.rpartition(".") for name in (left.name, right.name)]
        return (
            Truth.NO
            if heads[0][0] == heads[1][0] and heads[0][2][:1].isupper() and heads[1][2][:1].isupper()
            else Truth.MAYBE
        )
    other = right if isinstance(left, External) else left
    # what the tree defines itself is nothing of a library
    return (
        Truth.NO
        if isinstance(other, (Function, Form, Bound)) or (isinstance(other, Class) and other.native is None)
        else Truth.MAYBE
    )


def _equal_instances(machine: Machine, left: Value, right: Value) -> Truth:
    for one, other in ((left, right), (right, left)):
        if not isinstance(one, Instance):
            continue
        found = lookup(one.cls, "__eq__")
        if not found.sure:
            return Truth.YES if left is right else Truth.MAYBE
        if found.value is not None:
            answer = machine.call(found.value, [one, other])
            if isinstance(answer, Const) and answer.value is NotImplemented:
                continue
            return truth(machine, answer)
        fields = one.cls.notes.get("fields")
        if fields is not None and one.cls.notes.get("eq", True):
            if not (isinstance(other, Instance) and other.cls is one.cls):
                continue
            result = Truth.YES
            for name in fields:
                a, b = one.content.get(name), other.content.get(name)
                if a is None or b is None or isinstance(a, Perhaps) or isinstance(b, Perhaps):
                    return Truth.MAYBE
                result = both(result, equal(machine, a, b))
            return result
        if one.payload is not None:
            return equal(machine, one.payload, other)
    if left is right:
        return Truth.YES
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return Truth.MAYBE
    return Truth.NO


def identical(left: Value, right: Value) -> Truth:
    """``left is right``."""
    if isinstance(left, OneOf):
        return unite([identical(option, right) for option in left.options])
    if isinstance(right, OneOf):
        return unite([identical(left, option) for option in right.options])
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        unknown, other = (left, right) if isinstance(left, Unknown) else (right, left)
        assert isinstance(unknown, Unknown)
        if isinstance(other, Const) and (other.value is None or isinstance(other.value, bool)):
            if unknown.truthy is not None and unknown.truthy is not bool(other.value):
                return Truth.NO
            if unknown.cls is not None and unknown.cls is not other and unknown.cls.native is not type(other.value):
                return Truth.NO
        return Truth.MAYBE
    if isinstance(left, External) or isinstance(right, External):
        if isinstance(left, External) and isinstance(right, External):
            return Truth.YES if left.name == right.name else Truth.MAYBE
        return Truth.MAYBE
    if isinstance(left, Const) and isinstance(right, Const):
        if left.value is right.value:
            return Truth.YES
        singletons = (type(None), bool, type(Ellipsis), type(NotImplemented))
        if isinstance(left.value, singletons) or isinstance(right.value, singletons):
            return Truth.NO
        return Truth.NO if type(left.value) is not type(right.value) or left.value != right.value else Truth.MAYBE
    if isinstance(left, Form) and isinstance(right, Form):
        if left is right:
            return Truth.YES
        if left.arguments and right.arguments:
            return Truth.MAYBE  # equal forms may be one object, as typing keeps them
        return known(not left.arguments and not right.arguments and left.head == right.head)
    if isinstance(left, Bound) and isinstance(right, Bound):
        return Truth.NO
    return known(left is right)


def contains(machine: Machine, container: Value, item: Value) -> Truth:
    """``item in container``."""
    if isinstance(container, OneOf):
        return unite([contains(machine, option, item) for option in container.options])
    if isinstance(container, (Map, SetValue)):
        if isinstance(item, OneOf):
            return unite([contains(machine, container, option) for option in item.options])
        try:
            key = key_of(machine, item)
        except Unhashed:
            return Truth.NO if not container.content and not container.loose else Truth.MAYBE
        entry = container.content.get(key)
        if entry is None:
            return Truth.MAYBE if hidden(container.loose, key) else Truth.NO
        inner = entry[1] if isinstance(entry, tuple) else entry
        return Truth.MAYBE if isinstance(inner, Perhaps) else Truth.YES
    if isinstance(container, Seq):
        if container.loose:
            return Truth.MAYBE
        answer = Truth.NO
        for element in container.content:
            one = (
                Truth.YES
                if element is item and not isinstance(item, (Unknown, OneOf))
                else equal(machine, element, item)
            )
            if one is Truth.YES:
                return Truth.YES
            if one is Truth.MAYBE:
                answer = Truth.MAYBE
        return answer
    if isinstance(container, Const):
        if isinstance(container.value, (str, bytes, range)):
            if isinstance(item, OneOf):
                return unite([contains(machine, container, option) for option in item.options])
            if isinstance(item, Const):
                try:
                    return known(item.value in container.value)
                except TypeError as error:
                    machine.fail("TypeError", str(error))
            if isinstance(item, Instance) and item.payload is not None:
                return contains(machine, container, item.payload)
            if isinstance(container.value, str):
                _need_string(machine, item)
            return Truth.MAYBE
        machine.fail("TypeError", f"argument of type '{type(container.value).__name__}' is not iterable")
    if isinstance(container, Instance):
        found = lookup(container.cls, "__contains__")
        if found.value is not None and found.sure:
            return truth(machine, machine.call(found.value, [container, item]))
        if container.payload is not None:
            return contains(machine, container.payload, item)
        if (
            found.sure
            and not container.loose
            and lookup(container.cls, "__iter__").value is None
            and not container.cls.gap()
        ):
            machine.fail("TypeError", f"argument of type '{container.cls.name}' is not iterable")
    if isinstance(container, Class) and "members" in container.notes:
        members = container.notes["members"].values()
        if isinstance(item, Instance):
            return known(any(item is member for member in members))
        if isinstance(item, Const):
            return unite_any([equal(machine, member.content.get("_value_", NONE), item) for member in members])
        return Truth.MAYBE
    items = machine.items(container) if isinstance(container, (Stream, Instance)) else None
    if items is not None:
        return unite_any([equal(machine, element, item) for element in items])
    return Truth.MAYBE


def _need_string(machine: Machine, item: Value) -> None:
    """Only a string can be in a string."""
    cls = class_of(machine, item)
    containers = isinstance(item, (Seq, Map, SetValue, Function, Class))
    plain = containers or (isinstance(item, Instance) and not item.cls.gap())
    if cls is not None and (plain or (isinstance(item, Unknown) and cls.native in SCALARS and cls.native is not str)):
        machine.fail("TypeError", f"'in <string>' requires string as left operand, not {cls.name}")


def unite_any(answers: list[Truth]) -> Truth:
    if any(answer is Truth.YES for answer in answers):
        return Truth.YES
    return Truth.NO if all(answer is Truth.NO for answer in answers) else Truth.MAYBE


def is_form(value: Value) -> bool:
    """Whether the value is a typing form."""
    return isinstance(value, Form)
