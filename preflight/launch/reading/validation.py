"""What ``pydantic`` accepts where the launch code validates JSON against a dataclass of the tree or a plain annotation.

Only certain refusals are refusals: the annotation, the constraints and the validators of the tree must all be read. The
rules are those of pydantic's lax mode for JSON input (its documentation has them as the conversion table).
"""

from __future__ import annotations

import ast
import contextlib
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from preflight.launch.reading import classes, hints
from preflight.launch.reading.calls import call
from preflight.launch.reading.values import (
    Bound,
    Class,
    External,
    ForwardRef,
    Hint,
    Instance,
    Native,
    NotKnown,
    Object,
    Raised,
    Unknown,
    ValidationError,
    Wrapped,
    describe,
)

if TYPE_CHECKING:
    from preflight.launch.reading.run import Run

_TRUE = frozenset({"1", "on", "t", "true", "y", "yes"})
_FALSE = frozenset({"0", "off", "f", "false", "n", "no"})
_ANY = External("typing.Any")
#: the constraints of ``Field`` on numbers and on length
_BOUNDS: dict[str, tuple[str, Callable[[Object, Object], bool]]] = {
    "ge": ("greater than or equal to", lambda value, bound: value >= bound),
    "gt": ("greater than", lambda value, bound: value > bound),
    "le": ("less than or equal to", lambda value, bound: value <= bound),
    "lt": ("less than", lambda value, bound: value < bound),
}


class _Refused(Exception):
    """``reason`` as pydantic words it, ``where`` the keys that lead to the value."""

    def __init__(self, reason: str, where: tuple[str, ...] = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.where = where


@dataclass(slots=True)
class TypeAdapter:
    """What stands for ``pydantic.TypeAdapter(hint)``."""

    run: Run
    hint: Object

    stands_in = True

    def attribute(self, run: Run, name: str, where: tuple[str, int]) -> Object:
        if name == "validate_json":
            return Native("validate_json", self._validate_json)
        if name == "validate_python":
            return Native("validate_python", self._validate)
        raise NotKnown(Unknown(f"{name} of a TypeAdapter"))

    def _validate_json(self, run: Run, text: Object, **_: Object) -> Object:
        if not isinstance(text, str):
            raise NotKnown(Unknown("JSON that is not known"))
        try:
            value = json.loads(text)
        except ValueError as error:
            raise _raised(f"Invalid JSON: {error}") from None
        return self._validate(run, value)

    def _validate(self, run: Run, value: Object, **_: Object) -> Object:
        unsure = run.unsure
        try:
            return validate(run, self.hint, value)
        except _Refused as refused:
            where = ".".join(refused.where)
            title = describe(self.hint)
            reason = f"{refused.reason} [input_value={_shown(value)}]" if not where else f"{where}: {refused.reason}"
            raise _raised(f"1 validation error for {title}: {reason}") from None
        finally:
            run.unsure = unsure  # if the value is accepted, it is this one


def _raised(message: str) -> Raised:
    return Raised(ValidationError(message), "", 0)


def _shown(value: Object) -> str:
    text = repr(value) if isinstance(value, (str, int, float, list, dict, bool, type(None))) else describe(value)
    return text if len(text) <= 80 else f"{text[:76]}..."


def validate(run: Run, hint: Object, value: Object, scope_class: Class | None = None) -> Object:
    """``value`` (of JSON) as ``hint`` takes it. Raises _Refused, or NotKnown where that cannot be told."""
    if isinstance(value, Unknown):
        raise NotKnown(value)
    if isinstance(hint, ForwardRef):
        hint = _resolved(run, hint, scope_class)
    if isinstance(hint, Unknown):
        raise NotKnown(hint)
    if hint == _ANY or hint is object:
        return value
    if hint is type(None) or hint is None:
        if value is None:
            return None
        raise _Refused(f"Input should be null, got {_shown(value)}")
    plain = _PLAIN.get(hint) if isinstance(hint, type) else None
    if plain is not None:
        return plain(value)
    if isinstance(hint, type):
        return _container(run, hint, (), value, scope_class)
    if isinstance(hint, Hint):
        return _generic(run, hint, value, scope_class)
    if isinstance(hint, Class):
        return _of_class(run, hint, value)
    raise NotKnown(Unknown(f"what {describe(hint)} accepts"))


def _resolved(run: Run, reference: ForwardRef, scope_class: Class | None) -> Object:
    if scope_class is None:
        raise NotKnown(Unknown(f"the annotation {reference.text}"))
    return classes.annotation_value(run, ast.Constant(reference.text), classes.body_scope(scope_class))


# -- plain types ----------------------------------------------------------------------------------------------------


def _string(value: Object) -> str:
    if isinstance(value, str):
        return value
    plain = classes.unwrapped(value)
    if isinstance(plain, str):
        return plain
    raise _Refused(f"Input should be a valid string, got {_shown(value)}")


def _integer(value: Object) -> int:
    value = classes.unwrapped(value)
    if isinstance(value, (bool, int)):
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str):
        try:
            return int(value.strip())
        except ValueError:
            try:
                if float(value).is_integer():
                    return int(float(value))
            except (ValueError, OverflowError):
                pass
        raise _Refused(f"Input should be a valid integer, unable to parse string {_shown(value)} as an integer")
    if isinstance(value, float) and math.isfinite(value):
        raise _Refused(f"Input should be a valid integer, got a number with a fractional part, {value}")
    raise _Refused(f"Input should be a valid integer, got {_shown(value)}")


