"""Where an exception must be the end of the walked program as soon as it leaves a statement.

That is so in a frame that the stage came to by plain calls alone (``Frame.open``): no code of the library stands
between, no condition that is not known, no way out that waits, and no ``try`` whose handlers could end in anything but
an exception. There the statement alone is walked again past the fault, on the state before it, and not the whole stage.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, TypeVar

from preflight.walk.outcomes import Exit, Raise, Raised
from preflight.walk.truth import Truth
from preflight.walk.values import Bound, Function, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from preflight.walk.machine import Machine
    from preflight.walk.outcomes import Spot
    from preflight.walk.state import Pending

T = TypeVar("T")
_LEAVES = (ast.Return, ast.Break, ast.Continue)


def head_for(machine: Machine, callee: Value) -> None:
    """A statement of an open frame calls ``callee``: if that is a function of the tree, its frame may be open too."""
    while isinstance(callee, Bound):
        callee = callee.function
    machine.heading = callee if isinstance(callee, Function) else None


def is_open(machine: Machine) -> bool:
    """Whether a raise here would be certain, if only plain calls led here."""
    state = machine.state
    return (
        machine.course is not None
        and state.tries == state.passing
        and not state.arms
        and not state.suspended
        and not _ways_out(state.pendings)
    )


def _ways_out(pendings: Iterable[Pending]) -> bool:
    """Whether a return, or the end of a loop or of a round, waits beside what is walked."""
    return any(not isinstance(pending.outcome, Raise) for pending in pendings)


def lets_through(machine: Machine, node: ast.Try) -> bool:
    """Whether a ``try`` in an open frame ends in an exception whatever is raised inside."""
    return (
        machine.frame.open
        and is_open(machine)
        and all(
            isinstance(handler.body[-1], ast.Raise)
            and not any(isinstance(inner, _LEAVES) for statement in handler.body for inner in ast.walk(statement))
            for handler in node.handlers
        )
    )


def _is_caught(machine: Machine, exits: tuple[Exit, ...]) -> bool:
    """Whether a handler around may catch one of the exceptions, and go on with another."""
    return any(_may_catch(machine, depth, node, exits) for depth, node in machine.passing)


def _may_catch(machine: Machine, depth: int, node: ast.Try, exits: tuple[Exit, ...]) -> bool:
    frames = machine.frames
    frame = frames[depth - 1]
    at = frame.node
    machine.frames = frames[:depth]
    try:
        for handler in node.handlers:
            wanted = machine.evaluate(handler.type) if handler.type is not None else None
            if wanted is None or any(machine.catches(exit, wanted) is not Truth.NO for exit in exits):
                return True
    except Raised:
        return True
    finally:
        machine.frames, frame.node = frames, at
    return False


def past_faults(machine: Machine, run: Callable[[], T]) -> T:
    """``run`` where an exception is the end of the walked program; where one must come, again past its fault, on the
    state before it. Raises Raised where there is no way past."""
    state, course = machine.state, machine.course
    assert course is not None
    passed: set[Spot] = set()
    while True:
        segment, base = state.open(), len(state.pendings)
        try:
            outcome = run()
        except Raised as raised:
            if _ways_out(state.pendings[base:]) or _is_caught(machine, raised.exits):
                raise  # the function, the loop or the handler goes on in its way
            spot = course.past(raised)
            if spot is None or spot in passed:
                raise
            state.drain(base, segment)
            state.take(segment)
            passed.add(spot)
            machine.repeats.forget()
            continue
        if len(state.pendings) == base:
            state.keep(segment)  # else it is kept with what waits, until the function ends
        return outcome
