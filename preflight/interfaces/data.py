"""What ``preflight interfaces`` has to say, as plain data."""

from __future__ import annotations

from dataclasses import dataclass

from preflight.model import Span, TreeFacts
from preflight.program.model_info import Flag


@dataclass(frozen=True, slots=True)
class MissingMember:
    """A method of an interface that the class claims and leaves without a body; ``span`` is the method's own place."""

    interface: str
    member: str
    signature: str
    span: Span


@dataclass(frozen=True, slots=True)
class MemberOrigin:
    """Where a member of an interface comes from in a class: ``owner`` is the class that defines it, ``kind`` what it is
    ("method", "value", "instance attribute", "annotation" ...)."""

    interface: str
    member: str
    kind: str
    owner: str
    span: Span


@dataclass(frozen=True, slots=True)
class ModelRow:
    """One architecture. ``error`` is why its class cannot be had at run time; ``doubts`` say why it is not complete."""

    architecture: str
    module: str
    name: str
    flags: tuple[Flag, ...] = ()
    mro: tuple[str, ...] = ()
    complete: bool = False
    missing: tuple[MissingMember, ...] = ()
    error: str | None = None
    doubts: tuple[str, ...] = ()
    span: Span | None = None
    #: the places of the classes of ``mro``, where they have one
    places: tuple[Span | None, ...] = ()
    #: the interfaces that it claims, by name, in MRO order
    interfaces: tuple[str, ...] = ()
    #: where the members of its interfaces come from; only for a class that was asked for by name
    members: tuple[MemberOrigin, ...] | None = None


@dataclass(frozen=True, slots=True)
class InterfacesReport:
    """All rows, in the order of the registry. ``detailed``: they were asked for by name."""

    tree: TreeFacts
    rows: tuple[ModelRow, ...]
    detailed: bool = False
    notes: tuple[str, ...] = ()
