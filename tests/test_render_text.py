"""The report for people: carets stand below what they mean, nothing steers the terminal, the verdict comes last."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from situations import SITUATIONS, SYNTAX, finding, report

from preflight.model import Excerpt, Report, RunError, Severity, Span, TreeFacts, Verdict
from preflight.render import render
from preflight.render.display import fit, visible, width_of, wrapped
from preflight.render.verdict import verdict_sentence

#: What real and hostile sources are made of, more often than chance has it.
CODE = st.text(
    st.sampled_from("\t e\u0301引ｶ\x1b\u202e\u200b\x00x=(") | st.characters(codec="utf-8", exclude_characters="\n\r"),
    max_size=60,
)


def _columns(text: str) -> str:
    """One character for every terminal column: wide ones twice, combining ones not at all."""
    cells = ""
    for char in text:
        if unicodedata.category(char) not in ("Mn", "Me"):
            cells += char * (2 if unicodedata.east_asian_width(char) in "WF" else 1)
    return cells


@given(CODE, st.integers(0, 80), st.integers(24, 60))
def test_a_fitted_line_shows_the_character_it_is_about(line: str, focus: int, available: int) -> None:
    focus = min(focus, len(line))
    fitted = fit(line, focus, available)
    assert fitted.text.isprintable()
    assert width_of(fitted.text) <= available
    if focus < len(line):
        char = line[focus]
        wanted = " " if char == "\t" else visible(char)
        if width_of(wanted):
            assert _columns(fitted.text)[fitted.x(focus)] == wanted[0]


@given(CODE, st.integers(1, 40), st.integers(1, 20))
def test_carets_stand_below_the_span(line: str, column: int, length: int) -> None:
    column = min(column, len(line) + 1)
    end = min(column + length, len(line) + 1)
    span = Span("vllm/toy.py", 1, column, 1, max(end, column))
    text = render(report(finding(SYNTAX, "m", span, excerpt=Excerpt("vllm/toy.py", 1, (line,)))), "text", width=1000)
    carets = text.split("\n")[4].partition("| ")[2]
    before = width_of("".join(" " if c == "\t" else visible(c) for c in line[: column - 1] if c != "\t"))
    assert len(carets) - len(carets.lstrip()) == fit(line, column - 1, 990).x(column - 1) >= before
    assert set(carets.strip()) == {"^"}


@given(CODE, CODE)
def test_wrapping_loses_no_word_and_keeps_the_width(text: str, more: str) -> None:
    words = visible(" ".join(f"{text} {more}".split())).split(" ")
    lines = list(wrapped(f"{text} {more}", "> ", "  ", 40))
    assert [word for line in lines for word in line[2:].split(" ")] == words
    assert all(width_of(line) <= 40 or " " not in line[2:] for line in lines)


NUMBERS = st.none() | st.integers(-2, 30)


@given(st.lists(CODE, max_size=20), st.integers(1, 9), NUMBERS, NUMBERS, NUMBERS, NUMBERS, st.integers(1, 60))
def test_no_span_is_too_wrong_to_be_shown(
    lines: list[str], first: int, line: int | None, column: int | None, end: int | None, last: int | None, width: int
) -> None:
    span = Span("t.py", line, column, end, last)
    code = Excerpt("t.py", first, tuple(lines))
    text = render(report(finding(SYNTAX, "m", span, excerpt=code, pristine=code)), "text", width=width)
    assert text.replace("\n", "").isprintable()
    assert text.startswith("error[PF101] syntax-error: m\n")


def test_a_span_up_to_the_next_line_is_one_line() -> None:
    text = _rendered(Span("t.py", 1, 3, 2, 1), "ab(", "c")
    assert text[4] == "  |   ^"


def test_a_span_beyond_the_excerpt_ends_with_it() -> None:
    text = _rendered(Span("t.py", 1, 1, 9, 2), "ab(", "c")
    assert text[3:6] == ["1 | / ab(", "2 | | c", "  | |_^"]


def test_a_span_without_columns_marks_the_line() -> None:
    assert _rendered(Span("t.py", 1), "  ab  ", "c")[4] == "  |   ^^"


def test_a_span_whose_line_is_not_in_the_excerpt_marks_nothing() -> None:
    assert "^" not in "".join(_rendered(Span("t.py", 7, 1), "ab", "c")[3:])


def test_of_a_long_span_the_middle_is_left_out() -> None:
    lines = [f"line {n}" for n in range(1, 101)]
    text = "\n".join(_rendered(Span("t.py", 1, 1, 100, 5), *lines))
    assert "line 1\n" in text
    assert "line 100\n" in text
    assert "line 50\n" not in text
    assert "\n...\n" in text


@pytest.mark.parametrize("name", sorted(SITUATIONS))
@pytest.mark.parametrize("format", ["text", "short", "github"])
def test_no_control_character_reaches_the_terminal(name: str, format: str) -> None:
    text = render(SITUATIONS[name], format, colour=False)
    assert text.endswith("\n")
    assert text.replace("\n", "").isprintable()


@pytest.mark.parametrize("name", sorted(SITUATIONS))
def test_colour_changes_nothing_but_colour(name: str) -> None:
    for format in ("text", "short"):
        coloured = render(SITUATIONS[name], format, colour=True)
        assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == render(SITUATIONS[name], format, colour=False)


@pytest.mark.parametrize("name", sorted(SITUATIONS))
def test_the_verdict_is_the_last_line(name: str) -> None:
    for format in ("text", "short"):
        last = render(SITUATIONS[name], format).splitlines()[-1]
        assert last == visible(verdict_sentence(SITUATIONS[name]))


def test_verdict_sentences() -> None:
    assert verdict_sentence(SITUATIONS["multi-line"]) == (
        "preflight: vllm 0.16.0, 1 file patched: launch would FAIL (1 error, 0 warnings, 0 undecided)"
    )
    assert verdict_sentence(SITUATIONS["nothing-patched"]) == (
        "preflight: vllm of unknown version, nothing patched: clear (0 errors, 0 warnings, 0 undecided)"
    )
    failed = Report(Verdict.NOT_CHECKED, TreeFacts("/t", "0.16.0"), error=RunError("two\nlines"))
    assert verdict_sentence(failed) == "preflight: vllm 0.16.0, nothing patched: not checked: two lines"


def test_a_megabyte_on_one_line_is_cut() -> None:
    line = "\t" * 1_000_000 + "x"
    text = _rendered(Span("t.py", 1, 1_000_001, 1, 1_000_002), line)
    assert max(map(len, text)) <= 100
    assert text[3].rstrip().endswith("x")


def test_thousands_of_findings_stay_readable() -> None:
    findings = [finding(SYNTAX, f"fault {n}", Span(f"vllm/{n % 7}.py", n + 1, 1)) for n in range(7000)]
    findings.sort(key=lambda found: found.span.path)
    text = render(report(*findings), "text")
    assert len(text.splitlines()) < 400
    for n in range(7):
        assert f"== vllm/{n}.py: 1,000 errors" in text
    assert "(7,000 errors, 0 warnings, 0 undecided)" in text
    verbose = render(report(*findings), "text", verbose=True)
    assert all(f"fault {n}\n" in verbose for n in range(7000))


def test_severity_of_the_finding_goes_before_the_rules() -> None:
    text = render(report(finding(SYNTAX, "m", Span("t.py", 1), Severity.WARNING)), "text")
    assert text.startswith("warning[PF101]")


def _rendered(span: Span, *lines: str) -> list[str]:
    return render(report(finding(SYNTAX, "m", span, excerpt=Excerpt("t.py", 1, lines))), "text").split("\n")
