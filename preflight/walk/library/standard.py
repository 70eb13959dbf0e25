"""The standard library: pure functions run by the host on known values, and the few that the walk has to do itself."""

from __future__ import annotations

import collections
import json
import math
import operator
import os
import posixpath
import re
import string
import textwrap
from typing import TYPE_CHECKING, Any

from preflight.walk import classes, operands, subscripts, texts
from preflight.walk.files import ASKED, FILES, FOLDERS, THERE
from preflight.walk.iteration import NotConcrete
from preflight.walk.library import mappings, sets
from preflight.walk.library.constructors import constructor
from preflight.walk.library.registry import MAKERS, constant, function, library_class, maker, pure
from preflight.walk.outcomes import Raised
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


_PURE: dict[str, Any] = {
    "math": math,
    "re": re,
    "operator": operator,
    "posixpath": posixpath,
    "textwrap": textwrap,
    "string": string,
}
_NOT_PURE = {"re.purge"}
for _module, _host in _PURE.items():
    for _name in dir(_host):
        if _name.startswith("_") or f"{_module}.{_name}" in _NOT_PURE:
            continue
        _thing = getattr(_host, _name)
        if isinstance(_thing, (type, type(re))):
            continue
        if callable(_thing):
            MAKERS.setdefault(
                f"{_module}.{_name}",
                lambda machine, name=f"{_module}.{_name}", thing=_thing: Builtin(name, pure(name, thing)),
            )
        else:
            constant(f"{_module}.{_name}", _thing)
for _name in ("join", "basename", "dirname", "split", "splitext", "isabs", "normpath", "commonprefix", "commonpath"):
    function(f"os.path.{_name}")(pure(f"os.path.{_name}", getattr(posixpath, _name)))
constant("os.sep", "/")
constant("os.name", "posix")
function("shutil.get_terminal_size", "os.get_terminal_size")(
    lambda machine, arguments, keywords: Const(os.terminal_size((80, 24)))
)
for _number, _name in enumerate(("CERT_NONE", "CERT_OPTIONAL", "CERT_REQUIRED")):
    constant(f"ssl.{_name}", _number)
constant("sys.maxsize", 2**63 - 1)
constant("sys.platform", "linux")
constant("sys.byteorder", "little")
constant("json.decoder.JSONDecodeError", json.JSONDecodeError)
constant("json.JSONDecodeError", json.JSONDecodeError)
constant("re.Pattern", re.Pattern)
constant("re.Match", re.Match)
constant("re.error", re.error)
MAKERS["operator.attrgetter"] = lambda machine: Builtin("attrgetter", _attrgetter)
MAKERS["operator.itemgetter"] = lambda machine: Builtin("itemgetter", _itemgetter)
MAKERS["sys.version_info"] = lambda machine: machine.tuple([Const(part) for part in machine.library.python])
MAKERS["sys.argv"] = lambda machine: machine.list([Const("vllm"), Const("serve")])


