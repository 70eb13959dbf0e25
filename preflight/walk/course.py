"""What becomes of the faults of one stage: which are told, and which the walk goes on past.

A stage whose every way forward raises has a fault. It is walked again past that fault (a raise is taken as not there, a
missing attribute as not known), so that independent faults come out of one run. What is found in the same function
behind a fault, or because of it, is not told.

Not the whole stage is walked again: see ``preflight.walk.straight``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from preflight.walk.entries import PATH
from preflight.walk.nearby import remarks_on
from preflight.walk.origins import parts
from preflight.walk.outcomes import Exit, Raised
from preflight.walk.result import Found
from preflight.walk.values import Const, Instance

if TYPE_CHECKING:
    from preflight.walk.machine import Machine
    from preflight.walk.outcomes import Spot
    from preflight.walk.result import Walk

#: modules are walked name by name, not from top to bottom, so what their order alone makes missing is not decided here
_OF_NAMES = ("NameError", "UnboundLocalError", "ImportError")
#: the open question of a model whose constructor did not come to its end
NOT_CONSTRUCTED = "model-not-constructed"
#: so many faults at most are looked for in a stage; in one behind the finished config; with so many steps more there
#: than twice those before the first one
_MOST, _MOST_GUARDED, _PAST_FAULT = 12, 4, 50_000


class Course:
    """One stage on its way. ``guarded``: it is behind the finished config. ``missing``: the attributes that stages
    found missing, by the kind of object, which this one adds to."""

    def __init__(self, machine: Machine, result: Walk, name: str, guarded: bool, missing: set[tuple[str, str]]) -> None:
        self.machine = machine
        self.result = result
        self.name = name
        self.guarded = guarded
        self.missing = missing
        self.began = machine.steps
        self.faults = 0
        #: those that a fault was found in, and those that go on without the value that it kept from them
        self.functions: set[tuple[str, str]] = set()

    def past(self, raised: Raised) -> Spot | None:
        """Where to walk past the fault, which is told if it is to be told; None where the stage ends with it."""
        if raised.course is None:
            raised.course = (self._past(raised),)
        return raised.course[0]

    def _past(self, raised: Raised) -> Spot | None:
        machine = self.machine
        exit = decisive(raised)
        if exit is None:
            place = raised.exits[0].place
            return self.result.stop(self.name, "walk-unknown-raise", "it ends in an exception that is not known", place)
        if exit.place.path == PATH:
            reason = f"this tree is entered another way: {exit.message}"
            if self.name == "construct":
                return self.result.stop(self.name, NOT_CONSTRUCTED, reason, None, decisive=False)
            return self.result.stop(self.name, "walk-entry-missing", reason, None)
        if "/heterogeneity/" in exit.place.path:
            reason = "this config differs from layer to layer"
            return self.result.stop(self.name, "walk-per-layer-config", reason, exit.place)
        function = (exit.place.path, exit.trail[-1].function if exit.trail else "")
        if exit.cls is not None and exit.cls.name in _OF_NAMES:
            if function in self.functions:
                return None  # what the fault before it would have bound
            if exit.unbound is None or not machine.modules.world.lacks(*exit.unbound):
                return self.result.stop(self.name, "walk-name-missing", exit.message or "a name is missing", exit.place)
        if exit.spot in machine.past:
            return exit.spot  # it comes from further out: that is walked again, too
        if function not in self.functions and not self._follows(exit) and not self._again(exit):
            self.result.found.append(found_in(machine, self.name, exit))
        self.functions |= {function, *exit.waiting}
        self.faults += 1
        if self.faults >= (_MOST_GUARDED if self.guarded else _MOST) or not exit.is_passable:
            return None
        if self.guarded and self.faults == 1:
            # behind a fault much is not known, and a walk of what is not known is long
            machine.allow(2 * (machine.steps - self.began) + _PAST_FAULT)
        machine.past.add(exit.spot)
        return exit.spot

    def _follows(self, exit: Exit) -> bool:
        """Whether an exception comes of a fault that was told."""
        found = self.result.found
        if self.guarded and self.faults and _of_none(exit):
            return True
        # sizes that one check refused are refused by every layer that is made of them
        if self.name == "construct" and exit.missing is None and found:
            return True
        before = [one.exit for one in found if one.stage == self.name]
        # a name that one list does not have is another once that is seen to, and is then asked of the lists behind it
        sought = _unlisted(exit)
        if sought is not None and any(_unlisted(other) == sought for other in before):
            return True
        # a key that a check misses is missing for those behind it too
        return bool(exit.named) and any(exit.named <= other.named for other in before)

    def _again(self, exit: Exit) -> bool:
        """Whether the same attribute was found missing from the same kind of object."""
        if exit.missing is None or not isinstance(exit.missing[0], Instance):
            return False
        key = (exit.missing[0].cls.name, exit.missing[1])
        if key in self.missing:
            return True
        self.missing.add(key)
        return False


def found_in(machine: Machine, stage: str, exit: Exit) -> Found:
    """A fault as it is told: with the assumptions made by now, and what was remarked on the way."""
    remarks = remarks_on(exit, machine.remarks, classes_asked=stage == "configure")
    return Found(stage, exit, tuple(machine.assumed.values()), remarks, tuple(_others_with(machine, exit)))


def _others_with(machine: Machine, exit: Exit) -> Iterator[str]:
    """The classes for the same task, which their names tell, of the file of a class that have the method it lacks."""
    owner, name = exit.missing if exit.missing is not None else (None, "")
    if isinstance(owner, Instance) and owner.cls.node is not None:
        bases = {base.name for base in owner.cls.mro}
        _, task, kind = owner.cls.name.rpartition("For")
        for other in machine.modules.classes_with(owner.cls.module, name) if task else ():
            if other.endswith(task + kind) and other not in bases:
                yield other


def _unlisted(exit: Exit) -> tuple[str, tuple[str, ...]] | None:
    """The name that is raised for because a list does not have it, with where it was given; None for another fault."""
    if not exit.conditions:
        return None
    condition = exit.conditions[-1]
    match condition.test:
        case ast.Compare(left=left, ops=[ast.NotIn()]) if condition.taken:
            pass
        case ast.Compare(left=left, ops=[ast.In()]) if not condition.taken:
            pass
        case _:
            return None
    value = dict(condition.values).get(ast.unparse(left))
    return (value.value, parts(value.origin)) if isinstance(value, Const) and isinstance(value.value, str) else None


def _of_none(exit: Exit) -> bool:
    """Whether an attribute of None is missing: behind a fault that was walked past, it most often comes of it."""
    owner = exit.missing[0] if exit.missing is not None else None
    return isinstance(owner, Const) and owner.value is None


def decisive(raised: Raised) -> Exit | None:
    """Of several ways out the one to tell: the last whose exception is known."""
    known = [exit for exit in raised.exits if exit.cls is not None]
    return known[-1] if known else None
