"""Rules for people at a terminal: one rule explained, and the list of all; both for machines too."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from preflight import __version__
from preflight.model import FORMAT_VERSION
from preflight.rulebook.book import Rulebook
from preflight.rulebook.rule import Example, Rule, Status

_NARROWEST = 40


def explain_text(rule: Rule, *, colour: bool, width: int) -> str:
    """What ``preflight explain`` prints: the fault, what is checked, why it matters, how to fix it, the examples."""

    def strong(text: str) -> str:
        return f"\x1b[1m{text}\x1b[0m" if colour else text

    lines = [strong(f"{rule.code} {rule.name}"), *_wrapped(rule.summary, width), ""]
    lines += _wrapped(standing(rule), width)
    for title, text in (("What is checked", rule.what), ("Why it matters", rule.why), ("How to fix it", rule.fix)):
        lines += ["", strong(title), *_wrapped(text, width)]
    for example in rule.examples:
        verdict = "is found" if example.fails else "is clear"
        lines += ["", strong(f"Example: {example.title}"), *_wrapped(f"This {verdict}{_options(example)}:", width)]
        lines += _code(example)
    lines += ["", f"Page: {page_path(rule)}" if rule.ours else f"Rule file: {rule.file}"]
    return "\n".join(lines) + "\n"


def explain_json(rule: Rule) -> str:
    """The same for machines."""
    return _json({"rule": {**_facts(rule), "what": rule.what, "why": rule.why, "fix": rule.fix}})


def rules_table(rulebook: Rulebook, format: str) -> str:
    """The list of all rules, ``text`` or ``json``; tombstones are listed as such."""
    if format == "json":
        return _json({"rules": [_facts(rule) for rule in rulebook.rules]})
    rows = [("code", "severity", "name", "summary")]
    rows += [(rule.code, _standing_word(rule), rule.name, rule.summary) for rule in rulebook.rules]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return "".join("  ".join([*map(str.ljust, row, widths), row[3]]).rstrip() + "\n" for row in rows)


def page_path(rule: Rule) -> str:
    """Where preflight's repository has the reference page of a rule of ours."""
    return f"docs/rules/{rule.slug}.md"


def standing(rule: Rule) -> str:
    """One sentence: severity, since when, which releases, which status."""
    severity = rule.severity.value.capitalize()
    status = {
        Status.STABLE: f"{severity}, since preflight {rule.since}",
        Status.PREVIEW: f"{severity}, in preview since preflight {rule.since}: runs only where `--select` names it",
        Status.REMOVED: f"This rule was removed; it came with preflight {rule.since}",
    }[rule.status]
    if not rule.applies:
        return f"{status}."
    return f"{status}; for {' and '.join(f'{name} {specifier}' for name, specifier in rule.applies.items())}."


@dataclass(frozen=True, slots=True)
class ShownFile:
    """A file of an example as it is shown: ``note`` says what it is, if not simply a file that the patch wrote."""

    path: str
    note: str
    text: str


def shown_files(example: Example) -> Iterator[ShownFile]:
    """The files that make an example understandable, the patch's own first."""
    saved = "" if example.encoding == "utf-8" else f"saved as {example.encoding}"
    for path, text in example.files.items():
        yield ShownFile(path, saved, text)
    for path in example.missing:
        yield ShownFile(path, "taken away by the patch", "")
    for path, text in example.bytecode.items():
        yield ShownFile(path, "what its byte code was made of", text)
    for path, text in example.workspace.items():
        yield ShownFile(path, "beside the tree", text)
    for path, text in example.release.items():
        if path not in example.files and path not in example.missing:
            yield ShownFile(path, "as released", text)


def shown_lines(text: str) -> Iterator[str]:
    """The lines of an example's file, with what does not show as its escape: a form feed must not reach a terminal."""
    for line in text.replace("\r\n", "\n").removesuffix("\n").split("\n") if text else ():
        yield "".join(char if char.isprintable() else ascii(char)[1:-1] for char in line.expandtabs(4))


def _standing_word(rule: Rule) -> str:
    return rule.severity.value if rule.status is Status.STABLE else rule.status.value


def _options(example: Example) -> str:
    return f" with `{' '.join(example.options)}`" if example.options else ""


def _code(example: Example) -> Iterator[str]:
    expected = {(place.path, place.line) for place in example.expect}
    for file in shown_files(example):
        yield f"  {file.path} ({file.note})" if file.note else f"  {file.path}"
        for number, line in enumerate(shown_lines(file.text), 1):
            yield f"  {'>' if (file.path, number) in expected else ' '} {number:3} | {line}".rstrip()


def _facts(rule: Rule) -> Mapping[str, Any]:
    return {
        "code": rule.code,
        "name": rule.name,
        "severity": rule.severity.value,
        "status": rule.status.value,
        "since": rule.since,
        "summary": rule.summary,
        "check": rule.check or None,
        "applies": dict(rule.applies),
        "page": page_path(rule) if rule.ours else None,
    }


def _json(content: Mapping[str, Any]) -> str:
    head = {"format_version": FORMAT_VERSION, "tool": {"name": "preflight", "version": __version__}}
    return json.dumps({**head, **content}, indent=2) + "\n"


def _wrapped(text: str, width: int) -> Iterable[str]:
    """Paragraphs filled to the width. Lists keep their items, and code (indented or fenced) stays as it is."""
    from textwrap import wrap

    width = max(width, _NARROWEST)
    fenced = False
    lines: list[str] = []
    paragraph: list[str] = []

    def flush() -> None:
        if paragraph:
            indent = "  " if paragraph[0].startswith(("- ", "* ")) else ""
            joined = " ".join(paragraph)
            lines.extend(wrap(joined, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False))
            paragraph.clear()

    for line in text.splitlines():
        fence = line.startswith("```")
        if fenced or fence or line.startswith("    ") or not line.strip():
            flush()
            fenced ^= fence
            lines.append(line)
            continue
        if line.startswith(("- ", "* ")):
            flush()
        paragraph.append(line.strip())
    flush()
    return lines
