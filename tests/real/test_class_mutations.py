"""Changed model files of released vLLM: what certainly breaks is found at its line, what changes nothing is not."""

from __future__ import annotations

import ast
import os

import pytest

from preflight.model import Report, Severity
from preflight.tree import TreeRequest, open_tree
from tests import checking
from tests.real.mutations import Mutation, Release
from tests.trees import released

pytestmark = pytest.mark.real

#: (release, seed): the seed only picks the files
SAMPLES = [("0.12.0", 1), ("0.26.0", 2)]


def report_of(version: str, mutations: list[Mutation]) -> Report:
    tree = open_tree(TreeRequest(vllm=version), os.environ)
    changes: dict[str, bytes | None] = {mutation.path: mutation.text.encode() for mutation in mutations}
    return checking.report_of(tree.with_overlay(changes))


def distinct(*samples: list[Mutation]) -> list[Mutation]:
    """The mutations of several kinds, one for each file."""
    by_path: dict[str, Mutation] = {}
    for sample in samples:
        for mutation in sample:
            ast.parse(mutation.text)
            by_path.setdefault(mutation.path, mutation)
    return list(by_path.values())


@pytest.mark.parametrize(("version", "seed"), SAMPLES)
def test_what_breaks_is_found_at_its_line(version: str, seed: int) -> None:
    release = Release(released(version), seed)
    mutations = distinct(
        release.sample(release.renamed_helpers, 3),
        release.sample(release.lost_keywords, 5),
        release.sample(release.swapped_bases, 3),
    )
    assert len(mutations) >= 8
    report = report_of(version, mutations)
    errors = {
        (finding.span.path, finding.span.line)
        for finding in report.findings
        if finding.severity in (Severity.ERROR, Severity.WARNING)
    }
    assert not {(mutation.path, mutation.line, mutation.what) for mutation in mutations} - {
        (path, line, mutation.what)
        for mutation in mutations
        for path, line in errors
        if (path, line) == (mutation.path, mutation.line)
    }


@pytest.mark.parametrize(("version", "seed"), SAMPLES)
def test_what_changes_nothing_is_clear(version: str, seed: int) -> None:
    release = Release(released(version), seed)
    mutations = distinct(release.sample(release.harmless, 8))
    report = report_of(version, mutations)
    assert [(finding.rule, finding.span.path, finding.message) for finding in report.findings] == []
