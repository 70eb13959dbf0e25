"""How sure it is that a place in a body is reached, and who is told what is met there."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from preflight.program import Truth


@dataclass(frozen=True, slots=True)
class Moment:
    """How sure it is that a place is reached when the body runs, and what is caught there.

    ``certain``: every run of the body comes here, unless it has raised before. ``conditions`` are the open tests that
    stand before it, the outermost first. ``handler``: the place is in an ``except`` that no fault is known to lead to.
    ``caught`` are the names that the handlers around it catch ("*": everything, "?": nobody knows). ``calls`` are the
    calls through which a function of the module was entered.
    """

    certain: bool
    conditions: tuple[ast.AST, ...]
    handler: bool
    caught: tuple[str, ...]
    calls: tuple[ast.Call, ...]

    def catches(self, error: type[Exception]) -> Truth:
        """Whether a handler around the place catches ``error``."""
        answers = {catches(name, error) for name in self.caught}
        for answer in (Truth.YES, Truth.MAYBE):
            if answer in answers:
                return answer
        return Truth.NO


def catches(name: str, error: type[Exception]) -> Truth:
    """Whether a handler for ``name`` catches ``error``; of an exception that is no builtin nobody knows."""
    if name == "*":
        return Truth.YES
    known = getattr(builtins, name, None)
    if not (isinstance(known, type) and issubclass(known, BaseException)):
        return Truth.MAYBE
    return Truth.YES if issubclass(error, known) else Truth.NO


class Visitor(Protocol):
    """Who is asked and told on the way."""

    def test(self, node: ast.expr) -> Truth:
        """Whether a condition holds."""

    def star(self, node: ast.ImportFrom) -> Iterable[str] | None:
        """The names that a star import brings; None if they are not all known."""

    def imports(self, node: ast.Import | ast.ImportFrom, alias: ast.alias, moment: Moment) -> type[Exception] | None:
        """One name of an import; what it certainly raises, if it does."""

    def unbound(self, node: ast.Name, local: bool, moment: Moment) -> None:
        """A name that certainly has no value here: a ``local`` one, or one of the module."""

    def attribute(self, node: ast.Attribute, moment: Moment, function: ast.AST | None = None) -> None:
        """``a.b.c`` is read, and ``a`` is a name of the module, or a variable of ``function``."""
