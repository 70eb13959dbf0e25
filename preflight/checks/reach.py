"""The statements of a body by its facts, those under conditions included."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from preflight.program.facts import Branches, If, Item, Try, With


def statements(items: Iterable[Item]) -> Iterator[Item]:
    """All statements of a body, those under conditions included."""
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