def _number(value: Object) -> float:
    value = classes.unwrapped(value)
    if isinstance(value, (bool, int, float)):
        return float(value)
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            raise _Refused(f"Input should be a valid number, unable to parse string {_shown(value)}") from None
    raise _Refused(f"Input should be a valid number, got {_shown(value)}")


def _boolean(value: Object) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, (int, float)) and value in (0, 1):
        return bool(value)
    if isinstance(value, str) and value.lower() in _TRUE | _FALSE:
        return value.lower() in _TRUE
    raise _Refused(f"Input should be a valid boolean, got {_shown(value)}")


_PLAIN: dict[type, Callable[[Object], Object]] = {str: _string, int: _integer, float: _number, bool: _boolean}


# -- generic types --------------------------------------------------------------------------------------------------


def _generic(run: Run, hint: Hint, value: Object, scope_class: Class | None) -> Object:
    if hints.is_union(hint):
        return _union(run, hint, value, scope_class)
    if hint.origin == hints.LITERAL:
        return _literal(hint, value)
    if hint.origin == hints.ANNOTATED:
        return _annotated(run, hint, value, scope_class)
    if isinstance(hint.origin, type):
        return _container(run, hint.origin, hint.arguments, value, scope_class)
    raise NotKnown(Unknown(f"what {describe(hint)} accepts"))


def _union(run: Run, hint: Hint, value: Object, scope_class: Class | None) -> Object:
    """The first member that takes the value as it is, else the first that takes it at all."""
    accepted: list[Object] = []
    reasons: list[str] = []
    doubtful: NotKnown | None = None
    for member in hint.arguments:
        try:
            taken = validate(run, member, value, scope_class)
        except _Refused as refused:
            reasons.append(refused.reason)
        except NotKnown as missing:
            doubtful = missing
        else:
            if type(taken) is type(value) and taken == value:
                return taken
            accepted.append(taken)
    if accepted:
        return accepted[0]
    if doubtful is not None:
        raise doubtful
    raise _Refused(" or ".join(dict.fromkeys(reasons)))


def _literal(hint: Hint, value: Object) -> Object:
    for option in hint.arguments:
        if isinstance(option, Unknown):
            raise NotKnown(option)
        plain = classes.unwrapped(option)
        if type(plain) is type(value) and plain == value:
            return option
    if any(isinstance(option, Instance) for option in hint.arguments):
        raise NotKnown(Unknown("a literal of members of an enumeration"))
    listed = ", ".join(repr(option) for option in hint.arguments)
    raise _Refused(f"Input should be {listed}, got {_shown(value)}")


def _annotated(run: Run, hint: Hint, value: Object, scope_class: Class | None) -> Object:
    inner, *notes = hint.arguments
    for note in notes:
        if isinstance(note, External) and "SkipValidation" in note.dotted:
            return value
    taken = validate(run, inner, value, scope_class)
    for note in notes:
        if isinstance(note, classes.FieldInfo):
            _bounded(note, taken)
        else:
            raise NotKnown(Unknown(f"what {describe(note)} accepts"))
    return taken


def _bounded(info: classes.FieldInfo, value: Object) -> None:
    if value is None:
        return
    for name, (words, holds) in _BOUNDS.items():
        bound = info.options.get(name)
        if isinstance(bound, (int, float)) and isinstance(value, (int, float)) and not holds(value, bound):
            raise _Refused(f"Input should be {words} {bound}, got {_shown(value)}")


