"""The findings for attributes that a module or class of the tree certainly lacks."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from preflight.checks.body.study import AttributeProblem, Study
from preflight.checks.elsewhere import is_set_beside, is_set_elsewhere
from preflight.checks.names import ATTRIBUTE_MISSING
from preflight.checks.places import column_of, shown_at
from preflight.checks.subjects import Ending, Subject, Subjects
from preflight.checks.whereabouts import hint, near_name
from preflight.model import Fault, Span, Step
from preflight.program import Class, Missing, Program, Truth

if TYPE_CHECKING:
    from preflight.checks.context import Context


def attribute_faults(
    context: Context, program: Program, subjects: Subjects, subject: Subject, study: Study
) -> Iterator[Fault]:
    """One finding for each attribute of vLLM's own modules and classes that is not there."""
    seen: set[tuple[str, str | None]] = set()
    ordered = sorted(study.attributes, key=lambda one: (bool(one.function), not one.moment.certain, one.node.lineno))
    for problem in ordered:
        key = (problem.missing.module, problem.missing.name)
        if key in seen or not subjects.of_tree(problem.missing):
            continue
        ending = _ending(context, program, subjects, subject, problem)
        if ending is not None:
            seen.add(key)
            yield _fault(context, program, subject, problem, ending)


def _ending(
    context: Context, program: Program, subjects: Subjects, subject: Subject, problem: AttributeProblem
) -> Ending | None:
    moment = problem.moment
    if problem.caught is not Truth.NO or moment.handler:
        return None
    if not (moment.certain and not problem.function) and _is_asked_for(context, subject, problem):
        return None
    if is_set_elsewhere(program, problem.missing) or is_set_beside(context.tree, problem.missing):
        return None
    if not subjects.caused(problem.missing) and not subjects.touches(subject, problem.node.lineno):
        return None
    return subjects.ending(subject, problem)


def _is_asked_for(context: Context, subject: Subject, problem: AttributeProblem) -> bool:
    """Whether the file itself asks if the attribute is there: ``hasattr(module, "name")`` and the like."""
    text = context.sources.get(subject.path).text or ""
    return f'"{problem.node.attr}"' in text or f"'{problem.node.attr}'" in text


def _fault(context: Context, program: Program, subject: Subject, problem: AttributeProblem, ending: Ending) -> Fault:
    node, missing = problem.node, problem.missing
    lines = context.sources.get(subject.path).lines
    owner = missing.module
    within, _, name = (missing.name or "").rpartition(".")
    if within:
        owner = f"{missing.module}.{within}"
    if problem.function:
        ends = f"{problem.function} raises AttributeError when it comes here"
    elif problem.moment.certain:
        ends = "importing this file raises AttributeError"
    else:
        ends = "importing this file raises AttributeError if this line runs"
    steps = [
        Step(subject.path, call.lineno, "<module>", "is called while the file is imported")
        for call in problem.moment.calls
    ]
    spec = program.finder.find(missing.module)
    steps.append(Step(subject.path, node.lineno, problem.function or "<module>", f"reads {ast.unparse(node)}"))
    if spec.path is not None:
        steps.append(Step(spec.path, 1, "<module>", f"has no {missing.name!r}"))
    return Fault(
        ATTRIBUTE_MISSING,
        Span(subject.path, node.lineno, column_of(lines, node), node.end_lineno, column_of(lines, node, end=True)),
        ending.after(f"{owner} has no attribute {name!r}: {ends}"),
        why=f"AttributeError: {'type object' if within else 'module'} {(within or owner)!r} has no attribute {name!r}",
        help=_help(program, missing, within, name),
        trail=tuple(steps),
        excerpt=shown_at(subject.path, lines, node),
        severity=ending.severity,
    )


def _help(program: Program, missing: Missing, within: str, name: str) -> str | None:
    if not within:
        return hint(program, missing)
    cls = program.find_class(missing.module, within)
    names = [member for one in cls.mro for member in one.own_names()] if isinstance(cls, Class) else []
    near = near_name(program, name, names)
    return f"It has {near!r}: write that, if it is meant" if near is not None else None
