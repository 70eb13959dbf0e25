"""What the built-in classes do when they are called."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from preflight.walk import classes, operands, texts
from preflight.walk.iteration import NotConcrete
from preflight.walk.library import mappings
from preflight.walk.library.builtin import bound_super, truth_value
from preflight.walk.library.iterating import enumerated, filtered, mapped, reverse, zipped
from preflight.walk.library.registry import fail_as, pure
from preflight.walk.origins import combined
from preflight.walk.outcomes import fork
from preflight.walk.values import (
    FALSE,
    NONE,
    Arguments,
    Class,
    Const,
    Descriptor,
    Function,
    Implementation,
    Instance,
    Keywords,
    Map,
    OneOf,
    Seq,
    SetValue,
    Store,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from preflight.walk.machine import Machine


def construct(machine: Machine, cls: Class, arguments: Arguments, keywords: Keywords) -> Value:
    """A built-in class called."""
    native = cls.native
    assert native is not None
    if (
        any(isinstance(argument, OneOf) for argument in arguments[:1])
        and native not in (list, tuple, set, dict)
        and native is not type
    ):
        options = arguments[0]
        assert isinstance(options, OneOf)
        return fork(
            machine,
            [
                lambda option=option: construct(machine, cls, [option, *arguments[1:]], keywords)
                for option in options.options
            ],
            "one of several arguments",
        )
    made = _CONSTRUCTORS.get(native)
    if made is not None:
        return made(machine, arguments, keywords)
    if issubclass(native, BaseException):
        error = machine.instance(cls)
        error.content["args"] = machine.tuple(list(arguments))
        for name, value in keywords.items():
            error.content[name] = value
        return error
    if native is object:
        return machine.instance(cls)
    try:
        hosts = [machine.host(argument) for argument in arguments]
        named = {name: machine.host(value) for name, value in keywords.items()}
    except NotConcrete:
        machine.may_raise(f"{cls.name} of values that are not known")
        return machine.unknown(f"{cls.name} of values that are not known", cls=cls)
    try:
        return Const(native(*hosts, **named), combined(*arguments))
    except Exception as error:
        return fail_as(machine, error)


def _type(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    value = arguments[0]
    if len(arguments) == 3:
        bases = machine.items(arguments[1])
        if isinstance(value, Const) and bases is not None and isinstance(arguments[2], Map):
            cls = classes.make(machine, value.value, bases, machine.frame.module.name)
            for key, entry in arguments[2].content.values():
                if isinstance(key, Const):
                    cls.content[key.value] = entry
            if arguments[2].loose:
                cls.complete = arguments[2].loose
            classes.finish(machine, cls, {})
            return cls
        return machine.unknown("a class made at run time")
    if isinstance(value, OneOf):
        return fork(
            machine,
            [lambda option=option: _type(machine, [option], {}) for option in value.options],
            "one of several classes",
        )
    cls = machine.class_of(value)
    if cls is None or (isinstance(value, Unknown) and cls.native not in (str, int, float, bool, bytes)):
        return machine.unknown(value.reason if isinstance(value, Unknown) else "the class of an object of a library")
    return cls


def _str(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    if not arguments:
        return Const("")
    made = texts.text(machine, arguments[0])
    if made is not None:
        return Const(made)
    unknown = machine.unknown(
        arguments[0].reason if isinstance(arguments[0], Unknown) else "a text that is not known",
        cls=machine.natives.str,
    )
    unknown.text = texts.shown(machine, arguments[0])
    return unknown


def _bool(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    return truth_value(machine, machine.truth(arguments[0]), arguments[0]) if arguments else FALSE


def _number(native: type) -> Implementation:
    def run(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
        if not arguments:
            return Const(native())
        value = operands.payload(arguments[0])
        if isinstance(value, Instance):
            for name in (f"__{native.__name__}__", "__index__"):
                found = classes.lookup(value.cls, name)
                if found.value is not None and found.sure:
                    return machine.call(found.value, [value])
        if isinstance(value, Unknown):
            machine.may_raise(value.reason)
            return machine.unknown(value.reason, cls=machine.natives.of(native))
        plain = isinstance(value, Instance) and not value.cls.gap() and not value.loose
        if plain or isinstance(value, (Seq, Map, SetValue, Function, Class)):
            cls = machine.class_of(value)
            machine.fail(
                "TypeError",
                f"{native.__name__}() argument must be a string or a real number, "
                f"not '{cls.name if cls is not None else 'object'}'",
            )
        made = pure(native.__name__, native)(machine, [value, *arguments[1:]], keywords)
        if isinstance(made, Unknown):
            made.cls = machine.natives.of(native)
        return made

    return run


def _sequence(kind: type) -> Implementation:
    def run(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
        cls = machine.natives.of(kind)
        if not arguments:
            return Seq(cls, [], machine.state.fresh())
        items = machine.items(arguments[0])
        made = Seq(cls, items or [], machine.state.fresh())
        if items is None:
            made.loose = arguments[0].reason if isinstance(arguments[0], Unknown) else "the items are not known"
            machine.may_raise(made.loose)
            if kind is tuple:
                return machine.unknown(made.loose)
        return made

    return run


def _set_of(kind: type) -> Implementation:
    def run(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
        cls = machine.natives.of(kind)
        if not arguments:
            return machine.set([], cls)
        items = machine.items(arguments[0])
        made = machine.set(items or [], cls)
        if items is None and isinstance(made, Store):
            made.loose = arguments[0].reason if isinstance(arguments[0], Unknown) else "the elements are not known"
            machine.may_raise(made.loose)
        return made

    return run


def _dict(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    made = machine.dict([])
    mappings.DICT["update"](machine, made, arguments, keywords)
    return made


def _object(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    return machine.instance(machine.natives.object)


def _descriptor(kind: str) -> Implementation:
    def run(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
        names = ["fget", "fset", "fdel"]
        given = {**dict(zip(names, arguments, strict=False)), **keywords}
        setter, deleter = given.get("fset"), given.get("fdel")
        return Descriptor(kind, given.get("fget", NONE), setter, deleter)

    return run


_CONSTRUCTORS: dict[type, Implementation] = {
    type: _type,
    str: _str,
    bool: _bool,
    int: _number(int),
    float: _number(float),
    list: _sequence(list),
    tuple: _sequence(tuple),
    set: _set_of(set),
    frozenset: _set_of(frozenset),
    dict: _dict,
    object: _object,
    property: _descriptor("property"),
    classmethod: _descriptor("classmethod"),
    staticmethod: _descriptor("staticmethod"),
    enumerate: enumerated,
    zip: zipped,
    map: mapped,
    filter: filtered,
    reversed: reverse,
    super: bound_super,
}


def constructor(native: type) -> Callable[[Implementation], Implementation]:
    """Registers what a built-in class does when it is called."""

    def register(run: Implementation) -> Implementation:
        _CONSTRUCTORS[native] = run
        return run

    return register
