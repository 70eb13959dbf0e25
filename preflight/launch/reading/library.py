"""What is known of the libraries that the launch code uses: functions that only compute are Python's own, a few others
have a stand-in here. Everything else of a library is an External: its calls return something unknown."""

from __future__ import annotations

import argparse
import builtins
import collections
import copy
import functools
import itertools
import json
import os.path
import re
import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING

from preflight.launch.reading import classes, hints
from preflight.launch.reading.values import (
    Bound,
    Class,
    External,
    ForwardRef,
    Function,
    Hint,
    Instance,
    Native,
    NativeBase,
    NotKnown,
    Object,
    Raised,
    Super,
    Unknown,
    ValidationError,
    Wrapped,
    describe,
)

if TYPE_CHECKING:
    from preflight.launch.reading.run import Run


def external(run: Run, dotted: str) -> Object:
    """What the import path names: a stand-in, a function of Python's own, or an External."""
    if dotted == "sys.argv":
        return run.argv
    if dotted == "os.environ":
        return run.environ
    if dotted == "sys.version_info":
        return (*run.python, 99, "final", 0)
    for prefix, meant in _ALIASES:
        if dotted.startswith(prefix):
            dotted = meant + dotted[len(prefix) :]
            break
    if dotted in hints.GENERICS:
        return hints.GENERICS[dotted]
    return run.library.get(dotted) or LIBRARY.get(dotted, External(dotted))


_ALIASES = (
    ("typing_extensions.", "typing."),
    ("regex.", "re."),
    ("pydantic.fields.FieldInfo", "pydantic.FieldInfo"),
    ("pydantic.fields.", "pydantic."),
    ("collections.abc.Callable", "typing.Callable"),
)


# -- built-ins that look at values of ours --------------------------------------------------------------------------


def _isinstance(run: Run, value: Object, kinds: Object) -> bool:
    if isinstance(kinds, tuple):
        return any(_isinstance(run, value, kind) for kind in kinds)
    if isinstance(kinds, Hint) and hints.is_union(kinds):
        return any(_isinstance(run, value, kind) for kind in kinds.arguments)
    for part in (value, kinds):
        if isinstance(part, Unknown):
            raise NotKnown(part)
    if isinstance(value, Instance):
        if isinstance(kinds, External) and kinds not in value.cls.order and not classes.is_complete(value.cls):
            raise NotKnown(Unknown(f"whether a {value.cls.name} is a {kinds}"))
        return classes.is_subclass(value.cls, kinds)
    if isinstance(value, (Class, NativeBase)):
        return kinds in (type, object)
    if isinstance(value, classes.FieldInfo):
        return kinds == External("pydantic.FieldInfo") if value.pydantic else kinds == External("dataclasses.Field")
    if isinstance(value, External):
        # A name of a library in an annotation is a class of its own, and none of Python's plain types.
        if kinds is type:
            return True
        raise NotKnown(Unknown(f"what {value} is"))
    if isinstance(value, (Hint, ForwardRef, Native, Function, Bound)):
        return kinds is object
    if getattr(value, "stands_in", False):
        if isinstance(kinds, Class) or kinds in (str, int, dict, list, tuple):
            return False
        raise NotKnown(Unknown(f"whether a {type(value).__name__.lower()} is a {describe(kinds)}"))
    if isinstance(kinds, type):
        return isinstance(value, kinds)
    if kinds in _ABSTRACT:
        return isinstance(value, _ABSTRACT[kinds])
    return False


_ABSTRACT: dict[Object, tuple[type, ...]] = {
    External("collections.abc.Mapping"): (dict,),
    External("collections.abc.Sequence"): (list, tuple, str),
    External("collections.abc.Iterable"): (list, tuple, str, dict, set),
    External("numbers.Number"): (int, float),
}


def _issubclass(run: Run, cls: Object, bases: Object) -> bool:
    if isinstance(bases, tuple):
        return any(classes.is_subclass(cls, base) for base in bases)
    return classes.is_subclass(cls, bases)


def _type(run: Run, value: Object, *rest: Object) -> Object:
    if rest or isinstance(value, Unknown):
        raise NotKnown(value if isinstance(value, Unknown) else Unknown("a class made by type()"))
    if isinstance(value, Instance):
        return value.cls
    if isinstance(value, (External, Hint, Native, Function, Bound, Wrapped)):
        raise NotKnown(Unknown(f"the type of {describe(value)}"))
    return type if isinstance(value, Class) else type(value)


