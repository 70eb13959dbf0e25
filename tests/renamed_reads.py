"""Renamed config reads: of each launch, some reads ``config.X`` that its walk came to, each renamed in turn, must give an
error at their lines; renamed where the launch does not come, they must give none.

``python -m tests.renamed_reads VERSION[:start:stop:step] [-s SHARE] [-n READS] [-u UNREAD]`` takes the architectures of
a release for which the handed cases have configs, and prints what does not agree. ``-n`` and ``-u`` change the files and
walk each launch anew. ``-s`` is many times quicker: where a walk comes to one of the chosen share of places, a forked
process goes on with the read renamed; each place of a release is taken once, at the first launch that comes to it.
``--seed`` takes the architectures in another order, and other reads of them: with ``-n 1 --places 70`` a sample of so
many places that is spread over so many architectures.
"""

from __future__ import annotations

import argparse
import ast
import gc
import json
import os
import pickle
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from preflight.model import Fault, Undecided
from preflight.program import Program
from preflight.tree import Tree
from preflight.walk import stages
from preflight.walk.deep import run_deep
from preflight.walk.expressions import HANDLERS
from preflight.walk.machine import Machine
from preflight.walk.outcomes import Break, Continue, Return
from preflight.walk.report import faults
from preflight.walk.result import Walk
from preflight.walk.stages import walk_launch
from preflight.walk.values import Value
from preflight.walk.world import ProgramWorld
from tests.construct_mutants import at, is_error, mutated, prepared_for, walked
from tests.slices import named_slice
from tests.walk_cases import CASES, tree_of

#: where the model files of releases are
MODELS = ("vllm/model_executor/models/", "vllm/models/")
#: what an arm leaves by, while the other goes on behind it
LEAVING = (Return, Break, Continue)


@dataclass(frozen=True, slots=True, order=True)
class Read:
    """One ``config.name`` of a model file: its line, and the columns of the name in bytes."""

    path: str
    line: int
    columns: tuple[int, int]
    name: str

    @property
    def mutant(self) -> dict[str, Any]:
        """The read under another name, as the handed mutants have it."""
        return {
            "path": self.path,
            "line": self.line,
            "columns": self.columns,
            "was": self.name,
            "text": f"{self.name}_x",
        }


def read_of(path: str, node: ast.Attribute) -> Read | None:
    """The read that an attribute expression is, if what it is read from is called a config."""
    owner = node.value
    called = owner.id if isinstance(owner, ast.Name) else owner.attr if isinstance(owner, ast.Attribute) else ""
    if not called.endswith("config") or not isinstance(node.ctx, ast.Load) or node.end_col_offset is None:
        return None
    end, line = node.end_col_offset, node.end_lineno or node.lineno
    return Read(path, line, (end - len(node.attr.encode()), end), node.attr)


def reads_in(path: str, text: bytes) -> set[Read]:
    """All the reads of a file."""
    found = (read_of(path, node) for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Attribute))
    return {read for read in found if read is not None}


@contextmanager
def recorded(reads: dict[Read, bool]) -> Iterator[None]:
    """Note the reads of model files that walks come to; whether it is open that a launch does: in an arm of a condition
    that is not known, or behind one whose other arm has left a function or a loop.
    """
    handler = HANDLERS[ast.Attribute]

    def noting(machine: Machine, node: ast.Attribute) -> Value:
        if machine.frame.path.startswith(MODELS):
            read = read_of(machine.frame.path, node)
            if read is not None:
                state = machine.state
                left = any(isinstance(pending.outcome, LEAVING) for pending in state.pendings)
                reads[read] = reads.get(read, True) and (state.arms > 0 or left)
        return handler(machine, node)

    HANDLERS[ast.Attribute] = noting
    try:
        yield
    finally:
        HANDLERS[ast.Attribute] = handler


