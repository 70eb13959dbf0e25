"""A piece of a launch that is walked beside the stages: what it must raise, and nothing of what it changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from preflight.walk.entries import ENTRY
from preflight.walk.outcomes import NEXT, Exit, GaveUp, Outcome, Raise, Raised, Return, run_arm

if TYPE_CHECKING:
    from preflight.walk.machine import Machine
    from preflight.walk.values import Value


@dataclass(frozen=True, slots=True)
class Ends:
    """``exits`` are the exceptions that every way ends in, none if there is another way out; ``open``: why that is not
    known to the end."""

    exits: tuple[Exit, ...]
    open: str | None = None


def ends_of(machine: Machine, name: str, arguments: list[Value], steps: int) -> Ends:
    """How the entry point ``name`` ends, as far as so many ``steps`` tell. The machine is as before."""
    before = (machine.end, machine.last, machine.arm_ends, machine.doubts, machine.assumed)
    depth, possible = len(machine.frames), len(machine.possible)
    last, end = machine.last, machine.end
    machine.allow(steps)
    machine.last, machine.end = min(machine.last, last), min(machine.end, end)
    machine.arm_ends, machine.doubts, machine.assumed = [], {}, dict(machine.assumed)

    why: list[str] = []

    def body() -> Outcome:
        try:
            entry = machine.modules.module(machine, ENTRY)
            return Return(machine.call(machine.get(entry, name), arguments)) if entry is not None else NEXT
        except Raised:
            raise
        except GaveUp as gave_up:
            why.append(f"it was given up after {steps} steps" if gave_up.id == "walk-budget" else gave_up.reason)
        except RecursionError:
            why.append("the code is nested more deeply than can be followed")
        except Exception as error:  # what was said without it stands
            why.append(f"the walk itself failed ({type(error).__name__}: {error})")
        return NEXT

    try:
        arms = run_arm(machine, body)
    finally:
        machine.end, machine.last, machine.arm_ends, machine.doubts, machine.assumed = before
        del machine.frames[depth:], machine.possible[possible:]
    outcomes = [arm.outcome for arm in arms]
    raising = [outcome for outcome in outcomes if isinstance(outcome, Raise)]
    exits = [exit for outcome in raising for exit in outcome.exits] if len(raising) == len(outcomes) else []
    return Ends(tuple(exits), next(iter(why), None))
