"""Statements of the tree's code. A condition that is not known sends the reading both ways; what the ways leave behind
is joined (see ``doubt``)."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from preflight.launch.reading import classes
from preflight.launch.reading.calls import call, native
from preflight.launch.reading.doubt import Changes, join_values
from preflight.launch.reading.expressions import binary, evaluate, items, make_function, truth
from preflight.launch.reading.modules import Module, import_from, import_module
from preflight.launch.reading.values import (
    Class,
    External,
    Instance,
    NotKnown,
    Object,
    Raised,
    Scope,
    Unknown,
    Wrapped,
)

if TYPE_CHECKING:
    from preflight.launch.reading.run import Run


@dataclass(frozen=True, slots=True)
class Jump:
    """How a statement is left: by return, break or continue; ``maybe`` where it may fall through as well."""

    kind: str
    value: Object = None
    maybe: bool = False


def execute_block(run: Run, body: list[ast.stmt], scope: Scope) -> Jump | None:
    """Run statements in order; returns how they are left, None if they are run through. Raises Raised."""
    for position, statement in enumerate(body):
        jump = execute(run, statement, scope)
        if jump is None:
            continue
        if not jump.maybe:
            return jump
        # The rest may be skipped: it runs as a way of its own, beside the way that jumped.
        return _rest_in_doubt(run, body[position + 1 :], scope) or jump
    return None


def _rest_in_doubt(run: Run, rest: list[ast.stmt], scope: Scope) -> Jump | None:
    return in_doubt(run, scope, [lambda: execute_block(run, rest, scope), lambda: None])


def execute(run: Run, node: ast.stmt, scope: Scope) -> Jump | None:
    """Run one statement. Raises Raised; a statement that cannot be read makes the names that it binds unknown."""
    handler = _HANDLERS.get(type(node))
    if run.frames:
        run.frames[-1].line = node.lineno
    try:
        if handler is None:
            raise NotKnown(Unknown(f"{type(node).__name__} in line {node.lineno} of {scope.module.path}"))
        return handler(run, node, scope)
    except NotKnown as missing:
        forget(run, node, scope, missing.unknown)
        return None
    except Raised as raised:
        if not raised.line:
            raised.path, raised.line = scope.module.path, node.lineno
        raise


def forget(run: Run, node: ast.stmt, scope: Scope, unknown: Unknown) -> None:
    """The names that a statement binds or changes are not known any more."""
    run.unsure += 1
    if run.on_escape is not None:
        for child in ast.walk(node):
            if isinstance(child, ast.Call):
                for argument in (*child.args, child.func):
                    while isinstance(argument, ast.Attribute):
                        argument = argument.value
                    if isinstance(argument, ast.Name) and argument.id in scope.names:
                        run.on_escape(scope.names[argument.id], unknown.reason)
    run.doubt.touch(scope.names)
    for child in ast.walk(node):
        if isinstance(child, ast.Name) and isinstance(child.ctx, (ast.Store, ast.Del)):
            scope.names[child.id] = unknown
    if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
        scope.names[node.name] = unknown


def in_doubt(run: Run, scope: Scope, ways: list[Callable[[], Jump | None]]) -> Jump | None:
    """Run several ways of which one is taken, nobody knows which.

    Returns None if some way falls through; a jump with ``maybe`` if another one breaks or continues. What ways return
    is kept in the scope. A way that raises is not the one that a launch takes; if all do, that is raised.
    """
    going_on: list[Changes] = []
    ended: list[Changes] = []
    jumps: list[Jump] = []
    raised: Raised | None = None
    fell_through = False
    for way in ways:
        run.doubt.enter()
        try:
            jump = way()
        except Raised as error:
            run.doubt.leave()
            raised = error
            continue
        except BaseException:
            run.doubt.leave()
            raise
        changes = run.doubt.leave()
        if jump is None or jump.maybe:
            fell_through = True
            going_on.append(changes)
        if jump is not None:
            jumps.append(jump)
            if not jump.maybe:
                ended.append(changes)
    if not fell_through and not jumps:
        assert raised is not None
        raise raised
    if raised is not None:
        run.unsure += 1  # a ``try`` around it may catch what that way raises
    run.doubt.join(going_on or ended)
    returns = [jump.value for jump in jumps if jump.kind == "return" and not jump.maybe]
    others = [jump for jump in jumps if jump.kind != "return"]
    if not fell_through and not others:
        return Jump("return", join_values(returns))
    scope.maybe_returns.extend(returns)
    if others:
        return Jump(others[0].kind, maybe=fell_through or bool(returns) or len({jump.kind for jump in others}) > 1)
    return None


# -- simple statements ----------------------------------------------------------------------------------------------


def _expression(run: Run, node: ast.Expr, scope: Scope) -> None:
    if not isinstance(node.value, ast.Constant):
        evaluate(run, node.value, scope)


def _assign(run: Run, node: ast.Assign, scope: Scope) -> None:
    value = evaluate(run, node.value, scope)
    for target in node.targets:
        assign(run, target, value, scope)


def _annotated(run: Run, node: ast.AnnAssign, scope: Scope) -> None:
    if node.value is not None:
        assign(run, node.target, evaluate(run, node.value, scope), scope)


def _augmented(run: Run, node: ast.AugAssign, scope: Scope) -> None:
    reading = ast.copy_location(_as_load(node.target), node.target)
    left = evaluate(run, reading, scope)
    right = evaluate(run, node.value, scope)
    if isinstance(node.op, ast.Add) and isinstance(left, list):
        run.doubt.touch(left)
        left.extend(items(run, right))
        return
    if isinstance(node.op, ast.BitOr) and isinstance(left, (set, dict)):
        run.doubt.touch(left)
        native(run, left.update, [right], {})
        return
    try:
        value = binary(run, node.op, left, right)
    except NotKnown as missing:
        value = missing.unknown
    assign(run, node.target, value, scope)


def _as_load(node: ast.expr) -> ast.expr:
    if isinstance(node, ast.Name):
        return ast.Name(node.id, ast.Load())
    if isinstance(node, ast.Attribute):
        return ast.Attribute(node.value, node.attr, ast.Load())
    if isinstance(node, ast.Subscript):
        return ast.Subscript(node.value, node.slice, ast.Load())
    return node


def assign(run: Run, target: ast.expr, value: Object, scope: Scope) -> None:
    """Bind ``target`` to ``value``."""
    if isinstance(target, ast.Name):
        names = scope.names
        if target.id in scope.shared:
            shared = scope.shared[target.id]
            names = scope.module.names if shared is None else shared.names
        run.doubt.touch(names)
        names[target.id] = value
    elif isinstance(target, (ast.Tuple, ast.List)):
        _unpack(run, target, value, scope)
    elif isinstance(target, ast.Attribute):
        set_attribute(run, evaluate(run, target.value, scope), target.attr, value)
    elif isinstance(target, ast.Subscript):
        container = evaluate(run, target.value, scope)
        key = evaluate(run, target.slice, scope)
        if isinstance(container, (list, dict)):
            _set_item(run, container, key, value)
    elif isinstance(target, ast.Starred):
        assign(run, target.value, value, scope)


def _set_item(run: Run, container: list[Object] | dict[Object, Object], key: Object, value: Object) -> None:
    if isinstance(key, Unknown):
        run.unsure += 1
        run.doubt.taint(container)
    else:
        native(run, container.__setitem__, [key, value], {})


def _unpack(run: Run, target: ast.Tuple | ast.List, value: Object, scope: Scope) -> None:
    try:
        values = list(items(run, value))
    except NotKnown as missing:
        run.unsure += 1  # it may be another number of values
        for element in target.elts:
            assign(run, element, missing.unknown, scope)
        return
    starred = next((i for i, element in enumerate(target.elts) if isinstance(element, ast.Starred)), None)
    if starred is not None:
        behind = len(target.elts) - starred - 1
        if len(values) < len(target.elts) - 1:
            raise Raised(ValueError("not enough values to unpack"), scope.module.path, target.lineno)
        middle = values[starred : len(values) - behind]
        values = [*values[:starred], middle, *values[len(values) - behind :]]
    if len(values) != len(target.elts):
        error = ValueError(f"cannot unpack {len(values)} values into {len(target.elts)} names")
        raise Raised(error, scope.module.path, target.lineno)
    for element, part in zip(target.elts, values, strict=True):
        assign(run, element, part, scope)


def set_attribute(run: Run, holder: Object, name: str, value: Object) -> None:
    """``holder.name = value``."""
    if isinstance(holder, (Instance, Class)):
        run.doubt.touch(holder.names)
        holder.names[name] = value
    elif isinstance(holder, Module) or getattr(holder, "stands_in", False):
        names = getattr(holder, "names", None)
        if isinstance(names, dict):
            run.doubt.touch(names)
            names[name] = value


def _delete(run: Run, node: ast.Delete, scope: Scope) -> None:
    for target in node.targets:
        if isinstance(target, ast.Subscript):
            container = evaluate(run, target.value, scope)
            key = evaluate(run, target.slice, scope)
            if isinstance(container, (list, dict)) and isinstance(key, Unknown):
                run.unsure += 1
                run.doubt.taint(container)
            elif isinstance(container, (list, dict)):
                native(run, container.__delitem__, [key], {})
        elif isinstance(target, ast.Name):
            run.doubt.touch(scope.names)
            scope.names.pop(target.id, None)


def _pass(run: Run, node: ast.stmt, scope: Scope) -> None:
    return None


def _return(run: Run, node: ast.Return, scope: Scope) -> Jump:
    return Jump("return", None if node.value is None else evaluate(run, node.value, scope))


def _break(run: Run, node: ast.Break, scope: Scope) -> Jump:
    return Jump("break")


def _continue(run: Run, node: ast.Continue, scope: Scope) -> Jump:
    return Jump("continue")


def _global(run: Run, node: ast.Global, scope: Scope) -> None:
    scope.shared.update(dict.fromkeys(node.names))


def _nonlocal(run: Run, node: ast.Nonlocal, scope: Scope) -> None:
    for name in node.names:
        outer = scope.outer
        while outer is not None and name not in outer.names:
            outer = outer.outer
        if outer is not None:
            scope.shared[name] = outer


def _assert(run: Run, node: ast.Assert, scope: Scope) -> None:
    if not truth(evaluate(run, node.test, scope)):
        message = () if node.msg is None else (evaluate(run, node.msg, scope),)
        raise Raised(AssertionError(*message), scope.module.path, node.lineno, deliberate=True)


def _raise(run: Run, node: ast.Raise, scope: Scope) -> None:
    if node.exc is None:
        if scope.caught:
            raise scope.caught[-1]
        raise Raised(RuntimeError("No active exception to reraise"), scope.module.path, node.lineno)
    error = evaluate(run, node.exc, scope)
    if isinstance(error, Class) or (isinstance(error, type) and issubclass(error, BaseException)):
        error = call(run, error, [], {})
    raise Raised(error, scope.module.path, node.lineno, deliberate=True)


def _import(run: Run, node: ast.Import, scope: Scope) -> None:
    run.doubt.touch(scope.names)
    for alias in node.names:
        module = import_module(run, alias.name)
        if alias.asname is not None:
            scope.names[alias.asname] = module
        else:
            top = alias.name.split(".")[0]
            scope.names[top] = import_module(run, top) if run.modules.get(top) else External(top)


def _import_from(run: Run, node: ast.ImportFrom, scope: Scope) -> None:
    run.doubt.touch(scope.names)
    for alias in node.names:
        if alias.name != "*":
            scope.names[alias.asname or alias.name] = import_from(run, scope.module, node, alias.name)


def _function(run: Run, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope) -> None:
    made: Object = make_function(run, node, node.name, scope)
    for decorator in reversed(node.decorator_list):
        made = _decorated(run, decorator, made, scope)
    run.doubt.touch(scope.names)
    scope.names[node.name] = made


def _decorated(run: Run, decorator: ast.expr, made: Object, scope: Scope) -> Object:
    value = evaluate(run, decorator, scope)
    if isinstance(value, type) and value in (staticmethod, classmethod, property):
        return Wrapped(value.__name__, made.function if isinstance(made, Wrapped) else made)
    try:
        result = call(run, value, [made], {}, decorator, scope)
    except NotKnown as missing:
        result = missing.unknown
    if isinstance(result, Unknown) and isinstance(made, Wrapped):
        return made  # a validator's mark on a class method
    return result


def _class(run: Run, node: ast.ClassDef, scope: Scope) -> None:
    made = classes.make_class(run, node, scope)
    run.doubt.touch(scope.names)
    scope.names[node.name] = made


# -- compound statements --------------------------------------------------------------------------------------------


def _both(run: Run, node: ast.If, scope: Scope) -> Jump | None:
    return in_doubt(
        run, scope, [lambda: execute_block(run, node.body, scope), lambda: execute_block(run, node.orelse, scope)]
    )


def _if(run: Run, node: ast.If, scope: Scope) -> Jump | None:
    while True:
        test = evaluate(run, node.test, scope)
        try:
            holds = truth(test)
        except NotKnown:
            return _both(run, node, scope)
        if holds or len(node.orelse) != 1 or not isinstance(node.orelse[0], ast.If):
            return execute_block(run, node.body if holds else node.orelse, scope)
        node = node.orelse[0]  # an ``elif``: a loop, so that a long chain does not use up Python's stack


def _for(run: Run, node: ast.For, scope: Scope) -> Jump | None:
    try:
        values = items(run, evaluate(run, node.iter, scope))
    except NotKnown as missing:
        unknown = missing.unknown

        def once() -> Jump | None:
            assign(run, node.target, unknown, scope)
            return _as_loop_end(execute_block(run, node.body, scope))

        return in_doubt(run, scope, [once, lambda: None])
    return _rounds(run, node, scope, values)


def _rounds(run: Run, node: ast.For, scope: Scope, values: Object) -> Jump | None:
    while True:
        run.step()
        try:
            value = next(values)
        except StopIteration:
            return execute_block(run, node.orelse, scope)
        except RuntimeError as error:  # the code changes what it iterates over
            raise Raised(error, scope.module.path, node.lineno) from None
        assign(run, node.target, value, scope)
        jump = execute_block(run, node.body, scope)
        if jump is None or (jump.kind == "continue" and not jump.maybe):
            continue
        if not jump.maybe:
            return jump if jump.kind == "return" else None
        if jump.kind == "continue":
            continue
        return in_doubt(run, scope, [lambda: _rounds(run, node, scope, values), lambda: None])


def _as_loop_end(jump: Jump | None) -> Jump | None:
    return jump if jump is not None and jump.kind == "return" else None


def _while(run: Run, node: ast.While, scope: Scope) -> Jump | None:
    while True:
        run.step()
        try:
            if not truth(evaluate(run, node.test, scope)):
                return execute_block(run, node.orelse, scope)
        except NotKnown:
            return in_doubt(run, scope, [lambda: _as_loop_end(execute_block(run, node.body, scope)), lambda: None])
        jump = execute_block(run, node.body, scope)
        if jump is not None and not jump.maybe and jump.kind != "continue":
            return _as_loop_end(jump)
        if jump is not None and jump.maybe and jump.kind == "break":
            return None


def _with(run: Run, node: ast.With, scope: Scope) -> Jump | None:
    for item in node.items:
        manager = evaluate(run, item.context_expr, scope)
        if item.optional_vars is not None:
            entered = manager if getattr(manager, "is_context", False) else Unknown("what a context manager gives")
            assign(run, item.optional_vars, entered, scope)
    return execute_block(run, node.body, scope)


def _try(run: Run, node: ast.Try, scope: Scope) -> Jump | None:
    try:
        jump = _guarded(run, node, scope)
    except Raised:
        ended = execute_block(run, node.finalbody, scope)
        if ended is not None and not ended.maybe:
            return ended
        raise
    ended = execute_block(run, node.finalbody, scope)
    return ended if ended is not None and not ended.maybe else jump


def _guarded(run: Run, node: ast.Try, scope: Scope) -> Jump | None:
    unsure = run.unsure
    try:
        jump = execute_block(run, node.body, scope)
        if jump is None:
            jump = execute_block(run, node.orelse, scope)
    except Raised as raised:
        return _handle(run, node, scope, raised)
    if run.unsure == unsure or not node.handlers:
        return jump
    # Something in the body may raise: the handlers are ways beside the one that went through.
    ways: list[Callable[[], Jump | None]] = [lambda: jump]
    for handler in node.handlers:
        ways.append(lambda handler=handler: _run_handler(run, handler, scope, Unknown("an exception"), None))
    return in_doubt(run, scope, ways)


def _handle(run: Run, node: ast.Try, scope: Scope, raised: Raised) -> Jump | None:
    doubtful: list[ast.ExceptHandler] = []
    for handler in node.handlers:
        try:
            matches = handler.type is None or catches(run, evaluate(run, handler.type, scope), raised.error)
        except NotKnown:
            doubtful.append(handler)
            continue
        if matches:
            if not doubtful:
                return _run_handler(run, handler, scope, raised.error, raised)
            doubtful.append(handler)
            break
    else:
        if not doubtful:
            raise raised
    ways = [lambda handler=handler: _run_handler(run, handler, scope, raised.error, raised) for handler in doubtful]  # type: list[Callable[[], Jump | None]]
    return in_doubt(run, scope, ways)


def _run_handler(
    run: Run,
    handler: ast.ExceptHandler,
    scope: Scope,
    error: Object,
    raised: Raised | None,
) -> Jump | None:
    if handler.name is not None:
        run.doubt.touch(scope.names)
        scope.names[handler.name] = error
    if raised is not None:
        scope.caught.append(raised)
    try:
        return execute_block(run, handler.body, scope)
    finally:
        if raised is not None:
            scope.caught.pop()


def catches(run: Run, kinds: Object, error: Object) -> bool:
    """Whether ``except kinds`` catches ``error``. Raises NotKnown where that is not known."""
    if isinstance(kinds, tuple):
        return any(catches(run, kind, error) for kind in kinds)
    if isinstance(kinds, Unknown):
        raise NotKnown(kinds)
    if isinstance(error, Instance):
        return classes.is_subclass(error.cls, kinds)
    if isinstance(error, BaseException):
        # An exception of a library is none of Python's own, whatever it is called.
        return isinstance(kinds, type) and isinstance(error, kinds)
    raise NotKnown(Unknown("an exception"))


_HANDLERS: dict[type[ast.stmt], Callable[[Run, Object, Scope], Jump | None]] = {
    ast.Expr: _expression,
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Delete: _delete,
    ast.Pass: _pass,
    ast.Return: _return,
    ast.Break: _break,
    ast.Continue: _continue,
    ast.Global: _global,
    ast.Nonlocal: _nonlocal,
    ast.Assert: _assert,
    ast.Raise: _raise,
    ast.Import: _import,
    ast.ImportFrom: _import_from,
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.ClassDef: _class,
    ast.If: _if,
    ast.For: _for,
    ast.While: _while,
    ast.With: _with,
    ast.Try: _try,
}