def configs_of(version: str) -> dict[str, dict[str, Any]]:
    """The configs of the handed cases by architecture: those of the release, or those of the others."""
    found: dict[str, dict[str, Any]] = {}
    for other in (version, *(known for known in ("0.33.0", "0.16.0") if known != version)):
        cases = CASES / f"construct-{other}.json"
        if cases.exists() and (other == version or not found):
            for case in json.loads(cases.read_text())["cases"]:
                if case["verdict"] == "constructs":
                    found.setdefault(case["architecture"], case["config"])
        plain = CASES / f"configs-{other}.json"
        if plain.exists():
            for architecture, config in json.loads(plain.read_text()).items():
                found.setdefault(architecture, config)
    return dict(sorted(found.items()))


@dataclass(frozen=True, slots=True)
class Said:
    """What was said of one rename: ``agrees``, or how it does not."""

    architecture: str
    read: Read
    judgement: str
    items: tuple[Fault | Undecided, ...]
    seconds: float


def verdict(found: list[Any], read: Read) -> tuple[str, tuple[Fault | Undecided, ...]]:
    """How what a walk says of a rename that it comes to agrees, and the errors and open questions."""
    errors = [item for item in found if is_error(item)]
    open_questions = [item for item in found if isinstance(item, Undecided) and item.decisive]
    here = any(at(error, read.mutant) for error in errors)
    judgement = "agrees" if here else "elsewhere" if errors else "undecided" if open_questions else "missed"
    return judgement, (*errors, *open_questions)


class Forks:
    """Processes that go on with a walk from a read that it came to, the read renamed: one at a time, each to its end."""

    def __init__(self, share: float, taken: set[Read], defaults: frozenset[str]) -> None:
        self.share = share
        self.defaults = defaults
        self.taken = taken
        self.said: list[tuple[Read, str, tuple[Fault | Undecided, ...], float]] = []
        self._renamed: Read | None = None
        self._pipe = -1
        self._started = 0.0

    def reached(self, read: Read, node: ast.Attribute) -> None:
        """Fork at a read that is walked for the first time, if it is chosen."""
        if self._renamed is not None or read in self.taken:
            return
        self.taken.add(read)
        if random.Random(f"{read.path} {read.line} {read.columns}").random() >= self.share:
            return
        receiving, sending = os.pipe()
        child = os.fork()
        if not child:
            os.close(receiving)
            self._renamed, self._pipe, self._started = read, sending, time.process_time()
            node.attr = read.mutant["text"]
            return
        os.close(sending)
        with os.fdopen(receiving, "rb") as stream:
            text = stream.read()
        os.waitpid(child, 0)
        judgement, items, seconds = pickle.loads(text) if text else ("crashed", (), 0.0)
        self.said.append((read, judgement, items, seconds))

    def run_deep(self, work: Callable[[], Walk]) -> Walk:
        """The walk; a forked process tells what it found, and ends here."""

        def to_its_end() -> Walk:
            try:
                walk = work()
                if self._renamed is not None:
                    judgement, items = verdict(list(faults(walk, self.defaults)), self._renamed)
                    self._tell(judgement, items)
                return walk
            finally:
                if self._renamed is not None:
                    os._exit(1)

        return run_deep(to_its_end)

    def _tell(self, judgement: str, items: tuple[Fault | Undecided, ...]) -> None:
        with os.fdopen(self._pipe, "wb") as stream:
            stream.write(pickle.dumps((judgement, items, time.process_time() - self._started)))
        os._exit(0)


@contextmanager
def forking(forks: Forks) -> Iterator[None]:
    """Let a walk fork at the reads that it comes to."""
    handler = HANDLERS[ast.Attribute]

    def noting(machine: Machine, node: ast.Attribute) -> Value:
        if machine.frame.path.startswith(MODELS):
            read = read_of(machine.frame.path, node)
            if read is not None:
                forks.reached(read, node)
        return handler(machine, node)

    HANDLERS[ast.Attribute] = noting
    stages.run_deep = forks.run_deep  # pyrefly: ignore
    try:
        yield
    finally:
        HANDLERS[ast.Attribute] = handler
        stages.run_deep = run_deep


def judged(
    tree: Tree, program: Program, config: dict[str, Any], architecture: str, read: Read, *, comes_there: bool
) -> Said:
    """Walk the launch with one read renamed."""
    started = time.process_time()
    gc.collect()
    found = walked(tree, program, config, read.mutant, mutated(tree.read(read.path), read.mutant))
    judgement, items = verdict(found, read)
    if not comes_there:
        judgement = {"missed": "agrees", "undecided": "undecided"}.get(judgement, "false")
    return Said(architecture, read, judgement, items, time.process_time() - started)


