"""What the Python that will run vLLM says of the files, and why it says it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from preflight.checks.context import Context
from preflight.model import Fault, Fix, Severity, Span, Undecided
from preflight.syntax.excerpt import excerpt, pristine_excerpt
from preflight.syntax.source import Source, decode, encode_like

if TYPE_CHECKING:
    from preflight.syntax.compiler import CompileError, Compiler, Interpreter, Outcome
    from preflight.syntax.diagnose import Diagnosis
    from preflight.syntax.target import Target

SYNTAX_ERROR = "syntax-error"
UNDECODABLE = "undecodable-source"
UNREADABLE = "unreadable-source"


#: Exceptions that say something of the interpreter's own room, which another one may have more of.
_LIMITS = ("MemoryError", "RecursionError", "OverflowError")


def check_compiled(context: Context, sources: Sequence[Source], patched: frozenset[str]) -> Iterator[Fault | Undecided]:
    """Compile the sources, all in one process; ``patched`` are the paths that are not as the release has them."""
    from preflight.syntax.compiler import Compiler

    with Compiler(context.tree.interpreter) as compiler:
        context.cst.send([source for source in sources if source.path in patched])
        outcomes = compiler.compile(source.data for source in sources)
        for source, outcome in zip(sources, outcomes, strict=True):
            if not outcome.ok:
                context.cst.drop(source)
            if source.problem is not None:
                yield _undecodable(source, outcome, compiler.interpreter, source.path in patched)
            elif outcome.failure is not None:
                yield _no_answer(source, outcome, compiler.interpreter, source.path in patched)
            elif source.path not in patched:
                if outcome.error is not None:
                    yield _released_so(source, outcome.error, compiler.interpreter)
            elif outcome.error is not None and outcome.error.type in _LIMITS and compiler.interpreter.stand_in:
                yield _no_answer(source, outcome, compiler.interpreter, True)
            elif outcome.error is not None:
                yield from _refused(context, compiler, source, outcome.error)
            else:
                yield from _accepted(context, compiler.interpreter, source)
        if compiler.interpreter.stand_in and patched:
            yield _stand_in(context, compiler.interpreter)


def check_concrete(context: Context) -> Iterator[Undecided]:
    """What libcst cannot parse of the patched files that compile. To be asked late: libcst is slow, and has had the
    files since they were compiled."""
    for source, problem in context.cst.answers():
        if problem is not None:
            message = f"it compiles, but what needs its syntax tree is left out: {problem}"
            yield Undecided("cst-refused", message, source.path)


def _undecodable(source: Source, outcome: Outcome, interpreter: Interpreter, patched: bool) -> Fault:
    """Bytes that are no text. Within a comment Python reads over them on an import; whoever opens the file fails."""
    problem = source.problem
    assert problem is not None
    line = problem.line
    severity = None if patched else Severity.INFO
    why = "Python decodes a source before it reads it, so importing this file raises SyntaxError"
    if outcome.ok and patched:
        severity = Severity.WARNING
        why = (
            f"Python {interpreter.version_text} imports the file all the same, since the byte stands in a comment; "
            "what opens it as text fails, vLLM's own hash of its sources among them"
        )
    binary = problem.kind == "null-byte"
    return Fault(
        UNREADABLE if binary else UNDECODABLE,
        Span(source.path, line, problem.column),
        problem.message,
        why=why,
        help=problem.help,
        excerpt=excerpt(source.path, source.lines, line, line) if line is not None and not binary else None,
        severity=severity,
    )


def _no_answer(source: Source, outcome: Outcome, interpreter: Interpreter, patched: bool) -> Fault | Undecided:
    """The interpreter crashed, or did not end."""
    if outcome.crashed and patched and not interpreter.stand_in:
        return Fault(
            SYNTAX_ERROR,
            Span(source.path),
            f"Python {interpreter.version_text} crashes when it compiles the file: {outcome.failure}",
            why="importing the file ends the process in the same way",
            help="look for code that is nested thousands of levels deep, and for data written as code",
        )
    return Undecided(
        "not-compiled",
        f"whether the file compiles is not known: {outcome.failure or _out_of_room(interpreter)}",
        source.path,
        decisive=patched,
    )


def _out_of_room(interpreter: Interpreter) -> str:
    return f"it is nested too deeply for preflight's own Python {interpreter.version_text}"


def _released_so(source: Source, error: CompileError, interpreter: Interpreter) -> Fault:
    """A file of the release itself: it launches with it there, so it is meant for another Python, or is a template."""
    return Fault(
        SYNTAX_ERROR,
        Span(source.path, error.line, error.column),
        f"Python {interpreter.version_text} cannot read this file of the release: {error.message}",
        why="it is as the release has it, which launches with it: a template, or code for another Python",
        help="nothing is to be done",
        excerpt=excerpt(source.path, source.lines, error.line, error.line) if error.line else None,
        severity=Severity.INFO,
    )


def _accepted(context: Context, interpreter: Interpreter, source: Source) -> Iterator[Fault | Undecided]:
    """Syntax that a Python which may run this vLLM does not read; nothing where its own interpreter compiled."""
    if interpreter.stand_in:
        from preflight.syntax.fixes import LineIndex
        from preflight.syntax.versions import features_of, may_need

        assert source.text is not None
        target = _target(context)
        # it has compiled, so there is nothing in it that came later
        versions = [(3, minor) for minor in range(10, interpreter.version[1] + 1)]
        if not may_need(source.text, filter(target.may_be_too_old, versions)):
            return
        index = LineIndex(source.text)
        for feature in features_of(source.text):
            if target.may_be_too_old(feature.since):
                span = Span(source.path, *index.place(feature.start), *index.place(feature.end))
                yield _newer_syntax(source, target, feature.name, feature.since, span)


def _refused(context: Context, compiler: Compiler, source: Source, error: CompileError) -> Iterator[Fault | Undecided]:
    from preflight.syntax.diagnose import diagnose

    before = context.tree.pristine(source.path) if context.tree.exists(source.path) else None
    pristine = decode(source.path, before) if before is not None else None

    def oracle(texts: Sequence[str]) -> Sequence[Outcome]:
        from preflight.syntax.compiler import Outcome

        data: list[bytes] = []
        for text in texts:
            try:
                data.append(encode_like(source, text))
            except UnicodeEncodeError:
                return [Outcome(failure="it cannot be encoded") for _ in texts]
        return compiler.compile(data, likely_broken=True)

    interpreter = compiler.interpreter
    for diagnosis in diagnose(source, error, oracle, interpreter.version[:2], pristine.text if pristine else None):
        since = diagnosis.since
        if since is not None and interpreter.stand_in:
            target = _target(context)
            if not target.too_old(since):
                yield _newer_syntax(
                    source, target, diagnosis.feature or diagnosis.message, since, _span(source, diagnosis)
                )
                continue
        yield _fault(context, source, diagnosis, pristine)


def _newer_syntax(source: Source, target: Target, name: str, since: tuple[int, int], span: Span) -> Fault | Undecided:
    """Syntax that came with a later Python, found under an interpreter that is not the one that will run vLLM."""
    version = f"{since[0]}.{since[1]}"
    needs = f"{name} needs Python {version}"
    if target.too_old(since):
        return Fault(
            SYNTAX_ERROR,
            span,
            f"{needs}; this vLLM runs on {target.text}",
            why="an older Python raises SyntaxError when the file is imported",
            help=f"write it in an older form, or run vLLM on Python {version}",
            excerpt=excerpt(source.path, source.lines, span.line or 1, span.line or 1),
        )
    return Undecided(
        "python-version",
        f"{needs}, and this vLLM may run on {target.text}; name its interpreter with --python FILE",
        source.path,
        span.line,
        decisive=target.may_be_too_old(since),
    )


def _stand_in(context: Context, interpreter: Interpreter) -> Undecided:
    target = _target(context)
    why = f"{interpreter.problem}, so" if interpreter.problem else "the Python that will run vLLM is not at hand, so"
    return Undecided(
        "interpreter",
        f"{why} preflight's own Python {interpreter.version_text} compiled the patched files; "
        f"syntax that not all of {target.text} read is named by itself",
    )


def _fault(context: Context, source: Source, diagnosis: Diagnosis, pristine: Source | None) -> Fault:
    version = context.tree.facts.vllm
    title = f"vllm {version} as released" if version else "as released"
    line, end_line = diagnosis.start[0], diagnosis.end[0]
    return Fault(
        SYNTAX_ERROR,
        _span(source, diagnosis),
        diagnosis.message,
        why=diagnosis.why,
        help=diagnosis.help,
        fix=Fix(diagnosis.fix, diagnosis.safe) if diagnosis.fix else None,
        excerpt=excerpt(source.path, source.lines, line, end_line),
        pristine=pristine_excerpt(source.path, source.lines, pristine.lines, line, end_line, title)
        if pristine
        else None,
    )


def _span(source: Source, diagnosis: Diagnosis) -> Span:
    return Span(source.path, *diagnosis.start, *diagnosis.end)


def _target(context: Context) -> Target:
    from preflight.syntax.target import target_of

    return target_of(context.tree.facts.python, context.tree.python_range)
