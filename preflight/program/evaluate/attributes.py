"""Attributes: ``getattr``, ``hasattr`` and ``setattr`` as Python does them on the values of the evaluator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from preflight.program.classes import Base, Class, Member
from preflight.program.evaluate.values import (
    LARGEST,
    LARGEST_TEXT,
    Bound,
    Deferred,
    Descriptor,
    EnumMember,
    Frame,
    Function,
    Host,
    HostObject,
    Instance,
    ModuleValue,
    Opaque,
    Raised,
    Super,
    Undecidable,
    Unknown,
    Value,
)
from preflight.program.facts import (
    KIND_POSITIONAL_ONLY,
    KIND_VAR_KEYWORD,
    KIND_VAR_POSITIONAL,
    Assign,
    ClassFacts,
    FunctionFacts,
    Import,
    Parameter,
)
from preflight.program.known import CLASS_ATTRIBUTES, words

if TYPE_CHECKING:
    from preflight.program.evaluate.evaluator import Evaluator

#: methods of builtin containers and strings that are carried out as they are: they look at no element's truth
_METHODS: dict[type, frozenset[str]] = {
    dict: words("get items keys values setdefault update pop copy"),
    list: words("append extend insert copy pop reverse clear"),
    set: words("add update discard union intersection difference copy issubset issuperset"),
    frozenset: words("union intersection difference issubset issuperset"),
    tuple: frozenset(),
    str: words(
        """startswith endswith split rsplit join strip lstrip rstrip replace lower upper title removeprefix removesuffix
        partition rpartition isidentifier isdigit capitalize find count"""
    ),
}

_FUNCTION_ATTRIBUTES = words("__doc__ __annotations__ __code__ __defaults__ __globals__ __dict__ __kwdefaults__")

#: what ``object`` gives every class: signature ``(self, /, *args, **kwargs)``
ANYTHING = (
    Parameter("self", KIND_POSITIONAL_ONLY, None, None, 0, 0),
    Parameter("args", KIND_VAR_POSITIONAL, None, None, 0, 0),
    Parameter("kwargs", KIND_VAR_KEYWORD, None, None, 0, 0),
)


def _method(value: Value, name: str) -> Host:
    """A method of a builtin container or string, refused where its result could be of any size."""

    def call(*args: Value, **kwargs: Value) -> Value:
        longest = LARGEST_TEXT if isinstance(value, str) else LARGEST
        if any(len(part) > longest for part in (value, *args) if isinstance(part, (str, list, tuple, dict, set))):
            raise Undecidable("so large a value is not worked out")
        return getattr(value, name)(*args, **kwargs)

    return Host(f"{type(value).__name__}.{name}", call)


class Attributes:
    """Reads and writes attributes for one evaluator."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._program = evaluator.program
        self._values: dict[tuple[Class, str], Value] = {}

    # -- reading --------------------------------------------------------------------------------------------------

    def get(self, value: Value, name: str) -> Value:
        """``value.name``; raises ``Raised("AttributeError")`` where it is certainly missing."""
        if isinstance(value, Class):
            return self.of_class(value, name)
        if isinstance(value, Unknown):
            return value
        if isinstance(value, Opaque):
            return self._evaluator.hosted(f"{value.path}.{name}")
        if isinstance(value, ModuleValue):
            return self._evaluator.module_attribute(value.name, name)
        if isinstance(value, Instance):
            return self.of_instance(value, name)
        if isinstance(value, Super):
            return self._of_super(value, name)
        if isinstance(value, EnumMember):
            return self._of_enum_member(value, name)
        if isinstance(value, Function):
            return self._of_function(value, name)
        if isinstance(value, Bound):
            if name == "__func__":
                return value.function
            if name == "__self__":
                return value.receiver
            return self.get(value.function, name)
        if isinstance(value, HostObject):
            if name in value.attributes:
                found = value.attributes[name]
                if isinstance(found, Deferred):
                    found = value.attributes[name] = found.make()
                return found
            raise Raised("AttributeError", f"{value.name} has no attribute {name!r}")
        allowed = _METHODS.get(type(value))
        if allowed is not None and name in allowed:
            return _method(value, name)
        if isinstance(value, (Host, Descriptor)) or hasattr(value, name):
            return Unknown(f"the attribute {name} of {type(value).__name__} is not followed")
        raise Raised("AttributeError", f"{type(value).__name__!r} object has no attribute {name!r}")

    def of_class(self, cls: Class, name: str) -> Value:
        """``cls.name``."""
        special = self._special(cls, name)
        if special is not None:
            return special
        member = cls.lookup(name)
        if member is not None:
            if not member.certain:
                return Unknown(f"{cls.target}.{name} is defined under a condition that is not known")
            return self.member(member, cls)
        if name == "__init__":
            if not cls.complete:
                return Unknown(cls.doubts[0].reason if cls.doubts else f"{cls.target} is not known in full")
            return Function(self._program.module(cls.module), name, f"object.{name}", ANYTHING, opaque=True)
        if name == "__init_subclass__":
            return Host("object.__init_subclass__", lambda *args, **kwargs: None)
        if name in CLASS_ATTRIBUTES or name in cls.metaclass_attributes:
            return Unknown(f"{name} of a class is not followed")
        if cls.complete:
            raise Raised("AttributeError", f"type object {cls.name!r} has no attribute {name!r}")
        return Unknown(cls.doubts[0].reason if cls.doubts else cls.mro_error or "the class is not known in full")

    def _special(self, cls: Class, name: str) -> Value | None:
        if name == "__name__":
            return cls.display_name
        if name == "__qualname__":
            return cls.qualname
        if name == "__module__":
            return cls.module
        if name == "__mro__":
            if not all(base.cls is not None for inner in cls.mro for base in inner.bases):
                return Unknown(f"a base of {cls.target} is not known")
            return tuple(cls.mro)
        if name == "__bases__":
            bases = tuple(base.cls for base in cls.bases)
            if None in bases:
                return Unknown(f"a base of {cls.target} is not known")
            return bases or (self._program.object_class,)
        if name == "__dict__":
            return {own: Unknown("a value out of __dict__") for own in cls.own_names()}
        if name == "__members__" and cls.is_enum:
            return {own: EnumMember(cls, own) for own in cls.enum_members()}
        return None

    def member(self, member: Member, cls: Class) -> Value:
        """The value of a member of a class, as ``cls.name`` gives it."""
        value = self._plain(member)
        if member.kind == "classmethod" and not isinstance(value, (Unknown, Bound)):
            return Bound(cls, value)
        return value

    def _plain(self, member: Member) -> Value:
        """The value in the namespace of the class that owns it; computed once."""
        owner, name = member.owner, member.name
        if name in owner.changed:
            return owner.changed[name]
        key = (owner, name)
        if key not in self._values:
            self._values[key] = self._compute(member)
        return self._values[key]

    def _compute(self, member: Member) -> Value:
        owner, name, facts = member.owner, member.name, member.facts
        module = self._program.module(owner.module)
        if member.signature is not None or (owner.facts is None and member.kind == "method"):
            parameters = member.signature.parameters if member.signature is not None else ANYTHING
            return Function(module, name, f"{owner.qualname}.{name}", parameters, opaque=True)
        if owner.facts is None:
            return Unknown(f"the value of {owner.target}.{name} is not at hand")
        if member.kind == "property":
            return Descriptor(name)
        if isinstance(facts, FunctionFacts):
            return self._evaluator.function(module, facts, owner, owner.closure)
        if isinstance(facts, ClassFacts):
            return self._program.classes.nested(owner, facts)
        if isinstance(facts, Import):
            return self._evaluator.imported(module, facts)[facts.bound]
        if owner.is_enum and name in owner.enum_members():
            return EnumMember(owner, name)
        if isinstance(facts, Assign) and facts.kind == "=" and facts.value is not None:
            frame = Frame(module, {}, owner.closure, None, owner, line=facts.line if owner.closure is None else None)
            return self._evaluator.expression(module, facts.value, frame)
        return Unknown(f"the value of {owner.target}.{name} is not one expression")

    def of_instance(self, instance: Instance, name: str) -> Value:
        """``instance.name``."""
        if name in instance.attributes:
            return instance.attributes[name]
        if name == "__class__":
            return instance.cls
        if name == "__dict__":
            return instance.attributes
        member = instance.cls.lookup(name)
        if member is None:
            if instance.cls.lookup("__getattr__") is not None:
                return Unknown(f"{instance.cls.target} makes attributes in its __getattr__")
            if instance.cls.complete and name not in CLASS_ATTRIBUTES:
                raise Raised("AttributeError", f"{instance.cls.name!r} object has no attribute {name!r}")
            return Unknown(f"the attribute {name} of {instance.cls.target} is not known")
        if member.kind == "property" and isinstance(member.facts, FunctionFacts):
            module = self._program.module(member.owner.module)
            getter = Function(
                module, name, member.facts.qualname, member.facts.parameters, member.facts, owner=member.owner
            )
            return self._evaluator.calls.call(getter, [instance], {}, name)
        value = self.member(member, instance.cls)
        if isinstance(value, Function) and member.kind == "method":
            return Bound(instance, value)
        return value

    def _of_super(self, value: Super, name: str) -> Value:
        receiver = value.receiver
        cls = receiver if isinstance(receiver, Class) else getattr(receiver, "cls", None)
        if not isinstance(cls, Class) or value.cls not in cls.mro:
            raise Undecidable("super() of what is not known")
        for base in cls.mro[cls.mro.index(value.cls) + 1 :]:
            member = base.own(name)
            if member is not None:
                found = self._plain(member)
                if isinstance(found, Function) and member.kind != "staticmethod":
                    return Bound(receiver, found)
                return found
        if name in ("__init__", "__init_subclass__", "__setattr__"):
            return Host(f"object.{name}", lambda *args, **kwargs: None)
        return Unknown(f"super().{name} is not known")

    def _of_enum_member(self, value: EnumMember, name: str) -> Value:
        if name == "name":
            return value.name
        if name in ("value", "_value_"):
            member = value.cls.own(value.name)
            facts = member.facts if member is not None else None
            if isinstance(facts, Assign) and facts.value is not None:
                return self._evaluator.expression(self._program.module(value.cls.module), facts.value)
            return Unknown("the value of an enumeration's member")
        if name == "__class__":
            return value.cls
        member = value.cls.lookup(name)
        if member is not None and isinstance(member.facts, FunctionFacts) and member.kind in ("method", "property"):
            module = self._program.module(member.owner.module)
            function = Function(module, name, name, member.facts.parameters, member.facts, owner=member.owner)
            if member.kind == "property":
                return self._evaluator.calls.call(function, [value], {}, name)
            return Bound(value, function)
        return Unknown(f"the attribute {name} of an enumeration's member")

    def _of_function(self, value: Function, name: str) -> Value:
        if name in value.attributes:
            return value.attributes[name]
        if name == "__name__":
            return value.name
        if name == "__qualname__":
            return value.qualname
        if name == "__module__":
            return value.module.name
        if name in (
            "__doc__",
            "__annotations__",
            "__code__",
            "__defaults__",
            "__globals__",
            "__dict__",
            "__kwdefaults__",
        ):
            return Unknown(f"{name} of a function is not followed")
        raise Raised("AttributeError", f"'function' object has no attribute {name!r}")

    # -- asking ---------------------------------------------------------------------------------------------------

    def has(self, value: Value, name: str) -> bool | Unknown:
        """``hasattr(value, name)``."""
        try:
            found = self.get(value, name)
        except Raised as raised:
            if raised.name == "AttributeError":
                return False
            raise
        if isinstance(found, Unknown):
            if isinstance(value, Class) and value.has(name) is True:
                return True
            return found
        return Unknown(f"{found.path} is outside of the tree") if isinstance(found, Opaque) else True

    # -- writing --------------------------------------------------------------------------------------------------

    def set(self, value: Value, name: str, new: Value) -> None:
        """``value.name = new``."""
        if isinstance(value, Class):
            if name == "__bases__":
                self._set_bases(value, new)
            elif name == "__name__":
                value.display_name = new if isinstance(new, str) else value.name
            elif name == "__qualname__":
                if isinstance(new, str):
                    value.qualname = new
            else:
                value.changed[name] = new
        elif isinstance(value, (Instance, Function)):
            value.attributes[name] = new
        elif isinstance(value, (Unknown, Opaque, ModuleValue)):
            return
        else:
            raise Undecidable(f"an attribute of {type(value).__name__} is set")

    def _set_bases(self, cls: Class, new: Value) -> None:
        if not isinstance(new, tuple):
            raise Undecidable(f"the bases of {cls.target} are set to what is not known")
        if len(set(new)) != len(new) or any(isinstance(base, Class) and cls in base.mro for base in new):
            raise Raised("TypeError", "a __bases__ item causes an inheritance cycle, or is there twice")
        bases: list[Base] = []
        line = cls.facts.line if cls.facts is not None else 0
        for base in new:
            made = self._program.classes.of_value(base)
            reason = "" if made is not None else "a base that is set later is not known"
            if made is not self._program.object_class:
                bases.append(Base(made.name if made is not None else "?", line, 1, made, reason))
        cls.set_bases(tuple(bases))
