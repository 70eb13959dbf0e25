"""A file that was taken from another release and dropped in: one finding in place of one for each thing it misses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from preflight.checks.import_faults import Weighed, lack
from preflight.checks.imports import FOREIGN
from preflight.model import Fault, Severity, Span, Step, Value
from preflight.syntax.excerpt import excerpt

if TYPE_CHECKING:
    from pathlib import Path

    from preflight.checks.context import Context
    from preflight.checks.subjects import Subject
    from preflight.program import Program
    from preflight.program.facts import Import

#: so many imports of vLLM's own that are not in the tree make a file foreign, also where no release at hand fits
_MANY = 3
#: a file that shares this part of its lines with the release's own is that file with a patch, and not another one
_OWN = 0.97
#: a release whose file has less than this in common with the file does not fit
_FITS = 0.8


@dataclass(frozen=True, slots=True)
class Fit:
    """A release at hand: the part of the file's lines that its file has, and how many of the missing things it has."""

    version: str
    shared: float
    has: int


def is_foreign(program: Program, path: str) -> bool:
    """Whether the imports of a file have shown that it belongs to another release, so that no more need be said."""
    return path in program.derived(_foreign_files)


def _foreign_files(_: Program) -> set[str]:
    return set()


def foreign_fault(context: Context, program: Program, subject: Subject, weighed: Sequence[Weighed]) -> Fault | None:
    """The one finding for a file that belongs to another release; None if it belongs to this one."""
    fatal = [
        one
        for one in weighed
        if one.severity is Severity.ERROR and program.finder.find(one.problem.missing.module.partition(".")[0]).in_tree
    ]
    if not fatal or subject.path not in {file.path for file in context.tree.facts.patched}:
        return None
    own = context.tree.pristine(subject.path)
    data = context.sources.get(subject.path).data
    likeness = shared_lines(data, own) if own is not None else 0.0
    fit = best_fit(context, subject, [one.problem.item for one in fatal], data, likeness)
    distinct = {(one.problem.missing.module, one.problem.missing.name) for one in fatal}
    if fit is None and (len(distinct) < _MANY or likeness >= _OWN):
        return None
    program.derived(_foreign_files).add(subject.path)
    return _fault(context, program, subject, [one for one in weighed if one.problem.missing], fit, len(distinct))


def best_fit(context: Context, subject: Subject, items: Sequence[Import], data: bytes, likeness: float) -> Fit | None:
    """The release in the user's cache whose own file is most like this one and makes the same imports."""
    from preflight.program.extract import facts_of
    from preflight.tree.cache import cached_release, cached_versions
    from preflight.tree.reading import read_bytes

    wanted = {(item.level, item.module, item.name) for item in items}
    fits: list[Fit] = []
    for version in cached_versions("vllm"):
        folder = cached_release("vllm", version)
        if folder is None or version == context.tree.facts.vllm:
            continue
        try:
            theirs = read_bytes(folder / subject.path)
        except OSError:
            continue
        shared = shared_lines(data, theirs)
        if shared < _FITS or shared <= likeness:
            continue
        facts, _ = facts_of(theirs)
        if wanted <= {(item.level, item.module, item.name) for item in facts.imports}:
            fits.append(Fit(version, shared, _had(folder, version, subject, items)))
    return max(fits, key=lambda fit: (fit.has, fit.shared, _numbers(fit.version)), default=None)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def _had(folder: Path, version: str, subject: Subject, items: Sequence[Import]) -> int:
    """How many of the imports can be had in a release."""
    from preflight.model import TreeFacts
    from preflight.program import Program
    from preflight.tree.kinds import TreeKind
    from preflight.tree.locate import PACKAGE
    from preflight.tree.scan import scan
    from preflight.tree.tree import Tree

    listing = frozenset(scan(folder, PACKAGE).files)
    tree = Tree(folder, TreeKind.RELEASED, TreeFacts(str(folder), version), listing=listing)
    program = Program(tree)
    module = program.module(subject.module.name)
    return sum(1 for item in items if program.resolver.imported(module, item).missing is None)


def shared_lines(data: bytes, other: bytes) -> float:
    """The part of the lines of ``data`` that ``other`` has too, blank lines not counted."""
    lines = Counter(line for line in map(bytes.strip, data.splitlines()) if line)
    theirs = Counter(map(bytes.strip, other.splitlines()))
    return (lines & theirs).total() / lines.total() if lines else 1.0


def _fault(
    context: Context, program: Program, subject: Subject, weighed: Sequence[Weighed], fit: Fit | None, count: int
) -> Fault:
    first = weighed[0].problem.item
    version = context.tree.facts.vllm
    here = f"vLLM {version}" if version else "this vLLM"
    things = "one thing that it imports is" if count == 1 else f"{count} things that it imports are"
    if fit is not None:
        message = f"this file belongs to vLLM {fit.version}: {things} not in {here}"
        values = (
            Value(
                f"lines shared with vLLM {fit.version}",
                f"{fit.shared:.0%}",
                f"{subject.path} of the release in preflight's cache",
            ),
        )
        way = f"Take the release's own file and put the change into that, or move the tree to vLLM {fit.version}"
    else:
        message = f"this file belongs to another release of vLLM: {things} not in {here}"
        values = ()
        way = "Take the release's own file and put the change into that"
    steps = [
        Step(subject.path, one.problem.item.line, one.problem.function or "<module>", lack(subject, one.problem))
        for one in weighed
    ]
    return Fault(
        FOREIGN,
        Span(subject.path, first.line, first.column, first.end_line, first.end_column),
        message,
        why="a model file is written against the modules of its own release: names move, signatures change",
        help=way,
        values=values,
        trail=tuple(steps),
        excerpt=excerpt(subject.path, context.sources.get(subject.path).lines, first.line, first.end_line),
    )
