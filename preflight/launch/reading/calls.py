"""Calls: of functions and classes of the tree, of plain Python functions, and of what cannot be read."""

from __future__ import annotations

import ast
import types
from collections import defaultdict, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from preflight.errors import PreflightError
from preflight.launch.reading import classes
from preflight.launch.reading.doubt import join_values
from preflight.launch.reading.modules import Module
from preflight.launch.reading.values import (
    Bound,
    Class,
    External,
    Function,
    Hint,
    Instance,
    Native,
    NativeBase,
    NotKnown,
    Object,
    Raised,
    Scope,
    Unknown,
    Wrapped,
    describe,
)
from preflight.program.syntax_nodes import has_yield

if TYPE_CHECKING:
    from preflight.launch.reading.run import Run

#: Methods that change what they belong to.
_CHANGING = frozenset(
    [
        "append",
        "extend",
        "insert",
        "remove",
        "pop",
        "popitem",
        "clear",
        "update",
        "setdefault",
        "add",
        "discard",
        "sort",
        "reverse",
        "appendleft",
        "popleft",
        "difference_update",
        "intersection_update",
        "symmetric_difference_update",
        "__setitem__",
        "__delitem__",
    ]
)
#: Functions and methods that go through what they are given: the class of an enumeration is its members to them.
_ITERATING = frozenset(
    [
        "list",
        "tuple",
        "set",
        "frozenset",
        "sorted",
        "any",
        "all",
        "enumerate",
        "zip",
        "map",
        "filter",
        "iter",
        "len",
        "min",
        "max",
        "sum",
        "reversed",
        "chain",
        "extend",
        "update",
        "join",
        "fromkeys",
        "union",
        "intersection",
        "difference",
    ]
)
_CONTAINERS = (list, dict, set, deque)
_PLAIN = (str, bytes, int, float, bool, type(None), complex, range, slice)


def call(
    run: Run,
    callee: Object,
    arguments: list[Object],
    keywords: dict[str, Object],
    node: ast.expr | None = None,
    scope: Scope | None = None,
) -> Object:
    """What ``callee(*arguments, **keywords)`` returns. Raises Raised where the code raises, or NotKnown."""
    run.step()
    if isinstance(callee, Bound):
        return call(run, callee.function, [callee.receiver, *arguments], keywords, node, scope)
    if isinstance(callee, Function) and run.handover is None and "**" not in keywords:
        return _call_function(run, callee, arguments, keywords)
    if isinstance(callee, Wrapped) and callee.kind != "property":
        return call(run, callee.function, arguments, keywords, node, scope)
    if "**" in keywords and not _takes_any_keyword(callee):
        return _unread(run, callee, arguments, keywords, keywords["**"].reason)
    if isinstance(callee, Function):
        if run.handover is not None and any(value is run.handover for value in (*arguments, *keywords.values())):
            run.on_handover(callee)
        return _call_function(run, callee, arguments, keywords)
    if isinstance(callee, Native):
        return native(run, callee.function, [run, *arguments] if callee.wants_run else arguments, keywords, callee.name)
    if isinstance(callee, Class):
        return instantiate(run, callee, arguments, keywords)
    if isinstance(callee, NativeBase):
        maker = callee.methods.get("__new__")
        if maker is not None:
            return call(run, maker, arguments, keywords)
    if isinstance(callee, Hint):
        return call(run, callee.origin, arguments, keywords, node, scope)
    if isinstance(callee, Instance):
        from preflight.launch.reading.attributes import attribute

        if scope is not None:
            return call(run, attribute(run, callee, "__call__", scope, node.lineno if node else 0), arguments, keywords)
    if isinstance(callee, (Unknown, External, Instance, NativeBase, Module)):
        reason = callee.reason if isinstance(callee, Unknown) else f"what {describe(callee)}() returns"
        return _unread(run, callee, arguments, keywords, reason)
    if isinstance(callee, type):
        from preflight.launch.reading.library import CONSTRUCTORS

        if callee in CONSTRUCTORS:
            return native(run, CONSTRUCTORS[callee], [run, *arguments], keywords, callee.__name__)
    return native(run, callee, arguments, keywords)


def _takes_any_keyword(callee: Object) -> bool:
    """True for what can be called with keywords that are not known: they are handed on under the name ``**``."""
    return isinstance(callee, Native) or (isinstance(callee, Function) and callee.node.args.kwarg is not None)


def _unread(run: Run, callee: Object, arguments: list[Object], keywords: dict[str, Object], reason: str) -> Unknown:
    """A call of something that is not read: it may raise, and change what it is given."""
    run.unsure += 1
    if run.on_escape is not None:
        for argument in (*arguments, *keywords.values()):
            run.on_escape(argument, describe(callee) if not isinstance(callee, Unknown) else callee.reason)
    return Unknown(reason)


