"""The methods of built-in objects: lists, dicts and sets by functions of ours (their items may not be known), the rest
by the host's own.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from preflight.walk import operands, subscripts, texts
from preflight.walk.derived import Derived, apply, raw_of
from preflight.walk.generators import Unclear
from preflight.walk.iteration import NotConcrete, advance
from preflight.walk.library import mappings, sequences, sets
from preflight.walk.library.paths import path_attribute
from preflight.walk.library.registry import pure
from preflight.walk.library.whole import Method
from preflight.walk.values import (
    NONE,
    Bound,
    Builtin,
    Const,
    Map,
    Seq,
    SetValue,
    Stream,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from preflight.walk.machine import Machine


def attribute(machine: Machine, value: Value, name: str) -> Value | None:
    """An attribute of a constant, container or iterator; None where such an object has none of that name."""
    if isinstance(value, Const):
        return _of_const(machine, value, name)
    if isinstance(value, Unknown):
        return Builtin(name, lambda machine, arguments, keywords: _of_unknown(machine, value, name))
    if name == "__class__":
        return machine.class_of(value)
    table: dict[str, Method]
    if isinstance(value, Seq):
        table = sequences.LIST if value.kind.native not in (tuple,) else sequences.TUPLE
    elif isinstance(value, Map):
        table = mappings.DICT
    elif isinstance(value, SetValue):
        table = sets.SET
    elif isinstance(value, Stream):
        table = STREAM
    else:
        return None
    method = table.get(name)
    if method is not None:
        return Bound(Builtin(name, _unbound(method)), value)
    if name == "default_factory" and isinstance(value, Map):
        return value.factory if value.factory is not None else NONE
    native = value.kind.native if not isinstance(value, Stream) else type(x for x in ())
    if native is None or hasattr(native, name):
        return Bound(Builtin(name, _not_modelled(name)), value)
    return None


def _unbound(method: Method) -> Callable:
    def run(machine: Machine, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        from preflight.walk.values import Instance

        receiver = arguments[0]
        if isinstance(receiver, Instance) and receiver.payload is not None:
            receiver = receiver.payload
        result = method(machine, receiver, arguments[1:], keywords)
        if isinstance(receiver, Map) and receiver.owner is not None and method in mappings.CHANGING:
            subscripts.write_back(machine, receiver)
        return result

    return run


_TABLES = {
    list: sequences.LIST,
    tuple: sequences.TUPLE,
    dict: mappings.DICT,
    set: sets.SET,
    frozenset: sets.SET,
}


def unbound(native: type, name: str) -> Builtin | None:
    """A method read from a built-in class, to be called with the receiver first."""
    table = {list: sequences.LIST, dict: mappings.DICT, set: sets.SET, frozenset: sets.SET, tuple: sequences.TUPLE}.get(
        native
    )
    if table is not None and name in table:
        return Builtin(f"{native.__name__}.{name}", _unbound(table[name]))
    return None


def _not_modelled(name: str) -> Callable:
    def run(machine: Machine, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        from preflight.walk.calls import not_walked

        return not_walked(machine, f"{name} is not modelled", arguments, keywords)

    return run


def _of_unknown(machine: Machine, value: Unknown, name: str) -> Value:
    if value.cls is machine.natives.str:
        if name in (
            "lower",
            "upper",
            "strip",
            "replace",
            "removeprefix",
            "removesuffix",
            "format",
            "join",
            "title",
            "lstrip",
            "rstrip",
        ):
            return Unknown(value.reason, value.place, cls=machine.natives.str)
        if name in ("startswith", "endswith", "isdigit"):
            return Unknown(value.reason, value.place, cls=machine.natives.bool)
    machine.may_raise(value.reason)
    return Unknown(value.reason, value.place)


def _of_const(machine: Machine, value: Const, name: str) -> Value | None:
    if isinstance(value, Derived) and name not in ("join", "format"):
        found = getattr(type(value.raw), name, None)
        if isinstance(value.raw, str) and callable(found) and not name.startswith("__"):
            return Bound(Builtin(f"str.{name}", pure(f"str.{name}", found)), value)
    host = value.value
    if name == "__class__":
        return machine.natives.of(type(host))
    if isinstance(host, PurePosixPath):
        asked = path_attribute(machine, host, name)
        if asked is not None:
            return asked
    if not hasattr(host, name):
        return None
    if isinstance(host, str) and name in ("join", "format"):
        return Builtin(
            f"str.{name}",
            lambda machine, arguments, keywords: (_join if name == "join" else _format)(
                machine, host, arguments, keywords
            ),
        )
    found = getattr(host, name)
    if callable(found):
        return Builtin(f"{type(host).__name__}.{name}", pure(f"{type(host).__name__}.{name}", found, value))
    return machine.value(found)


def _join(machine: Machine, host: str, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    items = machine.items(arguments[0])
    if items is None:
        if isinstance(arguments[0], Const):
            machine.fail("TypeError", "can only join an iterable")
        return machine.unknown("a text joined of parts that are not known", cls=machine.natives.str)
    parts: list[str] = []
    sure = True
    for index, item in enumerate(items):
        payload = operands.payload(item)
        if isinstance(payload, Const):
            if not isinstance(raw_of(payload), str):
                machine.fail(
                    "TypeError", f"sequence item {index}: expected str instance, {type(raw_of(payload)).__name__} found"
                )
            parts.append(raw_of(payload))
        else:
            if isinstance(payload, (Seq, Map, SetValue)):
                machine.fail("TypeError", f"sequence item {index}: expected str instance, {payload.kind.name} found")
            sure = False
            parts.append("{...}")
    if sure:
        if any(isinstance(item, Derived) for item in items):
            constants = tuple(item for item in items if isinstance(item, Const))
            if len(constants) == len(items):
                return apply(machine, lambda *texts: host.join(texts), constants)
        return Const(host.join(parts))
    made = machine.unknown("a text joined of parts that are not known", cls=machine.natives.str)
    made.text = host.join(parts)
    return made


def _format(machine: Machine, host: str, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    shown = [
        texts.text(machine, value) if not isinstance(operands.payload(value), Const) else None for value in arguments
    ]
    try:
        hosts = [machine.host(value) if text is None else text for value, text in zip(arguments, shown, strict=True)]
        named = {name: machine.host(value) for name, value in keywords.items()}
    except NotConcrete:
        made = machine.unknown("a text with a part that is not known", cls=machine.natives.str)
        made.text = host
        return made
    try:
        return Const(host.format(*hosts, **named))
    except (LookupError, ValueError, TypeError, AttributeError) as error:
        machine.fail(type(error).__name__, str(error))


def _next(machine: Machine, value: Stream, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    try:
        item = advance(machine, value)
    except Unclear as unclear:
        machine.may_raise(str(unclear))
        return machine.unknown(str(unclear))
    if item is None:
        machine.fail("StopIteration", "")
    return item


def _send(machine: Machine, value: Stream, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    machine.may_raise("a generator is sent a value")
    value.loose = "a generator was sent a value"
    return machine.unknown("what a generator gives for a value sent")


def _close(machine: Machine, value: Stream, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    return NONE


STREAM: dict[str, Method] = {
    "__next__": _next,
    "send": _send,
    "close": _close,
    "__iter__": lambda machine, value, arguments, keywords: value,
}
