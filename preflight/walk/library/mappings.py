"""Dicts: their methods."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from preflight.walk import comparison, equality, hashing, operands, subscripts, texts
from preflight.walk.library import whole
from preflight.walk.library.whole import Method
from preflight.walk.stored import Gaps, hidden
from preflight.walk.truth import Truth
from preflight.walk.values import (
    NONE,
    Const,
    Map,
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


def _get(machine: Machine, value: Map, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    default = arguments[1] if len(arguments) > 1 else NONE
    key = arguments[0]
    if isinstance(key, OneOf):
        from preflight.walk.outcomes import fork

        return fork(
            machine,
            [lambda option=option: _get(machine, value, [option, default], {}) for option in key.options],
            "which key is read is not known",
        )
    try:
        hashed = hashing.key_of(machine, key)
    except hashing.Unhashed:
        return machine.unknown("which key is read is not known") if value.content or value.loose else default
    entry = value.content.get(hashed)
    if entry is None:
        why = hidden(value.loose, hashed)
        return machine.unknown(why) if why else default
    if isinstance(entry[1], Perhaps):
        return operands.join_values(machine, entry[1].value, default)
    return entry[1]


def _view(machine: Machine, value: Map, take: Callable[[Value, Value], Value], kind: type) -> Value:
    items = [
        Perhaps(take(key, entry.value)) if isinstance(entry, Perhaps) else take(key, entry)
        for key, entry in value.content.values()
    ]
    loose = value.loose
    if not loose and any(isinstance(item, Perhaps) for item in items):
        loose = Gaps("whether a key is there is not known", tuple(items))
    sure = [item for item in items if not isinstance(item, Perhaps)]
    made = Seq(machine.natives.of(kind), sure, machine.state.fresh())
    made.loose = loose
    return made


def _keys(machine: Machine, value: Map, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    made = SetValue(
        machine.natives.of(type({}.keys())),
        {
            hashed: key if not isinstance(entry, Perhaps) else Perhaps(key)
            for hashed, (key, entry) in value.content.items()
        },
        machine.state.fresh(),
    )
    made.loose = value.loose
    return made


def _values(machine: Machine, value: Map, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    return _view(machine, value, lambda key, entry: entry, type({}.values()))


def _items(machine: Machine, value: Map, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    return _view(machine, value, lambda key, entry: machine.tuple([key, entry]), type({}.items()))


def _dict_pop(machine: Machine, value: Map, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    try:
        hashed = hashing.key_of(machine, arguments[0])
    except hashing.Unhashed:
        machine.may_raise("which key is taken is not known")
        machine.loosen(value, "which key was taken is not known", clear=True)
        return machine.unknown("which key is taken is not known")
    entry = value.content.get(hashed)
    if entry is None:
        if value.loose:
            machine.may_raise(value.loose)
            return machine.unknown(value.loose)
        if len(arguments) > 1:
            return arguments[1]
        machine.fail(
            "KeyError", texts.text(machine, arguments[0], quoted=True) or "?", values=(("the key", arguments[0]),)
        )
    machine.state.touch(value)
    del value.content[hashed]
    if isinstance(entry[1], Perhaps):
        if len(arguments) > 1:
            return operands.join_values(machine, entry[1].value, arguments[1])
        machine.may_raise("whether the key is there is not known")
        return entry[1].value
    return entry[1]


def _set_default(machine: Machine, value: Map, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    found = _get(machine, value, [arguments[0], Unknown("absent")], {})
    if equality.contains(machine, value, arguments[0]) is Truth.YES:
        return found
    item = arguments[1] if len(arguments) > 1 else NONE
    if equality.contains(machine, value, arguments[0]) is Truth.MAYBE:
        item = operands.join_values(machine, found, item)
    subscripts.store_item(machine, value, arguments[0], item)
    return item


def _update(machine: Machine, value: Map, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    from preflight.walk.expressions import merge

    if arguments:
        source = arguments[0]
        payload = operands.payload(source)
        if isinstance(payload, (Seq, Stream)):
            pairs = machine.items(payload)
            if pairs is None:
                machine.loosen(value, "what it was updated by is not known", clear=True)
            for pair in pairs or ():
                parts = machine.items(pair)
                if parts is not None and len(parts) == 2:
                    subscripts.store_item(machine, value, parts[0], parts[1])
                else:
                    machine.loosen(value, "what it was updated by is not known", clear=True)
        elif isinstance(payload, OneOf):
            machine.loosen(value, "which of several dicts it was updated by is not known", clear=True)
        else:
            merge(machine, value, payload)
    for name, item in keywords.items():
        subscripts.store_item(machine, value, Const(name), item)
    return NONE


def _pop_item(machine: Machine, value: Map, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    if value.loose or any(isinstance(entry[1], Perhaps) for entry in value.content.values()):
        machine.may_raise("which entry is taken is not known")
        machine.loosen(value, "which entry was taken is not known", clear=True)
        return machine.unknown("which entry is taken is not known")
    if not value.content:
        machine.fail("KeyError", "'popitem(): dictionary is empty'")
    machine.state.touch(value)
    hashed = next(reversed(value.content))
    key, entry = value.content.pop(hashed)
    return machine.tuple([key, entry])


def _move_to_end(machine: Machine, value: Map, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    return NONE


_IN = ast.In()
DICT: dict[str, Method] = {
    "get": _get,
    "keys": _keys,
    "values": _values,
    "items": _items,
    "pop": _dict_pop,
    "setdefault": _set_default,
    "update": _update,
    "clear": whole.clear,
    "copy": whole.copy,
    "popitem": _pop_item,
    "move_to_end": _move_to_end,
    "__contains__": lambda machine, value, arguments, keywords: comparison.compare(
        machine, ast.In(), arguments[0], value
    ),
    "__getitem__": lambda machine, value, arguments, keywords: subscripts.get_item(machine, value, arguments[0]),
    "__setitem__": lambda machine, value, arguments, keywords: (
        subscripts.set_item(machine, value, arguments[0], arguments[1]) or NONE
    ),
}


#: the methods that change a dict
CHANGING = frozenset({_dict_pop, _set_default, _update, whole.clear, _pop_item})
