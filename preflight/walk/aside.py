"""A piece of a launch that is walked beside the stages: what it must raise, and nothing of what it changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from preflight.walk.entries import ENTRY
from preflight.walk.outcomes import NEXT, Exit, Outcome, Raise, Raised, Return, run_arm

if TYPE_CHECKING:
    from preflight.walk.machine import Machine
    from preflight.walk.values import Value


def exits_of(machine: Machine, name: str, arguments: list[Value], steps: int) -> tuple[Exit, ...]:
    """The exceptions that every way through the entry point ``name`` ends in; none if there is another way out, or if
    so many ``steps`` were not enough to know. The machine is as before.
    """
    before = (machine.end, machine.last, machine.arm_ends, machine.doubts, machine.assumed)
    depth, possible = len(machine.frames), len(machine.possible)
    last, end = machine.last, machine.end
    machine.allow(steps)
    machine.last, machine.end = min(machine.last, last), min(machine.end, end)
    machine.arm_ends, machine.doubts, machine.assumed = [], {}, dict(machine.assumed)

    def body() -> Outcome:
        try:
            entry = machine.modules.module(machine, ENTRY)
            return Return(machine.call(machine.get(entry, name), arguments)) if entry is not None else NEXT
        except Raised:
            raise
        except Exception:  # given up, too deep, or a fault of the walk itself: what was said without it stands
            return NEXT

    try:
        arms = run_arm(machine, body)
    finally:
        machine.end, machine.last, machine.arm_ends, machine.doubts, machine.assumed = before
        del machine.frames[depth:], machine.possible[possible:]
    outcomes = [arm.outcome for arm in arms]
    raising = [outcome for outcome in outcomes if isinstance(outcome, Raise)]
    return tuple(exit for outcome in raising for exit in outcome.exits) if len(raising) == len(outcomes) else ()
