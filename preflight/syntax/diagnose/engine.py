"""The engine of the diagnosis: detectors propose causes, the interpreter is the judge.

A proposed cause comes with a repair. The repaired text is compiled, and the cause is believed only if the interpreter
gets past the place. So no cause rests on the wording of one Python's messages, and every fix that is offered was tried.
After a fault is named, its repair is kept in memory and the search goes on behind it: each further error is a fault of
its own, not an echo of the first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from preflight.model import Edit
from preflight.syntax.compiler import CompileError, Outcome
from preflight.syntax.diagnose.detectors import DETECTORS
from preflight.syntax.diagnose.model import Candidate, Diagnosis, Patch, carry_out
from preflight.syntax.fixes import LineIndex
from preflight.syntax.scene import Scene
from preflight.syntax.source import Source

#: Compiles texts of the file in question and gives their outcomes, in order.
Oracle = Callable[[Sequence[str]], Sequence[Outcome]]

#: After so many faults in one file the rest is left: the reader has enough to do.
MAX_FAULTS = 12
#: So many repairs are tried in one round.
MAX_CANDIDATES = 60


def diagnose(
    source: Source, error: CompileError, oracle: Oracle, version: tuple[int, int], pristine: str | None = None
) -> list[Diagnosis]:
    """The faults of a source that an interpreter refuses with ``error``, in the order of their places; at least one.

    ``version`` is the Python that refuses it, ``oracle`` asks that same Python, ``pristine`` is the release's text.
    """
    assert source.text is not None
    original = LineIndex(source.text)
    text = source.text
    shifts = _Shifts()
    found: list[tuple[Candidate, tuple[int, int], tuple[int, int], tuple[Patch, ...] | None]] = []
    while len(found) < MAX_FAULTS:
        scene = Scene(text, error, version, pristine, source.path)
        chosen, outcome = _choose(scene, oracle)
        if chosen is None:
            chosen, outcome = _neutralise(scene, oracle)
        offered = chosen.fix if chosen.fix is not None else chosen.repair
        found.append(
            (
                chosen,
                original.place(shifts.back(chosen.start)),
                original.place(shifts.back(chosen.end)),
                shifts.original(offered) if chosen.sure else None,
            )
        )
        shifts.add(chosen.repair)
        text = carry_out(text, chosen.repair)
        if outcome.error is None:
            break
        error = outcome.error
    return _proved(source, oracle, found)


def _choose(scene: Scene, oracle: Oracle) -> tuple[Candidate | None, Outcome]:
    """The proposed cause whose repair takes the interpreter farthest."""
    candidates: list[Candidate] = []
    for detector in DETECTORS:
        candidates += detector(scene)
    candidates.sort(key=lambda candidate: -candidate.rank)
    del candidates[MAX_CANDIDATES:]
    outcomes = oracle([carry_out(scene.text, candidate.repair) for candidate in candidates])
    here = _progress(scene.error)
    best: tuple[Candidate | None, Outcome] = (None, Outcome())
    best_key: tuple[float, ...] = here
    for candidate, outcome in zip(candidates, outcomes, strict=True):
        if outcome.failure is not None:
            continue
        key = _progress(outcome.error)
        if key > best_key:
            best, best_key = (candidate, outcome), key
    return best


def _progress(error: CompileError | None) -> tuple[float, ...]:
    """How far an interpreter came: a larger value is farther."""
    if error is None:
        return (9.0,)
    return (0.0 if error.stage == "parse" else 1.0, float(error.line or 0), float(error.column or 0))


def _neutralise(scene: Scene, oracle: Oracle) -> tuple[Candidate, Outcome]:
    """No cause is known: say what the interpreter says, and take the statement out of the way."""
    error = scene.error
    patch = Patch(0, 0, "")
    return (
        Candidate(
            "invalid-syntax",
            scene.offset,
            scene.offset,
            f"Python {scene.version[0]}.{scene.version[1]} cannot read this: {error.message}",
            (patch,),
            sure=False,
        ),
        Outcome(),
    )


def _proved(
    source: Source,
    oracle: Oracle,
    found: list[tuple[Candidate, tuple[int, int], tuple[int, int], tuple[Patch, ...] | None]],
) -> list[Diagnosis]:
    """The diagnoses, their fixes marked safe if the file compiles with all of them."""
    text = source.text
    assert text is not None
    index = LineIndex(text)
    patches = [patch for *_, fix in found if fix for patch in fix]
    safe = bool(patches) and oracle([carry_out(text, tuple(patches))])[0].ok
    diagnoses = []
    for candidate, start, end, fix in found:
        edits = (
            tuple(Edit(source.path, index.place(patch.start), index.place(patch.end), patch.new) for patch in fix)
            if fix
            else None
        )
        diagnoses.append(
            Diagnosis(candidate.cause, start, end, candidate.message, candidate.why, candidate.help, edits, safe)
        )
    return sorted(diagnoses, key=lambda diagnosis: diagnosis.start)


class _Shifts:
    """How offsets of the text under repair lead back to the text as it was read."""

    def __init__(self) -> None:
        self._rounds: list[tuple[Patch, ...]] = []

    def add(self, patches: tuple[Patch, ...]) -> None:
        self._rounds.append(tuple(sorted(patches, key=lambda patch: (patch.start, patch.end))))

    def back(self, offset: int) -> int:
        """The original offset of a place in the text as it is now."""
        for patches in reversed(self._rounds):
            shift = 0
            for patch in patches:
                begin = patch.start + shift  # where the patch's own text begins now
                if offset <= begin:
                    break
                if offset < begin + len(patch.new):
                    offset, shift = patch.end, 0
                    break
                shift += len(patch.new) - (patch.end - patch.start)
            offset -= shift
        return offset

    def original(self, patches: tuple[Patch, ...]) -> tuple[Patch, ...]:
        """Patches of the text as it is now, as patches of the text as it was read."""
        return tuple(Patch(self.back(patch.start), self.back(patch.end), patch.new) for patch in patches)
