"""The state of a body that runs: its frames, the names that may be bound in them, and what stands around the place."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from preflight.checks.body.bindings import Bindings
from preflight.checks.body.moment import Moment, Visitor
from preflight.checks.body.scopes import Scope, ScopeKind, Scopes


@dataclass(slots=True, eq=False)
class Frame:
    """A scope that runs. ``possible``: the names that may be bound; None where no run gets to."""

    scope: Scope
    possible: set[str] | None
    parent: Frame | None
    #: a ``return`` under a condition was passed: what follows may not run
    cut: bool = False
    #: how many open tests stood before it was entered
    doubt: int = 0


@dataclass(slots=True, eq=False)
class Catcher:
    """A ``try`` or ``with`` whose body runs. ``depth``: how many doubts stood before it."""

    node: ast.AST
    names: tuple[str, ...]
    depth: int
    passed: bool = False


class State:
    """What is true at the place that was reached. ``known`` are the names that need no binding."""

    def __init__(self, scopes: Scopes, visitor: Visitor, known: frozenset[str], evaluated: bool) -> None:
        self.scopes = scopes
        self.visitor = visitor
        self.known = known
        self.evaluated = evaluated
        self.bindings = Bindings()
        self.frame = Frame(scopes.module, set(), None)
        self.open = False  # a star import has brought names that nobody knows
        self.starred: set[str] = set()  # names that star imports have brought; no statement shows them
        self.whole = False  # the module has run to its end: all of its names are bound
        self.conditions: list[ast.AST] = []
        self.handlers = 0  # how many handlers are around the place to which no fault is known to lead
        self.calls: list[ast.Call] = []
        #: the statements around the place that catch something: what they catch, how deep they are, and whether
        #: anything has run in them that may have raised
        self.catchers: list[Catcher] = []

    def passed(self) -> None:
        """Something has run here that may have raised."""
        for catcher in self.catchers:
            catcher.passed = True

    def moment(self) -> Moment:
        """How sure it is that this place is reached."""
        frame: Frame | None = self.frame
        cut = False
        while frame is not None:
            cut = cut or frame.cut
            frame = frame.parent
        certain = not self.conditions and not cut and not self.handlers
        caught = [name for catcher in self.catchers for name in catcher.names]
        if any(catcher.passed and catcher.names for catcher in self.catchers):
            # What came before may have raised and been caught, and then this place is not reached.
            caught.append("?")
        return Moment(certain, tuple(self.conditions), self.handlers > 0, tuple(caught), tuple(self.calls))

    def find(self, name: str) -> Frame:
        """The frame that a read of ``name`` goes to: as ``Scopes.owner``, but a class counts only for what it has."""
        frame = self.frame
        own_class = True
        while frame.parent is not None:
            scope = frame.scope
            if name in scope.globals:
                break
            if scope.kind is ScopeKind.CLASS:
                if own_class and (frame.possible is None or name in frame.possible):
                    return frame
            elif scope.own(name):
                return frame
            own_class = own_class and scope.kind is ScopeKind.TYPES
            frame = frame.parent
        while frame.parent is not None:
            frame = frame.parent
        return frame

    def read(self, node: ast.Name) -> None:
        """Tell the visitor if the name is certainly unbound."""
        name = node.id
        frame = self.find(name)
        if frame.possible is None or name in frame.possible:
            return
        if frame.parent is not None:
            if name not in self.scopes.assigned_inside and frame.scope.kind is ScopeKind.FUNCTION:
                self.visitor.unbound(node, True, self.moment())
        elif (
            not self.open
            and name not in self.known
            and not (self.whole and (name in self.starred or self._is_bound(name)))
        ):
            self.visitor.unbound(node, False, self.moment())

    def _is_bound(self, name: str) -> bool:
        """Whether the module, or a function around the one that is followed by itself, has the name."""
        owner = self.scopes.owner(self.frame.scope, name)
        return owner is not self.scopes.module or name in owner.live

    def bind(self, name: str) -> None:
        """``name`` gets a value in the scope that it belongs to."""
        frame = self.frame
        while frame.scope.kind in (ScopeKind.COMPREHENSION, ScopeKind.TYPES) and frame.parent is not None:
            frame = frame.parent
        if name in frame.scope.globals:
            while frame.parent is not None:
                frame = frame.parent
        elif name in frame.scope.nonlocals:
            return
        if frame.possible is not None:
            frame.possible.add(name)

    def copy(self) -> set[str] | None:
        """The names that may be bound now, to come back to."""
        return None if self.frame.possible is None else set(self.frame.possible)

    def join(self, other: set[str] | None) -> None:
        """Another way leads here, on which ``other`` may be bound."""
        self.frame.possible = joined(self.frame.possible, other)

    def widen(self, node: ast.AST) -> None:
        """A loop's body may have run before: what it binds may be bound."""
        if self.frame.possible is not None:
            self.frame.possible |= self.bindings.of(node)


def joined(left: set[str] | None, right: set[str] | None) -> set[str] | None:
    """The names that may be bound where two ways meet; None is a way that nobody comes."""
    if left is None:
        return right
    return left if right is None else left | right
