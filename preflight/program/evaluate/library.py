"""What is written down about the standard library, for code that handles classes: each entry by its import path."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from preflight.program.classes import Class
from preflight.program.evaluate.values import (
    Bound,
    Deferred,
    Function,
    Host,
    HostObject,
    ModuleValue,
    Opaque,
    Raised,
    Unknown,
    Value,
)
from preflight.program.facts import Parameter
from preflight.program.finder import ModuleKind
from preflight.program.signatures import Signature

if TYPE_CHECKING:
    from preflight.program.evaluate.evaluator import Evaluator

#: ``inspect.Parameter.empty``
_EMPTY = Opaque("inspect._empty")
_KINDS = ("POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD", "VAR_POSITIONAL", "KEYWORD_ONLY", "VAR_KEYWORD")
_PARAMETER = HostObject("inspect.Parameter", {**{name: f"<{name}>" for name in _KINDS}, "empty": _EMPTY})


def _parameter(evaluator: Evaluator, function: Function, parameter: Parameter) -> HostObject:
    def annotation() -> Value:
        if parameter.annotation is None:
            return _EMPTY
        if postponed(function):
            return parameter.annotation.text
        written = parameter.annotation
        return evaluator.ask(lambda: evaluator.expression(function.module, written, function.frame))

    default: Value = _EMPTY
    if parameter.default is not None or parameter.name in function.defaults:
        default = function.defaults.get(parameter.name, Unknown("the default of a parameter"))
    return HostObject(
        "Parameter",
        {
            "name": parameter.name,
            "kind": f"<{_KINDS[parameter.kind]}>",
            "annotation": Deferred(annotation),
            "default": default,
            "empty": _EMPTY,
        },
    )


def postponed(function: Function) -> bool:
    """Whether annotations are text in the function's module (``from __future__ import annotations``)."""
    return any(item.module == "__future__" and item.name == "annotations" for item in function.module.facts.imports)


def _signature(evaluator: Evaluator) -> Value:
    def call(value: Value, **options: Value) -> Value:
        function, skip = value, 0
        while isinstance(function, Bound):
            function, skip = function.function, skip + 1
        if isinstance(function, Class):
            init = evaluator.attributes.of_class(function, "__init__")
            function, skip = init, 1
        if isinstance(function, Function):
            if "__wrapped__" in function.attributes and isinstance(function.attributes["__wrapped__"], Function):
                function = function.attributes["__wrapped__"]
            signature = Signature(function.parameters)
            for _ in range(skip):
                signature = signature.bound()
            parameters = {p.name: _parameter(evaluator, function, p) for p in signature.parameters}
            return HostObject("Signature", {"parameters": parameters, "return_annotation": _EMPTY})
        if isinstance(function, (Unknown, Opaque)):
            return Unknown(getattr(function, "reason", "it is outside of the tree"))
        raise Raised("TypeError", f"{type(function).__name__} is not a callable object")

    return Host("inspect.signature", call)


def _wraps(evaluator: Evaluator) -> Value:
    def wraps(wrapped: Value, *args: Value, **kwargs: Value) -> Value:
        def decorate(wrapper: Value) -> Value:
            if isinstance(wrapper, Function):
                wrapper.attributes["__wrapped__"] = wrapped
                if isinstance(wrapped, Function):
                    wrapper.attributes["__name__"] = wrapped.name
                    wrapper.attributes["__qualname__"] = wrapped.qualname
            return wrapper

        return Host("wraps(...)", decorate)

    return Host("functools.wraps", wraps)


def _identity(name: str) -> Callable[[Evaluator], Value]:
    """A decorator that hands back what it decorates, with or without arguments of its own."""

    def maker(evaluator: Evaluator) -> Value:
        def call(value: Value = None, *args: Value, **kwargs: Value) -> Value:
            if isinstance(value, (Function, Bound, Class, Host)):
                return value
            return Host(name, lambda decorated: decorated)

        return Host(name, call)

    return maker


def _dataclass(evaluator: Evaluator) -> Value:
    def call(cls: Value = None, **options: Value) -> Value:
        def decorate(decorated: Value) -> Value:
            if isinstance(decorated, Class):
                decorated.dataclass_options = {name: value for name, value in options.items() if value is True}
            return decorated

        return decorate(cls) if isinstance(cls, Class) else Host("dataclass(...)", decorate)

    return Host("dataclass", call)


