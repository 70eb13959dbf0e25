"""What an expression may be: the vocabulary of the answers."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from preflight.checks.inference.bodies import Body
    from preflight.program import Class, Module
    from preflight.program.facts import FunctionFacts


@dataclass(frozen=True, slots=True)
class InstanceOf:
    """An object of a class, or of a subclass that is not told apart."""

    cls: Class


@dataclass(frozen=True, slots=True)
class ClassItself:
    """A class."""

    cls: Class


@dataclass(frozen=True, slots=True)
class FunctionOf:
    """A function. ``owner`` is the class that defines it, ``receiver`` the class of the object that it is taken from;
    ``bound`` says that its first parameter is given."""

    module: Module
    line: int
    facts: FunctionFacts = field(compare=False)  # the place says which one it is; the facts are too large to compare
    owner: Class | None = None
    receiver: Class | None = None
    bound: bool = False


@dataclass(frozen=True, slots=True)
class ModuleOf:
    """A module, by its import path."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class LambdaOf:
    """A lambda, and the scope it was written in."""

    node: ast.Lambda
    env: Env


@dataclass(frozen=True, slots=True)
class ItemsOf:
    """Something that holds objects of one kind: a list, a tuple of no fixed shape, a ``ModuleList``, an iterator."""

    item: Alternatives


@dataclass(frozen=True, slots=True)
class TupleOf:
    """A tuple of a fixed shape."""

    items: tuple[Alternatives, ...]


@dataclass(frozen=True, slots=True)
class SuperOf:
    """``super()`` on an object of ``cls``, in a method of ``owner``."""

    cls: Class
    owner: Class


@dataclass(frozen=True, slots=True)
class Outside:
    """Something outside the tree, by its import path."""

    path: str


@dataclass(frozen=True, slots=True)
class Plain:
    """A constant: None, a number, a text."""

    value: object


Kind = InstanceOf | ClassItself | FunctionOf | ModuleOf | LambdaOf | ItemsOf | TupleOf | SuperOf | Outside | Plain


@dataclass(frozen=True, slots=True)
class Alternatives:
    """What something may be; with ``unknown`` it may be something else as well, for that reason."""

    kinds: tuple[Kind, ...] = ()
    unknown: str | None = None

    @property
    def exact(self) -> bool:
        """Whether it is certainly one of ``kinds``."""
        return self.unknown is None and bool(self.kinds)

    @property
    def pending(self) -> bool:
        """Whether nothing is known because it is still being found out."""
        return self.unknown is None and not self.kinds

    @property
    def only(self) -> Kind | None:
        """The one thing that it certainly is."""
        return self.kinds[0] if self.unknown is None and len(self.kinds) == 1 else None

    def classes(self) -> tuple[Class, ...] | None:
        """The classes of which it certainly is an object; None if it may be anything else. None itself is left out:
        whoever uses an attribute that may be None has asked, or fails for another reason."""
        if self.unknown is not None:
            return None
        rest = [kind for kind in self.kinds if not (isinstance(kind, Plain) and kind.value is None)]
        found = tuple(kind.cls for kind in rest if isinstance(kind, InstanceOf))
        return found if found and len(found) == len(rest) else None


def unknown(reason: str) -> Alternatives:
    """Nothing is known, for a reason."""
    return Alternatives((), reason)


def one(kind: Kind) -> Alternatives:
    """Certainly this."""
    return Alternatives((kind,))


#: what is asked for while it is being found out: it adds nothing to what else it may be
PENDING = Alternatives()


def joined(parts: list[Alternatives]) -> Alternatives:
    """One of them."""
    kinds = tuple(dict.fromkeys(kind for part in parts for kind in part.kinds))
    reason = next((part.unknown for part in parts if part.unknown is not None), None)
    return Alternatives(kinds, reason) if parts else unknown("nothing sets it")


@dataclass(frozen=True, slots=True, eq=False)
class Env:
    """Where an expression stands: the function's body (None for a module's or class's own), the class whose object
    ``self`` is, and the class in whose statement the function is written."""

    module: Module
    body: Body | None = None
    cls: Class | None = None
    owner: Class | None = None
