"""Lines of code with numbers and carets, as compilers show them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from preflight.model import Excerpt, Span
from preflight.render.display import Painter, fit

#: Of a longer excerpt only the head and the tail are shown.
_MOST_ROWS = 12
_HEAD, _TAIL = 6, 5
#: However narrow the terminal says it is, code gets this many columns.
_NARROWEST = 24


@dataclass(frozen=True, slots=True)
class _Mark:
    """The characters to underline, from 0; ``end`` is the place behind the last one. Lines are those of the file."""

    first_line: int
    last_line: int
    start: int
    end: int


def gutter_of(*excerpts: Excerpt | None) -> int:
    """How many digits the line numbers of these excerpts need."""
    return max((len(str(part.first_line + len(part.lines) - 1)) for part in excerpts if part), default=1)


def code_lines(
    excerpt: Excerpt, span: Span | None, *, gutter: int, width: int, paint: Painter, style: str
) -> Iterator[str]:
    """The excerpt in ``width`` columns, with what ``span`` covers underlined in ``style``; None: nothing is."""
    mark = _mark(excerpt, span) if span is not None else None
    several = mark is not None and mark.first_line != mark.last_line
    available = max(width - gutter - 3 - (2 if several else 0), _NARROWEST)
    bar = paint("|", "gutter")
    empty = f"{' ' * gutter} {bar}"
    for number in _numbers(excerpt, mark):
        if number is None:
            yield paint("...", "gutter")
            continue
        line = excerpt.lines[number - excerpt.first_line]
        marked = mark is not None and mark.first_line <= number <= mark.last_line
        focus = 0
        if mark is not None and marked:
            focus = mark.start if number == mark.first_line else mark.end - 1 if number == mark.last_line else 0
        shown = fit(line, focus, available)
        head = f"{paint(f'{number:>{gutter}}', 'gutter')} {bar}"
        if mark is None or not several:
            yield f"{head} {shown.text}".rstrip()
            if mark is not None and marked:
                start = shown.x(mark.start)
                carets = "^" * max(shown.x(mark.end) - start, 1)
                yield f"{empty} {' ' * start}{paint(carets, style)}"
            continue
        opens = number == mark.first_line
        # A span that begins with its line opens at the margin; another one gets a line that leads there.
        at_margin = opens and not line[: mark.start].strip()
        side = "/" if at_margin else "|" if marked and not opens else " "
        yield f"{head} {paint(side, style) if side.strip() else side} {shown.text}".rstrip()
        if opens and not at_margin:
            yield f"{empty}  {paint('_' * (1 + shown.x(mark.start)) + '^', style)}"
        elif number == mark.last_line:
            yield f"{empty} {paint('|' + '_' * (1 + shown.x(mark.end - 1)) + '^', style)}"


def _mark(excerpt: Excerpt, span: Span) -> _Mark | None:
    """What of the excerpt the span covers; None when the excerpt does not have the span's line."""
    last_shown = excerpt.first_line + len(excerpt.lines) - 1
    if span.line is None or not excerpt.first_line <= span.line <= last_shown:
        return None

    def line(number: int) -> str:
        return excerpt.lines[number - excerpt.first_line]

    if span.column is None:
        text = line(span.line)
        return _Mark(span.line, span.line, len(text) - len(text.lstrip()), max(len(text.rstrip()), 1))
    start = span.column - 1
    last, end = span.end_line or span.line, span.end_column
    if last <= span.line:
        last, end = span.line, start + 1 if end is None or last < span.line else end - 1
        return _Mark(last, last, start, max(end, start + 1))
    if last > last_shown:
        last, end = last_shown, None
    elif end is not None and end <= 1 and last - 1 >= span.line:
        last, end = last - 1, None  # up to the start of a line is up to the end of the one before
    end = len(line(last)) if end is None else end - 1
    return _Mark(span.line, last, start, max(end, start + 1 if last == span.line else 1))


def _numbers(excerpt: Excerpt, mark: _Mark | None) -> Iterator[int | None]:
    """The numbers of the lines to show; None stands for those left out."""
    numbers = list(range(excerpt.first_line, excerpt.first_line + len(excerpt.lines)))
    if len(numbers) <= _MOST_ROWS:
        yield from numbers
        return
    wanted = {*numbers[:_HEAD], *numbers[-_TAIL:]}
    if mark is not None:
        wanted = {*range(mark.first_line - 2, mark.first_line + 4), *range(mark.last_line - 2, mark.last_line + 3)}
    before = numbers[0] - 1
    for number in numbers:
        if number in wanted:
            if number != before + 1:
                yield None
            yield number
            before = number
    if before != numbers[-1]:
        yield None
