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

#: How far an interpreter came with a text; a larger key is farther.
_Key = tuple[int, ...]
_MENDED: _Key = (2,)


class Trial:
    """Repairs tried on one scene, and the best of them."""

    def __init__(self, scene: Scene, oracle: Oracle) -> None:
        self._scene = scene
        self._oracle = oracle
        self._start = _key(scene.error, scene.offset)
        if scene.swallowed is not None:
            self._start = _order_of_strings(scene.text)
        self._best_key = self._start
        self._tried: set[str] = {scene.text}
        self._baselines: dict[int, _Key | None] = {}
        self._equals: list[Candidate] = []
        self.best: tuple[Candidate, Outcome] | None = None

    @property
    def mended(self) -> bool:
        """Whether the best repair makes the text compile."""
        return self._best_key == _MENDED

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
        short: list[tuple[Candidate, Outcome, _Key]] = []
        for candidate, repaired, outcome in zip(fresh, texts, self._oracle(texts), strict=True):
            if outcome.failure is not None:
                continue
            place = self._place(candidate, repaired, outcome.error)
            key = _key(outcome.error, place)
            if self._scene.swallowed is not None and key != _MENDED:
                key = _order_of_strings(repaired)
            if key < self._best_key or not self._gets_past(candidate, key, place):
                short.append((candidate, outcome, key))
            elif key > self._best_key or self.best is None:
                self.best, self._best_key = (candidate, outcome), key
                self._equals = [candidate]
            else:
                self._equals.append(candidate)
        if self.best is None:
            # An interpreter prefers some errors to earlier ones (an unclosed string to a wrong operator above it), so a
            # right repair can uncover an earlier place. It is right if it does as much as taking the statement away.
            for candidate, outcome, key in short:
                if key < self._start and key == self._baseline(candidate):
                    self.best = candidate, outcome
                    return

    def force(self, candidates: Sequence[Candidate]) -> None:
        """Take the best of these repairs, come what may: the fault is certain without the interpreter's word."""
        texts = [carry_out(self._scene.text, candidate.repair) for candidate in candidates]
        for candidate, repaired, outcome in zip(candidates, texts, self._oracle(texts), strict=True):
            key = _key(outcome.error, self._place(candidate, repaired, outcome.error))
            if outcome.failure is None and (self.best is None or key > self._best_key):
                self.best, self._best_key = (candidate, outcome), key

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

    def _gets_past(self, candidate: Candidate, key: _Key, place: int) -> bool:
        """Whether the interpreter came past the fault's lines: a next error beside it would be the same fault again."""
        if key == _MENDED:
            return True
        scene = self._scene
        if scene.swallowed is not None:
            return key > self._start
        if key[0] > self._start[0]:
            return True
        last = max(scene.line, *(scene.index.place(patch.start)[0] for patch in candidate.repair), 0)
        if candidate.is_weak or candidate.cause.startswith("bracket-"):
            for line in (scene.line, last):
                at = scene.statement_at(line)
                last = max(last, scene.statements[at].last_line if at is not None else 0)
        return scene.index.place(place)[0] > last

    def _place(self, candidate: Candidate, repaired: str, error: CompileError | None) -> int:
        """The offset, in the scene's own text, of an error in a repaired one."""
        if error is None:
            return 0
        shifts = Shifts()
        shifts.add(candidate.repair)
        return shifts.back(LineIndex(repaired).offset(error.line or 1, error.column or 1))

    def _baseline(self, candidate: Candidate) -> _Key | None:
        """The key of the text without the statement that the candidate speaks of."""
        at = self._scene.statement_at(self._scene.index.place(candidate.start)[0])
        if at is None:
            return None
        if at not in self._baselines:
            without = fallback.without(self._scene, at)
            text = carry_out(self._scene.text, without.repair)
            outcome = self._oracle([text])[0]
            known = outcome.failure is None
            self._baselines[at] = _key(outcome.error, self._place(without, text, outcome.error)) if known else None
        return self._baselines[at]


def _order_of_strings(text: str) -> _Key:
    """How well the strings of three quotes are in order: where one is not closed, text and code have changed sides.

    The first error of such a text tells little, as it may be anywhere in what used to be prose.
    """
    tokens = scan(text)
    turned = 0
    for token, after in zip(tokens, [*tokens[1:], None], strict=True):
        if len(token.quote) == 3:
            turned += bool(CODE_LINE.search(token.text)) + (after is not None and after.kind is Kind.NAME)
    return (0 if swallowed(tokens) is None else -1, -turned)


def _key(error: CompileError | None, place: int) -> _Key:
    if error is None:
        return _MENDED
    # what the grammar refuses is reported before anything that only the compiler does
    return (0 if error.stage == "parse" else 1, place)
