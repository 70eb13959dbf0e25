"""Comparisons: the value of ``left op right``."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from preflight.walk import derived
from preflight.walk.classes import lookup
from preflight.walk.derived import Derived
from preflight.walk.equality import SCALARS, contains, equal, identical
from preflight.walk.iteration import NotConcrete
from preflight.walk.operands import distribute, payload, unsupported
from preflight.walk.origins import judged
from preflight.walk.truth import Truth, as_value
from preflight.walk.values import (
    Class,
    Const,
    Function,
    Instance,
    Map,
    OneOf,
    Seq,
    SetValue,
    Unknown,
    Value,
    boolean,
)

if TYPE_CHECKING:
    from preflight.walk.machine import Machine


ORDER: dict[type, tuple[str, str, Callable[[Any, Any], Any], str]] = {
    ast.Lt: ("__lt__", "<", operator.lt, "__gt__"),
    ast.LtE: ("__le__", "<=", operator.le, "__ge__"),
    ast.Gt: ("__gt__", ">", operator.gt, "__lt__"),
    ast.GtE: ("__ge__", ">=", operator.ge, "__le__"),
}


def compare(machine: Machine, op: ast.cmpop, left: Value, right: Value) -> Value:
    """The value of ``left op right``."""
    reason = "a comparison of values that are not known"
    if isinstance(left, Derived) or isinstance(right, Derived):
        made = derived.compare(machine, op, left, right)
        if made is not None:
            return made
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
        if isinstance(right, OneOf):
            # each may raise on its own: what is no container has nothing in it
            return distribute(machine, left, right, lambda a, b: compare(machine, op, a, b))
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
    if answer is not Truth.MAYBE:
        return judged(answer is Truth.YES, left, right)
    made = as_value(answer, reason)
    if isinstance(made, Unknown):
        made.cls = machine.natives.bool
        made.place = machine.place()
    return made


def _ordered(machine: Machine, op: ast.cmpop, left: Value, right: Value) -> Value:
    name, sign, host, reflected = ORDER[type(op)]
    if isinstance(left, OneOf) or isinstance(right, OneOf):
        return distribute(machine, left, right, lambda a, b: _ordered(machine, op, a, b))
    for one, other, method in ((left, right, name), (right, left, reflected)):
        if isinstance(one, Instance):
            found = lookup(one.cls, method)
            if found.value is not None and found.sure:
                answer = machine.call(found.value, [one, other])
                if not (isinstance(answer, Const) and answer.value is NotImplemented):
                    return answer
            elif not found.sure:
                return machine.unknown(f"how {one.cls.name} is compared is not known")
    left_host, right_host = payload(left), payload(right)
    if isinstance(left_host, Unknown) or isinstance(right_host, Unknown):
        return _unknown_order(machine, sign, left_host, right_host)
    try:
        return judged(bool(host(machine.host(left_host), machine.host(right_host))), left, right)
    except NotConcrete:
        if isinstance(left_host, Seq) and isinstance(right_host, Seq) and left_host.kind is right_host.kind:
            return _ordered_items(machine, op, left_host, right_host)
    except TypeError:
        unsupported(machine, f"'{sign}' not supported between instances of", left_host, right_host)
    kinds = (Const, Seq, Map, SetValue, Function, Class, Instance)
    if (
        isinstance(left_host, kinds)
        and isinstance(right_host, kinds)
        and not isinstance(left_host, SetValue)
        and not (isinstance(left_host, Seq) and isinstance(right_host, Seq))
    ):
        unsupported(machine, f"'{sign}' not supported between instances of", left_host, right_host)
    return machine.unknown("a comparison of values that are not wholly known", cls=machine.natives.bool)


def _ordered_items(machine: Machine, op: ast.cmpop, left: Seq, right: Seq) -> Value:
    """Two sequences of one kind: the first items that differ decide, then the lengths."""
    unsure = bool(left.loose or right.loose)
    for one, other in zip(left.content, right.content, strict=False) if not unsure else ():
        same = Truth.YES if one is other else equal(machine, one, other)
        if same is Truth.NO:
            return _ordered(machine, op, one, other)
        unsure = same is Truth.MAYBE
        if unsure:
            break
    if unsure:
        machine.may_raise("a comparison of sequences that are not wholly known")
        return machine.unknown("a comparison of sequences that are not wholly known", cls=machine.natives.bool)
    return boolean(bool(ORDER[type(op)][2](len(left.content), len(right.content))))


def _unknown_order(machine: Machine, sign: str, left: Value, right: Value) -> Value:
    """None has no order, whatever stands on the other side, unless that is an object with an order of its own."""
    unknown = left if isinstance(left, Unknown) else right
    other = right if unknown is left else left
    assert isinstance(unknown, Unknown)
    known_kind = unknown.cls is not None and unknown.cls.native in SCALARS
    no_order = isinstance(other, (Seq, Map, SetValue, Function, Class))
    if known_kind and (no_order or (isinstance(other, Const) and other.value is None)):
        unsupported(machine, f"'{sign}' not supported between instances of", left, right)
    machine.may_raise(unknown.reason)
    return Unknown(unknown.reason, unknown.place, cls=machine.natives.bool)
