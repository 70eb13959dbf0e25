"""The handed cases of construction, held against what the walk of it says: of each config, whether a real vLLM built
the model, or what it raised and where.

``python -m tests.construct_cases FILE[:start:stop:step] ...`` runs cases of files in ``fixtures/cases`` and prints what
does not agree; ``-v`` prints all that was said.
"""

from __future__ import annotations

import gc
import json
import resource
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from preflight.launch.launch import read_launch
from preflight.launch.request import LaunchRequest
from preflight.model import Fault, Severity, Undecided
from preflight.program import Program
from preflight.tree import Tree
from preflight.walk.following import Followed, follow
from preflight.walk.result import WHOLE, Scope
from tests.slices import named_slice
from tests.walk_cases import CASES, MACHINE, tree_of

FLAGS = ("--skip-tokenizer-init", "--dtype", "bfloat16", "--enforce-eager")


@dataclass(frozen=True, slots=True)
class Built:
    """What the walk of a launch said: its errors with their places and trails, what it left open, and its cost."""

    errors: tuple[Fault, ...]
    open: tuple[Undecided, ...]
    constructed: bool
    steps: int
    seconds: float
    followed: Followed | None = None

    @property
    def verdict(self) -> str:
        """As the cases have it: ``raises`` or ``constructs``; ``undecided`` where it stays open."""
        if self.errors:
            return "raises"
        return "constructs" if self.constructed and not self.open else "undecided"


def build(
    tree: Tree, program: Program, config: dict[str, Any], flags: tuple[str, ...] = (), scope: Scope = WHOLE
) -> Built:
    """Walk a launch of this config to the built model, or as far as ``scope`` says."""
    with TemporaryDirectory() as text:
        folder = Path(text)
        (folder / "config.json").write_text(json.dumps(config))
        started = time.process_time()
        words = ("vllm", "serve", text, *FLAGS, *flags)
        launch = read_launch(LaunchRequest(words=words, folder=folder), {}, tree, program)
        assert launch is not None
        followed = follow(launch, tree, program, MACHINE, scope)
        seconds = time.process_time() - started
    if isinstance(followed, Undecided):
        return Built((), (followed,), False, 0, seconds)
    errors = tuple(one for one in followed.found if isinstance(one, Fault) and one.severity in (None, Severity.ERROR))
    doubts = tuple(one for one in followed.found if isinstance(one, Undecided) and one.decisive)
    walk = followed.walk
    return Built(errors, doubts, walk.model is not None, walk.steps, seconds, followed)


def agrees(case: dict[str, Any], fault: Fault) -> bool:
    """Whether a fault is the one of the case: the same exception, with the innermost frame in its place or trail."""
    places = {f"{step.path}:{step.line}" for step in fault.trail} | {f"{fault.span.path}:{fault.span.line}"}
    return not case.get("where") or case["where"][-1] in places


def judged(case: dict[str, Any], built: Built) -> str:
    """``agrees``, ``undecided``, ``false`` (an error where it constructs), ``missed``, or ``elsewhere``."""
    if case["verdict"] == "constructs":
        return {"constructs": "agrees", "raises": "false"}.get(built.verdict, "undecided")
    if built.verdict == "raises":
        return "agrees" if any(agrees(case, fault) for fault in built.errors) else "elsewhere"
    return "undecided" if built.verdict == "undecided" else "missed"


def told(built: Built) -> None:
    """Print what a walk said."""
    for fault in built.errors:
        print(f"   error: {fault.span.path}:{fault.span.line} {fault.message[:300]}")
        for step in fault.trail[-6:]:
            print(f"      {step.path}:{step.line} {step.function}")
    for doubt in built.open:
        print(f"   open: {doubt.id}: {doubt.message[:300]} ({doubt.path}:{doubt.line})")
    if built.followed is not None:
        for one in built.followed.found:
            if isinstance(one, Undecided) and not one.decisive:
                print(f"   doubt: {one.id} x{one.count}: {one.message[:200]} ({one.path}:{one.line})")


def main() -> None:
    """Run files of cases; every third number of a slice may follow a name: ``FILE:0:90:3``."""
    verbose = "-v" in sys.argv
    for argument in sys.argv[1:]:
        if argument == "-v":
            continue
        file, chosen = named_slice(argument)
        cases = json.loads((CASES / file).read_text())
        tree, program = tree_of(cases["vllm"])
        counts: Counter[str] = Counter()
        for number in range(len(cases["cases"]))[chosen]:
            case = cases["cases"][number]
            gc.collect()  # walks run without the collector, and leave much behind
            built = build(tree, program, case["config"])
            judgement = judged(case, built)
            counts[judgement] += 1
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            print(
                f"{number} {case['architecture']} {judgement}: {built.verdict} of {case['verdict']}, "
                f"{built.seconds:.1f}s, {built.steps} steps, peak {peak} MB"
            )
            if judgement != "agrees" or verbose:
                if case["verdict"] == "raises":
                    print("   real:", case["exception"], case["message"][:200], case["where"])
                told(built)
            sys.stdout.flush()
        print(file, dict(counts))


if __name__ == "__main__":
    main()
