"""What is known of a launch -> what it died of, and what followed from that.

The last lines of a log name the process that died last. The cause is what failed first and is no mere echo: the API server
says that the engine core failed, the engine core that a worker did, each with a traceback of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from preflight.triage.launches import Launch, Progress, Sighting, Sign, key_of
from preflight.triage.patterns import Echo, Patterns, Stage, Weight
from preflight.triage.place import Place, place_of
from preflight.triage.tracebacks import Frame, Link, Raised

MOST_CASCADE = 40
#: An error line counts only so near the end of the launch: one that is followed by more was survived.
_NEAR_END = 200
#: A server that still writes so many lines after an exception was not ended by it.
_NEAR_DEATH = 2000
#: So many "still waiting" lines at the end, one a minute, are no slow step any more.
_HANG_WAITS = 3
_PYDANTIC = re.compile(r"\d+ validation errors? for (?P<model>.{1,200})")
_EMBEDDED = re.compile(r"\s*(?P<kind>Value error|Assertion failed), (?P<message>.*?)(?: \[type=\w+, .*)?$", re.S)
_FIELD = re.compile(r"\s+(?P<message>\S.*?)(?: \[type=(?P<type>\w+), .*)?$")
_KINDS = {"Value error": "ValueError", "Assertion failed": "AssertionError"}


class State(str, Enum):
    """How a launch ended."""

    FAILED = "failed"
    SERVING = "serving"
    STOPPED = "stopped"  #: it was serving, and somebody ended it
    UNFINISHED = "unfinished"  #: the log ends before it serves, and nothing says why


@dataclass(frozen=True, slots=True)
class Failure:
    """One failure of a launch. ``exception`` None: an error line that names no class, or a traceback that is cut off.

    ``innermost`` is the innermost frame, where ``place`` is not it because it lies outside vLLM. ``raised`` is at hand only
    for what an exception tells.
    """

    exception: str | None
    type: str | None
    message: str
    place: Place | None
    innermost: Place | None
    code: str | None
    process: str | None
    pid: int | None
    line: int
    time: str | None
    stage: Stage
    second_hand: bool = False  #: told by another process; the traceback itself is not in the log
    cut: bool = False  #: the traceback is cut off
    noise: bool = False
    count: int = 1
    processes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one launch went. ``survived`` counts errors after which it went on."""

    state: State
    stage: Stage
    progress: Progress | None
    root: Failure | None
    cascade: tuple[Failure, ...]
    survived: tuple[Failure, ...]


def judge(launch: Launch, patterns: Patterns) -> Outcome:
    """Order what is known of ``launch`` by cause."""
    return _Judge(launch, patterns).outcome()


