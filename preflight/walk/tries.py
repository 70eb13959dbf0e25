"""``try`` and ``with``: what may be raised inside is kept with the state it leaves, and handlers are walked on that
state.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from preflight.walk.classes import is_subclass, lookup
from preflight.walk.outcomes import NEXT, Arm, Exit, Outcome, Raise, Raised, collect, run_arm, settle
from preflight.walk.straight import lets_through
from preflight.walk.truth import Truth
from preflight.walk.values import Class, Const, External, Function, Instance, OneOf, Seq, Value

if TYPE_CHECKING:
    from preflight.walk.machine import Machine


def may_swallow(machine: Machine, manager: Value) -> bool:
    """Whether the ``__exit__`` of a context manager may stop an exception; those of libraries do not, unless known."""
    if isinstance(manager, OneOf):
        return any(may_swallow(machine, option) for option in manager.options)
    if not isinstance(manager, Instance):
        return False
    catches = manager.content.get("catches")
    if isinstance(catches, Const):
        return bool(catches.value)
    leaving = lookup(manager.cls, "__exit__").value
    if isinstance(leaving, Function) and isinstance(leaving.node, ast.FunctionDef):
        returns = [inner.value for inner in ast.walk(leaving.node) if isinstance(inner, ast.Return)]
        return any(value is not None and not (isinstance(value, ast.Constant) and not value.value) for value in returns)
    return manager.cls.name == "suppress"


def execute_try(machine: Machine, node: ast.Try) -> Outcome:
    """Walk a ``try`` statement."""
    if not node.finalbody:
        return _handled(machine, node)

    def finally_(exits: tuple[Exit, ...] | None) -> Outcome:
        outcome = machine.execute(node.finalbody)
        if outcome is NEXT and exits is not None:
            raise Raised(exits)
        return outcome

    leaving = (ast.Return, ast.Break, ast.Continue)
    stops = any(isinstance(inner, leaving) for statement in node.finalbody for inner in ast.walk(statement))
    return guarded(machine, node, lambda: _handled(machine, node), finally_, stops=stops)


def guarded(
    machine: Machine,
    node: ast.stmt,
    body: Callable[[], Outcome],
    after: Callable[[tuple[Exit, ...] | None], Outcome],
    *,
    stops: bool,
) -> Outcome:
    """Walk ``body``; then, however it ended, ``after`` (given the exceptions when it raised).

    An outcome of ``after`` other than NEXT wins. Where it never ``stops`` an exception, what may be raised inside needs
    no keeping unless something around it may catch.
    """
    state = machine.state
    base = len(state.pendings)
    kept = 1 if stops or state.tries else 0
    passing = kept if not stops and state.tries == state.passing else 0
    state.tries += kept
    state.passing += passing
    outcome: Outcome
    try:
        outcome = body()
    except Raised as raised:
        outcome = Raise(raised.exits)
    finally:
        state.tries -= kept
        state.passing -= passing
    if len(state.pendings) == base:
        return _after(outcome, after)
    arms: list[Arm] = []
    for arm in collect(machine, base, outcome):

        def resume(arm: Arm = arm) -> Outcome:
            state.apply(arm.delta)
            return _after(arm.outcome, after)

        arms += run_arm(machine, resume)
    return settle(machine, arms, f"depends on what is raised ({machine.frame.path}:{node.lineno})")


def _after(outcome: Outcome, after: Callable[[tuple[Exit, ...] | None], Outcome]) -> Outcome:
    ended = after(outcome.exits if isinstance(outcome, Raise) else None)
    if ended is not NEXT or isinstance(outcome, Raise):
        return ended
    return outcome


def _handled(machine: Machine, node: ast.Try) -> Outcome:
    if not node.handlers:
        outcome = machine.execute(node.body)
        return machine.execute(node.orelse) if outcome is NEXT else outcome
    state = machine.state
    base = len(state.pendings)
    passing = lets_through(machine, node)
    state.tries += 1
    if passing:
        state.passing += 1
        machine.passing.append((len(machine.frames), node))
    outcome: Outcome
    try:
        outcome = machine.execute(node.body)
    except Raised as raised:
        outcome = Raise(raised.exits)
    finally:
        state.tries -= 1
        if passing:
            state.passing -= 1
            machine.passing.pop()
    if len(state.pendings) == base:
        return _after_body(machine, node, outcome)
    arms: list[Arm] = []
    for arm in _merged(collect(machine, base, outcome)):

        def resume(arm: Arm = arm) -> Outcome:
            state.apply(arm.delta)
            return _after_body(machine, node, arm.outcome)

        arms += run_arm(machine, resume)
    return settle(machine, arms, f"depends on what is raised ({machine.frame.path}:{node.lineno})")


def _merged(arms: list[Arm]) -> list[Arm]:
    """Raises that leave nothing changed and are not known are one."""
    kept: list[Arm] = []
    bare: Arm | None = None
    for arm in arms:
        if isinstance(arm.outcome, Raise) and not arm.delta and all(exit.cls is None for exit in arm.outcome.exits):
            if bare is None:
                bare = arm
                kept.append(arm)
            continue
        kept.append(arm)
    return kept


def _after_body(machine: Machine, node: ast.Try, outcome: Outcome) -> Outcome:
    if outcome is NEXT:
        return machine.execute(node.orelse)
    if not isinstance(outcome, Raise):
        return outcome
    if len(outcome.exits) == 1:
        return _handle(machine, node, outcome.exits[0], 0)
    arms: list[Arm] = []
    for exit in outcome.exits:
        arms += run_arm(machine, lambda exit=exit: _handle(machine, node, exit, 0))
    return settle(machine, arms, f"depends on what is raised ({machine.frame.path}:{node.lineno})")


def _handle(machine: Machine, node: ast.Try, exit: Exit, index: int) -> Outcome:
    """The handlers from ``index`` on, for one exception."""
    for number in range(index, len(node.handlers)):
        handler = node.handlers[number]
        answer = Truth.YES if handler.type is None else matches(machine, exit, machine.evaluate(handler.type))
        if answer is Truth.YES:
            return _run_handler(machine, handler, exit)
        if answer is Truth.MAYBE:
            arms = run_arm(machine, lambda handler=handler: _run_handler(machine, handler, exit))
            arms += run_arm(machine, lambda number=number: _handle(machine, node, exit, number + 1))
            return settle(machine, arms, f"depends on what is raised ({machine.frame.path}:{node.lineno})")
    raise Raised((exit,))


def matches(machine: Machine, exit: Exit, wanted: Value) -> Truth:
    """Whether a handler for ``wanted`` catches the exception."""
    if isinstance(wanted, Seq) and not wanted.loose:
        answers = [matches(machine, exit, option) for option in wanted.content]
        if any(answer is Truth.YES for answer in answers):
            return Truth.YES
        return Truth.NO if all(answer is Truth.NO for answer in answers) else Truth.MAYBE
    if isinstance(wanted, Class) and wanted.native is BaseException:
        return Truth.YES
    if exit.cls is None:
        return Truth.MAYBE
    if (
        isinstance(wanted, External)
        and wanted.name.partition(".")[0] not in sys.stdlib_module_names
        and not exit.cls.gap()
    ):
        # an exception of Python or of the tree is of no class that a library made
        return Truth.NO
    return is_subclass(machine, exit.cls, wanted)


def _run_handler(machine: Machine, handler: ast.ExceptHandler, exit: Exit) -> Outcome:
    frame = machine.frame
    error = exit.error
    if isinstance(error, Instance):
        # a bare ``raise`` lets the same exception go on, with the place where it began
        machine.state.touch(error)
        error.content["__preflight_exit__"] = Const(replace(exit, error=error))
    if handler.name:
        machine.state.touch(frame)
        frame.content[handler.name] = error
    frame.caught.append(error)
    try:
        return machine.execute(handler.body)
    finally:
        frame.caught.pop()
        if handler.name and handler.name in frame.content:
            machine.state.touch(frame)
            del frame.content[handler.name]
