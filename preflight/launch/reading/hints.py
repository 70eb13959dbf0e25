"""Type annotations as values: what ``typing`` makes of ``X | None``, ``Literal[...]`` and the like."""

from __future__ import annotations

from preflight.launch.reading.values import Class, External, ForwardRef, Hint, NativeBase, NotKnown, Object, Unknown

UNION = External("typing.Union")
NEW_UNION = External("types.UnionType")
LITERAL = External("typing.Literal")
ANNOTATED = External("typing.Annotated")
OPTIONAL = External("typing.Optional")
#: names that ``typing`` has twice: with the plain type of the same meaning
GENERICS: dict[str, type] = {
    "typing.List": list,
    "typing.Dict": dict,
    "typing.Set": set,
    "typing.FrozenSet": frozenset,
    "typing.Tuple": tuple,
    "typing.Type": type,
}
#: a subscript of these annotates, and means the thing itself
_TRANSPARENT = ("pydantic.SkipValidation", "pydantic.json_schema.SkipJsonSchema", "pydantic.StrictBool")


def is_hint(value: Object) -> bool:
    """True for what can stand in an annotation."""
    return value is None or isinstance(value, (Hint, Class, External, NativeBase, ForwardRef, type))


def union(members: list[Object], new_style: bool = False) -> Object:
    """``Union[members]``: flat, without repetitions; ``new_style`` for the ``|`` of plain types."""
    flat: list[Object] = []
    for member in members:
        if isinstance(member, Unknown):
            raise NotKnown(member)
        parts = member.arguments if isinstance(member, Hint) and is_union(member) else (member,)
        for part in parts:
            part = _plain(part)
            if part not in flat:
                flat.append(part)
    if len(flat) == 1:
        return flat[0]
    # typing's own forms on either side of ``|`` make a typing.Union.
    special = any(isinstance(m, Hint) and isinstance(m.origin, External) and m.origin != NEW_UNION for m in members)
    return Hint(NEW_UNION if new_style and not special else UNION, tuple(flat))


def _plain(argument: Object) -> Object:
    """An argument of an annotation as ``typing`` keeps it."""
    if argument is None:
        return type(None)
    return ForwardRef(argument) if isinstance(argument, str) else argument


def is_union(hint: Object) -> bool:
    """True for both kinds of union."""
    return isinstance(hint, Hint) and hint.origin in (UNION, NEW_UNION)


def subscript(origin: Object, key: Object) -> Object:
    """``origin[key]`` in an annotation. Raises NotKnown if a part is not known."""
    arguments = key if isinstance(key, tuple) else (key,)
    arguments = tuple(tuple(argument) if isinstance(argument, list) else argument for argument in arguments)
    for argument in arguments:
        if isinstance(argument, Unknown):
            raise NotKnown(argument)
    if origin == LITERAL:
        values: list[Object] = []
        for argument in arguments:
            inner = argument.arguments if isinstance(argument, Hint) and argument.origin == LITERAL else (argument,)
            values.extend(value for value in inner if not any(value is v or _same(value, v) for v in values))
        return Hint(LITERAL, tuple(values))
    if origin == UNION:
        return union(list(arguments))
    if origin == OPTIONAL:
        return union([arguments[0], None])
    if isinstance(origin, External) and origin.dotted in _TRANSPARENT:
        return Hint(ANNOTATED, (arguments[0], origin))
    arguments = tuple(_plain(argument) for argument in arguments)
    if isinstance(origin, Hint):
        return Hint(origin.origin, arguments)  # a generic alias that is given its parameters
    return Hint(origin, arguments)


def _same(left: Object, right: Object) -> bool:
    return type(left) is type(right) and left == right


def get_origin(value: Object) -> Object:
    """``typing.get_origin``."""
    if isinstance(value, Unknown):
        raise NotKnown(value)
    return value.origin if isinstance(value, Hint) else None


def get_args(value: Object) -> tuple[Object, ...]:
    """``typing.get_args``."""
    if isinstance(value, Unknown):
        raise NotKnown(value)
    return value.arguments if isinstance(value, Hint) else ()


def module_of(value: Object) -> str:
    """``__module__`` of what can stand in an annotation."""
    if isinstance(value, Hint):
        origin = value.origin
        if isinstance(origin, type):
            return origin.__module__
        if origin == NEW_UNION:
            return "types"
        return module_of(origin)
    if isinstance(value, ForwardRef):
        return "typing"
    if isinstance(value, External):
        return value.dotted.rpartition(".")[0]
    if isinstance(value, Class):
        return value.module.name
    if isinstance(value, NativeBase):
        return value.dotted.rpartition(".")[0]
    if isinstance(value, type):
        return value.__module__
    raise NotKnown(Unknown(f"the module of {value!r}"))
