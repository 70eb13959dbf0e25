"""The standard library: pure functions run by the host on known values, and the few that the walk has to do itself."""

from __future__ import annotations

import collections
import functools
import itertools
import json
import math
import operator
import os
import posixpath
import re
import string
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from preflight.walk import arithmetic, classes, comparison, hashing, operands, subscripts, texts
from preflight.walk.generators import Unclear, holds_yield
from preflight.walk.iteration import NotConcrete, advance
from preflight.walk.library import containers
from preflight.walk.library.constructors import constructor
from preflight.walk.library.registry import MAKERS, constant, function, maker, pure
from preflight.walk.outcomes import Raised
from preflight.walk.truth import Truth
from preflight.walk.values import (
    FALSE,
    NONE,
    TRUE,
    Bound,
    Builtin,
    Class,
    Const,
    Descriptor,
    Function,
    Host,
    Instance,
    Map,
    OneOf,
    Perhaps,
    Seq,
    SetValue,
    Stream,
    Value,
)

if TYPE_CHECKING:
    import ast

    from preflight.walk.machine import Machine

Arguments = list[Value]
Keywords = dict[str, Value]

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
    return containers.DICT["get"](machine, environment, [arguments[0], default], {})


def _probe(name: str, *, folder: bool | None) -> None:
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
                return Const(answer != "nothing" if folder is None else answer == ("folder" if folder else "file"))
        return machine.unknown("whether a file is there", cls=machine.natives.bool)


_probe("exists", folder=None)
_probe("isfile", folder=False)
_probe("isdir", folder=True)


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
        return containers.DICT["copy"](machine, value, [], {})
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
    return containers.SET["copy"](machine, value, [], {})


# --- functools ---


