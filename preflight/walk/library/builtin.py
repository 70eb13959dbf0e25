"""The built-in functions and classes, and what every object has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from preflight.walk import arithmetic, attributes, classes, hashing, operands, texts
from preflight.walk.derived import Derived, apply, number
from preflight.walk.generators import Unclear
from preflight.walk.iteration import NotConcrete, advance
from preflight.walk.library import containers
from preflight.walk.library.registry import fail_as, function, pure
from preflight.walk.origins import combined
from preflight.walk.outcomes import fork
from preflight.walk.truth import Truth, as_value
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
    Implementation,
    Instance,
    Map,
    ModuleValue,
    OneOf,
    Perhaps,
    Seq,
    SetValue,
    Store,
    Stream,
    Unknown,
    Value,
    boolean,
)

if TYPE_CHECKING:
    from preflight.walk.machine import Machine

Arguments = list[Value]
Keywords = dict[str, Value]

for _name in ("abs", "divmod", "pow", "round", "chr", "ord", "hex", "oct", "bin", "ascii"):
    function(f"builtins.{_name}")(pure(_name, getattr(__import__("builtins"), _name)))


@function("builtins.print", "builtins.breakpoint")
def _nothing(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    return NONE


@function("builtins.len")
def _len(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    value = arguments[0]
    if isinstance(value, OneOf):
        return fork(
            machine,
            [lambda option=option: _len(machine, [option], {}) for option in value.options],
            "one of several lengths",
        )
    if isinstance(value, (Seq, Map, SetValue)):
        if value.loose or any(
            isinstance(entry[1] if isinstance(entry, tuple) else entry, Perhaps)
            for entry in (value.content.values() if isinstance(value.content, dict) else ())
        ):
            truthy = True if value.content else None
            return machine.unknown(
                value.loose or "how many items there are is not known", cls=machine.natives.int, truthy=truthy
            )
        return Const(len(value.content))
    if isinstance(value, Instance):
        found = classes.lookup(value.cls, "__len__")
        if found.value is not None and found.sure:
            return machine.call(found.value, [value])
        if value.payload is not None:
            return _len(machine, [value.payload], {})
        if found.sure and not value.loose and not value.cls.gap():
            machine.fail("TypeError", f"object of type '{value.cls.name}' has no len()")
        return machine.unknown("a length that is not known", cls=machine.natives.int)
    if isinstance(value, Class) and "members" in value.notes:
        return Const(len(set(value.notes["members"].values())))
    if isinstance(value, Const):
        try:
            return apply(machine, len, (value,)) if isinstance(value, Derived) else Const(len(value.value))
        except TypeError as error:
            machine.fail("TypeError", str(error))
    if isinstance(value, (Function, Bound, Builtin, Stream)):
        cls = machine.class_of(value)
        machine.fail("TypeError", f"object of type '{cls.name if cls is not None else 'object'}' has no len()")
    machine.may_raise("a length that is not known")
    return machine.unknown(
        value.reason if isinstance(value, Unknown) else "a length that is not known", cls=machine.natives.int
    )


def _truth_value(machine: Machine, truth: Truth, about: Value) -> Value:
    reason = about.reason if isinstance(about, Unknown) else "a condition that is not known"
    made = as_value(truth, reason)
    if isinstance(made, Unknown):
        made.cls = machine.natives.bool
        made.place = machine.place()
    return made


@function("builtins.isinstance")
def _isinstance(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    return _truth_value(machine, machine.is_instance(arguments[0], arguments[1]), arguments[0])


@function("builtins.issubclass")
def _issubclass(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    if isinstance(arguments[0], (Const, Instance)):
        machine.fail("TypeError", "issubclass() arg 1 must be a class")
    return _truth_value(machine, classes.is_subclass(machine, arguments[0], arguments[1]), arguments[0])


@function("builtins.hasattr")
def _hasattr(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    owner, name = arguments[0], arguments[1]
    if not isinstance(name, Const):
        return machine.unknown("which attribute is asked for is not known", cls=machine.natives.bool)
    if isinstance(owner, OneOf):
        return fork(
            machine,
            [lambda option=option: _hasattr(machine, [option, name], {}) for option in owner.options],
            "one of several objects",
        )
    truth, _value = attributes.probe(machine, owner, name.value)
    return _truth_value(machine, truth, owner)


@function("builtins.getattr")
def _getattr(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    owner, name = arguments[0], arguments[1]
    if isinstance(name, OneOf):
        return fork(
            machine,
            [lambda option=option: _getattr(machine, [owner, option, *arguments[2:]], {}) for option in name.options],
            "which attribute is read is not known",
        )
    name = operands.payload(name)
    if not isinstance(name, Const):
        machine.may_raise("which attribute is read is not known")
        return machine.unknown("which attribute is read is not known")
    if not isinstance(name.value, str):
        machine.fail("TypeError", f"attribute name must be string, not '{type(name.value).__name__}'")
    if len(arguments) < 3:
        return machine.get(owner, name.value)
    if isinstance(owner, OneOf):
        return fork(
            machine,
            [lambda option=option: _getattr(machine, [option, name, arguments[2]], {}) for option in owner.options],
            "one of several objects",
        )
    truth, value = attributes.probe(machine, owner, name.value)
    if truth is Truth.NO or value is None:
        return arguments[2]
    if truth is Truth.YES:
        return value
    return operands.join_values(machine, value, arguments[2])


@function("builtins.setattr")
def _setattr(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    owner, name, value = arguments
    if isinstance(name, Const):
        machine.assign(owner, name.value, value)
    elif isinstance(owner, Instance):
        machine.loosen(owner, "which attribute was set is not known", clear=True)
    else:
        machine.escape([owner, value], "which attribute was set is not known")
    return NONE


@function("builtins.delattr")
def _delattr(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    if isinstance(arguments[1], Const):
        attributes.delete(machine, arguments[0], arguments[1].value)
    return NONE


@function("builtins.callable")
def _callable(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    value = arguments[0]
    if isinstance(value, (Function, Bound, Builtin, Class)):
        return TRUE
    if isinstance(value, Instance):
        found = classes.lookup(value.cls, "__call__")
        if found.value is not None and found.sure:
            return TRUE
        return FALSE if found.sure and not value.cls.gap() else machine.unknown("whether it can be called is not known")
    if isinstance(value, (Const, Seq, Map, SetValue, ModuleValue, Stream)):
        return FALSE
    if isinstance(value, OneOf):
        return fork(
            machine,
            [lambda option=option: _callable(machine, [option], {}) for option in value.options],
            "one of several objects",
        )
    return machine.unknown("whether it can be called is not known", cls=machine.natives.bool)


@function("builtins.id")
def _id(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    value = arguments[0]
    return Const(id(value)) if isinstance(value, Store) else machine.unknown("an identity", cls=machine.natives.int)


@function("builtins.hash")
def _hash(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    try:
        return Const(hash(hashing.key_of(machine, arguments[0])))
    except hashing.Unhashed:
        return machine.unknown("a hash that is not known", cls=machine.natives.int)


@function("builtins.repr")
def _repr(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    made = texts.text(machine, arguments[0], quoted=True)
    return (
        Const(made)
        if made is not None
        else machine.unknown("a text that is not known", cls=machine.natives.str, truthy=True)
    )


@function("builtins.format")
def _format(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    return pure("format", format)(machine, arguments, keywords)


# --- iteration ---


@function("builtins.iter")
def _iter(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    value = arguments[0]
    if isinstance(value, Stream):
        return value
    if isinstance(value, Instance):
        found = classes.lookup(value.cls, "__iter__")
        if found.value is not None and found.sure:
            return machine.call(found.value, [value])
    return Stream(machine.iterate(value), machine.state.fresh(), "iterator")


@function("builtins.next")
def _next(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    value = arguments[0]
    if isinstance(value, Stream):
        try:
            item = advance(machine, value)
        except Unclear as unclear:
            machine.may_raise(str(unclear))
            return machine.unknown(str(unclear))
        if item is not None:
            return item
        if len(arguments) > 1:
            return arguments[1]
        machine.fail("StopIteration", "")
    if isinstance(value, Instance):
        return machine.call(machine.get(value, "__next__"), [])
    if isinstance(value, (Const, Seq, Map, SetValue)):
        cls = machine.class_of(value)
        machine.fail("TypeError", f"'{cls.name if cls is not None else 'object'}' object is not an iterator")
    machine.may_raise("the next value is not known")
    return machine.unknown(value.reason if isinstance(value, Unknown) else "the next value is not known")


def _stream(machine: Machine, source: Iterator[Value], kind: str) -> Value:
    return Stream(source, machine.state.fresh(), kind)


@function("builtins.enumerate")
def _enumerate(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    start = keywords.get("start", arguments[1] if len(arguments) > 1 else Const(0))

    def values() -> Iterator[Value]:
        first = start.value if isinstance(start, Const) else None
        for index, item in enumerate(machine.iterate(arguments[0])):
            place = number(machine, first + index) if first is not None else machine.unknown("an index")
            yield machine.tuple([place, item])

    return _stream(machine, values(), "enumerate")


@function("builtins.zip")
def _zip(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    strict = keywords.get("strict")

    def values() -> Iterator[Value]:
        iterators = [machine.iterate(argument) for argument in arguments]
        while iterators:
            row: list[Value] = []
            for index, iterator in enumerate(iterators):
                item = next(iterator, None)
                if item is None:
                    if (
                        isinstance(strict, Const)
                        and strict.value
                        and (index > 0 or any(next(other, None) is not None for other in iterators[1:]))
                    ):
                        longer = "shorter" if index > 0 else "longer"
                        machine.fail("ValueError", f"zip() argument {max(index, 1) + 1} is {longer} than argument 1")
                    return
                row.append(item)
            yield machine.tuple(row)

    return _stream(machine, values(), "zip")


@function("builtins.map")
def _map(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    def values() -> Iterator[Value]:
        iterators = [machine.iterate(argument) for argument in arguments[1:]]
        while True:
            row = []
            for iterator in iterators:
                item = next(iterator, None)
                if item is None:
                    return
                row.append(item)
            yield machine.call(arguments[0], row)

    return _stream(machine, values(), "map")


@function("builtins.filter")
def _filter(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    def values() -> Iterator[Value]:
        for item in machine.iterate(arguments[1]):
            test = arguments[0]
            answer = machine.truth(item if isinstance(test, Const) else machine.call(test, [item]))
            if answer is Truth.MAYBE:
                raise Unclear("a condition of filter() is not known")
            if answer is Truth.YES:
                yield item

    return _stream(machine, values(), "filter")


@function("builtins.reversed")
def _reversed(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    def values() -> Iterator[Value]:
        items = machine.items(arguments[0])
        if items is None:
            raise Unclear("what is reversed is not known")
        yield from reversed(items)

    return _stream(machine, values(), "reversed")


@function("builtins.sorted")
def _sorted(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    if isinstance(arguments[0], Const) and not isinstance(arguments[0].value, (str, bytes, range)):
        machine.fail("TypeError", f"'{type(arguments[0].value).__name__}' object is not iterable")
    made = containers.sort(machine, arguments[0], keywords)
    result = machine.list(made or [])
    if made is None:
        result.loose = "the order after sorting is not known"
    return result


def _quantified(stops_on: Truth) -> Implementation:
    def run(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
        unsure: Value | None = None
        try:
            for item in machine.iterate(arguments[0]):
                answer = machine.truth(item)
                if answer is stops_on:
                    return boolean(stops_on is Truth.YES) if unsure is None else _resolved(machine, unsure, stops_on)
                if answer is Truth.MAYBE and unsure is None:
                    unsure = item
                    if isinstance(arguments[0], Stream):
                        # whether the rest of a generator runs at all is not known
                        break
        except Unclear as unclear:
            machine.may_raise(str(unclear))
            return machine.unknown(str(unclear), cls=machine.natives.bool)
        if unsure is not None:
            if isinstance(arguments[0], Stream):
                arguments[0].loose = "whether all of an iterator was used is not known"
            return machine.unknown(
                unsure.reason if isinstance(unsure, Unknown) else "a condition that is not known",
                cls=machine.natives.bool,
            )
        return boolean(stops_on is Truth.NO)

    return run


def _resolved(machine: Machine, unsure: Value, stops_on: Truth) -> Value:
    """An earlier item that is not known may have ended it, with the same answer."""
    return boolean(stops_on is Truth.YES)


function("builtins.any")(_quantified(Truth.YES))
function("builtins.all")(_quantified(Truth.NO))


@function("builtins.sum", "math.fsum")
def _sum(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    import ast

    items = machine.items(arguments[0])
    if items is None:
        machine.may_raise("a sum of values that are not known")
        return machine.unknown("a sum of values that are not known")
    total = keywords.get("start", arguments[1] if len(arguments) > 1 else Const(0))
    for item in items:
        total = arithmetic.binary(machine, ast.Add(), total, item)
    return total


def _extreme(name: str, host: Callable[..., Any]) -> Implementation:
    def run(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
        many = next((value for value in arguments if isinstance(value, OneOf)), None) if len(arguments) > 1 else None
        if many is not None:
            return fork(
                machine,
                [
                    lambda option=option: run(
                        machine, [option if value is many else value for value in arguments], keywords
                    )
                    for option in many.options
                ],
                "one of several values",
            )
        items = machine.items(arguments[0]) if len(arguments) == 1 else arguments
        if items is None:
            if isinstance(arguments[0], Const):
                machine.fail("TypeError", f"'{type(arguments[0].value).__name__}' object is not iterable")
            machine.may_raise(f"{name} of values that are not known")
            return machine.unknown(f"{name} of values that are not known")
        if not items:
            if "default" in keywords:
                return keywords["default"]
            machine.fail("ValueError", f"{name}() iterable argument is empty")
        key = keywords.get("key")
        try:
            keys = [machine.host(machine.call(key, [item]) if key is not None else item) for item in items]
            chosen = keys.index(host(keys))
        except NotConcrete:
            machine.may_raise(f"{name} of values that are not known")
            unknown = next((item for item in items if isinstance(item, Unknown)), None)
            return machine.unknown(unknown.reason if unknown is not None else f"{name} of values that are not known")
        except TypeError as error:
            machine.fail("TypeError", str(error))
        return items[chosen]

    return run


function("builtins.min")(_extreme("min", min))
function("builtins.max")(_extreme("max", max))


# --- namespaces and classes ---


@function("builtins.vars")
def _vars(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    if not arguments:
        return machine.unknown("the names of a frame")
    return machine.get(arguments[0], "__dict__")


@function("builtins.dir")
def _dir(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    return machine.unknown("the names of an object")


@function("builtins.globals", "builtins.locals")
def _globals(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    return machine.unknown("the names of a module")


@function("builtins.super")
def _super(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    from preflight.walk.expressions import make_super

    if len(arguments) == 2 and isinstance(arguments[0], Class):
        return make_super(machine, arguments[0], arguments[1])
    return machine.unknown("what super() is bound to is not known")


def object_new(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    """``object.__new__(cls)``."""
    cls = arguments[0]
    if isinstance(cls, Class):
        return classes.allocate(machine, cls, arguments[1:], keywords)
    return machine.unknown("an instance of a class that is not known")


def object_init(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    """``object.__init__`` and that of exceptions."""
    receiver = arguments[0]
    if isinstance(receiver, Instance):
        if classes.is_exception(machine, receiver.cls):
            machine.state.touch(receiver)
            receiver.content["args"] = machine.tuple(arguments[1:])
        elif receiver.payload is not None and isinstance(receiver.payload, Map):
            containers.DICT["update"](machine, receiver.payload, arguments[1:], keywords)
        elif len(arguments) > 1 or keywords:
            own = classes.lookup(receiver.cls, "__new__").value
            plain = all(base.native in (None, object) for base in receiver.cls.mro)
            if own is None and receiver.payload is None and plain and not receiver.cls.gap():
                machine.fail("TypeError", "object.__init__() takes exactly one argument (the instance to initialize)")
    return NONE


def type_call(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    """``type.__call__(cls, ...)``."""
    cls = arguments[0]
    if isinstance(cls, Class):
        return classes.construct(machine, cls, arguments[1:], keywords)
    return machine.unknown("an instance of a class that is not known")


def _raw_set(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    receiver, name, value = arguments
    if isinstance(receiver, Instance) and isinstance(name, Const):
        attributes.assign_plain(machine, receiver, name.value, value)
    elif isinstance(receiver, Instance):
        machine.loosen(receiver, "which attribute was set is not known", clear=True)
    elif isinstance(receiver, Class) and isinstance(name, Const):
        machine.state.touch(receiver)
        receiver.content[name.value] = value
    return NONE


def _raw_get(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    receiver, name = arguments
    if isinstance(receiver, Instance) and isinstance(name, Const):
        found = attributes.plain(machine, receiver, name.value)
        if found is None:
            machine.fail(
                "AttributeError", attributes.absent(machine, receiver, name.value), missing=(receiver, name.value)
            )
        if isinstance(found, Perhaps):
            machine.may_raise(f"the attribute {name.value} may be missing")
            return found.value
        return found
    if isinstance(name, Const):
        return machine.get(receiver, name.value)
    return machine.unknown("which attribute is read is not known")


def _raw_delete(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    receiver, name = arguments
    if isinstance(receiver, Instance) and isinstance(name, Const) and name.value in receiver.content:
        machine.state.touch(receiver)
        del receiver.content[name.value]
    return NONE


def _same(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    return TRUE if arguments[0] is arguments[1] else Const(NotImplemented)


_OBJECT: dict[str, Implementation] = {
    "__init__": object_init,
    "__setattr__": _raw_set,
    "__getattribute__": _raw_get,
    "__delattr__": _raw_delete,
    "__repr__": lambda machine, arguments, keywords: _repr(machine, arguments, keywords),
    "__str__": lambda machine, arguments, keywords: _repr(machine, arguments, keywords),
    "__hash__": _id,
    "__eq__": _same,
    "__init_subclass__": _nothing,
}
#: methods of ``object`` that exist but whose result is not modelled
_PRESENT = (
    "__ne__",
    "__reduce__",
    "__reduce_ex__",
    "__sizeof__",
    "__format__",
    "__dir__",
    "__lt__",
    "__le__",
    "__gt__",
    "__ge__",
    "__subclasshook__",
    "__getstate__",
)


def object_method(name: str) -> Builtin | None:
    """A method that every object has."""
    run = _OBJECT.get(name)
    if run is not None:
        return Builtin(f"object.{name}", run)
    if name in _PRESENT:
        return Builtin(f"object.{name}", lambda machine, arguments, keywords: machine.unknown(f"the result of {name}"))
    return None


def class_attribute(machine: Machine, cls: Class, name: str) -> Value | None:
    """What every class has, and what a built-in class has."""
    if name in ("__name__", "__qualname__"):
        return Const(cls.name if name == "__name__" else cls.qualname)
    if name == "__module__":
        return Const(cls.module)
    if name == "__mro__":
        return machine.tuple(list(cls.mro))
    if name == "__bases__":
        return machine.tuple(list(cls.bases))
    if name == "__base__":
        return cls.bases[0] if cls.bases else NONE
    if name == "__class__":
        return cls.metaclass if cls.metaclass is not None else machine.natives.type
    if name == "__doc__":
        return machine.unknown("a docstring")
    if name == "__annotations__":
        from preflight.walk.library import forms

        return forms.annotations(machine, cls)
    if name == "mro":
        return Builtin("type.mro", lambda machine, arguments, keywords: machine.list(list(cls.mro)))
    if name == "__members__" and "members" in cls.notes:
        return machine.strings(dict(cls.notes["members"]))
    if name == "__subclasses__":
        return Builtin(name, lambda machine, arguments, keywords: machine.unknown("the subclasses of a class"))
    if name == "__call__":
        return Bound(Builtin("type.__call__", type_call), cls)
    if name == "__new__":
        return Builtin("object.__new__", object_new)
    native = next((base.native for base in cls.mro if base.native is not None), object)
    if native is not object:
        table = containers.unbound(native, name)
        if table is not None:
            return table
        host = getattr(native, name, None)
        if callable(host) and native in (str, int, float, bytes, dict, complex):
            if name == "fromkeys":
                return Builtin("dict.fromkeys", _from_keys)
            return Builtin(f"{native.__name__}.{name}", pure(f"{native.__name__}.{name}", host))
        if name == "__init__":
            return Builtin("object.__init__", object_init)
        if host is not None and not hasattr(object, name):
            return machine.unknown(f"{native.__name__}.{name}")
    return object_method(name)


def _from_keys(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    items = machine.items(arguments[0])
    value = arguments[1] if len(arguments) > 1 else NONE
    if items is None:
        made = machine.dict([])
        made.loose = "the keys are not known"
        return made
    return machine.dict([(item, value) for item in items])


def callable_attribute(machine: Machine, value: Function | Bound | Builtin, name: str) -> Value | None:
    """What functions have."""
    if isinstance(value, Builtin) and name in value.attributes:
        return value.attributes[name]
    if name in ("__name__", "__qualname__"):
        if isinstance(value, Bound):
            return machine.find(value.function, name)
        return Const(value.name.rpartition(".")[2] if name == "__name__" else getattr(value, "qualname", value.name))
    if name == "__module__":
        return Const(value.module) if isinstance(value, Function) else NONE
    if name == "__class__":
        return machine.class_of(value)
    if name == "__call__":
        return value
    if name == "__doc__":
        if isinstance(value, Function):
            import ast

            return (
                machine.value(ast.get_docstring(value.node, clean=False))
                if not isinstance(value.node, ast.Lambda)
                else NONE
            )
        return machine.unknown("a docstring")
    if name == "__dict__" and isinstance(value, Function):
        return machine.strings(dict(value.content))
    if name == "__get__":
        return Builtin("function.__get__", lambda machine, arguments, keywords: Bound(value, arguments[0]))
    if name in (
        "__code__",
        "__defaults__",
        "__kwdefaults__",
        "__globals__",
        "__closure__",
        "__annotations__",
        "__signature__",
        "__type_params__",
    ):
        return machine.unknown(f"{name} of a function")
    if isinstance(value, Builtin):
        return Perhaps(machine.unknown(f"an attribute of {value.name}"))
    return None


# --- constructors ---


def construct(machine: Machine, cls: Class, arguments: Arguments, keywords: Keywords) -> Value:
    """A built-in class called."""
    native = cls.native
    assert native is not None
    if (
        any(isinstance(argument, OneOf) for argument in arguments[:1])
        and native not in (list, tuple, set, dict)
        and native is not type
    ):
        options = arguments[0]
        assert isinstance(options, OneOf)
        return fork(
            machine,
            [
                lambda option=option: construct(machine, cls, [option, *arguments[1:]], keywords)
                for option in options.options
            ],
            "one of several arguments",
        )
    made = _CONSTRUCTORS.get(native)
    if made is not None:
        return made(machine, arguments, keywords)
    if issubclass(native, BaseException):
        error = machine.instance(cls)
        error.content["args"] = machine.tuple(list(arguments))
        for name, value in keywords.items():
            error.content[name] = value
        return error
    if native is object:
        return machine.instance(cls)
    try:
        hosts = [machine.host(argument) for argument in arguments]
        named = {name: machine.host(value) for name, value in keywords.items()}
    except NotConcrete:
        machine.may_raise(f"{cls.name} of values that are not known")
        return machine.unknown(f"{cls.name} of values that are not known", cls=cls)
    try:
        return Const(native(*hosts, **named), combined(*arguments))
    except Exception as error:
        return fail_as(machine, error)


def _type(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    value = arguments[0]
    if len(arguments) == 3:
        bases = machine.items(arguments[1])
        if isinstance(value, Const) and bases is not None and isinstance(arguments[2], Map):
            cls = classes.make(machine, value.value, bases, machine.frame.module.name)
            for key, entry in arguments[2].content.values():
                if isinstance(key, Const):
                    cls.content[key.value] = entry
            if arguments[2].loose:
                cls.complete = arguments[2].loose
            classes.finish(machine, cls, {})
            return cls
        return machine.unknown("a class made at run time")
    if isinstance(value, OneOf):
        return fork(
            machine,
            [lambda option=option: _type(machine, [option], {}) for option in value.options],
            "one of several classes",
        )
    cls = machine.class_of(value)
    if cls is None or (isinstance(value, Unknown) and cls.native not in (str, int, float, bool, bytes)):
        return machine.unknown(value.reason if isinstance(value, Unknown) else "the class of an object of a library")
    return cls


def _str(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    if not arguments:
        return Const("")
    made = texts.text(machine, arguments[0])
    if made is not None:
        return Const(made)
    unknown = machine.unknown(
        arguments[0].reason if isinstance(arguments[0], Unknown) else "a text that is not known",
        cls=machine.natives.str,
    )
    unknown.text = texts.shown(machine, arguments[0])
    return unknown


def _bool(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    return _truth_value(machine, machine.truth(arguments[0]), arguments[0]) if arguments else FALSE


def _number(native: type) -> Implementation:
    def run(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
        if not arguments:
            return Const(native())
        value = operands.payload(arguments[0])
        if isinstance(value, Instance):
            for name in (f"__{native.__name__}__", "__index__"):
                found = classes.lookup(value.cls, name)
                if found.value is not None and found.sure:
                    return machine.call(found.value, [value])
        if isinstance(value, Unknown):
            machine.may_raise(value.reason)
            return machine.unknown(value.reason, cls=machine.natives.of(native))
        plain = isinstance(value, Instance) and not value.cls.gap() and not value.loose
        if plain or isinstance(value, (Seq, Map, SetValue, Function, Class)):
            cls = machine.class_of(value)
            machine.fail(
                "TypeError",
                f"{native.__name__}() argument must be a string or a real number, "
                f"not '{cls.name if cls is not None else 'object'}'",
            )
        made = pure(native.__name__, native)(machine, [value, *arguments[1:]], keywords)
        if isinstance(made, Unknown):
            made.cls = machine.natives.of(native)
        return made

    return run


def _sequence(kind: type) -> Implementation:
    def run(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
        cls = machine.natives.of(kind)
        if not arguments:
            return Seq(cls, [], machine.state.fresh())
        items = machine.items(arguments[0])
        made = Seq(cls, items or [], machine.state.fresh())
        if items is None:
            made.loose = arguments[0].reason if isinstance(arguments[0], Unknown) else "the items are not known"
            machine.may_raise(made.loose)
            if kind is tuple:
                return machine.unknown(made.loose)
        return made

    return run


def _set_of(kind: type) -> Implementation:
    def run(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
        cls = machine.natives.of(kind)
        if not arguments:
            return machine.set([], cls)
        items = machine.items(arguments[0])
        made = machine.set(items or [], cls)
        if items is None and isinstance(made, Store):
            made.loose = arguments[0].reason if isinstance(arguments[0], Unknown) else "the elements are not known"
            machine.may_raise(made.loose)
        return made

    return run


def _dict(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    made = machine.dict([])
    containers.DICT["update"](machine, made, arguments, keywords)
    return made


def _object(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    return machine.instance(machine.natives.object)


def _descriptor(kind: str) -> Implementation:
    def run(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
        names = ["fget", "fset", "fdel"]
        given = {**dict(zip(names, arguments, strict=False)), **keywords}
        setter, deleter = given.get("fset"), given.get("fdel")
        return Descriptor(kind, given.get("fget", NONE), setter, deleter)

    return run


_CONSTRUCTORS: dict[type, Implementation] = {
    type: _type,
    str: _str,
    bool: _bool,
    int: _number(int),
    float: _number(float),
    list: _sequence(list),
    tuple: _sequence(tuple),
    set: _set_of(set),
    frozenset: _set_of(frozenset),
    dict: _dict,
    object: _object,
    property: _descriptor("property"),
    classmethod: _descriptor("classmethod"),
    staticmethod: _descriptor("staticmethod"),
    enumerate: _enumerate,
    zip: _zip,
    map: _map,
    filter: _filter,
    reversed: _reversed,
    super: _super,
}


def constructor(native: type) -> Callable[[Implementation], Implementation]:
    """Registers what a built-in class does when it is called."""

    def register(run: Implementation) -> Implementation:
        _CONSTRUCTORS[native] = run
        return run

    return register
