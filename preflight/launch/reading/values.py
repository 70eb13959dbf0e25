"""The values that the reader of the launch code works with.

What is plain data in the tree's code (numbers, text, lists, dicts, functions of the standard library that only compute)
is the Python object itself. This module has what stands for everything else: classes, functions and instances of the
tree, names of libraries that are not read, type annotations, and what is not known.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

if TYPE_CHECKING:
    from preflight.launch.reading.modules import Module
    from preflight.launch.reading.run import Run


#: a value of the code that is read: plain data, or an object of one of the classes below
Object: TypeAlias = Any


class NotKnown(Exception):
    """A step hangs on a value that is not known; the step's own result is then not known either."""

    def __init__(self, unknown: Unknown) -> None:
        super().__init__(unknown.reason)
        self.unknown = unknown


class Raised(Exception):
    """The code that is read raises ``error``: a built-in exception, or an Instance of a class of the tree."""

    def __init__(self, error: Object, path: str, line: int, deliberate: bool = False) -> None:
        super().__init__(describe(error))
        self.error = error
        self.path = path
        self.line = line
        self.deliberate = deliberate  #: by a ``raise`` or ``assert``, not by something that went wrong

    @property
    def ends_well(self) -> bool:
        """True for the end of a program that has done what it was asked."""
        return isinstance(self.error, SystemExit) and self.error.code in (None, 0)


class OutOfBudget(Exception):
    """The code takes more steps than reading a parser ever needs."""


class Unknown:
    """A value that is not known, and why. Whatever Python does with it ends in NotKnown, never in a guess."""

    __slots__ = ("reason",)

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def __repr__(self) -> str:
        return f"Unknown({self.reason!r})"

    def _refuse(self, *_: object) -> NoReturn:
        raise NotKnown(self)

    __bool__ = __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __iter__ = __len__ = __contains__ = __getitem__ = __index__ = __int__ = __float__ = __str__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __or__ = __ror__ = __and__ = __rand__ = _refuse
    __hash__ = object.__hash__


@dataclass(frozen=True, slots=True)
class External:
    """A name of a library that is not read, by its import path."""

    dotted: str

    def __str__(self) -> str:
        return self.dotted


@dataclass(frozen=True, slots=True)
class Hint:
    """A subscripted type annotation: ``origin[arguments]``. Unions have the origin that ``typing.get_origin`` gives."""

    origin: Object
    arguments: tuple[Object, ...]

    def __str__(self) -> str:
        inner = ", ".join(describe(argument) for argument in self.arguments)
        return f"{describe(self.origin)}[{inner}]"


@dataclass(frozen=True, slots=True)
class ForwardRef:
    """A name in an annotation that is written as text, as ``typing`` keeps it."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Native:
    """A function of ours that stands for one of a library: it is given the run, the arguments and the keywords."""

    name: str
    function: Callable[..., Object]
    wants_run: bool = True


class Scope:
    """The names of a running function, comprehension or class body, and the scope around it."""

    __slots__ = ("caught", "function", "maybe_returns", "module", "names", "outer", "owner", "shared")

    def __init__(
        self,
        module: Module,
        outer: Scope | None = None,
        function: Function | None = None,
        owner: Class | None = None,
    ) -> None:
        self.module = module
        self.outer = outer
        self.function = function
        self.owner = owner  #: the class whose body this is
        self.names: dict[str, Object] = {}
        self.shared: dict[str, Scope | None] = {}  #: names declared global (None) or nonlocal
        self.maybe_returns: list[Object] = []  #: what may have been returned before
        self.caught: list[Raised] = []  #: exceptions that are being handled


@dataclass(eq=False, slots=True)
class Function:
    """A function of the tree. It can be called by Python itself (``sorted(key=...)``), which leads back to the run."""

    run: Run
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    name: str
    module: Module
    outer: Scope | None
    defaults: tuple[Object, ...] = ()
    keyword_defaults: dict[str, Object] = field(default_factory=dict)
    owner: Class | None = None

    def __call__(self, *arguments: Object, **keywords: Object) -> Object:
        from preflight.launch.reading.calls import call

        return call(self.run, self, list(arguments), keywords)


@dataclass(eq=False, slots=True)
class Bound:
    """A function with its first argument."""

    function: Object
    receiver: Object

    def __call__(self, *arguments: Object, **keywords: Object) -> Object:
        from preflight.launch.reading.calls import call

        run = self.function.run if isinstance(self.function, Function) else self.receiver.cls.run
        return call(run, self, list(arguments), keywords)


@dataclass(eq=False, slots=True)
class Wrapped:
    """A method as a class body keeps it: ``kind`` is staticmethod, classmethod or property."""

    kind: str
    function: Object


@dataclass(eq=False, slots=True)
class Class:
    """A class of the tree. ``bases`` are Class, External, native types or base classes of ours (NativeBase).

    ``names`` holds what its body and later statements have given a value; the body is read name by name when asked.
    """

    run: Run
    name: str
    module: Module
    node: ast.ClassDef
    outer: Scope | None
    bases: tuple[Object, ...] = ()
    names: dict[str, Object] = field(default_factory=dict)
    dataclass: dict[str, Object] | None = None  #: the options of the decorator that makes it a dataclass
    order: tuple[Object, ...] = ()  #: its MRO
    members: dict[str, Instance] | None = None  #: of an enumeration
    statements: dict[str, list[ast.stmt]] | None = None  #: its body by the names that it binds
    pending: set[str] = field(default_factory=set)  #: names whose statements are running

    def __call__(self, *arguments: Object, **keywords: Object) -> Object:
        from preflight.launch.reading.calls import call

        return call(self.run, self, list(arguments), keywords)

    def __str__(self) -> str:
        return f"<class '{self.module.name}.{self.name}'>"


@dataclass(eq=False, slots=True)
class Instance:
    """An object of a class of the tree. ``native`` is the object of ours that stands for its built-in part."""

    cls: Class
    names: dict[str, Object] = field(default_factory=dict)
    native: Object = None


@dataclass(eq=False, slots=True)
class Super:
    """``super()``: looks behind ``cls`` in the order of the receiver's class."""

    cls: Class
    receiver: Object


@dataclass(frozen=True, slots=True)
class NativeBase:
    """A class of a library that classes of the tree extend, with the methods of ours that stand for its own.

    ``attributes`` is asked for names that the instance itself does not have.
    """

    dotted: str
    methods: dict[str, Native]
    attributes: Callable[[Instance, str], Object] | None = None
    bases: tuple[NativeBase, ...] = ()

    def __hash__(self) -> int:
        return hash(self.dotted)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NativeBase) and other.dotted == self.dotted


class ValidationError(ValueError):
    """What stands for ``pydantic.ValidationError``."""


def describe(value: Object) -> str:
    """A value as a message shows it."""
    if isinstance(value, Instance):
        arguments = value.names.get("args", ())
        told = ", ".join(describe(argument) for argument in arguments) if isinstance(arguments, tuple) else ""
        return f"{value.cls.name}({told})" if told else value.cls.name
    if isinstance(value, Class):
        return value.name
    if isinstance(value, Function):
        return value.name
    if isinstance(value, Bound):
        return describe(value.function)
    if isinstance(value, Unknown):
        return "?"
    if isinstance(value, (type, Native)):
        return getattr(value, "__name__", None) or getattr(value, "name", "?")
    if callable(value) and hasattr(value, "__name__"):
        return value.__name__
    if isinstance(value, BaseException):
        return f"{type(value).__name__}: {value}" if str(value) else type(value).__name__
    return str(value)
