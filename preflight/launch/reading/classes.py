"""Classes of the tree: made from their ``class`` statement, names read when asked for, dataclasses and enumerations."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from preflight.launch.reading.modules import index
from preflight.launch.reading.values import (
    Class,
    External,
    Hint,
    Instance,
    NativeBase,
    NotKnown,
    Object,
    Scope,
    Unknown,
    Wrapped,
)
from preflight.program.linearize import linearize

if TYPE_CHECKING:
    from preflight.launch.reading.run import Run

_ENUMS = ("enum.Enum", "enum.IntEnum", "enum.StrEnum", "enum.Flag", "enum.IntFlag")
_MISSING = object()


class _Missing:
    """What stands for ``dataclasses.MISSING``."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING = _Missing()
#: what ``enum.auto()`` returns, until the enumeration gives it a value
AUTO = External("enum.auto()")


@dataclass(eq=False, slots=True)
class FieldInfo:
    """What ``dataclasses.field`` and ``pydantic.Field`` return: the keywords that they were given."""

    options: dict[str, Object]
    pydantic: bool

    def get(self, name: str) -> Object:
        """A keyword, or what stands for one that was not given: MISSING where there is no default."""
        if name in self.options:
            return self.options[name]
        if name in ("default", "default_factory"):
            return None if self.pydantic and name == "default_factory" else MISSING
        return None if self.pydantic else name in ("init", "repr", "compare")


@dataclass(eq=False, slots=True)
class Field:
    """A field of a dataclass as ``dataclasses.fields`` gives it; its parts are read when asked."""

    run: Run
    owner: Class
    name: str
    node: ast.AnnAssign

    @property
    def kind(self) -> str:
        """The last name of the annotation's head, which tells ``ClassVar`` and ``InitVar`` apart from real types."""
        node = self.node.annotation
        text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ast.unparse(node)
        return text.split("[")[0].rpartition(".")[2]

    @property
    def only_given(self) -> bool:
        """True for an ``InitVar``: the constructor takes it, and it is no field."""
        return self.kind == "InitVar"

    @property
    def annotation(self) -> Object:
        return annotation_value(self.run, self.node.annotation, body_scope(self.owner))

    @property
    def value(self) -> Object:
        """What the class body assigns: MISSING if nothing."""
        if self.node.value is None:
            return MISSING
        return class_name(self.run, self.owner, self.name)

    def get(self, name: str) -> Object:
        """An attribute of the field, as code that iterates over fields asks for it."""
        if name == "name":
            return self.name
        if name == "type":
            return self.annotation
        value = self.value
        given = value if isinstance(value, FieldInfo) else None
        if given is not None and given.pydantic and name == "default":
            return given
        if given is not None and not (given.pydantic and name == "default_factory"):
            return given.get(name)
        if name == "default":
            return value
        if name == "default_factory":
            return MISSING
        if name in ("init", "repr", "compare"):
            return True
        return Unknown(f"{name} of a dataclass field")

    @property
    def required(self) -> bool | None:
        """Whether the constructor must be given it; None if that is not known."""
        value = self.value
        if isinstance(value, Unknown):
            return None
        if isinstance(value, FieldInfo):
            return value.get("default") is MISSING and value.get("default_factory") in (MISSING, None)
        return value is MISSING

    @property
    def in_constructor(self) -> bool:
        value = self.value
        return not (isinstance(value, FieldInfo) and value.options.get("init") is False)


def make_class(run: Run, node: ast.ClassDef, scope: Scope) -> Object:
    """The class that a ``class`` statement makes, decorators applied."""
    from preflight.launch.reading.calls import call
    from preflight.launch.reading.expressions import evaluate

    bases = []
    for base in node.bases:
        value = evaluate(run, base, scope)
        # Generic[T] and the like: the origin is what matters.
        bases.append(value.origin if isinstance(value, Hint) else value)
    outer = scope if scope.function is not None or scope.owner is not None else None
    cls = Class(run, node.name, scope.module, node, outer, tuple(bases))
    orders = [base.order if isinstance(base, Class) else _native_order(base) for base in cls.bases]
    cls.order = tuple(linearize(cls, list(cls.bases), orders) or (cls, *cls.bases))
    made: Object = cls
    for decorator in reversed(node.decorator_list):
        result = call(run, evaluate(run, decorator, scope), [made], {}, decorator)
        # A decorator that cannot be read is taken for one that returns the class.
        made = made if isinstance(result, (Unknown, External)) else result
    return made


