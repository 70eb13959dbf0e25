"""What the walk found, in the words of a report: the fault, the values that decided it, the calls on the way, the way
out.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from preflight.model import Fault, Severity, Span, Undecided
from preflight.model import Value as Shown
from preflight.walk.entries import PATH
from preflight.walk.outcomes import Exit
from preflight.walk.stages import Found, Walk
from preflight.walk.values import Class, Const, Host, Instance, Map, Seq, SetValue, Value

#: the check ids of this family
FLAGS, RAISES, ASSERTION, ATTRIBUTE, TYPE = (
    "walk-flags",
    "walk-raise",
    "walk-assertion",
    "walk-missing-attribute",
    "walk-type-error",
)
IDS = frozenset({FLAGS, RAISES, ASSERTION, ATTRIBUTE, TYPE})
_SHOWN = 6


def faults(walk: Walk, defaults: frozenset[str]) -> Iterator[Fault | Undecided]:
    """The faults and the open questions of a walk; ``defaults`` are the keys of assumptions that nobody stated."""
    for found in walk.found:
        yield _fault(found, defaults)
    for doubt in walk.doubts:
        place = doubt.place
        yield Undecided(
            doubt.id, doubt.reason, place.path if place else None, place.line if place else None, doubt.count
        )


def _fault(found: Found, defaults: frozenset[str]) -> Fault:
    exit = found.exit
    name = exit.cls.name if exit.cls is not None else "an exception"
    place = exit.place
    text = _sentence(exit.message)
    where = exit.trail[-1].function if exit.trail else ""
    message = f"{name}: {text}" if text else f"{name} in {where}"
    return Fault(
        check=check_of(found),
        span=Span(place.path, place.line, place.column, place.end_line, place.end_column),
        message=message,
        why=_why(found),
        help=_help(exit),
        values=tuple(_values(exit)),
        trail=tuple(step for step in exit.trail if step.path != PATH),
        severity=Severity.WARNING if _rests_on_defaults(exit, defaults) else None,
    )


def check_of(found: Found) -> str:
    """The check id of a fault."""
    exit = found.exit
    if exit.missing is not None:
        return ATTRIBUTE
    name = exit.cls.name if exit.cls is not None else ""
    if found.stage == "parse" and name == "SystemExit":
        return FLAGS
    if name == "AssertionError":
        return ASSERTION
    return TYPE if name == "TypeError" else RAISES


def _sentence(message: str | None) -> str:
    """A message on one line; of pydantic's the part that says something."""
    if not message:
        return ""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    if len(lines) > 1 and "validation error" in lines[0]:
        return f"{lines[0]}: {' '.join(lines[1:])}"
    return " ".join(lines)


def _why(found: Found) -> str:
    stages = {
        "make_parser": "the argument parser of this tree cannot be made",
        "parse": "the argument parser of this tree refuses the command line",
        "configure": "every way through the making of the engine config ends here",
        "construct": "every way through the construction of the model ends here",
        "make_runner": "every way through the making of the model runner ends here",
        "load_models": "every way through the loading of target and drafter ends here",
    }
    return stages[found.stage]


def _values(exit: Exit) -> Iterator[Shown]:
    """The values that took part: those of the exception, then those of the conditions around it, innermost first."""
    seen: set[str] = set()
    pairs = [*exit.values]
    for condition in reversed(exit.conditions):
        pairs += condition.values
    for name, value in pairs:
        if name in seen or len(seen) >= _SHOWN:
            continue
        shown = plain(value)
        if shown is None and not (isinstance(value, Const) and value.value is None):
            continue
        seen.add(name)
        yield Shown(name, shown, value.origin or "computed by the code on the way")


def plain(value: Value, depth: int = 0) -> Host:
    """A value as JSON can hold it; None for what it cannot."""
    if isinstance(value, Const):
        return value.value if isinstance(value.value, (str, int, float, bool, type(None))) else str(value.value)
    if isinstance(value, (Seq, SetValue)) and not value.loose and depth < 3 and len(value.content) <= 24:
        items = value.content if isinstance(value, Seq) else list(value.content.values())
        return [plain(item, depth + 1) for item in items]
    if isinstance(value, Map) and not value.loose and depth < 3 and len(value.content) <= 24:
        return {str(plain(key)): plain(item, depth + 1) for key, item in value.content.values()}
    if isinstance(value, Class):
        return value.name
    return None


def _help(exit: Exit) -> str | None:
    """For a missing attribute: what the object has instead."""
    if exit.missing is None:
        return None
    owner, name = exit.missing
    if not isinstance(owner, Instance):
        return None
    near = nearest(name, owner)
    return f"this {owner.cls.name} has {' and '.join(near)}" if near else None


def nearest(name: str, owner: Instance) -> list[str]:
    """Attributes that may be meant: those spelt alike, then those that share words, what a file says first."""
    candidates = [key for key in owner.content if not key.startswith("_")]
    alike = difflib.get_close_matches(name, candidates, 2, 0.75)
    words = set(name.split("_")) - {"num", "size", "config"}
    scored: list[tuple[int, str]] = []
    for key in candidates:
        shared = len(words & set(key.split("_")))
        if shared and key not in alike:
            origin = owner.content[key].origin or ""
            scored.append((-3 * (".json: " in origin) - shared, key))
    return [*alike, *(key for _score, key in sorted(scored))][: 3 if alike else 1]


def _rests_on_defaults(exit: Exit, defaults: frozenset[str]) -> bool:
    """Whether a value that decided it came from an assumption that nobody stated."""
    pairs = [*exit.values, *(pair for condition in exit.conditions[-2:] for pair in condition.values)]
    return any(value.origin in defaults for _name, value in pairs if value.origin)
