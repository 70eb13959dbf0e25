"""The engine of the diagnosis: detectors propose causes, the interpreter is the judge.

A proposed cause comes with a repair. The repaired text is compiled, and the cause is believed only if the interpreter
gets past the place. So no cause rests on the wording of one Python's messages, and every fix that is offered was tried.
After a fault is named its repair is kept in memory and the search goes on behind it: each further error is a fault of
its own, not an echo of the first.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from preflight.model import Edit
from preflight.syntax.compiler import CompileError, Outcome
from preflight.syntax.diagnose import fallback
from preflight.syntax.diagnose.detectors import DETECTORS
from preflight.syntax.diagnose.model import Candidate, Diagnosis, Patch, Shifts, carry_out
from preflight.syntax.diagnose.release import restores
from preflight.syntax.fixes import LineIndex
from preflight.syntax.scene import Scene
from preflight.syntax.source import Source

#: Compiles texts of the file in question and gives their outcomes, in order.
Oracle = Callable[[Sequence[str]], Sequence[Outcome]]

#: After so many faults in one file the rest is left: the reader has enough to do.
MAX_FAULTS = 12
#: So many repairs are tried for one fault, in batches; a batch that mends the file ends the search.
MAX_CANDIDATES = 72
BATCH = 12
#: Seconds of search for one file; after that the interpreter's own words have to do.
MAX_SECONDS = 20.0


def diagnose(
    source: Source, error: CompileError, oracle: Oracle, version: tuple[int, int], pristine: str | None = None
) -> list[Diagnosis]:
    """The faults of a source that an interpreter refuses with ``error``, in the order of their places; at least one.

    ``version`` is the Python that refuses it, ``oracle`` asks that same Python, ``pristine`` is the release's text.
    """
    assert source.text is not None
    original = LineIndex(source.text)
    deadline = time.monotonic() + MAX_SECONDS
    text, shifts = source.text, Shifts()
    found: list[_Found] = []
    while len(found) < MAX_FAULTS:

        def number(offset: int, shifts: Shifts = shifts) -> int:
            return original.place(shifts.back(offset))[0]

        scene = Scene(text, error, version, pristine, number)
        chosen, outcome, sure = _choose(scene, oracle, deadline)
        fix = shifts.original(chosen.repair) if sure else ()
        found.append(
            _Found(chosen, original.place(shifts.back(chosen.start)), original.place(shifts.back(chosen.end)), fix)
        )
        if outcome.error is None or time.monotonic() > deadline:
            break
        text = carry_out(text, chosen.repair)
        shifts.add(chosen.repair)
        error = outcome.error
    return _proved(source, oracle, found)


@dataclass(frozen=True, slots=True)
class _Found:
    """A cause that was believed, its place and its fix in the text as it was read (no fix: empty)."""

    cause: Candidate
    start: tuple[int, int]
    end: tuple[int, int]
    fix: tuple[Patch, ...]


def _choose(scene: Scene, oracle: Oracle, deadline: float) -> tuple[Candidate, Outcome, bool]:
    """The proposed cause whose repair takes the interpreter farthest, what it then says, and whether it is a fix.

    When none is believed, the statement is named in the interpreter's words and taken out of the way; an outcome without
    an error then means that nothing more can be told.
    """
    trial = _Trial(scene, oracle)
    candidates = sorted((c for detector in DETECTORS for c in detector(scene)), key=lambda c: -c.rank)
    del candidates[MAX_CANDIDATES:]
    while candidates and not trial.mended and time.monotonic() < deadline:
        trial.run(candidates[:BATCH])
        del candidates[:BATCH]
    if trial.best is not None:
        best = trial.best[0]
        trial.run([c for c in candidates if (c.cause, c.start) == (best.cause, best.start)])
        sure = trial.is_fix()
        return *trial.best, sure
    if trial.best is None:
        for candidate in fallback.candidates(scene):
            trial.run([candidate])
            if trial.best is not None:
                return *trial.best, False
    return fallback.plain(scene), Outcome(), False


class _Trial:
    """Repairs tried on one scene, and the best of them."""

    def __init__(self, scene: Scene, oracle: Oracle) -> None:
        self._scene = scene
        self._oracle = oracle
        self._best_key = self._key(scene.error, scene.offset)
        self._tried: set[str] = {scene.text}
        self._baselines: dict[int, tuple[float, ...] | None] = {}
        self._equals: list[Candidate] = []
        self.best: tuple[Candidate, Outcome] | None = None
        self.mended = False

    def run(self, candidates: Sequence[Candidate]) -> None:
        """Try these repairs; of equals the first one stays."""
        texts: list[str] = []
        fresh: list[Candidate] = []
        for candidate in candidates:
            repaired = carry_out(self._scene.text, candidate.repair)
            if repaired not in self._tried:
                self._tried.add(repaired)
                texts.append(repaired)
                fresh.append(candidate)
        late: list[tuple[Candidate, Outcome, tuple[float, ...]]] = []
        for candidate, repaired, outcome in zip(fresh, texts, self._oracle(texts), strict=True):
            if outcome.failure is not None:
                continue
            key = self._key(outcome.error, self._place(candidate, repaired, outcome.error))
            if key > self._best_key:
                self.best, self._best_key = (candidate, outcome), key
                self._equals = [candidate]
                self.mended = outcome.ok
            elif self.best is not None and key == self._best_key:
                self._equals.append(candidate)
            elif self.best is None:
                late.append((candidate, outcome, key))
        if self.best is None:
            # An interpreter prefers some errors to earlier ones (an unclosed string to a wrong operator above it), so a
            # right repair can uncover an earlier place. It is right if it does as much as taking the statement away.
            for candidate, outcome, key in late:
                if key == self._baseline(candidate) != self._best_key:
                    self.best = candidate, outcome
                    return

    def is_fix(self) -> bool:
        """Whether the best repair is certain enough to be offered; a repair of equal reach that restores the release's
        lines takes its place."""
        assert self.best is not None
        best, outcome = self.best
        same = [c for c in self._equals if (c.cause, c.start) == (best.cause, best.start)]
        restoring = next((c for c in same if restores(self._scene, c)), None)
        if restoring is not None:
            self.best = restoring, outcome
            return True
        return best.sure or (best.sure_if_alone and len(same) <= 1)

    def _place(self, candidate: Candidate, repaired: str, error: CompileError | None) -> int:
        """The offset, in the scene's own text, of an error in a repaired one."""
        if error is None:
            return 0
        shifts = Shifts()
        shifts.add(candidate.repair)
        return shifts.back(LineIndex(repaired).offset(error.line or 1, error.column or 1))

    @staticmethod
    def _key(error: CompileError | None, place: int) -> tuple[float, ...]:
        """How far an interpreter came: a larger key is farther. What the grammar refuses comes before the rest."""
        if error is None:
            return (2,)
        return (0 if error.stage == "parse" else 1, place)

    def _baseline(self, candidate: Candidate) -> tuple[float, ...] | None:
        """The key of the text without the statement that the candidate speaks of."""
        at = self._scene.statement_at(self._scene.index.place(candidate.start)[0])
        if at is None:
            return None
        if at not in self._baselines:
            without = fallback.without(self._scene, at)
            text = carry_out(self._scene.text, without.repair)
            outcome = self._oracle([text])[0]
            self._baselines[at] = (
                self._key(outcome.error, self._place(without, text, outcome.error)) if outcome.failure is None else None
            )
        return self._baselines[at]


def _proved(source: Source, oracle: Oracle, found: Sequence[_Found]) -> list[Diagnosis]:
    """The diagnoses in order; their fixes are marked safe if the file compiles with all of them together."""
    text = source.text
    assert text is not None
    index = LineIndex(text)
    offered: list[Patch] = []
    for one in found:
        offered += one.fix
    offered.sort(key=lambda patch: (patch.start, patch.end))
    apart = all(before.end <= after.start for before, after in zip(offered, offered[1:], strict=False))
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
            )
        )  # fmt: skip
    return sorted(diagnoses, key=lambda diagnosis: diagnosis.start)
