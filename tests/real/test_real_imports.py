"""Imports and names on released trees: patches that break an import are found, and those that do not are not."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from random import Random

import pytest

from preflight.model import Report, Severity
from preflight.run import Request, run_checks
from preflight.syntax.cst import CstParser
from preflight.tree import Tree, TreeRequest, open_tree
from tests.faults import Found, found_in
from tests.mutations import Mutation, Mutator
from tests.trees import released

pytestmark = pytest.mark.real

CASES = {
    case["id"]: case
    for case in json.loads((Path(__file__).parents[1] / "fixtures/cases/import-names.json").read_text())
}
#: how many model files of each release are mutated
FILES = 3
MODELS = "vllm/model_executor/models/"
SCHEDULER = "vllm/v1/core/sched/scheduler.py"
CACHE_UTILS = "vllm/v1/core/kv_cache_utils.py"
SERVING = "vllm/entrypoints/openai/engine/serving.py"


def release(version: str) -> Tree:
    return open_tree(TreeRequest(vllm=version), os.environ)


def report_on(tree: Tree, changes: Mapping[str, bytes | None]) -> Report:
    with CstParser() as cst:
        return run_checks(tree.with_overlay(changes), Request(select=("PF2",)), os.environ, cst)


def read(version: str, path: str) -> bytes:
    return (released(version) / path).read_bytes()


def is_right(mutation: Mutation, report: Report) -> bool:
    """Whether a report says of a mutation what is true: that it breaks, by its rule at its place; or nothing at all."""
    if not mutation.breaks:
        return not report.findings
    return any(
        found.severity is Severity.ERROR
        and found.rule in mutation.rules
        and any(found.span.path == path and line in (None, found.span.line) for path, line in mutation.places)
        for found in report.findings
    )


@pytest.mark.parametrize("version", ["0.8.5", "0.12.0", "0.16.0", "0.26.0"])
def test_mutations_of_model_files(version: str) -> None:
    tree = release(version)
    mutator = Mutator(tree, Random(version))
    done: Counter[str] = Counter()
    for path in mutator.models()[:FILES]:
        for mutation in mutator.mutations(path):
            report = report_on(tree, mutation.changes)
            assert is_right(mutation, report), (mutation.kind, path, mutation.places[:3], found_in(report))
            done[mutation.kind] += 1
    assert done["rename-imported"] == done["import-guarded"] == FILES and done["rename-base"] > 0


def test_a_half_applied_patch() -> None:
    """B21: the scheduler asks for a function that the second half of the patch would have brought."""
    name = CASES["B21"]["symptom"].split("'")[1]
    tree = release("0.20.2")
    before = b"from vllm.v1.core.kv_cache_manager import KVCacheBlocks, KVCacheManager\n"
    line = f"from vllm.v1.core.kv_cache_utils import {name}\n".encode()
    text = read("0.20.2", SCHEDULER)
    assert text.count(before) == 1
    bad = {SCHEDULER: text.replace(before, before + line)}
    number = bad[SCHEDULER].splitlines(keepends=True).index(line) + 1
    assert found_in(report_on(tree, bad)) == [Found("PF201", "error", SCHEDULER, number)]
    whole = read("0.20.2", CACHE_UTILS) + f"\n\ndef {name}(groups):\n    return len(groups)\n".encode()
    assert found_in(report_on(tree, {**bad, CACHE_UTILS: whole})) == []


def test_an_overlay_of_a_file_of_an_older_release() -> None:
    """B22: the module that it imports from has moved."""
    module = CASES["B22"]["symptom"].split("'")[1]
    tree, text = release("0.22.1"), read("0.20.2", SERVING)
    (found,) = report_on(tree, {SERVING: text}).findings
    assert (found.rule, found.severity, found.span.path) == ("PF207", Severity.ERROR, SERVING)
    assert "0.20.2" in found.message
    (first,) = [number for number, line in enumerate(text.decode().splitlines(), 1) if f"from {module}." in line]
    assert first + 1 in {step.line for step in found.fault.trail}  # the first of the names in parentheses
    assert found_in(report_on(release("0.20.2"), {SERVING: text})) == []
    # later the release has the file elsewhere: nothing comes to the one that was laid over it
    (found,) = report_on(release("0.26.0"), {SERVING: text}).findings
    assert (found.rule, found.severity, found.span.path) == ("PF207", Severity.WARNING, SERVING)


def test_an_import_of_a_module_that_has_moved() -> None:
    """B22 as a patch of a file that the release has: one line that names the old place, and its repair."""
    module = CASES["B22"]["symptom"].split("'")[1]
    tree, path = release("0.26.0"), "vllm/entrypoints/openai/engine/protocol.py"
    text = read("0.26.0", path)
    (found,) = report_on(tree, {path: text + f"\nfrom {module}.protocol import X\n".encode()}).findings
    assert (found.rule, found.span.path, found.span.line) == ("PF202", path, text.count(b"\n") + 2)
    guarded = f"\ntry:\n    from {module}.protocol import X\nexcept ImportError:\n    X = None\n".encode()
    assert found_in(report_on(tree, {path: text + guarded})) == []


@pytest.mark.parametrize(("path", "later"), [("deepseek_v2.py", "0.33.0"), ("qwen3_vl.py", "0.26.0")])
def test_a_model_file_of_a_later_release(path: str, later: str) -> None:
    report = report_on(release("0.16.0"), {MODELS + path: read(later, MODELS + path)})
    (found,) = report.findings
    assert (found.rule, found.severity, found.span.path) == ("PF207", Severity.ERROR, MODELS + path)
    assert later in found.message
    assert len(found.fault.trail) >= 2


def test_cycles() -> None:
    path = MODELS + "interfaces.py"
    tree, text = release("0.16.0"), read("0.16.0", MODELS + "interfaces.py")
    line = b"from vllm.model_executor.models.llama import LlamaForCausalLM\n"
    before = b"import torch\n"
    closing = text.replace(before, before + line, 1)
    number = closing.splitlines(keepends=True).index(line) + 1
    found = found_in(report_on(tree, {path: closing}))
    assert found == [Found("PF203", "error", path, number)]
    waiting = b"\n\ndef of_llama():\n    from vllm.model_executor.models.llama import LlamaForCausalLM\n"
    assert found_in(report_on(tree, {path: text + waiting})) == []


def test_a_cycle_that_is_harmless() -> None:
    """mistral.py takes classes from llama.py, which has bound them all when it comes to its last line."""
    path = MODELS + "llama.py"
    text = read("0.16.0", path) + b"\n\nfrom vllm.model_executor.models import mistral as _mistral\n"
    assert b"from vllm.model_executor.models.llama import" in read("0.16.0", MODELS + "mistral.py")
    assert found_in(report_on(release("0.16.0"), {path: text})) == []
