"""Constructors that were walked before: a layer whose inputs differ only by its number is walked once.

While the constructor of a module of torch is walked, it is recorded what was looked at of the constants that depend on
the number of a round (``preflight.walk.derived``), and what was changed outside of the new object. Another call with
the same arguments but for such constants is not walked again when it would learn the same from its own: its object is
a copy of the first, with the names made of its own number, and the changes outside are made for it too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from preflight.walk.copies import Change, Copy, Free, Known
from preflight.walk.derived import Derived, Look, Looks, raw_of
from preflight.walk.joining import same
from preflight.walk.values import (
    Class,
    Const,
    Instance,
    Map,
    OneOf,
    Perhaps,
    Seq,
    SetValue,
    Store,
    Stream,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from preflight.walk.machine import Machine
    from preflight.walk.state import Delta

#: so many different calls of one class are kept
_MOST = 12
#: configs in configs are looked through so deeply for changes
_LEVELS = 4


@dataclass(slots=True)
class _Entry:
    """A call that was recorded."""

    names: tuple[str, ...]
    given: list[Value]
    looks: list[Look]
    changes: list[Change]
    made: Value
    start: int
    begun: int  #: the clock of the state when the call began
    clock: int  #: and when it ended


class Repeats:
    """The constructors that were recorded, by class."""

    def __init__(self) -> None:
        self.looks = Looks()
        self.entries: dict[Class, list[_Entry]] = {}
        #: calls that were not walked again
        self.reused = 0

    def forget(self) -> None:
        """Objects of another state are of no use."""
        self.entries = {}
        self.looks.open.clear()

    def start_anew(self) -> None:
        """Something changed that every constructor may read: a global, the default dtype."""
        self.entries = {}

    def construct(
        self,
        machine: Machine,
        cls: Class,
        arguments: list[Value],
        keywords: dict[str, Value],
        walk: Callable[[], Value],
    ) -> Value:
        """The object of ``cls``: a copy of one that was made before, or what ``walk`` makes."""
        state = machine.state
        if state.serial < 0:
            return walk()
        given, names = [*arguments, *keywords.values()], tuple(keywords)
        for entry in self.entries.get(cls, ()):
            if entry.names == names and len(entry.given) == len(given):
                made = self._reuse(machine, entry, given)
                if made is not None:
                    return made
        if len(self.entries.get(cls, ())) >= _MOST:
            return walk()
        looks: list[Look] = []
        base, begun = len(state.pendings), state.clock
        segment = state.open()
        self.looks.open.append(looks)
        try:
            made = walk()
        finally:
            mine = self.looks.open.pop()
            if self.looks.open:
                self.looks.open[-1].extend(mine)
            saved = dict(segment.saved)
            if len(state.pendings) == base and segment in state.segments:
                for inner in state.segments[state.segments.index(segment) + 1 :]:
                    for key, item in inner.saved.items():
                        if item[0].serial < segment.start:
                            saved.setdefault(key, item)
                state.keep(segment)
                clean = True
            else:
                clean = False
        if not clean or not isinstance(made, Instance) or made.serial < segment.start:
            return made
        changes = _changes(saved)
        if changes is None:
            return made
        entry = _Entry(names, given, _unique(mine), changes, made, segment.start, begun, state.clock)
        environment = {id(value): value for value in given if isinstance(value, Derived)}
        try:
            known = Known(machine, environment, segment.start)
            entry.looks = [look for look in entry.looks if known.depends(look[0])]
            # what becomes of the object later is not what its constructor made
            copy = Copy(known, segment.start, moves=False)
            entry.made = copy.of(made)
            entry.changes = [copy.of_change(change) for change in changes]
        except Free:
            return made
        self.entries.setdefault(cls, []).append(entry)
        return made

    def _reuse(self, machine: Machine, entry: _Entry, given: list[Value]) -> Value | None:
        environment: dict[int, Const] = {}
        for old, new in zip(entry.given, given, strict=True):
            if isinstance(old, Derived):
                if not isinstance(new, Const) or type(raw_of(new)) is not type(old.raw):
                    return None
                environment[id(old)] = new
            elif not _alike(old, new, entry):
                return None
        known = Known(machine, environment, entry.start)
        try:
            for constant, test, answer in entry.looks:
                found = test(known.raw(constant))
                if type(found) is not type(answer) or found != answer:
                    return None
            copy = Copy(known, entry.start)
            made = copy.of(entry.made)
            changes = [copy.of_change(change) for change in entry.changes]
        except Exception:  # a computation that fails for these numbers, or a constant of elsewhere: it is walked
            return None
        for change in changes:
            _make(machine, change)
        if self.looks.open:
            for constant, test, answer in entry.looks:
                moved = known.moved(constant)
                if isinstance(moved, Derived):
                    self.looks.open[-1].append((moved, test, answer))
        self.reused += 1
        return made


def _unique(looks: list[Look]) -> list[Look]:
    seen: dict[tuple[int, int], Look] = {}
    for look in looks:
        seen.setdefault((id(look[0]), id(look[1])), look)
    return list(seen.values())


# --- whether arguments are the same ---


def _alike(old: Value, new: Value, entry: _Entry) -> bool:
    """Whether an argument is the one of the recorded call, and as it was."""
    if old is new:
        return not isinstance(old, Store) or _unchanged(old, entry.clock, 0)
    if isinstance(new, Derived) or isinstance(old, Derived):
        return False
    if isinstance(old, Unknown) and isinstance(new, Unknown):
        return old.reason == new.reason and old.cls is new.cls and old.truthy is new.truthy
    if isinstance(old, Seq) and isinstance(new, Seq):
        return (
            old.kind is new.kind
            and len(old.content) == len(new.content)
            and old.loose == new.loose
            and old.stamp <= entry.begun
            and all(_alike(a, b, entry) for a, b in zip(old.content, new.content, strict=True))
        )
    if isinstance(old, Map) and isinstance(new, Map):
        return (
            old.kind is new.kind
            and old.content.keys() == new.content.keys()
            and old.loose == new.loose
            and old.stamp <= entry.begun
            and all(_alike(old.content[key][1], new.content[key][1], entry) for key in old.content)
        )
    return same(old, new)


def _unchanged(store: Store, clock: int, level: int) -> bool:
    """Whether an object, and those that it holds, are as they were; what a constructor adds to a dict is no change."""
    if store.stamp > clock:
        return False
    if level < _LEVELS and isinstance(store, Instance):
        return all(_unchanged(item, clock, level + 1) for item in store.content.values() if isinstance(item, Instance))
    return True


# --- what a constructor changes outside of its object ---


def _changes(saved: Delta) -> list[Change] | None:
    """What was added; None where something was changed in another way."""
    found: list[Change] = []
    for store, before, loose in saved.values():
        if loose != store.loose:
            return None
        change = Change(store)
        if isinstance(store, Seq):
            if len(store.content) < len(before) or not _same_items(before, store.content[: len(before)]):
                return None
            change.added = [(None, item) for item in store.content[len(before) :]]
        elif isinstance(store, Map):
            for key, entry in before.items():
                present = store.content.get(key)
                if present is None:
                    return None
                if not same_item(entry[1], present[1]):
                    grown = _growth(entry[1], present[1])
                    if grown is None:
                        return None
                    change.grown[key] = grown
            for key, (shown, item) in store.content.items():
                if key not in before:
                    if not isinstance(shown, Const):
                        return None
                    change.added.append((shown, item))
        elif isinstance(store, SetValue):
            if not before.keys() <= store.content.keys():
                return None
            added = [item for key, item in store.content.items() if key not in before]
            if not all(isinstance(item, Const) for item in added):
                return None
            change.added = [(None, item) for item in added]
        elif (
            isinstance(store, Stream)
            or before.keys() != store.content.keys()
            or not all(same_item(item, store.content[name]) for name, item in before.items())
        ):
            return None
        if change.added or change.grown:
            found.append(change)
    return found


def _same_items(left: list[Value], right: list[Value]) -> bool:
    return all(same_item(a, b) for a, b in zip(left, right, strict=True))


def same_item(left: Value, right: Value) -> bool:
    """Whether nothing that is known tells two values apart."""
    if left is right:
        return True
    if isinstance(left, Derived) or isinstance(right, Derived):
        return False
    if isinstance(left, Unknown) and isinstance(right, Unknown):
        return left.cls is right.cls and left.truthy is right.truthy
    if isinstance(left, (Perhaps, OneOf)) and isinstance(right, (Perhaps, OneOf)):
        return True  # what a condition that is not known left there once, it leaves there again
    return same(left, right)


def _growth(before: Value, after: Value) -> int | None:
    if (
        isinstance(before, Const)
        and isinstance(after, Const)
        and type(raw_of(before)) is int
        and type(raw_of(after)) is int
    ):
        return raw_of(after) - raw_of(before)
    return None


def _make(machine: Machine, change: Change) -> None:
    store, added = change.store, change.added
    machine.state.touch(store)
    if isinstance(store, Seq):
        store.content = [*store.content, *(item for _key, item in added)]
    elif isinstance(store, Map):
        for key, grown in change.grown.items():
            shown, before = store.content[key]
            if isinstance(before, Const):
                store.content[key] = (shown, Const(raw_of(before) + grown))
        for key, item in added:
            assert isinstance(key, Const)
            store.content[raw_of(key)] = (key, item)
    elif isinstance(store, SetValue):
        for _key, item in added:
            assert isinstance(item, Const)
            store.content.setdefault(raw_of(item), item)
