"""The built-in functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from preflight.walk import assigning, attributes, classes, hashing, operands, texts
from preflight.walk.derived import Derived, apply
from preflight.walk.library.registry import function, pure
from preflight.walk.outcomes import fork
from preflight.walk.truth import Truth, as_value
from preflight.walk.values import (
    FALSE,
    NONE,
    TRUE,
    Arguments,
    Bound,
    Builtin,
    Class,
    Const,
    External,
    Function,
    Instance,
    Keywords,
    Map,
    ModuleValue,
    OneOf,
    Perhaps,
    Seq,
    SetValue,
    Store,
    Stream,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from preflight.walk.machine import Machine


for _name in ("abs", "divmod", "pow", "round", "chr", "ord", "hex", "oct", "bin", "ascii"):
    function(f"builtins.{_name}")(pure(_name, getattr(__import__("builtins"), _name)))


@function("builtins.print", "builtins.breakpoint")
def nothing(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    return NONE


@function("builtins.len")
def _len(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    value = arguments[0]
    if isinstance(value, OneOf):
        return fork(
            machine,
            [lambda option=option: _len(machine, [option], {}) for option in value.options],
            "one of several lengths",
        )
    if isinstance(value, (Seq, Map, SetValue)):
        if value.loose or any(
            isinstance(entry[1] if isinstance(entry, tuple) else entry, Perhaps)
            for entry in (value.content.values() if isinstance(value.content, dict) else ())
        ):
            truthy = True if value.content else None
            return machine.unknown(
                value.loose or "how many items there are is not known", cls=machine.natives.int, truthy=truthy
            )
        return Const(len(value.content))
    if isinstance(value, Instance):
        found = classes.lookup(value.cls, "__len__")
        if found.value is not None and found.sure:
            return machine.call(found.value, [value])
        if value.payload is not None:
            return _len(machine, [value.payload], {})
        if found.sure and not value.loose and not value.cls.gap():
            machine.fail("TypeError", f"object of type '{value.cls.name}' has no len()")
        return machine.unknown("a length that is not known", cls=machine.natives.int)
    if isinstance(value, Class) and "members" in value.notes:
        return Const(len(set(value.notes["members"].values())))
    if isinstance(value, Const):
        try:
            return apply(machine, len, (value,)) if isinstance(value, Derived) else Const(len(value.value))
        except TypeError as error:
            machine.fail("TypeError", str(error))
    if isinstance(value, (Function, Bound, Builtin, Stream)):
        cls = machine.class_of(value)
        machine.fail("TypeError", f"object of type '{cls.name if cls is not None else 'object'}' has no len()")
    machine.may_raise("a length that is not known")
    return machine.unknown(
        value.reason if isinstance(value, Unknown) else "a length that is not known", cls=machine.natives.int
    )


def truth_value(machine: Machine, truth: Truth, about: Value) -> Value:
    reason = about.reason if isinstance(about, Unknown) else "a condition that is not known"
    made = as_value(truth, reason)
    if isinstance(made, Unknown):
        made.cls = machine.natives.bool
        made.place = machine.place()
    return made


@function("builtins.isinstance")
def _isinstance(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    return truth_value(machine, machine.is_instance(arguments[0], arguments[1]), arguments[0])


@function("builtins.issubclass")
def _issubclass(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    if isinstance(arguments[0], (Const, Instance)):
        machine.fail("TypeError", "issubclass() arg 1 must be a class")
    return truth_value(machine, classes.is_subclass(machine, arguments[0], arguments[1]), arguments[0])


@function("builtins.hasattr")
def _hasattr(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    owner, name = arguments[0], arguments[1]
    if not isinstance(name, Const):
        return machine.unknown("which attribute is asked for is not known", cls=machine.natives.bool)
    if isinstance(owner, OneOf):
        return fork(
            machine,
            [lambda option=option: _hasattr(machine, [option, name], {}) for option in owner.options],
            "one of several objects",
        )
    truth, _value = attributes.probe(machine, owner, name.value)
    return truth_value(machine, truth, owner)


@function("builtins.getattr")
def _getattr(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    owner, name = arguments[0], arguments[1]
    if isinstance(name, OneOf):
        return fork(
            machine,
            [lambda option=option: _getattr(machine, [owner, option, *arguments[2:]], {}) for option in name.options],
            "which attribute is read is not known",
        )
    name = operands.payload(name)
    if not isinstance(name, Const):
        machine.may_raise("which attribute is read is not known")
        return machine.unknown("which attribute is read is not known")
    if not isinstance(name.value, str):
        machine.fail("TypeError", f"attribute name must be string, not '{type(name.value).__name__}'")
    if len(arguments) < 3:
        found = machine.get(owner, name.value)
        if isinstance(owner, External) and isinstance(found, External) and name.origin is not None:
            # the launch names it, no code: whether this library has it nobody has tried
            machine.doubt("walk-library-name", f"whether {owner.name} has {name.value!r} is not known ({name.origin})")
        return found
    if isinstance(owner, OneOf):
        return fork(
            machine,
            [lambda option=option: _getattr(machine, [option, name, arguments[2]], {}) for option in owner.options],
            "one of several objects",
        )
    truth, value = attributes.probe(machine, owner, name.value)
    if truth is Truth.NO or value is None:
        return arguments[2]
    if truth is Truth.YES:
        return value
    return operands.join_values(machine, value, arguments[2])


@function("builtins.setattr")
def _setattr(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    owner, name, value = arguments
    if isinstance(name, Const):
        machine.assign(owner, name.value, value)
    elif isinstance(owner, Instance):
        machine.loosen(owner, "which attribute was set is not known", clear=True)
    else:
        machine.escape([owner, value], "which attribute was set is not known")
    return NONE


@function("builtins.delattr")
def _delattr(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    if isinstance(arguments[1], Const):
        assigning.delete(machine, arguments[0], arguments[1].value)
    return NONE


@function("builtins.callable")
def _callable(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    value = arguments[0]
    if isinstance(value, (Function, Bound, Builtin, Class)):
        return TRUE
    if isinstance(value, Instance):
        found = classes.lookup(value.cls, "__call__")
        if found.value is not None and found.sure:
            return TRUE
        return FALSE if found.sure and not value.cls.gap() else machine.unknown("whether it can be called is not known")
    if isinstance(value, (Const, Seq, Map, SetValue, ModuleValue, Stream)):
        return FALSE
    if isinstance(value, OneOf):
        return fork(
            machine,
            [lambda option=option: _callable(machine, [option], {}) for option in value.options],
            "one of several objects",
        )
    return machine.unknown("whether it can be called is not known", cls=machine.natives.bool)


@function("builtins.id")
def identity(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    value = arguments[0]
    return Const(id(value)) if isinstance(value, Store) else machine.unknown("an identity", cls=machine.natives.int)


@function("builtins.hash")
def _hash(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    try:
        return Const(hash(hashing.key_of(machine, arguments[0])))
    except hashing.Unhashed:
        return machine.unknown("a hash that is not known", cls=machine.natives.int)


@function("builtins.repr")
def represented(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    made = texts.text(machine, arguments[0], quoted=True)
    return (
        Const(made)
        if made is not None
        else machine.unknown("a text that is not known", cls=machine.natives.str, truthy=True)
    )


@function("builtins.format")
def _format(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    return pure("format", format)(machine, arguments, keywords)


@function("builtins.vars")
def _vars(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    if not arguments:
        return machine.unknown("the names of a frame")
    return machine.get(arguments[0], "__dict__")


@function("builtins.dir")
def _dir(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    return machine.unknown("the names of an object")


@function("builtins.globals", "builtins.locals")
def _globals(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    return machine.unknown("the names of a module")


@function("builtins.super")
def bound_super(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    from preflight.walk.expressions import make_super

    if len(arguments) == 2 and isinstance(arguments[0], Class):
        return make_super(machine, arguments[0], arguments[1])
    return machine.unknown("what super() is bound to is not known")