def _container(run: Run, kind: type, arguments: tuple[Object, ...], value: Object, scope_class: Class | None) -> Object:
    if kind is dict:
        if not isinstance(value, dict):
            raise _Refused(f"Input should be a valid dictionary, got {_shown(value)}")
        if len(arguments) != 2:
            return value
        return {
            key: _inside(run, arguments[1], element, key, scope_class)
            for key, element in value.items()
            if _inside(run, arguments[0], key, key, scope_class) is not None or True
        }
    if kind in (list, set, frozenset, tuple):
        if not isinstance(value, list):
            raise _Refused(f"Input should be a valid {kind.__name__}, got {_shown(value)}")
        if kind is tuple and arguments and arguments[-1] is not Ellipsis:
            if len(arguments) != len(value):
                raise _Refused(f"Input should have {len(arguments)} items, got {len(value)}")
            return tuple(
                _inside(run, hint, element, str(i), scope_class)
                for i, (hint, element) in enumerate(zip(arguments, value, strict=True))
            )
        if arguments:
            value = [_inside(run, arguments[0], element, str(i), scope_class) for i, element in enumerate(value)]
        return value if kind is list else kind(value)
    raise NotKnown(Unknown(f"what {kind.__name__} accepts"))


def _inside(run: Run, hint: Object, value: Object, key: str, scope_class: Class | None) -> Object:
    try:
        return validate(run, hint, value, scope_class)
    except _Refused as refused:
        raise _Refused(refused.reason, (key, *refused.where)) from None


# -- classes of the tree --------------------------------------------------------------------------------------------


def _of_class(run: Run, cls: Class, value: Object) -> Object:
    if isinstance(value, Instance) and cls in value.cls.order:
        return value
    if classes.is_enum(cls):
        return _member(run, cls, value)
    if cls.dataclass is None or not classes.is_complete(cls):
        raise NotKnown(Unknown(f"what {cls.name} accepts"))
    if any(kind != "after" for kind, _, _ in _validators(run, cls, "model_validator")):
        raise NotKnown(Unknown(f"what the validator of {cls.name} makes of its input"))
    if not isinstance(value, dict):
        raise _Refused(f"Input should be a dictionary or an instance of {cls.name}, got {_shown(value)}")
    fields = {field.name: field for field in classes.constructor_fields(run, cls) if field.in_constructor}
    given: dict[str, Object] = {}
    doubtful: NotKnown | None = None
    for key, element in value.items():
        if key not in fields:
            if _forbids_extra(cls):
                known = ", ".join(fields)
                raise _Refused(f"Unexpected keyword argument (the fields are {known})", (key,))
            continue
        try:
            given[key] = _field(run, cls, fields[key], element)
        except _Refused as refused:
            raise _Refused(refused.reason, (key, *refused.where)) from None
        except NotKnown as missing:
            doubtful = doubtful or missing
            given[key] = missing.unknown
    for name, field in fields.items():
        if name not in given and field.required:
            raise _Refused("Field required", (name,))
    _finish(run, cls, given)
    return Instance(cls, given)


def _finish(run: Run, cls: Class, given: dict[str, Object]) -> None:
    """What the class itself refuses of the whole: its ``__post_init__`` and its validators behind the fields.

    They run on an object of their own, for they may change it. Only what they raise on purpose counts.
    """
    steps: list[Object] = []
    with contextlib.suppress(KeyError, NotKnown):
        steps.append(classes.find(run, cls, "__post_init__")[1])
    steps += [function for _, _, function in _validators(run, cls, "model_validator")]
    if not steps:
        return
    whole = Instance(cls, dict(given))
    for field in classes.dataclass_fields(run, cls):
        if field.name not in whole.names:
            whole.names[field.name] = _default(run, field)
    try:
        for step in steps:
            try:
                call(run, step, [whole], {})
            except NotKnown:
                continue
    except Raised as raised:
        if raised.deliberate and isinstance(raised.error, (ValueError, AssertionError)):
            raise _Refused(_told(raised)) from None


def _default(run: Run, field: classes.Field) -> Object:
    """The value of a field that is not given."""
    value = field.value
    if not isinstance(value, classes.FieldInfo):
        return Unknown(f"the value of {field.name}") if value is classes.MISSING else value
    factory = value.get("default_factory")
    try:
        if factory not in (None, classes.MISSING):
            return call(run, factory, [], {})
    except (Raised, NotKnown):
        return Unknown(f"the default of {field.name}")
    default = value.get("default")
    return Unknown(f"the value of {field.name}") if default is classes.MISSING else default


