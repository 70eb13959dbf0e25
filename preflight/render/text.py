"""The report for people: each finding with its code, the values and the way that led there; the verdict comes last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby

from preflight.model import Excerpt, Finding, Fix, Report, Severity, Span, Step, TreeFacts, Undecided, Verdict
from preflight.render.display import Painter, one_line, visible, wrapped
from preflight.render.plain import shown
from preflight.render.snippet import code_lines, gutter_of
from preflight.render.verdict import number, verdict_sentence

#: Without --verbose: so many findings are shown with their code, in all and of one rule in one file; others get a line.
_FULL = 30
_FULL_OF_A_RULE = 5
#: Of one rule in one file, this many lines beyond those.
_LINES_OF_A_RULE = 20
_INNERMOST_STEPS = 3
_PLACES_OF_A_QUESTION = 3


def render_text(report: Report, *, colour: bool, width: int, verbose: bool) -> str:
    """The report for a terminal of ``width`` columns. ``verbose``: nothing is shortened but lines of code."""
    paint = Painter(colour)
    blocks = [
        *_findings(report, _Page(paint, width, verbose, report.tree)),
        _undecided(report.undecided, paint, width, verbose),
        [f"{paint('note', 'strong')}: {one_line(note)}" for note in report.notes],
        _error(report, paint, width),
        [verdict_line(report, paint)],
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def verdict_line(report: Report, paint: Painter) -> str:
    """The closing sentence, red when the launch would fail, green when all is clear."""
    style = {Verdict.CLEAR: "good", Verdict.WOULD_NOT_LAUNCH: "error"}.get(report.verdict, "warning")
    return paint(one_line(verdict_sentence(report)), style)


def headline(finding: Finding, paint: Painter) -> str:
    """``error[PF101] syntax-error``, without the message."""
    return f"{paint(f'{finding.severity.value}[{finding.rule}]', finding.severity.value)} {finding.name}"


def place(span: Span) -> str:
    """``path:line:column`` with as much of it as is known."""
    return visible(":".join(str(part) for part in (span.path, span.line, span.column) if part is not None))


class _Page:
    """How findings are laid out; the same for all of a report."""

    def __init__(self, paint: Painter, width: int, verbose: bool, tree: TreeFacts | None) -> None:
        self.paint = paint
        self.width = width
        self.verbose = verbose
        self.release = f"vllm {tree.vllm}" if tree is not None and tree.vllm is not None else "the release"

    def full(self, finding: Finding) -> list[str]:
        """One finding with everything that is known of it."""
        fault = finding.fault
        gutter = gutter_of(fault.excerpt, fault.pristine)
        lines = [
            f"{headline(finding, self.paint)}: {self.paint(one_line(fault.message), 'strong')}",
            f"{' ' * gutter}{self.paint('-->', 'gutter')} {place(fault.span)}",
        ]
        bar = f"{' ' * gutter} {self.paint('|', 'gutter')}"
        if fault.excerpt is not None:
            if fault.excerpt.title is not None:
                lines += self._item(gutter, "code", fault.excerpt.title)
            lines += [bar, *self._code(fault.excerpt, fault.span, gutter, finding.severity.value)]
        if fault.pristine is not None:
            title = fault.pristine.title or f"{self.release} has"
            lines += [bar, *self._item(gutter, title, "" if fault.pristine.lines else "nothing there")]
            lines += self._code(fault.pristine, None, gutter, "info")
        lines += [bar] if fault.excerpt is not None or fault.pristine is not None else []
        for value in fault.values:
            lines += self._item(gutter, "value", f"{value.name} = {shown(value.value)} ({value.origin})")
        lines += self._trail(fault.trail, gutter)
        for label, text in (("why", fault.why), ("help", fault.help), ("fix", fault.fix and offer(fault.fix))):
            if text:
                lines += self._item(gutter, label, text)
        # Nothing may hang below the last line of the code.
        return lines[:-1] if lines[-1] == bar else lines

    def short(self, finding: Finding) -> str:
        """One finding on one line, without its file."""
        span = finding.span
        where = f"line {span.line}: " if span.line is not None else ""
        return f"{headline(finding, self.paint)}: {where}{one_line(finding.message)}"

    def _code(self, excerpt: Excerpt, span: Span | None, gutter: int, style: str) -> Iterable[str]:
        return code_lines(excerpt, span, gutter=gutter, width=self.width, paint=self.paint, style=style)

    def _item(self, gutter: int, label: str, text: str) -> Iterable[str]:
        """``= help: text``, wrapped below its own beginning."""
        plain = f"{' ' * gutter} = {one_line(label)}: "
        start, *more = wrapped(text, plain, " " * min(len(plain), 12), self.width)
        head = f"{' ' * gutter} {self.paint('=', 'gutter')} {self.paint(one_line(label), 'strong')}: "
        return [(head + start[len(plain) :]).rstrip(), *more]

    def _trail(self, trail: tuple[Step, ...], gutter: int) -> Iterator[str]:
        for step in trail:
            if not step.function:
                yield from self._item(gutter, one_line(step.note), place(Span(step.path, step.line)))
        trail = tuple(step for step in trail if step.function)
        if not trail:
            return
        steps = trail if self.verbose else trail[-_INNERMOST_STEPS:]
        yield from self._item(gutter, "reached through", "")
        indent = " " * (gutter + 5)
        if len(steps) < len(trail):
            yield f"{indent}... {number(len(trail) - len(steps), 'step')} further out (--verbose shows them)"
        for step in steps:
            note = f": {one_line(step.note)}" if step.note else ""
            yield f"{indent}{place(Span(step.path, step.line))} in {one_line(step.function)}{note}"


def offer(fix: Fix) -> str:
    """What can be done with a fix."""
    edits = number(len(fix.edits), "edit")
    if fix.safe:
        return f"--fix would repair this ({edits}, proven to compile); --diff shows how"
    return f"a repair was found but not proven ({edits}): --diff shows it, --fix leaves it out"


def _findings(report: Report, page: _Page) -> Iterator[list[str]]:
    """The findings file by file; of many alike, the first with their code and the others by a line."""
    files = [(path, list(group)) for path, group in groupby(report.findings, key=lambda finding: finding.span.path)]
    full = 0
    for path, findings in files:
        if len(files) > 1:
            yield [page.paint(f"== {visible(path)}: {_tally(findings)}", "strong")]
        of_rule: Counter[str] = Counter()
        short: list[str] = []
        for finding in findings:
            of_rule[finding.rule] += 1
            if page.verbose or (full < _FULL and of_rule[finding.rule] <= _FULL_OF_A_RULE):
                full += 1
                yield page.full(finding)
            elif of_rule[finding.rule] <= _FULL_OF_A_RULE + _LINES_OF_A_RULE:
                short.append(page.short(finding))
        for rule, count in of_rule.items():
            if count > _FULL_OF_A_RULE + _LINES_OF_A_RULE and not page.verbose:
                rest = count - _FULL_OF_A_RULE - _LINES_OF_A_RULE
                short.append(f"... and {rest:,} more of {rule} in this file (--verbose shows them)")
        if short:
            yield short


def _tally(findings: list[Finding]) -> str:
    counted = [(sum(finding.severity is severity for finding in findings), severity.value) for severity in Severity]
    return ", ".join(number(count, noun) for count, noun in counted if count)


def _undecided(questions: tuple[Undecided, ...], paint: Painter, width: int, verbose: bool) -> list[str]:
    """The open questions by kind, each kind with its first places."""
    if not questions:
        return []
    total = len(questions)
    lines = [f"{paint('undecided', 'warning')}: {number(total, 'question')} could not be answered"]
    kinds: dict[str, list[Undecided]] = {}
    for question in questions:
        kinds.setdefault(question.id, []).append(question)
    for kind, group in kinds.items():
        lines.append(f"  {paint(one_line(kind), 'strong')} ({len(group)})")
        for question in group if verbose else group[:_PLACES_OF_A_QUESTION]:
            where = "" if question.path is None else f"{place(Span(question.path, question.line))}: "
            times = f" ({question.count} times)" if question.count > 1 else ""
            decisive = "; the verdict hangs on this" if question.decisive else ""
            said = question.message.removesuffix(".")
            lines += wrapped(f"{where}{said}{times}{decisive}", "    - ", "      ", width)
        if not verbose and len(group) > _PLACES_OF_A_QUESTION:
            lines.append(f"    ... and {len(group) - _PLACES_OF_A_QUESTION:,} more (--verbose shows them)")
    return lines


def _error(report: Report, paint: Painter, width: int) -> list[str]:
    if report.error is None:
        return []
    lines = [f"{paint('error', 'error')}: {paint(one_line(report.error.message), 'strong')}"]
    return [*lines, *wrapped(report.error.help, "  = help: ", "    ", width)] if report.error.help else lines
