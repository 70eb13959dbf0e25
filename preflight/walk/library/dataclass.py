"""Dataclasses and named tuples."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from preflight.walk import classes, equality, subscripts
from preflight.walk.library.forms import annotated_names, evaluate
from preflight.walk.library.inspecting import SIGNATURE
from preflight.walk.library.registry import function, library_class, maker
from preflight.walk.values import (
    FALSE,
    NONE,
    TRUE,
    Arguments,
    Builtin,
    Class,
    Const,
    Descriptor,
    Instance,
    Keywords,
    Perhaps,
    Value,
)

if TYPE_CHECKING:
    from preflight.walk.machine import Machine


@dataclass(slots=True)
class Field:
    """A field of a dataclass: ``default`` and ``factory`` None where there is none; ``owner`` is the class whose body
    annotates it.
    """

    name: str
    owner: Class
    annotation: ast.expr
    default: Value | None = None
    factory: Value | None = None
    init: bool = True
    kw_only: bool = False
    compare: bool = True
    init_only: bool = False
    #: what ``field()`` or pydantic's ``Field()`` made
    info: Instance | None = None


@maker("dataclasses.MISSING")
def _missing(machine: Machine) -> Value:
    cls = library_class("_MISSING_TYPE", machine.natives.object, "dataclasses")
    cls.notes["singleton"] = True
    return machine.instance(cls)


@maker("dataclasses.Field")
def _field_class(machine: Machine) -> Value:
    return library_class("Field", machine.natives.object, "dataclasses")


@maker("dataclasses.FrozenInstanceError")
def _frozen_error(machine: Machine) -> Value:
    import dataclasses

    return machine.natives.of(dataclasses.FrozenInstanceError)


@function("dataclasses.field")
def _field(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    cls = machine.library.external_class(machine, "dataclasses.Field")
    missing = machine.library.external(machine, "dataclasses.MISSING")
    made = machine.instance(cls)
    made.content.update(
        {
            "default": missing,
            "default_factory": missing,
            "init": TRUE,
            "repr": TRUE,
            "compare": TRUE,
            "kw_only": FALSE,
            "metadata": machine.dict([]),
        }
    )
    made.content.update(keywords)
    return made


@function(
    *(
        f"transformers.utils.type_validators.{name}"
        for name in ("interval", "probability", "token", "strictly_positive")
    )
)
def _validated(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    """``interval(min=0)(default=1)``: a field whose value is checked, of which nothing is claimed."""
    return Builtin("validated field", _field)


@function("dataclasses.dataclass")
def _dataclass(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    if arguments and isinstance(arguments[0], Class):
        return decorate(machine, arguments[0], keywords)
    if arguments:
        return machine.unknown("a dataclass of something that is no class")
    return Builtin(
        "dataclass",
        lambda machine, given, named: (
            decorate(machine, given[0], keywords) if isinstance(given[0], Class) else given[0]
        ),
    )


def is_field_info(value: Value, module: str) -> bool:
    return isinstance(value, Instance) and value.cls.module == module and value.cls.name in ("Field", "FieldInfo")


def known_bool(value: Value | None, default: bool) -> bool:
    return bool(value.value) if isinstance(value, Const) else default


def gather(machine: Machine, cls: Class, kw_only: bool) -> dict[str, Field]:
    """The fields of a class, those of its bases first."""
    fields: dict[str, Field] = {}
    for base in reversed(cls.mro[1:]):
        fields.update(base.notes.get("own_fields", {}))
    own: dict[str, Field] = {}
    after_marker = kw_only
    for name, annotation in annotated_names(cls):
        shown = ast.unparse(annotation)
        if "ClassVar" in shown:
            continue
        if shown.rpartition(".")[2] == "KW_ONLY":
            after_marker = True
            continue
        made = Field(name, cls, annotation, kw_only=after_marker, init_only="InitVar" in shown)
        default = cls.content.get(name)
        if isinstance(default, Perhaps):
            default = default.value
        if default is not None and is_field_info(default, "dataclasses"):
            assert isinstance(default, Instance)
            _read_field(machine, made, default)
            machine.state.touch(cls)
            if made.default is not None:
                cls.content[name] = made.default
            else:
                cls.content.pop(name, None)
        else:
            made.default = default
        own[name] = made
    cls.notes["own_fields"] = own
    fields.update(own)
    return fields


def _read_field(machine: Machine, made: Field, info: Instance) -> None:
    missing = machine.library.external(machine, "dataclasses.MISSING")
    made.info = info
    default, factory = info.content["default"], info.content["default_factory"]
    made.default = None if default is missing else default
    made.factory = None if factory is missing else factory
    made.init = known_bool(info.content.get("init"), True)
    made.compare = known_bool(info.content.get("compare"), True)
    made.kw_only = known_bool(info.content.get("kw_only"), made.kw_only) or made.kw_only


def decorate(machine: Machine, cls: Class, keywords: Keywords) -> Value:
    """``@dataclass``: the fields, ``__init__`` and the rest of what it makes."""
    fields = gather(machine, cls, known_bool(keywords.get("kw_only"), False))
    machine.state.touch(cls)
    cls.notes["fields"] = fields
    cls.notes["eq"] = known_bool(keywords.get("eq"), True)
    cls.notes["frozen"] = known_bool(keywords.get("frozen"), False)
    if known_bool(keywords.get("init"), True) and "__init__" not in cls.content:
        cls.content["__init__"] = Builtin(f"{cls.qualname}.__init__", initializer(cls), _written_as(fields))
    if cls.notes["frozen"]:
        cls.content["__setattr__"] = Builtin("__setattr__", _refuse)
    cls.content.setdefault(
        "__dataclass_fields__", machine.strings({name: field_value(machine, made) for name, made in fields.items()})
    )
    cls.content.setdefault("__match_args__", machine.tuple([Const(name) for name, made in fields.items() if made.init]))
    if known_bool(keywords.get("order"), False):
        cls.complete = "an ordered dataclass is not modelled"
    return cls


def _written_as(fields: dict[str, Field]) -> dict[str, Value]:
    """The signature of an ``__init__`` that takes these fields."""
    taken = [made for made in fields.values() if made.init]
    positional = ["self", *(made.name for made in taken if not made.kw_only)]
    keywords = [made.name for made in taken if made.kw_only]
    return {SIGNATURE: Const(f"({', '.join([*positional, *(['*'] if keywords else []), *keywords])})")}


def _refuse(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    import dataclasses

    name = arguments[1].value if isinstance(arguments[1], Const) else "?"
    error = machine.instance(machine.natives.of(dataclasses.FrozenInstanceError))
    error.content["args"] = machine.tuple([Const(f"cannot assign to field '{name}'")])
    from preflight.walk.outcomes import Raised

    raise Raised((machine.exit(error, f"cannot assign to field '{name}'"),))


def bind_fields(
    machine: Machine, cls: Class, fields: dict[str, Field], arguments: Arguments, keywords: Keywords, name: str
) -> dict[str, Value | None]:
    """The arguments of ``__init__`` by field; None where the default is taken. A call that cannot bind raises
    TypeError.
    """
    positional = [made.name for made in fields.values() if made.init and not made.kw_only]
    given: dict[str, Value | None] = dict(zip(positional, arguments, strict=False))
    if len(arguments) > len(positional):
        machine.fail(
            "TypeError",
            f"{name}() takes {len(positional) + 1} positional arguments but {len(arguments) + 1} were given",
        )
    for key, value in keywords.items():
        made = fields.get(key)
        if made is None or not made.init:
            machine.fail("TypeError", f"{name}() got an unexpected keyword argument '{key}'")
        if key in given:
            machine.fail("TypeError", f"{name}() got multiple values for argument '{key}'")
        given[key] = value
    absent = [
        made.name
        for made in fields.values()
        if made.init and made.name not in given and made.default is None and made.factory is None
    ]
    if absent:
        quoted = [f"'{key}'" for key in absent]
        names = (
            quoted[0]
            if len(quoted) == 1
            else ", ".join(quoted[:-1]) + f"{',' if len(quoted) > 2 else ''} and " + quoted[-1]
        )
        machine.fail(
            "TypeError",
            f"{name}() missing {len(absent)} required positional argument{'s' if len(absent) > 1 else ''}: {names}",
        )
    return given


def initializer(cls: Class):  # noqa: ANN201 - an Implementation
    def run(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
        from preflight.walk.calls import not_walked

        receiver = arguments[0]
        if not isinstance(receiver, Instance):
            return not_walked(machine, f"{cls.name}.__init__ on an object that is not known", arguments, keywords)
        fields: dict[str, Field] = cls.notes["fields"]
        given = bind_fields(machine, cls, fields, arguments[1:], keywords, f"{cls.qualname}.__init__")
        init_only: list[Value] = []
        custom = not cls.notes["frozen"] and classes.lookup(receiver.cls, "__setattr__").value is not None
        for name, made in fields.items():
            value = given.get(name)
            if value is None:
                if made.factory is not None:
                    value = machine.call(made.factory, [])
                elif made.default is not None:
                    value = made.default
                else:
                    continue
            if made.init_only:
                init_only.append(value)
            elif custom:
                machine.assign(receiver, name, value)
            else:
                machine.state.touch(receiver)
                receiver.content[name] = value
        post = classes.lookup(receiver.cls, "__post_init__")
        if post.value is not None:
            machine.call(post.value, [receiver, *init_only])
        return NONE

    return run


@function("huggingface_hub.dataclasses.strict")
def _strict(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    """``@strict`` checks the types of a dataclass's values, of which nothing is claimed; with ``accept_kwargs`` its
    ``__init__`` hands what is no field on to ``__post_init__``."""
    accepts = known_bool(keywords.get("accept_kwargs"), False)

    def dress(machine: Machine, given: Arguments, named: Keywords) -> Value:
        cls = given[0]
        if isinstance(cls, Class) and accepts and isinstance(cls.content.get("__init__"), Builtin):
            # it wraps the one before, and so has its signature
            signature = cls.content["__init__"].attributes
            cls.content["__init__"] = Builtin(f"{cls.qualname}.__init__", _accepting(cls), signature)
        return cls

    return dress(machine, arguments, {}) if arguments else Builtin("strict", dress)


def _accepting(cls: Class):  # noqa: ANN202 - an Implementation
    def run(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
        receiver = arguments[0]
        fields: dict[str, Field] = cls.notes["fields"]
        given = bind_fields(
            machine,
            cls,
            fields,
            arguments[1:],
            {name: value for name, value in keywords.items() if name in fields},
            f"{cls.qualname}.__init__",
        )
        for name, made in fields.items():
            value = given.get(name)
            if value is None:
                value = machine.call(made.factory, []) if made.factory is not None else made.default
            if value is not None:
                machine.assign(receiver, name, value)
        post = machine.find(receiver, "__post_init__")
        if post is not None:
            machine.call(post, [], {name: value for name, value in keywords.items() if name not in fields})
        return NONE

    return run


def field_value(machine: Machine, made: Field) -> Value:
    """The ``dataclasses.Field`` object of a field, its type evaluated when it is read."""
    missing = machine.library.external(machine, "dataclasses.MISSING")
    cls = machine.library.external_class(machine, "dataclasses.Field")
    if "type" not in cls.content:
        cls.content["type"] = Descriptor("property", Builtin("type", _field_type))
    value = machine.instance(cls)
    value.content.update(
        {
            "name": Const(made.name),
            "default": made.default if made.default is not None else missing,
            "default_factory": made.factory if made.factory is not None else missing,
            "init": Const(made.init),
            "repr": TRUE,
            "compare": Const(made.compare),
            "kw_only": Const(made.kw_only),
            "metadata": made.info.content.get("metadata", machine.dict([]))
            if made.info is not None
            else machine.dict([]),
            "__field__": Const(made),
        }
    )
    return value


def _field_type(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    receiver = arguments[0]
    assert isinstance(receiver, Instance)
    holder = receiver.content.get("__field__")
    if isinstance(holder, Const) and isinstance(holder.value, Field):
        return evaluate(machine, holder.value.owner, None, holder.value.annotation)
    return machine.unknown("the type of a field")


def fields_of(value: Value) -> dict[str, Field] | None:
    """The fields of a dataclass or an instance of one; None where it is none."""
    cls = value.cls if isinstance(value, Instance) else value
    if not isinstance(cls, Class):
        return None
    for base in cls.mro:
        if "fields" in base.notes:
            return base.notes["fields"]
    return None


@function("dataclasses.fields")
def _fields(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    fields = fields_of(arguments[0])
    if fields is None:
        if isinstance(arguments[0], (Const,)) or (
            isinstance(arguments[0], (Class, Instance))
            and not (arguments[0].gap() if isinstance(arguments[0], Class) else arguments[0].cls.gap())
        ):
            machine.fail("TypeError", "must be called with a dataclass type or instance")
        return machine.unknown("the fields of a class that is not known")
    return machine.tuple([field_value(machine, made) for made in fields.values() if not made.init_only])


@function("dataclasses.is_dataclass")
def _is_dataclass(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    value = arguments[0]
    if fields_of(value) is not None:
        return TRUE
    cls = value if isinstance(value, Class) else machine.class_of(value)
    if cls is None or cls.gap():
        return (
            machine.unknown("whether it is a dataclass", cls=machine.natives.bool)
            if not equality.is_form(value)
            else FALSE
        )
    return FALSE


@function("dataclasses.asdict", "pydantic.dataclasses.asdict")
def _asdict(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    return _as_dict(machine, arguments[0])


def _as_dict(machine: Machine, value: Value) -> Value:
    from preflight.walk.values import Map, Seq

    fields = fields_of(value) if isinstance(value, Instance) else None
    if fields is not None:
        assert isinstance(value, Instance)
        return machine.strings(
            {name: _as_dict(machine, value.content[name]) for name in fields if name in value.content}
        )
    if isinstance(value, Seq):
        made = Seq(value.kind, [_as_dict(machine, item) for item in value.content], machine.state.fresh())
        made.loose = value.loose
        return made
    if isinstance(value, Map):
        copy = Map(
            value.kind,
            {hashed: (key, _as_dict(machine, item)) for hashed, (key, item) in value.content.items()},
            machine.state.fresh(),
        )
        copy.loose = value.loose
        return copy
    return value


@function("dataclasses.replace")
def _replace(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    value = arguments[0]
    fields = fields_of(value)
    if fields is None or not isinstance(value, Instance):
        return machine.unknown("a copy of an object that is not known")
    changes = dict(keywords)
    for name, made in fields.items():
        if made.init and name not in changes and name in value.content:
            changes[name] = value.content[name]
    return machine.call(value.cls, [], changes)


# --- named tuples ---


@maker("typing.NamedTuple")
def _named_tuple(machine: Machine) -> Value:
    cls = library_class("NamedTuple", machine.natives.object, "typing")

    def on_subclass(machine: Machine, made: Class, keywords: Keywords) -> None:
        if made.bases[0] is not cls:
            return  # a class that derives from a named tuple has no fields of its own
        names = [name for name, _annotation in annotated_names(made)]
        defaults = {name: made.content.pop(name) for name in names if name in made.content}
        made.bases = (machine.natives.tuple,)
        made.mro = (made, machine.natives.tuple, machine.natives.object)
        make_named_tuple(machine, made, names, defaults)

    cls.notes["on_subclass"] = on_subclass
    return cls


def make_named_tuple(machine: Machine, cls: Class, names: list[str], defaults: Keywords) -> None:
    """Give a class the fields of a named tuple: they are read from the tuple that each instance holds."""

    def construct(machine: Machine, made: Class, arguments: Arguments, keywords: Keywords) -> Value:
        given: dict[str, Value] = dict(zip(names, arguments, strict=False))
        if len(arguments) > len(names):
            machine.fail(
                "TypeError",
                f"{cls.name}.__new__() takes {len(names) + 1} positional arguments but {len(arguments) + 1} were given",
            )
        for key, value in keywords.items():
            if key not in names:
                machine.fail("TypeError", f"{cls.name}.__new__() got an unexpected keyword argument '{key}'")
            given[key] = value
        absent = [name for name in names if name not in given and name not in defaults]
        if absent:
            quoted = ", ".join(f"'{name}'" for name in absent)
            machine.fail(
                "TypeError",
                f"{cls.name}.__new__() missing {len(absent)} required positional "
                f"argument{'s' if len(absent) > 1 else ''}: {quoted}",
            )
        items = [given[name] if name in given else defaults[name] for name in names]
        return machine.instance(made, machine.tuple(items))

    cls.notes["construct"] = construct
    cls.notes["tuple_names"] = names
    for index, name in enumerate(names):
        cls.content[name] = Descriptor(
            "property",
            Builtin(
                name,
                lambda machine, arguments, keywords, index=index: subscripts.get_item(
                    machine, _tuple_of(arguments[0]), Const(index)
                ),
            ),
        )

    def replaced(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
        receiver = arguments[0]
        values = machine.items(_tuple_of(receiver))
        if values is None or not isinstance(receiver, Instance):
            return machine.unknown("a named tuple that is not known")
        return construct(machine, receiver.cls, [], {**dict(zip(names, values, strict=True)), **keywords})

    cls.content["_replace"] = Builtin("_replace", replaced)
    cls.content["_fields"] = machine.tuple([Const(name) for name in names])
    cls.content["_asdict"] = Builtin(
        "_asdict",
        lambda machine, arguments, keywords: machine.strings(
            dict(zip(names, machine.items(_tuple_of(arguments[0])) or [], strict=False))
        ),
    )


def _tuple_of(value: Value) -> Value:
    return value.payload if isinstance(value, Instance) and value.payload is not None else value