def _told(raised: Raised) -> str:
    """An exception as pydantic words it."""
    kind = "Assertion failed" if isinstance(raised.error, AssertionError) else "Value error"
    return f"{kind}, {raised.error}"


def _forbids_extra(cls: Class) -> bool:
    for base in cls.order:
        if isinstance(base, Class) and base.dataclass is not None:
            config = base.dataclass.get("config")
            if isinstance(config, dict) and "extra" in config:
                return config["extra"] == "forbid"
    return False


def _member(run: Run, cls: Class, value: Object) -> Instance:
    member = classes.enum_by_value(run, cls, value)
    if member is None and isinstance(value, (str, float)) and classes.mixes_in(cls) is int:
        try:
            member = classes.enum_by_value(run, cls, _integer(value))
        except _Refused:
            member = None
    if member is not None:
        return member
    try:
        classes.find(run, cls, "_missing_")
    except KeyError:
        values = [other.names["value"] for other in classes.enum_members(run, cls).values()]
        raise _Refused(f"Input should be {', '.join(map(_shown, values))}, got {_shown(value)}") from None
    raise NotKnown(Unknown(f"{cls.name}._missing_"))


def _field(run: Run, cls: Class, field: classes.Field, value: Object) -> Object:
    """The value of one field: the annotation, its constraints, and the tree's validators around them."""

    def inner(given: Object) -> Object:
        taken = validate(run, field.annotation, given, field.owner)
        info = field.value
        if isinstance(info, classes.FieldInfo):
            _bounded(info, taken)
        return taken

    steps: Callable[[Object], Object] = inner
    for kind, names, function in _validators(run, cls, "field_validator"):
        if field.name in names or "*" in names:
            steps = _around(run, kind, Bound(function, cls), steps)
    return steps(value)


def _around(run: Run, kind: str, validator: Object, inner: Callable[[Object], Object]) -> Callable[[Object], Object]:
    def checked(given: list[Object]) -> Object:
        try:
            result = call(run, validator, given, {})
        except Raised as raised:
            if isinstance(raised.error, _Wrapped):
                raise raised.error.refused from None
            if isinstance(raised.error, (ValueError, AssertionError)):
                raise _Refused(_told(raised)) from None
            raise NotKnown(Unknown("a validator that fails")) from None
        if isinstance(result, Unknown):
            raise NotKnown(result)
        return result

    def handler(_run: Run, value: Object, *_: Object) -> Object:
        try:
            return inner(value)
        except _Refused as refused:
            raise Raised(_Wrapped(refused), "", 0) from None

    if kind == "before":
        return lambda value: inner(checked([value]))
    if kind == "after":
        return lambda value: checked([inner(value)])
    if kind == "wrap":
        return lambda value: checked([value, Native("handler", handler)])
    if kind == "plain":
        return lambda value: checked([value])
    raise NotKnown(Unknown(f"a validator of the kind {kind}"))


class _Wrapped(ValueError):
    """A refusal on its way through a wrapping validator of the tree, which may catch it."""

    def __init__(self, refused: _Refused) -> None:
        super().__init__(refused.reason)
        self.refused = refused


def _validators(run: Run, cls: Class, decorator: str) -> list[tuple[str, tuple[str, ...], Object]]:
    """The validators of a class in the order of their definition: kind, the fields that they are for, the function.

    Raises NotKnown if a decorator's arguments cannot be read.
    """
    found: list[tuple[str, tuple[str, ...], Object]] = []
    for base in reversed(cls.order):
        if not isinstance(base, Class):
            continue
        for statement in base.node.body:
            if not isinstance(statement, ast.FunctionDef):
                continue
            for node in statement.decorator_list:
                if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == decorator:
                    found.append(_validator(run, base, statement, node))
    return found


def _validator(run: Run, cls: Class, function: ast.FunctionDef, node: ast.Call) -> tuple[str, tuple[str, ...], Object]:
    names = tuple(argument.value for argument in node.args if isinstance(argument, ast.Constant))
    kind = "after"
    for keyword in node.keywords:
        if keyword.arg == "mode":
            kind = keyword.value.value if isinstance(keyword.value, ast.Constant) else "?"
    if len(names) != len(node.args):
        raise NotKnown(Unknown(f"the fields that {function.name} validates"))
    value = classes.class_name(run, cls, function.name)
    return kind, names, value.function if isinstance(value, Wrapped) else value
