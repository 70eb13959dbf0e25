"""What is known of each launch in a log while it is read: its stage, its exceptions, its signs of an end. Bounded."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from preflight.triage.line import Line
from preflight.triage.patterns import Patterns, Stage, Weight
from preflight.triage.tracebacks import Frame, Raised

if TYPE_CHECKING:
    from preflight.triage.failure import Outcome

#: Of the exceptions of one launch so many different ones are kept: the first, and those that weigh most.
MOST_RAISED = 60
MOST_LOOSE = 20
#: Of the launches of one log the last one is kept, and so many of those before it that had something to say.
MOST_LAUNCHES = 6
#: So many containers, pods and units are told apart; those beyond share one.
_MOST_SOURCES = 32
#: An exception so long ago, in a server that went on, will not be asked for any more.
_LONG_AGO = 2000


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the weights were loaded. ``elapsed`` is what the progress bar says, "25:10"."""

    percent: int
    done: int
    total: int
    elapsed: str
    line: int


@dataclass(frozen=True, slots=True)
class Sign:
    """A line that tells of an end, other than an exception."""

    exception: str
    message: str
    weight: Weight
    line: Line
    stage: Stage
    stack: tuple[Frame, ...] = ()  #: where the interpreter was, if it could still say so; the innermost frame first


@dataclass(eq=False, slots=True)
class Sighting:
    """An exception and what its surroundings say about it. Later ones of the same class and message are counted."""

    raised: Raised
    weight: Weight
    stage: Stage  #: how far the launch had got when it was read
    noise: bool
    after_shutdown: bool
    count: int = 1
    processes: list[str] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class Launch:
    """One launch of one ``source``."""

    index: int
    source: str
    first_line: int
    stage: Stage  #: the last one that any of its processes has come to
    version: str | None = None
    arguments: str | None = None  #: the text behind "non-default args: "
    command: str | None = None  #: the command line, where the log has it
    ending: str | None = None  #: how it ended, as `preflight launch` has noted it
    address: str | None = None  #: where the server says that it listens
    progress: Progress | None = None
    progress_line: int = 0  #: the line of the last sign of life that moved the launch on
    progress_time: str | None = None
    drafter: bool = False
    serving_line: int | None = None
    shutdown_line: int | None = None
    exit_line: int | None = None
    waits: int = 0  #: waiting lines since the last sign of life
    waiting_line: int = 0
    waiting_time: str | None = None
    last_line: int = 0
    last_time: str | None = None
    seen: set[tuple[str, str]] = field(default_factory=set)  #: which opening lines came, from which process
    sightings: dict[tuple[str | None, str], Sighting] = field(default_factory=dict)
    signs: list[Sign] = field(default_factory=list)
    loose: list[tuple[Line, Stage]] = field(default_factory=list)
    outcome: Outcome | None = None  #: set when the log is over

    @property
    def blank(self) -> bool:
        """Nothing in it looks like a launch of vLLM."""
        return not (self.seen or self.progress_line or self.sightings or self.signs or self.loose or self.waits)

    def reach(self, stage: Stage, line: Line) -> None:
        """A line says that the launch has come to ``stage``; another process may be behind, so it never goes back."""
        self.waits = 0
        self.progress_line, self.progress_time = line.number, line.time or self.last_time
        if stage.rank > self.stage.rank:
            self.stage = stage

    def see(self, raised: Raised, weight: Weight, noise: bool) -> None:
        """An exception; one of the same class and message as an earlier one is only counted, and may add weight to
        it."""
        key = key_of(raised)
        known = self.sightings.get(key)
        if known is not None and self._is_past(known, weight):
            del self.sightings[key]
            known = None
        if known is not None:
            known.count += 1
            known.weight = max(known.weight, weight)
            known.noise = known.noise and noise
            self._also(known, raised)
            self._adopt(known.raised, raised)
            return
        if len(self.sightings) >= MOST_RAISED and not self._make_room(weight, raised.start):
            return
        after = self.shutdown_line is not None and raised.start > self.shutdown_line
        sighting = Sighting(raised, weight, self.stage, noise, after)
        if raised.process:
            sighting.processes.append(raised.process)
        self.sightings[key] = sighting

    def _is_past(self, known: Sighting, weight: Weight) -> bool:
        """What was handled, or outlived by a server, says nothing about the same exception when it comes again."""
        handled = known.weight is Weight.SPARE and weight is not Weight.SPARE
        return handled or (self.serving_line is not None and known.raised.start < self.serving_line)

    def _make_room(self, weight: Weight, now: int) -> bool:
        """What weighs less goes first, then what a serving server has long outlived."""
        for key, sighting in self.sightings.items():
            lighter = sighting.weight < weight
            outlived = self.serving_line is not None and now - sighting.raised.start > _LONG_AGO
            if lighter or outlived:
                del self.sightings[key]
                return True
        return False

    @staticmethod
    def _also(known: Sighting, raised: Raised) -> None:
        if raised.process and raised.process not in known.processes and len(known.processes) < 64:
            known.processes.append(raised.process)

    @staticmethod
    def _adopt(first: Raised, again: Raised) -> None:
        """The same exception, printed again: what the new print knows more counts for the first one."""
        again.same = first
        for link, cause in again.causes:
            known = cause.first
            if known is not first and all(known is not other.first for _, other in first.causes):
                first.add_cause(link, known)
        first.frames = first.frames or again.frames
        first.effect = first.effect or again.effect
        again.frames, again.details = (), []


