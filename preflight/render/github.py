"""GitHub workflow commands: what a workflow prints becomes annotations of the changed files.

The runner keeps ten annotations of a level for each step and drops the others in silence, so errors come first, and the
tenth says how many there would be more.
"""

from __future__ import annotations

from preflight.model import Finding, Report, Severity, Undecided
from preflight.render.display import visible_lines
from preflight.render.verdict import verdict_sentence

_MOST = 10
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def render_github(report: Report) -> str:
    """One command a line; the last one is a notice with the verdict."""
    lines: list[str] = []
    if report.error is not None:
        parts = (report.error.message, report.error.help)
        lines.append(_command("error", "\n".join(part for part in parts if part), title="preflight: not checked"))
    for severity, level in _LEVELS.items():
        commands = [_finding(finding, level) for finding in report.findings if finding.severity is severity]
        room = _MOST
        if severity is Severity.INFO:
            commands += [_question(question) for question in report.undecided]
            room -= 1  # for the verdict
        elif severity is Severity.ERROR and lines:
            room -= 1
        lines += _limited(commands, level, room)
    lines.append(_command("notice", verdict_sentence(report), title="preflight"))
    return "\n".join(lines) + "\n"


def _limited(commands: list[str], level: str, room: int) -> list[str]:
    if len(commands) <= room:
        return commands
    rest = len(commands) - room + 1
    return [
        *commands[: room - 1],
        _command(level, f"and {rest:,} more, see the log of another format", title="preflight"),
    ]


def _finding(finding: Finding, level: str) -> str:
    span, fault = finding.span, finding.fault
    message = "\n".join(part for part in (fault.message, fault.why, fault.help) if part)
    properties: dict[str, str | int | None] = {"file": span.path, "line": span.line, "endLine": span.end_line}
    # The runner takes columns only for a range within one line.
    if span.line is not None and span.end_line in (None, span.line):
        properties |= {"col": span.column, "endColumn": span.end_column}
    return _command(level, message, **properties, title=f"{finding.rule} {finding.name}")


def _question(question: Undecided) -> str:
    times = f" ({question.count} times)" if question.count > 1 else ""
    return _command(
        "notice", f"{question.message}{times}", file=question.path, line=question.line, title=f"undecided {question.id}"
    )


def _command(level: str, message: str, **properties: str | int | None) -> str:
    """``::error file=...,line=...::message``, escaped as the runner's toolkit does."""
    said = [f"{name}={_property(str(value))}" for name, value in properties.items() if value is not None]
    return f"::{level}{' ' if said else ''}{','.join(said)}::{_data(message)}"


def _data(text: str) -> str:
    """The value as the runner unescapes it. Other control characters would reach the log's viewer: they are escaped."""
    return visible_lines(text).replace("%", "%25").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
