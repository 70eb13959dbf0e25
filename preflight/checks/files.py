"""Each file by itself: can it be read and decoded, does it compile, and did a patch tool leave anything behind?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from preflight.checks.context import Check, Context
from preflight.model import Fault, FileState, Fix, Severity, Span, Undecided
from preflight.syntax.excerpt import excerpt, pristine_excerpt
from preflight.syntax.source import Source, decode

if TYPE_CHECKING:
    from preflight.syntax.compiler import Compiler, Outcome
    from preflight.syntax.diagnose import Diagnosis

SYNTAX_ERROR = "syntax-error"
UNDECODABLE = "undecodable-source"
UNREADABLE = "unreadable-source"
MISSING = "release-file-missing"


def check_files(context: Context) -> Iterator[Fault | Undecided]:
    """The faults of the files of this run, each by itself."""
    yield from _missing(context)
    sources: list[Source] = []
    for path in context.paths:
        if not path.endswith(".py") or not _exists(context, path):
            continue
        source = context.sources.get(path)
        if source.problem is None:
            sources.append(source)
        else:
            yield from _unreadable(context, source)
    if sources:
        yield from _compiled(context, sources)


CHECKS = (Check(frozenset({SYNTAX_ERROR, UNDECODABLE, UNREADABLE, MISSING}), check_files),)


def _exists(context: Context, path: str) -> bool:
    return context.tree.exists(path) or any(file.path == path for file in context.tree.outside)


def _patched(context: Context) -> frozenset[str]:
    """The files that are not as the release has them: patched, laid over, or of a patch repository."""
    patched = {file.path for file in context.tree.facts.patched}
    return frozenset(patched | {file.path for file in context.tree.outside})


def _missing(context: Context) -> Iterator[Fault]:
    for file in context.tree.facts.patched:
        if file.state is FileState.MISSING and file.path.endswith(".py"):
            yield Fault(
                MISSING,
                Span(file.path),
                f"{file.path} is gone, which the release has",
                why="RECORD names it; whatever imports it fails",
                help="put the file back, or reinstall this vLLM",
            )


def _unreadable(context: Context, source: Source) -> Iterator[Fault | Undecided]:
    problem = source.problem
    assert problem is not None
    patched = source.path in _patched(context)
    if problem.kind == "too-big":
        yield Undecided("source-too-big", problem.message, source.path, decisive=patched)
        return
    if problem.kind == "unreadable":
        yield Fault(UNREADABLE, Span(source.path), problem.message, help="make it a readable file, or take it away")
        return
    yield Fault(
        UNREADABLE if problem.kind == "null-byte" else UNDECODABLE,
        Span(source.path, problem.line, problem.column),
        problem.message,
        why="Python decodes a source before it reads it, so importing this file raises SyntaxError",
        help=problem.help,
        excerpt=excerpt(source.path, source.lines, problem.line, problem.line) if problem.line else None,
        severity=None if patched else Severity.INFO,
    )


def _compiled(context: Context, sources: Sequence[Source]) -> Iterator[Fault | Undecided]:
    from preflight.syntax.compiler import Compiler
    from preflight.syntax.cst import parse_problem

    patched = _patched(context)
    with Compiler(context.tree.interpreter) as compiler:
        outcomes = compiler.compile(source.data for source in sources)
        for source, outcome in zip(sources, outcomes, strict=True):
            if outcome.error is not None:
                yield from _refused(context, compiler, source, outcome, source.path in patched)
            elif outcome.ok and source.path in patched:
                problem = parse_problem(source)
                if problem is not None:
                    yield Undecided(
                        "cst-refused",
                        f"it compiles, but the checks that need its syntax tree are left out: {problem}",
                        source.path,
                    )


def _refused(
    context: Context, compiler: Compiler, source: Source, outcome: Outcome, patched: bool
) -> Iterator[Fault | Undecided]:
    from preflight.syntax.diagnose import diagnose
    from preflight.syntax.source import encode_like

    assert outcome.error is not None
    before = context.tree.pristine(source.path) if context.tree.exists(source.path) else None
    pristine = decode(source.path, before) if before is not None else None

    def oracle(texts: Sequence[str]) -> list[Outcome]:
        return compiler.compile(encode_like(source, text) for text in texts)

    version = compiler.interpreter.version[:2]
    for diagnosis in diagnose(source, outcome.error, oracle, version, pristine.text if pristine else None):
        yield _fault(context, source, diagnosis, pristine, patched)


def _fault(context: Context, source: Source, diagnosis: Diagnosis, pristine: Source | None, patched: bool) -> Fault:
    (line, column), (end_line, end_column) = diagnosis.start, diagnosis.end
    title = f"vllm {context.tree.facts.vllm or ''} as released".replace("  ", " ")
    return Fault(
        SYNTAX_ERROR,
        Span(source.path, line, column, end_line, end_column),
        diagnosis.message,
        why=diagnosis.why,
        help=diagnosis.help,
        fix=Fix(diagnosis.fix, diagnosis.safe) if diagnosis.fix else None,
        excerpt=excerpt(source.path, source.lines, line, end_line),
        pristine=pristine_excerpt(source.path, source.lines, pristine.lines, line, end_line, title)
        if pristine
        else None,
        severity=None if patched else Severity.INFO,
    )