@function("functools.partial")
def _partial(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    target, first = arguments[0], arguments[1:]
    return Builtin(
        f"partial of {target!r}",
        lambda machine, given, named: machine.call(target, [*first, *given], {**keywords, **named}),
    )


@function("functools.wraps", "functools.update_wrapper")
def _wraps(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    wrapped = arguments[0]

    def dress(machine: Machine, given: Arguments, named: Keywords) -> Value:
        wrapper = given[0]
        if isinstance(wrapper, Function):
            machine.state.touch(wrapper)
            wrapper.content["__wrapped__"] = wrapped
            for name in ("__name__", "__qualname__", "__module__", "__doc__"):
                found = machine.find(wrapped, name)
                if found is not None and not isinstance(found, Perhaps):
                    wrapper.content[name] = found
            if isinstance(wrapped, Function):
                wrapper.content.update(
                    {name: item for name, item in wrapped.content.items() if name not in wrapper.content}
                )
        return wrapper

    if len(arguments) > 1:
        return dress(machine, [arguments[0]], {})
    return Builtin("wraps", dress)


@function("functools.lru_cache", "functools.cache")
def _cache(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    if arguments and isinstance(arguments[0], (Function, Builtin, Bound, Class, Descriptor)):
        return _cached(machine, arguments[:1], {})
    return Builtin("lru_cache", _cached)


def _cached(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    target = arguments[0]
    if not isinstance(target, Function):
        return target
    memory = machine.dict([])

    def run(machine: Machine, given: Arguments, named: Keywords) -> Value:
        key = machine.tuple([*given, *(machine.tuple([Const(name), item]) for name, item in named.items())])
        try:
            hashed = hashing.key_of(machine, key)
        except hashing.Unhashed:
            return machine.call(target, given, named)
        entry = memory.content.get(hashed)
        if entry is not None and not isinstance(entry[1], Perhaps):
            return entry[1]
        result = machine.call(target, given, named)
        machine.state.touch(memory)
        memory.content[hashed] = (key, result)
        return result

    # a method that is cached must still bind: the wrapper is a built-in, which binds like a function
    attributes: dict[str, Value] = {
        "__wrapped__": target,
        "cache_clear": Builtin(
            "cache_clear", lambda machine, given, named: containers.DICT["clear"](machine, memory, [], {})
        ),
        "cache_info": Builtin("cache_info", lambda machine, given, named: machine.unknown("the statistics of a cache")),
        "__name__": Const(target.name),
        "__doc__": NONE,
    }
    return Builtin(target.qualname, run, attributes)


@function("functools.cached_property", "torch.utils._pytree.cached_property")
def _cached_property(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    return Descriptor("cached_property", arguments[0])


@function("functools.reduce")
def _reduce(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    items = machine.items(arguments[1])
    if items is None:
        return machine.unknown("a reduction of values that are not known")
    values = [*arguments[2:3], *items]
    if not values:
        machine.fail("TypeError", "reduce() of empty iterable with no initial value")
    return functools.reduce(lambda left, right: machine.call(arguments[0], [left, right]), values)


@function("functools.total_ordering")
def _total_ordering(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    import ast

    cls = arguments[0]
    if isinstance(cls, Class):
        have = next((name for name in ("__lt__", "__le__", "__gt__", "__ge__") if name in cls.content), None)
        if have != "__lt__":
            cls.complete = "total_ordering on another method than __lt__"
            return cls
        less = cls.content["__lt__"]

        def derived(combine: str) -> Builtin:
            def run(machine: Machine, given: Arguments, named: Keywords) -> Value:
                below = machine.call(less, given)
                if isinstance(below, Const) and below.value is NotImplemented:
                    return below
                if combine == "ge":
                    return arithmetic.unary(machine, ast.Not(), below)
                same = comparison.compare(machine, ast.Eq(), given[0], given[1])
                either = _or(machine, below, same)
                return either if combine == "le" else arithmetic.unary(machine, ast.Not(), either)

            return Builtin(combine, run)

        for name, combine in (("__le__", "le"), ("__gt__", "gt"), ("__ge__", "ge")):
            cls.content.setdefault(name, derived(combine))
    return cls


def _or(machine: Machine, left: Value, right: Value) -> Value:
    from preflight.walk.truth import either

    answer = either(machine.truth(left), machine.truth(right))
    return (
        machine.unknown("a comparison", cls=machine.natives.bool)
        if answer is Truth.MAYBE
        else Const(answer is Truth.YES)
    )


# --- itertools ---


def _lazy(machine: Machine, values: Iterator[Value]) -> Value:
    return Stream(values, machine.state.fresh(), "iterator")


@function("itertools.chain")
def _chain(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    def values() -> Iterator[Value]:
        for argument in arguments:
            yield from machine.iterate(argument)

    return _lazy(machine, values())


@function("itertools.chain.from_iterable")
def _chain_from(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    def values() -> Iterator[Value]:
        for argument in machine.iterate(arguments[0]):
            yield from machine.iterate(argument)

    return _lazy(machine, values())


def _eager(name: str, host: Host) -> None:
    """An itertools function over known lists: the host orders positions, the values stay ours."""

    @function(f"itertools.{name}")
    def run(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
        def values() -> Iterator[Value]:
            lists: list[Any] = []
            for argument in arguments:
                items = (
                    machine.items(argument)
                    if not (isinstance(argument, Const) and not isinstance(argument.value, (str, range)))
                    else None
                )
                if items is None and not isinstance(argument, Const):
                    raise Unclear(f"the values of {name} are not known")
                lists.append(items if items is not None else argument.value)  # pyrefly: ignore
            named = {key: machine.host(item) for key, item in keywords.items()}
            for row in host(*lists, **named):
                yield machine.tuple(list(row)) if isinstance(row, tuple) else row

        return _lazy(machine, values())


for _name in ("product", "permutations", "combinations", "pairwise", "zip_longest"):
    if hasattr(itertools, _name):
        _eager(_name, getattr(itertools, _name))


@function("itertools.islice")
def _islice(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    def values() -> Iterator[Value]:
        try:
            bounds = [machine.host(argument) for argument in arguments[1:]]
        except NotConcrete:
            raise Unclear("how much of an iterator is taken is not known") from None
        yield from itertools.islice(machine.iterate(arguments[0]), *bounds)

    return _lazy(machine, values())


@function("itertools.repeat")
def _repeat(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    times = arguments[1] if len(arguments) > 1 else keywords.get("times")
    if times is None:
        return _lazy(machine, itertools.repeat(arguments[0]))
    if isinstance(times, Const):
        return _lazy(machine, itertools.repeat(arguments[0], times.value))
    return machine.unknown("how often a value is repeated")


@function("itertools.count")
def _count(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    try:
        return _lazy(
            machine, (Const(number) for number in itertools.count(*(machine.host(argument) for argument in arguments)))
        )
    except NotConcrete:
        return machine.unknown("a count that is not known")


# --- collections ---


for _class in (collections.OrderedDict, collections.defaultdict, collections.deque, collections.Counter):
    MAKERS[f"collections.{_class.__name__}"] = lambda machine, cls=_class: machine.natives.of(cls)


@constructor(collections.OrderedDict)
def _ordered_dict(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    made = Map(machine.natives.of(collections.OrderedDict), {}, machine.state.fresh())
    containers.DICT["update"](machine, made, arguments, keywords)
    return made


@constructor(collections.defaultdict)
def _defaultdict(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    made = Map(machine.natives.of(collections.defaultdict), {}, machine.state.fresh())
    factory = arguments[0] if arguments else NONE
    if not (isinstance(factory, Const) and factory.value is None):
        made.factory = factory
    containers.DICT["update"](machine, made, arguments[1:], keywords)
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


# --- contextlib ---


@function("contextlib.contextmanager")
def _contextmanager(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    target = arguments[0]

    def make(machine: Machine, given: Arguments, named: Keywords) -> Value:
        stream = machine.call(target, given, named)
        manager = machine.instance(_manager_class(machine))
        manager.content["stream"] = stream
        manager.content["catches"] = Const(_catches(target))
        return manager

    return Builtin(f"contextmanager of {target!r}", make)


def _manager_class(machine: Machine) -> Class:
    cls = machine.library.external(machine, "preflight.ContextManager")
    assert isinstance(cls, Class)
    return cls


@maker("preflight.ContextManager")
def _make_manager(machine: Machine) -> Value:
    cls = Class("_GeneratorContextManager", (machine.natives.object,), 0, module="contextlib")
    cls.mro = (cls, machine.natives.object)
    cls.content["__enter__"] = Builtin("__enter__", _enter_stream)
    cls.content["__exit__"] = Builtin("__exit__", _exit_stream)
    cls.content["__call__"] = Builtin("__call__", lambda machine, given, named: given[1])
    return cls


def _enter_stream(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    manager = arguments[0]
    assert isinstance(manager, Instance)
    stream = manager.content["stream"]
    if not isinstance(stream, Stream):
        machine.may_raise("a context manager that is not known")
        return machine.unknown("what a context manager gives")
    try:
        item = advance(machine, stream)
    except Unclear as unclear:
        machine.may_raise(str(unclear))
        return machine.unknown(str(unclear))
    if item is None:
        machine.fail("RuntimeError", "generator didn't yield")
    return item


def _exit_stream(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    manager, error = arguments[0], arguments[2]
    assert isinstance(manager, Instance)
    stream = manager.content["stream"]
    if isinstance(error, Const) and error.value is None:
        if isinstance(stream, Stream):
            try:
                advance(machine, stream)
            except Unclear as unclear:
                machine.may_raise(str(unclear))
        return FALSE
    # an exception is thrown into the generator: one that has no handler around its yield lets it pass
    catches = manager.content["catches"]
    if isinstance(catches, Const) and not catches.value:
        return FALSE
    return machine.unknown("whether a context manager swallows an exception")


def _catches(target: Value) -> bool:
    """Whether a handler around a yield of a generator may swallow an exception: one that surely raises does not."""
    import ast

    if not isinstance(target, Function):
        return True
    for inner in ast.walk(target.node):
        if not (isinstance(inner, ast.Try) and any(holds_yield(statement) for statement in inner.body)):
            continue
        if not all(isinstance(handler.body[-1], ast.Raise) and not _leaves(handler) for handler in inner.handlers):
            return True
    return False


def _leaves(handler: ast.ExceptHandler) -> bool:
    """Whether a handler may end before its last statement."""
    import ast

    return any(isinstance(inner, (ast.Return, ast.Break, ast.Continue, ast.Yield)) for inner in ast.walk(handler))


@function("contextlib.nullcontext")
def _nullcontext(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    made = machine.instance(_null_class(machine))
    made.content["result"] = arguments[0] if arguments else keywords.get("enter_result", NONE)
    return made


def _null_class(machine: Machine) -> Class:
    cls = machine.library.external(machine, "preflight.NullContext")
    assert isinstance(cls, Class)
    return cls


@maker("preflight.NullContext")
def _make_null(machine: Machine) -> Value:
    cls = Class("nullcontext", (machine.natives.object,), 0, module="contextlib")
    cls.mro = (cls, machine.natives.object)
    cls.content["__enter__"] = Builtin("__enter__", lambda machine, given, named: machine.get(given[0], "result"))
    cls.content["__exit__"] = Builtin("__exit__", lambda machine, given, named: FALSE)
    return cls


@function("contextlib.suppress")
def _suppress(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    made = machine.instance(_suppress_class(machine))
    made.content["classes"] = machine.tuple(list(arguments))
    return made


def _suppress_class(machine: Machine) -> Class:
    cls = machine.library.external(machine, "preflight.Suppress")
    assert isinstance(cls, Class)
    return cls


@maker("preflight.Suppress")
def _make_suppress(machine: Machine) -> Value:
    def leave(machine: Machine, given: Arguments, named: Keywords) -> Value:
        if isinstance(given[1], Const):
            return FALSE
        answer = classes.is_subclass(machine, given[1], machine.get(given[0], "classes"))
        return (
            machine.unknown("whether an exception is swallowed")
            if answer is Truth.MAYBE
            else Const(answer is Truth.YES)
        )

    cls = Class("suppress", (machine.natives.object,), 0, module="contextlib")
    cls.mro = (cls, machine.natives.object)
    cls.content["__enter__"] = Builtin("__enter__", lambda machine, given, named: NONE)
    cls.content["__exit__"] = Builtin("__exit__", leave)
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
    cls = Class("ABC", (machine.natives.object,), 0, module="abc")
    cls.mro = (cls, machine.natives.object)
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
    cls = Class("Logger", (machine.natives.object,), 0, module="logging")
    cls.mro = (cls, machine.natives.object)

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
    cls = Class("PushToHubMixin", (machine.natives.object,), 0, module="transformers.utils.hub")
    cls.mro = (cls, machine.natives.object)
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