def key_of(raised: Raised) -> tuple[str | None, str]:
    """Exceptions with the same key are one that was printed several times, or that several workers raised alike."""
    if raised.type is None:
        return None, repr(raised.frames[-1:])
    return raised.name, raised.message[:300]


class Launches:
    """The launches of a log. Several containers or pods may write into one log, each with launches of its own."""

    def __init__(self, patterns: Patterns) -> None:
        self._first = patterns.stages[0]
        self._current: dict[str, Launch] = {}
        self._earlier: list[Launch] = []
        self.count = 0

    def current(self, source: str, number: int) -> Launch:
        """The launch that ``source`` is in. What begins none of its own (the kernel in a journal, a sidecar) is taken
        to speak of the one that wrote last."""
        return self._current.get(source) or self.last or self._begin(source, number)

    def open(self, kind: str, line: Line) -> Launch:
        """A line that stands once in every launch (its version, its arguments, the refusal of its flags): a second one
        from the same process begins the next launch, and so does one behind an exception that came before the first."""
        launch = self._current.get(line.source)
        if launch is None:
            launch = self.last
            if launch is None or launch.seen or launch.exit_line is not None or len(self._current) >= _MOST_SOURCES:
                launch = self._begin(line.source, line.number)
            else:
                launch.source = line.source
                self._current[line.source] = launch
        # One that is named `ApiServer_3` is one of several of the same launch, and repeats what the others say.
        key = (kind, line.process or "")
        if key in launch.seen or launch.exit_line is not None or (kind == "flags" and launch.seen):
            launch = self._begin(line.source, line.number)
        launch.seen.add(key)
        return launch

    @property
    def last(self) -> Launch | None:
        """The launch that wrote last."""
        return max(self._current.values(), key=lambda launch: launch.last_line, default=None)

    @property
    def kept(self) -> list[Launch]:
        """Those of which more than the number is known, in the order in which they began."""
        return sorted({*self._earlier, *self._current.values()}, key=lambda launch: launch.index)

    def _begin(self, source: str, number: int) -> Launch:
        self.count += 1
        before = self._current.get(source)
        if before is not None:
            before.last_line = max(before.last_line, number - 1)
            if before.sightings or before.signs or before.loose:
                self._earlier.append(before)
                del self._earlier[:-MOST_LAUNCHES]
        launch = Launch(self.count, source, number, self._first, last_line=number)
        for other in [name for name, theirs in self._current.items() if theirs is before]:
            self._current[other] = launch
        if len(self._current) >= _MOST_SOURCES:
            del self._current[next(iter(self._current))]
        self._current[source] = launch
        return launch
