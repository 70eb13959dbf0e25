"""Values against annotations, as pydantic takes them: accepted, converted or refused, with what is said then."""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from preflight.walk import operands, texts
from preflight.walk.library.forms import _arguments
from preflight.walk.outcomes import Raised
from preflight.walk.truth import Truth
from preflight.walk.values import (
    Class,
    Const,
    Descriptor,
    External,
    Form,
    Function,
    Host,
    Instance,
    Map,
    OneOf,
    Seq,
    SetValue,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from preflight.walk.machine import Machine


@dataclass(frozen=True, slots=True)
class Checked:
    """A value against an annotation: whether it is accepted, what it becomes, and what is said when it is not."""

    accepted: Truth
    value: Value
    problem: str = ""


_TRUE, _FALSE = ("1", "on", "t", "true", "y", "yes"), ("0", "off", "f", "false", "n", "no")


def check(machine: Machine, annotation: Value, value: Value) -> Checked:
    """``value`` against ``annotation`` in pydantic's lax mode."""
    if isinstance(value, OneOf):
        return Checked(Truth.MAYBE, value)
    if isinstance(annotation, Const) and annotation.value is None:
        annotation = machine.natives.of(type(None))
    if isinstance(annotation, Form):
        return _check_form(machine, annotation, value)
    if isinstance(annotation, Class):
        return _check_class(machine, annotation, value)
    # a name of a library that is not known: `SkipValidation`, a class of torch, a callable
    return Checked(Truth.MAYBE, value)


def _check_form(machine: Machine, form: Form, value: Value) -> Checked:
    head = form.head.rpartition(".")[2]
    if head in ("Any", "TypeVar", "ClassVar", "Type", "type") or (not form.arguments and form.target is None):
        return Checked(Truth.YES, value)
    if head == "Literal":
        return _check_literal(machine, form, value)
    if head == "Union":
        return _check_union(machine, form, value)
    if head == "Annotated":
        if any(isinstance(extra, Form) and extra.head == "pydantic.SkipValidation" for extra in form.arguments[1:]):
            return Checked(Truth.YES, value)
        checked = check(machine, form.arguments[0], value)
        for extra in form.arguments[1:]:
            if isinstance(extra, Instance) and extra.cls.name == "FieldInfo":
                problem = limits(extra, checked.value)
                if problem and checked.accepted is Truth.YES:
                    return Checked(Truth.NO, value, problem)
            elif not (isinstance(extra, Const) and isinstance(extra.value, str)):
                return Checked(Truth.MAYBE, value)
        return checked
    if head in ("Final", "InitVar", "Required", "NotRequired") and form.arguments:
        return check(machine, form.arguments[0], value)
    if isinstance(form.target, Class):
        return _check_generic(machine, form, value)
    return Checked(Truth.MAYBE, value)


def _check_literal(machine: Machine, form: Form, value: Value) -> Checked:
    allowed = [argument for argument in _arguments(form) if isinstance(argument, (Const, Instance))]
    answers = [machine.equal(option, value) for option in allowed]
    for option, answer in zip(allowed, answers, strict=True):
        if answer is Truth.YES:
            return Checked(Truth.YES, value if isinstance(value, Const) else option)
    if any(answer is Truth.MAYBE for answer in answers) or len(allowed) != len(_arguments(form)):
        return Checked(Truth.MAYBE, value)
    names = [texts.text(machine, option, quoted=True) or "?" for option in allowed]
    listed = names[0] if len(names) == 1 else ", ".join(names[:-1]) + f" or {names[-1]}"
    return Checked(Truth.NO, value, f"Input should be {listed}")


def _check_union(machine: Machine, form: Form, value: Value) -> Checked:
    if isinstance(value, Unknown):
        return Checked(Truth.MAYBE, value)
    actual = machine.class_of(value)
    for option in form.arguments:
        if isinstance(option, Class) and option is actual:
            return Checked(Truth.YES, value)
    results = [check(machine, option, value) for option in form.arguments]
    for result in results:
        if result.accepted is Truth.YES and result.value is value:
            return result
    for result in results:
        if result.accepted is Truth.MAYBE:
            return Checked(Truth.MAYBE, value)
    for result in results:
        if result.accepted is Truth.YES:
            return result
    return Checked(Truth.NO, value, " or ".join(dict.fromkeys(result.problem for result in results)))


def _check_generic(machine: Machine, form: Form, value: Value) -> Checked:
    target = form.target
    assert isinstance(target, Class)
    native = target.native
    if native in (list, set, frozenset, tuple):
        if isinstance(value, (Seq, SetValue)):
            return _check_items(machine, form, native, value)
        if isinstance(value, Const) and (isinstance(value.value, (str, int, float, bool)) or value.value is None):
            return Checked(Truth.NO, value, f"Input should be a valid {native.__name__}")
        if isinstance(value, Map):
            return Checked(Truth.NO, value, f"Input should be a valid {native.__name__}")
        return Checked(Truth.MAYBE, value)
    if native is dict:
        if isinstance(value, Map):
            return Checked(Truth.MAYBE if value.loose else Truth.YES, value)
        if isinstance(value, (Seq, SetValue)) or (
            isinstance(value, Const) and (isinstance(value.value, (str, int, float, bool)) or value.value is None)
        ):
            return Checked(Truth.NO, value, "Input should be a valid dictionary")
        return Checked(Truth.MAYBE, value)
    if native is type:
        return Checked(Truth.YES if isinstance(value, Class) else Truth.MAYBE, value)
    return _check_class(machine, target, value)


def _check_items(machine: Machine, form: Form, native: type, value: Seq | SetValue) -> Checked:
    items = machine.items(value)
    arguments = form.arguments
    if items is None or not arguments:
        return Checked(Truth.MAYBE, value)
    if native is tuple and not (len(arguments) == 2 and isinstance(arguments[1], Const)):
        if len(items) != len(arguments):
            return Checked(Truth.MAYBE, value)
        results = [check(machine, argument, item) for argument, item in zip(arguments, items, strict=True)]
    else:
        results = [check(machine, arguments[0], item) for item in items]
    for result in results:
        if result.accepted is Truth.NO:
            return Checked(Truth.NO, value, result.problem)
    if any(result.accepted is Truth.MAYBE for result in results):
        return Checked(Truth.MAYBE, value)
    made = [result.value for result in results]
    if native in (set, frozenset):
        return Checked(Truth.YES, machine.set(made, machine.natives.of(native)))
    return Checked(Truth.YES, Seq(machine.natives.of(native), made, machine.state.fresh()))


def _check_class(machine: Machine, cls: Class, value: Value) -> Checked:
    native = cls.native
    payload = operands.payload(value)
    if native in (bool, int, float, str):
        if isinstance(payload, Const):
            return _check_scalar(native, payload, value)
        if isinstance(value, (Seq, Map, SetValue, Function, Class, Instance)) and not (
            isinstance(value, Instance) and value.cls.gap()
        ):
            return Checked(Truth.NO, value, _PROBLEMS[native])
        return Checked(Truth.YES if isinstance(value, Unknown) and value.cls is cls else Truth.MAYBE, value)
    if native is type(None):
        if isinstance(value, Const):
            return Checked(Truth.YES if value.value is None else Truth.NO, value, "Input should be None")
        return Checked(
            Truth.MAYBE if isinstance(value, (Unknown, External)) else Truth.NO, value, "Input should be None"
        )
    if native is object:
        return Checked(Truth.YES, value)
    if native in (list, dict, tuple, set):
        return (
            _check_generic(machine, Form("", (), cls), value)
            if native is dict
            else Checked(machine.is_instance(value, cls), value, f"Input should be a valid {native.__name__}")
        )
    answer = machine.is_instance(value, cls)
    if answer is not Truth.NO:
        return Checked(answer, value)
    members = cls.notes.get("members")
    if members is not None:
        sought = [value]
        if isinstance(payload, Const):
            # the members of an enum of numbers are also found by their text
            sought += [
                checked.value
                for native in (int, float)
                if cls.is_subclass(machine.natives.of(native))
                and (checked := _check_scalar(native, payload, value)).accepted is Truth.YES
            ]
        for member in members.values():
            if any(machine.equal(member.content["_value_"], option) is Truth.YES for option in sought):
                return Checked(Truth.YES, member)
        if isinstance(value, Const) and not isinstance(cls.lookup("_missing_"), (Function, Descriptor)):
            listed = ", ".join(
                texts.text(machine, member.content["_value_"], quoted=True) or "?" for member in members.values()
            )
            return Checked(Truth.NO, value, f"Input should be {listed}")
        return Checked(Truth.MAYBE, value)
    if "fields" in cls.notes and isinstance(value, Map):
        try:
            made = machine.call(
                cls, [], {str(key.value): entry for key, entry in value.content.values() if isinstance(key, Const)}
            )
        except Raised as raised:
            return Checked(
                Truth.NO, value, raised.exits[0].message or f"Input should be a dictionary or an instance of {cls.name}"
            )
        return Checked(Truth.YES, made)
    if isinstance(value, Const) and (value.value is None or isinstance(value.value, (str, int, float, bool))):
        if native is not None and (
            issubclass(native, os.PathLike) or native.__module__.startswith(("datetime", "decimal", "uuid"))
        ):
            return Checked(Truth.MAYBE, value)
        if cls.module.startswith(("collections", "typing")):
            return Checked(
                Truth.NO if value.value is None else Truth.MAYBE, value, f"Input should be an instance of {cls.name}"
            )
        return Checked(
            Truth.NO,
            value,
            f"Input should be an instance of {cls.name}"
            if "fields" not in cls.notes
            else f"Input should be a dictionary or an instance of {cls.name}",
        )
    return Checked(Truth.MAYBE, value)


_PROBLEMS = {
    bool: "Input should be a valid boolean",
    int: "Input should be a valid integer",
    float: "Input should be a valid number",
    str: "Input should be a valid string",
}


def _check_scalar(native: type, payload: Const, value: Value) -> Checked:
    host = payload.value
    refused = Checked(Truth.NO, value, _PROBLEMS[native])
    if not isinstance(host, (str, int, float, bool, bytes)):
        return refused if host is None else Checked(Truth.MAYBE, value)
    if native is str:
        return Checked(Truth.YES, value) if isinstance(host, str) else refused
    if native is bool:
        if isinstance(host, bool):
            return Checked(Truth.YES, value)
        if host in (0, 1) and isinstance(host, (int, float)):
            return Checked(Truth.YES, Const(bool(host), value.origin))
        if isinstance(host, str) and host.lower() in (*_TRUE, *_FALSE):
            return Checked(Truth.YES, Const(host.lower() in _TRUE, value.origin))
        return refused
    if native is int:
        if isinstance(host, bool):
            return Checked(Truth.YES, Const(int(host), value.origin))
        if isinstance(host, int):
            return Checked(Truth.YES, value)
        if isinstance(host, float):
            if host.is_integer():
                return Checked(Truth.YES, Const(int(host), value.origin))
            if not math.isfinite(host):
                return Checked(Truth.NO, value, "Input should be a finite number")
            return Checked(Truth.NO, value, "Input should be a valid integer, got a number with a fractional part")
        if isinstance(host, str):
            try:
                return Checked(Truth.YES, Const(int(host.strip()), value.origin))
            except ValueError:
                return (
                    Checked(Truth.NO, value, "Input should be a valid integer, unable to parse string as an integer")
                    if not re.fullmatch(r"\s*[-+]?\d[\d_]*\.0*\s*", host)
                    else Checked(Truth.MAYBE, value)
                )
        return Checked(Truth.MAYBE, value)
    if isinstance(host, bool):
        return Checked(Truth.YES, Const(float(host), value.origin))
    if isinstance(host, (int, float)):
        return Checked(Truth.YES, value if isinstance(host, float) else Const(float(host), value.origin))
    try:
        return Checked(Truth.YES, Const(float(host), value.origin))
    except ValueError:
        return Checked(Truth.NO, value, "Input should be a valid number, unable to parse string as a number")


def limits(info: Instance, value: Value) -> str | None:
    """What a ``Field``'s limits say against a value; None when nothing."""
    if not isinstance(value, Const) or value.value is None:
        return None

    def limit(name: str) -> Host:
        found = info.content.get(name)
        return found.value if isinstance(found, Const) else None

    host = value.value
    if isinstance(host, (int, float)):
        for name, holds, words in (
            ("ge", lambda a, b: a >= b, "greater than or equal to"),
            ("gt", lambda a, b: a > b, "greater than"),
            ("le", lambda a, b: a <= b, "less than or equal to"),
            ("lt", lambda a, b: a < b, "less than"),
        ):
            bound = limit(name)
            if bound is not None and not holds(host, bound):
                return f"Input should be {words} {bound}"
        step = limit("multiple_of")
        if step is not None and math.fmod(host, step):
            return f"Input should be a multiple of {step}"
    if isinstance(host, str):
        least, most, pattern = limit("min_length"), limit("max_length"), limit("pattern")
        if least is not None and len(host) < least:
            return f"String should have at least {least} characters"
        if most is not None and len(host) > most:
            return f"String should have at most {most} characters"
        if pattern is not None and not re.search(pattern, host):
            return f"String should match pattern '{pattern}'"
    return None
