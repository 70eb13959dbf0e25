"""The JSON report. Its shape is public and fixed by the contract: every key is always there, in this order."""

from __future__ import annotations

import json

from preflight import __version__
from preflight.model import FORMAT_VERSION, Finding, Fix, LaunchFacts, Report, Severity, TreeFacts, Undecided
from preflight.render.plain import Json, clean, plain


def render_json(report: Report) -> str:
    """The report as one JSON object, pure ASCII, with a line feed at the end."""
    return json.dumps(report_data(report), indent=2, allow_nan=False) + "\n"


def report_data(report: Report) -> dict[str, Json]:
    """The report as the data that is written."""
    error = report.error
    return {
        "format_version": FORMAT_VERSION,
        "tool": {"name": "preflight", "version": __version__},
        "verdict": report.verdict.value,
        "tree": None if report.tree is None else _tree(report.tree),
        "launch": None if report.launch is None else _launch(report.launch),
        "findings": [_finding(finding) for finding in report.findings],
        "undecided": [_undecided(question) for question in report.undecided],
        "summary": {
            "errors": report.count(Severity.ERROR),
            "warnings": report.count(Severity.WARNING),
            "infos": report.count(Severity.INFO),
            "undecided": len(report.undecided),
            "files_checked": report.files_checked,
            "seconds": round(report.seconds, 3),
        },
        "error": None if error is None else {"message": clean(error.message), "help": _text(error.help)},
    }


def _tree(tree: TreeFacts) -> dict[str, Json]:
    return {
        "site_packages": clean(tree.site_packages),
        "vllm": _text(tree.vllm),
        "transformers": _text(tree.transformers),
        "python": _text(tree.python),
        "patched": [{"path": clean(file.path), "state": file.state.value} for file in tree.patched],
    }


def _launch(launch: LaunchFacts) -> dict[str, Json]:
    return {
        "model": _text(launch.model),
        "architecture": _text(launch.architecture),
        "model_class": _text(launch.model_class),
        "flags": plain(launch.flags),
        "drafter": plain(launch.drafter),
    }


def _finding(finding: Finding) -> dict[str, Json]:
    fault, span = finding.fault, finding.span
    return {
        "rule": finding.rule,
        "name": finding.name,
        "severity": finding.severity.value,
        "path": clean(span.path),
        "line": span.line,
        "column": span.column,
        "end_line": span.end_line,
        "end_column": span.end_column,
        "message": clean(fault.message),
        "why": _text(fault.why),
        "help": _text(fault.help),
        "values": [
            {"name": clean(value.name), "value": plain(value.value), "origin": clean(value.origin)}
            for value in fault.values
        ],
        "trail": [
            {"path": clean(step.path), "line": step.line, "function": clean(step.function), "note": clean(step.note)}
            for step in fault.trail
        ],
        "fix": None if fault.fix is None else _fix(fault.fix),
        "fingerprint": finding.fingerprint,
    }


def _fix(fix: Fix) -> dict[str, Json]:
    edits: list[Json] = [
        {"path": clean(edit.path), "start": list(edit.start), "end": list(edit.end), "text": clean(edit.text)}
        for edit in fix.edits
    ]
    return {"safe": fix.safe, "edits": edits}


def _undecided(question: Undecided) -> dict[str, Json]:
    return {
        "id": question.id,
        "message": clean(question.message),
        "path": _text(question.path),
        "line": question.line,
        "count": question.count,
    }


def _text(text: str | None) -> str | None:
    return None if text is None else clean(text)
