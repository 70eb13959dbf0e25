"""pydantic: dataclasses and models that validate what they are given, as far as a plain reading of the annotation
decides it.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from preflight.walk import classes, texts
from preflight.walk.iteration import NotConcrete
from preflight.walk.library.annotations import Checked, check, limits
from preflight.walk.library.dataclass import Field, bind_fields, decorate, known_bool
from preflight.walk.library.forms import annotated_names, evaluate
from preflight.walk.library.registry import MAKERS, function, library_class, maker
from preflight.walk.outcomes import Exit, Raised
from preflight.walk.truth import Truth
from preflight.walk.values import (
    NONE,
    TRUE,
    Arguments,
    Builtin,
    Class,
    Const,
    Descriptor,
    Function,
    Instance,
    Keywords,
    Map,
    OneOf,
    Perhaps,
    Seq,
    SetValue,
    Value,
)

if TYPE_CHECKING:
    from preflight.walk.machine import Machine


@maker("pydantic.ValidationError", "pydantic_core.ValidationError", "pydantic_core._pydantic_core.ValidationError")
def _validation_error(machine: Machine) -> Value:
    base = machine.natives.exception("ValueError")
    return library_class("ValidationError", base, "pydantic_core._pydantic_core")


@maker("pydantic.fields.FieldInfo")
def _field_info(machine: Machine) -> Value:
    return library_class("FieldInfo", machine.natives.object, "pydantic.fields")


@maker("preflight.Undefined")
def _undefined(machine: Machine) -> Value:
    cls = library_class("PydanticUndefinedType", machine.natives.object, "pydantic_core")
    cls.notes["singleton"] = True
    return machine.instance(cls)


MAKERS["pydantic_core.PydanticUndefined"] = lambda machine: machine.library.external(machine, "preflight.Undefined")


@function("pydantic.Field", "pydantic.fields.Field", "pydantic.PrivateAttr")
def _field(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    made = machine.instance(machine.library.external_class(machine, "pydantic.fields.FieldInfo"))
    undefined = machine.library.external(machine, "preflight.Undefined")
    default = arguments[0] if arguments else keywords.get("default", undefined)
    if isinstance(default, Const) and default.value is Ellipsis:
        default = undefined
    made.content.update(
        dict.fromkeys(
            ("default_factory", "init", "kw_only", "alias", "description", "validate_default", "annotation"), NONE
        )
    )
    made.content.update(keywords)
    made.content["default"] = default
    return made


@function("pydantic.ConfigDict", "pydantic.config.ConfigDict")
def _config_dict(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    return machine.strings(dict(keywords))


class Validator(Descriptor):
    """What stands in a class for a function that validates: ``of`` is ``field`` or ``model``. The descriptor itself
    says so, for what outlives a walk keeps all that the walk made.
    """

    __slots__ = ("fields", "mode", "of")

    def __init__(self, target: Value, of: str, mode: str, fields: tuple[str, ...]) -> None:
        bound = isinstance(target, Descriptor)
        kind = "classmethod" if bound or of == "field" or mode != "after" else "function"
        super().__init__(kind, target.function if isinstance(target, Descriptor) else target)
        self.of = of
        self.mode = mode
        self.fields = fields


def _mark(of: str, mode: str, fields: tuple[str, ...]):  # noqa: ANN202 - an Implementation
    """Wraps a validator of a class body so that it is found when the class is done."""
    return lambda machine, arguments, keywords: Validator(arguments[0], of, mode, fields)


@function("pydantic.field_validator", "pydantic.functional_validators.field_validator")
def _field_validator(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    mode = keywords.get("mode")
    names = tuple(argument.value for argument in arguments if isinstance(argument, Const))
    return Builtin("field_validator", _mark("field", str(mode.value) if isinstance(mode, Const) else "after", names))


@function("pydantic.model_validator", "pydantic.functional_validators.model_validator")
def _model_validator(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    mode = keywords.get("mode")
    return Builtin("model_validator", _mark("model", str(mode.value) if isinstance(mode, Const) else "after", ()))


@function("pydantic.field_serializer", "pydantic.model_serializer", "pydantic.computed_field")
def _serializer(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    if arguments and isinstance(arguments[0], (Function, Descriptor)):
        return arguments[0]
    return Builtin("serializer", lambda machine, given, named: given[0])


@function("pydantic.dataclasses.dataclass")
def _dataclass(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    options = {name: value for name, value in keywords.items() if name != "config"}
    config = keywords.get("config")

    def dress(machine: Machine, given: Arguments, named: Keywords) -> Value:
        cls = given[0]
        if not isinstance(cls, Class):
            return cls
        own_init = isinstance(cls.content.get("__init__"), Function)
        decorate(machine, cls, options)
        for made in cls.notes["own_fields"].values():
            _read_info(machine, made)
        cls.notes["pydantic"] = config if isinstance(config, Map) else machine.dict([])
        if not own_init:
            cls.content["__init__"] = Builtin(f"{cls.qualname}.__init__", _initializer(cls))
        return cls

    if arguments:
        return dress(machine, arguments, {})
    return Builtin("pydantic dataclass", dress)


@function("pydantic.dataclasses.rebuild_dataclass")
def _rebuild(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    return TRUE


def _read_info(machine: Machine, made: Field) -> None:
    """A default that is pydantic's ``Field(...)`` is read apart."""
    info = made.default
    if not (isinstance(info, Instance) and info.cls.name == "FieldInfo"):
        return
    undefined = machine.library.external(machine, "preflight.Undefined")
    made.info = info
    default, factory = info.content["default"], info.content["default_factory"]
    made.factory = None if isinstance(factory, Const) and factory.value is None else factory
    made.default = None if default is undefined else default
    if isinstance(info.content.get("init"), Const) and info.content["init"].value is not None:  # pyrefly: ignore
        made.init = bool(info.content["init"].value)  # pyrefly: ignore
    made.kw_only = made.kw_only or known_bool(info.content.get("kw_only"), False)
    if made.default is not None:
        made.owner.content[made.name] = made.default
    else:
        made.owner.content.pop(made.name, None)


