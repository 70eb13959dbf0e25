"""SARIF 2.1.0 (OASIS standard), for code scanning services: rules with their help, fingerprints, code flows, fixes.

Paths are relative URIs: those of the tree below the base ``TREE``, others below ``%SRCROOT%``, the repository. What is
undecided, and why a run failed, are notifications of the invocation, since SARIF has no results without a rule.
"""

from __future__ import annotations

import json

from preflight import __version__
from preflight.model import Excerpt, Finding, Fix, Report, RuleText, RunError, Severity, Span, Undecided
from preflight.render.plain import Json, clean, plain, shown
from preflight.render.verdict import verdict_sentence

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_TREE_BASE = "TREE"
_REPOSITORY_BASE = "%SRCROOT%"
#: All files of a tree lie below its package.
_PACKAGE = "vllm/"

Object = dict[str, Json]


def render_sarif(report: Report) -> str:
    """The report as a SARIF log with one run, pure ASCII."""
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [_run(report)]}
    return json.dumps(log, indent=2, allow_nan=False) + "\n"


def _run(report: Report) -> Object:
    numbers = {rule.code: number for number, rule in enumerate(report.rules)}
    run: Object = {
        "tool": {
            "driver": {
                "name": "preflight",
                "version": __version__,
                "semanticVersion": __version__,
                "rules": [_rule(rule) for rule in report.rules],
            }
        },
        "columnKind": "unicodeCodePoints",
        "invocations": [_invocation(report)],
        "results": [_result(finding, numbers) for finding in report.findings],
        "properties": {"verdict": report.verdict.value, "sentence": clean(verdict_sentence(report))},
    }
    if report.tree is not None:
        base: Object = {"description": _message("The folder that holds the vLLM that was checked.")}
        if report.tree.site_packages.startswith("/"):
            base["uri"] = f"file://{_quoted(report.tree.site_packages.rstrip('/'))}/"
        run["originalUriBaseIds"] = {_TREE_BASE: base}
    return run


def _rule(rule: RuleText) -> Object:
    sections = (("What is checked", rule.what), ("Why it matters", rule.why), ("How to fix it", rule.fix))
    return {
        "id": rule.code,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": _message(rule.summary),
        "fullDescription": _message(rule.what),
        "help": {
            **_message("\n\n".join(f"{title}: {text}" for title, text in sections)),
            "markdown": clean("\n\n".join(f"## {title}\n\n{text}" for title, text in sections)),
        },
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
    }


def _invocation(report: Report) -> Object:
    notifications: list[Json] = [_question(question) for question in report.undecided]
    notifications += [{"level": "note", "message": _message(note)} for note in report.notes]
    if report.error is not None:
        notifications.append(_failure(report.error))
    return {"executionSuccessful": report.error is None, "toolExecutionNotifications": notifications}


def _question(question: Undecided) -> Object:
    notification: Object = {
        "descriptor": {"id": clean(question.id)},
        "level": "warning" if question.decisive else "note",
        "message": _message(f"Undecided: {question.message}"),
        "properties": {"count": question.count},
    }
    if question.path is not None:
        notification["locations"] = [_location(Span(question.path, question.line))]
    return notification


def _failure(error: RunError) -> Object:
    text = error.message if error.help is None else f"{error.message}\nHelp: {error.help}"
    return {"descriptor": {"id": "not-checked"}, "level": "error", "message": _message(text)}


def _result(finding: Finding, numbers: dict[str, int]) -> Object:
    fault = finding.fault
    values = [f"{value.name} = {shown(value.value)} ({value.origin})" for value in fault.values]
    parts = [fault.message, fault.why, *values, None if fault.help is None else f"Help: {fault.help}"]
    result: Object = {
        "ruleId": finding.rule,
        "level": _LEVELS[finding.severity],
        "message": _message("\n".join(part for part in parts if part)),
        "locations": [_location(fault.span, fault.excerpt)],
        "partialFingerprints": {"preflight/v1": finding.fingerprint},
    }
    if finding.rule in numbers:
        result["ruleIndex"] = numbers[finding.rule]
    if fault.trail:
        steps: list[Json] = [
            {
                "location": {
                    **_location(Span(step.path, step.line)),
                    **(
                        {"logicalLocations": [{"name": clean(step.function), "kind": "function"}]}
                        if step.function
                        else {}
                    ),
                    "message": _message(step.note or f"in {step.function}"),
                },
                "nestingLevel": depth,
            }
            for depth, step in enumerate(fault.trail)
        ]
        last = {**_location(fault.span), "message": _message(fault.message)}
        result["codeFlows"] = [
            {"threadFlows": [{"locations": [*steps, {"location": last, "nestingLevel": len(steps)}]}]}
        ]
    # Whoever reads SARIF may apply a fix without asking, so only proven ones go out.
    if fault.fix is not None and fault.fix.safe:
        result["fixes"] = [_fix(fault.fix, fault.help or fault.message)]
    if fault.values:
        result["properties"] = {
            "values": [
                {"name": clean(value.name), "value": plain(value.value), "origin": clean(value.origin)}
                for value in fault.values
            ]
        }
    return result


def _fix(fix: Fix, description: str) -> Object:
    replacements: dict[str, list[Json]] = {}
    for edit in fix.edits:
        deleted = _region(Span(edit.path, *edit.start, *edit.end))
        inserted = {"text": clean(edit.text)}
        replacements.setdefault(edit.path, []).append({"deletedRegion": deleted, "insertedContent": inserted})
    changes: list[Json] = [
        {"artifactLocation": _artifact(path), "replacements": listed} for path, listed in replacements.items()
    ]
    return {"description": _message(description), "artifactChanges": changes}


def _location(span: Span, excerpt: Excerpt | None = None) -> Object:
    physical: Object = {"artifactLocation": _artifact(span.path)}
    if span.line is not None:
        physical["region"] = _region(span)
        if excerpt is not None and excerpt.lines:
            physical["contextRegion"] = {
                "startLine": excerpt.first_line,
                "endLine": excerpt.first_line + len(excerpt.lines) - 1,
                "snippet": {"text": clean("\n".join(excerpt.lines))},
            }
    return {"physicalLocation": physical}


def _region(span: Span) -> Object:
    region: Object = {"startLine": span.line}
    for key, number in (("startColumn", span.column), ("endLine", span.end_line), ("endColumn", span.end_column)):
        if number is not None:
            region[key] = number
    return region


def _artifact(path: str) -> Object:
    if path.startswith("/"):
        return {"uri": f"file://{_quoted(path)}"}
    base = _TREE_BASE if path.startswith(_PACKAGE) else _REPOSITORY_BASE
    return {"uri": _quoted(path), "uriBaseId": base}


def _quoted(path: str) -> str:
    from urllib.parse import quote

    try:
        # File names are bytes on disk: what is not UTF-8 in them came as a lone surrogate, and goes out as that byte.
        return quote(path.encode("utf-8", "surrogateescape"), safe="/")
    except UnicodeEncodeError:
        return quote(clean(path), safe="/")


def _message(text: str) -> Object:
    return {"text": clean(text)}