class _Judge:
    def __init__(self, launch: Launch, patterns: Patterns) -> None:
        self._launch = launch
        self._patterns = patterns
        self._echoes: dict[int, bool] = {}

    def outcome(self) -> Outcome:
        launch = self._launch
        ranked = sorted(self._candidates(), key=lambda found: found[0])
        root = ranked[0][1] if ranked else None
        if root is None:
            root = self._hang()
        spared = tuple(self._survived())[:MOST_CASCADE]
        if root is None:
            state = State.UNFINISHED
            if launch.serving_line is not None:
                state = State.STOPPED if launch.shutdown_line is not None else State.SERVING
            return Outcome(state, launch.peak, launch.progress, None, (), spared)
        return Outcome(State.FAILED, root.stage, self._progress(root), root, tuple(self._cascade(root)), spared)

    # ---- candidates, the likeliest first

    def _candidates(self) -> Iterator[tuple[tuple[int, bool, int], Failure]]:
        """((less likely, cut off, line), failure)."""
        for sighting in self._launch.sightings.values():
            weight = self._weight(sighting)
            if weight is not None:
                failure = self._failure(sighting)
                yield (-weight, failure.cut, sighting.raised.start), failure
                if weight is Weight.SPARE and (killed := self._killed(sighting)) is not None:
                    yield (-Weight.LIKELY, False, sighting.raised.start), killed
        for sign in self._launch.signs:
            if not self._outlived(sign.line.number):
                yield (-sign.weight, False, sign.line.number), self._signed(sign)
        yield from self._loose()

    def _weight(self, sighting: Sighting) -> Weight | None:
        """How likely this exception is the cause; None: it is not one."""
        raised = sighting.raised
        if self._outlived(raised.start) or (sighting.after_shutdown and self._launch.serving_line is not None):
            return None
        weight = self._heaviest(sighting)
        if weight is None or (weight < Weight.CERTAIN and self._moved_on(sighting)):
            return None
        if sighting.noise and not self._is_lone_failure(sighting):
            return None
        if self._is_echo(raised) or sighting.after_shutdown:
            return Weight.SPARE
        if any(not self._is_echo(cause) for cause in _sources(raised)):
            return None  # what caused it is a candidate itself
        if _is_beside_the_message(raised):
            return Weight.SPARE
        if self._launch.serving_line is not None and self._launch.last_line - raised.start > _NEAR_DEATH:
            return None
        return weight

    def _heaviest(self, sighting: Sighting) -> Weight | None:
        """A cause weighs as much as the heaviest of what it led to."""
        weight, raised, seen = sighting.weight, sighting.raised.effect, {sighting.raised}
        while raised is not None and raised.first not in seen:
            raised = raised.first
            seen.add(raised)
            led_to = self._sighting(raised)
            weight = max(weight, led_to.weight) if led_to is not None else weight
            raised = raised.effect
        return weight if weight > Weight.SPARE else None

    def _sighting(self, raised: Raised) -> Sighting | None:
        found = self._launch.sightings.get(key_of(raised))
        return found if found is not None and found.raised is raised.first else None

    def _outlived(self, line: int) -> bool:
        """The server came up after this line, so it ended nothing."""
        return self._launch.serving_line is not None and line < self._launch.serving_line

    def _moved_on(self, sighting: Sighting) -> bool:
        launch = self._launch
        return launch.peak.rank > sighting.stage.rank or launch.serving_line is not None

    def _is_lone_failure(self, sighting: Sighting) -> bool:
        """Noise is looked at only when nothing else is left and the launch did not get through."""
        launch = self._launch
        others = any(not other.noise for other in launch.sightings.values()) or launch.signs
        return not others and launch.serving_line is None

    def _is_echo(self, raised: Raised) -> bool:
        raised = raised.first
        known = self._echoes.get(id(raised))
        if known is None:
            known = self._echoes[id(raised)] = self._echo(raised) is not None
        return known

    def _echo(self, raised: Raised) -> tuple[Echo, dict[str, str | None]] | None:
        """The entry that says that ``raised`` is an echo, and what the groups of its message matched."""
        text = "\n".join((raised.message, *raised.details[:4]))
        for echo in self._patterns.echoes:
            if echo.exception is not None and not echo.exception.fullmatch(raised.name or ""):
                continue
            if echo.path is not None and not (raised.frames and echo.path.search(raised.frames[-1].path)):
                continue
            if echo.message is None:
                return echo, {}
            if (found := echo.message.search(text)) is not None:
                return echo, found.groupdict()
        return None

    def _killed(self, sighting: Sighting) -> Failure | None:
        """An echo that names the exit code of the process that failed, where that is a signal."""
        echo = self._echo(sighting.raised)
        code = echo[1].get("code") if echo is not None else None
        if code is None or not code.startswith("-"):
            return None
        from dataclasses import replace

        from preflight.triage.signals import signal_failure

        exception, what = signal_failure(-int(code))
        if exception is None:
            return None
        name = re.search(r"'([\w.:-]{1,80})': -\d", sighting.raised.message)
        who = name[1] if name else "a process"
        failure = self._failure(sighting)
        return replace(
            failure,
            exception=exception,
            type=exception,
            message=f"{who} was ended by {what}",
            place=None,
            innermost=None,
            code=None,
            process=name[1] if name else None,
            pid=None,
            second_hand=False,
            stage=self._launch.stage,
            count=1,
            processes=(),
        )

    def _loose(self) -> Iterator[tuple[tuple[int, bool, int], Failure]]:
        """Error lines without an exception, near the end of a launch that did not get through."""
        launch = self._launch
        if launch.serving_line is not None:
            return
        for line, stage in launch.loose:
            if launch.last_line - line.number <= _NEAR_END and launch.peak.rank <= stage.rank:
                failure = Failure(
                    None,
                    None,
                    line.text.strip(),
                    None,
                    None,
                    None,
                    line.process,
                    line.stream.pid,
                    line.number,
                    line.time,
                    stage,
                )
                yield (-Weight.HINT, True, line.number), failure

    def _hang(self) -> Failure | None:
        launch = self._launch
        if launch.serving_line is not None or launch.waits < _HANG_WAITS or launch.last_line - launch.waiting_line > 50:
            return None
        since = f" since {launch.progress_time}" if launch.progress_time else ""
        message = f"nothing but waiting{since} (line {launch.progress_line}): {launch.waits} lines say so, the last at {launch.waiting_time or 'an unknown time'}"
        return Failure(
            "Hang", None, message, None, None, None, None, None, launch.waiting_line, launch.waiting_time, launch.stage
        )

    # ---- how each is told

    def _failure(self, sighting: Sighting) -> Failure:
        raised = sighting.raised
        exception, message, second_hand = self._told(raised)
        place, innermost, code = _places(raised.frames)
        return Failure(
            exception=exception,
            type=raised.type,
            message=message,
            place=place,
            innermost=innermost,
            code=code,
            process=raised.process,
            pid=raised.stream.pid,
            line=raised.line,
            time=raised.time,
            stage=self._stage_of(sighting),
            second_hand=second_hand,
            cut=raised.type is None,
            noise=sighting.noise,
            count=sighting.count,
            processes=tuple(sighting.processes),
        )

    def _told(self, raised: Raised) -> tuple[str | None, str, bool]:
        """(class, message, told by another process)."""
        if raised.type is None:
            return None, "the traceback is cut off before it names the exception", False
        echo, groups = self._echo(raised) or (None, {})
        if (error := groups.get("error")) is not None:
            return raised.name, error, True
        if (model := _PYDANTIC.match(raised.message)) is not None:
            return *_validation(raised, model["model"]), False
        return raised.name, raised.message, echo is not None and not echo.flow

    def _signed(self, sign: Sign) -> Failure:
        line, frames = sign.line, tuple(reversed(sign.stack))
        place, innermost, _ = _places(frames)
        return Failure(
            exception=sign.exception,
            type=None,
            message=sign.message,
            place=place,
            innermost=innermost,
            code=None,
            process=line.process,
            pid=line.stream.pid,
            line=line.number,
            time=line.time,
            stage=self._stage_in(frames) or sign.stage,
        )

    def _stage_of(self, sighting: Sighting) -> Stage:
        """The innermost frame that runs in one stage only tells best; then what this led to; then the log's own lines."""
        launch = self._launch
        if launch.serving_line is not None and sighting.raised.start > launch.serving_line:
            return launch.peak
        raised: Raised | None = sighting.raised
        seen: set[Raised] = set()
        while raised is not None and raised.first not in seen:
            seen.add(raised.first)
            if (stage := self._stage_in(raised.first.frames)) is not None:
                return stage
            raised = raised.first.effect
        return sighting.stage

    def _stage_in(self, frames: Sequence[Frame]) -> Stage | None:
        for frame in reversed(frames):
            names = (frame.function, f"{frame.path.rpartition('/')[2]}:{frame.function}")
            for stage in self._patterns.stages:
                if stage is not self._patterns.stages[-1] and not stage.functions.isdisjoint(names):
                    return stage
        return None

    def _progress(self, root: Failure) -> Progress | None:
        progress = self._launch.progress
        return progress if progress is not None and progress.line <= max(root.line, self._launch.last_line) else None

    # ---- what followed, and what did not matter

    def _cascade(self, root: Failure) -> Iterator[Failure]:
        """Everything that the launch said about its failure, but the root cause, in the order of the log."""
        told = []
        for sighting in self._launch.sightings.values():
            if sighting.raised.line == root.line or self._outlived(sighting.raised.start) or sighting.noise:
                continue
            if sighting.weight is Weight.SPARE or (
                sighting.weight < Weight.CERTAIN and self._moved_on(sighting) and sighting.raised.effect is None
            ):
                continue
            told.append(self._failure(sighting))
        told += [
            self._signed(sign)
            for sign in self._launch.signs
            if sign.line.number != root.line and not self._outlived(sign.line.number)
        ]
        yield from sorted(told, key=lambda failure: failure.line)[:MOST_CASCADE]

    def _survived(self) -> Iterator[Failure]:
        for sighting in self._launch.sightings.values():
            if not sighting.noise and not self._is_echo(sighting.raised) and sighting.raised.effect is None:
                if (
                    self._outlived(sighting.raised.start)
                    or sighting.weight is Weight.SPARE
                    or (sighting.weight < Weight.CERTAIN and self._moved_on(sighting))
                ):
                    yield self._failure(sighting)


def _sources(raised: Raised) -> Iterator[Raised]:
    """What led to an exception, at any distance. What is printed in the message goes before what was merely handled."""
    seen = {raised.first}
    todo = [raised.first]
    while todo:
        for _, cause in todo.pop().causes:
            cause = cause.first
            if cause not in seen:
                seen.add(cause)
                todo.append(cause)
                yield cause


def _is_beside_the_message(raised: Raised) -> bool:
    """What it led to prints another exception in its message, which says more than the one that was handled."""
    effect = None if raised.effect is None else raised.effect.first
    if effect is None:
        return False
    links = {link for link, cause in effect.causes if cause.first is raised}
    return Link.MESSAGE not in links and any(link is Link.MESSAGE for link, _ in effect.causes)


def _places(frames: Sequence[Frame]) -> tuple[Place | None, Place | None, str | None]:
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
        if (found := _EMBEDDED.match(detail)) is not None:
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