def native(
    run: Run,
    function: Object,
    arguments: list[Object],
    keywords: dict[str, Object],
    name: str | None = None,
) -> Object:
    """Call a plain Python function. What it raises is the code's own exception, if it was given plain data only."""
    receiver = getattr(function, "__self__", None)
    called = getattr(function, "__name__", "")
    if run.doubt.depth and isinstance(receiver, _CONTAINERS) and called in _CHANGING:
        run.doubt.touch(receiver)
    if called in _ITERATING:
        arguments = [
            tuple(dict.fromkeys(classes.enum_members(run, value).values())) if classes.is_enum(value) else value
            for value in arguments
        ]
    try:
        return function(*arguments, **keywords)
    except (Raised, NotKnown, PreflightError):
        raise
    except RecursionError:
        raise NotKnown(Unknown("a very deep recursion")) from None
    except MemoryError:
        raise NotKnown(Unknown("more memory than there is")) from None
    except Exception as error:
        if run.strict and isinstance(function, types.FunctionType) and function.__module__.startswith("preflight."):
            raise
        if all(_is_plain(value) for value in (receiver, *arguments[:8], *keywords.values())):
            raise Raised(error, "", 0) from None
        label = name or getattr(function, "__name__", "a call")
        raise NotKnown(Unknown(f"what {label} makes of values that are not known")) from None


def _is_plain(value: Object, depth: int = 0) -> bool:
    if isinstance(value, (*_PLAIN, type)):
        return True
    if isinstance(value, (list, tuple, set, frozenset)):
        return depth < 4 and len(value) < 10_000 and all(_is_plain(element, depth + 1) for element in value)
    if isinstance(value, (dict, defaultdict)):
        return depth < 4 and len(value) < 10_000 and all(
            _is_plain(key, depth + 1) and _is_plain(element, depth + 1) for key, element in value.items()
        )  # fmt: skip
    return isinstance(value, (Function, BaseException)) or type(value).__module__ in ("re", "builtins", "json.decoder")


# -- functions ----------------------------------------------------------------------------------------------------


def _call_function(run: Run, function: Function, arguments: list[Object], keywords: dict[str, Object]) -> Object:
    from preflight.launch.reading.expressions import evaluate
    from preflight.launch.reading.run import MAX_DEPTH, Frame
    from preflight.launch.reading.statements import execute_block

    if run.lean:
        from preflight.launch.reading.argparsing import idle_among

        idle = idle_among((*arguments, *keywords.values()))
        if idle is not None:
            return idle  # as most such functions do
    if len(run.frames) >= MAX_DEPTH:
        raise NotKnown(Unknown("calls that are nested very deeply"))
    if isinstance(function.node, ast.AsyncFunctionDef):
        return _unread(run, function, arguments, keywords, f"what the coroutine {function.name} does")
    if run.doubt.depth and sum(frame.function.node is function.node for frame in run.frames) > 1:
        # A recursion that a condition would end which is not known goes on for ever.
        return _unread(run, function, arguments, keywords, f"what {function.name} returns")
    scope = Scope(function.module, function.outer or function.module.scope, function)
    scope.names = bind(run, function, arguments, keywords)
    run.frames.append(Frame(function, function.module.path, function.node.lineno))
    try:
        if isinstance(function.node, ast.Lambda):
            return evaluate(run, function.node.body, scope)
        if _is_generator(run, function.node):
            return _unread(run, function, arguments, keywords, f"what the generator {function.name} yields")
        jump = execute_block(run, function.node.body, scope)
    except Raised:
        if scope.maybe_returns:
            # The only way on from here is the one that returned before.
            return join_values(scope.maybe_returns)
        raise
    finally:
        run.frames.pop()
    returned = jump.value if jump is not None and jump.kind == "return" else None
    return join_values([*scope.maybe_returns, returned]) if scope.maybe_returns else returned


def _is_generator(run: Run, node: ast.AST) -> bool:
    """True for a function that yields. Its module keeps the node, so that its address is its own."""
    known = run.generators.get(id(node))
    if known is None:
        known = run.generators[id(node)] = has_yield(node)
    return known


@dataclass(frozen=True, slots=True)
class Signature:
    """The parameters of a function by their names, in order."""

    positional: tuple[str, ...]
    by_keyword: frozenset[str]
    required: tuple[str, ...]
    variable: str | None
    keywords: str | None


