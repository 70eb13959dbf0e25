"""A log's reading -> the answer: one root cause, with its meaning and the rule that decides it beforehand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from preflight.triage.advice import Advice, advise
from preflight.triage.failure import Failure, State
from preflight.triage.launches import Launch, Progress
from preflight.triage.patterns import Patterns
from preflight.triage.reader import NoiseSeen, Reading

if TYPE_CHECKING:
    from preflight.rulebook import Rulebook
    from preflight.tree import Tree


@dataclass(frozen=True, slots=True)
class TreeQuestion:
    """The tree that the user named, and the words that name it: the command to run repeats them."""

    tree: Tree | None = None
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Earlier:
    """A launch of the same log that failed before the one that is told."""

    launch: int
    stage: str
    failure: Failure


@dataclass(frozen=True, slots=True)
class Triage:
    """The whole answer.

    ``state`` is that of the launch that is told: the last one that failed, else the last. ``later`` is the state of the
    log's last launch where that is another one. ``patched`` and ``advice`` are of the root cause, ``ending`` is what
    `preflight launch` noted.
    """

    state: State | None
    stage: str
    progress: Progress | None
    root: Failure | None
    patched: bool | None
    advice: Advice | None
    cascade: tuple[Failure, ...]
    survived: tuple[Failure, ...]
    noise: tuple[NoiseSeen, ...]
    launch: int
    launches: int
    later: State | None
    earlier: tuple[Earlier, ...]
    vllm: str | None
    last_line: int
    last_text: str
    last_time: str | None
    last_process: str | None
    ending: str | None
    notes: tuple[str, ...]

    @property
    def failed(self) -> bool:
        return self.root is not None


def answer(
    reading: Reading,
    patterns: Patterns,
    rules: Callable[[], Rulebook],
    question: TreeQuestion,
    notes: tuple[str, ...] = (),
) -> Triage:
    """Tell the last launch that failed; where none did, the last one."""
    failed = [launch for launch in reading.launches if launch.outcome is not None and launch.outcome.root is not None]
    told = failed[-1] if failed else reading.launches[-1] if reading.launches else None
    if told is None or told.outcome is None:
        return _of_nothing(reading, patterns, notes)
    outcome, last = told.outcome, reading.launches[-1]
    root, line = outcome.root, reading.last
    stage = _stage(told)
    return Triage(
        state=outcome.state,
        stage=stage,
        progress=outcome.progress,
        root=root,
        patched=None if root is None else _patched(root, question.tree),
        advice=None if root is None else advise(root, told, patterns, rules, question.words),
        cascade=outcome.cascade,
        survived=outcome.survived,
        noise=reading.noise,
        launch=told.index,
        launches=reading.launch_count,
        later=last.outcome.state if last is not told and last.outcome is not None else None,
        earlier=tuple(_earlier(launch) for launch in failed[:-1]),
        vllm=told.version,
        last_line=line.number if line is not None else 0,
        last_text=line.text.strip()[:300] if line is not None else "",
        last_time=line.time if line is not None else None,
        last_process=line.process if line is not None else None,
        ending=told.ending,
        notes=notes,
    )


def stage_text(stage: str, progress: Progress | None, drafter: bool = False) -> str:
    """``loading weights (83 %, 25:10)``; with the drafter's weights, ``loading weights (5 %, 00:03, drafter)``."""
    if stage != "loading weights":
        return stage
    details = [f"{progress.percent} %", progress.elapsed] if progress is not None else []
    details += ["drafter"] if drafter else []
    return f"{stage} ({', '.join(details)})" if details else stage


def _stage(launch: Launch) -> str:
    outcome = launch.outcome
    assert outcome is not None
    return stage_text(outcome.stage.name, outcome.progress, launch.drafter)


def _earlier(launch: Launch) -> Earlier:
    assert launch.outcome is not None and launch.outcome.root is not None
    return Earlier(launch.index, _stage(launch), launch.outcome.root)


def _patched(root: Failure, tree: Tree | None) -> bool | None:
    """None: no tree was given, the place is not in it, or which of its files are patched is not known."""
    if tree is None or root.place is None or not root.place.in_tree:
        return None
    if any(question.id == "no-reference" for question in tree.undecided):
        return None
    return any(file.path == root.place.path for file in tree.facts.patched)


def _of_nothing(reading: Reading, patterns: Patterns, notes: tuple[str, ...]) -> Triage:
    """An empty log."""
    return Triage(
        state=None,
        stage=patterns.stages[0].name,
        progress=None,
        root=None,
        patched=None,
        advice=None,
        cascade=(),
        survived=(),
        noise=reading.noise,
        launch=0,
        launches=reading.launch_count,
        later=None,
        earlier=(),
        vllm=None,
        last_line=0,
        last_text="",
        last_time=None,
        last_process=None,
        ending=None,
        notes=notes,
    )
