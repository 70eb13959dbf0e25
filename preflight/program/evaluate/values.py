"""The values of the class-level evaluator.

Constants, tuples, lists, dicts and sets are themselves; a class is a ``classes.Class``. The rest is here. A value that
is not known is an ``Unknown`` with the reason: it goes through attributes and calls, and stops whatever would have to
decide on it (``Undecidable``).
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from preflight.program.definitions import Value

if TYPE_CHECKING:
    from preflight.program.classes import Class
    from preflight.program.facts import FunctionFacts, Parameter
    from preflight.program.modules import Module


#: larger containers, texts and numbers are not made: a file may ask for any size
LARGEST = 100_000
LARGEST_TEXT = 2_000


class Undecidable(Exception):
    """The evaluation cannot go on: something that decides it is not known."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Raised(Exception):
    """The code raises. ``name`` is the exception's class, ``path`` and ``line`` are the place of the raise."""

    def __init__(self, name: str, message: str = "", path: str | None = None, line: int | None = None) -> None:
        super().__init__(f"{name}: {message}")
        self.name = name
        self.message = message
        self.path = path
        self.line = line


@dataclass(frozen=True, slots=True, eq=False)
class Unknown:
    """A value that is not known."""

    reason: str


@dataclass(frozen=True, slots=True)
class Opaque:
    """Something outside the tree, by its import path: the same path is the same thing."""

    path: str


@dataclass(frozen=True, slots=True)
class ModuleValue:
    """A module."""

    name: str


@dataclass(frozen=True, slots=True)
class UnionValue:
    """``X | Y`` or ``Optional[X]`` as a value."""

    members: frozenset[Value]


@dataclass(frozen=True, slots=True)
class EnumMember:
    """A member of an enumeration of the tree."""

    cls: Class
    name: str


@dataclass(slots=True, eq=False)
class Function:
    """A function or lambda with the scope it was made in. ``node`` is found when it is first called."""

    module: Module
    name: str
    qualname: str
    parameters: tuple[Parameter, ...]
    facts: FunctionFacts | None = None
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | None = None
    frame: Frame | None = None
    owner: Class | None = None
    defaults: dict[str, Value] = field(default_factory=dict)
    attributes: dict[str, Value] = field(default_factory=dict)
    #: set where the function comes from a class whose source is not at hand
    opaque: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """A function bound to its first argument."""

    receiver: Value
    function: Value


@dataclass(frozen=True, slots=True, eq=False)
class Descriptor:
    """A property or another descriptor, read on the class."""

    name: str


@dataclass(slots=True, eq=False)
class Instance:
    """An object of a class of the tree, with the attributes that were set on it."""

    cls: Class
    attributes: dict[str, Value] = field(default_factory=dict)
    items: dict[Value, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Host:
    """A function that is carried out by preflight itself: a builtin, or library knowledge."""

    name: str
    call: Callable[..., Value]


@dataclass(frozen=True, slots=True, eq=False)
class Deferred:
    """An attribute that is worked out when it is read."""

    make: Callable[[], Value]


@dataclass(frozen=True, slots=True, eq=False)
class HostObject:
    """An object whose attributes preflight knows; a Deferred among them is worked out once."""

    name: str
    attributes: dict[str, Value]


@dataclass(slots=True, eq=False)
class Frame:
    """A scope: the names of a function that runs, or of a class body, within those around it."""

    module: Module
    names: dict[str, Value]
    outer: Frame | None = None
    function: Function | None = None
    #: for a class body: the class whose names are looked up first
    cls: Class | None = None
    global_names: frozenset[str] = frozenset()
    #: for code of the module's own body: the line at which it runs, which decides what its names are bound to
    line: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Super:
    """``super()`` in a method of ``cls``, on ``receiver``."""

    cls: Class
    receiver: Value
