"""The engine of the diagnosis: detectors propose causes, the interpreter is the judge.

A proposed cause comes with a repair. The repaired text is compiled, and the cause is believed only if the interpreter
gets past the place. So no cause rests on the wording of one Python's messages, and every fix that is offered was tried.
After a fault is named its repair is kept in memory and the search goes on behind it: each further error is a fault of
its own, not an echo of the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from preflight.model import Edit
from preflight.syntax.compiler import CompileError, Outcome
from preflight.syntax.diagnose import fallback, leftovers
from preflight.syntax.diagnose.detectors import DETECTORS, OF_TEXT
from preflight.syntax.diagnose.model import Candidate, Diagnosis, Shifts
from preflight.syntax.diagnose.trial import Oracle, Trial
from preflight.syntax.fixes import LineIndex, Patch, carry_out
from preflight.syntax.scene import Scene
from preflight.syntax.source import Source

#: After so many faults in one file the rest is left: the reader has enough to do.
MAX_FAULTS = 12
#: An error so few lines behind a statement that could only be taken out of the way belongs to the same fault.
ECHO_LINES = 3
#: The rounds of search for one file, echoes included.
MAX_ROUNDS = 40
#: So many repairs are tried for one fault, in batches; a batch that mends the file ends the search.
MAX_CANDIDATES = 96
BATCH = 12
#: A text of so many characters is tried in full batches, a larger one in smaller ones.
SMALL = 100_000
#: So many characters are compiled in the search for one file (some ten seconds); after that the interpreter's own words
#: have to do. Work is counted, not time, so that a busy machine gives the same answer.
MAX_COMPILED = 60_000_000


def diagnose(
    source: Source, error: CompileError, oracle: Oracle, version: tuple[int, int], pristine: str | None = None
) -> list[Diagnosis]:
    """The faults of a source that an interpreter refuses with ``error``, in the order of their places; at least one.

    ``version`` is the Python that refuses it, ``oracle`` asks that same Python, ``pristine`` is the release's text.
    """
    assert source.text is not None
    original = LineIndex(source.text)
    judge = _Judge(oracle)
    text, shifts = source.text, Shifts()
    found: list[_Found] = []
    echo_until = rounds = 0
    while len(found) < MAX_FAULTS and rounds < MAX_ROUNDS:

        def number(offset: int, shifts: Shifts = shifts) -> int:
            return original.place(shifts.back(offset))[0]

        scene = Scene(text, error, version, pristine, number)
        echo = bool(found) and number(scene.offset) <= echo_until
        chosen, outcome, sure = _choose(scene, judge, fallback_only=echo)
        rounds += 1
        if not echo:
            fix = shifts.original(chosen.repair) if sure else ()
            start, end = original.place(shifts.back(chosen.start)), original.place(shifts.back(chosen.end))
            if all(start[0] != one.start[0] for one in found):
                found.append(_Found(chosen, start, max(start, end), fix))
        if outcome.error is None or judge.tired:
            break
        if chosen.is_weak:
            touched = max(number(patch.end) for patch in chosen.repair)
            echo_until = max(touched, number(scene.offset)) + ECHO_LINES
        text = carry_out(text, chosen.repair)
        shifts.add(chosen.repair)
        error = outcome.error
    return _proved(source, oracle, found)


class _Judge:
    """The oracle of one file, which counts its work."""

    def __init__(self, oracle: Oracle) -> None:
        self._oracle = oracle
        self._compiled = 0

    @property
    def tired(self) -> bool:
        return self._compiled > MAX_COMPILED

    def __call__(self, texts: Sequence[str]) -> Sequence[Outcome]:
        self._compiled += sum(map(len, texts))
        return self._oracle(texts)


@dataclass(frozen=True, slots=True)
class _Found:
    """A cause that was believed, its place and its fix in the text as it was read (no fix: empty)."""

    cause: Candidate
    start: tuple[int, int]
    end: tuple[int, int]
    fix: tuple[Patch, ...]


def _choose(scene: Scene, judge: _Judge, fallback_only: bool) -> tuple[Candidate, Outcome, bool]:
    """The proposed cause whose repair takes the interpreter farthest, what it then says, and whether it is a fix.

    When none is believed, the statement is named in the interpreter's words and taken out of the way; an outcome
    without an error then means that nothing more can be told.
    """
    beyond = fallback.beyond_limits(scene)
    if beyond is not None:
        return beyond, Outcome(), False
    trial = Trial(scene, judge)
    certain = list(leftovers.conflict(scene))
    if certain:
        trial.force(certain)
        if trial.best is not None:
            return *trial.best, False  # which side is right is for a person to say
    if not fallback_only:
        # behind a string that was never closed everything is text: what looks wrong there is prose
        detectors = OF_TEXT if scene.swallowed is not None else DETECTORS
        candidates = sorted((c for detector in detectors for c in detector(scene)), key=lambda c: -c.rank)
        del candidates[MAX_CANDIDATES:]
        batch = min(BATCH, max(2, BATCH * SMALL // max(len(scene.text), 1)))
        while candidates and not trial.mended and not judge.tired:
            trial.run(candidates[:batch])
            del candidates[:batch]
        if trial.best is not None:
            best = trial.best[0]
            trial.run([c for c in candidates if (c.cause, c.start) == (best.cause, best.start)])
            sure = trial.is_fix()
            return *trial.best, sure
    if scene.swallowed is not None:
        return fallback.swallowed(scene), Outcome(), False
    for candidate in fallback.candidates(scene):
        if judge.tired:
            break
        trial.run([candidate])
        if trial.best is not None:
            return *trial.best, False
    return fallback.plain(scene), Outcome(), False


def _proved(source: Source, oracle: Oracle, found: Sequence[_Found]) -> list[Diagnosis]:
    """The diagnoses in order; their fixes are marked safe if the file compiles with all of them together."""
    text = source.text
    assert text is not None
    index = LineIndex(text)
    offered = sorted((patch for one in found for patch in one.fix), key=lambda patch: (patch.start, patch.end))
    apart = all(before.end <= after.start for before, after in pairwise(offered))
    safe = bool(offered) and apart and oracle([carry_out(text, tuple(offered))])[0].ok
    diagnoses = []
    for one in found:
        edits = tuple(Edit(source.path, index.place(p.start), index.place(p.end), p.new) for p in one.fix)
        cause = one.cause
        diagnoses.append(
            Diagnosis(
                cause.cause, one.start, one.end, cause.message, cause.why, cause.help,
                fix=edits if edits and apart else None,
                safe=bool(edits) and safe,
                feature=cause.feature,
                since=cause.since,
            )
        )  # fmt: skip
    return sorted(diagnoses, key=lambda diagnosis: diagnosis.start)
