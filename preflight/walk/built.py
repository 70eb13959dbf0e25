"""The tree of modules that the walk of a constructor built: names, classes, and the shapes of parameters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeGuard

from preflight.walk.derived import raw_of
from preflight.walk.library.torch_modules import BUFFERS
from preflight.walk.library.torch_tensors import shape_of
from preflight.walk.values import Class, Const, Instance, Map, OneOf, Perhaps, Seq, Unknown, Value

#: a tree is cut off here; no model has so many modules
_MOST = 100_000


@dataclass(frozen=True, slots=True)
class BuiltParameter:
    """A parameter or persistent buffer: its name in the module, and its shape where it is known."""

    name: str
    shape: tuple[int, ...] | None
    buffer: bool = False


@dataclass(frozen=True, slots=True)
class BuiltModule:
    """A module: its dotted name, its class and the module of the tree that defines it, what it registered, and the
    attributes that may be more of it."""

    name: str
    cls: str
    defined: str
    parameters: tuple[BuiltParameter, ...]
    open: tuple[str, ...]


def modules_of(model: Value | None) -> tuple[BuiltModule, ...]:
    """The modules below ``model`` in the order of ``named_modules``, each once; nothing where it is not known."""
    return tuple(_walk(model, "", set())) if _is_module(model) else ()


def _walk(module: Instance, name: str, seen: set[int]) -> Iterator[BuiltModule]:
    if id(module) in seen or len(seen) > _MOST:
        return
    seen.add(id(module))
    parameters: list[BuiltParameter] = []
    open_names: list[str] = []
    buffers = module.content.get(BUFFERS)
    kept = _persistent(buffers) if isinstance(buffers, Map) else set()
    for key, value in module.content.items():
        if _is_module(value):
            continue
        if isinstance(value, Instance) and is_kind(value.cls, "Parameter"):
            parameters.append(BuiltParameter(key, shape_of(value)))
        elif key in kept:
            parameters.append(BuiltParameter(key, shape_of(value), buffer=True))
        elif _may_register(value):
            open_names.append(key)
    open_names += [key for key, value in _items(module) if not _is_module(value) and _may_register(value)]
    yield BuiltModule(name, module.cls.name, module.cls.module, tuple(parameters), tuple(open_names))
    for key, child in children_of(module):
        yield from _walk(child, f"{name}.{key}" if name else key, seen)


def children_of(module: Instance) -> Iterator[tuple[str, Instance]]:
    """The modules that a module registered, by the names that it gave them."""
    for key, value in (*module.content.items(), *_items(module)):
        if _is_module(value):
            yield key, value


def all_below(model: Instance) -> Iterator[Instance]:
    """A module and those below it, each once."""
    for _name, module in named_below(model):
        yield module


def named_below(model: Instance) -> Iterator[tuple[str, Instance]]:
    """The same, each with its dotted name."""
    todo, seen = [("", model)], {id(model)}
    while todo and len(seen) < _MOST:
        name, module = todo.pop()
        yield name, module
        for key, child in children_of(module):
            if id(child) not in seen:
                seen.add(id(child))
                todo.append((f"{name}.{key}" if name else key, child))


def _is_module(value: Value | None) -> TypeGuard[Instance]:
    return isinstance(value, Instance) and is_kind(value.cls, "Module")


def _items(module: Instance) -> Iterator[tuple[str, Value]]:
    """What a container of modules holds, by the names that torch gives it."""
    if isinstance(module.payload, Seq):
        for index, item in enumerate(module.payload.content):
            yield str(index), item
    elif isinstance(module.payload, Map):
        for key, item in module.payload.content.values():
            if isinstance(key, Const):
                yield str(raw_of(key)), item


def _persistent(buffers: Map) -> set[str]:
    """The names of buffers that are saved with a model."""
    return {
        str(name) for name, (_key, kept) in buffers.content.items() if isinstance(kept, Const) and bool(raw_of(kept))
    }


def _may_register(value: Value) -> bool:
    """Whether what is not known of an attribute may be a module or a parameter."""
    if isinstance(value, Perhaps):
        return _may_register(value.value) or isinstance(value.value, Instance)
    if isinstance(value, OneOf):
        return any(isinstance(option, Instance) and _registers(option.cls) for option in value.options)
    return isinstance(value, Unknown) and (value.cls is None or _registers(value.cls))


def _registers(cls: Class) -> bool:
    return is_kind(cls, "Module") or is_kind(cls, "Parameter")


def is_kind(cls: Class, name: str) -> bool:
    """Whether a class is torch's ``name``, or derives from it."""
    return any(base.name == name and base.module.startswith("torch.nn") for base in cls.mro)
