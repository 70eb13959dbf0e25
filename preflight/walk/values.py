"""The values of the walk. Each knows its origin, none can be asked for its truth by accident.

``bool(v)`` raises: an unknown must never be falsy by chance. Ask ``preflight.walk.truth``. Two values are equal to the
host only when they are the same object; ``preflight.walk.equality`` compares them as the program would.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import ast

    from preflight.walk.frames import Frame
    from preflight.walk.machine import Machine

#: any object of the host: of known ones the walk's values are made, and back
Host: TypeAlias = Any

#: at most so many alternatives are kept apart; more become one unknown
MOST_OPTIONS = 4


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands: tree-relative path (or a name such as ``config.json``), line and column from 1."""

    path: str
    line: int
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None


class Value:
    """Anything the walked program can hold."""

    __slots__ = ("origin",)

    origin: str | None

    def __init__(self) -> None:
        self.origin = None

    def __bool__(self) -> bool:
        raise TypeError("a value of the walk has no truth of its own; ask preflight.walk.truth")


class Const(Value):
    """A value of the host that cannot change: numbers, strings, None, and objects of pure libraries such as a compiled
    pattern.
    """

    __slots__ = ("value",)

    def __init__(self, value: Host, origin: str | None = None) -> None:
        self.value = value
        self.origin = origin

    def __repr__(self) -> str:
        return f"Const({self.value!r})"


class Store(Value):
    """A value that can change. ``content`` is what a branch arm saves and rolls back; ``loose`` says why it may hold
    more.

    ``serial`` is the time of its creation: what is younger than an arm needs no saving by that arm. ``stamp`` is the
    time of the last change (by the clock of the state).
    """

    __slots__ = ("content", "loose", "serial", "stamp")

    content: Any
    loose: str | None
    serial: int
    stamp: int

    def __init__(self, content: Host, serial: int) -> None:
        self.origin = None
        self.content = content
        self.serial = serial
        self.stamp = 0
        self.loose = None


class Seq(Store):
    """A list or a tuple: ``kind`` is the class, ``content`` the items. ``loose``: they are not known."""

    __slots__ = ("kind",)

    content: list[Value]

    def __init__(self, kind: Class, items: list[Value], serial: int) -> None:
        super().__init__(items, serial)
        self.kind = kind

    def __repr__(self) -> str:
        return f"{self.kind.name}({self.content!r})"


class Map(Store):
    """A dict: ``content`` maps a hash key to (key, value). ``loose``: there may be more, and entries may have been
    replaced.
    """

    __slots__ = ("factory", "kind", "owner")

    content: dict[Any, tuple[Value, Value]]

    def __init__(self, kind: Class, entries: dict[Any, tuple[Value, Value]], serial: int) -> None:
        super().__init__(entries, serial)
        self.kind = kind
        self.factory: Value | None = None
        #: the object whose ``__dict__`` this is: what is written here is written there
        self.owner: Instance | None = None

    def __repr__(self) -> str:
        return f"{self.kind.name}({list(self.content.values())!r})"


class SetValue(Store):
    """A set or frozenset: ``content`` maps a hash key to the element."""

    __slots__ = ("kind",)

    content: dict[Any, Value]

    def __init__(self, kind: Class, elements: dict[Any, Value], serial: int) -> None:
        super().__init__(elements, serial)
        self.kind = kind


class Instance(Store):
    """An object of a class. ``payload``: what it holds of a built-in base (the string of a ``str`` enum, the tuple of a
    NamedTuple).
    """

    __slots__ = ("cls", "payload")

    content: dict[str, Value]

    def __init__(self, cls: Class, serial: int, payload: Value | None = None) -> None:
        super().__init__({}, serial)
        self.cls = cls
        self.payload = payload

    def __repr__(self) -> str:
        return f"<{self.cls.name} object>"


class Class(Store):
    """A class: ``content`` its namespace, ``complete`` False when a base or decorator is not known.

    ``native`` is the host class where the class is a built-in one. ``notes`` holds what library knowledge keeps about
    it
    (dataclass fields, enum members), by name.
    """

    __slots__ = (
        "bases",
        "complete",
        "metaclass",
        "module",
        "mro",
        "name",
        "native",
        "node",
        "notes",
        "path",
        "qualname",
    )

    content: dict[str, Value]

    def __init__(
        self, name: str, bases: tuple[Class, ...], serial: int, *, module: str = "builtins", native: type | None = None
    ) -> None:
        super().__init__({}, serial)
        self.name = name
        self.qualname = name
        self.bases = bases
        self.mro: tuple[Class, ...] = (self,)
        self.module = module
        self.native = native
        self.metaclass: Class | None = None
        self.node: ast.ClassDef | None = None
        self.path: str = ""
        self.complete: bool | str = True
        self.notes: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"<class {self.module}.{self.name}>"

    def lookup(self, name: str) -> Value | None:
        """The first binding of ``name`` along the MRO."""
        for cls in self.mro:
            found = cls.content.get(name)
            if found is not None:
                return found
        return None

    def is_subclass(self, other: Class) -> bool:
        return other in self.mro

    def gap(self) -> str | None:
        """Why the attributes of the class are not all known; None when they are."""
        for cls in self.mro:
            if cls.complete is not True:
                return str(cls.complete)
            if cls.loose:
                return cls.loose
        return None


