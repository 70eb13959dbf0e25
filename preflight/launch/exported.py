"""Values of the reading as plain data: for the report, and for others that go on with the parsed arguments."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from preflight.launch.reading.classes import is_enum, mixes_in
from preflight.launch.reading.values import Instance, Object, Unknown, describe
from preflight.launch.unresolved import is_open, readable

_PLAIN = (str, int, float, bool, type(None))


def exported(value: Object) -> Any:  # noqa: ANN401 - JSON
    """A value as JSON has it.

    A member of an enumeration becomes its value if that is plain, else its name; an object of a dataclass the fields
    that were given; what is not known, or is no data, None.
    """
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, str):
        return readable(value)
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, (list, tuple, set, frozenset)):
        return [exported(element) for element in value]
    if isinstance(value, Mapping):
        return {exported_key(key): exported(element) for key, element in value.items()}
    if isinstance(value, Instance):
        if is_enum(value.cls):
            plain = value.names["value"]
            return plain if mixes_in(value.cls) is not None and isinstance(plain, _PLAIN) else value.names["name"]
        return {name: exported(element) for name, element in value.names.items()}
    return None if isinstance(value, Unknown) else describe(value)


def exported_key(key: Object) -> str:
    """A key as JSON has it."""
    return readable(key) if isinstance(key, str) else describe(key)


def is_known(value: Object) -> bool:
    """True if ``value`` is data that is known in all its parts."""
    if isinstance(value, Unknown):
        return False
    if isinstance(value, str):
        return not is_open(value)
    if isinstance(value, (list, tuple, set, frozenset)):
        return all(is_known(element) for element in value)
    if isinstance(value, Mapping):
        return all(is_known(key) and is_known(element) for key, element in value.items())
    if isinstance(value, Instance):
        return all(is_known(element) for element in value.names.values())
    return True
