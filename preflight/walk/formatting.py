"""Texts with values in them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from preflight.walk import texts
from preflight.walk.derived import Derived, derive
from preflight.walk.values import (
    Const,
    Instance,
    Value,
)

if TYPE_CHECKING:
    from preflight.walk.machine import Machine


def joined(machine: Machine, node: ast.JoinedStr) -> Value:
    """An f-string."""
    parts: list[str] = []
    derived: list[tuple[int, Derived]] = []
    sure = True
    for part in node.values:
        if isinstance(part, ast.Constant):
            parts.append(str(part.value))
            continue
        assert isinstance(part, ast.FormattedValue)
        made = _formatted_text(machine, part)
        if made is None:
            sure = False
            parts.append("{" + ast.unparse(part.value) + "}")
        elif isinstance(made, Derived):
            derived.append((len(parts), made))
            parts.append(made.raw)
        else:
            parts.append(made)
    text = "".join(parts)
    if sure and derived:
        places = [place for place, _part in derived]

        def join(*texts: str) -> str:
            filled = list(parts)
            for place, inner in zip(places, texts, strict=True):
                filled[place] = inner
            return "".join(filled)

        return derive(machine, text, join, tuple(part for _place, part in derived))
    if sure:
        return Const(text)
    unknown = machine.unknown(
        "a text with a part that is not known",
        cls=machine.natives.str,
        truthy=True if any(isinstance(part, ast.Constant) and part.value for part in node.values) else None,
    )
    unknown.text = text
    return unknown


def _formatted_text(machine: Machine, part: ast.FormattedValue) -> str | Derived | None:
    value = machine.evaluate(part.value)
    if isinstance(value, Derived) and part.conversion in (-1, 115) and part.format_spec is None:
        if isinstance(value.raw, str):
            return value
        made = derive(machine, str(value.raw), str, (value,))
        return made if isinstance(made, Derived) else str(value.value)
    specification = ""
    if part.format_spec is not None:
        made = machine.evaluate(part.format_spec)
        if not isinstance(made, Const):
            return None
        specification = made.value
    machine.frame.node = part.value
    if part.conversion in (-1, 115) and isinstance(value, Const) and not specification:
        return str(value.value)
    if part.conversion in (114, 97):
        return texts.text(machine, value, quoted=True)
    if specification:
        host = value.payload if isinstance(value, Instance) and value.payload is not None else value
        if not isinstance(host, Const):
            return None
        try:
            return format(host.value, specification)
        except (TypeError, ValueError) as error:
            machine.fail(type(error).__name__, str(error))
    return texts.text(machine, value)


def formatted(machine: Machine, node: ast.FormattedValue) -> Value:
    """One ``{value!r:spec}`` of an f-string."""
    made = _formatted_text(machine, node)
    if isinstance(made, Derived):
        return made
    return Const(made) if made is not None else machine.unknown("a text that is not known", cls=machine.natives.str)