def _super(run: Run, cls: Object, receiver: Object) -> Super:
    if isinstance(cls, Class) and isinstance(receiver, (Instance, Class)):
        return Super(cls, receiver)
    raise NotKnown(Unknown("super()"))


def _getattr(run: Run, value: Object, name: Object, *default: Object) -> Object:
    from preflight.launch.reading.attributes import attribute
    from preflight.launch.reading.values import Scope

    if not isinstance(name, str):
        raise NotKnown(Unknown("an attribute whose name is not known"))
    scope = value.cls.module.scope if isinstance(value, Instance) else Scope(None)  # type: ignore[arg-type]
    try:
        return attribute(run, value, name, scope, 0)
    except Raised as raised:
        if default and isinstance(raised.error, AttributeError):
            return default[0]
        raise
    except AttributeError:
        raise NotKnown(Unknown(f"{name} of {describe(value)}")) from None


def _hasattr(run: Run, value: Object, name: Object) -> bool:
    missing = object()
    found = _getattr(run, value, name, missing)
    if isinstance(found, (Unknown, External)):
        raise NotKnown(Unknown(f"whether {describe(value)} has {name}"))
    return found is not missing


def _setattr(run: Run, value: Object, name: Object, given: Object) -> None:
    from preflight.launch.reading.statements import set_attribute

    if isinstance(name, str):
        set_attribute(run, value, name, given)


def _callable(run: Run, value: Object) -> bool:
    if isinstance(value, (Unknown, External, Instance)):
        raise NotKnown(Unknown(f"whether {describe(value)} can be called"))
    return callable(value) or isinstance(value, (Function, Bound, Native, Class))


def _str(run: Run, value: Object = "") -> str:
    value = classes.unwrapped(value)
    if isinstance(value, Unknown):
        raise NotKnown(value)
    if isinstance(value, (Instance, Class, Function, Native, External, Hint)):
        return describe(value)
    return str(value)


def _bool(run: Run, value: Object = False) -> bool:
    from preflight.launch.reading.expressions import truth

    return truth(value)


def _repr(run: Run, value: Object) -> str:
    plain = classes.unwrapped(value)
    return repr(plain) if isinstance(plain, (str, int, float, list, dict, tuple)) else _str(run, value)


def _open(run: Run, path: Object, *_: Object, **__: Object) -> Object:
    text = run.open_text(path) if run.open_text is not None and isinstance(path, str) else None
    if text is None:
        raise NotKnown(Unknown(f"the content of {describe(path)}"))
    return OpenFile(path, text)


class OpenFile:
    """An open text file that the launch names."""

    is_context = True

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text


def _yaml_load(run: Run, source: Object) -> Object:
    from preflight.launch.documents import load_plain

    text = source.text if isinstance(source, OpenFile) else source
    if not isinstance(text, str):
        raise NotKnown(Unknown("a YAML document that is not known"))
    return load_plain(text)


# -- dataclasses, functools, copy -----------------------------------------------------------------------------------


def _dataclass(run: Run, cls: Object = None, *_: Object, **options: Object) -> Object:
    def mark(_run: Run, made: Object) -> Object:
        if isinstance(made, Class):
            made.dataclass = options
        return made

    return Native("dataclass", mark) if cls is None else mark(run, cls)


def _fields(run: Run, cls: Object) -> list[classes.Field]:
    made = cls.cls if isinstance(cls, Instance) else cls
    if not isinstance(made, Class) or not _is_dataclass(run, made):
        raise NotKnown(Unknown(f"the fields of {describe(cls)}"))
    return classes.dataclass_fields(run, made)


def _is_dataclass(run: Run, cls: Object) -> bool:
    made = cls.cls if isinstance(cls, Instance) else cls
    if isinstance(made, Unknown):
        raise NotKnown(made)
    return isinstance(made, Class) and any(isinstance(b, Class) and b.dataclass is not None for b in made.order)


def _copied(run: Run, value: Object, *_: Object) -> Object:
    """``copy.deepcopy`` of plain containers; what is in them and none of them is shared, for nothing changes it."""
    if isinstance(value, dict):
        return {key: _copied(run, element) for key, element in value.items()}
    if isinstance(value, (list, set)):
        return type(value)(_copied(run, element) for element in value)
    return value