def _attrgetter(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    name = arguments[0]
    if len(arguments) == 1 and isinstance(name, Const) and "." not in name.value:
        return Builtin("attrgetter", lambda machine, given, keywords: machine.get(given[0], name.value))
    return machine.unknown("attrgetter")


def _itemgetter(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    if len(arguments) == 1:
        return Builtin(
            "itemgetter", lambda machine, given, keywords: subscripts.get_item(machine, given[0], arguments[0])
        )
    return Builtin(
        "itemgetter",
        lambda machine, given, keywords: machine.tuple(
            [subscripts.get_item(machine, given[0], key) for key in arguments]
        ),
    )


# --- json ---


@function("json.loads")
def _json_loads(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    value = operands.payload(arguments[0])
    if isinstance(value, Const) and isinstance(value.value, str):
        try:
            return machine.value(json.loads(value.value), value.origin)
        except json.JSONDecodeError as error:
            made = machine.instance(machine.natives.of(json.JSONDecodeError))
            made.content["args"] = machine.tuple([Const(str(error))])
            raise Raised((machine.exit(made, str(error)),)) from None
        except RecursionError:
            return machine.unknown("JSON nested too deeply")
    return pure("json.loads", json.loads)(machine, arguments, {})


function("json.dumps")(pure("json.dumps", json.dumps))


# --- os ---


@maker("os.environ")
def _environ(machine: Machine) -> Value:
    return machine.library.environment(machine)


@function("os.getenv", "os.environ.get")
def _getenv(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    environment = machine.library.external(machine, "os.environ")
    default = arguments[1] if len(arguments) > 1 else keywords.get("default", NONE)
    assert isinstance(environment, Map)
    return mappings.DICT["get"](machine, environment, [arguments[0], default], {})


def _probe(name: str, kinds: tuple[str, ...]) -> None:
    """A question about a file: what the launch is known to have is answered, the rest is not known."""

    @function(f"os.path.{name}", f"os.{name}")
    def run(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
        value = operands.payload(arguments[0])
        if isinstance(value, Const):
            if isinstance(value.value, (type(None), float)):
                machine.fail(
                    "TypeError",
                    f"stat: path should be string, bytes, os.PathLike or integer, not {type(value.value).__name__}",
                )
            answer = machine.library.files.kind(str(value.value))
            if answer is not None:
                return Const(answer in kinds)
            return machine.unknown(f"{ASKED}{value.value}", cls=machine.natives.bool)
        return machine.unknown("whether a file is there", cls=machine.natives.bool)


_probe("exists", THERE)
_probe("isfile", FILES)
_probe("isdir", FOLDERS)


@function("os.fspath")
def _fspath(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    value = operands.payload(arguments[0])
    if isinstance(value, Const):
        return Const(value.value if isinstance(value.value, str) else str(value.value))
    return machine.unknown("a path", cls=machine.natives.str)


@function("os.path.expanduser", "os.path.abspath", "os.path.realpath", "os.path.expandvars")
def _absolute(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    value = operands.payload(arguments[0])
    if isinstance(value, Const) and isinstance(value.value, str) and value.value.startswith("/"):
        return Const(os.path.normpath(value.value))
    return machine.unknown("a path of this machine", cls=machine.natives.str, truthy=True)


# --- copy ---


@function("copy.copy")
def _copy(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    value = arguments[0]
    if isinstance(value, (Seq, Map, SetValue)):
        return mappings.DICT["copy"](machine, value, [], {})
    if isinstance(value, Instance):
        special = classes.lookup(value.cls, "__copy__").value
        if special is not None:
            return machine.call(special, [value])
        made = machine.instance(value.cls, value.payload)
        made.content = dict(value.content)
        made.loose = value.loose
        return made
    return value


@function("copy.deepcopy")
def _deepcopy(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    return _deep(machine, arguments[0], {})


def _deep(machine: Machine, value: Value, made: dict[int, Value]) -> Value:
    if not isinstance(value, (Seq, Map, SetValue, Instance, OneOf, Perhaps)):
        return value
    known = made.get(id(value))
    if known is not None:
        return known
    if isinstance(value, Perhaps):
        return Perhaps(_deep(machine, value.value, made))
    if isinstance(value, OneOf):
        return OneOf(tuple(_deep(machine, option, made) for option in value.options))
    if isinstance(value, Instance):
        if "members" in value.cls.notes or value.cls.notes.get("singleton"):
            return value
        special = classes.lookup(value.cls, "__deepcopy__").value
        if special is not None:
            return machine.call(special, [value, machine.dict([])])
        copied = machine.instance(value.cls)
        made[id(value)] = copied
        copied.payload = _deep(machine, value.payload, made) if value.payload is not None else None
        copied.content = {name: _deep(machine, item, made) for name, item in value.content.items()}
        copied.loose = value.loose
        copied.origin = value.origin
        return copied
    if isinstance(value, Seq):
        twin = Seq(value.kind, [], machine.state.fresh())
        made[id(value)] = twin
        twin.content = [_deep(machine, item, made) for item in value.content]
        twin.loose = value.loose
        twin.origin = value.origin
        return twin
    if isinstance(value, Map):
        copy = Map(value.kind, {}, machine.state.fresh())
        made[id(value)] = copy
        copy.content = {hashed: (key, _deep(machine, item, made)) for hashed, (key, item) in value.content.items()}
        copy.loose = value.loose
        copy.factory = value.factory
        copy.origin = value.origin
        return copy
    return sets.SET["copy"](machine, value, [], {})


# --- collections ---


for _class in (collections.OrderedDict, collections.defaultdict, collections.deque, collections.Counter):
    MAKERS[f"collections.{_class.__name__}"] = lambda machine, cls=_class: machine.natives.of(cls)


@constructor(collections.OrderedDict)
def _ordered_dict(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    made = Map(machine.natives.of(collections.OrderedDict), {}, machine.state.fresh())
    mappings.DICT["update"](machine, made, arguments, keywords)
    return made


@constructor(collections.defaultdict)
def _defaultdict(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    made = Map(machine.natives.of(collections.defaultdict), {}, machine.state.fresh())
    factory = arguments[0] if arguments else NONE
    if not (isinstance(factory, Const) and factory.value is None):
        made.factory = factory
    mappings.DICT["update"](machine, made, arguments[1:], keywords)
    return made


@constructor(collections.deque)
def _deque(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    items = machine.items(arguments[0]) if arguments else []
    made = Seq(machine.natives.of(collections.deque), items or [], machine.state.fresh())
    if items is None:
        made.loose = "the items are not known"
    return made


@constructor(collections.Counter)
def _counter(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    made = Map(machine.natives.of(collections.Counter), {}, machine.state.fresh())
    made.factory = Builtin("zero", lambda machine, given, named: Const(0))
    items = machine.items(arguments[0]) if arguments and not isinstance(arguments[0], Map) else []
    if items is None or (arguments and isinstance(arguments[0], Map)):
        made.loose = "what is counted is not known"
        return made
    for item in items:
        current = subscripts.get_item(machine, made, item)
        subscripts.store_item(machine, made, item, pure("add", lambda n: n + 1)(machine, [current], {}))
    return made


@function("collections.namedtuple")
def _namedtuple(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    from preflight.walk.library.dataclass import make_named_tuple

    try:
        name, names = machine.host(arguments[0]), machine.host(arguments[1])
        defaults = machine.items(keywords["defaults"]) if "defaults" in keywords else []
    except NotConcrete:
        return machine.unknown("a named tuple")
    names = names.replace(",", " ").split() if isinstance(names, str) else list(names)
    cls = classes.make(machine, name, [machine.natives.tuple], machine.frame.module.name)
    given = dict(zip(names[len(names) - len(defaults or []) :], defaults or [], strict=True))
    make_named_tuple(machine, cls, names, given)
    return cls


# --- abc and others ---


@function("abc.abstractmethod", "abc.abstractproperty")
def _abstractmethod(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    target = arguments[0]
    inner = target.function if isinstance(target, Descriptor) else target
    if isinstance(inner, Function):
        inner.content["__isabstractmethod__"] = TRUE
    return target


@maker("abc.ABC")
def _abc(machine: Machine) -> Value:
    cls = library_class("ABC", machine.natives.object, "abc")
    cls.notes["abc"] = True
    return cls


@function("ast.literal_eval")
def _literal_eval(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    import ast

    return pure("ast.literal_eval", ast.literal_eval)(machine, arguments, keywords)


@function("packaging.version.parse", "packaging.version.Version")
def _version(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    from packaging.version import Version

    if isinstance(arguments[0], Const) and isinstance(arguments[0].value, Version):
        return arguments[0]
    return pure("Version", Version)(machine, arguments, keywords)


@function("logging.getLogger", "transformers.utils.logging.get_logger")
def _logger(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    return machine.library.external(machine, "preflight.Logger")


@maker("preflight.Logger")
def _make_logger(machine: Machine) -> Value:
    """A logger never raises and changes nothing, whatever is asked of it."""
    cls = library_class("Logger", machine.natives.object, "logging")

    def log(machine: Machine, given: Arguments, named: Keywords) -> Value:
        return NONE

    def attribute(machine: Machine, given: Arguments, named: Keywords) -> Value:
        return Builtin("logger method", log)

    cls.content["__getattr__"] = Builtin("__getattr__", attribute)
    cls.content["isEnabledFor"] = Builtin(
        "isEnabledFor", lambda machine, given, named: machine.unknown("the log level", cls=machine.natives.bool)
    )
    return machine.instance(cls)


@function("time.perf_counter", "time.time", "time.monotonic", "time.perf_counter_ns", "time.time_ns")
def _clock(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    return machine.unknown("the time", cls=machine.natives.float, truthy=True)


@function("warnings.warn", "warnings.simplefilter", "warnings.filterwarnings", "sys.exit.__doc__", "time.sleep")
def _quiet(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    return NONE


@function("sys.exit", "os._exit")
def _exit(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    error = machine.instance(machine.natives.exception("SystemExit"))
    error.content["args"] = machine.tuple(list(arguments))
    error.content["code"] = arguments[0] if arguments else NONE
    raise Raised((machine.exit(error, texts.shown(machine, arguments[0]) if arguments else None),))


@function("sys.intern")
def _intern(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    return arguments[0]


@maker("transformers.utils.PushToHubMixin", "transformers.utils.hub.PushToHubMixin")
def _push_to_hub(machine: Machine) -> Value:
    """A mixin of configs that only uploads."""
    cls = library_class("PushToHubMixin", machine.natives.object, "transformers.utils.hub")
    for name in ("push_to_hub", "_upload_modified_files", "_get_files_timestamps", "_create_repo"):
        cls.content[name] = Builtin(
            name, lambda machine, given, named, name=name: machine.unknown(f"the result of {name}")
        )
    return cls


@function("transformers.utils.is_torch_available", "transformers.utils.import_utils.is_torch_available")
def _torch_available(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    """vLLM does not run without torch."""
    return TRUE


@function("transformers.utils.auto_docstring", "transformers.utils.auto_docstring.auto_docstring")
def _decorator(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    """Decorators of config classes that leave the class as it is."""
    if arguments and isinstance(arguments[0], (Class, Function)):
        return arguments[0]
    return Builtin("decorator", lambda machine, given, named: given[0])