def _native_order(base: Object) -> tuple[Object, ...]:
    if isinstance(base, NativeBase):
        return (base, *(order for parent in base.bases for order in _native_order(parent)))
    if isinstance(base, type):
        return base.__mro__[:-1]
    return (base,)


def body_scope(cls: Class) -> Scope:
    """The scope in which the statements of a class body run."""
    scope = Scope(cls.module, cls.outer, owner=cls)
    scope.names = cls.names
    return scope


def class_name(run: Run, cls: Class, name: str) -> Object:
    """The value that the class itself gives ``name``; raises KeyError if it gives none."""
    from preflight.launch.reading.statements import execute

    if name not in cls.names:
        if cls.statements is None:
            cls.statements = index(cls.node.body)
        statements = cls.statements.get(name)
        if not statements or name in cls.pending:
            raise KeyError(name)
        cls.pending.add(name)
        aside, unsure = run.doubt.pause(), run.unsure
        try:
            scope = body_scope(cls)
            for statement in statements:
                execute(run, statement, scope)
        finally:
            run.doubt.resume(aside)
            run.unsure = unsure  # as with modules: it fails when the class is made, if at all
            cls.pending.discard(name)
        if name not in cls.names:
            raise KeyError(name)  # only annotated
    return as_registry(cls.names[name], f"{cls.name}.{name}")


def as_registry(value: Object, name: str) -> Object:
    """An empty container of a class or module is one that other code fills when it is imported; all else as it is."""
    if isinstance(value, (list, dict, set)) and not value:
        return Unknown(f"what other modules put into {name}")
    return value


def find(run: Run, cls: Class, name: str, after: Class | None = None) -> tuple[Object, Object]:
    """The first class of the order (behind ``after``) that has ``name``, and the value.

    Raises KeyError if none has it, NotKnown if a class that cannot be read stands before the end.
    """
    order = cls.order
    if after is not None and after in order:
        order = order[order.index(after) + 1 :]
    for base in order:
        if isinstance(base, Class):
            try:
                return base, class_name(run, base, name)
            except KeyError:
                continue
        if isinstance(base, NativeBase):
            if name in base.methods:
                return base, base.methods[name]
        elif isinstance(base, type):
            if name in base.__dict__:
                return base, base.__dict__[name]
        elif not _is_harmless(base):
            raise NotKnown(Unknown(f"{name} of {base}, which is not read"))
    raise KeyError(name)


def is_complete(cls: Class) -> bool:
    """True if all that ``cls`` extends is read, or known to add nothing."""
    return all(isinstance(base, (Class, NativeBase, type)) or _is_harmless(base) for base in cls.order)


def _is_harmless(base: Object) -> bool:
    """Base classes that add no attributes worth asking for."""
    return isinstance(base, External) and base.dotted in (
        "abc.ABC", "typing.Generic", "typing.Protocol", "typing.NamedTuple", "typing.TypedDict", *_ENUMS
    )  # fmt: skip


# -- dataclasses --------------------------------------------------------------------------------------------------


def dataclass_fields(run: Run, cls: Class) -> list[Field]:
    """The fields of a dataclass and of those that it extends, as ``dataclasses.fields`` gives them."""
    return [field for field in constructor_fields(run, cls) if not field.only_given]


def constructor_fields(run: Run, cls: Class) -> list[Field]:
    """The fields, and what the constructor takes besides (``InitVar``)."""
    fields: dict[str, Field] = {}
    for base in reversed(cls.order):
        if isinstance(base, Class) and base.dataclass is not None:
            for statement in base.node.body:
                if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                    field = Field(run, base, statement.target.id, statement)
                    if field.kind not in ("ClassVar", "KW_ONLY"):
                        fields[field.name] = field
    return list(fields.values())


