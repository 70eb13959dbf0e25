"""``match`` statements: patterns against values of which some are not known."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from preflight.walk.outcomes import NEXT, Outcome, run_arm, settle
from preflight.walk.truth import Truth, both
from preflight.walk.values import Class, Const, Instance, Seq, Value

if TYPE_CHECKING:
    from preflight.walk.machine import Machine


def execute_match(machine: Machine, node: ast.Match) -> Outcome:
    """Walk a ``match`` statement."""
    subject = machine.evaluate(node.subject)
    return _from_case(machine, node, subject, 0)


def _from_case(machine: Machine, node: ast.Match, subject: Value, index: int) -> Outcome:
    for number in range(index, len(node.cases)):
        case = node.cases[number]
        bound: dict[str, Value] = {}
        answer = _matches(machine, case.pattern, subject, bound)
        if answer is Truth.NO:
            continue
        if case.guard is not None or answer is Truth.MAYBE:

            def taken(case: ast.match_case = case, bound: dict[str, Value] = bound) -> Outcome:
                _bind(machine, bound)
                return machine.execute(case.body)

            if case.guard is not None:
                _bind(machine, bound)
                answer = both(answer, machine.truth(machine.evaluate(case.guard)))
                if answer is Truth.NO:
                    continue
            if answer is Truth.YES:
                return taken()
            arms = run_arm(machine, taken)
            arms += run_arm(machine, lambda number=number: _from_case(machine, node, subject, number + 1))
            return settle(machine, arms, f"depends on a match that is not known ({machine.frame.path}:{node.lineno})")
        _bind(machine, bound)
        return machine.execute(case.body)
    return NEXT


def _bind(machine: Machine, bound: dict[str, Value]) -> None:
    for name, value in bound.items():
        machine.store(ast.Name(name, ast.Store()), value)


def _matches(machine: Machine, pattern: ast.pattern, subject: Value, bound: dict[str, Value]) -> Truth:
    if isinstance(pattern, ast.MatchAs):
        answer = _matches(machine, pattern.pattern, subject, bound) if pattern.pattern is not None else Truth.YES
        if pattern.name is not None:
            bound[pattern.name] = subject
        return answer
    if isinstance(pattern, ast.MatchValue):
        return machine.equal(subject, machine.evaluate(pattern.value))
    if isinstance(pattern, ast.MatchSingleton):
        from preflight.walk.equality import identical

        return identical(subject, machine.value(pattern.value))
    if isinstance(pattern, ast.MatchOr):
        answers = [_matches(machine, option, subject, bound) for option in pattern.patterns]
        if any(answer is Truth.YES for answer in answers):
            return Truth.YES
        return Truth.NO if all(answer is Truth.NO for answer in answers) else Truth.MAYBE
    if isinstance(pattern, ast.MatchClass):
        return _matches_class(machine, pattern, subject, bound)
    if (
        isinstance(pattern, ast.MatchSequence)
        and isinstance(subject, Seq)
        and not subject.loose
        and not any(isinstance(part, ast.MatchStar) for part in pattern.patterns)
    ):
        if len(subject.content) != len(pattern.patterns):
            return Truth.NO
        answer = Truth.YES
        for part, item in zip(pattern.patterns, subject.content, strict=True):
            answer = both(answer, _matches(machine, part, item, bound))
        return answer
    if (
        isinstance(pattern, ast.MatchSequence)
        and isinstance(subject, (Const, Instance))
        and not (isinstance(subject, Instance) and subject.payload is not None)
    ):
        return Truth.NO
    for name in _names(pattern):
        bound[name] = machine.unknown("a part of a pattern that is not modelled")
    return Truth.MAYBE


def _matches_class(machine: Machine, pattern: ast.MatchClass, subject: Value, bound: dict[str, Value]) -> Truth:
    cls = machine.evaluate(pattern.cls)
    answer = machine.is_instance(subject, cls)
    if answer is Truth.NO:
        return answer
    names: list[str] = list(pattern.kwd_attrs)
    patterns = list(pattern.kwd_patterns)
    if pattern.patterns:
        if (
            isinstance(cls, Class)
            and cls.native in (int, str, float, bool, bytes, list, tuple, dict, set)
            and len(pattern.patterns) == 1
        ):
            answer = both(answer, _matches(machine, pattern.patterns[0], subject, bound))
        else:
            arguments = machine.find(cls, "__match_args__")
            listed = machine.items(arguments) if arguments is not None else None
            if listed is None:
                return Truth.MAYBE
            names = [str(item.value) for item in listed if isinstance(item, Const)][: len(pattern.patterns)] + names
            patterns = [*pattern.patterns, *patterns]
    for name, part in zip(names, patterns, strict=False):
        value = machine.find(subject, name)
        if value is None:
            return Truth.NO
        answer = both(answer, _matches(machine, part, value, bound))
    return answer


def _names(pattern: ast.pattern) -> list[str]:
    found = []
    for node in ast.walk(pattern):
        name = getattr(node, "name", None) or getattr(node, "rest", None)
        if isinstance(name, str):
            found.append(name)
    return found
