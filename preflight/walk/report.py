"""What the walk found, in the words of a report: the fault, the values that decided it, the calls on the way, the way
out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from preflight.model import Fault, Note, Severity, Span, Undecided
from preflight.model import Value as Shown
from preflight.walk.assumptions import PLATFORM, Assumptions
from preflight.walk.entries import PATH
from preflight.walk.ids import ASSERTION, ATTRIBUTE, DEMANDED, RAISES, TYPE
from preflight.walk.machine import Doubt
from preflight.walk.origins import assumed_in
from preflight.walk.outcomes import Exit
from preflight.walk.remedy import nearest, way_out
from preflight.walk.result import Found, Lacking, Walk
from preflight.walk.values import Class, Const, Host, Instance, Map, Seq, SetValue, Value

_SHOWN = 6
#: calls out from a raise within which a value matters wherever it comes from
_NEAR = 3
#: characters of a message
_LONGEST = 800
#: a list of so many names and more is shown by its first
_NAME = re.compile(r"'[^']*'")
_LIST = re.compile(r"(?:'[^']*', ){24,}'[^']*'")
_NAMES = 8


def faults(walk: Walk, defaults: frozenset[str], flags_told: bool = False) -> Iterator[Fault | Undecided]:
    """The faults and the open questions of a walk.

    ``defaults`` are the keys of assumptions that nobody stated; ``flags_told``: the check of the flags has said already
    that the parser does not take them.
    """
    for found in walk.found:
        if found.stage not in _OF_THE_PARSER:
            yield _fault(found, defaults, walk)
        elif not flags_told:
            place, message = found.exit.place, _sentence(found.exit.message)
            yield Undecided(
                "walk-parser",
                f"{STAGES[found.stage]} fails in the walk where it does not in the check of the flags: {message}",
                place.path,
                place.line,
                decisive=True,
            )
    for lack in walk.lacking:
        yield _demand(lack)
    for stop in walk.stopped:
        place = stop.place if stop.place is None or stop.place.path != PATH else None
        yield Undecided(
            stop.id,
            f"{STAGES[stop.stage]} is not decided to its end: {stop.reason}",
            place.path if place else None,
            place.line if place else None,
            decisive=stop.decisive,
        )
    yield from _doubts(walk)


def _doubts(walk: Walk) -> Iterator[Undecided]:
    """What was left open on the way, each kind once, at the first place of it: one unknown brings many others."""
    kinds: dict[str, list[Doubt]] = {}
    for doubt in walk.doubts:
        kinds.setdefault(doubt.id, []).append(doubt)
    for id, doubts in kinds.items():
        first = doubts[0]
        others = f", and {len(doubts) - 1} other places" if len(doubts) > 1 else ""
        yield Undecided(
            id,
            first.reason + others,
            first.place.path if first.place else None,
            first.place.line if first.place else None,
            sum(doubt.count for doubt in doubts),
        )


def assumed(walk: Walk, assumptions: Assumptions, plugins: Sequence[str] = ()) -> Iterator[Note | Undecided]:
    """What the walk rests on that no file says. ``plugins`` of vLLM that are installed belie one of these sentences."""
    told = {key: text for key, text in walk.assumed.items() if key != PLATFORM or key in assumptions.stated}
    if plugins and told.pop("plugins", None) is not None:
        yield Undecided(
            "plugins-not-followed",
            f"the launch loads the plug-ins of vLLM that are installed beside it ({', '.join(plugins)}), and what they "
            "change was not followed: give the folder of each as a PATH to have it checked",
        )
    if told:
        said = ", ".join(
            f"{sentence} (stated)" if key in assumptions.stated else sentence for key, sentence in sorted(told.items())
        )
        yield Note(f"The launch was walked as on this machine (--assume sets it): {said}.")


#: the stages, as a sentence names them
STAGES = {
    "make_parser": "the making of this tree's parser",
    "parse": "this tree's parser",
    "take": "the reading of the arguments",
    "validate": "the check of the arguments",
    "configure": "the making of the engine config",
    "model_config_of": "the model's config",
    "construct": "the construction of the model",
    "make_runner": "the making of the model runner",
    "make_loader": "the making of the loader",
    "load_weights": "the loading of the weights",
    "first_pass": "the first run of the model, by which a worker measures memory before it serves,",
    "load_models": "the loading of target and drafter",
}
_OF_THE_PARSER = ("make_parser", "parse", "take", "validate")


def _demand(lack: Lacking) -> Fault:
    cls = lack.owner.cls.name if isinstance(lack.owner, Instance) else "the value"
    near = nearest(lack.name, lack.owner) if isinstance(lack.owner, Instance) else []
    return Fault(
        check=DEMANDED,
        span=Span("config.json"),
        message=f"the model's config has no {lack.path}: this {cls} has no attribute {lack.name}",
        why="--require-config demands it",
        help=f"this {cls} has {' and '.join(near)}" if near else None,
    )


def _fault(found: Found, defaults: frozenset[str], walk: Walk) -> Fault:
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
        help=way_out(found, walk.target),
        values=tuple(_values(exit)),
        trail=(*found.remarks, *(step for step in exit.trail if step.path != PATH)),
        severity=Severity.WARNING if _rests_on_defaults(exit, defaults) else None,
    )


def check_of(found: Found) -> str:
    """The check id of a fault."""
    exit = found.exit
    if exit.missing is not None:
        return ATTRIBUTE
    name = exit.cls.name if exit.cls is not None else ""
    if name == "AssertionError":
        return ASSERTION
    return TYPE if name == "TypeError" else RAISES


def _sentence(message: str | None) -> str:
    """A message on one line; of a list that is longer than anybody reads only its first names."""
    text = _LIST.sub(_shortened, " ".join((message or "").split()))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST].rpartition(' ')[0]} ..."


def _shortened(listed: re.Match[str]) -> str:
    names = _NAME.findall(listed[0])
    return f"{', '.join(names[:_NAMES])}, ... and {len(names) - _NAMES} more"


def _why(found: Found) -> str:
    return f"every way through {STAGES[found.stage]} ends here"


def _values(exit: Exit) -> Iterator[Shown]:
    """The values that took part: those of the exception, then those of the conditions around it, innermost first."""
    seen: set[str] = set()
    pairs = [*exit.values]
    for condition in reversed(exit.conditions):
        # what the code far from here computed for itself tells nobody anything
        pairs += [pair for pair in condition.values if condition.calls < _NEAR or pair[1].origin is not None]
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


def _rests_on_defaults(exit: Exit, defaults: frozenset[str]) -> bool:
    """Whether a value that decided it came from an assumption that nobody stated."""
    pairs = [*exit.values, *(pair for condition in exit.conditions[-2:] for pair in condition.values)]
    return not defaults.isdisjoint(exit.weighed.union(*(assumed_in(value.origin) for _name, value in pairs)))
