"""What is known of a launch -> what it died of, and what followed from that.

The last lines of a log name the process that died last. The cause is what failed first and is no mere echo: the API
server says that the engine core failed, the engine core that a worker did, each with a traceback of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from preflight.triage.failure import Failure, Outcome, State, of_sighting, of_sign
from preflight.triage.launches import Launch, Progress, Sighting, Sign, key_of
from preflight.triage.patterns import Echo, Patterns, Stage, Weight
from preflight.triage.signals import signal_failure
from preflight.triage.tracebacks import Frame, Link, Raised

_MOST_CASCADE = 40
#: An error line counts only so near the end of the launch: one that is followed by more was survived.
_NEAR_END = 200
#: A server that still writes so many lines after an exception was not ended by it.
_NEAR_DEATH = 2000
#: So many "still waiting" lines at the end, one a minute, are no slow step any more.
_HANG_WAITS = 3
_FAILED_PROCESS = re.compile(r"'(?P<name>[\w.:-]{1,80})': -\d|Process (?P<other>[\w.:-]{1,80}) \(PID")

#: The order of candidates: the heaviest, the whole before the cut off, the first in the log.
_Rank = tuple[int, bool, int]


def judge(launch: Launch, patterns: Patterns) -> Outcome:
    """Order what is known of ``launch`` by cause."""
    return _Judge(launch, patterns).outcome()


class _Judge:
    def __init__(self, launch: Launch, patterns: Patterns) -> None:
        self._launch = launch
        self._patterns = patterns
        self._echoes: dict[Raised, tuple[Echo, dict[str, str | None]] | None] = {}

    def outcome(self) -> Outcome:
        launch = self._launch
        root = self._root()
        survived = tuple(self._survived())[:_MOST_CASCADE]
        if root is None:
            state = State.UNFINISHED
            if launch.serving_line is not None:
                state = State.STOPPED if launch.shutdown_line is not None else State.SERVING
            return Outcome(state, launch.stage, launch.progress, survived=survived)
        cascade = tuple(sorted(self._cascade(root), key=lambda failure: failure.line))[:_MOST_CASCADE]
        return Outcome(State.FAILED, root.stage, self._progress(root), root, cascade, survived)

    # ---- candidates

    def _root(self) -> Failure | None:
        ranked = sorted(self._candidates(), key=lambda found: found[0])
        if not ranked:
            return self._hang()
        (weight, _, _), root = ranked[0]
        if -weight > Weight.SPARE or not root.second_hand:
            return root
        # The launch has died, and only echoes of why are left: then the last error that was taken for survived was not.
        return max(self._taken_for_survived(root.line), key=lambda failure: failure.line, default=root)

    def _taken_for_survived(self, before: int) -> Iterator[Failure]:
        for sighting in self._launch.sightings.values():
            raised = sighting.raised
            told = sighting.weight is Weight.LIKELY and not sighting.noise and not self._is_echo(raised)
            if told and raised.line < before and not self._outlived(raised.start):
                yield self._failure(sighting)

    def _candidates(self) -> Iterator[tuple[_Rank, Failure]]:
        for sighting in self._launch.sightings.values():
            weight = self._weight(sighting)
            if weight is None:
                continue
            start, failure = sighting.raised.start, self._failure(sighting)
            yield (-weight, failure.cut, start), failure
            if weight is Weight.SPARE and (killed := self._killed(sighting)) is not None:
                yield (-Weight.LIKELY, False, start), killed
        for sign in self._launch.signs:
            if not self._outlived(sign.line.number) and not self._was_asked_for(sign):
                yield (
                    (-sign.weight, False, sign.line.number),
                    of_sign(sign, self._stage_of_sign(sign.stack) or sign.stage),
                )
        yield from self._loose()

    def _weight(self, sighting: Sighting) -> Weight | None:
        """How likely this exception is the cause; None: it is not one."""
        launch, raised = self._launch, sighting.raised
        if self._outlived(raised.start) or self._is_foreign(raised):
            return None
        if sighting.after_shutdown and launch.serving_line is not None:
            return None
        weight = self._heaviest(sighting)
        if weight is Weight.SPARE or (weight < Weight.CERTAIN and self._moved_on(sighting)):
            return None
        if sighting.noise and not self._nothing_else():
            return None
        if self._is_echo(raised) or sighting.after_shutdown:
            return Weight.SPARE
        if any(not self._is_echo(cause) for cause in _sources(raised)):
            return None  # what caused it is a candidate itself
        if _is_beside_the_message(raised):
            return Weight.SPARE
        if launch.serving_line is not None and launch.last_line - raised.start > _NEAR_DEATH:
            return None
        return weight

    def _heaviest(self, sighting: Sighting) -> Weight:
        """A cause weighs as much as the heaviest of what it led to."""
        weight = sighting.weight
        for raised in _effects(sighting.raised):
            led_to = self._launch.sightings.get(key_of(raised))
            if led_to is not None and led_to.raised is raised:
                weight = max(weight, led_to.weight)
        return weight

    def _outlived(self, line: int) -> bool:
        """The server came up after this line, so it ended nothing."""
        return self._launch.serving_line is not None and line < self._launch.serving_line

    def _was_asked_for(self, sign: Sign) -> bool:
        """A server that is told to end has not failed."""
        launch = self._launch
        after = launch.shutdown_line is not None and sign.line.number > launch.shutdown_line
        return launch.serving_line is not None and (after or sign.weight is Weight.SPARE)

    def _moved_on(self, sighting: Sighting) -> bool:
        """The launch came to a later stage afterwards."""
        return self._launch.stage.rank > sighting.stage.rank or self._launch.serving_line is not None

    def _is_foreign(self, raised: Raised) -> bool:
        """Another container wrote it, and nothing of vLLM is in it: a client, a sidecar."""
        launch = self._launch
        return bool(launch.seen) and raised.stream.source != launch.source and not raised.in_tree

    def _nothing_else(self) -> bool:
        """Noise is looked at only when nothing else is left and the launch did not get through."""
        launch = self._launch
        others = launch.signs or any(not other.noise for other in launch.sightings.values())
        return not others and launch.serving_line is None

    def _is_echo(self, raised: Raised) -> bool:
        return self._echo(raised) is not None

    def _echo(self, raised: Raised) -> tuple[Echo, dict[str, str | None]] | None:
        """The entry that says that ``raised`` is an echo, and what the groups of its message matched."""
        raised = raised.first
        if raised not in self._echoes:
            self._echoes[raised] = self._looked_up(raised)
        return self._echoes[raised]

    def _looked_up(self, raised: Raised) -> tuple[Echo, dict[str, str | None]] | None:
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
        _, groups = self._echo(sighting.raised) or (None, {})
        code = groups.get("code") or ""
        exception, what = signal_failure(-int(code)) if code.startswith("-") else (None, "")
        if exception is None:
            return None
        raised = sighting.raised
        found = _FAILED_PROCESS.search(raised.message)
        name = (found["name"] or found["other"]) if found is not None else None
        message = f"{name or 'a process'} was ended by {what}"
        return Failure(exception, message, raised.line, self._launch.stage, process=name, time=raised.time)

    def _loose(self) -> Iterator[tuple[_Rank, Failure]]:
        """Error lines without an exception, near the end of a launch that did not get through."""
        launch = self._launch
        if launch.serving_line is not None:
            return
        for line, stage in launch.loose:
            if launch.last_line - line.number <= _NEAR_END and launch.stage.rank <= stage.rank:
                text, pid = line.text.strip(), line.stream.pid
                failure = Failure(None, text, line.number, stage, process=line.process, pid=pid, time=line.time)
                yield (-Weight.HINT, True, line.number), failure

    def _hang(self) -> Failure | None:
        launch = self._launch
        if launch.serving_line is not None or launch.waits < _HANG_WAITS or launch.last_line - launch.waiting_line > 50:
            return None
        since = f" since {launch.progress_time}" if launch.progress_time else ""
        last = f", the last at {launch.waiting_time}" if launch.waiting_time else ""
        message = f"nothing but waiting{since} (line {launch.progress_line}): {launch.waits} lines say so{last}"
        return Failure("Hang", message, launch.waiting_line, launch.stage, time=launch.waiting_time)

    # ---- how it is told

    def _failure(self, sighting: Sighting) -> Failure:
        echo, groups = self._echo(sighting.raised) or (None, {})
        second_hand = echo is not None and not echo.flow
        return of_sighting(sighting, self._stage_of(sighting), groups.get("error"), second_hand)

    def _stage_of(self, sighting: Sighting) -> Stage:
        """The innermost frame that runs in one stage only tells best, then what this led to, then the log's lines."""
        launch, raised = self._launch, sighting.raised
        if launch.serving_line is not None and raised.start > launch.serving_line:
            return launch.stage
        for one in (raised, *_effects(raised)):
            if (stage := self._stage_in(one.frames)) is not None:
                return stage
        return sighting.stage

    def _stage_of_sign(self, stack: Sequence[Frame]) -> Stage | None:
        return self._stage_in(tuple(reversed(stack))) if self._launch.serving_line is None else None

    def _stage_in(self, frames: Sequence[Frame]) -> Stage | None:
        *stages, _ = self._patterns.stages  # what runs while it serves runs in the warm-up too
        for frame in reversed(frames):
            names = (frame.function, f"{frame.path.rpartition('/')[2]}:{frame.function}")
            for stage in stages:
                if not stage.functions.isdisjoint(names):
                    return stage
        return None

    def _progress(self, root: Failure) -> Progress | None:
        progress = self._launch.progress
        return progress if progress is not None and progress.line <= max(root.line, self._launch.last_line) else None

    # ---- what followed, and what did not matter

    def _cascade(self, root: Failure) -> Iterator[Failure]:
        """Everything that the launch said about its failure, but the root cause."""
        for sighting in self._launch.sightings.values():
            raised = sighting.raised
            if raised.line == root.line or sighting.noise or self._is_survived(sighting) or self._is_foreign(raised):
                continue
            yield self._failure(sighting)
        for sign in self._launch.signs:
            if sign.line.number != root.line and not self._outlived(sign.line.number):
                yield of_sign(sign, sign.stage)

    def _survived(self) -> Iterator[Failure]:
        for sighting in self._launch.sightings.values():
            if self._is_survived(sighting) and not sighting.noise and not self._is_echo(sighting.raised):
                yield self._failure(sighting)

    def _is_survived(self, sighting: Sighting) -> bool:
        """It was handled, or the launch went on after it; and so for all that it led to."""
        if self._outlived(sighting.raised.start):
            return True
        weight = self._heaviest(sighting)
        return weight is Weight.SPARE or (weight < Weight.CERTAIN and self._moved_on(sighting))


def _sources(raised: Raised) -> Iterator[Raised]:
    """What led to an exception, at any distance."""
    seen = {raised.first}
    todo = [raised.first]
    while todo:
        for _, cause in todo.pop().causes:
            cause = cause.first
            if cause not in seen:
                seen.add(cause)
                todo.append(cause)
                yield cause


def _effects(raised: Raised) -> Iterator[Raised]:
    """What an exception led to, step by step."""
    seen = {raised.first}
    effect = raised.first.effect
    while effect is not None and effect.first not in seen:
        effect = effect.first
        seen.add(effect)
        yield effect
        effect = effect.effect


def _is_beside_the_message(raised: Raised) -> bool:
    """What it led to prints another exception in its message, which says more than the one that was handled."""
    effect = next(_effects(raised), None)
    if effect is None:
        return False
    links = {link for link, cause in effect.causes if cause.first is raised}
    return Link.MESSAGE not in links and any(link is Link.MESSAGE for link, _ in effect.causes)
