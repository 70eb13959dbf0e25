"""The answer of ``preflight interfaces`` as text or JSON. The JSON's shape is public and fixed by the contract."""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence

from preflight import __version__
from preflight.interfaces.changes import Change
from preflight.interfaces.data import InterfacesReport, ModelRow
from preflight.model import FORMAT_VERSION, Report, Span, Verdict
from preflight.program.model_info import Flag
from preflight.render.json import report_data
from preflight.render.plain import Json, clean, plain


def render_interfaces(
    report: InterfacesReport, format: str, *, changes: Sequence[Change] | None = None, width: int = 100
) -> str:
    """The report as ``format`` ("text" or "json"), with a line feed at the end.

    ``changes`` are what ``compare`` found against another tree; with them the text shows the differences only.
    """
    if format == "json":
        return json.dumps(_data(report, changes), indent=2, allow_nan=False) + "\n"
    if changes is not None:
        return _changes(report, changes)
    return _details(report) if report.detailed else _table(report, width)


# -- JSON ----------------------------------------------------------------------------------------------------


def _data(report: InterfacesReport, changes: Sequence[Change] | None) -> dict[str, Json]:
    data: dict[str, Json] = {
        "format_version": FORMAT_VERSION,
        "tool": {"name": "preflight", "version": __version__},
        "tree": report_data(Report(Verdict.NOT_CHECKED, tree=report.tree))["tree"],
        "models": [_model(row) for row in report.rows],
    }
    if changes is not None:
        data["changes"] = [
            {
                "architecture": clean(change.architecture),
                "what": change.what,
                "before": plain(change.before),
                "after": plain(change.after),
            }
            for change in changes
        ]
    return data


def _model(row: ModelRow) -> dict[str, Json]:
    data: dict[str, Json] = {
        "architecture": clean(row.architecture),
        "module": clean(row.module),
        "class": clean(row.name),
        "flags": {flag.name: plain(flag.value) for flag in row.flags},
        "mro": [clean(name) for name in row.mro],
        "complete": row.complete,
        "missing": [
            {
                "interface": missing.interface,
                "member": missing.member,
                "path": clean(missing.span.path),
                "line": missing.span.line,
            }
            for missing in row.missing
        ],
        "error": None if row.error is None else clean(row.error),
    }
    if row.members is not None:
        data["members"] = [
            {
                "interface": member.interface,
                "member": member.member,
                "kind": member.kind,
                "class": clean(member.owner),
                "path": clean(member.span.path),
                "line": member.span.line,
            }
            for member in row.members
        ]
    return data


# -- text ----------------------------------------------------------------------------------------------------


def _table(report: InterfacesReport, width: int) -> str:
    """One line for each architecture: its class where it has another name, the flags that are on, and other values
    where they are not the usual ones."""
    usual = _usual(report.rows)
    longest = min(max((len(row.architecture) for row in report.rows), default=0), max(width - 50, 24))
    lines = [f"{'ARCHITECTURE':<{longest}}  FLAGS THAT ARE ON"]
    for row in report.rows:
        words = [f"= {row.name}:"] if row.name != row.architecture else []
        words.extend(["error:", row.error] if row.error is not None else _words(row, usual))
        wrapped = textwrap.wrap(" ".join(words), max(width - longest - 2, 40), break_long_words=False) or [""]
        if len(row.architecture) > longest:
            lines.append(row.architecture)
            wrapped.insert(0, "")
        lines.append(
            f"{row.architecture if len(row.architecture) <= longest else '':<{longest}}  {wrapped[0]}".rstrip()
        )
        lines.extend(" " * (longest + 2) + rest for rest in wrapped[1:])
    lines.append("")
    lines.append(_closing(report))
    return "\n".join(lines) + "\n"


def _closing(report: InterfacesReport) -> str:
    failing = sum(1 for row in report.rows if row.error is not None)
    partly = sum(1 for row in report.rows if row.error is None and not row.complete)
    parts = [f"vLLM {report.tree.vllm or 'of unknown version'}: {_count(len(report.rows), 'architecture')}"]
    if failing:
        parts.append(f"{failing} that cannot be imported as far as it is known")
    if partly:
        parts.append(f"{partly} whose class is not known in full")
    return ", ".join(parts) + "."


