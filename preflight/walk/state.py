"""The state that branch arms share: saved on the first change in an arm, rolled back after it, joined with the others.

A *segment* is a stretch of the walk whose changes can be undone: the content of every older store is kept as it was
before its first change. An arm is run in a segment, its delta (the contents as the arm left them) is taken, and the
state is rolled back. What leaves an arm by ``return``, ``break``, ``continue`` or ``raise`` while another arm goes on
is
*pending*: its delta waits, relative to the start of the segment in which the others continue, until the function, loop
or ``try`` that it leaves comes to its end.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from preflight.walk.values import Host, Store

#: the contents of stores as an arm left them: id -> (store, content, loose)
Delta = dict[int, tuple[Store, Any, "str | None"]]
#: the serial of a module: older than any arm, also one at the top level of another module
OLDEST = -(10**16)


class Segment:
    """One stretch of the walk whose changes can be undone."""

    __slots__ = ("saved", "start")

    def __init__(self, start: int) -> None:
        self.start = start
        self.saved: Delta = {}


@dataclass(slots=True)
class Pending:
    """An outcome that waits for the end of what it leaves; ``delta`` is relative to the start of ``segment``."""

    outcome: Any
    delta: Delta
    segment: Segment


def copied(content: Host) -> Host:
    return content.copy() if isinstance(content, (list, dict)) else content


@dataclass(slots=True)
class State:
    """Segments and pending outcomes, innermost last; ``tries`` counts the open ``try`` statements that can catch."""

    serial: int = 1
    #: counts changes
    clock: int = 0
    segments: list[Segment] = field(default_factory=list)
    pendings: list[Pending] = field(default_factory=list)
    tries: int = 0
    #: how many of them are known to end in an exception whatever is raised inside
    passing: int = 0
    #: the open arms of conditions that are not known
    arms: int = 0
    #: while a module's body is walked: the segments that wait outside of it, and the stores it changed
    suspended: list[Segment] = field(default_factory=list)
    lasting: dict[int, Store] = field(default_factory=dict)

    def fresh(self) -> int:
        """A serial number, younger than all before."""
        self.serial += 1
        return self.serial

    def touch(self, store: Store) -> None:
        """Must be called before every change of ``store``."""
        self.clock += 1
        store.stamp = self.clock
        if self.segments:
            segment = self.segments[-1]
            if store.serial < segment.start and id(store) not in segment.saved:
                segment.saved[id(store)] = (store, copied(store.content), store.loose)
        elif self.suspended:
            self.lasting[id(store)] = store

    def outlast(self) -> None:
        """What a module's body changed stays when the arm that asked for it is rolled back."""
        for key, store in self.lasting.items():
            for segment in self.suspended:
                if key in segment.saved:
                    segment.saved[key] = (store, copied(store.content), store.loose)
        self.lasting = {}

    def open(self) -> Segment:
        segment = Segment(self.fresh())
        self.segments.append(segment)
        return segment

    def keep(self, segment: Segment) -> None:
        """Close ``segment`` and all inside it; their changes stay, and belong to the segment around them."""
        self._collapse(segment)
        self.segments.pop()
        if self.segments:
            outer = self.segments[-1]
            for key, entry in segment.saved.items():
                if entry[0].serial < outer.start:
                    outer.saved.setdefault(key, entry)

    def take(self, segment: Segment) -> Delta:
        """Close ``segment`` and all inside it, roll their changes back, and hand the contents out."""
        self._collapse(segment)
        self.segments.pop()
        delta: Delta = {}
        for key, (store, content, loose) in segment.saved.items():
            delta[key] = (store, store.content, store.loose)
            store.content = content
            store.loose = loose
        return delta

    def apply(self, delta: Delta) -> None:
        """Make the contents of ``delta`` the present ones."""
        for store, content, loose in delta.values():
            self.touch(store)
            store.content = copied(content)
            store.loose = loose

    def drain(self, base: int, segment: Segment) -> list[Pending]:
        """Remove the pending outcomes from index ``base`` on, each made relative to the start of ``segment``."""
        taken = self.pendings[base:]
        del self.pendings[base:]
        #: the contents that several of them have are copied once, and told to be the same by being one object
        copies: dict[int, Any] = {}
        for pending in taken:
            self._rebase(pending, segment, copies)
        return taken

    def _collapse(self, segment: Segment) -> None:
        while self.segments[-1] is not segment:
            inner = self.segments.pop()
            outer = self.segments[-1]
            for key, entry in inner.saved.items():
                if entry[0].serial < outer.start:
                    outer.saved.setdefault(key, entry)

    def _rebase(self, pending: Pending, segment: Segment, copies: dict[int, Any]) -> None:
        """Add to the delta what was changed between the start of ``segment`` and the start of the pending's own."""
        low = self.segments.index(segment)
        high = self.segments.index(pending.segment)
        for index in range(low, high):
            for key, (store, _content, _loose) in self.segments[index].saved.items():
                if key not in pending.delta:
                    content, loose = self._as_of(store, high)
                    if id(content) not in copies:
                        copies[id(content)] = copied(content)
                    pending.delta[key] = (store, copies[id(content)], loose)
        pending.segment = segment

    def _as_of(self, store: Store, high: int) -> tuple[Any, str | None]:
        """The content of ``store``, and why it is loose, when the segment at index ``high`` was opened."""
        for later in self.segments[high:]:
            entry = later.saved.get(id(store))
            if entry is not None:
                return entry[1], entry[2]
        return store.content, store.loose
