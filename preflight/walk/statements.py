"""Statements: a block ends in an outcome; a condition that is not known takes both arms."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from preflight.walk import arithmetic, assigning, classes, subscripts, texts, tries
from preflight.walk.branching import condition, execute_if, leave_open, narrowed
from preflight.walk.loops import execute_for, execute_while
from preflight.walk.naming import store, store_name, why
from preflight.walk.outcomes import (
    BREAK,
    CONTINUE,
    NEXT,
    Outcome,
    Raise,
    Raised,
    Return,
    run_arm,
    settle,
)
from preflight.walk.straight import is_open, past_faults
from preflight.walk.truth import Truth
from preflight.walk.values import NONE, Class, Const, Function, Instance, OneOf, Perhaps, Unknown, Value

if TYPE_CHECKING:
    from preflight.walk.machine import Machine


def execute(machine: Machine, body: list[ast.stmt]) -> Outcome:
    """Walk a block."""
    frame = machine.frame
    for statement in body:
        machine.step()
        frame.node = statement
        handler = HANDLERS.get(type(statement))
        if handler is None:
            machine.doubt("walk-statement", f"{type(statement).__name__} is not modelled")
            continue
        if frame.open and is_open(machine):
            outcome = past_faults(machine, partial(_from, machine, statement, handler))
        else:
            outcome = handler(machine, statement)
        if outcome is not NEXT:
            return outcome
    return NEXT


def _from(machine: Machine, statement: ast.stmt, handler: Callable[[Machine, Any], Outcome]) -> Outcome:
    machine.frame.node = statement  # a walk of it before has left it elsewhere
    return handler(machine, statement)


# --- simple statements ---


def _expression(machine: Machine, node: ast.Expr) -> Outcome:
    if not isinstance(node.value, ast.Constant):
        machine.evaluate(node.value)
    return NEXT


def _assign(machine: Machine, node: ast.Assign) -> Outcome:
    value = machine.evaluate(node.value)
    for target in node.targets:
        store(machine, target, value)
    return NEXT


def _annotated(machine: Machine, node: ast.AnnAssign) -> Outcome:
    if node.value is not None:
        store(machine, node.target, machine.evaluate(node.value))
    return NEXT


def _augmented(machine: Machine, node: ast.AugAssign) -> Outcome:
    target = node.target
    if isinstance(target, ast.Name):
        current = machine.evaluate(ast.copy_location(ast.Name(target.id, ast.Load()), target))
        operand = machine.evaluate(node.value)
        machine.frame.node = node
        store(machine, target, arithmetic.in_place(machine, node.op, current, operand))
    elif isinstance(target, ast.Attribute):
        owner = machine.evaluate(target.value)
        machine.frame.node = target
        current = machine.get(owner, target.attr)
        operand = machine.evaluate(node.value)
        machine.frame.node = node
        assigning.assign(machine, owner, target.attr, arithmetic.in_place(machine, node.op, current, operand))
    else:
        owner = machine.evaluate(target.value)
        key = machine.evaluate(target.slice)
        machine.frame.node = target
        current = subscripts.get_item(machine, owner, key)
        operand = machine.evaluate(node.value)
        machine.frame.node = node
        subscripts.set_item(machine, owner, key, arithmetic.in_place(machine, node.op, current, operand))
    return NEXT


def _return(machine: Machine, node: ast.Return) -> Outcome:
    return Return(machine.evaluate(node.value) if node.value is not None else NONE)


def _pass(machine: Machine, node: ast.stmt) -> Outcome:
    return NEXT


def _delete(machine: Machine, node: ast.Delete) -> Outcome:
    for target in node.targets:
        if isinstance(target, ast.Name):
            _delete_name(machine, target)
        elif isinstance(target, ast.Attribute):
            assigning.delete(machine, machine.evaluate(target.value), target.attr)
        elif isinstance(target, ast.Subscript):
            owner = machine.evaluate(target.value)
            subscripts.delete_item(machine, owner, machine.evaluate(target.slice))
    return NEXT


def _delete_name(machine: Machine, target: ast.Name) -> None:
    frame = machine.frame
    if frame.kind == "module" or target.id not in frame.scope.bound:
        return
    machine.frame.node = target
    found = frame.content.get(target.id)
    if found is None:
        if not frame.loose:
            machine.fail(
                "UnboundLocalError",
                f"cannot access local variable '{target.id}' where it is not associated with a value",
            )
        return
    if isinstance(found, Perhaps):
        machine.may_raise(f"{target.id} may not be bound")
    machine.state.touch(frame)
    del frame.content[target.id]


def _assert(machine: Machine, node: ast.Assert) -> Outcome:
    value = machine.evaluate(node.test)
    truth = machine.truth(value)
    machine.frame.node = node
    if truth is Truth.YES or machine.is_past("raise"):
        return NEXT

    def fails() -> Outcome:
        # the traceback names the line of the test, not that of the message
        message = machine.evaluate(node.msg) if node.msg is not None else None
        machine.frame.node = node
        error = machine.instance(machine.natives.exception("AssertionError"))
        error.content["args"] = machine.tuple([message] if message is not None else [])
        text = texts.shown(machine, message) if message is not None else None
        machine.frame.conditions.append(condition(machine, node.test, False))
        try:
            raise Raised((machine.exit(error, text),))
        finally:
            machine.frame.conditions.pop()

    if truth is Truth.NO:
        return fails()
    arms = run_arm(machine, fails)
    arms += run_arm(machine, lambda: narrowed(machine, node.test, True, lambda: NEXT))
    leave_open(machine, value, arms)
    return settle(machine, arms, why(machine, node))


def _raise(machine: Machine, node: ast.Raise) -> Outcome:
    frame = machine.frame
    if machine.is_past("raise"):
        frame.past = True
        return NEXT
    if node.exc is None:
        caught = next((scope.caught[-1] for scope in reversed(machine.frames) if scope.caught), None)
        if caught is None:
            machine.fail("RuntimeError", "No active exception to reraise")
        error = caught
    else:
        error = machine.evaluate(node.exc)
        if isinstance(error, Class):
            error = machine.call(error, [])
        if node.cause is not None:
            machine.evaluate(node.cause)
    frame.node = node
    if isinstance(error, OneOf):
        raise Raised(tuple(exit for option in error.options for exit in _exits(machine, option, node)))
    raise Raised(_exits(machine, error, node))


def _exits(machine: Machine, error: Value, node: ast.Raise) -> tuple:
    if isinstance(error, Class):
        error = machine.call(error, [])
        machine.frame.node = node
    if isinstance(error, Instance) and classes.is_exception(machine, error.cls):
        exit = machine.exit(error, texts.shown(machine, error))
        earlier = error.content.get("__preflight_exit__")
        if isinstance(earlier, Const):
            return (earlier.value,)
        return (exit,)
    if isinstance(error, Unknown):
        return (machine.exit(error, None),)
    if isinstance(error, Instance) and error.cls.gap():
        return (machine.exit(machine.unknown("the class of the exception is not known"), None),)
    machine.fail("TypeError", "exceptions must derive from BaseException")
    return ()


def _function(machine: Machine, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Outcome:
    decorators = [machine.evaluate(decorator) for decorator in node.decorator_list]
    value: Value = make_function(machine, node, node.name)
    for decorator in reversed(decorators):
        value = machine.call(decorator, [value])
    store_name(machine, node.name, value)
    return NEXT


def make_function(machine: Machine, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, name: str) -> Function:
    """The function a ``def`` or ``lambda`` makes here."""
    frame = machine.frame
    made = Function(node, frame, name, machine.state.fresh())
    made.defaults = [machine.evaluate(default) for default in node.args.defaults]
    for parameter, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
        if default is not None:
            made.kwdefaults[parameter.arg] = machine.evaluate(default)
    if frame.kind == "class":
        made.owner = frame.owner
        assert frame.owner is not None
        made.qualname = f"{frame.owner.qualname}.{name}"
        if name in ("__new__",):
            made.content["__static__"] = Const(True)
    elif frame.function is not None:
        made.owner = frame.owner
        made.qualname = f"{frame.function.qualname}.<locals>.{name}"
    return made


def _class(machine: Machine, node: ast.ClassDef) -> Outcome:
    store_name(machine, node.name, classes.define(machine, node))
    return NEXT


def _import(machine: Machine, node: ast.Import) -> Outcome:
    for alias in node.names:
        module = machine.modules.import_module(machine, alias.name)
        if alias.asname:
            store_name(machine, alias.asname, module)
        else:
            root = alias.name.split(".")[0]
            store_name(machine, root, module if root == alias.name else machine.modules.import_module(machine, root))
    return NEXT


def _import_from(machine: Machine, node: ast.ImportFrom) -> Outcome:
    for alias in node.names:
        if alias.name == "*":
            machine.modules.import_star(machine, node)
        else:
            store_name(machine, alias.asname or alias.name, machine.modules.import_name(machine, node, alias.name))
    return NEXT


# --- with ---


def enter(machine: Machine, manager: Value) -> Value:
    """``manager.__enter__()``."""
    if isinstance(manager, (Instance, OneOf)):
        return machine.call(machine.get(manager, "__enter__"), [])
    return machine.library.enter(machine, manager)


def leave(machine: Machine, manager: Value, details: list[Value]) -> Value:
    """``manager.__exit__(...)``: true when it swallows the exception."""
    if isinstance(manager, (Instance, OneOf)):
        return machine.call(machine.get(manager, "__exit__"), details)
    return machine.library.leave(machine, manager, details)


def _with(machine: Machine, node: ast.With | ast.AsyncWith) -> Outcome:
    if isinstance(node, ast.AsyncWith):
        machine.doubt("walk-statement", "async with is not modelled")
        return NEXT
    return _with_items(machine, node, node.items)


def _with_items(machine: Machine, node: ast.With, items: list[ast.withitem]) -> Outcome:
    if not items:
        return machine.execute(node.body)
    item = items[0]
    manager = machine.evaluate(item.context_expr)
    machine.frame.node = item.context_expr
    entered = enter(machine, manager)
    if item.optional_vars is not None:
        store(machine, item.optional_vars, entered)

    def left(exits: tuple | None) -> Outcome:
        if exits is None:
            leave(machine, manager, [NONE, NONE, NONE])
            return NEXT
        error = exits[0].error if len(exits) == 1 else machine.unknown("one of several exceptions")
        kind = (
            exits[0].cls
            if len(exits) == 1 and exits[0].cls is not None
            else machine.unknown("the class of the exception")
        )
        swallowed = machine.truth(leave(machine, manager, [kind, error, machine.unknown("a traceback")]))
        if swallowed is Truth.YES:
            return NEXT
        if swallowed is Truth.NO:
            raise Raised(exits)
        arms = [*run_arm(machine, lambda: NEXT), *run_arm(machine, lambda: Raise(exits))]
        return settle(machine, arms, why(machine, node))

    stops = tries.may_swallow(machine, manager)
    return tries.guarded(machine, node, lambda: _with_items(machine, node, items[1:]), left, stops=stops)


def _try(machine: Machine, node: ast.Try) -> Outcome:
    return tries.execute_try(machine, node)


def _global(machine: Machine, node: ast.stmt) -> Outcome:
    return NEXT


def _match(machine: Machine, node: ast.Match) -> Outcome:
    from preflight.walk import matching

    return matching.execute_match(machine, node)


HANDLERS: dict[type, Callable] = {
    ast.Expr: _expression,
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Return: _return,
    ast.Pass: _pass,
    ast.Delete: _delete,
    ast.Assert: _assert,
    ast.Raise: _raise,
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.ClassDef: _class,
    ast.Import: _import,
    ast.ImportFrom: _import_from,
    ast.If: execute_if,
    ast.For: execute_for,
    ast.While: execute_while,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Try: _try,
    ast.Match: _match,
    ast.Global: _global,
    ast.Nonlocal: _global,
    ast.Break: lambda machine, node: BREAK,
    ast.Continue: lambda machine, node: CONTINUE,
}
