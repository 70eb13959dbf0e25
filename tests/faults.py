"""Runs the checks on miniature trees and gives what they find, without wording."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from preflight.checks.context import CheckOptions
from preflight.model import Report
from preflight.run import Request, run_checks
from preflight.syntax.cst import CstParser
from preflight.tree import Tree, TreeRequest, open_tree
from tests.minitree import make_tree, write


@dataclass(frozen=True, slots=True)
class Found:
    """One finding: its rule, severity and place."""

    rule: str
    severity: str
    path: str
    line: int | None


def open_mini(folder: Path, release: Mapping[str, str], patched: Mapping[str, str | None] | None = None) -> Tree:
    """A miniature installed tree with a patch, opened. Nothing is kept from earlier runs."""
    site = make_tree(folder, release, patched)
    return open_tree(TreeRequest(site_packages=str(site)), no_cache(folder))


def no_cache(folder: Path) -> dict[str, str]:
    """An environment with a cache of its own."""
    return {"PREFLIGHT_CACHE": str(folder / "cache")}


def keep_release(cache: Path, version: str, files: Mapping[str, str]) -> None:
    """Put a miniature release into preflight's cache, as if it had been fetched."""
    for path, text in files.items():
        write(cache / "releases" / f"vllm-{version}" / path, text.encode())


def report_of(tree: Tree, folder: Path, select: Sequence[str] = ("PF2",), whole_tree: bool = False) -> Report:
    """The report on a tree, of the rules that are selected."""
    options = CheckOptions(whole_tree=whole_tree)
    with CstParser() as cst:
        return run_checks(tree, Request(options=options, select=tuple(select)), no_cache(folder), cst)


def found_in(report: Report) -> list[Found]:
    """The findings of a report in its order."""
    return [Found(f.rule, f.severity.value, f.span.path, f.span.line) for f in report.findings]


def found_by(
    folder: Path,
    release: Mapping[str, str],
    patched: Mapping[str, str | None] | None = None,
    select: Sequence[str] = ("PF2",),
) -> list[Found]:
    """What the checks find in a miniature tree with a patch."""
    return found_in(report_of(open_mini(folder, release, patched), folder, select))
