"""The handed mutants of a release, held against what the checks say of them without a launch.

Each is one replacement in a released model file, with what the real vLLM then did. ``python -m tests.mutant_cases FILE
[OP]`` lays one after the other over the release and prints what does not agree: an error on one that constructs, or
none on one that raises. It takes minutes.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from preflight.model import Finding, Severity
from preflight.tree import Tree, TreeRequest, open_tree
from tests.checking import report_of


@dataclass(frozen=True, slots=True)
class Outcome:
    """A mutant, and what was found in it."""

    case: dict[str, Any]
    findings: tuple[Finding, ...]

    @property
    def raises(self) -> bool:
        """Whether the real vLLM failed with it."""
        return self.case["verdict"] == "raises"

    def at_its_line(self, severity: Severity) -> list[Finding]:
        """The findings of a severity at the changed line, or with it in their trail."""
        place = (self.case["path"], self.case["line"])
        return [
            finding
            for finding in self.findings
            if finding.severity is severity
            and place in {(finding.span.path, finding.span.line), *((s.path, s.line) for s in finding.fault.trail)}
        ]

    @property
    def said(self) -> str:
        """The gravest that was found, as one word."""
        for severity in (Severity.ERROR, Severity.WARNING):
            if self.at_its_line(severity):
                return severity.value
        return "elsewhere" if self.findings else "nothing"


def mutated(tree: Tree, case: dict[str, Any]) -> Tree:
    """The tree with the replacement laid over it; its columns count bytes."""
    lines = tree.read(case["path"]).splitlines(keepends=True)
    first, last = case["columns"]
    line = lines[case["line"] - 1]
    assert line[first:last].decode() == case["was"]
    lines[case["line"] - 1] = line[:first] + case["text"].encode() + line[last:]
    return tree.with_overlay({case["path"]: b"".join(lines)})


def outcomes(cases: list[dict[str, Any]]) -> Iterator[Outcome]:
    """What the checks say of each."""
    trees = {version: open_tree(TreeRequest(vllm=version), {}) for version in {case["vllm"] for case in cases}}
    for case in cases:
        yield Outcome(case, report_of(mutated(trees[case["vllm"]], case)).findings)


def main() -> None:
    """Run the mutants of a file, all of them or those of some operations."""
    file, *operations = sys.argv[1:]
    cases = [json.loads(line) for line in Path(file).read_text().splitlines()]
    counts: Counter[tuple[str, str, str]] = Counter()
    for outcome in outcomes([case for case in cases if not operations or case["op"] in operations]):
        case = outcome.case
        counts[case["op"], case["verdict"], outcome.said] += 1
        errors = any(finding.severity is Severity.ERROR for finding in outcome.findings)
        if errors is not outcome.raises or (not outcome.raises and outcome.findings):
            print(f"{case['path']}:{case['line']} {case['op']} {case['was']} -> {case['text']}: {case['verdict']}")
            if outcome.raises:
                print(f"   real: {case['exception']}: {' '.join((case['message'] or '').split())[:160]}")
            for finding in outcome.findings:
                print(f"   said: {finding.rule} {finding.severity.value} {finding.span.line} {finding.message}")
            sys.stdout.flush()
    for key, count in sorted(counts.items()):
        print(*key, count)


if __name__ == "__main__":
    main()
