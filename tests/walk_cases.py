"""The handed cases of launches, held against what a check says: of each, what a real vLLM made of a config and flags.

``python -m tests.walk_cases FILE...`` runs all cases of files in ``fixtures/cases`` and prints what does not agree; it
takes minutes.
"""

from __future__ import annotations

import gc
import json
import re
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from preflight.checks.context import CheckOptions, Context
from preflight.checks.flags import check_flags
from preflight.checks.walked import check_walk, following
from preflight.launch.launch import read_launch
from preflight.launch.request import LaunchRequest
from preflight.model import Fault, Severity, Undecided
from preflight.program import Program
from preflight.rulebook import load_rulebook
from preflight.syntax.cst import CstParser
from preflight.syntax.source import SourceStore
from preflight.tree import Tree, TreeRequest, open_tree
from preflight.walk.following import follow
from preflight.walk.result import Scope
from tests.slices import named_slice

CASES = Path(__file__).parent / "fixtures" / "cases"
#: the machine that the cases were made on
MACHINE = ("gpu-count=8,gpu-memory=141,capability=9.0,cpu-memory=2048,no-package=ray,no-package=bitsandbytes",)
#: the real vLLM of the cases was asked for its engine config, and for no model runner
CONFIGURED = Scope(runner=False, construct=False)


@dataclass(frozen=True, slots=True)
class Said:
    """What a check said of a launch: the messages of its errors, and the open questions that decide."""

    errors: tuple[str, ...]
    open: tuple[str, ...]
    seconds: float

    @property
    def verdict(self) -> str:
        """As the cases have it: ``raises`` or not; ``undecided`` where it stays open."""
        return "raises" if self.errors else "undecided" if self.open else "clear"


@lru_cache(maxsize=1)  # what walks leave in a program fills a gigabyte soon
def tree_of(version: str) -> tuple[Tree, Program]:
    """A released tree and its program."""
    tree = open_tree(TreeRequest(vllm=version), {})
    return tree, Program(tree)


def say(
    version: str, folder: Path, words: list[str], assume: tuple[str, ...] = MACHINE, scope: Scope | None = None
) -> Said:
    """Check a launch on a released tree; relative paths count from ``folder``. ``scope``: how far, other than a check
    goes.
    """
    tree, program = tree_of(version)
    started = time.process_time()
    launch = read_launch(LaunchRequest(words=tuple(words), folder=folder), {}, tree, program)
    options = CheckOptions(assume=assume)
    walked_once = following(launch, tree, lambda: program, options)
    context = Context(
        tree, SourceStore(tree), CstParser(), load_rulebook(), (), lambda: program, options, launch, walked_once
    )
    errors, doubts = [], []

    def severity(fault: Fault) -> Severity:
        return fault.severity or context.rules.by_check(fault.check)[0].severity

    walked: Iterable[Any]
    if launch is None or scope is None:
        walked = check_walk(context)
    else:
        followed = follow(launch, tree, program, assume, scope)
        walked = (followed,) if isinstance(followed, Undecided) else followed.found
    for item in (*check_flags(context), *walked, *(launch.undecided if launch is not None else ())):
        if isinstance(item, Fault) and severity(item) is Severity.ERROR:
            errors.append(f"{item.span.path}:{item.span.line} {item.message} {[v.value for v in item.values]}")
        elif isinstance(item, Undecided) and item.decisive:
            doubts.append(f"{item.id}: {item.message} ({item.path}:{item.line})")
    return Said(tuple(errors), tuple(doubts), time.process_time() - started)


def decisive(case: dict[str, Any]) -> str:
    """The part of a real message that a finding must carry: the flag, or how the sentence begins."""
    message = " ".join(case["message"].split())
    if "unrecognized arguments" in message:
        return next(word for word in message.split() if word.startswith("--"))
    if message.startswith("For further information visit"):  # the rest of the real message is lost
        return next(word for word in case["flags"] if word.startswith("-"))
    message = message.partition("Value error, ")[2] or re.sub(r"^\d+ validation errors? for \S+ ", "", message)
    message = re.sub(r"^vllm[^:]*: error: argument \S+: |^Assertion failed, ", "", message)
    return message.partition(" [type=")[0][:40]


def laid_out(case: dict[str, Any], cases: dict[str, Any], folder: Path) -> list[str]:
    """Write the model and the drafters of a case below ``folder``; the words of its launch."""
    name = case["architecture"]
    config = case.get("config") or cases["configs"][name]
    for inner, content in (
        (f"MODELS/{name}", config),
        *((f"DRAFTER/{k}", v) for k, v in cases.get("drafters", {}).items()),
    ):
        (folder / inner).mkdir(parents=True, exist_ok=True)
        (folder / inner / "config.json").write_text(json.dumps(content))
    flags = case.get("flags", ["--dtype", "bfloat16", "--enforce-eager"])
    words = [word.replace("DRAFTER/", f"{folder}/DRAFTER/").replace("MODELS/", f"{folder}/MODELS/") for word in flags]
    return ["vllm", "serve", f"{folder}/MODELS/{name}", "--skip-tokenizer-init", *words]


def outcomes(file: str, chosen: slice = slice(None)) -> Iterator[tuple[int, dict[str, Any], Said]]:
    """The cases of a file with what the check says of each."""
    cases = json.loads((CASES / file).read_text())
    for number in range(len(cases["cases"]))[chosen]:
        case = cases["cases"][number]
        gc.collect()  # walks run without the collector, and leave much behind
        with TemporaryDirectory() as folder:
            yield number, case, say(cases["vllm"], Path(folder), laid_out(case, cases, Path(folder)), scope=CONFIGURED)


def main() -> None:
    """Run files of cases; every third number of a slice may follow a name: ``FILE:0:90:3``."""
    for argument in sys.argv[1:]:
        file, chosen = named_slice(argument)
        counts: dict[tuple[str, str], int] = {}
        for number, case, said in outcomes(file, chosen):
            wanted = "raises" if case["verdict"] == "raises" else "clear"
            verdict = said.verdict
            if verdict == wanted == "raises" and not any(decisive(case) in error for error in said.errors):
                verdict = "raises otherwise"
            counts[wanted, verdict] = counts.get((wanted, verdict), 0) + 1
            if verdict != wanted or said.seconds > 15:
                print(f"{number} {case['architecture']} {case.get('flags')} {said.seconds:.1f}s: wanted {wanted}")
                print("   real:", " ".join((case.get("message") or "").split())[:300], case.get("where"))
                for text in (*said.errors, *said.open):
                    print("   said:", " ".join(text.split())[:300])
                sys.stdout.flush()
        print(file, counts)


if __name__ == "__main__":
    main()