def _signature(run: Run, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> Signature:
    known = run.signatures.get(id(node))
    if known is None:
        parameters = node.args
        positional = tuple(p.arg for p in (*parameters.posonlyargs, *parameters.args))
        only = tuple(p.arg for p in parameters.kwonlyargs)
        known = run.signatures[id(node)] = Signature(
            positional,
            frozenset((*positional[len(parameters.posonlyargs) :], *only)),
            (*positional, *only),
            parameters.vararg.arg if parameters.vararg is not None else None,
            parameters.kwarg.arg if parameters.kwarg is not None else None,
        )
    return known


def bind(run: Run, function: Function, arguments: list[Object], keywords: dict[str, Object]) -> dict[str, Object]:
    """The parameters of a call by name. Raises Raised(TypeError) for a call that Python refuses."""
    signature = _signature(run, function.node)
    positional = signature.positional
    names = dict(zip(positional, arguments, strict=False))
    if signature.variable is not None:
        names[signature.variable] = tuple(arguments[len(positional) :])
    elif len(arguments) > len(positional):
        raise _refused(function, f"takes {len(positional)} positional arguments but {len(arguments)} were given")
    rest: dict[str, Object] = {}
    for name, value in keywords.items():
        if name not in signature.by_keyword:
            rest[name] = value
        elif name in names:
            raise _refused(function, f"got multiple values for argument '{name}'")
        else:
            names[name] = value
    if signature.keywords is not None:
        names[signature.keywords] = rest
    elif rest:
        raise _refused(function, f"got an unexpected keyword argument '{next(iter(rest))}'")
    first_default = len(positional) - len(function.defaults)
    for index, name in enumerate(signature.required):
        if name not in names:
            if first_default <= index < len(positional):
                names[name] = function.defaults[index - first_default]
            elif name in function.keyword_defaults:
                names[name] = function.keyword_defaults[name]
            else:
                raise _refused(function, f"missing the required argument '{name}'")
    return names


def _refused(function: Function, message: str) -> Raised:
    return Raised(TypeError(f"{function.name}() {message}"), function.module.path, function.node.lineno)


# -- instances ----------------------------------------------------------------------------------------------------


def instantiate(run: Run, cls: Class, arguments: list[Object], keywords: dict[str, Object]) -> Object:
    """``cls(*arguments, **keywords)``."""
    if classes.is_enum(cls):
        if len(arguments) != 1 or keywords or cls.node.keywords:
            raise NotKnown(Unknown(f"what {cls.name}() makes"))
        member = classes.enum_by_value(run, cls, arguments[0])
        if member is None:
            try:
                classes.find(run, cls, "_missing_")
            except KeyError:
                error = ValueError(f"{arguments[0]!r} is not a valid {cls.name}")
                raise Raised(error, cls.module.path, cls.node.lineno) from None
            raise NotKnown(Unknown(f"{cls.name}._missing_"))
        return member
    instance = Instance(cls)
    if any(isinstance(base, type) and issubclass(base, BaseException) for base in cls.order):
        instance.names["args"] = tuple(arguments)
    if cls.dataclass is not None and "__init__" not in {
        n.name for n in cls.node.body if isinstance(n, ast.FunctionDef)
    }:
        _fill_dataclass(run, instance, arguments, keywords)
        return instance
    try:
        _, initializer = classes.find(run, cls, "__init__")
    except KeyError:
        if (arguments or keywords) and not any(not isinstance(base, Class) for base in cls.order):
            error = TypeError(f"{cls.name}() takes no arguments")
            raise Raised(error, cls.module.path, cls.node.lineno) from None
        return instance
    except NotKnown as missing:
        _unread(run, cls, arguments, keywords, missing.unknown.reason)
        return Unknown(f"an object of {cls.name}")
    if isinstance(initializer, types.WrapperDescriptorType):
        return instance  # of a built-in type
    call(run, initializer, [instance, *arguments], keywords)
    return instance


def _fill_dataclass(run: Run, instance: Instance, arguments: list[Object], keywords: dict[str, Object]) -> None:
    cls = instance.cls
    fields = [field for field in classes.constructor_fields(run, cls) if field.in_constructor]
    given = dict(zip((field.name for field in fields), arguments, strict=False))
    by_name = {field.name: field for field in fields}
    where = (cls.module.path, cls.node.lineno)
    if len(arguments) > len(fields):
        message = (
            f"{cls.name}.__init__() takes {len(fields) + 1} positional arguments but {len(arguments) + 1} were given"
        )
        raise Raised(TypeError(message), *where)
    for name, value in keywords.items():
        if name not in by_name:
            if classes.is_complete(cls):
                error = TypeError(f"{cls.name}.__init__() got an unexpected keyword argument '{name}'")
                raise Raised(error, *where)
            raise NotKnown(Unknown(f"the fields of {cls.name}"))
        given[name] = value
    for field in fields:
        if field.name in given:
            instance.names[field.name] = given[field.name]
        elif field.required:
            error = TypeError(f"{cls.name}.__init__() missing 1 required positional argument: '{field.name}'")
            raise Raised(error, *where)
