"""Iterating, and the way between the walk's values and the host's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from preflight.walk.classes import lookup
from preflight.walk.derived import number
from preflight.walk.generators import Unclear
from preflight.walk.outcomes import Raised
from preflight.walk.values import (
    NONE,
    Class,
    Const,
    Host,
    Instance,
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


class NotConcrete(Exception):
    """The value is not wholly known, so no host object stands for it."""


def iterate(machine: Machine, value: Value) -> Iterator[Value]:
    """The items of ``value`` one by one, as ``for`` takes them. Raises ``Unclear`` where they are not known."""
    if isinstance(value, Seq):
        if value.loose:
            raise Unclear(value.loose)
        index = 0
        while index < len(value.content):
            yield value.content[index]
            index += 1
        return
    if isinstance(value, Map):
        if value.loose:
            raise Unclear(value.loose)
        for key, entry in list(value.content.values()):
            if isinstance(entry, Perhaps):
                raise Unclear("whether a key is there is not known")
            yield key
        return
    if isinstance(value, SetValue):
        if value.loose:
            raise Unclear(value.loose)
        for element in list(value.content.values()):
            if isinstance(element, Perhaps):
                raise Unclear("whether an element is there is not known")
            yield element
        return
    if isinstance(value, Stream):
        yield from drain(machine, value)
        return
    if isinstance(value, Const):
        if isinstance(value.value, (str, bytes, range)):
            rounds = isinstance(value.value, range)
            for item in value.value:
                yield number(machine, item) if rounds else Const(item)
            return
        values = (("what is unpacked", value),) if value.value is None else ()
        machine.fail("TypeError", f"'{type(value.value).__name__}' object is not iterable", values=values)
    if isinstance(value, Instance):
        yield from _iterate_instance(machine, value)
        return
    if isinstance(value, Class):
        members = value.notes.get("members")
        if members is not None:
            # a second name of a member is no member of its own
            yield from list(dict.fromkeys(members.values()))
            return
        if value.gap() or value.metaclass is not None:
            raise Unclear(f"the items of {value.name} are not known")
        machine.fail("TypeError", "'type' object is not iterable")
    if isinstance(value, OneOf):
        raise Unclear("which of several values is iterated is not known")
    raise Unclear(value.reason if isinstance(value, Unknown) else f"the items of {value!r} are not known")


def drain(machine: Machine, stream: Stream) -> Iterator[Value]:
    while True:
        item = advance(machine, stream)
        if item is None:
            return
        yield item


def advance(machine: Machine, stream: Stream) -> Value | None:
    """The next value of an iterator; None at its end."""
    if stream.loose:
        raise Unclear(stream.loose)
    state = machine.state
    if state.segments and stream.serial < state.segments[-1].start:
        # it may have to be undone, and a host generator cannot: after the arm it is not known where it stands
        saved = stream.loose
        stream.loose = "an iterator was advanced under a condition that is not known"
        state.touch(stream)
        stream.loose = saved
    return next(stream.source, None)


def _iterate_instance(machine: Machine, value: Instance) -> Iterator[Value]:
    found = lookup(value.cls, "__iter__")
    if found.value is not None and found.sure:
        made = machine.call(found.value, [value])
        if made is value:
            step = lookup(value.cls, "__next__")
            if step.value is None:
                raise Unclear(f"how {value.cls.name} is iterated is not known")
            while True:
                try:
                    item = machine.call(step.value, [value])
                except Raised as raised:
                    if all(exit.cls is machine.natives.exception("StopIteration") for exit in raised.exits):
                        return
                    raise
                yield item
        yield from iterate(machine, made)
        return
    if value.payload is not None:
        yield from iterate(machine, value.payload)
        return
    if not found.sure or value.loose or lookup(value.cls, "__getitem__").value is not None:
        raise Unclear(f"how {value.cls.name} is iterated is not known")
    machine.fail("TypeError", f"'{value.cls.name}' object is not iterable")


def items(machine: Machine, value: Value) -> list[Value] | None:
    """All items of ``value``; None where they are not known."""
    try:
        found: list[Value] = []
        for item in iterate(machine, value):
            found.append(item)
            if len(found) > machine.limits.size:
                return None
        return found
    except Unclear:
        return None


def host(machine: Machine, value: Value, depth: int = 0) -> Host:
    """The host object that ``value`` stands for, containers copied. Raises ``NotConcrete``."""
    if depth > 40:
        raise NotConcrete
    if isinstance(value, Const):
        return value.value
    if isinstance(value, Seq) and not value.loose:
        made = [host(machine, item, depth + 1) for item in value.content]
        return tuple(made) if value.kind is machine.natives.tuple else made
    if isinstance(value, Map) and not value.loose:
        return {host(machine, key, depth + 1): host(machine, entry, depth + 1) for key, entry in value.content.values()}
    if isinstance(value, SetValue) and not value.loose:
        elements = {host(machine, element, depth + 1) for element in value.content.values()}
        return frozenset(elements) if value.kind is machine.natives.frozenset else elements
    if isinstance(value, Instance) and value.payload is not None and not value.loose:
        return host(machine, value.payload, depth + 1)
    raise NotConcrete


def value(machine: Machine, thing: Host, origin: str | None = None) -> Value:
    """The walk's value of a host object; every part of a container knows where it stood."""
    made: Value
    if isinstance(thing, Value):
        return thing
    if thing is None and origin is None:
        return NONE
    if isinstance(thing, list):
        made = machine.list([value(machine, item, _below(origin, index)) for index, item in enumerate(thing)])
    elif isinstance(thing, tuple):
        made = machine.tuple([value(machine, item, _below(origin, index)) for index, item in enumerate(thing)])
    elif isinstance(thing, dict):
        pairs = [(Const(key), value(machine, item, _below(origin, key))) for key, item in thing.items()]
        made = machine.dict(pairs)
    elif isinstance(thing, (set, frozenset)):
        kind = machine.natives.frozenset if isinstance(thing, frozenset) else machine.natives.set
        made = machine.set([value(machine, item, origin) for item in sorted(thing, key=repr)], kind)
    elif isinstance(thing, type):
        return machine.natives.of(thing)
    else:
        return Const(thing, origin)
    made.origin = origin
    return made


def _below(origin: str | None, key: object) -> str | None:
    if origin is None:
        return None
    if isinstance(key, int):
        return f"{origin}[{key}]"
    return f"{origin}{key}" if origin.endswith(": ") else f"{origin}.{key}"
