"""``contextlib``: managers that are made of generators, and those that swallow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from preflight.walk import classes
from preflight.walk.generators import Unclear, holds_yield
from preflight.walk.iteration import advance
from preflight.walk.library.registry import function, library_class, maker
from preflight.walk.truth import Truth
from preflight.walk.values import (
    FALSE,
    NONE,
    Arguments,
    Builtin,
    Const,
    Function,
    Instance,
    Keywords,
    Stream,
    Value,
)

if TYPE_CHECKING:
    import ast

    from preflight.walk.machine import Machine


@function("contextlib.contextmanager")
def _contextmanager(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    target = arguments[0]

    def make(machine: Machine, given: Arguments, named: Keywords) -> Value:
        stream = machine.call(target, given, named)
        manager = machine.instance(machine.library.external_class(machine, "preflight.ContextManager"))
        manager.content["stream"] = stream
        manager.content["catches"] = Const(_catches(target))
        return manager

    return Builtin(f"contextmanager of {target!r}", make)


@maker("preflight.ContextManager")
def _make_manager(machine: Machine) -> Value:
    cls = library_class("_GeneratorContextManager", machine.natives.object, "contextlib")
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
    made = machine.instance(machine.library.external_class(machine, "preflight.NullContext"))
    made.content["result"] = arguments[0] if arguments else keywords.get("enter_result", NONE)
    return made


@maker("preflight.NullContext")
def _make_null(machine: Machine) -> Value:
    cls = library_class("nullcontext", machine.natives.object, "contextlib")
    cls.content["__enter__"] = Builtin("__enter__", lambda machine, given, named: machine.get(given[0], "result"))
    cls.content["__exit__"] = Builtin("__exit__", lambda machine, given, named: FALSE)
    return cls


@function("contextlib.suppress")
def _suppress(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    made = machine.instance(machine.library.external_class(machine, "preflight.Suppress"))
    made.content["classes"] = machine.tuple(list(arguments))
    return made


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

    cls = library_class("suppress", machine.natives.object, "contextlib")
    cls.content["__enter__"] = Builtin("__enter__", lambda machine, given, named: NONE)
    cls.content["__exit__"] = Builtin("__exit__", leave)
    return cls
