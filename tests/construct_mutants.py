"""The handed mutants, held against what the checks say: of each replacement in a released model file, whether a real
vLLM still built the model from the architecture's default config.

``python -m tests.construct_mutants [--op OP] [--only raises|constructs] [--slice START:STOP:STEP] [-v]`` prints what
does not agree. Each mutant is laid over the tree in memory; the walk reads all other modules from one program.
"""

from __future__ import annotations

import argparse
import ast
import gc
import json
import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from preflight.checks.context import CheckOptions, Context
from preflight.launch.launch import read_launch
from preflight.launch.request import LaunchRequest
from preflight.model import Fault, Severity, Undecided
from preflight.program import Program
from preflight.rulebook import load_rulebook
from preflight.run import all_checks
from preflight.syntax.cst import CstParser
from preflight.syntax.source import SourceStore
from preflight.tree import Tree
from preflight.walk.modules import SourceModule
from preflight.walk.preparation import Prepared, prepare
from preflight.walk.report import STAGES, faults
from preflight.walk.stages import walk_launch
from preflight.walk.world import ProgramWorld
from tests.construct_cases import FLAGS
from tests.walk_cases import CASES, MACHINE, tree_of


class MutantWorld(ProgramWorld):
    """The modules of a program, one of them with another text."""

    def __init__(self, program: Program, path: str, text: bytes) -> None:
        super().__init__(program)
        self._path = path
        self._tree = ast.parse(text)

    def _find(self, name: str) -> SourceModule | str | None:
        found = super()._find(name)
        if isinstance(found, SourceModule) and found.path == self._path:
            return SourceModule(found.path, self._tree, found.package)
        return found


def mutated(text: bytes, mutant: dict[str, Any]) -> bytes:
    """The file with the replacement made."""
    lines = text.split(b"\n")
    line, (start, end) = lines[mutant["line"] - 1], mutant["columns"]
    assert line[start:end].decode() == mutant["was"], mutant
    lines[mutant["line"] - 1] = line[:start] + mutant["text"].encode() + line[end:]
    return b"\n".join(lines)


def prepared_for(tree: Tree, program: Program, config: dict[str, Any]) -> Prepared:
    """What a walk of a launch of this config begins with."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "config.json").write_text(json.dumps(config))
        words = ("vllm", "serve", name, *FLAGS)
        launch = read_launch(LaunchRequest(words=words, folder=folder), {}, tree, program)
        assert launch is not None
        prepared = prepare(launch, tree, program, MACHINE)
        assert not isinstance(prepared, Undecided)
    return prepared


def walked(tree: Tree, program: Program, config: dict[str, Any], mutant: dict[str, Any], text: bytes) -> list[Any]:
    """What the walk of the mutant says."""
    prepared = prepared_for(tree, program, config)
    world = MutantWorld(program, mutant["path"], text)
    walk = walk_launch(world, prepared.argv, prepared.files, prepared.assumptions, given=prepared.given)
    return list(faults(walk, prepared.assumptions.defaults))


def checked(tree: Tree, program: Program, mutant: dict[str, Any], text: bytes) -> list[Any]:
    """What the checks without a launch say of the mutated file."""
    laid = tree.with_overlay({mutant["path"]: text})
    other = program.beside(laid)
    context = Context(
        laid, SourceStore(laid), CstParser(), load_rulebook(), (mutant["path"],), lambda: other, CheckOptions(), None
    )
    return [item for check in all_checks() for item in check.run(context)]


def is_error(item: Any) -> bool:
    """Whether a check's item is an error of this tree."""
    return isinstance(item, Fault) and (item.severity or _severity(item)) is Severity.ERROR


def _severity(fault: Fault) -> Severity:
    rules = [rule for rule in load_rulebook().rules if rule.check == fault.check]
    return rules[0].severity if rules else Severity.ERROR


def at(fault: Fault, mutant: dict[str, Any]) -> bool:
    """Whether the mutated line is the place of a fault, or in its trail."""
    if fault.span.path == mutant["path"] and (fault.span.line or 0) <= mutant["line"] <= (
        fault.span.end_line or fault.span.line or 0
    ):
        return True
    return any(step.path == mutant["path"] and step.line == mutant["line"] for step in fault.trail)


def main() -> None:
    """Run the mutants that were chosen."""
    parser = argparse.ArgumentParser()
    parser.add_argument("file", nargs="?", default="mutants-0.16.0.jsonl")
    parser.add_argument("--op")
    parser.add_argument("--only")
    parser.add_argument("--slice", default="::")
    parser.add_argument("--each", action="store_true", help="one mutant of an architecture")
    parser.add_argument("--walk-only", action="store_true")
    parser.add_argument("-v", action="store_true")
    options = parser.parse_args()
    mutants = [json.loads(line) for line in (CASES / options.file).read_text().splitlines()]
    mutants = [
        mutant for mutant in mutants if options.op in (None, mutant["op"]) and options.only in (None, mutant["verdict"])
    ]
    if options.each:
        mutants = list({mutant["architecture"]: mutant for mutant in mutants}.values())
    mutants = mutants[slice(*(int(part) if part else None for part in options.slice.split(":")))]
    version = mutants[0]["vllm"]
    configs = json.loads((CASES / f"configs-{version}.json").read_text())
    tree, program = tree_of(version)
    counts: Counter[tuple[str, str, str]] = Counter()
    for mutant in mutants:
        gc.collect()
        started = time.process_time()
        text = mutated(tree.read(mutant["path"]), mutant)
        found = walked(tree, program, configs[mutant["architecture"]], mutant, text)
        if not options.walk_only:
            found += checked(tree, program, mutant, text)
        errors = [item for item in found if is_error(item)]
        open_questions = [item for item in found if isinstance(item, Undecided) and item.decisive]
        if mutant["verdict"] == "raises":
            judgement = (
                "agrees"
                if any(at(error, mutant) for error in errors)
                else "elsewhere"
                if errors
                else "undecided"
                if open_questions
                else "missed"
            )
        else:
            # what constructs may still die when its weights are loaded, which nobody asked the real one
            early = [error for error in errors if STAGES["load_weights"] not in (error.why or "")]
            judgement = "false" if early else "dies later" if errors else "undecided" if open_questions else "agrees"
        counts[mutant["op"], mutant["verdict"], judgement] += 1
        if judgement != "agrees" or options.v:
            print(
                f"{judgement}: {mutant['architecture']} {mutant['op']} {mutant['path']}:{mutant['line']} "
                f"{mutant['was']!r} -> {mutant['text']!r}, {time.process_time() - started:.1f}s"
            )
            if mutant["verdict"] == "raises":
                print("   real:", mutant["exception"], mutant["message"][:150], mutant["where"])
            for item in errors:
                print(f"   error: {item.check} {item.span.path}:{item.span.line} {item.message[:200]}")
            for item in open_questions:
                print(f"   open: {item.id}: {item.message[:200]} ({item.path}:{item.line})")
        sys.stdout.flush()
    for key, count in sorted(counts.items()):
        print(count, *key)


if __name__ == "__main__":
    main()
