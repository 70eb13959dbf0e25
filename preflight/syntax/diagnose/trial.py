"""Repairs on trial: which of them takes the interpreter past the fault, and which takes it farthest."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from preflight.syntax.compiler import CompileError, Outcome
from preflight.syntax.diagnose import fallback
from preflight.syntax.diagnose.model import Candidate, Shifts
from preflight.syntax.diagnose.release import restores
from preflight.syntax.diagnose.strings import CODE_LINE
from preflight.syntax.fixes import LineIndex, carry_out
from preflight.syntax.scene import Scene
from preflight.syntax.tokens import Kind, scan, swallowed

#: Compiles texts of the file in question and gives their outcomes, in order.
Oracle = Callable[[Sequence[str]], Sequence[Outcome]]

#: Where an interpreter gives up: first what only the compiler refuses, then the offset. A larger one is farther.
_Place = tuple[int, int]
#: How good a repair is; a larger one is better.
_Reach = tuple[int, ...]
_MENDED: _Reach = (9,)
#: An error so many lines behind the repaired statement is another fault; how far behind is then of no weight, since an
#: interpreter reports some errors (a character that it does not know, an unclosed string) before others above them.
_CLEAR_LINES = 2


class Trial:
    """Repairs tried on one scene, and the best of them."""

    def __init__(self, scene: Scene, oracle: Oracle) -> None:
        self._scene = scene
        self._oracle = oracle
        self._start: _Place = (_stage(scene.error), scene.offset)
        self._start_order = _order_of_strings(scene.text) if scene.swallowed is not None else ()
        self._tried: set[str] = {scene.text}
        self._baselines: dict[int, _Place | None] = {}
        self._equals: list[Candidate] = []
        self._reach: _Reach = ()
        self.best: tuple[Candidate, Outcome] | None = None

    @property
    def mended(self) -> bool:
        """Whether the best repair makes the text compile."""
        return self._reach == _MENDED

    def run(self, candidates: Sequence[Candidate]) -> None:
        """Try these repairs; of equals the first one stays."""
        short: list[tuple[Candidate, Outcome, _Place]] = []
        for candidate, repaired, outcome in self._outcomes(candidates):
            place = self._place(candidate, repaired, outcome.error)
            reach = _MENDED if outcome.ok else self._reach_of(candidate, repaired, place)
            if reach is None:
                short.append((candidate, outcome, place))
            elif self.best is None or reach > self._reach:
                self.best, self._reach, self._equals = (candidate, outcome), reach, [candidate]
            elif reach == self._reach:
                self._equals.append(candidate)
        if self.best is None:
            # A right repair can also uncover an error above, which the interpreter had kept back for this one. It is
            # right if it does as much as taking the statement away.
            for candidate, outcome, place in short:
                if place < self._start and place == self._baseline(candidate):
                    self.best = candidate, outcome
                    return

    def force(self, candidates: Sequence[Candidate]) -> None:
        """Take the best of these repairs, come what may: the fault is certain without the interpreter's word."""
        farthest: _Place = (-1, 0)
        for candidate, repaired, outcome in self._outcomes(candidates):
            place = self._place(candidate, repaired, outcome.error)
            if outcome.ok or place > farthest:
                self.best, farthest = (candidate, outcome), place
                self._reach = _MENDED if outcome.ok else ()
            if outcome.ok:
                return

    def _outcomes(self, candidates: Sequence[Candidate]) -> list[tuple[Candidate, str, Outcome]]:
        """What the interpreter says of each repaired text that was not tried before."""
        fresh: dict[str, Candidate] = {}
        for candidate in candidates:
            repaired = carry_out(self._scene.text, candidate.repair)
            if repaired not in self._tried:
                fresh.setdefault(repaired, candidate)
        self._tried.update(fresh)
        outcomes = self._oracle(list(fresh))
        return [
            (candidate, repaired, outcome)
            for (repaired, candidate), outcome in zip(fresh.items(), outcomes, strict=True)
            if outcome.failure is None
        ]

    def is_fix(self) -> bool:
        """Whether the best repair is certain enough to be offered.

        A repair of the same cause and equal reach that restores the release's lines takes its place first.
        """
        assert self.best is not None
        best, outcome = self.best
        same = [c for c in self._equals if (c.cause, c.start) == (best.cause, best.start)]
        restoring = next((c for c in same if restores(self._scene, c)), None)
        if restoring is not None:
            self.best = restoring, outcome
            return True
        return best.sure or (best.sure_if_alone and len(same) <= 1)

    def _reach_of(self, candidate: Candidate, repaired: str, place: _Place) -> _Reach | None:
        """How good a repair is that leaves errors; None if the interpreter does not come past the fault with it.

        A next error beside the fault would be the same fault again.
        """
        scene = self._scene
        if scene.swallowed is not None:
            # the first error of such a text tells little: it may be anywhere in what used to be prose
            order = _order_of_strings(repaired)
            return order if order > self._start_order else None
        if place[0] > self._start[0]:
            return (place[0], 1)
        line = scene.index.place(place[1])[0]
        touched = max([scene.line, *(scene.index.place(patch.start)[0] for patch in candidate.repair)])
        ends = [
            scene.statements[at].last_line for n in (scene.line, touched) if (at := scene.statement_at(n)) is not None
        ]
        end = max([touched, *ends])
        if line > end + _CLEAR_LINES:
            return (place[0], 1)
        whole = candidate.is_weak or candidate.cause.startswith("bracket-")
        return (place[0], 0, place[1]) if line > (end if whole else touched) else None

    def _place(self, candidate: Candidate, repaired: str, error: CompileError | None) -> _Place:
        """Where the interpreter gives up on a repaired text, as a place of the scene's own text."""
        if error is None:
            return (2, 0)
        shifts = Shifts()
        shifts.add(candidate.repair)
        return _stage(error), shifts.back(LineIndex(repaired).offset(error.line or 1, error.column or 1))

    def _baseline(self, candidate: Candidate) -> _Place | None:
        """Where the interpreter gives up without the statement that the candidate speaks of."""
        at = self._scene.statement_at(self._scene.index.place(candidate.start)[0])
        if at is None:
            return None
        if at not in self._baselines:
            without = fallback.without(self._scene, at)
            text = carry_out(self._scene.text, without.repair)
            outcome = self._oracle([text])[0]
            self._baselines[at] = self._place(without, text, outcome.error) if outcome.failure is None else None
        return self._baselines[at]


def _stage(error: CompileError) -> int:
    """What the grammar refuses is reported before anything that only the compiler does."""
    return 0 if error.stage == "parse" else 1


def _order_of_strings(text: str) -> _Reach:
    """How well the strings of three quotes are in order: where one is not closed, text and code have changed sides."""
    tokens = scan(text)
    turned = 0
    for token, after in zip(tokens, [*tokens[1:], None], strict=True):
        if len(token.quote) == 3:
            turned += bool(CODE_LINE.search(token.text)) + (after is not None and after.kind is Kind.NAME)
    return (0 if swallowed(tokens) is None else -1, -turned)
