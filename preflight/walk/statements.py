"""Statements: a block ends in an outcome; a condition that is not known takes both arms."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from preflight.walk import arithmetic, attributes, classes, narrowing, operands, subscripts, texts, tries
from preflight.walk.generators import Unclear
from preflight.walk.outcomes import (
    BREAK,
    CONTINUE,
    NEXT,
    Arm,
    Break,
    Condition,
    Continue,
    Outcome,
    Raise,
    Raised,
    Return,
    collect,
    run_arm,
    settle,
)
from preflight.walk.truth import Truth
from preflight.walk.values import NONE, Class, Const, Function, Instance, OneOf, Perhaps, Seq, Store, Unknown, Value

if TYPE_CHECKING:
    from preflight.walk.frames import Frame
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
        outcome = handler(machine, statement)
        if outcome is not NEXT:
            return outcome
    return NEXT


def why(machine: Machine, node: ast.AST) -> str:
    return f"depends on a condition that is not known ({machine.frame.path}:{getattr(node, 'lineno', 0)})"


# --- names ---


def store(machine: Machine, target: ast.expr, value: Value) -> None:
    """``target = value``."""
    if isinstance(target, ast.Name):
        store_name(machine, target.id, value)
    elif isinstance(target, ast.Attribute):
        owner = machine.evaluate(target.value)
        machine.frame.node = target
        attributes.assign(machine, owner, target.attr, value)
    elif isinstance(target, ast.Subscript):
        owner = machine.evaluate(target.value)
        key = machine.evaluate(target.slice)
        machine.frame.node = target
        subscripts.set_item(machine, owner, key, value)
    elif isinstance(target, (ast.Tuple, ast.List)):
        _unpack(machine, target, value)
    elif isinstance(target, ast.Starred):
        store(machine, target.value, value)


def store_name(machine: Machine, name: str, value: Value) -> None:
    """Bind a name where the current scope says."""
    frame = machine.frame
    scope = frame.scope
    if name in scope.globals or frame.kind == "module":
        machine.modules.bind(machine, frame.module, name, value)
        return
    owner = frame
    if name in scope.nonlocals or (frame.kind == "comprehension" and name not in scope.bound):
        closure = frame.closure
        while closure is not None and (
            closure.kind == "class" or (name not in closure.scope.bound and closure.kind != "module")
        ):
            closure = closure.closure
        if closure is None or closure.kind == "module":
            machine.modules.bind(machine, frame.module, name, value)
            return
        owner = closure
    machine.state.touch(owner)
    owner.content[name] = value


def _unpack(machine: Machine, target: ast.Tuple | ast.List, value: Value) -> None:
    starred = next((index for index, element in enumerate(target.elts) if isinstance(element, ast.Starred)), None)
    if isinstance(value, OneOf):
        # all options of one length: unpacked part by part, each part one of the options' parts
        lists = [machine.items(option) if isinstance(option, Seq) else None for option in value.options]
        if starred is None and all(found is not None and len(found) == len(target.elts) for found in lists):
            for index, element in enumerate(target.elts):
                part = lists[0][index]  # pyrefly: ignore
                for found in lists[1:]:
                    part = operands.join_values(machine, part, found[index])  # pyrefly: ignore
                store(machine, element, part)
            return
    items = machine.items(value)
    if items is None:
        reason = value.reason if isinstance(value, Unknown) else "what is unpacked is not known"
        machine.may_raise(reason)
        for element in target.elts:
            store(machine, element, machine.unknown(reason))
        return
    wanted = len(target.elts)
    if starred is None:
        if len(items) != wanted:
            if len(items) > wanted:
                machine.fail("ValueError", f"too many values to unpack (expected {wanted})")
            machine.fail("ValueError", f"not enough values to unpack (expected {wanted}, got {len(items)})")
        for element, item in zip(target.elts, items, strict=True):
            store(machine, element, item)
        return
    after = wanted - starred - 1
    if len(items) < wanted - 1:
        machine.fail("ValueError", f"not enough values to unpack (expected at least {wanted - 1}, got {len(items)})")
    for element, item in zip(target.elts[:starred], items, strict=False):
        store(machine, element, item)
    store(machine, target.elts[starred], machine.list(items[starred : len(items) - after]))
    for element, item in zip(target.elts[starred + 1 :], items[len(items) - after :], strict=True):
        store(machine, element, item)


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
        attributes.assign(machine, owner, target.attr, arithmetic.in_place(machine, node.op, current, operand))
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
            attributes.delete(machine, machine.evaluate(target.value), target.attr)
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
        raise Raised((machine.exit(error, text, values=named_values(machine.frame, node.test)),))

    if truth is Truth.NO:
        return fails()
    arms = run_arm(machine, fails)
    arms += run_arm(machine, lambda: _narrowed(machine, node.test, True, lambda: NEXT))
    return settle(machine, arms, why(machine, node))


def _raise(machine: Machine, node: ast.Raise) -> Outcome:
    frame = machine.frame
    if machine.is_past("raise"):
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


# --- conditions ---


def named_values(frame_: Frame, test: ast.expr) -> tuple[tuple[str, Value], ...]:
    """The names and attribute chains in a condition with what they hold, for messages; nothing is called for it."""
    found: dict[str, Value] = {}

    def look(node: ast.expr) -> Value | None:
        if isinstance(node, ast.Name):
            frame: Frame | None = frame_
            while frame is not None:
                value = frame.content.get(node.id)
                if value is not None:
                    return value
                if frame.closure is None or frame.kind == "module":
                    return None
                frame = frame.closure
            return None
        if isinstance(node, ast.Attribute):
            owner = look(node.value)
            if isinstance(owner, (Instance, Class)):
                return owner.content.get(node.attr)
        return None

    todo: list[ast.AST] = [test]
    while todo and len(found) < 6:
        node = todo.pop(0)
        if isinstance(node, (ast.Name, ast.Attribute)):
            value = look(node)
            if (
                value is not None
                and not isinstance(value, (Function, Class))
                and not (isinstance(value, Store) and isinstance(node, ast.Name) and isinstance(value, Instance))
            ):
                found[ast.unparse(node)] = value.value if isinstance(value, Perhaps) else value
            continue
        if isinstance(node, ast.Call):
            todo = [*node.args, *todo]
            continue
        todo = [*ast.iter_child_nodes(node), *todo]
    return tuple(found.items())


def _if(machine: Machine, node: ast.If) -> Outcome:
    frame = machine.frame
    truth = machine.truth(machine.evaluate(node.test))
    if truth is Truth.MAYBE:
        return _either(
            machine,
            node,
            lambda: _narrowed(machine, node.test, True, lambda: machine.execute(node.body)),
            lambda: _narrowed(machine, node.test, False, lambda: machine.execute(node.orelse)),
        )
    taken = truth is Truth.YES
    body = node.body if taken else node.orelse
    if not body:
        return NEXT
    frame.node = node
    frame.conditions.append(condition(machine, node.test, taken))
    try:
        return machine.execute(body)
    finally:
        frame.conditions.pop()


def condition(machine: Machine, test: ast.expr, taken: bool) -> Condition:
    """A decided condition, for the trail; its values are looked up only when a raise asks for them."""
    return Condition(machine.place(test), test, taken)


def _narrowed(machine: Machine, test: ast.expr, wanted: bool, body: Callable[[], Outcome]) -> Outcome:
    narrowing.narrow(machine, test, wanted)
    return body()


def _either(machine: Machine, node: ast.stmt, left: Callable[[], Outcome], right: Callable[[], Outcome]) -> Outcome:
    machine.arm_ends.append(min([machine.steps + machine.limits.branch_steps, *machine.arm_ends[-1:]]))
    try:
        arms = run_arm(machine, left)
        machine.arm_ends[-1] = min([machine.steps + machine.limits.branch_steps, *machine.arm_ends[-2:-1]])
        arms += run_arm(machine, right)
    finally:
        machine.arm_ends.pop()
    machine.frame.node = node
    return settle(machine, arms, why(machine, node))


# --- loops ---


def _for(machine: Machine, node: ast.For) -> Outcome:
    frame = machine.frame
    source = machine.evaluate(node.iter)
    frame.node = node.iter
    base = len(machine.state.pendings)
    rounds = 0
    iterator = machine.iterate(source)
    while True:
        frame.node = node.iter
        try:
            value = next(iterator, None)
        except Unclear as unclear:
            return _uncertain(machine, node, base, str(unclear))
        if value is None:
            return _leave_loop(machine, node, base, node.orelse)
        rounds += 1
        if rounds > machine.limits.rounds or (machine.spent() and rounds > 1):
            machine.doubt("walk-loop-budget", f"a loop was left after {rounds - 1} rounds")
            return _uncertain(machine, node, base, "the loop was not walked to its end")
        store(machine, node.target, value)
        ended = _round(machine, node, base)
        if ended is not None:
            return ended


def _while(machine: Machine, node: ast.While) -> Outcome:
    base = len(machine.state.pendings)
    rounds = 0
    while True:
        truth = machine.truth(machine.evaluate(node.test))
        if truth is Truth.MAYBE:
            return _uncertain(machine, node, base, why(machine, node))
        if truth is Truth.NO:
            return _leave_loop(machine, node, base, node.orelse)
        rounds += 1
        if rounds > machine.limits.rounds or (machine.spent() and rounds > 1):
            machine.doubt("walk-loop-budget", f"a loop was left after {rounds - 1} rounds")
            return _uncertain(machine, node, base, "the loop was not walked to its end")
        machine.step()
        ended = _round(machine, node, base)
        if ended is not None:
            return ended


def _round(machine: Machine, node: ast.For | ast.While, base: int) -> Outcome | None:
    """One round; None when the next one follows."""
    state = machine.state
    start = len(state.pendings)
    outcome: Outcome
    try:
        outcome = machine.execute(node.body)
    except Raised as raised:
        if not _pending(machine, start, (Continue, Break)) and not _pending(machine, base, (Break,)):
            raise
        outcome = Raise(raised.exits)
    if _pending(machine, start, (Continue,)):
        arms = collect(machine, start, outcome)
        for arm in arms:
            if isinstance(arm.outcome, Continue):
                arm.outcome = NEXT
        outcome = _settled(machine, arms, node)
    if outcome is NEXT or outcome is CONTINUE:
        return None
    if _pending(machine, base, (Break,)):
        return _leave_loop(machine, node, base, [], outcome)
    return NEXT if outcome is BREAK else _raised(outcome)


def _raised(outcome: Outcome) -> Outcome:
    if isinstance(outcome, Raise):
        raise Raised(outcome.exits)
    return outcome


def _settled(machine: Machine, arms: list[Arm], node: ast.stmt) -> Outcome:
    try:
        return settle(machine, arms, why(machine, node))
    except Raised as raised:
        return Raise(raised.exits)


def _pending(machine: Machine, base: int, kinds: tuple[type, ...]) -> bool:
    return any(isinstance(pending.outcome, kinds) for pending in machine.state.pendings[base:])


def _leave_loop(
    machine: Machine, node: ast.For | ast.While, base: int, orelse: list[ast.stmt], last: Outcome = NEXT
) -> Outcome:
    """The loop is over (``last``: how its last round ended); the breaks that wait join in, past its ``else``."""
    if not _pending(machine, base, (Break,)):
        if last is NEXT:
            return machine.execute(orelse)
        return NEXT if last is BREAK else _raised(last)
    return _join_breaks(machine, node, base, last, lambda: machine.execute(orelse))


def _join_breaks(
    machine: Machine, node: ast.For | ast.While, base: int, last: Outcome, rest: Callable[[], Outcome]
) -> Outcome:
    """Breaks that wait end the loop; what went on (with ``last``) goes on with ``rest``; both are joined."""
    arms: list[Arm] = []
    for arm in collect(machine, base, last):
        if isinstance(arm.outcome, Break):
            arm.outcome = NEXT
            arms.append(arm)
        elif arm.outcome is NEXT:

            def resume(arm: Arm = arm) -> Outcome:
                machine.state.apply(arm.delta)
                return rest()

            arms += run_arm(machine, resume)
        else:
            arms.append(arm)
    return settle(machine, arms, why(machine, node))


def _uncertain(machine: Machine, node: ast.For | ast.While, base: int, reason: str) -> Outcome:
    """The rest of a loop whose rounds are not known, behind those that were walked."""
    if _pending(machine, base, (Break,)):
        return _join_breaks(machine, node, base, NEXT, lambda: _any_rounds(machine, node, reason))
    return _any_rounds(machine, node, reason)


def _any_rounds(machine: Machine, node: ast.For | ast.While, reason: str) -> Outcome:
    """Any number of rounds: what a round may change is forgotten, then its body is one arm, no round the other."""

    def body() -> Outcome:
        if isinstance(node, ast.For):
            store(machine, node.target, machine.unknown(reason))
        else:
            narrowing.narrow(machine, node.test, True)
        outcome = machine.execute(node.body)
        return NEXT if outcome in (CONTINUE, NEXT) else outcome

    machine.arm_ends.append(min([machine.steps + machine.limits.branch_steps, *machine.arm_ends[-1:]]))
    try:
        for _ in range(4):
            changed = _changed(machine, run_arm(machine, body))
            if not changed:
                break
            for forget in changed:
                forget(reason)
        else:
            machine.doubt("walk-loop", "what a loop changes could not be bounded")
        arms = run_arm(machine, body)
    finally:
        machine.arm_ends.pop()
    for arm in arms:
        if isinstance(arm.outcome, (Break, Continue)):
            arm.outcome = NEXT
    arms += run_arm(machine, lambda: machine.execute(node.orelse))
    machine.frame.node = node
    return settle(machine, arms, reason)


def _changed(machine: Machine, arms: list[Arm]) -> list[Callable[[str], None]]:
    """For everything that an arm left different from the present state: how to forget it."""
    forget: list[Callable[[str], None]] = []
    for arm in arms:
        for store_, content, loose in arm.delta.values():
            now = store_.content
            if (
                isinstance(now, list)
                or (now and isinstance(next(iter(now.values())), tuple))
                or (content and isinstance(content, dict) and isinstance(next(iter(content.values())), tuple))
            ):
                if not store_.loose and (loose or not operands.same_content(now, content)):
                    forget.append(lambda reason, s=store_: machine.loosen(s, reason, clear=True))
                continue
            for name in set(now) | set(content):
                before, after = now.get(name), content.get(name)
                if before is None or after is None or not operands.same_binding(before, after):
                    if isinstance(before, Unknown) and after is not None and not isinstance(after, Perhaps):
                        continue
                    if isinstance(before, Perhaps) and isinstance(before.value, Unknown):
                        continue
                    forget.append(
                        lambda reason, s=store_, n=name, gone=before is None or after is None: _forget(
                            machine, s, n, reason, gone
                        )
                    )
    return forget


def _forget(machine: Machine, store_: Store, name: str, reason: str, gone: bool) -> None:
    machine.state.touch(store_)
    value: Value = machine.unknown(reason)
    store_.content[name] = Perhaps(value) if gone else value


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
    ast.If: _if,
    ast.For: _for,
    ast.While: _while,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Try: _try,
    ast.Match: _match,
    ast.Global: _global,
    ast.Nonlocal: _global,
    ast.Break: lambda machine, node: BREAK,
    ast.Continue: lambda machine, node: CONTINUE,
}