def _usual(rows: Iterable[ModelRow]) -> dict[str, object]:
    """The commonest value of each flag that is no yes or no: it is not worth a word."""
    values: dict[str, Counter[object]] = {}
    for row in rows:
        for flag in row.flags:
            if not isinstance(flag.value, bool):
                values.setdefault(flag.name, Counter())[flag.value] += 1
    return {name: counter.most_common(1)[0][0] for name, counter in values.items()}


def _words(row: ModelRow, usual: dict[str, object]) -> list[str]:
    words: list[str] = []
    for flag in row.flags:
        if flag.value is True:
            words.append(flag.name)
        elif flag.value is None and flag.reason:
            words.append(f"{flag.name}=?")
        elif flag.value is not False and flag.name != "architecture" and flag.value != usual.get(flag.name):
            words.append(f"{flag.name}={flag.value}")
    return words


def _details(report: InterfacesReport) -> str:
    return "\n".join(_detail(row) for row in report.rows) + "\n" + _closing(report) + "\n"


def _detail(row: ModelRow) -> str:
    lines = [row.architecture, f"  class     {row.module}:{row.name}  {_place(row.span)}".rstrip()]
    if row.error is not None:
        lines.append(f"  error     {row.error}")
    lines.append(f"  complete  {'yes' if row.complete else 'no'}")
    lines.extend(f"            {reason}" for reason in row.doubts)
    lines.append("  flags")
    width = max((len(flag.name) for flag in row.flags), default=0)
    lines.extend(f"    {flag.name:<{width}}  {_value(flag)}{_origin(row, flag)}" for flag in row.flags)
    lines.append("  mro")
    lines.extend(f"    {name}  {_place(span)}".rstrip() for name, span in zip(row.mro, row.places, strict=True))
    lines.extend(_member_lines(row))
    if row.missing:
        lines.append("  missing")
        lines.extend(
            f"    {missing.interface}.{missing.member}{missing.signature} has no body  {_place(missing.span)}"
            for missing in row.missing
        )
    return "\n".join(lines) + "\n"


def _member_lines(row: ModelRow) -> list[str]:
    lines: list[str] = []
    current = ""
    for member in row.members or ():
        if member.interface != current:
            current = member.interface
            lines.append(f"  {current}")
        owner = member.owner.rpartition(".")[2]
        said = "declared, not set" if member.kind == "annotation" else f"{member.kind} of {owner}"
        lines.append(f"    {member.member}  {said}  {_place(member.span)}".rstrip())
    return lines


def _value(flag: Flag) -> str:
    if flag.value is None and flag.reason:
        return f"not known: {flag.reason}"
    return (
        {True: "yes", False: "no"}.get(flag.value, str(flag.value)) if isinstance(flag.value, bool) else str(flag.value)
    )


def _origin(row: ModelRow, flag: Flag) -> str:
    """Where the attribute of a flag's own name comes from."""
    for member in row.members or ():
        if member.member == flag.name and member.kind != "annotation":
            return f"  ({member.owner.rpartition('.')[2]}, {_place(member.span)})"
    return ""


def _changes(report: InterfacesReport, changes: Sequence[Change]) -> str:
    """One line for each architecture: the flags that changed, and the interfaces that came (+) and went (-)."""
    by_architecture: dict[str, list[str]] = {}
    for change in changes:
        by_architecture.setdefault(change.architecture, []).append(_change(change))
    width = max(map(len, by_architecture), default=0)
    lines = [f"{name:<{width}}  {', '.join(said)}" for name, said in by_architecture.items()]
    counted = _count(len(by_architecture), "architecture")
    lines.append("" if lines else "Nothing changed.")
    lines.append(f"{counted} changed up to vLLM {report.tree.vllm or 'of unknown version'}.")
    return "\n".join(lines) + "\n"


def _change(change: Change) -> str:
    if change.what == "interface":
        return f"-{change.before}" if change.after is None else f"+{change.after}"
    if change.what in ("added", "removed"):
        return f"{change.what}: {change.after or change.before}"
    if change.what == "error":
        return f"can be imported now (it was: {change.before})" if change.after is None else f"error: {change.after}"
    said = [
        ("yes" if value else "no") if isinstance(value, bool) else str(value) for value in (change.before, change.after)
    ]
    return f"{change.what}: {said[0]} -> {said[1]}"


def _place(span: Span | None) -> str:
    if span is None:
        return ""
    return f"{span.path}:{span.line}" if span.line is not None else span.path


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