class Function(Store):
    """A function of the tree; ``content`` holds the attributes that were set on it."""

    __slots__ = ("closure", "defaults", "kwdefaults", "module", "name", "node", "owner", "qualname", "shape")

    content: dict[str, Value]

    def __init__(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, closure: Frame, name: str, serial: int
    ) -> None:
        super().__init__({}, serial)
        self.node = node
        self.closure = closure
        self.name = name
        self.qualname = name
        self.module = closure.module.name
        self.defaults: list[Value] = []
        self.kwdefaults: dict[str, Value] = {}
        self.owner: Class | None = None
        self.shape: Any = None

    def __repr__(self) -> str:
        return f"<function {self.module}.{self.qualname}>"


class Bound(Value):
    """A callable with its first argument."""

    __slots__ = ("function", "receiver")

    def __init__(self, function: Value, receiver: Value) -> None:
        self.origin = None
        self.function = function
        self.receiver = receiver


Arguments: TypeAlias = "list[Value]"
Keywords: TypeAlias = "dict[str, Value]"
Implementation: TypeAlias = "Callable[[Machine, Arguments, Keywords], Value]"


class Builtin(Value):
    """A function of a library that the walk knows: ``run`` does what it does; ``attributes`` is what can be read from
    it; ``hands_on``: it hands its arguments on, and so takes those that are not known.
    """

    __slots__ = ("attributes", "hands_on", "name", "run")

    def __init__(
        self, name: str, run: Implementation, attributes: dict[str, Value] | None = None, *, hands_on: bool = False
    ) -> None:
        self.origin = None
        self.hands_on = hands_on
        self.attributes = attributes or {}
        self.name = name
        self.run = run

    def __repr__(self) -> str:
        return f"<builtin {self.name}>"


class Descriptor(Value):
    """property, cached_property, classmethod and staticmethod: ``kind`` says which."""

    __slots__ = ("deleter", "function", "kind", "name", "setter")

    def __init__(self, kind: str, function: Value, setter: Value | None = None, deleter: Value | None = None) -> None:
        self.origin = None
        self.kind = kind
        self.function = function
        self.setter = setter
        self.deleter = deleter
        self.name = ""


class ModuleValue(Store):
    """A module of the tree: ``content`` holds the globals bound so far."""

    __slots__ = ("file", "name", "program")

    content: dict[str, Value]

    def __init__(self, name: str, serial: int) -> None:
        super().__init__({}, serial)
        self.name = name
        self.file: str = ""
        self.program: Any = None

    def __repr__(self) -> str:
        return f"<module {self.name}>"


class External(Value):
    """A dotted name of a library that is not walked; what is known of it stands in ``preflight.walk.library``."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.origin = None
        self.name = name

    def __repr__(self) -> str:
        return f"<external {self.name}>"


class Super(Value):
    """``super()``: attributes of ``receiver`` behind ``after`` in the MRO of ``start``."""

    __slots__ = ("after", "receiver", "start")

    def __init__(self, start: Class, after: Class, receiver: Value) -> None:
        self.origin = None
        self.start = start
        self.after = after
        self.receiver = receiver


class Form(Value):
    """A typing form: ``Literal["a", "b"]``, ``int | None``, ``list[str]``; ``head`` is the dotted name of the form."""

    __slots__ = ("arguments", "head", "target")

    def __init__(self, head: str, arguments: tuple[Value, ...], target: Value | None = None) -> None:
        self.origin = None
        self.head = head
        self.arguments = arguments
        self.target = target

    def __repr__(self) -> str:
        return f"<form {self.head}{list(self.arguments)!r}>"


class Stream(Store):
    """An iterator: ``source`` gives its values one by one. ``loose`` once it was advanced in an arm that was rolled
    back.
    """

    __slots__ = ("kind", "source")

    def __init__(self, source: Iterator[Value], serial: int, kind: str = "generator") -> None:
        super().__init__({}, serial)
        self.source = source
        self.kind = kind


class OneOf(Value):
    """One of a few values, which one is not known."""

    __slots__ = ("options",)

    def __init__(self, options: tuple[Value, ...]) -> None:
        self.origin = None
        self.options = options

    def __repr__(self) -> str:
        return f"OneOf{list(self.options)!r}"


class Unknown(Value):
    """Not known, and why. ``truthy`` where at least its truth is known, ``cls`` where at least its class is.

    ``text``: of a string, what is known of it, for messages.
    """

    __slots__ = ("cls", "place", "reason", "text", "truthy")

    def __init__(
        self, reason: str, place: Place | None = None, *, truthy: bool | None = None, cls: Class | None = None
    ) -> None:
        self.origin = None
        self.text: str | None = None
        self.reason = reason
        self.place = place
        self.truthy = truthy
        self.cls = cls

    def __repr__(self) -> str:
        return f"Unknown({self.reason!r})"


class Perhaps(Value):
    """In a ``content`` only: the name is bound to ``value``, or not bound at all."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.origin = None
        self.value = value


NONE = Const(None)
TRUE = Const(True)
FALSE = Const(False)


def boolean(value: bool) -> Const:
    return TRUE if value else FALSE
