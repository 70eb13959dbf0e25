"""What a class has: its members, its bases as written, and the doubts about it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from preflight.model import Span
from preflight.program.facts import Assign, ClassFacts, FunctionFacts, If, Import, Item, Try
from preflight.program.signatures import Signature

if TYPE_CHECKING:
    from preflight.program.classes import Class


@dataclass(frozen=True, slots=True)
class Member:
    """A name in the namespace of a class. ``kind``: "method", "classmethod", "staticmethod", "property", "class" or
    "value". ``facts`` is the statement that makes it; None where a decorator, Python itself (``signature``) or a class
    whose source is not at hand does. ``certain`` is False under a condition that is not decided."""

    name: str
    kind: str
    owner: Class
    facts: FunctionFacts | ClassFacts | Assign | Import | None
    line: int | None
    column: int | None
    certain: bool = True
    signature: Signature | None = field(default=None, compare=False)

    @property
    def span(self) -> Span:
        return Span(self.owner.path or self.owner.module, self.line, self.column)

    @property
    def stub(self) -> str | None:
        """What its body is made of if it has none ("...", "docstring", "pass", "raise NotImplementedError")."""
        return self.facts.stub if isinstance(self.facts, FunctionFacts) else None


@dataclass(frozen=True, slots=True)
class Base:
    """One base as written: the class it is, or why that is not known."""

    text: str
    line: int
    column: int
    cls: Class | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Doubt:
    """Why a class is not known in full."""

    reason: str
    path: str | None = None
    line: int | None = None


def function_kind(facts: FunctionFacts) -> str:
    """How a function in a class body behaves, by its decorators."""
    for decorator in facts.decorators:
        last = decorator.text.partition("(")[0].rpartition(".")[2]
        if last in ("classmethod", "staticmethod"):
            return last
        if last in ("property", "cached_property", "setter", "getter", "deleter", "abstractproperty"):
            return "property"
    return "staticmethod" if facts.name == "__new__" else "method"


def flattened(items: tuple[Item, ...]) -> Iterator[Item]:
    """The items of a body, those of its conditions included."""
    for item in items:
        yield item
        if isinstance(item, If):
            yield from flattened(item.body)
            yield from flattened(item.orelse)
        elif isinstance(item, Try):
            yield from flattened(item.body)
