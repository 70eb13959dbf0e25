"""Attribute access on the values of the tree's code."""

from __future__ import annotations

import ast
import re
from collections import defaultdict, deque
from typing import TYPE_CHECKING

from preflight.launch.reading import classes, hints
from preflight.launch.reading.modules import Module, absolute, import_module, look_up
from preflight.launch.reading.values import (
    Bound,
    Class,
    External,
    Function,
    Hint,
    Instance,
    Native,
    NativeBase,
    NotKnown,
    Object,
    Raised,
    Scope,
    Super,
    Unknown,
    Wrapped,
    describe,
)

if TYPE_CHECKING:
    from preflight.launch.reading.run import Run

#: Plain values whose own attributes may be asked for: computing with them has no effect outside of them.
_PLAIN = (
    str, bytes, int, float, bool, list, dict, set, frozenset, tuple, range, slice, type(None), complex,
    re.Pattern, re.Match, defaultdict, deque, BaseException,
)  # fmt: skip
_TYPES = (str, bytes, int, float, bool, list, dict, set, frozenset, tuple, type, object, range)


def attribute(run: Run, value: Object, name: str, scope: Scope, line: int) -> Object:
    """``value.name``. Raises Raised(AttributeError) where Python certainly would, NotKnown where it is not known."""
    if isinstance(value, Unknown):
        return Unknown(f"{name} of {value.reason}" if len(value.reason) < 120 else value.reason)
    if isinstance(value, Module):
        try:
            return look_up(run, value, name)
        except KeyError:
            return Unknown(f"{value.name} has no {name} that can be read")
    if isinstance(value, External):
        if name in ("__module__", "__name__", "__qualname__"):
            parts = value.dotted.rpartition(".")
            return parts[0] if name == "__module__" else parts[2]
        from preflight.launch.reading.library import external

        return external(run, f"{value.dotted}.{name}")
    if isinstance(value, Instance):
        return _of_instance(run, value, name, scope, line)
    if isinstance(value, Class):
        return _of_class(run, value, name)
    if isinstance(value, Super):
        return _of_super(run, value, name)
    if getattr(value, "stands_in", False):
        return value.attribute(run, name, (scope.module.path if scope.module else "", line))
    if isinstance(value, classes.Field):
        return value.get(name)
    if isinstance(value, classes.FieldInfo):
        return value.get(name)
    if name == "__module__":
        return hints.module_of(value)
    if isinstance(value, Hint):
        if name in ("__origin__", "__args__"):
            return value.origin if name == "__origin__" else value.arguments
        raise NotKnown(Unknown(f"{name} of the annotation {describe(value)}"))
    if isinstance(value, (Function, Bound, Native, NativeBase)):
        if name in ("__name__", "__qualname__"):
            return describe(value)
        if name == "__doc__" and isinstance(value, Function):
            return docstring(value)
        raise NotKnown(Unknown(f"{name} of {describe(value)}"))
    return _of_native(value, name, scope, line)


def _of_native(value: Object, name: str, scope: Scope, line: int) -> Object:
    if isinstance(value, type):
        if name in ("__name__", "__qualname__"):
            return value.__name__
        allowed = value in _TYPES and not name.startswith("_")
    else:
        allowed = isinstance(value, _PLAIN) and not (name.startswith("_") and name != "__doc__")
    if name == "__class__":
        return type(value)
    if not allowed:
        raise NotKnown(Unknown(f"{name} of {type(value).__name__}"))
    try:
        return getattr(value, name)
    except AttributeError as error:
        raise Raised(error, scope.module.path, line) from None


def docstring(function: Function) -> str | None:
    """The docstring of a function of the tree."""
    return None if isinstance(function.node, ast.Lambda) else ast.get_docstring(function.node, clean=False)


