"""What every object has, and what classes and functions have."""

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING

from preflight.walk import assigning, attributes, classes
from preflight.walk.library import containers, mappings
from preflight.walk.library.builtin import identity, nothing, represented
from preflight.walk.library.registry import pure
from preflight.walk.values import (
    NONE,
    TRUE,
    Arguments,
    Bound,
    Builtin,
    Class,
    Const,
    Function,
    Implementation,
    Instance,
    Keywords,
    Map,
    Perhaps,
    Value,
)

if TYPE_CHECKING:
    from preflight.walk.machine import Machine


def object_new(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    """``object.__new__(cls)``."""
    cls = arguments[0]
    if isinstance(cls, Class):
        return classes.allocate(machine, cls, arguments[1:], keywords)
    return machine.unknown("an instance of a class that is not known")


def object_init(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    """``object.__init__`` and that of exceptions."""
    receiver = arguments[0]
    if isinstance(receiver, Instance):
        if classes.is_exception(machine, receiver.cls):
            machine.state.touch(receiver)
            receiver.content["args"] = machine.tuple(arguments[1:])
        elif receiver.payload is not None and isinstance(receiver.payload, Map):
            mappings.DICT["update"](machine, receiver.payload, arguments[1:], keywords)
        elif len(arguments) > 1 or keywords:
            own = classes.lookup(receiver.cls, "__new__").value
            plain = all(base.native in (None, object) for base in receiver.cls.mro)
            if own is None and receiver.payload is None and plain and not receiver.cls.gap():
                machine.fail("TypeError", "object.__init__() takes exactly one argument (the instance to initialize)")
    return NONE


def type_call(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    """``type.__call__(cls, ...)``."""
    cls = arguments[0]
    if isinstance(cls, Class):
        return classes.construct(machine, cls, arguments[1:], keywords)
    return machine.unknown("an instance of a class that is not known")


def _raw_set(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    receiver, name, value = arguments
    if isinstance(receiver, Instance) and isinstance(name, Const):
        assigning.assign_plain(machine, receiver, name.value, value)
    elif isinstance(receiver, Instance):
        machine.loosen(receiver, "which attribute was set is not known", clear=True)
    elif isinstance(receiver, Class) and isinstance(name, Const):
        machine.state.touch(receiver)
        receiver.content[name.value] = value
    return NONE


def _raw_get(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    receiver, name = arguments
    if isinstance(receiver, Instance) and isinstance(name, Const):
        found = attributes.plain(machine, receiver, name.value)
        if found is None:
            machine.fail(
                "AttributeError", attributes.absent(machine, receiver, name.value), missing=(receiver, name.value)
            )
        if isinstance(found, Perhaps):
            machine.may_raise(f"the attribute {name.value} may be missing")
            return found.value
        return found
    if isinstance(name, Const):
        return machine.get(receiver, name.value)
    return machine.unknown("which attribute is read is not known")


def _raw_delete(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    receiver, name = arguments
    if isinstance(receiver, Instance) and isinstance(name, Const) and name.value in receiver.content:
        machine.state.touch(receiver)
        del receiver.content[name.value]
    return NONE


def _same(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    return TRUE if arguments[0] is arguments[1] else Const(NotImplemented)


_OBJECT: dict[str, Implementation] = {
    "__init__": object_init,
    "__setattr__": _raw_set,
    "__getattribute__": _raw_get,
    "__delattr__": _raw_delete,
    "__repr__": lambda machine, arguments, keywords: represented(machine, arguments, keywords),
    "__str__": lambda machine, arguments, keywords: represented(machine, arguments, keywords),
    "__hash__": identity,
    "__eq__": _same,
    "__init_subclass__": nothing,
}
#: methods of ``object`` that exist but whose result is not modelled
_PRESENT = (
    "__ne__",
    "__reduce__",
    "__reduce_ex__",
    "__sizeof__",
    "__format__",
    "__dir__",
    "__lt__",
    "__le__",
    "__gt__",
    "__ge__",
    "__subclasshook__",
    "__getstate__",
)


def object_method(name: str) -> Builtin | None:
    """A method that every object has."""
    run = _OBJECT.get(name)
    if run is not None:
        return Builtin(f"object.{name}", run)
    if name in _PRESENT:
        return Builtin(f"object.{name}", lambda machine, arguments, keywords: machine.unknown(f"the result of {name}"))
    return None


def class_attribute(machine: Machine, cls: Class, name: str) -> Value | None:
    """What every class has, and what a built-in class has."""
    if name in ("__name__", "__qualname__"):
        return Const(cls.name if name == "__name__" else cls.qualname)
    if name == "__module__":
        return Const(cls.module)
    if name in ("__mro__", "__bases__", "__base__") and cls.gap():
        return machine.unknown(f"the bases of {cls.name} are not all known: {cls.gap()}")
    if name == "__mro__":
        return machine.tuple(list(cls.mro))
    if name == "__bases__":
        return machine.tuple(list(cls.bases))
    if name == "__base__":
        return cls.bases[0] if cls.bases else NONE
    if name == "__class__":
        return cls.metaclass if cls.metaclass is not None else machine.natives.type
    if name == "__doc__":
        return machine.unknown("a docstring")
    if name == "__annotations__":
        from preflight.walk.library import forms

        return forms.annotations(machine, cls)
    if name == "mro":
        return Builtin("type.mro", lambda machine, arguments, keywords: machine.list(list(cls.mro)))
    if name == "__members__" and "members" in cls.notes:
        return machine.strings(dict(cls.notes["members"]))
    if name == "__subclasses__":
        return Builtin(name, lambda machine, arguments, keywords: machine.unknown("the subclasses of a class"))
    if name == "__call__":
        return Bound(Builtin("type.__call__", type_call), cls)
    if name == "__new__":
        return Builtin("object.__new__", object_new)
    native = next((base.native for base in cls.mro if base.native is not None), object)
    if native is not object:
        table = containers.unbound(native, name)
        if table is not None:
            return table
        host = getattr(native, name, None)
        if callable(host) and native in (str, int, float, bytes, dict, complex):
            if name == "fromkeys":
                return Builtin("dict.fromkeys", _from_keys)
            return Builtin(f"{native.__name__}.{name}", pure(f"{native.__name__}.{name}", host))
        if name == "__init__":
            return Builtin("object.__init__", object_init)
        if host is not None and not hasattr(object, name):
            return machine.unknown(f"{native.__name__}.{name}")
    made = object_method(name)
    return machine.unknown(f"{name} of a class") if made is None and name in dir(type) else made


def _from_keys(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    items = machine.items(arguments[0])
    value = arguments[1] if len(arguments) > 1 else NONE
    if items is None:
        made = machine.dict([])
        made.loose = "the keys are not known"
        return made
    return machine.dict([(item, value) for item in items])


def _bound(value: Function | Bound | Builtin, receiver: Value) -> Value:
    """What ``__get__`` of a function gives: itself through a class, and a method that is bound already."""
    through_class = isinstance(receiver, Const) and receiver.value is None
    return value if through_class or isinstance(value, Bound) else Bound(value, receiver)


def callable_attribute(machine: Machine, value: Function | Bound | Builtin, name: str) -> Value | None:
    """What functions have."""
    if isinstance(value, Builtin) and name in value.attributes:
        return value.attributes[name]
    if name in ("__name__", "__qualname__"):
        if isinstance(value, Bound):
            return machine.find(value.function, name)
        return Const(value.name.rpartition(".")[2] if name == "__name__" else getattr(value, "qualname", value.name))
    if name == "__module__":
        return Const(value.module) if isinstance(value, Function) else NONE
    if name == "__class__":
        return machine.class_of(value)
    if name == "__call__":
        return value
    if name == "__doc__":
        if isinstance(value, Function):
            import ast

            return (
                machine.value(ast.get_docstring(value.node, clean=False))
                if not isinstance(value.node, ast.Lambda)
                else NONE
            )
        return machine.unknown("a docstring")
    if name == "__dict__" and isinstance(value, Function):
        return machine.strings(dict(value.content))
    if name == "__get__":
        return Builtin("function.__get__", lambda machine, arguments, keywords: _bound(value, arguments[0]))
    if name in ("__signature__", "__type_params__") or name in dir(FunctionType):
        return machine.unknown(f"{name} of a function")
    if isinstance(value, Builtin):
        return Perhaps(machine.unknown(f"an attribute of {value.name}"))
    return None