def _import_module(evaluator: Evaluator) -> Value:
    def call(name: Value, package: Value = None) -> Value:
        if not isinstance(name, str):
            return name if isinstance(name, Unknown) else Unknown("the name of a module is not known")
        if name.startswith("."):
            if not isinstance(package, str):
                return Unknown("the package of a relative import is not known")
            level = len(name) - len(name.lstrip("."))
            parts = package.split(".")
            name = ".".join([*parts[: len(parts) - level + 1], *filter(None, [name.lstrip(".")])])
        spec = evaluator.program.finder.find(name)
        if not spec.found:
            if spec.kind.value == "absent":
                raise Raised("ModuleNotFoundError", f"No module named {name!r}")
            return Unknown(spec.reason)
        return ModuleValue(name)

    return Host("importlib.import_module", call)


def _find_spec(evaluator: Evaluator) -> Value:
    def call(name: Value, package: Value = None) -> Value:
        if not isinstance(name, str):
            return Unknown("the name of a module is not known")
        spec = evaluator.program.finder.find(name)
        if spec.kind is ModuleKind.UNKNOWN:
            return Unknown(spec.reason)
        return Opaque("importlib.machinery.ModuleSpec") if spec.found else None

    return Host("importlib.util.find_spec", call)


def _regular_expression(evaluator: Evaluator) -> Value:
    def compile_(pattern: Value, flags: Value = 0) -> Value:
        if not isinstance(pattern, str) or flags != 0:
            return Unknown("a regular expression that is not known")
        if len(pattern) > 500 or ")+" in pattern or ")*" in pattern or "){" in pattern:
            return Unknown("a regular expression that may take without end is not tried")
        try:
            compiled = re.compile(pattern)
        except re.error as error:
            raise Raised("error", str(error)) from None

        def method(name: str) -> Host:
            def match(text: Value) -> Value:
                if not isinstance(text, str):
                    return Unknown("the text that is matched is not known")
                found = getattr(compiled, name)(text)
                return None if found is None else {0: found.group(0), **dict(enumerate(found.groups(), 1))}

            return Host(f"Pattern.{name}", match)

        return HostObject("Pattern", {name: method(name) for name in ("match", "fullmatch", "search")})

    return Host("re.compile", compile_)


def _partial(evaluator: Evaluator) -> Value:
    def call(function: Value, *args: Value, **kwargs: Value) -> Value:
        def later(*more: Value, **named: Value) -> Value:
            return evaluator.calls.call(function, [*args, *more], {**kwargs, **named}, "partial")

        return Host("partial", later)

    return Host("functools.partial", call)


def _optional(evaluator: Evaluator) -> Value:
    return Opaque("typing.Optional")


LIBRARY: dict[str, Callable[[Evaluator], Value]] = {
    "inspect.signature": _signature,
    "inspect.Parameter": lambda evaluator: _PARAMETER,
    "inspect._empty": lambda evaluator: _EMPTY,
    "functools.wraps": _wraps,
    "functools.lru_cache": _identity("functools.lru_cache"),
    "functools.cache": _identity("functools.cache"),
    "functools.partial": _partial,
    "typing.cast": lambda evaluator: Host("typing.cast", lambda kind, value: value),
    "typing.overload": _identity("typing.overload"),
    "typing.final": _identity("typing.final"),
    "typing.runtime_checkable": _identity("typing.runtime_checkable"),
    "typing.no_type_check": _identity("typing.no_type_check"),
    "typing.Optional": _optional,
    "typing.Union": lambda evaluator: Opaque("typing.Union"),
    "typing.TYPE_CHECKING": lambda evaluator: False,
    "dataclasses.dataclass": _dataclass,
    "pydantic.dataclasses.dataclass": _dataclass,
    "typing.dataclass_transform": lambda evaluator: Host(
        "dataclass_transform", lambda **kwargs: Host("dataclass_transform()", lambda decorated: decorated)
    ),
    "typing_extensions.dataclass_transform": lambda evaluator: Host(
        "dataclass_transform", lambda **kwargs: Host("dataclass_transform()", lambda decorated: decorated)
    ),
    "importlib.import_module": _import_module,
    "importlib.util.find_spec": _find_spec,
    "re.compile": _regular_expression,
    "re.escape": lambda evaluator: Host("re.escape", re.escape),
    "copy.copy": lambda evaluator: Host("copy.copy", lambda value: value),
}
