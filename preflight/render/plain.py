"""Values of a walk or a config -> plain JSON data and one-line texts. Whatever comes in, the result can be written."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from enum import Enum
from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

#: Deeper than this nothing is shown; a value may hold itself.
_DEEPEST = 12
#: More entries than this of one container are counted, not shown.
_MOST = 1000
#: Integers beyond this are not kept by JSON readers that use doubles, and Python refuses to print very long ones.
_LARGEST = 2**63


def plain(value: object, depth: int = 0) -> Json:
    """``value`` as data that every JSON reader takes.

    Not-a-number and the infinities become texts, sets become sorted lists, bytes and foreign objects their ``repr``,
    lone surrogates escapes; containers that are too deep or too long are cut, and say so.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Enum):
        return plain(value.value, depth + 1) if depth < _DEEPEST else type(value).__name__
    if isinstance(value, str):
        return clean(str(value))
    if isinstance(value, int):
        return _integer(int(value))
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(float(value))
    if isinstance(value, (Mapping, list, tuple, set, frozenset)):
        if depth >= _DEEPEST:
            return f"... ({type(value).__name__} too deep to show)"
        return _container(value, depth + 1)
    return clean(_repr(value))


def shown(value: object, longest: int = 200) -> str:
    """``value`` for people, in Python's spelling, cut to ``longest`` characters."""
    text = clean(_repr(value)) if isinstance(value, (bytes, float)) else repr(plain(value))
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def clean(text: str) -> str:
    """``text`` without lone surrogates, which no UTF-8 can hold: they are written as escapes."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text


def _container(value: Mapping[object, object] | Collection[object], depth: int) -> Json:
    if isinstance(value, Mapping):
        items = list(value.items())
        entries: dict[str, Json] = {_key(key): plain(item, depth) for key, item in items[:_MOST]}
        if len(items) > _MOST:
            entries["..."] = f"{len(items) - _MOST} more"
        return entries
    ordered = value if isinstance(value, (list, tuple)) else sorted(value, key=_repr)
    listed = [plain(item, depth) for item in ordered[:_MOST]]
    return [*listed, f"... {len(value) - _MOST} more"] if len(value) > _MOST else listed


def _key(key: object) -> str:
    return clean(key) if isinstance(key, str) else repr(plain(key))


def _integer(value: int) -> int | str:
    if -_LARGEST <= value < _LARGEST:
        return value
    return f"an integer of {value.bit_length()} bits" if value.bit_length() > 4096 else str(value)


def _repr(value: object) -> str:
    try:
        text = repr(value)
    except Exception:  # a repr of somebody else's may raise anything, and the report must still be written
        return f"<{type(value).__name__}>"
    return text if len(text) <= 1000 else f"{text[:997]}..."
