"""The built-in functions that go through what can be iterated."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from preflight.walk import arithmetic, classes
from preflight.walk.derived import number
from preflight.walk.generators import Unclear
from preflight.walk.iteration import NotConcrete, advance
from preflight.walk.library import sequences
from preflight.walk.library.registry import function
from preflight.walk.outcomes import fork
from preflight.walk.truth import Truth
from preflight.walk.values import (
    Arguments,
    Const,
    Implementation,
    Instance,
    Keywords,
    Map,
    OneOf,
    Seq,
    SetValue,
    Stream,
    Unknown,
    Value,
    boolean,
)

if TYPE_CHECKING:
    from preflight.walk.machine import Machine


@function("builtins.iter")
def _iter(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    value = arguments[0]
    if isinstance(value, Stream):
        return value
    if isinstance(value, Instance):
        found = classes.lookup(value.cls, "__iter__")
        if found.value is not None and found.sure:
            return machine.call(found.value, [value])
    return Stream(machine.iterate(value), machine.state.fresh(), "iterator")


@function("builtins.next")
def _next(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    value = arguments[0]
    if isinstance(value, Stream):
        try:
            item = advance(machine, value)
        except Unclear as unclear:
            machine.may_raise(str(unclear))
            return machine.unknown(str(unclear))
        if item is not None:
            return item
        if len(arguments) > 1:
            return arguments[1]
        machine.fail("StopIteration", "")
    if isinstance(value, Instance):
        return machine.call(machine.get(value, "__next__"), [])
    if isinstance(value, (Const, Seq, Map, SetValue)):
        cls = machine.class_of(value)
        machine.fail("TypeError", f"'{cls.name if cls is not None else 'object'}' object is not an iterator")
    machine.may_raise("the next value is not known")
    return machine.unknown(value.reason if isinstance(value, Unknown) else "the next value is not known")


def _stream(machine: Machine, source: Iterator[Value], kind: str) -> Value:
    return Stream(source, machine.state.fresh(), kind)


@function("builtins.enumerate")
def enumerated(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    start = keywords.get("start", arguments[1] if len(arguments) > 1 else Const(0))

    def values() -> Iterator[Value]:
        first = start.value if isinstance(start, Const) else None
        for index, item in enumerate(machine.iterate(arguments[0])):
            place = number(machine, first + index) if first is not None else machine.unknown("an index")
            yield machine.tuple([place, item])

    return _stream(machine, values(), "enumerate")


@function("builtins.zip")
def zipped(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    strict = keywords.get("strict")

    def values() -> Iterator[Value]:
        iterators = [machine.iterate(argument) for argument in arguments]
        while iterators:
            row: list[Value] = []
            for index, iterator in enumerate(iterators):
                item = next(iterator, None)
                if item is None:
                    if (
                        isinstance(strict, Const)
                        and strict.value
                        and (index > 0 or any(next(other, None) is not None for other in iterators[1:]))
                    ):
                        longer = "shorter" if index > 0 else "longer"
                        machine.fail("ValueError", f"zip() argument {max(index, 1) + 1} is {longer} than argument 1")
                    return
                row.append(item)
            yield machine.tuple(row)

    return _stream(machine, values(), "zip")


@function("builtins.map")
def mapped(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    def values() -> Iterator[Value]:
        iterators = [machine.iterate(argument) for argument in arguments[1:]]
        while True:
            row = []
            for iterator in iterators:
                item = next(iterator, None)
                if item is None:
                    return
                row.append(item)
            yield machine.call(arguments[0], row)

    return _stream(machine, values(), "map")


@function("builtins.filter")
def filtered(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    def values() -> Iterator[Value]:
        for item in machine.iterate(arguments[1]):
            test = arguments[0]
            answer = machine.truth(item if isinstance(test, Const) else machine.call(test, [item]))
            if answer is Truth.MAYBE:
                raise Unclear("a condition of filter() is not known")
            if answer is Truth.YES:
                yield item

    return _stream(machine, values(), "filter")


@function("builtins.reversed")
def reverse(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    def values() -> Iterator[Value]:
        items = machine.items(arguments[0])
        if items is None:
            raise Unclear("what is reversed is not known")
        yield from reversed(items)

    return _stream(machine, values(), "reversed")


@function("builtins.sorted")
def _sorted(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    if isinstance(arguments[0], Const) and not isinstance(arguments[0].value, (str, bytes, range)):
        machine.fail("TypeError", f"'{type(arguments[0].value).__name__}' object is not iterable")
    made = sequences.sort(machine, arguments[0], keywords)
    result = machine.list(made or [])
    if made is None:
        result.loose = "the order after sorting is not known"
    return result


def _quantified(stops_on: Truth) -> Implementation:
    def run(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
        unsure: Value | None = None
        try:
            for item in machine.iterate(arguments[0]):
                answer = machine.truth(item)
                if answer is stops_on:
                    return boolean(stops_on is Truth.YES) if unsure is None else _resolved(machine, unsure, stops_on)
                if answer is Truth.MAYBE and unsure is None:
                    unsure = item
                    if isinstance(arguments[0], Stream):
                        # whether the rest of a generator runs at all is not known
                        break
        except Unclear as unclear:
            machine.may_raise(str(unclear))
            return machine.unknown(str(unclear), cls=machine.natives.bool)
        if unsure is not None:
            if isinstance(arguments[0], Stream):
                arguments[0].loose = "whether all of an iterator was used is not known"
            return machine.unknown(
                unsure.reason if isinstance(unsure, Unknown) else "a condition that is not known",
                cls=machine.natives.bool,
            )
        return boolean(stops_on is Truth.NO)

    return run


def _resolved(machine: Machine, unsure: Value, stops_on: Truth) -> Value:
    """An earlier item that is not known may have ended it, with the same answer."""
    return boolean(stops_on is Truth.YES)


function("builtins.any")(_quantified(Truth.YES))
function("builtins.all")(_quantified(Truth.NO))


@function("builtins.sum", "math.fsum")
def _sum(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    import ast

    items = machine.items(arguments[0])
    if items is None:
        machine.may_raise("a sum of values that are not known")
        return machine.unknown("a sum of values that are not known")
    total = keywords.get("start", arguments[1] if len(arguments) > 1 else Const(0))
    for item in items:
        total = arithmetic.binary(machine, ast.Add(), total, item)
    return total


def _extreme(name: str, host: Callable[..., Any]) -> Implementation:
    def run(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
        many = next((value for value in arguments if isinstance(value, OneOf)), None) if len(arguments) > 1 else None
        if many is not None:
            return fork(
                machine,
                [
                    lambda option=option: run(
                        machine, [option if value is many else value for value in arguments], keywords
                    )
                    for option in many.options
                ],
                "one of several values",
            )
        items = machine.items(arguments[0]) if len(arguments) == 1 else arguments
        if items is None:
            if isinstance(arguments[0], Const):
                machine.fail("TypeError", f"'{type(arguments[0].value).__name__}' object is not iterable")
            machine.may_raise(f"{name} of values that are not known")
            return machine.unknown(f"{name} of values that are not known")
        if not items:
            if "default" in keywords:
                return keywords["default"]
            machine.fail("ValueError", f"{name}() iterable argument is empty")
        key = keywords.get("key")
        try:
            keys = [machine.host(machine.call(key, [item]) if key is not None else item) for item in items]
            chosen = keys.index(host(keys))
        except NotConcrete:
            machine.may_raise(f"{name} of values that are not known")
            unknown = next((item for item in items if isinstance(item, Unknown)), None)
            return machine.unknown(unknown.reason if unknown is not None else f"{name} of values that are not known")
        except TypeError as error:
            machine.fail("TypeError", str(error))
        return items[chosen]

    return run


function("builtins.min")(_extreme("min", min))
function("builtins.max")(_extreme("max", max))
