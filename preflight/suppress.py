"""Suppressions in the code: ``# preflight: ignore[PF101] the reason``.

The comment stands at the end of a line that the finding covers, or alone on the line above it. A reason is required:
without one
nothing is suppressed. What suppresses nothing is reported, so that no comment outlives its cause.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from preflight.model import Excerpt, Fault, Finding, Span

if TYPE_CHECKING:
    from preflight.rulebook import Rulebook
    from preflight.syntax.source import Source, SourceStore

WITHOUT_REASON = "suppression-without-reason"
UNUSED = "unused-suppression"
#: The check ids that this module decides; rule files name them.
SUPPRESSION_CHECKS = (WITHOUT_REASON, UNUSED)

_COMMENT = re.compile(r"#\s*preflight:\s*ignore(?:\[(?P<codes>[^\]\n]*)\])?(?P<reason>[^\n]*)")


@dataclass(frozen=True, slots=True)
class Suppression:
    """One comment: ``covers`` is the line whose findings it speaks of, ``codes`` are rule codes or names as written."""

    path: str
    line: int
    column: int
    end_column: int
    covers: int
    codes: tuple[str, ...]
    reason: str


def find_suppressions(source: Source) -> tuple[Suppression, ...]:
    """The suppression comments of one file, in order; a comment's look-alike inside a string is none."""
    text = source.text
    if text is None or "preflight:" not in text:
        return ()
    found = []
    for line, column, comment in _comments(source):
        match = _COMMENT.search(comment)
        if match is None:
            continue
        codes = tuple(code.strip() for code in (match["codes"] or "").split(",") if code.strip())
        alone = not source.lines[line - 1][:column].strip()
        start = column + match.start() + 1
        covers = line + 1 if alone else line
        found.append(
            Suppression(
                source.path, line, start, start + len(match[0].rstrip()), covers, codes, match["reason"].strip()
            )
        )
    return tuple(found)


def apply_suppressions(
    findings: Sequence[Finding], sources: SourceStore, paths: Iterable[str], rulebook: Rulebook, active: frozenset[str]
) -> tuple[list[Finding], list[Fault]]:
    """Take out what the code suppresses.

    Looks into ``paths`` and into every file with a finding; ``active`` are the codes of the rules that this run
    asked for. Returns the
    findings that are left, and the faults of the suppressions themselves: without a reason, or without effect.
    """
    python = {path for path in paths if path.endswith(".py")} | {finding.span.path for finding in findings}
    left = list(findings)
    faults: list[Fault] = []
    for path in sorted(python):
        source = sources.get(path)
        for suppression in find_suppressions(source):
            if not suppression.codes or not suppression.reason:
                faults.append(_without_reason(suppression, source))
                continue
            hit = [finding for finding in left if _matches(suppression, finding, rulebook)]
            left = [finding for finding in left if finding not in hit]
            if not hit and _asked_for(suppression, rulebook, active):
                faults.append(_unused(suppression, source, rulebook))
    return left, faults


def _comments(source: Source) -> list[tuple[int, int, str]]:
    """(line, column from 0, text) of every comment; in a file that does not tokenize, of every line that looks like
    one."""
    import io
    import tokenize

    assert source.text is not None
    comments: list[tuple[int, int, str]] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
            if token.type == tokenize.COMMENT:
                comments.append((token.start[0], token.start[1], token.string))
    except (tokenize.TokenError, SyntaxError, ValueError):
        # A broken file is the very place where a suppression may be wanted.
        return [
            (number, line.index("#", match.start()), line[line.index("#", match.start()) :])
            for number, line in enumerate(source.lines, 1)
            if (match := _COMMENT.search(line))
        ]
    return comments


def _matches(suppression: Suppression, finding: Finding, rulebook: Rulebook) -> bool:
    span = finding.span
    if span.path != suppression.path or span.line is None:
        return False
    if not span.line <= suppression.covers <= (span.end_line or span.line):
        return False
    return any(rule is not None and rule.code == finding.rule for rule in map(rulebook.find, suppression.codes))


def _asked_for(suppression: Suppression, rulebook: Rulebook, active: frozenset[str]) -> bool:
    """A suppression of a rule that this run did not select cannot be seen at work, so nothing is said of it."""
    rules = [rulebook.find(code) for code in suppression.codes]
    return any(rule is None or rule.code in active for rule in rules)


def _without_reason(suppression: Suppression, source: Source) -> Fault:
    lacks = "a reason" if suppression.codes else "a rule"
    return _fault(
        WITHOUT_REASON,
        suppression,
        source,
        f"this suppression names no {lacks.removeprefix('a ')}, so it suppresses nothing",
        "write `# preflight: ignore[RULE] the reason`",
    )


def _unused(suppression: Suppression, source: Source, rulebook: Rulebook) -> Fault:
    unknown = [code for code in suppression.codes if rulebook.find(code) is None]
    if unknown:
        from preflight.rulebook.near import did_you_mean

        known = [rule.name for rule in rulebook.rules]  # a code that is near another in its digits means nothing
        return _fault(
            UNUSED,
            suppression,
            source,
            f"this suppression names `{unknown[0]}`, and there is no such rule",
            f"{did_you_mean(unknown[0], known)}`preflight rules` lists them",
        )
    codes = ", ".join(suppression.codes)
    return _fault(
        UNUSED,
        suppression,
        source,
        f"this suppression of {codes} suppresses nothing on line {suppression.covers}",
        "remove it, or move it to the line of the finding",
    )


def _fault(check: str, suppression: Suppression, source: Source, message: str, help: str) -> Fault:
    line = suppression.line
    return Fault(
        check=check,
        span=Span(suppression.path, line, suppression.column, line, suppression.end_column),
        message=message,
        help=help,
        excerpt=Excerpt(suppression.path, line, (source.lines[line - 1],)),
    )
