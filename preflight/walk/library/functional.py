"""``functools`` and ``itertools``: what the walk has to do itself."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from preflight.walk import arithmetic, comparison, hashing
from preflight.walk.generators import Unclear
from preflight.walk.iteration import NotConcrete
from preflight.walk.library import mappings
from preflight.walk.library.registry import function
from preflight.walk.truth import Truth
from preflight.walk.values import (
    NONE,
    Arguments,
    Bound,
    Builtin,
    Class,
    Const,
    Descriptor,
    Function,
    Host,
    Keywords,
    Perhaps,
    Stream,
    Value,
)

if TYPE_CHECKING:
    from preflight.walk.machine import Machine


@function("functools.partial")
def _partial(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    target, first = arguments[0], arguments[1:]
    return Builtin(
        f"partial of {target!r}",
        lambda machine, given, named: machine.call(target, [*first, *given], {**keywords, **named}),
    )


@function("functools.wraps", "functools.update_wrapper")
def _wraps(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    wrapped = arguments[0]

    def dress(machine: Machine, given: Arguments, named: Keywords) -> Value:
        wrapper = given[0]
        if isinstance(wrapper, Function):
            machine.state.touch(wrapper)
            wrapper.content["__wrapped__"] = wrapped
            for name in ("__name__", "__qualname__", "__module__", "__doc__"):
                found = machine.find(wrapped, name)
                if found is not None and not isinstance(found, Perhaps):
                    wrapper.content[name] = found
            if isinstance(wrapped, Function):
                wrapper.content.update(
                    {name: item for name, item in wrapped.content.items() if name not in wrapper.content}
                )
        return wrapper

    if len(arguments) > 1:
        return dress(machine, [arguments[0]], {})
    return Builtin("wraps", dress)


@function("functools.lru_cache", "functools.cache")
def _cache(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    if arguments and isinstance(arguments[0], (Function, Builtin, Bound, Class, Descriptor)):
        return _cached(machine, arguments[:1], {})
    return Builtin("lru_cache", _cached)


def _cached(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    target = arguments[0]
    if not isinstance(target, Function):
        return target
    memory = machine.dict([])

    def run(machine: Machine, given: Arguments, named: Keywords) -> Value:
        key = machine.tuple([*given, *(machine.tuple([Const(name), item]) for name, item in named.items())])
        try:
            hashed = hashing.key_of(machine, key)
        except hashing.Unhashed:
            return machine.call(target, given, named)
        entry = memory.content.get(hashed)
        if entry is not None and not isinstance(entry[1], Perhaps):
            return entry[1]
        result = machine.call(target, given, named)
        machine.state.touch(memory)
        memory.content[hashed] = (key, result)
        return result

    # a method that is cached must still bind: the wrapper is a built-in, which binds like a function
    attributes: dict[str, Value] = {
        "__wrapped__": target,
        "cache_clear": Builtin(
            "cache_clear", lambda machine, given, named: mappings.DICT["clear"](machine, memory, [], {})
        ),
        "cache_info": Builtin("cache_info", lambda machine, given, named: machine.unknown("the statistics of a cache")),
        "__name__": Const(target.name),
        "__doc__": NONE,
    }
    return Builtin(target.qualname, run, attributes)


@function("functools.cached_property", "torch.utils._pytree.cached_property")
def _cached_property(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    return Descriptor("cached_property", arguments[0])


@function("functools.reduce")
def _reduce(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    items = machine.items(arguments[1])
    if items is None:
        return machine.unknown("a reduction of values that are not known")
    values = [*arguments[2:3], *items]
    if not values:
        machine.fail("TypeError", "reduce() of empty iterable with no initial value")
    return functools.reduce(lambda left, right: machine.call(arguments[0], [left, right]), values)


@function("functools.total_ordering")
def _total_ordering(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    import ast

    cls = arguments[0]
    if isinstance(cls, Class):
        have = next((name for name in ("__lt__", "__le__", "__gt__", "__ge__") if name in cls.content), None)
        if have != "__lt__":
            cls.complete = "total_ordering on another method than __lt__"
            return cls
        less = cls.content["__lt__"]

        def derived(combine: str) -> Builtin:
            def run(machine: Machine, given: Arguments, named: Keywords) -> Value:
                below = machine.call(less, given)
                if isinstance(below, Const) and below.value is NotImplemented:
                    return below
                if combine == "ge":
                    return arithmetic.unary(machine, ast.Not(), below)
                same = comparison.compare(machine, ast.Eq(), given[0], given[1])
                either = _or(machine, below, same)
                return either if combine == "le" else arithmetic.unary(machine, ast.Not(), either)

            return Builtin(combine, run)

        for name, combine in (("__le__", "le"), ("__gt__", "gt"), ("__ge__", "ge")):
            cls.content.setdefault(name, derived(combine))
    return cls


def _or(machine: Machine, left: Value, right: Value) -> Value:
    from preflight.walk.truth import either

    answer = either(machine.truth(left), machine.truth(right))
    return (
        machine.unknown("a comparison", cls=machine.natives.bool)
        if answer is Truth.MAYBE
        else Const(answer is Truth.YES)
    )


# --- itertools ---


def _lazy(machine: Machine, values: Iterator[Value]) -> Value:
    return Stream(values, machine.state.fresh(), "iterator")


@function("itertools.chain")
def _chain(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    def values() -> Iterator[Value]:
        for argument in arguments:
            yield from machine.iterate(argument)

    return _lazy(machine, values())


@function("itertools.chain.from_iterable")
def _chain_from(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    def values() -> Iterator[Value]:
        for argument in machine.iterate(arguments[0]):
            yield from machine.iterate(argument)

    return _lazy(machine, values())


def _eager(name: str, host: Host) -> None:
    """An itertools function over known lists: the host orders positions, the values stay ours."""

    @function(f"itertools.{name}")
    def run(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
        def values() -> Iterator[Value]:
            lists: list[Any] = []
            for argument in arguments:
                items = (
                    machine.items(argument)
                    if not (isinstance(argument, Const) and not isinstance(argument.value, (str, range)))
                    else None
                )
                if items is None and not isinstance(argument, Const):
                    raise Unclear(f"the values of {name} are not known")
                lists.append(items if items is not None else argument.value)  # pyrefly: ignore
            named = {key: machine.host(item) for key, item in keywords.items()}
            for row in host(*lists, **named):
                yield machine.tuple(list(row)) if isinstance(row, tuple) else row

        return _lazy(machine, values())


for _name in ("product", "permutations", "combinations", "pairwise", "zip_longest"):
    if hasattr(itertools, _name):
        _eager(_name, getattr(itertools, _name))


@function("itertools.islice")
def _islice(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    def values() -> Iterator[Value]:
        try:
            bounds = [machine.host(argument) for argument in arguments[1:]]
        except NotConcrete:
            raise Unclear("how much of an iterator is taken is not known") from None
        yield from itertools.islice(machine.iterate(arguments[0]), *bounds)

    return _lazy(machine, values())


@function("itertools.repeat")
def _repeat(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    times = arguments[1] if len(arguments) > 1 else keywords.get("times")
    if times is None:
        return _lazy(machine, itertools.repeat(arguments[0]))
    if isinstance(times, Const):
        return _lazy(machine, itertools.repeat(arguments[0], times.value))
    return machine.unknown("how often a value is repeated")


@function("itertools.count")
def _count(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    try:
        return _lazy(
            machine, (Const(number) for number in itertools.count(*(machine.host(argument) for argument in arguments)))
        )
    except NotConcrete:
        return machine.unknown("a count that is not known")
