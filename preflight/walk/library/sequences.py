"""Lists and tuples: their methods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from preflight.walk import subscripts, texts
from preflight.walk.iteration import NotConcrete
from preflight.walk.library import whole
from preflight.walk.library.whole import Method
from preflight.walk.truth import Truth
from preflight.walk.values import (
    NONE,
    Const,
    Seq,
    Value,
)

if TYPE_CHECKING:
    from preflight.walk.machine import Machine


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
    "clear": whole.clear,
    "copy": whole.copy,
    "reverse": _reverse,
    "sort": _sort,
}
