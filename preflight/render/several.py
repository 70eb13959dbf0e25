"""The reports of several releases as one: what breaks where as a table, and each format's own way to hold many."""

from __future__ import annotations

import json
from collections.abc import Sequence
from xml.etree import ElementTree

from preflight import __version__
from preflight.model import FORMAT_VERSION, Report, Verdict
from preflight.render import render
from preflight.render.display import Painter, one_line
from preflight.render.verdict import counts, number

_WORST = (Verdict.NOT_CHECKED, Verdict.WOULD_NOT_LAUNCH, Verdict.UNDECIDED, Verdict.CLEAR)
_WORDS = {Verdict.CLEAR: "clear", Verdict.UNDECIDED: "undecided", Verdict.WOULD_NOT_LAUNCH: "launch would FAIL"}


def render_several(
    reports: Sequence[Report], format: str, *, colour: bool = False, width: int = 100, verbose: bool = False
) -> str:
    """Render the reports of several releases in ``format``, one of ``render.FORMATS``.

    JSON is ``{"format_version", "tool", "verdict", "releases": [the report of each]}``; SARIF is a log with a run for
    each; JUnit has a folder of suites for each. The others print one report after the other, and text closes with a
    table and a sentence.
    """
    one_by_one = [render(report, format, colour=colour, width=width, verbose=verbose) for report in reports]
    if format == "json":
        data = {
            "format_version": FORMAT_VERSION,
            "tool": {"name": "preflight", "version": __version__},
            "verdict": worst(reports).value,
            "releases": [json.loads(text) for text in one_by_one],
        }
        return json.dumps(data, indent=2, allow_nan=False) + "\n"
    if format == "sarif":
        first, *others = (json.loads(text) for text in one_by_one)
        for log in others:
            first["runs"] += log["runs"]
        return json.dumps(first, indent=2, allow_nan=False) + "\n"
    if format == "junit":
        return _junit(reports, one_by_one)
    if format != "text":
        return "".join(one_by_one)
    paint = Painter(colour)
    parts = [
        f"{paint(f'==== vllm {_name(report)}', 'strong')}\n\n{text}"
        for report, text in zip(reports, one_by_one, strict=True)
    ]
    return "\n".join([*parts, _table(reports, paint)]) + "\n" + _sentence(reports, paint) + "\n"


def worst(reports: Sequence[Report]) -> Verdict:
    """The verdict of all of them together."""
    return min((report.verdict for report in reports), key=_WORST.index)


def _name(report: Report) -> str:
    return one_line(report.tree.vllm or "?") if report.tree is not None else "?"


def _table(reports: Sequence[Report], paint: Painter) -> str:
    """A line for each file with findings, a column for each release: the rules that its findings are of."""
    paths = sorted(
        {finding.span.path for report in reports for finding in report.findings}
        | {file.path for report in reports if report.tree is not None for file in report.tree.patched}
    )
    cells = [["", *map(_name, reports)]]
    for path in paths:
        row = [one_line(path)]
        for report in reports:
            rules = sorted({finding.rule for finding in report.findings if finding.span.path == path})
            patched = report.tree is not None and any(file.path == path for file in report.tree.patched)
            row.append(" ".join(rules) or ("clear" if patched else "-"))
        cells.append(row)
    cells.append(["verdict", *(_WORDS.get(report.verdict, report.verdict.value) for report in reports)])
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    return "\n".join([paint(lines[0], "strong"), *lines[1:]]) + "\n"


def _sentence(reports: Sequence[Report], paint: Painter) -> str:
    """One line: the releases, and on which of them the launch would fail."""
    failing = [_name(report) for report in reports if report.verdict is Verdict.WOULD_NOT_LAUNCH]
    verdict = worst(reports)
    word = _WORDS.get(verdict, verdict.value)
    where = f" on {', '.join(failing)}" if failing else ""
    total = Report(
        verdict,
        findings=tuple(finding for report in reports for finding in report.findings),
        undecided=tuple(question for report in reports for question in report.undecided),
    )
    style = {Verdict.CLEAR: "good", Verdict.WOULD_NOT_LAUNCH: "error"}.get(verdict, "warning")
    patched = {file.path for report in reports if report.tree is not None for file in report.tree.patched}
    files = f"{number(len(patched), 'file')} patched" if patched else "nothing patched"
    return paint(f"preflight: vllm {', '.join(map(_name, reports))}, {files}: {word}{where} ({counts(total)})", style)


def _junit(reports: Sequence[Report], texts: Sequence[str]) -> str:
    root = ElementTree.Element("testsuites", {"name": "preflight"})
    totals = dict.fromkeys(("tests", "failures", "errors", "skipped"), 0)
    for report, text in zip(reports, texts, strict=True):
        own = ElementTree.fromstring(text)  # our own text, written a moment ago
        for suite in own:
            suite.set("name", f"vllm {_name(report)}: {suite.get('name', '')}")
            root.append(suite)
        for key in totals:
            totals[key] += int(own.get(key, "0"))
    root.attrib.update({key: str(value) for key, value in totals.items()})
    root.set("time", f"{sum(report.seconds for report in reports):.3f}")
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"
