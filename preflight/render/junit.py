"""JUnit XML, for the test views of CI systems: a suite a file, a case a finding, one passing case when all is clear.

An error is a failure. A warning or an open question is a skipped case, and an info passes with a text: none of them
makes the exit code 1 by itself, and a test view must not say otherwise.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from preflight.model import Finding, Report, Severity, Undecided, Verdict
from preflight.render.display import visible_lines
from preflight.render.plain import shown
from preflight.render.verdict import verdict_sentence

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


def render_junit(report: Report) -> str:
    """The report as one XML document, declared and encoded as UTF-8."""
    from xml.etree.ElementTree import Element, SubElement, indent, tostring

    root = Element("testsuites", {"name": "preflight", "time": f"{report.seconds:.3f}"})
    for path, findings in groupby(report.findings, key=lambda finding: finding.span.path):
        suite = SubElement(root, "testsuite", {"name": visible_lines(path)})
        for finding in findings:
            _case(suite, finding)
    if report.undecided:
        suite = SubElement(root, "testsuite", {"name": "undecided"})
        for question in report.undecided:
            _question(suite, question)
    if report.error is not None or report.verdict in (Verdict.CLEAR, Verdict.NOT_CHECKED):
        suite = SubElement(root, "testsuite", {"name": "preflight"})
        case = SubElement(suite, "testcase", {"classname": "preflight", "name": "launch"})
        if report.error is not None:
            error = SubElement(case, "error", {"type": "not-checked", "message": visible_lines(report.error.message)})
            error.text = visible_lines(report.error.help or "")
        SubElement(case, "system-out").text = visible_lines("\n".join([*report.notes, verdict_sentence(report)]))
    for suite in root:
        _count(suite)
    _count(root)
    indent(root)
    body = tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'


def _case(suite: Element, finding: Finding) -> None:
    from xml.etree.ElementTree import SubElement

    span, fault = finding.span, finding.fault
    line = "" if span.line is None else f" line {span.line}"
    attributes = {"classname": span.path, "name": f"{finding.rule} {finding.name}{line}", "file": span.path}
    if span.line is not None:
        attributes["line"] = str(span.line)
    case = SubElement(suite, "testcase", {name: visible_lines(value) for name, value in attributes.items()})
    place = ":".join(str(part) for part in (span.path, span.line, span.column) if part is not None)
    details = [place, fault.message, fault.why or ""]
    details += [f"{value.name} = {shown(value.value)} ({value.origin})" for value in fault.values]
    details += [
        f"{step.path}:{step.line} in {step.function}" if step.function else f"{step.note}: {step.path}:{step.line}"
        for step in fault.trail
    ]
    details += [f"help: {fault.help}" if fault.help else ""]
    text = visible_lines("\n".join(part for part in details if part))
    message = {"message": visible_lines(fault.message)}
    if finding.severity is Severity.ERROR:
        SubElement(case, "failure", {"type": finding.rule, **message}).text = text
    elif finding.severity is Severity.WARNING:
        SubElement(case, "skipped", {"type": finding.rule, **message}).text = text
    else:
        SubElement(case, "system-out").text = text


def _question(suite: Element, question: Undecided) -> None:
    from xml.etree.ElementTree import SubElement

    where = ":".join(str(part) for part in (question.path, question.line) if part is not None)
    case = SubElement(
        suite, "testcase", {"classname": "undecided", "name": visible_lines(f"{question.id} {where}".rstrip())}
    )
    times = f" ({question.count} times)" if question.count > 1 else ""
    SubElement(case, "skipped", {"message": visible_lines(f"undecided: {question.message}{times}")})


def _count(element: Element) -> None:
    """Write how many cases of each kind are below ``element``."""
    element.set("tests", str(len(element.findall(".//testcase"))))
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        element.set(attribute, str(len(element.findall(f".//{tag}"))))