def _partial(run: Run, function: Object, *first: Object, **some: Object) -> Native:
    from preflight.launch.reading.calls import call

    return Native(
        describe(function), lambda _run, *rest, **more: call(run, function, [*first, *rest], {**some, **more})
    )


def _cached(run: Run, *arguments: Object, **_: Object) -> Object:
    """``functools.lru_cache`` and ``cache``: what is computed for certain is computed once."""
    from preflight.launch.reading.calls import call

    def decorate(_run: Run, function: Object) -> Object:
        known: dict[Object, Object] = {}

        def cached(_run: Run, *given: Object, **more: Object) -> Object:
            key = (given, tuple(more.items()))
            try:
                if key in known:
                    return known[key]
            except (TypeError, NotKnown):
                return call(run, function, list(given), more)
            value = call(run, function, list(given), more)
            if not run.doubt.depth:
                known[key] = value
            return value

        return Native(describe(function), cached)

    if len(arguments) == 1 and isinstance(arguments[0], (Function, Wrapped)):
        return decorate(run, arguments[0])
    return Native("a decorator", decorate)


def _transparent(run: Run, *arguments: Object, **_: Object) -> Object:
    """A decorator, with arguments or without, that returns the function as good as unchanged."""
    if len(arguments) == 1 and isinstance(arguments[0], (Function, Class, Wrapped, Bound, Native)):
        return arguments[0]
    return Native("a decorator", lambda _run, made: made)


def _type_adapter(run: Run, hint: Object, *_: Object, **__: Object) -> Object:
    from preflight.launch.reading.validation import TypeAdapter

    return TypeAdapter(run, hint)


def _getenv(run: Run, name: Object, default: Object = None) -> Object:
    return run.environ.get(name, default)


def _init_module(run: Run, instance: Instance, name: Object, *_: Object) -> None:
    run.doubt.touch(instance.names)
    instance.names["__name__"] = name


def _import_module(run: Run, name: Object, *_: Object) -> Object:
    from preflight.launch.reading.modules import import_module

    if not isinstance(name, str) or name.startswith("."):
        raise NotKnown(Unknown("a module whose name is not known"))
    return import_module(run, name)


BUILTINS: dict[str, Object] = {
    "isinstance": Native("isinstance", _isinstance),
    "issubclass": Native("issubclass", _issubclass),
    "type": type,
    "super": Native("super", _super),
    "getattr": Native("getattr", _getattr),
    "hasattr": Native("hasattr", _hasattr),
    "setattr": Native("setattr", _setattr),
    "callable": Native("callable", _callable),
    "repr": Native("repr", _repr),
    "open": Native("open", _open),
    "print": Native("print", lambda run, *_, **__: None),
    "NotImplemented": NotImplemented,
    "Ellipsis": Ellipsis,
    "__debug__": True,
}
for _function in (
    len, sorted, any, all, list, dict, set, tuple, str, int, float, bool, bytes, frozenset, enumerate, zip, map, filter,
    range, min, max, sum, abs, reversed, next, iter, format, chr, ord, round, divmod, object, property, staticmethod,
    classmethod, slice, complex,
):  # fmt: skip
    BUILTINS[_function.__name__] = _function
for _name, _value in vars(builtins).items():
    if isinstance(_value, type) and issubclass(_value, BaseException):
        BUILTINS[_name] = _value


#: called instead of the plain type of the same name
CONSTRUCTORS: dict[type, Callable[..., Object]] = {type: _type, str: _str, bool: _bool}


class _LoadedModules:
    """``sys.modules`` of a server: what builds documentation or runs tests is not among them."""

    stands_in = True
    absent = frozenset({"mkdocs", "sphinx", "pytest"})

    def __contains__(self, name: object) -> bool:
        if name in self.absent:
            return False
        raise NotKnown(Unknown(f"whether {name} is loaded"))

    def attribute(self, run: Run, name: str, where: tuple[str, int]) -> Object:
        raise NotKnown(Unknown("the modules that are loaded"))


