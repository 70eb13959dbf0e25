"""The report for people in a hurry and for editors: one line a finding, one line an open question, the verdict."""

from __future__ import annotations

from preflight.model import Report, Span
from preflight.render.display import Painter, one_line
from preflight.render.text import place, verdict_line


def render_short(report: Report, *, colour: bool) -> str:
    """``path:line:column: error[PF101] message`` for every finding, then what is undecided, then the verdict."""
    paint = Painter(colour)
    lines = []
    for finding in report.findings:
        level = paint(f"{finding.severity.value}[{finding.rule}]", finding.severity.value)
        lines.append(f"{place(finding.span)}: {level} {one_line(finding.message)}")
    for question in report.undecided:
        where = "" if question.path is None else f"{place(Span(question.path, question.line))}: "
        times = f" ({question.count} times)" if question.count > 1 else ""
        level = paint(f"undecided[{one_line(question.id)}]", "warning")
        lines.append(f"{where}{level} {one_line(question.message)}{times}")
    lines.append(verdict_line(report, paint))
    return "\n".join(lines) + "\n"
