"""Where an exception must be the end of the walked program as soon as it leaves a statement.

That is so in a frame that the stage came to by plain calls alone (``Frame.open``): no code of the library stands
between, no ``try`` that can catch is open, no condition that is not known, and no way out that waits. There the
statement alone is walked again past the fault, on the state before it, and not the whole stage.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from preflight.walk.outcomes import Outcome, Raised
from preflight.walk.values import Bound, Function, Value

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable

    from preflight.walk.frames import Frame
    from preflight.walk.machine import Machine
    from preflight.walk.outcomes import Fault


def head_for(machine: Machine, callee: Value) -> None:
    """A statement of an open frame calls ``callee``: if that is a function of the tree, its frame may be open too."""
    while isinstance(callee, Bound):
        callee = callee.function
    machine.heading = callee if isinstance(callee, Function) else None


def is_open(machine: Machine) -> bool:
    """Whether a raise here would be certain, if only plain calls led here."""
    state = machine.state
    return machine.course is not None and not (state.tries or state.arms or state.pendings or state.suspended)


def execute_open(machine: Machine, frame: Frame, statement: ast.stmt, run: Callable[[], Outcome]) -> Outcome:
    """``run`` a statement of an open frame; where it must raise, again past the fault."""
    state, course = machine.state, machine.course
    assert course is not None
    passed: set[Fault] = set()
    while True:
        segment = state.open()
        try:
            outcome = run()
        except Raised as raised:
            state.drain(0, segment)
            state.take(segment)
            fault = course.past(raised)
            if fault is None or fault in passed:
                raise
            passed.add(fault)
            machine.repeats.forget()
            frame.node = statement
            continue
        if not state.pendings:
            state.keep(segment)  # else it is kept with what waits, until the function ends
        return outcome
