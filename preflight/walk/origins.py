"""Where a computed value comes from: the origins of what it was computed from, as far as they are worth telling."""

from __future__ import annotations

from preflight.walk.assumptions import CAPABILITY, CPU_MEMORY, GPU_COUNT, GPU_MEMORY
from preflight.walk.values import FALSE, TRUE, Const, Value

_PREFIX, _DEFAULT = "computed from ", "default of "
#: the origins of what a machine is assumed to have
_ASSUMED = frozenset({GPU_COUNT, GPU_MEMORY, CAPABILITY, CPU_MEMORY})
_MOST = 3


def parts(origin: str | None) -> tuple[str, ...]:
    """The origins behind an origin."""
    if origin is None:
        return ()
    return tuple(origin.removeprefix(_PREFIX).split(", ")) if origin.startswith(_PREFIX) else (origin,)


def combined(*values: Value) -> str | None:
    """The origin of what is computed from ``values``: what is assumed first, what was given before defaults."""
    found = list(dict.fromkeys(part for value in values for part in parts(value.origin)))
    if not found:
        return None
    found.sort(key=lambda part: (part not in _ASSUMED, part.startswith(_DEFAULT)))
    if not found[0].startswith(_DEFAULT):
        found = [part for part in found if not part.startswith(_DEFAULT)]
    return _PREFIX + ", ".join(found[:_MOST])


def assumed_in(origin: str | None) -> frozenset[str]:
    """The assumptions about the machine behind an origin."""
    return _ASSUMED.intersection(parts(origin)) if origin is not None else frozenset()


def judged(answer: bool, *values: Value) -> Const:
    """The answer to a question about ``values``; it remembers the assumptions that they come from."""
    if any(value.origin is not None and assumed_in(value.origin) for value in values):
        return Const(answer, combined(*values))
    return TRUE if answer else FALSE