def _validators(cls: Class) -> list[Validator]:
    found: dict[str, Validator] = {}
    for base in reversed(cls.mro):
        for name, value in base.content.items():
            if isinstance(value, Validator):
                found[name] = value
            else:
                found.pop(name, None)
    return list(found.values())


def validation_error(
    machine: Machine,
    cls: Class,
    where: str,
    problem: str,
    cause: Exit | None = None,
    values: tuple[tuple[str, Value], ...] = (),
) -> Raised:
    """pydantic's error, said at the place of its cause where a validator raised, else where the object is made."""
    error_class = _validation_error(machine)
    assert isinstance(error_class, Class)
    error = machine.instance(error_class)
    lines = [f"1 validation error for {cls.name}", *([where] if where else []), f"  {problem}"]
    message = "\n".join(lines)
    error.content["args"] = machine.tuple([Const(message)])
    made = machine.exit(error, message, values=values)
    if cause is not None:
        made = replace(cause, error=error, cls=error_class, message=message)
    return Raised((made,))


def _run_validator(machine: Machine, cls: Class, where: str, run):  # noqa: ANN001, ANN202
    """What a validator raises as ValueError or AssertionError comes out as a ValidationError."""
    try:
        return run()
    except Raised as raised:
        exits = []
        for exit in raised.exits:
            kind = exit.cls
            if kind is None:
                exits.append(exit)
            elif kind.is_subclass(machine.natives.exception("AssertionError")):
                exits += validation_error(
                    machine, cls, where, f"Assertion failed, {exit.message or ''}".rstrip(", "), exit
                ).exits
            elif kind.is_subclass(machine.natives.exception("ValueError")) and kind.name != "ValidationError":
                exits += validation_error(machine, cls, where, f"Value error, {exit.message or ''}", exit).exits
            else:
                exits.append(exit)
        raise Raised(tuple(exits)) from None


