"""The findings for names that have no value where they are read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from preflight.checks.body.study import NameProblem, Study
from preflight.checks.names import TOO_EARLY, UNBOUND_LOCAL, UNDEFINED
from preflight.checks.places import column_of, shown_at
from preflight.checks.subjects import Ending, Standing, Subject, Subjects
from preflight.checks.whereabouts import near_name, places_of
from preflight.model import Fault, Span, Step
from preflight.program import Program, Truth

if TYPE_CHECKING:
    from preflight.checks.context import Context

#: so many places at which one name is read are listed
_LISTED = 8


def name_faults(
    context: Context, program: Program, subjects: Subjects, subject: Subject, study: Study
) -> Iterator[Fault]:
    """One finding for each name: at the place that fails first."""
    groups: dict[tuple[str, str, str], list[tuple[NameProblem, Ending]]] = {}
    misspelt = [problem.item.bound for problem in study.imports]
    for problem in study.names:
        check = _check(problem)
        if check == UNDEFINED and near_name(program, problem.node.id, misspelt) is not None:
            continue  # the import that should bring it is reported, and its repair is this one's too
        ending = _ending(subjects, subject, problem)
        if ending is not None:
            function = problem.function if check == UNBOUND_LOCAL else ""
            groups.setdefault((check, problem.node.id, function), []).append((problem, ending))
    for (check, _, _), found in groups.items():
        found.sort(key=lambda one: (not one[1].fails, one[0].node.lineno, one[0].node.col_offset))
        yield _fault(context, program, subject, check, found)


def _check(problem: NameProblem) -> str:
    if problem.local:
        return UNBOUND_LOCAL
    return TOO_EARLY if problem.bound else UNDEFINED


def _ending(subjects: Subjects, subject: Subject, problem: NameProblem) -> Ending | None:
    moment = problem.moment
    if problem.caught is not Truth.NO or moment.handler:
        return None
    if (problem.local or problem.bound) and not moment.certain:
        return None  # it is bound somewhere, and the way that leads here may be one that nobody takes
    if subjects.is_latent(subject, problem):
        return None
    return subjects.ending(subject, problem)


def _fault(
    context: Context, program: Program, subject: Subject, check: str, found: list[tuple[NameProblem, Ending]]
) -> Fault:
    problem, ending = found[0]
    node = problem.node
    lines = context.sources.get(subject.path).lines
    span = Span(subject.path, node.lineno, column_of(lines, node), node.end_lineno, column_of(lines, node, end=True))
    steps = [
        Step(subject.path, call.lineno, "<module>", "is called while the file is imported")
        for call in problem.moment.calls
    ]
    steps.extend(
        Step(subject.path, other.node.lineno, other.function or "<module>", f"reads {other.node.id}")
        for other, _ in found[:_LISTED]
    )
    return Fault(
        check,
        span,
        ending.after(_message(problem, check)),
        why=_why(problem, check),
        help=_help(program, subject, problem, check),
        trail=tuple(steps) if len(steps) > 1 else (),
        excerpt=shown_at(subject.path, lines, node),
        severity=ending.severity,
    )


def _message(problem: NameProblem, check: str) -> str:
    name = problem.node.id
    if check == UNBOUND_LOCAL:
        return f"{problem.function} reads {name!r} before anything gives it a value: every call that comes here fails"
    if problem.typing:
        what = f"{name!r} is imported for type checkers only (TYPE_CHECKING)"
    elif check == TOO_EARLY:
        what = f"{name!r} is read before this file binds it"
    else:
        what = f"{name!r} is defined nowhere"
    if problem.function:
        return f"{what}: {problem.function} raises NameError when it comes here"
    if problem.moment.certain:
        return f"{what}: importing this file raises NameError"
    return f"{what}: importing this file raises NameError if this line runs"


def _why(problem: NameProblem, check: str) -> str:
    name = problem.node.id
    if check == UNBOUND_LOCAL:
        return (
            f"UnboundLocalError: the function assigns {name!r} somewhere, which makes it a local variable, and no way "
            "to this line does so before"
        )
    return f"NameError: name {name!r} is not defined"


def _help(program: Program, subject: Subject, problem: NameProblem, check: str) -> str | None:
    name = problem.node.id
    if check == UNBOUND_LOCAL:
        return f"Give {name!r} a value before, or a name of its own if the module's {name!r} is meant"
    if problem.typing:
        return f"Import {name!r} outside of TYPE_CHECKING, or write the annotation as a string"
    if check == TOO_EARLY:
        return f"Move what defines {name!r} before this line"
    bound = program.names_of(subject.module.name) if subject.standing is not Standing.OUTSIDE else ()
    near = near_name(program, name, bound)
    if near is not None:
        return f"{near!r} is a name of this file: write that, if it is meant"
    places = places_of(program, name)
    if places:
        return f"Import it: from {places[0].module} import {name}"
    return "Import it or define it, or correct its spelling"
