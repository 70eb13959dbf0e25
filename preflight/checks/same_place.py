"""A fault that the walk of the launch comes to, and that a look at the file alone has warned of: it is told once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from preflight.checks.classes import family
from preflight.checks.names import CHECKS as NAMES
from preflight.checks.walked import CHECKS as WALKED
from preflight.model import Finding, Severity

_WALKED = frozenset().union(*(check.ids for check in WALKED))
_OF_FILES = frozenset().union(*(check.ids for check in (*NAMES, *family.CHECKS)))
_QUOTED = re.compile(r"[`'](\w+)[`']")
#: the names that a message quotes, and the last parts of dotted ones
_NAMES = re.compile(r"[`'](\w+)[`']|\b\w+\.(\w+)\b")


def told_once(findings: Sequence[Finding]) -> Iterator[Finding]:
    """The findings without the warnings that speak of the very name, at the very line, of which an error of the walk
    does; the error shows the code as they did, and their way out where it has none or names less.
    """
    told: dict[int, list[Finding]] = {}
    for finding in findings:
        if finding.fault.check in _WALKED and finding.severity is Severity.ERROR:
            told[id(finding)] = [warning for warning in findings if _is_of(warning, finding)]
    gone = {id(warning) for warnings in told.values() for warning in warnings}
    for finding in findings:
        if id(finding) in gone:
            continue
        for warning in told.get(id(finding), ()):
            fault, seen = finding.fault, warning.fault
            # the file alone may show the name that is meant
            other = not set(_QUOTED.findall(seen.help or "")) <= _names_in(fault.message)
            way_out = seen.help if other or fault.help is None else fault.help
            excerpt = fault.excerpt or seen.excerpt
            finding = replace(finding, fault=replace(fault, span=seen.span, excerpt=excerpt, help=way_out))
        yield finding


def _is_of(warning: Finding, error: Finding) -> bool:
    """Whether a warning of a file speaks of what an error of the walk does."""
    return (
        warning.severity is Severity.WARNING
        and warning.fault.check in _OF_FILES
        and (warning.span.path, warning.span.line) == (error.span.path, error.span.line)
        and not _names_in(warning.message).isdisjoint(_names_in(error.message))
    )


def _names_in(text: str) -> set[str]:
    return {name for names in _NAMES.findall(text) for name in names if name}
