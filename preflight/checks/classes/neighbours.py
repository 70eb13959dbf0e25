"""The registered classes beside one in the registry: what all of them have or take is what the engine asks of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from preflight.program import Class

if TYPE_CHECKING:
    from preflight.checks.classes.survey import Survey
    from preflight.program.registry import RegistryEntry

#: so many neighbours are looked at
_ASKED = 6
#: of which so many have to be known
ENOUGH = 4


def neighbours(survey: Survey, entry: RegistryEntry, cls: Class) -> Iterator[Class]:
    """Classes whose entries stand beside this one in the same table."""
    registry = survey.registry
    bounds = _table_of(survey, entry)
    if bounds is None:
        return
    beside = [
        other
        for other in registry.entries.values()
        if other.span.path == entry.span.path
        and bounds[0] <= (other.span.line or 0) <= bounds[1]
        and other is not entry
    ]
    beside.sort(key=lambda other: abs((other.span.line or 0) - (entry.span.line or 0)))
    count = 0
    for other in beside:
        found = survey.program.registry_reader.model_class(other)
        if isinstance(found, Class) and found.complete and cls not in found.mro and found not in cls.mro:
            yield found
            count += 1
            if count == _ASKED:
                return


def _table_of(survey: Survey, entry: RegistryEntry) -> tuple[int, int] | None:
    """The first and last line of the dict in which the entry stands."""
    module = survey.program.module_at(entry.span.path)
    tree = survey.program.syntax_tree(module) if module is not None else None
    for node in tree.body if isinstance(tree, ast.Module) else ():
        value = getattr(node, "value", None)
        if isinstance(value, ast.Dict) and value.lineno <= (entry.span.line or 0) <= (value.end_lineno or 0):
            return value.lineno, value.end_lineno or value.lineno
    return None
