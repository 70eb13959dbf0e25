"""Arithmetic: binary, unary and in-place operators on values of which some are not known."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from preflight.walk.classes import class_of, lookup
from preflight.walk.derived import Derived, apply, raw_of
from preflight.walk.equality import SCALARS, truth
from preflight.walk.iteration import NotConcrete
from preflight.walk.operands import distribute, payload, unsupported, why
from preflight.walk.origins import combined, judged
from preflight.walk.outcomes import fork
from preflight.walk.truth import Truth
from preflight.walk.values import (
    Bound,
    Class,
    Const,
    External,
    Form,
    Function,
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


def binary(machine: Machine, op: ast.operator, left: Value, right: Value) -> Value:
    """The value of ``left op right``."""
    if isinstance(left, OneOf) or isinstance(right, OneOf):
        return distribute(machine, left, right, lambda a, b: binary(machine, op, a, b))
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
    left, right = payload(left), payload(right)
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
        unsupported(machine, f"unsupported operand type(s) for {sign}:", left, right)
    return machine.unknown(f"{sign} of values that are not known")


def _host_binary(
    machine: Machine, op: ast.operator, host: Callable[[Any, Any], Any], sign: str, left: Const, right: Const
) -> Value:
    if (isinstance(left, Derived) or isinstance(right, Derived)) and _is_small(op, left, right):
        try:
            return apply(machine, host, (left, right))
        except (TypeError, ArithmeticError, ValueError):
            pass  # it is raised below
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
        return machine.value(host(a, b), combined(left, right))
    except TypeError as error:
        machine.fail("TypeError", str(error), values=(("left", left), ("right", right)))
    except (ArithmeticError, ValueError) as error:
        machine.fail(type(error).__name__, str(error), values=(("left", left), ("right", right)))


def _is_small(op: ast.operator, left: Const, right: Const) -> bool:
    """Whether an operation on derived constants can be made without looking at how much comes of it."""
    if not isinstance(op, (ast.Pow, ast.LShift, ast.Mult)):
        return True
    return all(isinstance(raw_of(side), (int, float)) and abs(raw_of(side)) < 64 for side in (left, right))


def _unknown_binary(machine: Machine, op: ast.operator, sign: str, left: Value, right: Value) -> Value:
    unknown = left if isinstance(left, Unknown) else right
    other = right if unknown is left else left
    assert isinstance(unknown, Unknown)
    natives = machine.natives
    if not (_is_number(left) and _is_number(right)) or isinstance(op, (ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)):
        machine.may_raise(unknown.reason)
    if isinstance(other, Const) and unknown.cls is not None and unknown.cls.native in SCALARS:
        if other.value is None:
            unsupported(machine, f"unsupported operand type(s) for {sign}:", left, right)
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
        if made is not None:
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
            reason = value.reason if isinstance(value, Unknown) else why(machine)
            return machine.unknown(reason, cls=machine.natives.bool)
        return judged(answer is Truth.YES, value)
    if isinstance(value, OneOf):
        return fork(
            machine, [lambda option=option: unary(machine, op, option) for option in value.options], why(machine)
        )
    if isinstance(value, Instance):
        found = lookup(value.cls, {ast.USub: "__neg__", ast.UAdd: "__pos__", ast.Invert: "__invert__"}[type(op)])
        if found.value is not None:
            return machine.call(found.value, [value])
        value = payload(value)
    if isinstance(value, Const):
        host = {ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert}[type(op)]
        try:
            if isinstance(value, Derived):
                return apply(machine, host, (value,))
            return Const(host(value.value), combined(value))
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
