"""The methods of built-in objects: lists, dicts and sets by functions of ours (their items may not be known), the rest
by the host's own.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from preflight.walk import comparison, equality, hashing, operands, subscripts, texts
from preflight.walk.derived import Derived, apply, raw_of
from preflight.walk.generators import Unclear
from preflight.walk.iteration import NotConcrete, advance
from preflight.walk.library.paths import path_attribute
from preflight.walk.library.registry import pure
from preflight.walk.stored import Gaps, hidden
from preflight.walk.truth import Truth
from preflight.walk.values import (
    NONE,
    Bound,
    Builtin,
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

Method = Callable[["Machine", Any, list[Value], dict[str, Value]], Value]


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
        table = LIST if value.kind.native not in (tuple,) else TUPLE
    elif isinstance(value, Map):
        table = DICT
    elif isinstance(value, SetValue):
        table = SET
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
        if isinstance(receiver, Map) and receiver.owner is not None and method in CHANGING:
            subscripts.write_back(machine, receiver)
        return result

    return run


def unbound(native: type, name: str) -> Builtin | None:
    """A method read from a built-in class, to be called with the receiver first."""
    table = {list: LIST, dict: DICT, set: SET, frozenset: SET, tuple: TUPLE}.get(native)
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


# --- lists ---


def _changing(machine: Machine, value: Seq) -> bool:
    """Prepare a change; False where the items are not known anyway."""
    machine.state.touch(value)
    return not value.loose


def _append(machine: Machine, value: Seq, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    if _changing(machine, value):
        value.content.append(arguments[0])
    return NONE


def _append_left(machine: Machine, value: Seq, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    if _changing(machine, value):
        value.content.insert(0, arguments[0])
    return NONE


def _extend(machine: Machine, value: Seq, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    items = machine.items(arguments[0])
    if items is None:
        machine.may_raise("what a list is extended by is not known")
        machine.loosen(value, "what it was extended by is not known", clear=True)
    elif _changing(machine, value):
        value.content.extend(items)
    return NONE


def _insert(machine: Machine, value: Seq, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    subscripts.need_index(machine, arguments[0])
    if not isinstance(arguments[0], Const):
        machine.loosen(value, "where an item was inserted is not known", clear=True)
    elif _changing(machine, value):
        value.content.insert(arguments[0].value, arguments[1])
    return NONE


def _pop(machine: Machine, value: Seq, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    index = arguments[0] if arguments else Const(-1)
    subscripts.need_index(machine, index)
    if not isinstance(index, Const):
        machine.may_raise("which item is taken is not known")
        machine.loosen(value, "which item was taken is not known", clear=True)
        return machine.unknown("which item is taken is not known")
    if value.loose:
        machine.may_raise(value.loose)
        return machine.unknown(value.loose)
    machine.state.touch(value)
    try:
        return value.content.pop(index.value)
    except (IndexError, TypeError) as error:
        machine.fail(type(error).__name__, str(error))


def _pop_left(machine: Machine, value: Seq, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    return _pop(machine, value, [Const(0)], {})


def _find(machine: Machine, value: Seq, item: Value) -> int | None:
    """The index of ``item``; -1 when it is surely not there; None when that is not known."""
    if value.loose:
        return None
    for index, element in enumerate(value.content):
        answer = machine.equal(element, item)
        if answer is Truth.YES:
            return index
        if answer is Truth.MAYBE:
            return None
    return -1


def _remove(machine: Machine, value: Seq, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    index = _find(machine, value, arguments[0])
    if index is None:
        machine.may_raise("which item is removed is not known")
        machine.loosen(value, "which item was removed is not known", clear=True)
    elif index < 0:
        machine.fail("ValueError", "list.remove(x): x not in list")
    else:
        machine.state.touch(value)
        del value.content[index]
    return NONE


def _index(machine: Machine, value: Seq, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    index = _find(machine, value, arguments[0])
    if index is None or len(arguments) > 1:
        machine.may_raise("where an item stands is not known")
        return machine.unknown("where an item stands is not known", cls=machine.natives.int)
    if index < 0:
        text = texts.text(machine, arguments[0], quoted=True)
        kind = value.kind.name
        machine.fail("ValueError", f"{text} is not in list" if kind == "list" else f"{kind}.index(x): x not in {kind}")
    return Const(index)


def _count(machine: Machine, value: Seq, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    answers = [machine.equal(element, arguments[0]) for element in value.content]
    if value.loose or any(answer is Truth.MAYBE for answer in answers):
        return machine.unknown("how often an item is there is not known", cls=machine.natives.int)
    return Const(sum(answer is Truth.YES for answer in answers))


def _clear(machine: Machine, value: Seq | Map | SetValue, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    machine.state.touch(value)
    value.loose = None
    value.content = [] if isinstance(value, Seq) else {}
    return NONE


def _copy(machine: Machine, value: Seq | Map | SetValue, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    made = type(value)(value.kind, value.content.copy(), machine.state.fresh())  # pyrefly: ignore
    made.loose = value.loose
    if isinstance(made, Map) and isinstance(value, Map):
        made.factory = value.factory
    return made


def _reverse(machine: Machine, value: Seq, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    if _changing(machine, value):
        value.content.reverse()
    return NONE


def _sort(machine: Machine, value: Seq, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    made = sort(machine, value, keywords)
    machine.state.touch(value)
    if made is None:
        value.content, value.loose = [], value.loose or "the order after sorting is not known"
    else:
        value.content = made
    return NONE


def sort(machine: Machine, source: Value, keywords: dict[str, Value]) -> list[Value] | None:
    """The items in order; None where that is not known."""
    items = machine.items(source)
    if items is None:
        return None
    key = keywords.get("key")
    reverse = keywords.get("reverse")
    if reverse is not None and not isinstance(reverse, Const):
        return None
    try:
        keys = [
            machine.host(
                machine.call(key, [item])
                if key is not None and not (isinstance(key, Const) and key.value is None)
                else item
            )
            for item in items
        ]
        order = sorted(
            range(len(items)),
            key=lambda index: keys[index],
            reverse=bool(reverse.value) if reverse is not None else False,
        )
    except NotConcrete:
        machine.may_raise("the order of values that are not known")
        return None
    except TypeError as error:
        machine.fail("TypeError", str(error))
    return [items[index] for index in order]


# --- dicts ---


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


# --- sets ---


def _add(machine: Machine, value: SetValue, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    subscripts.add_element(machine, value, arguments[0])
    return NONE


def _discard(
    machine: Machine, value: SetValue, arguments: list[Value], keywords: dict[str, Value], strict: bool = False
) -> Value:
    try:
        hashed = hashing.key_of(machine, arguments[0])
    except hashing.Unhashed:
        machine.may_raise("which element is removed is not known")
        machine.loosen(value, "which element was removed is not known", clear=True)
        return NONE
    if hashed in value.content:
        if isinstance(value.content[hashed], Perhaps) and strict:
            machine.may_raise("whether the element is there is not known")
        machine.state.touch(value)
        del value.content[hashed]
    elif strict:
        if value.loose:
            machine.may_raise(value.loose)
        else:
            machine.fail("KeyError", texts.text(machine, arguments[0], quoted=True) or "?")
    return NONE


def _set_remove(machine: Machine, value: SetValue, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    return _discard(machine, value, arguments, keywords, strict=True)


def _set_update(machine: Machine, value: SetValue, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    for argument in arguments:
        items = machine.items(argument)
        if items is None:
            machine.loosen(value, "what it was updated by is not known", clear=False)
        for item in items or ():
            subscripts.add_element(machine, value, item)
    return NONE


def _as_set(machine: Machine, value: Value) -> SetValue | None:
    if isinstance(value, SetValue):
        return None if value.loose or any(isinstance(element, Perhaps) for element in value.content.values()) else value
    items = machine.items(value)
    if items is None:
        return None
    made = machine.set(items)
    return made if isinstance(made, SetValue) and not made.loose else None


def _set_operation(name: str, host: Callable[[Any, Any], Any]) -> Method:
    def run(machine: Machine, value: SetValue, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        left = _as_set(machine, value)
        for argument in arguments:
            right = _as_set(machine, argument)
            if left is None or right is None:
                return machine.unknown("a set of which not all elements are known")
            result = host(left.content.keys(), right.content.keys())
            if isinstance(result, bool):
                return Const(result)
            every = {**left.content, **right.content}
            left = SetValue(value.kind, {key: every[key] for key in every if key in result}, machine.state.fresh())
        return left if left is not None else machine.unknown("a set of which not all elements are known")

    return run


# --- iterators ---


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


TUPLE: dict[str, Method] = {"index": _index, "count": _count}
LIST: dict[str, Method] = {
    **TUPLE,
    "append": _append,
    "appendleft": _append_left,
    "extend": _extend,
    "insert": _insert,
    "pop": _pop,
    "popleft": _pop_left,
    "remove": _remove,
    "clear": _clear,
    "copy": _copy,
    "reverse": _reverse,
    "sort": _sort,
}
DICT: dict[str, Method] = {
    "get": _get,
    "keys": _keys,
    "values": _values,
    "items": _items,
    "pop": _dict_pop,
    "setdefault": _set_default,
    "update": _update,
    "clear": _clear,
    "copy": _copy,
    "popitem": _pop_item,
    "move_to_end": _move_to_end,
    "__contains__": lambda machine, value, arguments, keywords: comparison.compare(machine, _IN, arguments[0], value),
    "__getitem__": lambda machine, value, arguments, keywords: subscripts.get_item(machine, value, arguments[0]),
    "__setitem__": lambda machine, value, arguments, keywords: (
        subscripts.set_item(machine, value, arguments[0], arguments[1]) or NONE
    ),
}
#: the methods that change a dict
CHANGING = frozenset({_dict_pop, _set_default, _update, _clear, _pop_item})
SET: dict[str, Method] = {
    "add": _add,
    "discard": _discard,
    "remove": _set_remove,
    "update": _set_update,
    "clear": _clear,
    "copy": _copy,
    "union": _set_operation("union", lambda a, b: a | b),
    "intersection": _set_operation("intersection", lambda a, b: a & b),
    "difference": _set_operation("difference", lambda a, b: a - b),
    "symmetric_difference": _set_operation("symmetric_difference", lambda a, b: a ^ b),
    "issubset": _set_operation("issubset", lambda a, b: a <= b),
    "issuperset": _set_operation("issuperset", lambda a, b: a >= b),
    "isdisjoint": _set_operation("isdisjoint", lambda a, b: a.isdisjoint(b)),
}
STREAM: dict[str, Method] = {
    "__next__": _next,
    "send": _send,
    "close": _close,
    "__iter__": lambda machine, value, arguments, keywords: value,
}


_IN = ast.In()
