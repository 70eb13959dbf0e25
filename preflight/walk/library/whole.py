"""Methods that all containers have: emptied, and copied."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from preflight.walk.values import (
    NONE,
    Map,
    Seq,
    SetValue,
    Value,
)

if TYPE_CHECKING:
    from preflight.walk.machine import Machine


#: what a method of a container is made of: it gets the container, the arguments and the keywords
Method = Callable[["Machine", Any, list[Value], dict[str, Value]], Value]


def clear(machine: Machine, value: Seq | Map | SetValue, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    machine.state.touch(value)
    value.loose = None
    value.content = [] if isinstance(value, Seq) else {}
    return NONE


def copy(machine: Machine, value: Seq | Map | SetValue, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    made = type(value)(value.kind, value.content.copy(), machine.state.fresh())  # pyrefly: ignore
    made.loose = value.loose
    if isinstance(made, Map) and isinstance(value, Map):
        made.factory = value.factory
    return made
