"""One failure of a launch, as it is told: class, message, place. And how a launch ended."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from preflight.triage.launches import Progress, Sighting, Sign
from preflight.triage.patterns import Stage
from preflight.triage.place import Place, place_of
from preflight.triage.tracebacks import Frame, Raised

_PYDANTIC = re.compile(r"\d+ validation errors? for (?P<model>.{1,200})")
_VALIDATOR = re.compile(r"\s*(?P<kind>Value error|Assertion failed), (?P<message>.*?)(?: \[type=\w+, .*)?$", re.S)
_FIELD = re.compile(r"\s+(?P<message>\S.*?)(?: \[type=\w+, .*)?$")
_KINDS = {"Value error": "ValueError", "Assertion failed": "AssertionError"}


class State(str, Enum):
    """How a launch ended."""

    FAILED = "failed"
    SERVING = "serving"
    STOPPED = "stopped"  #: it was serving, and somebody ended it
    UNFINISHED = "unfinished"  #: the log ends before it serves, and nothing says why


@dataclass(frozen=True, slots=True)
class Failure:
    """``exception`` None: an error line that names no class, or a traceback that is cut off.

    ``place`` is the innermost one in vLLM, ``innermost`` the innermost of all where that is another one, ``code`` the
    line of source that the log shows for ``place``. ``type`` is the class with its modules.
    """

    exception: str | None
    message: str
    line: int
    stage: Stage
    type: str | None = None
    place: Place | None = None
    innermost: Place | None = None
    code: str | None = None
    process: str | None = None
    pid: int | None = None
    time: str | None = None
    second_hand: bool = False  #: told by another process; the traceback itself is not in the log
    cut: bool = False  #: the traceback is cut off
    noise: bool = False
    count: int = 1
    processes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one launch went. ``survived`` are errors after which it went on."""

    state: State
    stage: Stage
    progress: Progress | None = None
    root: Failure | None = None
    cascade: tuple[Failure, ...] = ()
    survived: tuple[Failure, ...] = ()


def of_sighting(sighting: Sighting, stage: Stage, error: str | None, second_hand: bool) -> Failure:
    """Tell an exception. ``error``: the message of another process's exception that it repeats."""
    raised = sighting.raised
    exception, message = told(raised)
    place, innermost, code = places(raised.frames)
    return Failure(
        exception=exception,
        message=message if error is None else error,
        line=raised.line,
        stage=stage,
        type=raised.type,
        place=place,
        innermost=innermost,
        code=code,
        process=raised.process,
        pid=raised.stream.pid,
        time=raised.time,
        second_hand=second_hand,
        cut=raised.type is None,
        noise=sighting.noise,
        count=sighting.count,
        processes=tuple(sighting.processes),
    )


def of_sign(sign: Sign, stage: Stage) -> Failure:
    """Tell a line that speaks of an end."""
    line = sign.line
    place, innermost, _ = places(tuple(reversed(sign.stack)))
    return Failure(
        exception=sign.exception,
        message=sign.message,
        line=line.number,
        stage=stage,
        place=place,
        innermost=innermost,
        process=line.process,
        pid=line.stream.pid,
        time=line.time,
    )


def told(raised: Raised) -> tuple[str | None, str]:
    """(class, message) of an exception. What pydantic wraps is told as what it was."""
    if raised.type is None:
        return None, "the traceback is cut off before it names the exception"
    message = raised.message
    if not message and raised.message_follows and raised.details:
        message = raised.details[0].strip()
    model = _PYDANTIC.match(message)
    return (raised.name, message) if model is None else _validation(raised, model["model"])


def places(frames: Sequence[Frame]) -> tuple[Place | None, Place | None, str | None]:
    """(the innermost place in vLLM, the innermost place where that is another one, the line of code there)."""
    if not frames:
        return None, None, None
    last = frames[-1]
    innermost = place_of(last.path, last.line, last.function)
    if innermost.in_tree or last.function is None:  # the place of a syntax error is the place, wherever it is
        return innermost, None, last.code
    for frame in reversed(frames):
        place = place_of(frame.path, frame.line, frame.function)
        if place.in_tree:
            return place, innermost, frame.code
    return innermost, None, last.code


def _validation(raised: Raised, model: str) -> tuple[str, str]:
    """pydantic's ValidationError -> the exception that a validator raised, or the fields that do not fit."""
    fields: list[str] = []
    for detail in raised.details:
        if (found := _VALIDATOR.match(detail)) is not None:
            return _KINDS[found["kind"]], found["message"].strip()
        if detail.lstrip().startswith("For further information"):
            continue
        if detail[0].isspace() and (found := _FIELD.match(detail)) is not None:
            fields.append(found["message"])
        elif not detail[0].isspace() and len(detail) < 200:
            fields.append(detail.strip())
        else:
            break
    return "ValidationError", f"{model}: {': '.join(fields)}" if fields else raised.message