def outcomes(
    version: str, chosen: slice, share: float, reads: int, unread: int, only: str | None = None, seed: str = ""
) -> Iterator[Said | str]:
    """Of each chosen architecture some renames; a sentence for one whose walk has errors of its own."""
    tree, program = tree_of(version)
    taken: set[Read] = set()
    renamed: set[Read] = set()
    configs = list(configs_of(version).items())
    if seed:
        random.Random(seed).shuffle(configs)
    for architecture, config in configs[chosen]:
        if only not in (None, architecture):
            continue
        gc.collect()
        came: dict[Read, bool] = {}
        before = set(taken)
        prepared = prepared_for(tree, program, config)
        forks = Forks(share, taken, prepared.assumptions.defaults)
        with recorded(came), forking(forks):
            walk = walk_launch(
                ProgramWorld(program), prepared.argv, prepared.files, prepared.assumptions, given=prepared.given
            )
        amiss = [
            f"{item.message[:120]} ({item.span.path}:{item.span.line})"
            if isinstance(item, Fault)
            else item.message[:120]
            for item in faults(walk, prepared.assumptions.defaults)
            if is_error(item) or (isinstance(item, Undecided) and item.decisive)
        ]
        if amiss:
            yield f"{architecture}: " + "; ".join(amiss)
            taken.clear()
            taken |= before
            continue
        for read, judgement, items, seconds in forks.said:
            yield Said(
                architecture,
                read,
                judgement if judgement == "agrees" or not came[read] else f"open-{judgement}",
                items,
                seconds,
            )
        choice = random.Random(f"{architecture}{seed}")
        others = sorted(
            set().union(*(reads_in(path, tree.read(path)) for path in {read.path for read in came})) - set(came)
        )
        fresh = sorted(set(came) - renamed)
        for read in choice.sample(fresh, min(reads, len(fresh))):
            renamed.add(read)
            said = judged(tree, program, config, architecture, read, comes_there=True)
            yield (
                said
                if said.judgement == "agrees" or not came[read]
                else Said(architecture, read, f"open-{said.judgement}", said.items, said.seconds)
            )
        for read in choice.sample(others, min(unread, len(others))):
            yield judged(tree, program, config, architecture, read, comes_there=False)


def main() -> None:
    """Run the renames of a release."""
    parser = argparse.ArgumentParser()
    parser.add_argument("release", help="VERSION[:start:stop:step] of the architectures")
    parser.add_argument("-s", type=float, default=0.0, help="this share of the places, in forked processes")
    parser.add_argument("-n", type=int, default=0, help="so many reads of an architecture")
    parser.add_argument("-u", type=int, default=0, help="so many reads that its launch does not come to")
    parser.add_argument("--only", help="this architecture")
    parser.add_argument("--seed", default="", help="another order of the architectures, and other reads")
    parser.add_argument("--places", type=int, default=sys.maxsize, help="end after so many renames")
    parser.add_argument("-v", action="store_true")
    options = parser.parse_args()
    version, chosen = named_slice(options.release)
    counts: Counter[str] = Counter()
    for said in outcomes(version, chosen, options.s, options.n, options.u, options.only, options.seed):
        if isinstance(said, str):
            print("not built:", said)
            continue
        counts[said.judgement] += 1
        if said.judgement != "agrees" or options.v:
            read = said.read
            print(f"{said.judgement}: {said.architecture} {read.path}:{read.line} {read.name}, {said.seconds:.1f}s")
            for item in said.items:
                place = f"{item.span.path}:{item.span.line}" if isinstance(item, Fault) else f"{item.path}:{item.line}"
                print(f"   {'error' if isinstance(item, Fault) else item.id}: {place} {item.message[:200]}")
        sys.stdout.flush()
        if counts.total() >= options.places:
            break
    print(version, dict(sorted(counts.items())))


if __name__ == "__main__":
    main()
