"""The names that a file's body binds somewhere, by its facts alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from preflight.program.facts import Assign, Branches, ClassFacts, FunctionFacts, If, Import, Item, Try, With


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


def statements(items: Iterable[Item]) -> Iterator[Item]:
    """All statements of a body, those under conditions included; those of classes and functions are not."""
    for item in items:
        yield item
        if isinstance(item, If):
            yield from statements((*item.body, *item.orelse))
        elif isinstance(item, Try):
            yield from statements((*item.body, *(part for handler in item.handlers for part in handler.body)))
            yield from statements((*item.orelse, *item.final))
        elif isinstance(item, Branches):
            for arm in item.arms:
                yield from statements(arm)
        elif isinstance(item, With):
            yield from statements(item.body)
