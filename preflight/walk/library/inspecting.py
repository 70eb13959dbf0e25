"""``inspect``: signatures of functions of the tree."""

from __future__ import annotations

import ast
import inspect
from typing import TYPE_CHECKING

from preflight.walk import classes
from preflight.walk.library.registry import MAKERS, function, library_class, maker
from preflight.walk.outcomes import Raised
from preflight.walk.values import (
    FALSE,
    TRUE,
    Arguments,
    Bound,
    Builtin,
    Class,
    Const,
    Descriptor,
    Function,
    Instance,
    Keywords,
    OneOf,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from preflight.walk.machine import Machine

#: the attribute of a function of a library that holds the text of its signature
SIGNATURE = "__text_signature__"


@maker("inspect.Parameter")
def _parameter(machine: Machine) -> Value:
    cls = library_class("Parameter", machine.natives.object, "inspect")
    for name in ("POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD", "VAR_POSITIONAL", "KEYWORD_ONLY", "VAR_KEYWORD"):
        cls.content[name] = Const(getattr(inspect.Parameter, name))
    empty = library_class("_empty", machine.natives.object, "inspect")
    cls.content["empty"] = empty
    return cls


@function("inspect.signature")
def _signature(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    target: Value = arguments[0]
    drop = 0
    if isinstance(target, Class):
        found = classes.lookup(target, "__init__")
        if found.value is None or not found.sure:
            return machine.unknown("the signature of a class")
        target, drop = found.value, 1
    while isinstance(target, (Bound, Descriptor)):
        drop += 1 if isinstance(target, Bound) or target.kind == "classmethod" else 0
        target = target.function
    if isinstance(target, Builtin) and isinstance(target.attributes.get("__wrapped__"), Function):
        target = target.attributes["__wrapped__"]
    while isinstance(target, Function) and isinstance(target.content.get("__wrapped__"), (Function, Builtin)):
        target = target.content["__wrapped__"]
    written = target.attributes.get(SIGNATURE) if isinstance(target, Builtin) else None
    if isinstance(written, Const):
        return _made(machine, _written(machine, str(written.value))[drop:])
    if not isinstance(target, Function):
        machine.may_raise("the signature of something that is no function of the tree")
        return machine.unknown("the signature of something that is no function of the tree")
    return _made(machine, _parameters(machine, target)[drop:])


def _made(machine: Machine, pairs: list[tuple[str, Value]]) -> Value:
    cls = machine.library.external_class(machine, "preflight.Signature")
    made = machine.instance(cls)
    made.content["parameters"] = machine.dict([(Const(name), value) for name, value in pairs])
    return made


MAKERS["preflight.Signature"] = lambda machine: library_class("Signature", machine.natives.object, "inspect")


def _written(machine: Machine, text: str) -> list[tuple[str, Value]]:
    """The parameters of a function of a library, from the text of its signature; none has a default."""
    definition = ast.parse(f"def function{text}: ...").body[0]
    assert isinstance(definition, ast.FunctionDef)
    closure = machine.frames[0]
    return _parameters(machine, Function(definition, closure, "function", 0))


def _parameters(machine: Machine, target: Function) -> list[tuple[str, Value]]:
    cls = machine.library.external_class(machine, "inspect.Parameter")
    kinds = inspect.Parameter
    given = target.node.args
    positional = [*given.posonlyargs, *given.args]
    first_default = len(positional) - len(target.defaults)
    found: list[tuple[str, Value]] = []

    def add(argument: ast.arg, kind: object, default: Value | None) -> None:
        made = machine.instance(cls)
        made.content["name"] = Const(argument.arg)
        made.content["kind"] = Const(kind)
        made.content["default"] = default if default is not None else cls.content["empty"]
        made.content["annotation"] = (
            _annotation(machine, target, argument) if argument.annotation is not None else cls.content["empty"]
        )
        found.append((argument.arg, made))

    for index, argument in enumerate(positional):
        kind = kinds.POSITIONAL_ONLY if index < len(given.posonlyargs) else kinds.POSITIONAL_OR_KEYWORD
        add(argument, kind, target.defaults[index - first_default] if index >= first_default else None)
    if given.vararg is not None:
        add(given.vararg, kinds.VAR_POSITIONAL, None)
    for argument in given.kwonlyargs:
        add(argument, kinds.KEYWORD_ONLY, target.kwdefaults.get(argument.arg))
    if given.kwarg is not None:
        add(given.kwarg, kinds.VAR_KEYWORD, None)
    return found


def _annotation(machine: Machine, target: Function, argument: ast.arg) -> Value:
    """An annotation as the function carries it: evaluated where the function was made, or its text."""
    assert argument.annotation is not None
    if machine.modules.defers_annotations(target.closure.module):
        return Const(ast.unparse(argument.annotation))
    machine.frames.append(target.closure)
    try:
        return machine.evaluate(argument.annotation)
    except Raised:
        return machine.unknown("an annotation that cannot be resolved")
    finally:
        machine.frames.pop()


@function("inspect.getattr_static")
def _getattr_static(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    """What the class holds, without any descriptor being asked."""
    owner, name = arguments[0], arguments[1]
    cls = owner if isinstance(owner, Class) else owner.cls if isinstance(owner, Instance) else None
    if cls is None or not isinstance(name, Const):
        return machine.unknown("an attribute of something that is not known")
    if isinstance(owner, Instance) and name.value in owner.content:
        return owner.content[name.value]
    found = classes.lookup(cls, str(name.value))
    if found.value is not None and found.sure:
        return found.value
    if not found.sure or (isinstance(owner, Instance) and owner.loose):
        return machine.unknown("an attribute of a class that is not wholly known")
    if len(arguments) > 2:
        return arguments[2]
    return machine.fail("AttributeError", str(name.value), missing=(owner, str(name.value)))


@function("inspect.isclass")
def _isclass(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    value = arguments[0]
    if isinstance(value, Class):
        return TRUE
    if isinstance(value, (Const, Function, Bound, Instance)):
        return FALSE
    return machine.unknown("whether it is a class", cls=machine.natives.bool)


@function("inspect.isfunction", "inspect.isroutine", "inspect.ismethod")
def _isfunction(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    return TRUE if isinstance(arguments[0], Function) else machine.unknown("whether it is a function")


@function("inspect.iscoroutinefunction", "asyncio.iscoroutinefunction")
def _iscoroutine(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    value = arguments[0].function if isinstance(arguments[0], Bound) else arguments[0]
    if isinstance(value, (Unknown, OneOf)) or not isinstance(value, Function):
        return machine.unknown("whether it is a coroutine")
    return Const(isinstance(value.node, ast.AsyncFunctionDef))


@function("psutil.virtual_memory")
def _virtual_memory(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    size = machine.library.cpu_memory
    if size is None:
        return machine.unknown("the memory of the machine")
    machine.assume("cpu-memory", f"cpu-memory={size / (1 << 30):g}")
    made = machine.instance(library_class("svmem", machine.natives.object, "psutil"))
    made.content.update(
        {
            "total": Const(size, "cpu-memory"),
            "available": Const(size, "cpu-memory"),
            "used": Const(0),
            "free": Const(size),
        }
    )
    return made


@function("gettext.gettext", "gettext.pgettext")
def _gettext(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    return arguments[-1]


@function("gettext.ngettext")
def _ngettext(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    count = arguments[2]
    return arguments[0] if isinstance(count, Const) and count.value == 1 else arguments[1]
