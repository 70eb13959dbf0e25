"""Syntax that the target's Python is too old for."""

from __future__ import annotations

from collections.abc import Iterator

from preflight.syntax.diagnose.model import Candidate
from preflight.syntax.fixes import Patch
from preflight.syntax.scene import Scene
from preflight.syntax.versions import Feature, features_of

CAUSE = "newer-syntax"
#: So many uses of newer syntax are tried in one round, the nearest first.
_MAX_FEATURES = 8


def newer_syntax(scene: Scene) -> Iterator[Candidate]:
    """Syntax of a later Python than the one that refuses the file."""
    # the text is scanned as a newer Python would: this one may have cut a string or a statement in two
    newer = [f for f in features_of(scene.text) if f.since > scene.version and f.plain]
    newer.sort(key=lambda feature: abs(feature.start - scene.offset))
    for feature in newer[:_MAX_FEATURES]:
        yield _candidate(scene, feature, (feature,))
        line = scene.index.place(feature.start)[0]
        together = tuple(f for f in newer if scene.index.place(f.start)[0] == line)
        if feature is max(together, key=lambda f: f.since) and len(together) > 1:
            yield _candidate(scene, feature, together)


def _candidate(scene: Scene, feature: Feature, together: tuple[Feature, ...]) -> Candidate:
    """``together`` are the uses on one line, which only an older form of all of them takes out of the way."""
    patches = {Patch(*replacement) for one in together for replacement in one.plain}
    older = feature.same_meaning if len(together) == 1 else None
    newer_python = "run vLLM on a newer Python"
    return Candidate(
        CAUSE,
        feature.start,
        feature.end,
        f"{feature.name} needs Python {feature.since_text}; {scene.python} is to read this file",
        tuple(patches),
        why=f"{scene.python} has no such syntax",
        help=f"{older}, or {newer_python}" if older else f"{newer_python}, or write it in an older form",
        sure=older is not None,
        feature=feature.name,
        since=feature.since,
        rank=94,
    )