def annotation_value(run: Run, node: ast.expr, scope: Scope) -> Object:
    """An annotation as a value; one written as text is read as the code that it is."""
    from preflight.launch.reading.expressions import evaluate

    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            node = ast.parse(node.value, mode="eval").body
        except (SyntaxError, ValueError, RecursionError):
            return Unknown("an annotation that is no code")
    return evaluate(run, node, scope)


# -- enumerations -------------------------------------------------------------------------------------------------


def is_enum(cls: Object) -> bool:
    """True for an enumeration of the tree."""
    return isinstance(cls, Class) and any(isinstance(base, External) and base.dotted in _ENUMS for base in cls.order)


def mixes_in(cls: Class) -> type | None:
    """The plain type (str, int) whose values the members of an enumeration are."""
    for base in cls.order:
        if base in (str, int, float):
            return base
        if isinstance(base, External) and base.dotted in ("enum.IntEnum", "enum.IntFlag"):
            return int
        if isinstance(base, External) and base.dotted == "enum.StrEnum":
            return str
    return None


def enum_members(run: Run, cls: Class) -> dict[str, Instance]:
    """The members of an enumeration by name. Raises NotKnown if a value of one cannot be read."""
    if cls.members is None:
        members: dict[str, Instance] = {}
        last = 0
        for name, node in _enum_assignments(cls):
            value = class_name(run, cls, name)
            if value is AUTO:
                if "_generate_next_value_" in (cls.statements or {}):
                    raise NotKnown(Unknown(f"the values that {cls.name} makes"))
                last += 1
                value = name.lower() if mixes_in(cls) is str else last
            elif isinstance(value, int):
                last = value
            twin = next((member for member in members.values() if _same(member.names["value"], value)), None)
            members[name] = twin or Instance(cls, {"name": name, "value": value, "_name_": name, "_value_": value})
            del node
        cls.members = members
    return cls.members


def _enum_assignments(cls: Class) -> Iterator[tuple[str, ast.Assign]]:
    for statement in cls.node.body:
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Name) and not target.id.startswith("_"):
                    yield target.id, statement


def _same(left: Object, right: Object) -> bool:
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return False
    return type(left) is type(right) and left == right


def enum_by_value(run: Run, cls: Class, value: Object) -> Instance | None:
    """The member whose value is ``value``. Raises NotKnown where that cannot be told."""
    if isinstance(value, Instance) and value.cls is cls:
        return value
    for member in enum_members(run, cls).values():
        if member.names["value"] == value:
            return member
    return None


def unwrapped(value: Object) -> Object:
    """A member of an enumeration that is text or a number, as that; everything else as it is."""
    if isinstance(value, Instance) and is_enum(value.cls) and mixes_in(value.cls) is not None:
        return value.names["value"]
    return value


def is_subclass(cls: Object, base: Object) -> bool:
    """``issubclass``. Raises NotKnown where a base class is not read."""
    if isinstance(cls, Unknown):
        raise NotKnown(cls)
    if isinstance(base, Unknown):
        raise NotKnown(base)
    if isinstance(cls, Class):
        if base is object or base in cls.order:
            return True
        if any(isinstance(known, Unknown) for known in cls.order):
            raise NotKnown(Unknown("a base class is not known"))
        return False
    if isinstance(cls, type) and isinstance(base, type):
        return issubclass(cls, base)
    if isinstance(cls, NativeBase):
        return base is object or base in _native_order(cls)
    return cls == base


def common_ancestor(left: Class, right: Class) -> Class | None:
    """The nearest class that both extend: what is known of a class that is one of the two."""
    for base in left.order:
        if isinstance(base, Class) and base in right.order:
            return base
    return None


__all__ = [
    "MISSING", "Field", "FieldInfo", "Wrapped", "annotation_value", "body_scope", "class_name", "common_ancestor",
    "dataclass_fields", "enum_by_value", "enum_members", "find", "is_enum", "is_subclass", "make_class", "mixes_in",
    "unwrapped",
]  # fmt: skip