def _of_instance(run: Run, value: Instance, name: str, scope: Scope, line: int) -> Object:
    if name == "__class__":
        return value.cls
    if name == "__dict__":
        return value.names
    try:
        owner, found = classes.find(run, value.cls, name)
    except KeyError:
        owner, found = None, None
    except NotKnown as missing:
        if name in value.names:
            return value.names[name]
        return missing.unknown
    if isinstance(found, Wrapped) and found.kind == "property":
        from preflight.launch.reading.calls import call

        return call(run, found.function, [value], {})
    if name in value.names:
        return value.names[name]
    if owner is not None:
        if classes.is_enum(value.cls) and name in classes.enum_members(run, value.cls):
            return classes.enum_members(run, value.cls)[name]
        return _bind(run, found, value, value.cls)
    for base in value.cls.order:
        if isinstance(base, NativeBase) and base.attributes is not None:
            given = base.attributes(value, name)
            if given is not None:
                return given
    plain = classes.unwrapped(value)
    if plain is not value:
        return _of_native(plain, name, scope, line)
    try:
        _, getter = classes.find(run, value.cls, "__getattr__")
    except KeyError:
        pass
    else:
        from preflight.launch.reading.calls import call

        return call(run, getter, [value, name], {})
    if value.native is not None or value.cls.dataclass is not None:
        raise NotKnown(Unknown(f"{name} of a {value.cls.name}"))
    error = AttributeError(f"'{value.cls.name}' object has no attribute '{name}'")
    raise Raised(error, scope.module.path, line)


def _of_class(run: Run, cls: Class, name: str) -> Object:
    if name in ("__name__", "__qualname__"):
        return cls.name
    if name == "__module__":
        return cls.module.name
    if name == "__doc__":
        return ast.get_docstring(cls.node, clean=False)
    if name == "__mro__":
        return cls.order
    if name == "__bases__":
        return cls.bases
    if name == "__subclasses__":
        return Native("__subclasses__", lambda _run: subclasses(run, cls))
    if classes.is_enum(cls):
        if name == "__members__":
            return dict(classes.enum_members(run, cls))
        if not name.startswith("_"):
            members = classes.enum_members(run, cls)
            if name in members:
                return members[name]
    try:
        _, found = classes.find(run, cls, name)
    except KeyError:
        pass
    else:
        if isinstance(found, classes.FieldInfo):
            # A dataclass keeps the default of a field as the class attribute.
            default = found.get("default")
            if default is classes.MISSING:
                raise NotKnown(Unknown(f"the default of {cls.name}.{name}"))
            return default
        return _bind(run, found, None, cls)
    raise NotKnown(Unknown(f"{cls.name}.{name}"))


def _of_super(run: Run, value: Super, name: str) -> Object:
    receiver = value.receiver
    cls = receiver if isinstance(receiver, Class) else receiver.cls
    try:
        _, found = classes.find(run, cls, name, after=value.cls)
    except KeyError:
        if name == "__init__":
            return Native("object.__init__", lambda _run, *_a, **_k: None)
        raise NotKnown(Unknown(f"super().{name} of {cls.name}")) from None
    return _bind(run, found, None if isinstance(receiver, Class) else receiver, cls)


def _bind(run: Run, found: Object, receiver: Instance | None, cls: Class) -> Object:
    """A class attribute as access through ``receiver`` (or the class itself) gives it."""
    if isinstance(found, Wrapped):
        if found.kind == "staticmethod":
            return found.function
        if found.kind == "classmethod":
            return Bound(found.function, cls)
        if receiver is None:
            return found
        from preflight.launch.reading.calls import call

        return call(run, found.function, [receiver], {})
    if receiver is not None and isinstance(found, (Function, Native)):
        return Bound(found, receiver)
    return found


def subclasses(run: Run, cls: Class) -> list[Object]:
    """``cls.__subclasses__()``: the classes of the modules that were imported by now, and of those that these import
    from the package of ``cls``."""
    package = cls.module.name.rpartition(".")[0] + "."
    queue = list(run.modules.known())
    seen: set[str] = set()
    found: list[Object] = []
    while queue:
        module = queue.pop(0)
        if module.name in seen:
            continue
        seen.add(module.name)
        for name, statements in list(module.statements.items()):
            for statement in statements:
                if isinstance(statement, ast.ClassDef) and any(_names(base, cls.name) for base in statement.bases):
                    value = look_up(run, module, name)
                    if isinstance(value, Class) and cls in value.bases and value not in found:
                        found.append(value)
                elif isinstance(statement, (ast.Import, ast.ImportFrom)):
                    names = (
                        [absolute(module, statement)]
                        if isinstance(statement, ast.ImportFrom)
                        else [alias.name for alias in statement.names]
                    )
                    for target in names:
                        if target.startswith(package) and run.modules.get(target) is not None:
                            import_module(run, target)
                            queue.append(run.modules.get(target))  # type: ignore[arg-type]
    return found


def _names(node: ast.expr, name: str) -> bool:
    return (isinstance(node, ast.Name) and node.id == name) or (isinstance(node, ast.Attribute) and node.attr == name)


__all__ = ["attribute", "docstring", "subclasses"]
