"""Imports that cannot be had: a module or a name that is not there, when the interpreter comes to it.

An import is an error where importing its file certainly runs it and nothing catches what it raises. In a function, or
behind a condition that only running would decide, it is a warning; where a handler catches it, it is what the code
provides for, and nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from preflight.checks.context import Check, Context
from preflight.model import Fault, Undecided

if TYPE_CHECKING:
    from preflight.checks.subjects import Subject, Subjects
    from preflight.program import Program

NAME_MISSING = "import-name-missing"
MODULE_MISSING = "import-module-missing"
FOREIGN = "file-of-another-release"
CYCLE = "import-cycle"


def check_imports(context: Context) -> Iterator[Fault | Undecided]:
    """The imports of the files of this run, and those of other files that a patched file has broken."""
    from preflight.checks.cycles import check_cycles
    from preflight.checks.foreign import foreign_fault
    from preflight.checks.import_faults import dead_imports, faults, weigh
    from preflight.checks.removed import check_removed
    from preflight.checks.subjects import Standing, Subjects

    program = context.load_program()
    subjects = Subjects(context, program)
    for subject in subjects:
        weighed = weigh(program, subjects, subject, subjects.study(subject))
        foreign = foreign_fault(context, program, subject, weighed)
        if foreign is not None:
            yield foreign
        else:
            yield from faults(context, program, subjects, subject, weighed)
            if subject.standing is Standing.PATCHED:
                yield from dead_imports(context, program, subjects, subject)
        yield from _open(program, subjects, subject)
    if subjects.unknown:
        yield Undecided(
            "effects-not-decided",
            f"{subjects.unknown} files differ from the release's, which are not at hand: whether files that are as "
            "released miss something of theirs was not looked for",
        )
    if not subjects.settled:
        yield from check_removed(context, program, subjects)
    yield from check_cycles(context, program, subjects)


CHECKS = (Check(frozenset({NAME_MISSING, MODULE_MISSING, FOREIGN, CYCLE}), check_imports),)


def _open(program: Program, subjects: Subjects, subject: Subject) -> Iterator[Undecided]:
    """New imports of a patched file that nobody can decide from here."""
    from preflight.checks.subjects import Standing
    from preflight.program import Truth

    if subject.standing is not Standing.PATCHED:
        return
    for item in subject.module.facts.imports:
        target = subject.module.absolute(item)
        if target is None or any(guard.kind in ("try", "except", "function") for guard in item.guards):
            continue
        if not program.finder.find(target.partition(".")[0]).in_tree or not subjects.is_new(subject, item):
            continue
        found = program.resolver.imported(subject.module, item) if item.name != "*" else None
        if found is not None and found.exists is Truth.MAYBE:
            reason = found.unknown or "some ways through that file bind it, and others do not"
            yield Undecided(
                "import-not-decided",
                f"whether {target} has {item.name or 'it'!r} is not known: {reason}",
                subject.path,
                item.line,
            )
