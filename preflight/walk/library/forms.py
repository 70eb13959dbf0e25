"""Typing forms: ``Literal[...]``, ``X | None``, ``list[int]`` at run time, and the annotations of a class."""

from __future__ import annotations

import ast
import typing
from typing import TYPE_CHECKING

from preflight.walk.library.registry import MAKERS, function, library_class, maker
from preflight.walk.outcomes import Raised
from preflight.walk.truth import Truth
from preflight.walk.values import (
    NONE,
    Class,
    Const,
    External,
    Form,
    Instance,
    OneOf,
    Seq,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from preflight.walk.frames import Frame
    from preflight.walk.machine import Machine

_PLAIN = [
    "Any",
    "Union",
    "Optional",
    "Literal",
    "Annotated",
    "ClassVar",
    "Final",
    "Generic",
    "Callable",
    "Type",
    "NoReturn",
    "Never",
    "Self",
    "TypeAlias",
    "Concatenate",
    "ParamSpec",
    "TypeVarTuple",
    "Unpack",
    "Required",
    "NotRequired",
    "LiteralString",
    "AnyStr",
    "TypeGuard",
    "TypeIs",
    "Deque",
]
_CLASSES = {"List": list, "Dict": dict, "Tuple": tuple, "Set": set, "FrozenSet": frozenset}
_ABSTRACT = [
    "Sequence",
    "MutableSequence",
    "Mapping",
    "MutableMapping",
    "Iterable",
    "Iterator",
    "Collection",
    "Container",
    "Hashable",
    "Sized",
    "Set",
    "MutableSet",
    "Callable",
    "Generator",
    "Awaitable",
    "AsyncIterator",
    "AsyncGenerator",
    "AsyncIterable",
    "Coroutine",
    "KeysView",
    "ValuesView",
    "ItemsView",
    "Reversible",
    "Buffer",
    "ByteString",
]

for _name in _PLAIN:
    MAKERS[f"typing.{_name}"] = lambda machine, name=_name: Form(f"typing.{name}", ())
for _name, _host in _CLASSES.items():
    MAKERS[f"typing.{_name}"] = lambda machine, name=_name, host=_host: Form(
        f"typing.{name}", (), machine.natives.of(host)
    )


def _abstract(machine: Machine, name: str) -> Value:
    import collections.abc

    host = getattr(collections.abc, name, None)
    if host is None:
        return Form(f"typing.{name}", ())
    cls = machine.natives.of(host)
    cls.notes.setdefault("abstract_check", lambda machine, actual, value: _abc_check(machine, cls, host, actual, value))
    return cls


def _abc_check(machine: Machine, cls: Class, host: type, actual: Class, value: Value | None) -> Truth:
    """``isinstance`` against an abstract class of ``collections.abc``."""
    from preflight.walk.classes import lookup

    if isinstance(value, Unknown) and actual.native not in (str, int, float, bool, bytes):
        return Truth.MAYBE
    natives = [base.native for base in actual.mro if base.native not in (None, object)]
    if any(issubclass(native, host) for native in natives):
        return Truth.YES
    if actual.native is not None:
        return Truth.NO
    needed = {
        "Callable": "__call__",
        "Iterable": "__iter__",
        "Hashable": "__hash__",
        "Sized": "__len__",
        "Container": "__contains__",
    }.get(host.__name__)
    if needed is not None:
        found = lookup(actual, needed)
        return (
            Truth.YES if found.value is not None else (Truth.NO if found.sure and needed != "__hash__" else Truth.MAYBE)
        )
    return Truth.MAYBE if actual.gap() else Truth.NO


for _name in _ABSTRACT:
    MAKERS[f"collections.abc.{_name}"] = lambda machine, name=_name: _abstract(machine, name)
    MAKERS.setdefault(f"typing.{_name}", MAKERS[f"collections.abc.{_name}"])
MAKERS["typing.Callable"] = MAKERS["collections.abc.Callable"]
MAKERS["typing.AbstractSet"] = MAKERS["collections.abc.Set"]
MAKERS["typing.TYPE_CHECKING"] = lambda machine: Const(False)
MAKERS["types.NoneType"] = lambda machine: machine.natives.of(type(None))
MAKERS["types.UnionType"] = lambda machine: Form("typing.Union", ())
MAKERS["types.GenericAlias"] = lambda machine: External("types.GenericAlias")
MAKERS["types.FunctionType"] = lambda machine: machine.natives.function
MAKERS["types.ModuleType"] = lambda machine: machine.natives.of(type(typing))
MAKERS["types.MethodType"] = lambda machine: machine.natives.of(type(machine.natives.of))


for _name in ("SkipValidation", "InstanceOf"):
    for _module in ("pydantic", "pydantic.functional_validators"):
        MAKERS[f"{_module}.{_name}"] = lambda machine, name=_name: Form(f"pydantic.{name}", ())


@maker("typing.Protocol")
def _protocol(machine: Machine) -> Value:
    return _marker(machine, "Protocol")


def _marker(machine: Machine, name: str) -> Class:
    return library_class(name, machine.natives.object, "typing")


@function("typing.TypeVar", "typing.NewType")
def _type_variable(machine: Machine, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    return Form("typing.TypeVar", tuple(arguments[:1]))


@function("typing.cast", "typing.assert_type")
def _cast(machine: Machine, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    return arguments[1] if len(arguments) > 1 else keywords.get("val", NONE)


@function(
    "typing.runtime_checkable",
    "typing.final",
    "typing.override",
    "typing.overload",
    "typing.no_type_check",
    "typing.type_check_only",
)
def _same(machine: Machine, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    return arguments[0]


@function("typing.dataclass_transform", "typing.deprecated", "warnings.deprecated")
def _same_later(machine: Machine, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    from preflight.walk.values import Builtin

    return Builtin("decorator", _same)


@maker("typing.TypedDict")
def _typed_dict(machine: Machine) -> Value:
    cls = _marker(machine, "TypedDict")

    def construct(machine: Machine, made: Class, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        return machine.call(machine.natives.dict, arguments, keywords)

    cls.notes["construct"] = construct
    cls.notes["typed_dict"] = True
    return cls


@function("typing.is_typeddict")
def _is_typed_dict(machine: Machine, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    value = arguments[0]
    if isinstance(value, Class):
        return Const(any(base.notes.get("typed_dict") for base in value.mro))
    return (
        machine.unknown("whether it is a TypedDict", cls=machine.natives.bool)
        if isinstance(value, (Unknown, OneOf, External))
        else Const(False)
    )


@function("typing.get_args")
def _get_args(machine: Machine, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    form = arguments[0]
    if isinstance(form, Form):
        return _shown_arguments(machine, form)
    if not isinstance(form, (Unknown, OneOf, External)):
        return machine.tuple([])
    return machine.unknown("the arguments of a type that is not known")


@maker("typing.ForwardRef")
def _forward(machine: Machine) -> Value:
    return _marker(machine, "ForwardRef")


def _shown_arguments(machine: Machine, form: Form) -> Value:
    """The arguments as the program sees them: a form of ``typing`` wraps a type that is written as text."""
    if form.target is not None or form.head in ("typing.Literal", "typing.Annotated"):
        return machine.tuple(list(_arguments(form)))
    return machine.tuple([_wrapped(machine, argument) for argument in _arguments(form)])


def _wrapped(machine: Machine, argument: Value) -> Value:
    if not isinstance(argument, Const) or not isinstance(argument.value, str):
        return argument
    cls = machine.library.external_class(machine, "typing.ForwardRef")
    made = machine.instance(cls)
    made.content["__forward_arg__"] = argument
    return made


def _arguments(form: Form) -> tuple[Value, ...]:
    """As ``get_args`` says them: a Literal inside a Literal is one, and each value is there once."""
    if form.head != "typing.Literal":
        return form.arguments
    found: list[Value] = []
    for argument in form.arguments:
        for value in _arguments(argument) if isinstance(argument, Form) else (argument,):
            if not any(
                isinstance(value, Const)
                and isinstance(other, Const)
                and value.value == other.value
                and type(value.value) is type(other.value)
                for other in found
            ):
                found.append(value)
    return tuple(found)


@function("typing.get_origin")
def _get_origin(machine: Machine, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    form = arguments[0]
    if isinstance(form, Form):
        if not form.arguments:
            return NONE
        if form.target is not None:
            return form.target
        return Form(form.head, ())
    if not isinstance(form, (Unknown, OneOf, External)):
        return NONE
    return machine.unknown("the origin of a type that is not known")


@function("typing.get_type_hints")
def _get_type_hints(machine: Machine, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    owner = arguments[0]
    if isinstance(owner, Instance):
        owner = owner.cls
    if not isinstance(owner, Class):
        return machine.unknown("the type hints of something that is no class")
    found: dict[str, Value] = {}
    for cls in reversed(owner.mro):
        for name, frame, node in cls.notes.get("annotations", ()) or _annotated(cls):
            found[name] = evaluate(machine, cls, frame, node)
    return machine.strings(found)


def _annotated(cls: Class) -> list[tuple[str, Frame | None, ast.expr]]:
    """The annotated names of a class body, in order, those of ``if`` blocks too."""
    if cls.node is None:
        return []
    found: list[tuple[str, Frame | None, ast.expr]] = []

    def visit(body: list[ast.stmt]) -> None:
        for statement in body:
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                found.append((statement.target.id, None, statement.annotation))
            elif isinstance(statement, ast.If):
                visit(statement.body)
                visit(statement.orelse)

    visit(cls.node.body)
    return found


def annotated_names(cls: Class) -> list[tuple[str, ast.expr]]:
    """The annotated names of a class body with their annotations."""
    return [(name, node) for name, _frame, node in _annotated(cls)]


def annotations(machine: Machine, cls: Class) -> Value:
    """``cls.__annotations__``."""
    return machine.strings({name: evaluate(machine, cls, None, node) for name, node in annotated_names(cls)})


def evaluate(machine: Machine, cls: Class, frame: Frame | None, node: ast.expr) -> Value:
    """The value of an annotation in the class that holds it; strings are read as code."""
    cached = cls.notes.setdefault("evaluated", {})
    key = id(node)
    if key in cached:
        return cached[key]
    source: ast.expr = node
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            source = ast.parse(node.value, mode="eval").body
        except SyntaxError:
            return machine.unknown("an annotation that is no expression")
    where = machine.modules.module(machine, cls.module)
    body = machine.modules.frame_of(where) if where is not None else None
    if body is None:
        return machine.unknown("an annotation whose module is not walked")
    with machine.modules.outside(machine, body):
        try:
            made = machine.evaluate(source)
            if isinstance(made, Const) and isinstance(made.value, str):
                made = machine.evaluate(ast.parse(made.value, mode="eval").body)
        except (Raised, SyntaxError):
            made = machine.unknown("an annotation that cannot be resolved")
    cached[key] = made
    return made


def subscript(machine: Machine, owner: Value, key: Value) -> Value:
    """``owner[key]`` where ``owner`` is a class or a typing form."""
    arguments = tuple(key.content) if isinstance(key, Seq) and key.kind is machine.natives.tuple else (key,)
    if isinstance(owner, Form):
        if owner.head == "typing.Optional":
            return _union_of([*arguments, machine.natives.of(type(None))])
        if owner.head == "typing.Union":
            return _union_of([_type_of_none(machine, argument) for argument in arguments])
        if owner.head in ("pydantic.SkipValidation", "pydantic.InstanceOf"):
            return Form("typing.Annotated", (*arguments, owner))
        return Form(owner.head, arguments, owner.target)
    if isinstance(owner, Class):
        return Form(f"{owner.module}.{owner.name}", arguments, owner)
    assert isinstance(owner, External)
    if owner.name == "os.environ":
        return machine.unknown("an environment variable")
    return Form(owner.name, arguments)


def _type_of_none(machine: Machine, part: Value) -> Value:
    return machine.natives.of(type(None)) if isinstance(part, Const) and part.value is None else part


def _union_of(parts: list[Value]) -> Value:
    flat: list[Value] = []
    for part in parts:
        for option in part.arguments if isinstance(part, Form) and part.head == "typing.Union" else (part,):
            if not any(
                option is other
                or (isinstance(option, Const) and isinstance(other, Const) and option.value == other.value)
                for other in flat
            ):
                flat.append(option)
    return flat[0] if len(flat) == 1 else Form("typing.Union", tuple(flat))


def union(machine: Machine, left: Value, right: Value) -> Value | None:
    """``left | right`` of types; None where they are none."""
    for side in (left, right):
        if not isinstance(side, (Class, Form, External, Unknown)) and not (
            isinstance(side, Const) and (side.value is None or isinstance(side.value, str))
        ):
            return None
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return machine.unknown("a union with a type that is not known")
    # in a union None stands for its type
    return _union_of([_type_of_none(machine, side) for side in (left, right)])


def attribute(machine: Machine, value: Form, name: str) -> Value | None:
    if name == "__args__":
        return _shown_arguments(machine, value)
    if name == "__origin__":
        return value.target if value.target is not None else Form(value.head, ())
    if name in ("__name__", "_name"):
        return Const(value.head.rpartition(".")[2])
    if name == "__module__":
        return Const(
            "typing" if value.target is None else value.target.module if isinstance(value.target, Class) else "typing"
        )
    if value.target is not None:
        return machine.find(value.target, name)
    return machine.unknown(f"{name} of a typing form")


def text(machine: Machine, value: Form) -> str | None:
    """A typing form as Python prints it, where that is simple."""
    parts = []
    for argument in value.arguments:
        if isinstance(argument, Class):
            parts.append(argument.name if argument.module == "builtins" else f"{argument.module}.{argument.qualname}")
        elif isinstance(argument, Const):
            parts.append(repr(argument.value))
        elif isinstance(argument, Form):
            inner = text(machine, argument)
            if inner is None:
                return None
            parts.append(inner)
        else:
            return None
    if value.head == "typing.Union":
        return " | ".join("None" if part == "NoneType" else part for part in parts)
    head = value.target.name if isinstance(value.target, Class) and value.target.module == "builtins" else value.head
    return f"{head}[{', '.join(parts)}]" if parts else head


def base_class(machine: Machine, form: Form) -> Value | None:
    """The class that a form in a list of bases stands for."""
    if form.head == "typing.Generic":
        return machine.library.external(machine, "preflight.Generic")
    if isinstance(form.target, Class):
        return form.target
    if form.head.startswith("typing."):
        return machine.library.external(machine, "preflight.Generic")
    return External(form.head)


MAKERS["preflight.Generic"] = lambda machine: _marker(machine, "Generic")


def runtime_class(machine: Machine, form: Form) -> Value | None:
    """The class behind an alias such as ``list[int]``."""
    return form.target


def is_external_instance(machine: Machine, value: Value, cls: External) -> Truth:
    """``isinstance`` against a class of a library that is not walked: plain data is of none of them."""
    if isinstance(value, Const) and (value.value is None or isinstance(value.value, (str, int, float, bool, bytes))):
        return Truth.MAYBE if cls.name.startswith(("numbers.", "builtins.")) else Truth.NO
    if isinstance(value, Instance) and not value.cls.gap():
        return Truth.NO if not cls.name.startswith(("numbers.", "abc.", "typing.", "collections.")) else Truth.MAYBE
    if isinstance(value, Class) and cls.name in ("enum.EnumMeta", "enum.EnumType"):
        return Truth.YES if "members" in value.notes else Truth.NO
    return Truth.MAYBE
