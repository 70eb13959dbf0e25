"""One run: which checks, in what order; rules, suppressions, verdict."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from preflight.checks.context import Check, CheckOptions, Context
from preflight.checks.walked import following
from preflight.collector import uncollected
from preflight.model import Excerpt, Fault, Finding, Note, Report, Severity, Step, Undecided, Verdict
from preflight.suppress import SUPPRESSION_CHECKS, apply_suppressions
from preflight.tree.cachedir import cache_folder

if TYPE_CHECKING:
    from preflight.launch.launch import Launch
    from preflight.launch.request import LaunchRequest
    from preflight.model import LaunchFacts
    from preflight.program import Program
    from preflight.rulebook import Rule, Rulebook
    from preflight.syntax.cst import CstParser
    from preflight.tree import Tree


@dataclass(frozen=True, slots=True)
class Request:
    """What to check a tree for. ``extra_rules``: rule folders of the patch repository."""

    options: CheckOptions = field(default_factory=CheckOptions)
    launch: LaunchRequest | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    extra_rules: tuple[Path, ...] = ()


def all_checks() -> tuple[Check, ...]:
    """Every family of checks, cheapest first."""
    from preflight.checks import files, flags, imports, names, patches, plugin_raises, walked
    from preflight.checks.classes import family
    from preflight.checks.configs import family as configs
    from preflight.checks.effects import family as effects
    from preflight.checks.monkey import family as monkey

    return (
        *patches.CHECKS,
        *files.CHECKS,
        *imports.CHECKS,
        *names.CHECKS,
        *plugin_raises.CHECKS,
        *family.CHECKS,
        *monkey.CHECKS,
        *effects.CHECKS,
        *configs.CHECKS,
        *flags.CHECKS,
        *walked.CHECKS,
    )


def load_rules(extra: Sequence[Path] = (), cache: Path | None = None) -> Rulebook:
    """The rule files, matched both ways with the checks.

    ``extra``: rule folders of the patch repository. ``cache``: where the parsed rules may be kept. Raises
    RuleFileError.
    """
    from preflight.rulebook import load_rulebook

    ids = frozenset(SUPPRESSION_CHECKS).union(*(check.ids for check in all_checks()))
    return load_rulebook(extra=extra, known_checks=ids, cache=cache)


def run_checks(tree: Tree, request: Request, environ: Mapping[str, str], cst: CstParser) -> Report:
    """Run every check on ``tree`` and put what they find into one report.

    ``environ`` is where the user's cache folder is looked up; ``cst`` may have been started before the tree was opened.
    Raises RuleFileError and UsageError (an unknown selector). A fault in a check is not caught here: it is ours, and
    the caller turns it into exit code 3.
    """
    from preflight.syntax.source import SourceStore

    started = time.perf_counter()
    cache = cache_folder(environ) / "rules" if request.options.use_cache else None
    rulebook = load_rules(request.extra_rules, cache)
    active = rulebook.select(request.select, request.ignore, tree.facts)
    sources = SourceStore(tree)
    program: list[Program] = []

    def program_of_tree() -> Program:
        if not program:
            from preflight.program import load_program

            program.append(load_program(tree, environ, request.options.use_cache))
            if request.launch is not None:
                given = dict(item.split("=", 1) for item in request.launch.environment if "=" in item)
                program[0].environment = {**dict(request.launch.inherited), **given}
        return program[0]

    faults: list[Fault] = []
    undecided: list[Undecided] = list(tree.undecided)
    notes = list(tree.notes)
    with uncollected():
        launch, launch_facts, unread = _read_launch(request.launch, environ, tree, program_of_tree)
        if launch is not None:
            program_of_tree().environment = launch.environment
        undecided += unread
        paths = _paths(tree, request.options)
        follow = following(launch, tree, program_of_tree, request.options)
        context = Context(tree, sources, cst, rulebook, paths, program_of_tree, request.options, launch, follow)
        for check in all_checks():
            if not any(rule.check in check.ids for rule in active):
                continue
            for item in check.run(context):
                if isinstance(item, Undecided):
                    undecided.append(item)
                elif isinstance(item, Note):
                    notes.append(item.text)
                else:
                    faults.append(item)

    by_check = {rule.check: rule for rule in active}
    by_code = {rule.code: rule for rule in active}
    findings = _findings(faults, by_check, by_code)
    findings, housekeeping = apply_suppressions(findings, sources, context.paths, rulebook, frozenset(by_code))
    findings += _findings(housekeeping, by_check, by_code)
    if any(finding.severity is Severity.ERROR for finding in findings):
        from preflight.checks.unloaded import eased, strayed

        findings = list(strayed(context, findings))
        if launch is not None:
            from preflight.checks.same_place import told_once

            findings = list(told_once(list(eased(context, launch, findings))))
    findings = [_with_diff(finding, tree) for finding in findings]
    findings.sort(key=lambda f: (f.span.path, f.span.line or 0, f.span.column or 0, f.rule, f.message))
    ordered = tuple(_fingerprinted(findings))
    used = {finding.rule for finding in ordered}
    merged = _merged(undecided)
    return Report(
        verdict=verdict_of(ordered, merged),
        tree=tree.facts,
        launch=launch_facts,
        findings=ordered,
        undecided=merged,
        notes=tuple(notes),
        rules=tuple(rule.text() for rule in rulebook.rules if rule.code in used),
        files_checked=len(context.paths),
        seconds=time.perf_counter() - started,
    )


def _read_launch(
    request: LaunchRequest | None, environ: Mapping[str, str], tree: Tree, load_program: Callable[[], Program]
) -> tuple[Launch | None, LaunchFacts | None, list[Undecided]]:
    """The launch, what the report says of it, and what of it stays undecided."""
    if not request:
        return None, None, []
    from preflight.launch.facts import launch_facts
    from preflight.launch.launch import read_launch

    launch = read_launch(request, environ, tree, load_program())
    if launch is None or not launch.runs_vllm:
        what = f"`{' '.join(request.words)}`" if request.words else request.file
        return (
            None,
            None,
            [Undecided("launch-not-vllm", f"{what} runs no vLLM that can be seen: only the tree is checked")],
        )
    return launch, launch_facts(launch, load_program()), list(launch.undecided)


def verdict_of(findings: Iterable[Finding], undecided: Iterable[Undecided]) -> Verdict:
    """An error decides; without one, a question that the verdict hangs on leaves it open."""
    if any(finding.severity is Severity.ERROR for finding in findings):
        return Verdict.WOULD_NOT_LAUNCH
    if any(question.decisive for question in undecided):
        return Verdict.UNDECIDED
    return Verdict.CLEAR


def reaches(report: Report, fail_on: str) -> bool:
    """Whether the report has something that ``fail_on`` (error, warning or undecided) makes a failure; each includes
    those before it."""
    if report.count(Severity.ERROR):
        return True
    if fail_on in ("warning", "undecided") and report.count(Severity.WARNING):
        return True
    return fail_on == "undecided" and bool(report.undecided)


def _paths(tree: Tree, options: CheckOptions) -> tuple[str, ...]:
    """The files to check: those that were named, or else the patched set; with ``--all`` every file of the tree as
    well."""
    named = tree.selected if tree.selected is not None else tuple(file.path for file in tree.facts.patched)
    outside = tuple(file.path for file in tree.outside)
    return tuple(sorted({*named, *outside, *(tree.files() if options.whole_tree else ())}))


def _findings(faults: Iterable[Fault], by_check: dict[str, Rule], by_code: dict[str, Rule]) -> list[Finding]:
    findings = []
    for fault in faults:
        rule = by_code.get(fault.rule) if fault.rule else by_check.get(fault.check)
        if rule is not None:
            findings.append(Finding(rule.code, rule.name, fault.severity or rule.severity, fault, ""))
    return findings


def _with_diff(finding: Finding, tree: Tree) -> Finding:
    """The finding with the line of the diff that made its place, if a diff did."""
    span = finding.span
    marks = tree.marks.get(span.path)
    if marks is None or span.line is None:
        return finding
    made = next((mark for mark in marks[span.line - 1 : span.end_line or span.line] if mark is not None), None)
    if made is None:
        return finding
    step = Step(made.diff, made.line, "", "made by")
    return replace(finding, fault=replace(finding.fault, trail=(step, *finding.fault.trail)))


def _fingerprinted(findings: Iterable[Finding]) -> Iterable[Finding]:
    """A fingerprint is made of the rule, the path and the code at the place, not of the line number; twins are
    counted."""
    import hashlib

    seen: dict[str, int] = {}
    for finding in findings:
        line = _line_of(finding.fault.excerpt, finding.span.line)
        key = "\0".join((finding.rule, finding.span.path, line if line is not None else finding.message))
        seen[key] = seen.get(key, 0) + 1
        digest = hashlib.sha256(f"{key}\0{seen[key]}".encode("utf-8", "backslashreplace")).hexdigest()
        yield replace(finding, fingerprint=digest[:32])


def _line_of(excerpt: Excerpt | None, line: int | None) -> str | None:
    if excerpt is None or line is None or not 0 <= line - excerpt.first_line < len(excerpt.lines):
        return None
    return " ".join(excerpt.lines[line - excerpt.first_line].split())


def _merged(undecided: Iterable[Undecided]) -> tuple[Undecided, ...]:
    """The same question at the same place is counted, not repeated."""
    merged: dict[tuple[str, str, str | None, int | None], Undecided] = {}
    for question in undecided:
        key = (question.id, question.message, question.path, question.line)
        known = merged.get(key)
        merged[key] = question if known is None else replace(known, count=known.count + question.count)
    return tuple(merged.values())
