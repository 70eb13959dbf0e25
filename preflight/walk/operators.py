"""Operators, comparisons, subscripts and truth, on values of which some are not known."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from preflight.walk.classes import class_of, lookup
from preflight.walk.iteration import NotConcrete
from preflight.walk.joining import join, same
from preflight.walk.outcomes import Raised, fork
from preflight.walk.truth import Truth, as_value, both, known, unite
from preflight.walk.values import (
    NONE,
    Bound,
    Builtin,
    Class,
    Const,
    External,
    Form,
    Function,
    Host,
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
    boolean,
)

if TYPE_CHECKING:
    from preflight.walk.machine import Machine

BINARY: dict[type, tuple[str, str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("__add__", "+", operator.add),
    ast.Sub: ("__sub__", "-", operator.sub),
    ast.Mult: ("__mul__", "*", operator.mul),
    ast.Div: ("__truediv__", "/", operator.truediv),
    ast.FloorDiv: ("__floordiv__", "//", operator.floordiv),
    ast.Mod: ("__mod__", "%", operator.mod),
    ast.Pow: ("__pow__", "**", operator.pow),
    ast.LShift: ("__lshift__", "<<", operator.lshift),
    ast.RShift: ("__rshift__", ">>", operator.rshift),
    ast.BitOr: ("__or__", "|", operator.or_),
    ast.BitAnd: ("__and__", "&", operator.and_),
    ast.BitXor: ("__xor__", "^", operator.xor),
    ast.MatMult: ("__matmul__", "@", operator.matmul),
}
ORDER: dict[type, tuple[str, str, Callable[[Any, Any], Any], str]] = {
    ast.Lt: ("__lt__", "<", operator.lt, "__gt__"),
    ast.LtE: ("__le__", "<=", operator.le, "__ge__"),
    ast.Gt: ("__gt__", ">", operator.gt, "__lt__"),
    ast.GtE: ("__ge__", ">=", operator.ge, "__le__"),
}
SCALARS = (int, float, complex, str, bytes, type(None))


def join_values(machine: Machine, left: Value, right: Value) -> Value:
    return join(machine, left, right, _why(machine))


def _why(machine: Machine) -> str:
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


# --- truth ---


def truth(machine: Machine, value: Value) -> Truth:
    """Whether ``value`` counts as true."""
    if isinstance(value, Const):
        return known(bool(value.value))
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


# --- hash keys ---


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


# --- equality and membership ---


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
            return Truth.MAYBE
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
            return Truth.MAYBE if container.loose else Truth.NO
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


def compare(machine: Machine, op: ast.cmpop, left: Value, right: Value) -> Value:
    """The value of ``left op right``."""
    reason = "a comparison of values that are not known"
    if isinstance(op, (ast.Eq, ast.NotEq)):
        special = _special_equality(machine, op, left, right)
        if special is not None:
            return special
        answer = equal(machine, left, right)
        return _answer(machine, answer if isinstance(op, ast.Eq) else answer.negated(), left, right, reason)
    if isinstance(op, (ast.Is, ast.IsNot)):
        answer = identical(left, right)
        return _answer(machine, answer if isinstance(op, ast.Is) else answer.negated(), left, right, reason)
    if isinstance(op, (ast.In, ast.NotIn)):
        answer = contains(machine, right, left)
        return _answer(machine, answer if isinstance(op, ast.In) else answer.negated(), left, right, reason)
    return _ordered(machine, op, left, right)


def _special_equality(machine: Machine, op: ast.cmpop, left: Value, right: Value) -> Value | None:
    """A class of the tree may define ``__ne__`` on its own."""
    if isinstance(op, ast.NotEq) and isinstance(left, Instance):
        found = lookup(left.cls, "__ne__")
        if isinstance(found.value, Function):
            return machine.call(found.value, [left, right])
    return None


def _answer(machine: Machine, answer: Truth, left: Value, right: Value, reason: str) -> Value:
    for side in (left, right):
        if answer is Truth.MAYBE and isinstance(side, Unknown):
            return Unknown(side.reason, side.place, cls=machine.natives.bool)
    made = as_value(answer, reason)
    if isinstance(made, Unknown):
        made.cls = machine.natives.bool
        made.place = machine.place()
    return made


def _ordered(machine: Machine, op: ast.cmpop, left: Value, right: Value) -> Value:
    name, sign, host, reflected = ORDER[type(op)]
    if isinstance(left, OneOf) or isinstance(right, OneOf):
        return _distribute(machine, left, right, lambda a, b: _ordered(machine, op, a, b))
    for one, other, method in ((left, right, name), (right, left, reflected)):
        if isinstance(one, Instance):
            found = lookup(one.cls, method)
            if found.value is not None and found.sure:
                answer = machine.call(found.value, [one, other])
                if not (isinstance(answer, Const) and answer.value is NotImplemented):
                    return answer
            elif not found.sure:
                return machine.unknown(f"how {one.cls.name} is compared is not known")
    left_host, right_host = _payload(left), _payload(right)
    if isinstance(left_host, Unknown) or isinstance(right_host, Unknown):
        return _unknown_order(machine, sign, left_host, right_host)
    try:
        return boolean(bool(host(machine.host(left_host), machine.host(right_host))))
    except NotConcrete:
        if isinstance(left_host, Seq) and isinstance(right_host, Seq) and left_host.kind is right_host.kind:
            return machine.unknown("a comparison of sequences that are not wholly known", cls=machine.natives.bool)
    except TypeError:
        _unsupported(machine, f"'{sign}' not supported between instances of", left_host, right_host)
    kinds = (Const, Seq, Map, SetValue, Function, Class, Instance)
    if (
        isinstance(left_host, kinds)
        and isinstance(right_host, kinds)
        and not isinstance(left_host, SetValue)
        and not (isinstance(left_host, Seq) and isinstance(right_host, Seq))
    ):
        _unsupported(machine, f"'{sign}' not supported between instances of", left_host, right_host)
    return machine.unknown("a comparison of values that are not wholly known", cls=machine.natives.bool)


def _unknown_order(machine: Machine, sign: str, left: Value, right: Value) -> Value:
    """None has no order, whatever stands on the other side, unless that is an object with an order of its own."""
    unknown = left if isinstance(left, Unknown) else right
    other = right if unknown is left else left
    assert isinstance(unknown, Unknown)
    known_kind = unknown.cls is not None and unknown.cls.native in SCALARS
    no_order = isinstance(other, (Seq, Map, SetValue, Function, Class))
    if known_kind and (no_order or (isinstance(other, Const) and other.value is None)):
        _unsupported(machine, f"'{sign}' not supported between instances of", left, right)
    machine.may_raise(unknown.reason)
    return Unknown(unknown.reason, unknown.place, cls=machine.natives.bool)


def _payload(value: Value) -> Value:
    return value.payload if isinstance(value, Instance) and value.payload is not None else value


def _unsupported(machine: Machine, start: str, left: Value, right: Value) -> None:
    names = [cls.name if (cls := class_of(machine, side)) is not None else "object" for side in (left, right)]
    machine.fail("TypeError", f"{start} '{names[0]}' and '{names[1]}'")


def _distribute(machine: Machine, left: Value, right: Value, operation: Callable[[Value, Value], Value]) -> Value:
    """An operation on one of several values: each pair on its own, the results joined."""
    lefts = left.options if isinstance(left, OneOf) else (left,)
    rights = right.options if isinstance(right, OneOf) else (right,)
    bodies = [lambda a=a, b=b: operation(a, b) for a in lefts for b in rights]
    return fork(machine, bodies, _why(machine))


# --- arithmetic ---


def binary(machine: Machine, op: ast.operator, left: Value, right: Value) -> Value:
    """The value of ``left op right``."""
    if isinstance(left, OneOf) or isinstance(right, OneOf):
        return _distribute(machine, left, right, lambda a, b: binary(machine, op, a, b))
    name, sign, host = BINARY[type(op)]
    if isinstance(op, ast.BitOr) and (
        isinstance(left, (Class, Form, External)) or isinstance(right, (Class, Form, External))
    ):
        made = machine.library.union(machine, left, right)
        if made is not None:
            return made
    for one, other, method in ((left, right, name), (right, left, "__r" + name[2:])):
        if isinstance(one, Instance):
            found = lookup(one.cls, method)
            if found.value is not None and found.sure:
                answer = machine.call(found.value, [one, other])
                if not (isinstance(answer, Const) and answer.value is NotImplemented):
                    return answer
            elif not found.sure or one.loose:
                return machine.unknown(f"what {sign} does for {one.cls.name} is not known")
    left, right = _payload(left), _payload(right)
    if isinstance(left, Const) and isinstance(right, Const):
        return _host_binary(machine, op, host, sign, left, right)
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return _unknown_binary(machine, op, sign, left, right)
    made = _containers(machine, op, left, right)
    if made is not None:
        return made
    if isinstance(op, ast.Mod) and isinstance(left, Const) and isinstance(left.value, str):
        return _format_percent(machine, left.value, right)
    if isinstance(left, External) or isinstance(right, External):
        machine.may_raise("an operation with an object of a library")
        return machine.unknown(f"{sign} with {left if isinstance(left, External) else right!r}")
    kinds = (Const, Seq, Map, SetValue, Function, Class, Instance, Bound)
    if isinstance(left, kinds) and isinstance(right, kinds):
        if (isinstance(left, Instance) and left.cls.gap()) or (isinstance(right, Instance) and right.cls.gap()):
            return machine.unknown("an operation on an object that is not wholly known")
        _unsupported(machine, f"unsupported operand type(s) for {sign}:", left, right)
    return machine.unknown(f"{sign} of values that are not known")


def _host_binary(
    machine: Machine, op: ast.operator, host: Callable[[Any, Any], Any], sign: str, left: Const, right: Const
) -> Value:
    a, b = left.value, right.value
    if isinstance(op, ast.Pow) and isinstance(a, int) and isinstance(b, int) and (abs(a) > 10_000 or b > 4_000):
        return machine.unknown("a power too large to be computed", cls=machine.natives.int)
    if isinstance(op, ast.LShift) and isinstance(b, int) and b > 10_000:
        return machine.unknown("a shift too large to be computed", cls=machine.natives.int)
    if isinstance(op, ast.Mult):
        for one, other in ((a, b), (b, a)):
            if isinstance(one, (str, bytes)) and isinstance(other, int) and len(one) * other > machine.limits.size:
                return machine.unknown("a string too large to be made", cls=machine.natives.str)
    try:
        return machine.value(host(a, b))
    except TypeError as error:
        machine.fail("TypeError", str(error), values=(("left", left), ("right", right)))
    except (ArithmeticError, ValueError) as error:
        machine.fail(type(error).__name__, str(error), values=(("left", left), ("right", right)))


def _unknown_binary(machine: Machine, op: ast.operator, sign: str, left: Value, right: Value) -> Value:
    unknown = left if isinstance(left, Unknown) else right
    other = right if unknown is left else left
    assert isinstance(unknown, Unknown)
    natives = machine.natives
    if not (_is_number(left) and _is_number(right)) or isinstance(op, (ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)):
        machine.may_raise(unknown.reason)
    if isinstance(other, Const) and unknown.cls is not None and unknown.cls.native in SCALARS:
        if other.value is None:
            _unsupported(machine, f"unsupported operand type(s) for {sign}:", left, right)
        if isinstance(other.value, int) and unknown.cls is natives.int and not isinstance(op, (ast.Div, ast.Pow)):
            return Unknown(unknown.reason, unknown.place, cls=natives.int)
    if isinstance(op, ast.Add) and unknown.cls is natives.str:
        return Unknown(unknown.reason, unknown.place, cls=natives.str)
    return Unknown(unknown.reason, unknown.place)


def _is_number(value: Value) -> bool:
    if isinstance(value, Unknown):
        return value.cls is not None and value.cls.native in (int, float, bool)
    return isinstance(value, Const) and isinstance(value.value, (int, float))


def _containers(machine: Machine, op: ast.operator, left: Value, right: Value) -> Value | None:
    if isinstance(op, ast.Add) and isinstance(left, Seq) and isinstance(right, Seq) and left.kind is right.kind:
        made = Seq(left.kind, [*left.content, *right.content], machine.state.fresh())
        made.loose = left.loose or right.loose
        return made
    if isinstance(op, ast.Mult):
        for one, other in ((left, right), (right, left)):
            if isinstance(one, Seq) and isinstance(other, Const) and isinstance(other.value, int):
                if len(one.content) * other.value > machine.limits.size:
                    return machine.unknown("a list too long to be made")
                made = Seq(one.kind, one.content * other.value, machine.state.fresh())
                made.loose = one.loose
                return made
    if isinstance(left, SetValue) and isinstance(right, SetValue):
        if left.loose or right.loose:
            return machine.unknown("a set of which not all elements are known")
        a, b = left.content, right.content
        chosen: dict[Any, Value] | None = None
        if isinstance(op, ast.BitOr):
            chosen = {**a, **b}
        elif isinstance(op, ast.BitAnd):
            chosen = {key: element for key, element in a.items() if key in b}
        elif isinstance(op, ast.Sub):
            chosen = {key: element for key, element in a.items() if key not in b}
        elif isinstance(op, ast.BitXor):
            chosen = {key: element for key, element in (*a.items(), *b.items()) if (key in a) != (key in b)}
        if chosen is not None:
            return SetValue(left.kind, chosen, machine.state.fresh())
    if isinstance(op, ast.BitOr) and isinstance(left, Map) and isinstance(right, Map):
        made_map = Map(left.kind, {**left.content, **right.content}, machine.state.fresh())
        made_map.loose = left.loose or right.loose
        return made_map
    return None


def _format_percent(machine: Machine, template: str, right: Value) -> Value:
    try:
        return Const(template % machine.host(right))
    except NotConcrete:
        made = machine.unknown("a text with a part that is not known", cls=machine.natives.str)
        made.text = template
        return made
    except (TypeError, ValueError, KeyError) as error:
        machine.fail(type(error).__name__, str(error))


def in_place(machine: Machine, op: ast.operator, left: Value, right: Value) -> Value:
    """``left op= right``: lists, sets and dicts are changed, everything else is computed anew."""
    if isinstance(left, Instance):
        found = lookup(left.cls, "__i" + BINARY[type(op)][0][2:])
        if found.value is not None and found.sure:
            return machine.call(found.value, [left, right])
    if isinstance(left, Seq) and left.kind is machine.natives.list and isinstance(op, ast.Add):
        items = machine.items(right)
        machine.state.touch(left)
        if items is None:
            if isinstance(right, Const):
                machine.fail("TypeError", f"'{type(right.value).__name__}' object is not iterable")
            left.loose = "what was added is not known"
            left.content = []
        else:
            left.content += items
        return left
    if (
        isinstance(left, (SetValue, Map))
        and isinstance(op, (ast.BitOr, ast.BitAnd, ast.Sub))
        and isinstance(right, type(left))
    ):
        made = _containers(machine, op, left, right)
        machine.state.touch(left)
        if isinstance(made, (SetValue, Map)):
            left.content = made.content
            left.loose = made.loose
        else:
            left.content, left.loose = {}, "what was added is not known"
        return left
    if isinstance(left, (SetValue, Map, Seq)) and isinstance(right, (Unknown, OneOf)):
        machine.escape([left], "what was added is not known")
        return left
    return binary(machine, op, left, right)


def unary(machine: Machine, op: ast.unaryop, value: Value) -> Value:
    """``not``, ``-``, ``+``, ``~``."""
    if isinstance(op, ast.Not):
        answer = truth(machine, value).negated()
        if answer is Truth.MAYBE:
            reason = value.reason if isinstance(value, Unknown) else _why(machine)
            return machine.unknown(reason, cls=machine.natives.bool)
        return as_value(answer, "")
    if isinstance(value, OneOf):
        return fork(
            machine, [lambda option=option: unary(machine, op, option) for option in value.options], _why(machine)
        )
    if isinstance(value, Instance):
        found = lookup(value.cls, {ast.USub: "__neg__", ast.UAdd: "__pos__", ast.Invert: "__invert__"}[type(op)])
        if found.value is not None:
            return machine.call(found.value, [value])
        value = _payload(value)
    if isinstance(value, Const):
        host = {ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert}[type(op)]
        try:
            return Const(host(value.value))
        except TypeError as error:
            machine.fail("TypeError", str(error))
    if isinstance(value, Unknown):
        machine.may_raise(value.reason)
        return Unknown(value.reason, value.place, cls=value.cls if value.cls is machine.natives.int else None)
    if isinstance(value, (Seq, Map, SetValue, Function)):
        cls = class_of(machine, value)
        sign = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~"}[type(op)]
        machine.fail("TypeError", f"bad operand type for unary {sign}: '{cls.name if cls is not None else 'object'}'")
    return machine.unknown("an operation that is not modelled")


# --- subscripts ---


def get_item(machine: Machine, owner: Value, key: Value) -> Value:
    """``owner[key]``."""
    if isinstance(owner, OneOf) or (isinstance(key, OneOf) and not isinstance(owner, (Class, Form, External))):
        return _distribute(machine, owner, key, lambda a, b: get_item(machine, a, b))
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
        members = owner.notes.get("members")
        if members is not None:
            if isinstance(key, Const):
                if key.value in members:
                    return members[key.value]
                if not owner.gap():
                    machine.fail("KeyError", repr(key.value))
            return machine.unknown("which member of an enum it is, is not known")
        if owner.metaclass is not None and (getter := lookup(owner.metaclass, "__getitem__").value) is not None:
            return machine.call(getter, [owner, key])
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
        entry = owner.content.get(key_of(machine, key))
    except Unhashed:
        machine.may_raise("which key is read is not known")
        if not owner.content and not owner.loose and owner.factory is None and owner.kind.native is dict:
            machine.fail("KeyError", "the dict is empty")
        return machine.unknown("which key is read is not known")
    if entry is None:
        if owner.factory is not None and not owner.loose:
            made = machine.call(owner.factory, [])
            store_item(machine, owner, key, made)
            return made
        if owner.loose:
            machine.may_raise(owner.loose)
            return machine.unknown(owner.loose)
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


def _is_no_index(key: Value) -> bool:
    """Whether a value can surely not index a list."""
    if isinstance(key, Instance):
        return not key.loose and not key.cls.gap() and lookup(key.cls, "__index__").value is None
    return isinstance(key, (Seq, Map, SetValue, Function, Class))


def set_item(machine: Machine, owner: Value, key: Value, value: Value) -> None:
    """``owner[key] = value``."""
    if isinstance(owner, Map):
        store_item(machine, owner, key, value)
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
    elif isinstance(owner, (Const, SetValue, Function)):
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


def store_item(machine: Machine, owner: Map, key: Value, value: Value) -> None:
    """Put an entry into a dict."""
    machine.state.touch(owner)
    try:
        hashed = key_of(machine, key)
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
        owner.content.setdefault(key_of(machine, element), element)
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


# --- text ---


def text(machine: Machine, value: Value, *, quoted: bool = False) -> str | None:
    """``str(value)`` (``repr`` when ``quoted``) where it is known."""
    if isinstance(value, Const):
        return repr(value.value) if quoted else str(value.value)
    if isinstance(value, (Seq, Map, SetValue)):
        try:
            return str(machine.host(value))
        except NotConcrete:
            return _text_of_parts(machine, value)
    if isinstance(value, Instance):
        return _text_of_instance(machine, value, quoted)
    if isinstance(value, Class):
        return f"<class '{value.module}.{value.qualname}'>" if value.module != "builtins" else f"<class '{value.name}'>"
    if isinstance(value, Form):
        return machine.library.form_text(machine, value)
    return None


def _text_of_parts(machine: Machine, value: Seq | Map | SetValue) -> str | None:
    if value.loose or isinstance(value, SetValue):
        return None
    if isinstance(value, Map):
        pairs = [
            (text(machine, key, quoted=True), text(machine, entry, quoted=True))
            for key, entry in value.content.values()
        ]
        if any(key is None or entry is None for key, entry in pairs):
            return None
        return "{" + ", ".join(f"{key}: {entry}" for key, entry in pairs) + "}"
    parts = [text(machine, item, quoted=True) for item in value.content]
    if any(part is None for part in parts):
        return None
    inner = ", ".join(part for part in parts if part is not None)
    if value.kind is machine.natives.tuple:
        return f"({inner},)" if len(parts) == 1 else f"({inner})"
    return f"[{inner}]"


def _text_of_instance(machine: Machine, value: Instance, quoted: bool) -> str | None:
    for name in ("__repr__",) if quoted else ("__str__", "__repr__"):
        found = lookup(value.cls, name)
        if not found.sure:
            return None
        if found.value is not None:
            made = machine.call(found.value, [value])
            return made.value if isinstance(made, Const) and isinstance(made.value, str) else None
    if value.cls.is_subclass(machine.natives.of(BaseException)):
        arguments = value.content.get("args")
        if isinstance(arguments, Seq):
            if quoted:
                inner = text(machine, arguments)
                return f"{value.cls.name}{inner}" if inner is not None else None
            if not arguments.content:
                return ""
            if len(arguments.content) == 1:
                return text(machine, arguments.content[0], quoted=value.cls.is_subclass(machine.natives.of(KeyError)))
            return text(machine, arguments)
    fields = value.cls.notes.get("fields")
    if fields is not None:
        parts = [(name, value.content.get(name)) for name in fields]
        texts = [(name, text(machine, part, quoted=True) if part is not None else None) for name, part in parts]
        if all(part is not None for _name, part in texts):
            return f"{value.cls.qualname}({', '.join(f'{name}={part}' for name, part in texts)})"
        return None
    return text(machine, value.payload, quoted=quoted) if value.payload is not None else None


def shown(machine: Machine, value: Value) -> str | None:
    """The text of an exception or message as far as it is known, for people."""
    if isinstance(value, Unknown):
        return value.text
    try:
        made = text(machine, value)
    except Raised:
        return None
    if made is not None:
        return made
    if isinstance(value, Instance):
        arguments = value.content.get("args")
        if isinstance(arguments, Seq) and arguments.content:
            return shown(machine, arguments.content[0])
    if isinstance(value, OneOf):
        parts = [shown(machine, option) for option in value.options]
        return " or ".join(part for part in parts if part)
    return None


def is_form(value: Value) -> bool:
    """Whether the value is a typing form."""
    return isinstance(value, Form)
