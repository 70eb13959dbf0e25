"""Builtin functions and constructors, as far as code about classes uses them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from preflight.program.classes import Class
from preflight.program.conditions import Truth
from preflight.program.evaluate import protocols
from preflight.program.evaluate.values import (
    Bound,
    Function,
    Host,
    Instance,
    Opaque,
    Raised,
    Undecidable,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from preflight.program.evaluate.evaluator import Evaluator

_MISSING = object()


def _getattr(evaluator: Evaluator) -> Value:
    def call(value: Value, name: Value, default: Value = _MISSING) -> Value:
        if not isinstance(name, str):
            return name if isinstance(name, Unknown) else Unknown("the name given to getattr is not known")
        try:
            return evaluator.attributes.get(value, name)
        except Raised as raised:
            if default is _MISSING or raised.name != "AttributeError":
                raise
            return default

    return Host("getattr", call)


def _setattr(evaluator: Evaluator) -> Value:
    def call(value: Value, name: Value, new: Value) -> None:
        if not isinstance(name, str):
            raise Undecidable("the name given to setattr is not known")
        evaluator.attributes.set(value, name, new)

    return Host("setattr", call)


def _hasattr(evaluator: Evaluator) -> Value:
    def call(value: Value, name: Value) -> Value:
        return evaluator.attributes.has(value, name) if isinstance(name, str) else Unknown("hasattr of an unknown name")

    return Host("hasattr", call)


def _callable(evaluator: Evaluator) -> Value:
    def call(value: Value) -> Value:
        if isinstance(value, (Unknown, Opaque)):
            return Unknown(getattr(value, "reason", "it is outside of the tree"))
        if isinstance(value, Instance):
            found = value.cls.lookup("__call__")
            return True if found is not None else (False if value.cls.complete else Unknown("the class is not known"))
        return isinstance(value, (Function, Bound, Host, Class))

    return Host("callable", call)


def _fold(evaluator: Evaluator, stops: Truth, name: str) -> Value:
    def call(values: Value) -> Value:
        unknown: Value | None = None
        for value in evaluator.expressions.iterate(values):
            answer = evaluator.truth(value)
            if answer is stops:
                return stops is Truth.YES
            if answer is Truth.MAYBE:
                unknown = value if isinstance(value, Unknown) else Unknown("an element is outside of the tree")
        return unknown if unknown is not None else stops is Truth.NO

    return Host(name, call)


def _next(evaluator: Evaluator) -> Value:
    def call(values: Value, default: Value = _MISSING) -> Value:
        if isinstance(values, Unknown):
            return values
        if not isinstance(values, Iterator):
            raise Undecidable("next of what is no iterator")
        for value in values:
            return value
        if default is _MISSING:
            raise Raised("StopIteration")
        return default

    return Host("next", call)


def _len(evaluator: Evaluator) -> Value:
    def call(value: Value) -> Value:
        if isinstance(value, (str, bytes, tuple, list, dict, set, frozenset)):
            return len(value)
        return value if isinstance(value, Unknown) else Unknown("the length is not followed")

    return Host("len", call)


def _collected(make: Callable[[list[Value]], Value], name: str) -> Callable[[Evaluator], Value]:
    def maker(evaluator: Evaluator) -> Value:
        return Host(name, lambda values: make(list(evaluator.expressions.iterate(values))))

    return maker


def _sorted(values: list[Value]) -> Value:
    if all(isinstance(value, str) for value in values) or all(isinstance(value, int) for value in values):
        return sorted(values)
    raise Undecidable("values are sorted that have no order here")


def _enumerate(evaluator: Evaluator) -> Value:
    return Host("enumerate", lambda values, start=0: enumerate(evaluator.expressions.iterate(values), start))


def _zip(evaluator: Evaluator) -> Value:
    return Host("zip", lambda *values, strict=False: zip(*map(evaluator.expressions.iterate, values), strict=strict))


def _reversed(evaluator: Evaluator) -> Value:
    return Host("reversed", lambda values: iter(list(evaluator.expressions.iterate(values))[::-1]))


BUILTINS: dict[str, Callable[[Evaluator], Value]] = {
    "getattr": _getattr,
    "setattr": _setattr,
    "hasattr": _hasattr,
    "callable": _callable,
    "isinstance": lambda evaluator: Host("isinstance", lambda value, cls: protocols.is_instance(evaluator, value, cls)),
    "issubclass": lambda evaluator: Host("issubclass", lambda cls, other: protocols.is_subclass(evaluator, cls, other)),
    "any": lambda evaluator: _fold(evaluator, Truth.YES, "any"),
    "all": lambda evaluator: _fold(evaluator, Truth.NO, "all"),
    "next": _next,
    "len": _len,
    "iter": _collected(iter, "iter"),
    "sorted": _collected(_sorted, "sorted"),
    "reversed": _reversed,
    "enumerate": _enumerate,
    "zip": _zip,
    "range": lambda evaluator: Host("range", range),
    "print": lambda evaluator: Host("print", lambda *args, **kwargs: None),
    "id": lambda evaluator: Host("id", lambda value: id(value)),
    "property": lambda evaluator: Host("property", lambda *args: Unknown("a property made by a call")),
    "NotImplemented": lambda evaluator: Opaque("builtins.NotImplemented"),
}


def _type(evaluator: Evaluator, *args: Value) -> Value:
    if len(args) != 1:
        return Unknown("a class made by type() is not followed")
    value = args[0]
    if isinstance(value, Instance):
        return value.cls
    if isinstance(value, Class):
        return evaluator.program.classes.opaque("builtins", "type")
    return value if isinstance(value, Unknown) else Unknown("the type of a value is not followed")


def _made(make: Callable[[list[Value]], Value]) -> Callable[..., Value]:
    def constructor(evaluator: Evaluator, values: Value = ()) -> Value:
        return make(list(evaluator.expressions.iterate(values)))

    return constructor


def _dict(evaluator: Evaluator, values: Value = (), **named: Value) -> Value:
    if isinstance(values, dict):
        return {**values, **named}
    return {
        **dict(tuple(evaluator.expressions.iterate(pair)) for pair in evaluator.expressions.iterate(values)),
        **named,
    }


def _bool(evaluator: Evaluator, value: Value = False) -> Value:
    answer = evaluator.truth(value)
    if answer is Truth.MAYBE:
        return value if isinstance(value, Unknown) else Unknown("the value is outside of the tree")
    return answer is Truth.YES


def _str(evaluator: Evaluator, value: Value = "") -> Value:
    if isinstance(value, (str, int)):
        return str(value)
    return value if isinstance(value, Unknown) else Unknown("the text of an object is not followed")


def _int(evaluator: Evaluator, value: Value = 0) -> Value:
    if isinstance(value, (str, int, float)):
        try:
            return int(value)
        except ValueError as error:
            raise Raised("ValueError", str(error)) from None
    return value if isinstance(value, Unknown) else Unknown("the number of an object is not followed")


CONSTRUCTORS: dict[str, Callable[..., Value]] = {
    "type": _type,
    "list": _made(list),
    "tuple": _made(tuple),
    "set": _made(set),
    "frozenset": _made(frozenset),
    "dict": _dict,
    "bool": _bool,
    "str": _str,
    "int": _int,
    "object": lambda evaluator: Unknown("a plain object"),
    "super": lambda evaluator, *args: Unknown("super with arguments is not followed"),
}