def _initializer(cls: Class):  # noqa: ANN202 - an Implementation
    def run(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
        from preflight.walk.calls import not_walked

        receiver = arguments[0]
        if not isinstance(receiver, Instance):
            return not_walked(machine, f"{cls.name}.__init__ on an object that is not known", arguments, keywords)
        fields: dict[str, Field] = cls.notes["fields"]
        validators = _validators(receiver.cls)
        if any(made.of == "model" and made.mode != "after" for made in validators):
            keywords, unknown = _before(machine, cls, validators, arguments[1:], keywords)
            if unknown:
                return not_walked(
                    machine,
                    f"a validator of {cls.name} that sees the arguments first is not modelled",
                    arguments,
                    keywords,
                )
            arguments = arguments[:1]
        given = _bind(machine, cls, fields, arguments[1:], keywords)
        init_only: list[Value] = []
        for name, made in fields.items():
            value = given.get(name)
            if value is not None:
                value = _validate_field(machine, cls, made, value, validators)
            elif made.factory is not None:
                value = machine.call(made.factory, [])
            elif made.default is not None:
                value = _default(machine, made)
                if made.info is not None and known_bool(made.info.content.get("validate_default"), False):
                    value = _validate_field(machine, cls, made, value, validators)
            else:
                continue
            if made.init_only:
                init_only.append(value)
                continue
            machine.state.touch(receiver)
            receiver.content[name] = value
        post = classes.lookup(receiver.cls, "__post_init__")
        if post.value is not None:
            _run_validator(machine, cls, "", lambda: machine.call(post.value, [receiver, *init_only]))  # pyrefly: ignore
        for made in validators:
            if made.of == "model" and made.mode == "after":
                function = made.function
                _run_validator(machine, cls, "", lambda function=function: machine.call(function, [receiver]))
        return NONE

    return run


def _default(machine: Machine, made: Field) -> Value:
    """A default that can change is copied for each object."""
    value = made.default
    assert value is not None
    if isinstance(value, (Map, Seq, SetValue)):
        return machine.call(machine.library.external(machine, "copy.deepcopy"), [value])
    return value


def _bind(
    machine: Machine, cls: Class, fields: dict[str, Field], arguments: Arguments, keywords: Keywords
) -> dict[str, Value | None]:
    """The arguments by field; unlike a plain dataclass, pydantic says a ValidationError where they do not bind."""
    config = cls.notes.get("pydantic")
    extra = config.content.get("extra") if isinstance(config, Map) else None
    forbids = extra is not None and isinstance(extra[1], Const) and extra[1].value == "forbid"
    accepted = {}
    for name, value in keywords.items():
        made = fields.get(name)
        if made is None or not made.init:
            if forbids or made is not None:
                raise validation_error(
                    machine,
                    cls,
                    name,
                    "Unexpected keyword argument [type=unexpected_keyword_argument, "
                    f"input_value={texts.shown(machine, value)}]",
                    values=((name, value),),
                )
            continue
        accepted[name] = value
    absent = [
        made.name
        for made in fields.values()
        if made.init and made.name not in accepted and made.default is None and made.factory is None
    ]
    positional = [made.name for made in fields.values() if made.init and not made.kw_only]
    absent = [name for name in absent if name not in positional[: len(arguments)]]
    if absent:
        raise validation_error(machine, cls, absent[0], "Field required [type=missing]")
    return bind_fields(machine, cls, fields, arguments, accepted, cls.qualname)


def _before(
    machine: Machine, cls: Class, validators: list[Validator], arguments: Arguments, keywords: Keywords
) -> tuple[Keywords, bool]:
    """Validators that run before the fields get the arguments; those that hand a dict on are walked."""
    if arguments:
        return keywords, True
    for made in validators:
        if made.of != "model" or made.mode == "after":
            continue
        if made.mode != "before":
            return keywords, True
        given = machine.strings(dict(keywords))
        handed = _run_validator(
            machine, cls, "", lambda made=made, given=given: machine.call(made.function, [cls, given])
        )
        if (
            not isinstance(handed, Map)
            or handed.loose
            or any(isinstance(entry, Perhaps) for _key, entry in handed.content.values())
        ):
            return keywords, True
        keywords = {str(key.value): entry for key, entry in handed.content.values() if isinstance(key, Const)}
    return keywords, False


def _validate_field(machine: Machine, cls: Class, made: Field, value: Value, validators: list[Validator]) -> Value:
    mine = [
        (entry, entry.mode)
        for entry in validators
        if entry.of == "field" and (made.name in entry.fields or "*" in entry.fields)
    ]
    for entry, mode in mine:
        if mode == "before":
            value = _run_validator(
                machine,
                cls,
                made.name,
                lambda entry=entry, value=value: _call_validator(machine, entry, [cls, value], made.name),
            )
    annotation = evaluate(machine, made.owner, None, made.annotation)
    wraps = [entry for entry, mode in mine if mode in ("wrap", "plain")]

    def core(given: Value) -> Value:
        return _core(machine, cls, made, annotation, given)

    if wraps:
        for entry in wraps:
            handler = Builtin("handler", lambda machine, given, named: core(given[0]))
            value = _run_validator(
                machine,
                cls,
                made.name,
                lambda entry=entry, value=value, handler=handler: _call_validator(
                    machine, entry, [cls, value, handler], made.name
                ),
            )
    else:
        value = core(value)
    for entry, mode in mine:
        if mode == "after":
            value = _run_validator(
                machine,
                cls,
                made.name,
                lambda entry=entry, value=value: _call_validator(machine, entry, [cls, value], made.name),
            )
    return value


def _call_validator(machine: Machine, entry: Descriptor, arguments: Arguments, field: str) -> Value:
    """A field validator; one that has a parameter more is given the validation info."""
    function = entry.function
    if isinstance(function, Function) and len(function.node.args.args) > len(arguments):
        info = machine.instance(machine.natives.object)
        info.content["field_name"] = Const(field)
        info.loose = "what pydantic tells a validator"
        arguments = [*arguments, info]
    return machine.call(function, arguments)


def _core(machine: Machine, cls: Class, made: Field, annotation: Value, value: Value) -> Value:
    """The value against its annotation and the limits of its ``Field``; refused values raise."""
    if isinstance(value, OneOf):
        return value
    checked = check(machine, annotation, value)
    if checked.accepted is Truth.YES and made.info is not None:
        problem = limits(made.info, checked.value)
        if problem:
            checked = Checked(Truth.NO, value, problem)
    if checked.accepted is Truth.NO:
        shown = texts.text(machine, value, quoted=True) or texts.shown(machine, value)
        raise validation_error(
            machine, cls, made.name, f"{checked.problem} [input_value={shown}]", values=((made.name, value),)
        )
    if checked.accepted is Truth.MAYBE:
        machine.may_raise(f"whether {cls.name} accepts {made.name} is not known")
    return checked.value


# --- models ---


@maker("pydantic.BaseModel", "pydantic.main.BaseModel")
def _base_model(machine: Machine) -> Value:
    cls = library_class("BaseModel", machine.natives.object, "pydantic.main")

    def on_subclass(machine: Machine, child: Class, keywords: Keywords) -> None:
        # fields of models are not modelled: objects of them hold what is not known
        child.notes["model"] = [name for name, _node in annotated_names(child)]
        keywords.clear()

    def construct(machine: Machine, child: Class, arguments: Arguments, keywords: Keywords) -> Value:
        from preflight.walk.calls import not_walked

        return not_walked(machine, f"models of pydantic such as {child.name} are not modelled", arguments, keywords)

    cls.notes["on_subclass"] = on_subclass
    cls.notes["construct"] = construct
    return cls


# --- adapters ---


@function("pydantic.TypeAdapter")
def _type_adapter(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    target = arguments[0]
    cls = machine.library.external_class(machine, "preflight.TypeAdapter")
    made = machine.instance(cls)
    made.content["target"] = target
    return made


@maker("preflight.TypeAdapter")
def _adapter_class(machine: Machine) -> Value:
    cls = library_class("TypeAdapter", machine.natives.object, "pydantic.type_adapter")

    def validate(machine: Machine, target: Value, value: Value) -> Value:
        if isinstance(target, Class) and "fields" in target.notes and isinstance(value, Map) and not value.loose:
            return machine.call(
                target, [], {str(key.value): entry for key, entry in value.content.values() if isinstance(key, Const)}
            )
        checked = check(machine, target, value)
        if checked.accepted is Truth.NO:
            owner = target if isinstance(target, Class) else machine.natives.object
            raise validation_error(machine, owner, "", checked.problem)
        if checked.accepted is Truth.MAYBE:
            machine.may_raise("whether pydantic accepts a value is not known")
        return checked.value

    def validate_json(machine: Machine, given: Arguments, named: Keywords) -> Value:
        target = machine.get(given[0], "target")
        try:
            text = machine.host(given[1])
            parsed = machine.value(json.loads(text), given[1].origin)
        except NotConcrete:
            machine.may_raise("JSON that is not known")
            return machine.unknown("JSON that is not known")
        except (ValueError, TypeError, RecursionError) as error:
            owner = target if isinstance(target, Class) else machine.natives.object
            raise validation_error(machine, owner, "", f"Invalid JSON: {error}") from None
        return validate(machine, target, parsed)

    cls.content["validate_json"] = Builtin("validate_json", validate_json)
    cls.content["validate_python"] = Builtin(
        "validate_python", lambda machine, given, named: validate(machine, machine.get(given[0], "target"), given[1])
    )
    return cls
