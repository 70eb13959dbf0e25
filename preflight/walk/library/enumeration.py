"""Enums: members are made when the class is done, and looked up by value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from preflight.walk import classes, operands, subscripts, texts
from preflight.walk.library.registry import MAKERS, function, library_class, maker
from preflight.walk.truth import Truth
from preflight.walk.values import Builtin, Class, Const, Descriptor, Function, Instance, Perhaps, Seq, Unknown, Value

if TYPE_CHECKING:
    from preflight.walk.machine import Machine


def _base(name: str, native: str | None) -> None:
    def make(machine: Machine) -> Value:
        enum = machine.library.external(machine, "enum.Enum") if name != "Enum" else None
        bases = tuple(
            base for base in ((machine.natives.builtin(native) if native else None), enum) if isinstance(base, Class)
        ) or (machine.natives.object,)
        cls = Class(name, bases, 0, module="enum")
        order = classes.linearize(cls)
        assert order is not None
        cls.mro = order
        if name == "Enum":
            cls.notes["on_subclass"] = _finish
            cls.notes["construct"] = _construct
            cls.content["name"] = Descriptor(
                "property", Builtin("name", lambda machine, arguments, keywords: machine.get(arguments[0], "_name_"))
            )
            cls.content["value"] = Descriptor(
                "property", Builtin("value", lambda machine, arguments, keywords: machine.get(arguments[0], "_value_"))
            )
            cls.content["__str__"] = Builtin("__str__", _str)
            cls.content["__repr__"] = Builtin("__repr__", _repr)
            cls.content["__hash__"] = Builtin("__hash__", lambda machine, arguments, keywords: Const(id(arguments[0])))
        if name in ("StrEnum", "IntEnum"):
            cls.content["__str__"] = Builtin(
                "__str__",
                lambda machine, arguments, keywords: Const(texts.text(machine, operands.payload(arguments[0])) or ""),
            )
        if "Flag" in name:
            cls.notes["flag"] = True
        return cls

    MAKERS[f"enum.{name}"] = make


for _name, _native in (("Enum", None), ("IntEnum", "int"), ("StrEnum", "str"), ("Flag", None), ("IntFlag", "int")):
    _base(_name, _native)


@maker("enum.EnumMeta", "enum.EnumType")
def _metaclass(machine: Machine) -> Value:
    """The metaclass of enums, for those that derive from it and ask their base for a member."""
    cls = library_class("EnumType", machine.natives.type, "enum")

    def get(machine: Machine, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        enum, key = arguments
        if isinstance(enum, Class) and "members" in enum.notes:
            return subscripts.member_named(machine, enum, key)
        return machine.unknown("a member of an enum that is not known")

    cls.content["__getitem__"] = Builtin("EnumType.__getitem__", get)
    return cls


def _str(machine: Machine, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    member = arguments[0]
    if isinstance(member, Instance) and isinstance(member.content.get("_name_"), Const):
        return Const(f"{member.cls.name}.{member.content['_name_'].value}")  # pyrefly: ignore
    return machine.unknown("the text of an enum member", cls=machine.natives.str)


def _repr(machine: Machine, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    member = arguments[0]
    if isinstance(member, Instance) and isinstance(member.content.get("_name_"), Const):
        value = texts.text(machine, member.content["_value_"], quoted=True)
        if value is not None:
            return Const(f"<{member.cls.name}.{member.content['_name_'].value}: {value}>")  # pyrefly: ignore
    return machine.unknown("the text of an enum member", cls=machine.natives.str)


@function("enum.auto")
def _auto(machine: Machine, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    cls = machine.library.external_class(machine, "preflight.Auto")
    return machine.instance(cls)


MAKERS["preflight.Auto"] = lambda machine: library_class("auto", machine.natives.object, "enum")


@function("enum.unique", "enum.verify")
def _unique(machine: Machine, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    return arguments[0]


def _finish(machine: Machine, cls: Class, keywords: dict[str, Value]) -> None:
    """Turn the assignments of the body into members."""
    members: dict[str, Instance] = {}
    own_new = cls.content.get("__new__")
    native = next((base.native for base in cls.mro if base.native in (str, int, float, bytes, tuple)), None)
    last: Value | None = None
    for name, value in list(cls.content.items()):
        if name.startswith("_") or isinstance(value, (Function, Descriptor, Builtin, Class, Perhaps)):
            continue
        if isinstance(value, Instance) and value.cls.name in ("nonmember", "Field"):
            continue
        if isinstance(value, Instance) and value.cls.name == "auto" and value.cls.module == "enum":
            value = _next_value(machine, cls, name, last, list(members.values()))
        last = value
        same = next(
            (member for member in members.values() if machine.equal(member.content["_value_"], value) is Truth.YES),
            None,
        )
        if same is not None:
            members[name] = same
            cls.content[name] = same
            continue
        member = machine.instance(cls)
        member.content["_name_"] = Const(name)
        member.content["_value_"] = value
        if native is not None:
            member.payload = value if isinstance(value, Const) else None
        if own_new is not None:
            # what a member is made of is up to the class: only its name is sure
            cls.complete = f"the enum {cls.name} makes its members itself"
            member.content["_value_"] = machine.unknown(
                "the value of a member of an enum that makes its members itself"
            )
        members[name] = member
        cls.content[name] = member
        init = classes.lookup(cls, "__init__")
        if isinstance(init.value, Function):
            parts = value.content if isinstance(value, Seq) and value.kind is machine.natives.tuple else [value]
            machine.call(init.value, [member, *parts])
    inherited = next((base.notes["members"] for base in cls.mro[1:] if base.notes.get("members")), None)
    if members or inherited is None:
        cls.notes["members"] = members
    if not members:
        # a base of enums: it has no members, and is no enum one can iterate
        cls.notes.pop("members", None)


def _next_value(machine: Machine, cls: Class, name: str, last: Value | None, members: list[Instance]) -> Value:
    generate = classes.lookup(cls, "_generate_next_value_").value
    if generate is not None:
        function = generate.function if isinstance(generate, Descriptor) else generate
        return machine.call(
            function,
            [
                Const(name),
                Const(1),
                Const(len(members)),
                machine.list([member.content["_value_"] for member in members]),
            ],
        )
    if any(base.native is str for base in cls.mro):
        return Const(name.lower())
    if any(base.notes.get("flag") for base in cls.mro):
        return Const(1 << len(members))
    if last is None:
        return Const(1)
    return (
        Const(last.value + 1)
        if isinstance(last, Const) and isinstance(last.value, int)
        else machine.unknown("the value of an enum member")
    )


def _construct(machine: Machine, cls: Class, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    """``Color(value)``: the member with this value."""
    members: dict[str, Instance] | None = cls.notes.get("members")
    if members is None or not arguments:
        return machine.unknown(f"an enum made of {cls.name} at run time")
    value = arguments[0]
    maybe: list[Value] = []
    for member in members.values():
        answer = Truth.YES if member is value else machine.equal(member.content["_value_"], value)
        if answer is Truth.YES and not maybe:
            return member
        if answer is not Truth.NO:
            maybe.append(member)
    if maybe or isinstance(value, Unknown):
        machine.may_raise("which member of an enum it is, is not known")
        return machine.unknown("which member of an enum it is, is not known", cls=cls)
    missing = classes.lookup(cls, "_missing_").value
    if missing is not None:
        made = machine.call(missing.function if isinstance(missing, Descriptor) else missing, [cls, value])
        if not (isinstance(made, Const) and made.value is None):
            return made
    if any(base.notes.get("flag") for base in cls.mro):
        return machine.unknown("a combination of flags", cls=cls)
    text = texts.text(machine, value, quoted=True)
    return machine.fail("ValueError", f"{text} is not a valid {cls.qualname}")
