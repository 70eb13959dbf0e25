"""Syntax that the target's Python is too old for."""

from __future__ import annotations

from collections.abc import Iterator

from preflight.syntax.diagnose.model import Candidate, Patch
from preflight.syntax.scene import Scene
from preflight.syntax.versions import features

CAUSE = "newer-syntax"


def newer_syntax(scene: Scene) -> Iterator[Candidate]:
    """Syntax of a later Python than the one that refuses the file."""
    seen = scene.around(before=2, after=1)
    if "f-string" in scene.error.message:
        # before 3.12 an f-string is parsed by itself, and its errors count lines from there
        seen += [s for s in scene.statements if s not in seen]
    for feature in features(scene.text, scene.statements_in_order(seen)):
        if feature.since <= scene.version or not feature.plain:
            continue
        older = feature.same_meaning
        yield Candidate(
            CAUSE,
            feature.start,
            feature.end,
            f"{feature.name} needs Python {feature.since_text}; {scene.python} is to read this file",
            tuple(Patch(*replacement) for replacement in feature.plain),
            why=f"{scene.python} has no such syntax",
            help=f"{older}, or run vLLM on a newer Python"
            if older
            else "run vLLM on a newer Python, or write it in an older form",
            sure=older is not None,
            rank=94,
        )
