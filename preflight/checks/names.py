"""Names and attributes that have no value when they are read: undefined, not yet bound, or not there.

What the import of a file certainly reads is an error; what a function reads is a warning, for it fails when the
function runs. Nothing is said where a handler catches it, or where names may come that no statement shows.
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.checks.context import Check, Context
from preflight.model import Fault, Undecided

UNDEFINED = "undefined-name"
UNBOUND_LOCAL = "unbound-local"
TOO_EARLY = "name-used-before-definition"
ATTRIBUTE_MISSING = "attribute-missing"


def check_names(context: Context) -> Iterator[Fault | Undecided]:
    """The names and attributes that the patched files of this run read."""
    from preflight.checks.attributes import attribute_faults
    from preflight.checks.foreign import is_foreign
    from preflight.checks.name_faults import name_faults
    from preflight.checks.subjects import Standing, Subjects

    program = context.load_program()
    subjects = Subjects(context, program)
    for subject in subjects:
        study = subjects.study(subject)
        yield from name_faults(context, program, subjects, subject, study)
        if not is_foreign(program, subject.path):
            yield from attribute_faults(context, program, subjects, subject, study)
        if study.open is not None and subject.standing is Standing.PATCHED:
            yield Undecided("names-not-decided", f"which names this file has is not known: {study.open}", subject.path)


CHECKS = (Check(frozenset({UNDEFINED, UNBOUND_LOCAL, TOO_EARLY, ATTRIBUTE_MISSING}), check_names),)
