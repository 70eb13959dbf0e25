"""``isinstance`` and ``issubclass``, with the rules of runtime-checkable protocols (``typing._ProtocolMeta``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from preflight.program.classes import Class
from preflight.program.evaluate.values import (
    Bound,
    Descriptor,
    EnumMember,
    Function,
    Host,
    Instance,
    ModuleValue,
    Opaque,
    Raised,
    UnionValue,
    Unknown,
    Value,
)
from preflight.program.known import words

if TYPE_CHECKING:
    from preflight.program.evaluate.evaluator import Evaluator

#: names in the body of a protocol that are no members of it (``typing.EXCLUDED_ATTRIBUTES``)
EXCLUDED = words(
    """__parameters__ __orig_bases__ __orig_class__ _is_protocol _is_runtime_protocol __protocol_attrs__
    __non_callable_proto_members__ __type_params__ __abstractmethods__ __annotations__ __dict__ __doc__ __init__
    __module__ __new__ __slots__ __subclasshook__ __weakref__ __class_getitem__ __match_args__ __static_attributes__
    __firstlineno__ _MutableMapping__marker __callable_proto_members_only__ __annotate__ __annotations_cache__
    __annotate_func__ __conditional_annotations__"""
)

_TYPE_NAMES = frozenset(dir(type)) | frozenset(dir(object)) | {"register"}
_BUILTIN_TYPES: dict[type, str] = {
    str: "str",
    bytes: "bytes",
    bool: "bool",
    int: "int",
    float: "float",
    tuple: "tuple",
    list: "list",
    dict: "dict",
    set: "set",
    frozenset: "frozenset",
    type(None): "NoneType",
}


def protocol_members(cls: Class) -> dict[str, bool]:
    """The members of a protocol by name, and whether the protocol itself gives them as something callable."""
    members: dict[str, bool] = {}
    for base in cls.mro[:-1]:
        if base.is_typing("Protocol", "Generic"):
            continue
        for name in (*base.own_names(), *base.annotations()):
            if name not in EXCLUDED and not name.startswith("_abc_") and name not in members:
                found = cls.lookup(name)
                members[name] = found is not None and found.kind in ("method", "classmethod", "staticmethod", "class")
    return members


def is_instance(evaluator: Evaluator, value: Value, cls: Value) -> bool | Unknown:
    """``isinstance(value, cls)``."""
    if isinstance(cls, tuple):
        return _any(is_instance(evaluator, value, one) for one in cls)
    if isinstance(cls, UnionValue):
        return _any(is_instance(evaluator, value, one) for one in cls.members)
    if isinstance(value, Unknown):
        return value
    if isinstance(cls, Opaque):
        made = evaluator.program.classes.of_value(cls)
        return Unknown(f"{cls.path} is outside of the tree") if made is None else is_instance(evaluator, value, made)
    if not isinstance(cls, Class):
        return cls if isinstance(cls, Unknown) else Unknown("the second argument of isinstance is not known")
    if cls.is_protocol:
        return _is_instance_of_protocol(evaluator, value, cls)
    if isinstance(value, Class):
        # a class is an instance of type, or of a metaclass that nothing here asks for
        return cls.module == "builtins" and cls.qualname in ("type", "object")
    if isinstance(value, Instance):
        return _known(value.cls.is_subclass(cls), value.cls)
    if isinstance(value, EnumMember):
        return _known(value.cls.is_subclass(cls), value.cls)
    if isinstance(value, (Function, Host, Bound, ModuleValue, Descriptor)):
        return cls.qualname == "object" if cls.module == "builtins" else Unknown("the type of a function")
    name = _BUILTIN_TYPES.get(type(value))
    if name is None or isinstance(value, Opaque):
        return Unknown("the type of a value is not known")
    if cls.module == "builtins":
        return cls.qualname in (name, "object") or (name == "bool" and cls.qualname == "int")
    return Unknown(f"whether {name} counts as {cls.target} is not followed") if cls.opaque else False


def _is_instance_of_protocol(evaluator: Evaluator, value: Value, cls: Class) -> bool | Unknown:
    if not cls.runtime_checkable:
        raise Raised("TypeError", "Instance and class checks can only be used with @runtime_checkable protocols")
    own = value if isinstance(value, Class) else value.cls if isinstance(value, Instance) else None
    if own is None:
        return Unknown("a protocol is asked about a value that is no class")
    if isinstance(value, Instance) and own.is_subclass(cls) is True:
        return True
    members = protocol_members(cls)
    if isinstance(value, Class) and all(name in _TYPE_NAMES for name in members):
        return True  # the metaclass has them all
    unknown: Unknown | None = None
    for name, is_callable in members.items():
        if isinstance(value, Instance) and name in value.attributes:
            continue
        present = own.has(name)
        if present is None:
            reason = own.doubts[0].reason if own.doubts else "it is not known in full"
            unknown = Unknown(f"whether {own.target} has {name} is not known: {reason}")
        elif present is False or (is_callable and own.gives_none(name)):
            return False
    return unknown if unknown is not None else True


def is_subclass(evaluator: Evaluator, cls: Value, other: Value) -> bool | Unknown:
    """``issubclass(cls, other)``."""
    if isinstance(other, tuple):
        return _any(is_subclass(evaluator, cls, one) for one in other)
    if isinstance(cls, Unknown):
        return cls
    classes = [evaluator.program.classes.of_value(value) for value in (cls, other)]
    if classes[0] is None:
        raise Raised("TypeError", "issubclass() arg 1 must be a class")
    if classes[1] is None:
        return other if isinstance(other, Unknown) else Unknown("the second argument of issubclass is not known")
    own, wanted = classes[0], classes[1]
    if wanted.is_protocol:
        return _is_subclass_of_protocol(own, wanted)
    return _known(own.is_subclass(wanted), own)


def _is_subclass_of_protocol(own: Class, wanted: Class) -> bool | Unknown:
    if not wanted.runtime_checkable:
        raise Raised("TypeError", "Instance and class checks can only be used with @runtime_checkable protocols")
    members = protocol_members(wanted)
    data = sorted(name for name, is_callable in members.items() if not is_callable)
    if data:
        message = f"Protocols with non-method members don't support issubclass(). Non-method members: {data}"
        raise Raised("TypeError", message)
    if own.is_subclass(wanted) is True:
        return True
    for name in members:
        found = own.lookup(name)
        if found is None and not any(name in base.annotations() for base in own.mro if base.is_protocol):
            return False if own.complete else Unknown(f"{own.target} is not known in full")
        if found is not None and own.gives_none(name):
            return False
    return True


def _known(answer: bool | None, cls: Class) -> bool | Unknown:
    return Unknown(f"a base of {cls.target} is not known") if answer is None else answer


def _any(answers: object) -> bool | Unknown:
    unknown: Unknown | None = None
    for answer in answers:  # type: ignore[attr-defined]
        if answer is True:
            return True
        if isinstance(answer, Unknown):
            unknown = answer
    return unknown if unknown is not None else False
