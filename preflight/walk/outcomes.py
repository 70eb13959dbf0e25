"""How a stretch of the walk ends: it falls through, returns, breaks, continues or raises; and arms that end differently
are joined.

A raise is certain when it leaves the entry point as the host exception ``Raised``: every surviving arm then raised. An
arm that raises while another goes on is only a possible raise; it is kept (with the state it leaves) when some ``try``
around it could catch it, and counted otherwise.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from preflight.model import Step
from preflight.walk.frames import line_of
from preflight.walk.joining import join, join_contents
from preflight.walk.state import Delta, Pending, copied
from preflight.walk.values import Class, Place, Value

if TYPE_CHECKING:
    from preflight.walk.machine import Machine

_QUOTED = re.compile(r"['\"`](\w+)['\"`]")


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition that was decided on the way to a raise, with the values that decided it."""

    place: Place
    test: ast.expr
    taken: bool
    values: tuple[tuple[str, Value], ...] = ()
    #: so many calls further out than the raise
    calls: int = 0


@dataclass(frozen=True, slots=True)
class Exit:
    """One exception on its way out: ``cls`` None when not even its class is known."""

    error: Value
    cls: Class | None
    message: str | None
    place: Place
    #: the calls on the way here, outermost first: file, the piece of code that was being walked, function
    way: tuple[tuple[str, ast.AST, str], ...]
    conditions: tuple[Condition, ...] = ()
    #: what the message or the missing attribute was about: (text, value)
    values: tuple[tuple[str, Value], ...] = ()
    #: the attribute that is missing and on what, where the exception is about one
    missing: tuple[Value, str] | None = None
    #: the module and the name that it was asked for, where that is bound nowhere around
    unbound: tuple[str, str] | None = None
    #: the functions on the way, as (path, name), that wait here for a value, and do not go on as Python does without
    waiting: frozenset[tuple[str, str]] = frozenset()
    #: the assumptions about the machine that decided something in the function that raises
    weighed: frozenset[str] = frozenset()
    #: the function that cannot be called so, where the exception is about that
    callee: Place | None = None

    @property
    def trail(self) -> tuple[Step, ...]:
        """The calls on the way here, as a report has them; of most exceptions nobody asks."""
        return tuple(Step(path, line_of(node), name) for path, node, name in self.way)

    @property
    def spot(self) -> Spot:
        """Where it comes from, as it is walked past."""
        return self.place.path, self.place.line, self.missing[1] if self.missing is not None else "raise"

    @property
    def is_passable(self) -> bool:
        """Whether there is a way past it: it is a raise, an assertion, or a missing attribute."""
        return self.missing is not None or not self.way or isinstance(self.way[-1][1], (ast.Raise, ast.Assert))

    @property
    def named(self) -> frozenset[str]:
        """The names that the message quotes: the keys that are missing, most often."""
        return frozenset(_QUOTED.findall(self.message or ""))


#: where an exception comes from that is walked past: path, line, and ``raise`` or the attribute that is missing
Spot = tuple[str, int, str]


class Raised(Exception):
    """An exception of the walked program leaves; with several ``exits``, one of them does."""

    def __init__(self, exits: tuple[Exit, ...]) -> None:
        super().__init__()
        self.exits = exits
        #: what the course of the stage made of it, once it was asked: where to walk past it, or None for an end
        self.course: tuple[Spot | None] | None = None


class GaveUp(Exception):
    """The walk of this entry cannot go on (not: the program raises). ``id`` is stable, for the report."""

    def __init__(self, id: str, reason: str, place: Place | None) -> None:
        super().__init__(reason)
        self.id = id
        self.reason = reason
        self.place = place


@dataclass(frozen=True, slots=True)
class Next:
    """The block falls through."""


@dataclass(frozen=True, slots=True)
class Return:
    value: Value


@dataclass(frozen=True, slots=True)
class Break:
    """Leaves the innermost loop."""


@dataclass(frozen=True, slots=True)
class Continue:
    """Goes on with the next round of the innermost loop."""


@dataclass(frozen=True, slots=True)
class Raise:
    exits: tuple[Exit, ...]


Outcome = Next | Return | Break | Continue | Raise
NEXT, BREAK, CONTINUE = Next(), Break(), Continue()


@dataclass(slots=True)
class Arm:
    """An outcome and the contents it leaves behind, relative to where the arms parted."""

    outcome: Outcome
    delta: Delta


def run_arm(machine: Machine, body: Callable[[], Outcome]) -> list[Arm]:
    """Run ``body`` as one of several arms: its outcomes with their deltas; the state is as before."""
    state = machine.state
    segment = state.open()
    base = len(state.pendings)
    outcome: Outcome
    # what is constructed on the state of one arm is no pattern for another
    entries, machine.repeats.entries = machine.repeats.entries, {}
    state.arms += 1
    try:
        outcome = body()
    except Raised as raised:
        outcome = Raise(raised.exits)
    except GaveUp:
        del state.pendings[base:]
        state.keep(segment)
        raise
    finally:
        state.arms -= 1
        machine.repeats.entries = entries
    arms = [Arm(pending.outcome, pending.delta) for pending in state.drain(base, segment)]
    arms.append(Arm(outcome, state.take(segment)))
    return arms


