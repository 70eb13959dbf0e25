"""GitHub workflow commands, read back as the runner reads them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from situations import SITUATIONS, SYNTAX, TOY, finding, report

from preflight.model import Report, Severity, Span, Undecided
from preflight.render import render

COMMAND = re.compile(r"::(error|warning|notice)(?: ([^:]*))?::(.*)")


def commands(situation: Report) -> list[tuple[str, dict[str, str], str]]:
    """(level, properties, message) of every line, unescaped in the runner's way."""
    read = []
    for line in render(situation, "github").splitlines():
        match = COMMAND.fullmatch(line)
        assert match, line
        properties = dict(part.split("=", 1) for part in (match[2] or "").split(",") if part)
        unescaped = {name: _unescape(value) for name, value in properties.items()}
        read.append((match[1], unescaped, _unescape(match[3])))
    return read


def _unescape(text: str) -> str:
    for escape, char in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(escape, char)
    return text


@pytest.mark.parametrize("name", sorted(SITUATIONS))
def test_at_most_ten_of_a_level_and_the_verdict_last(name: str) -> None:
    levels = [level for level, _, _ in commands(SITUATIONS[name])]
    assert max(map(levels.count, levels)) <= 10
    assert levels == sorted(levels, key=["error", "warning", "notice"].index)
    assert commands(SITUATIONS[name])[-1][2].startswith("preflight: ")


def test_the_tenth_says_how_many_there_would_be_more() -> None:
    errors = [(p, m) for level, p, m in commands(SITUATIONS["many-findings"]) if level == "error"]
    assert len(errors) == 10
    assert errors[-1][1].startswith("and 34 more")
    assert "file" not in errors[-1][0]


def test_ten_errors_need_no_such_line() -> None:
    ten = report(*(finding(SYNTAX, f"m{n}", Span(TOY, n)) for n in range(1, 11)))
    assert [m for level, _, m in commands(ten) if level == "error"] == [f"m{n}" for n in range(1, 11)]


def test_columns_only_within_one_line() -> None:
    one = commands(report(finding(SYNTAX, "m", Span(TOY, 3, 4, 3, 9))))[0][1]
    assert (one["line"], one["endLine"], one["col"], one["endColumn"]) == ("3", "3", "4", "9")
    two = commands(report(finding(SYNTAX, "m", Span(TOY, 3, 4, 5, 9))))[0][1]
    assert (two["line"], two["endLine"]) == ("3", "5")
    assert not {"col", "endColumn"} & two.keys()
    whole = commands(report(finding(SYNTAX, "m", Span(TOY))))[0][1]
    assert whole.keys() == {"file", "title"}


def test_levels_and_open_questions() -> None:
    levels = [level for level, _, _ in commands(SITUATIONS["warning"])]
    assert levels == ["warning", "notice", "notice"]
    questions = [p.get("title") for _, p, _ in commands(SITUATIONS["undecided"])[:-1]]
    assert questions == ["undecided target-python-not-found", *["undecided walk-budget"] * 5]


def test_many_open_questions_leave_room_for_the_verdict() -> None:
    questions = tuple(Undecided("walk-budget", f"q{n}", TOY, n) for n in range(1, 40))
    notices = [m for _, _, m in commands(report(undecided=questions))]
    assert len(notices) == 10
    assert notices[8].startswith("and 31 more")
    assert notices[9].startswith("preflight: ")


def test_a_run_without_verdict_is_an_error() -> None:
    (level, _, message), _ = commands(SITUATIONS["error"])
    assert level == "error"
    assert message.startswith("there is no vLLM")


@given(st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1))
def test_escapes_are_undone_by_the_runner(text: str) -> None:
    (_, properties, message), _ = commands(report(finding(SYNTAX, text, Span(f"vllm/{text}", 1), Severity.ERROR)))
    assert message == text
    assert properties["file"] == f"vllm/{text}"
