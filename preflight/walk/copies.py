"""What a recorded constructor made, computed and copied for the arguments of another call."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from preflight.walk.derived import Derived, raw_of
from preflight.walk.frames import Frame
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
    Value,
)

if TYPE_CHECKING:
    from preflight.walk.machine import Machine


class Free(Exception):
    """A constant depends on something that the arguments do not give."""


@dataclass(slots=True)
class Change:
    """What a constructor added to something outside of its object: items, or what a number grew by."""

    store: Store
    added: list[tuple[Value | None, Value]] = field(default_factory=list)
    grown: dict[Any, int] = field(default_factory=dict)


class Known:
    """The constants of a recorded call, computed for the arguments of another."""

    def __init__(self, machine: Machine, environment: dict[int, Any], start: int) -> None:
        self.machine = machine
        self.environment = environment
        self.start = start
        self._raws: dict[int, Any] = {}
        self._moved: dict[int, Const] = {}
        self._depends: dict[int, bool] = {}

    def depends(self, constant: Derived) -> bool:
        """Whether a constant depends on the arguments. Raises ``Free`` when on something else outside the call."""
        key = id(constant)
        if key in self.environment:
            return True
        found = self._depends.get(key)
        if found is None:
            if constant.compute is None:
                if constant.born < self.start:
                    raise Free
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


class Copy:
    """Copies what a recorded call made; what was there before it is shared.

    ``moves``: for the arguments of another call; otherwise as it is.
    """

    def __init__(self, known: Known, start: int, *, moves: bool = True) -> None:
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

    def of_change(self, change: Change) -> Change:
        """The change that the other call makes."""
        added = [(self.of(key) if key is not None else None, self.of(item)) for key, item in change.added]
        return Change(change.store, added, change.grown)

    def _store(self, value: Store) -> Value:
        if value.serial < self.start or isinstance(value, Class):
            return value
        found = self.made.get(id(value))
        if found is not None:
            return found
        if isinstance(value, Stream):
            raise Free
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