LIBRARY: dict[str, Object] = {
    "sys.modules": _LoadedModules(),
    "typing.TYPE_CHECKING": False,
    "typing.get_origin": Native("get_origin", hints.get_origin, wants_run=False),
    "typing.get_args": Native("get_args", hints.get_args, wants_run=False),
    "typing.cast": Native("cast", lambda run, _hint, value: value),
    "typing.overload": Native("overload", _transparent),
    "typing.deprecated": Native("deprecated", _transparent),
    "typing.final": Native("final", _transparent),
    "typing.no_type_check": Native("no_type_check", _transparent),
    "typing.runtime_checkable": Native("runtime_checkable", _transparent),
    "typing.dataclass_transform": Native("dataclass_transform", _transparent),
    "typing.is_typeddict": Native(
        "is_typeddict", lambda run, cls: isinstance(cls, Class) and External("typing.TypedDict") in cls.order
    ),
    "types.NoneType": type(None),
    "types.ModuleType": NativeBase("types.ModuleType", {"__init__": Native("__init__", _init_module)}),
    "importlib.import_module": Native("import_module", _import_module),
    "dataclasses.MISSING": classes.MISSING,
    "dataclasses.dataclass": Native("dataclass", _dataclass),
    "dataclasses.fields": Native("fields", _fields),
    "dataclasses.is_dataclass": Native("is_dataclass", _is_dataclass),
    "dataclasses.field": Native("field", lambda run, **options: classes.FieldInfo(options, False)),
    "pydantic.dataclasses.dataclass": Native("dataclass", _dataclass),
    "pydantic.ConfigDict": dict,
    "pydantic.Field": Native(
        "Field",
        lambda run, *default, **options: classes.FieldInfo(
            {**options, **({"default": default[0]} if default else {})}, True
        ),
    ),
    "pydantic.TypeAdapter": Native("TypeAdapter", _type_adapter),
    "pydantic.ValidationError": ValidationError,
    "pydantic_core.ValidationError": ValidationError,
    "enum.auto": Native("auto", lambda run: classes.AUTO),
    "enum.unique": Native("unique", _transparent),
    "functools.lru_cache": Native("lru_cache", _cached),
    "functools.cache": Native("cache", _cached),
    "functools.wraps": Native("wraps", lambda run, _wrapped, **_: Native("a decorator", lambda _run, made: made)),
    "functools.partial": Native("partial", _partial),
    "functools.reduce": functools.reduce,
    "copy.copy": Native("copy", lambda run, value: copy.copy(value) if isinstance(value, (list, dict, set)) else value),
    "copy.deepcopy": Native("deepcopy", _copied),
    "collections.defaultdict": collections.defaultdict,
    "collections.OrderedDict": dict,
    "collections.deque": collections.deque,
    "itertools.chain": itertools.chain,
    "itertools.permutations": itertools.permutations,
    "itertools.combinations": itertools.combinations,
    "itertools.product": itertools.product,
    "itertools.islice": itertools.islice,
    "itertools.pairwise": getattr(itertools, "pairwise", External("itertools.pairwise")),
    "json.loads": json.loads,
    "json.dumps": json.dumps,
    "json.JSONDecodeError": json.JSONDecodeError,
    "json.decoder.JSONDecodeError": json.JSONDecodeError,
    "yaml.safe_load": Native("safe_load", _yaml_load),
    "os.getenv": Native("getenv", _getenv),
    "os.path.join": os.path.join,
    "os.path.basename": os.path.basename,
    "os.path.dirname": os.path.dirname,
    "os.path.splitext": os.path.splitext,
    "sys.platform": "linux",
    "sys.exit": Native("exit", lambda run, *arguments: _exit(arguments)),
    "ssl.CERT_NONE": 0,
    "ssl.CERT_OPTIONAL": 1,
    "ssl.CERT_REQUIRED": 2,
    "textwrap.dedent": textwrap.dedent,
    "warnings.warn": Native("warn", lambda run, *_, **__: None),
    "argparse.ArgumentTypeError": argparse.ArgumentTypeError,
    "argparse.SUPPRESS": argparse.SUPPRESS,
    "argparse.REMAINDER": argparse.REMAINDER,
    "argparse.ONE_OR_MORE": argparse.ONE_OR_MORE,
    "argparse.ZERO_OR_MORE": argparse.ZERO_OR_MORE,
    "argparse.OPTIONAL": argparse.OPTIONAL,
}
for _name in ("compile", "match", "fullmatch", "search", "sub", "split", "findall", "escape", "IGNORECASE", "DOTALL"):
    LIBRARY[f"re.{_name}"] = getattr(re, _name)


def _exit(arguments: tuple[Object, ...]) -> None:
    error = SystemExit(*arguments)
    raise Raised(error, "", 0)
