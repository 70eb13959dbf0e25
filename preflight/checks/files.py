"""Each file by itself: can it be read and decoded, does it compile, and did a patch tool leave anything behind?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from preflight.checks.compiled import SYNTAX_ERROR, UNDECODABLE, UNREADABLE, check_compiled, check_concrete
from preflight.checks.context import Check, Context
from preflight.checks.leftovers import CONFLICT_MARKER, RESIDUE_FILE, check_leftovers
from preflight.model import Fault, FileState, Severity, Span, Undecided
from preflight.syntax.source import Source

MISSING = "release-file-missing"


def check_files(context: Context) -> Iterator[Fault | Undecided]:
    """The faults of the files of this run, each by itself."""
    yield from _missing(context)
    patched = _patched(context)
    sources: list[Source] = []
    for path in context.paths:
        if path.endswith(".py") and _is_there(context, path):
            source = context.sources.get(path)
            kind = source.problem.kind if source.problem is not None else None
            if kind in ("unreadable", "too-big"):
                yield _as_reached(context, _unread(source, path in patched))
            else:
                sources.append(source)
    refused: set[str] = set()
    for item in check_compiled(context, sources, patched & {source.path for source in sources}) if sources else ():
        if isinstance(item, Fault):
            refused.add(item.span.path)
        yield _as_reached(context, item)
    # the diagnosis of a file that does not compile speaks of its conflict markers
    yield from check_leftovers(context, patched - refused)


CHECKS = (
    Check(
        frozenset({SYNTAX_ERROR, UNDECODABLE, UNREADABLE, MISSING, CONFLICT_MARKER, RESIDUE_FILE}),
        check_files,
    ),
)
#: asked after all others, which run while libcst parses
LATE = (Check(frozenset({SYNTAX_ERROR}), check_concrete),)


def _as_reached(context: Context, item: Fault | Undecided) -> Fault | Undecided:
    """A fault of a file that no import statement can name, or none of this tree does, stops no launch."""
    path = item.span.path if isinstance(item, Fault) else item.path
    if path is None:
        return item
    grave = item.severity in (None, Severity.ERROR) if isinstance(item, Fault) else item.decisive
    if not grave:
        return item
    reason = _unreached(context, path) if context.tree.exists(path) else _left_out(context, path)
    if reason is None:
        return item
    if isinstance(item, Undecided):
        return replace(item, decisive=False)
    return replace(item, severity=Severity.WARNING, why=f"{item.why}; {reason}" if item.why else reason)


def _unreached(context: Context, path: str) -> str | None:
    """Why a launch does without a file; None where it may need it."""
    if not all(map(str.isidentifier, path[: -len(".py")].split("/"))):
        return "no import statement can name this file, so a launch does without it"
    if context.launch is None:
        return None  # without a launch an error is what stops every launch that loads the file
    from preflight.checks.strays import is_stray

    if is_stray(context, path):
        return "the release has no such file, and no other file of this tree names it, so a launch does without it"
    return None


def _left_out(context: Context, path: str) -> str | None:
    """What a launch does without if a plug-in's file cannot be imported; None where it may fail."""
    if not context.tree.entry_points:
        return None
    from preflight.checks.plugins import endings_of

    program = context.load_program()
    module = program.module_at(path)
    if module is None or not program.finder.is_plugin(module.name):
        return None
    return endings_of(program).of(context.launch, module.name, None).without


def _is_there(context: Context, path: str) -> bool:
    return context.tree.exists(path) or any(file.path == path for file in context.tree.outside)


def _patched(context: Context) -> frozenset[str]:
    """The files that are not as the release has them: patched, laid over, or of a patch repository."""
    files = (*context.tree.facts.patched, *context.tree.outside)
    return frozenset(file.path for file in files)


def _missing(context: Context) -> Iterator[Fault]:
    for file in context.tree.facts.patched:
        if file.state is FileState.MISSING and file.path.endswith(".py"):
            yield Fault(
                MISSING,
                Span(file.path),
                f"{file.path} is gone, which the release has",
                why="whatever imports it fails",
                help="put the file back, or reinstall this vLLM",
            )


def _unread(source: Source, patched: bool) -> Fault | Undecided:
    problem = source.problem
    assert problem is not None
    if problem.kind == "too-big":
        return Undecided("source-too-big", problem.message, source.path, decisive=patched)
    return Fault(
        UNREADABLE,
        Span(source.path),
        problem.message,
        why="Python cannot import what it cannot read",
        help="make it a readable file, or take it away",
        severity=None if patched else Severity.INFO,
    )