def run_arms(machine: Machine, bodies: Iterable[Callable[[], Outcome]]) -> list[Arm]:
    """Run bodies of which one is taken, and nobody knows which. Each has so many steps of its own, and none has more
    than is left to the arms around them.
    """
    arms: list[Arm] = []
    machine.arm_ends.append(0)
    try:
        for body in bodies:
            machine.arm_ends[-1] = min([machine.steps + machine.limits.branch_steps, *machine.arm_ends[-2:-1]])
            arms += run_arm(machine, body)
    finally:
        machine.arm_ends.pop()
    return arms


def collect(machine: Machine, base: int, outcome: Outcome) -> list[Arm]:
    """The outcomes that wait since index ``base``, and ``outcome`` of those that went on; the state is where they
    parted.
    """
    state = machine.state
    segment = state.pendings[base].segment
    arms = [Arm(pending.outcome, pending.delta) for pending in state.drain(base, segment)]
    arms.append(Arm(outcome, state.take(segment)))
    shared = [pending for pending in state.pendings if pending.segment is segment]
    if shared:
        # what was pending before parted at the same moment; the walk goes on in a segment of its own for it
        again = state.open()
        for pending in shared:
            pending.segment = again
    return arms


def settle(machine: Machine, arms: list[Arm], why: str) -> Outcome:
    """Join arms into the one outcome that goes on; the others wait. Raises ``Raised`` when all arms raise."""
    raising = [arm for arm in arms if isinstance(arm.outcome, Raise)]
    others = [arm for arm in arms if not isinstance(arm.outcome, Raise)]
    if not others:
        if machine.state.tries:
            machine.state.apply(joined_delta(machine, raising, why))
        raise Raised(unite_exits(raising))
    if raising:
        machine.note_possible(unite_exits(raising))
        if not machine.state.tries:
            raising = []
    groups = [raising] if raising else []
    primary: list[Arm] | None = None
    for kind in (Next, Return, Continue, Break):
        group = [arm for arm in others if isinstance(arm.outcome, kind)]
        if not group:
            continue
        if primary is None:
            primary = group
        else:
            groups.append(group)
    assert primary is not None
    # the deltas of all groups are relative to the present state, so they are joined before any of it changes
    deltas = [joined_delta(machine, group, why) for group in groups]
    main = joined_delta(machine, primary, why)
    if groups:
        segment = machine.state.open()
        for group, delta in zip(groups, deltas, strict=True):
            machine.state.pendings.append(Pending(unite_outcomes(machine, group, why), delta, segment))
    machine.state.apply(main)
    return unite_outcomes(machine, primary, why)


def unite_exits(arms: list[Arm]) -> tuple[Exit, ...]:
    exits: list[Exit] = []
    for arm in arms:
        assert isinstance(arm.outcome, Raise)
        exits += [exit for exit in arm.outcome.exits if exit not in exits]
    return tuple(exits)


def unite_outcomes(machine: Machine, arms: list[Arm], why: str) -> Outcome:
    first = arms[0].outcome
    if isinstance(first, Raise):
        return Raise(unite_exits(arms))
    if not isinstance(first, Return):
        return first
    value = first.value
    for arm in arms[1:]:
        assert isinstance(arm.outcome, Return)
        value = join(machine, value, arm.outcome.value, why)
    return Return(value)


def joined_delta(machine: Machine, arms: list[Arm], why: str) -> Delta:
    """The contents after one of ``arms``, which one is not known."""
    if len(arms) == 1:
        return arms[0].delta
    joined: Delta = {}
    for arm in arms:
        for key, (store, _content, _loose) in arm.delta.items():
            if key not in joined:
                versions = [other.delta.get(key, (store, store.content, store.loose)) for other in arms]
                content, loose = copied(versions[0][1]), versions[0][2]
                seen = {(id(versions[0][1]), loose)}
                for _store, content2, loose2 in versions[1:]:
                    if (id(content2), loose2) not in seen:
                        seen.add((id(content2), loose2))
                        content, loose = join_contents(machine, content, loose, content2, loose2, why)
                joined[key] = (store, content, loose)
    return joined


def fork(machine: Machine, bodies: list[Callable[[], Value]], why: str) -> Value:
    """The value of one of ``bodies``, which one is not known: each is run on the present state, and the results are
    joined.
    """
    arms: list[Arm] = []
    for body in bodies:
        arms += run_arm(machine, lambda body=body: Return(body()))
    outcome = settle(machine, arms, why)
    assert isinstance(outcome, Return)
    return outcome.value
