"""The names that a file's body binds somewhere, by its facts alone."""

from __future__ import annotations

from collections.abc import Iterable

from preflight.checks.reach import statements
from preflight.program.facts import Assign, ClassFacts, FunctionFacts, Import, Item


def bound_lines(items: Iterable[Item]) -> dict[str, int]:
    """Each name with the line of the last statement that binds it; what star imports bring is not among them."""
    found: dict[str, int] = {}
    for item in statements(items):
        if isinstance(item, Import):
            found[item.bound] = item.line
        elif isinstance(item, (Assign, ClassFacts, FunctionFacts)):
            found[item.name] = item.line
    found.pop("", None)
    return found
