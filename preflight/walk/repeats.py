"""Constructors that were walked before: a layer whose inputs differ only by its number is walked once.

While the constructor of a module of torch is walked, it is recorded what was looked at of the constants that depend on
the number of a round (``preflight.walk.derived``), and what was changed outside of the new object. Another call with
the same arguments but for such constants is not walked again when it would learn the same from its own: its object is
a copy of the first, with the names made of its own number, and the changes outside are made for it too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from preflight.walk.derived import Derived, Look, Looks, raw_of
from preflight.walk.frames import Frame
from preflight.walk.joining import same
from preflight.walk.values import (
    Bound,
    Class,
    Const,
    Function,
    Host,
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


class _Free(Exception):
    """A constant depends on something that the arguments do not give."""


@dataclass(slots=True)
class _Change:
    """What a constructor added to something outside of its object: items, or what a number grew by."""

    store: Store
    added: list[tuple[Value | None, Value]] = field(default_factory=list)
    grown: dict[Any, int] = field(default_factory=dict)


@dataclass(slots=True)
class _Entry:
    """A call that was recorded."""

    names: tuple[str, ...]
    given: list[Value]
    looks: list[Look]
    changes: list[_Change]
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
            known = _Known(machine, environment, segment.start)
            entry.looks = [look for look in entry.looks if known.depends(look[0])]
            # what becomes of the object later is not what its constructor made
            copy = _Copy(known, segment.start, moves=False)
            entry.made = copy.of(made)
            entry.changes = [copy.of_change(change) for change in changes]
        except _Free:
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
        known = _Known(machine, environment, entry.start)
        try:
            for constant, test, answer in entry.looks:
                found = test(known.raw(constant))
                if type(found) is not type(answer) or found != answer:
                    return None
            copy = _Copy(known, entry.start)
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


class _Known:
    """The constants of a recorded call, computed for the arguments of another."""

    def __init__(self, machine: Machine, environment: dict[int, Any], start: int) -> None:
        self.machine = machine
        self.environment = environment
        self.start = start
        self._raws: dict[int, Any] = {}
        self._moved: dict[int, Const] = {}
        self._depends: dict[int, bool] = {}

    def depends(self, constant: Derived) -> bool:
        """Whether a constant depends on the arguments. Raises ``_Free`` when on something else outside the call."""
        key = id(constant)
        if key in self.environment:
            return True
        found = self._depends.get(key)
        if found is None:
            if constant.compute is None:
                if constant.born < self.start:
                    raise _Free
                found = False
            else:
                answers = [self.depends(source) for source in constant.sources if isinstance(source, Derived)]
                found = any(answers)
            self._depends[key] = found
        return found

    def raw(self, constant: Const) -> Host:
        """The constant for these arguments."""
        if not isinstance(constant, Derived):
            return constant.value
        key = id(constant)
        given = self.environment.get(key)
        if given is not None:
            return raw_of(given)
        if key not in self._raws:
            if not self.depends(constant):
                self._raws[key] = constant.raw
            else:
                assert constant.compute is not None
                self._raws[key] = constant.compute(*(self.raw(source) for source in constant.sources))
        return self._raws[key]

    def moved(self, constant: Derived) -> Const:
        """The constant as one that is derived from these arguments."""
        key = id(constant)
        given = self.environment.get(key)
        if given is not None:
            return given
        found = self._moved.get(key)
        if found is None:
            if not self.depends(constant):
                found = constant
            else:
                sources = tuple(
                    self.moved(source) if isinstance(source, Derived) else source for source in constant.sources
                )
                raw = self.raw(constant)
                if any(isinstance(source, Derived) for source in sources):
                    serial = self.machine.state.serial
                    found = Derived(raw, self.machine.repeats.looks, serial, constant.compute, sources)
                else:
                    found = Const(raw)
                found.origin = constant.origin
            self._moved[key] = found
        return found


class _Copy:
    """Copies what a recorded call made; what was there before it is shared.

    ``moves``: for the arguments of another call; otherwise as it is.
    """

    def __init__(self, known: _Known, start: int, *, moves: bool = True) -> None:
        self.known = known
        self.moves = moves
        self.start = start
        self.machine = known.machine
        self.made: dict[int, Value] = {}

    def of(self, value: Value) -> Value:
        """The value of the other call that stands for ``value``."""
        if isinstance(value, Derived):
            if self.moves:
                return self.known.moved(value)
            self.known.depends(value)
            return value
        if isinstance(value, Store):
            return self._store(value)
        if isinstance(value, Bound):
            function, receiver = self.of(value.function), self.of(value.receiver)
            return value if function is value.function and receiver is value.receiver else Bound(function, receiver)
        if isinstance(value, Perhaps):
            inner = self.of(value.value)
            return value if inner is value.value else Perhaps(inner)
        if isinstance(value, OneOf):
            return OneOf(tuple(self.of(option) for option in value.options))
        return value

    def of_change(self, change: _Change) -> _Change:
        """The change that the other call makes."""
        added = [(self.of(key) if key is not None else None, self.of(item)) for key, item in change.added]
        return _Change(change.store, added, change.grown)

    def _store(self, value: Store) -> Value:
        if value.serial < self.start or isinstance(value, Class):
            return value
        found = self.made.get(id(value))
        if found is not None:
            return found
        if isinstance(value, Stream):
            raise _Free
        serial = self.machine.state.fresh()
        made: Store
        if isinstance(value, Seq):
            made = Seq(value.kind, [], serial)
            self.made[id(value)] = made
            made.content = [self.of(item) for item in value.content]
        elif isinstance(value, Map):
            made = Map(value.kind, {}, serial)
            self.made[id(value)] = made
            made.factory = value.factory
            for hashed, (key, item) in value.content.items():
                other = self.of(key)
                made.content[raw_of(other) if isinstance(key, Derived) else hashed] = (other, self.of(item))
        elif isinstance(value, SetValue):
            made = SetValue(value.kind, {}, serial)
            self.made[id(value)] = made
            for hashed, item in value.content.items():
                other = self.of(item)
                made.content[raw_of(other) if isinstance(item, Derived) else hashed] = other
        elif isinstance(value, Instance):
            made = Instance(value.cls, serial)
            self.made[id(value)] = made
            made.payload = self.of(value.payload) if value.payload is not None else None
            made.content = {name: self.of(item) for name, item in value.content.items()}
        elif isinstance(value, Function):
            made = Function(value.node, value.closure, value.name, serial)
            self.made[id(value)] = made
            closure = self.of(value.closure)
            assert isinstance(closure, Frame)
            made.closure, made.qualname, made.module = closure, value.qualname, value.module
            made.defaults = [self.of(item) for item in value.defaults]
            made.kwdefaults = {name: self.of(item) for name, item in value.kwdefaults.items()}
            made.owner, made.shape = value.owner, value.shape
            made.content = {name: self.of(item) for name, item in value.content.items()}
        elif isinstance(value, Frame):
            made = Frame(value.kind, value.name, value.module, value.closure, value.scope, serial)
            self.made[id(value)] = made
            made.node, made.function, made.owner, made.past = value.node, value.function, value.owner, value.past
            if value.closure is not None:
                outer = self.of(value.closure)
                assert isinstance(outer, Frame)
                made.closure = outer
            made.content = {name: self.of(item) for name, item in value.content.items()}
        else:
            return value
        made.loose, made.origin = value.loose, value.origin
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


def _changes(saved: Delta) -> list[_Change] | None:
    """What was added; None where something was changed in another way."""
    found: list[_Change] = []
    for store, before, loose in saved.values():
        if loose != store.loose:
            return None
        change = _Change(store)
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


def _make(machine: Machine, change: _Change) -> None:
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
