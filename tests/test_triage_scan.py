"""Nothing that matters is lost by looking only at some lines, whatever the pieces in which a log comes."""

from __future__ import annotations

import re
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from preflight.triage.data import triage_data
from preflight.triage.patterns import load_patterns
from preflight.triage.reader import LogReader
from preflight.triage.report import TreeQuestion, answer
from preflight.triage.scan import LONGEST_CARRY, LONGEST_LINE, Scanner
from tests.triage_reading import LOGS, all_rules, truths

FILES = [truth["file"] for truth in truths()]
NEVER = re.compile(rb"(?!)")


def nothing(number: int, lines: list[bytes]) -> None:
    raise AssertionError("nothing was asked for together")


def told(reader: LogReader) -> dict:
    return triage_data(answer(reader.finish(), load_patterns(), all_rules, TreeQuestion()))


def read(data: bytes, size: int | None = None) -> dict:
    reader = LogReader(load_patterns())
    for at in range(0, len(data), size or len(data) or 1):
        reader.feed(data[at : at + (size or len(data))])
    return told(reader)


@pytest.mark.parametrize("file", FILES)
def test_the_words_and_the_dull_lines_lose_nothing(file: str) -> None:
    data = (LOGS / file).read_bytes()
    every = LogReader(load_patterns())

    def each(number: int, line: bytes) -> bytes | None:
        return None if every._each(number, line) is None else b""

    every._scanner = Scanner(each, nothing, NEVER, (b"",))  # every line is looked at, by itself
    every.feed(data)
    all_lines, fast = told(every), read(data)
    assert fast == all_lines


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("size", [1, 7, 4096])
def test_the_pieces_do_not_matter(file: str, size: int) -> None:
    data = (LOGS / file).read_bytes()
    assert read(data, size) == read(data)


def lines_seen(
    data: bytes, words: tuple[bytes, ...], closely: int = 0, sizes: list[int] | None = None
) -> list[tuple[int, bytes]]:
    seen: list[tuple[int, bytes]] = []
    until = [0]

    def each(number: int, line: bytes) -> bytes | None:
        seen.append((number, line))
        if any(word in line for word in words):
            until[0] = number + closely
        return b"" if number < until[0] else None

    scanner = Scanner(each, nothing, NEVER, words)
    at = 0
    for size in sizes or [len(data)]:
        scanner.feed(data[at : at + size])
        at += size
    scanner.feed(data[at:])
    scanner.finish(b"#")
    return seen


TEXT = st.lists(st.sampled_from([b"x", b"boom", b"\n", b"\n", b"\r\n", b" ", b"long " * 300]), max_size=60).map(
    b"".join
)


@given(data=TEXT, closely=st.integers(0, 3), sizes=st.lists(st.integers(1, 900), max_size=8))
@settings(max_examples=150, deadline=None)
def test_lines_are_found_with_their_numbers(data: bytes, closely: int, sizes: list[int]) -> None:
    until, expected = 0, []
    for number, line in enumerate(data.split(b"\n"), 1):
        if b"boom" in line or number <= until:
            pieces = line.rstrip(b"\r").split(b"\r")
            if pieces != [b""] or number <= until:
                expected.append((number, line.rstrip(b"\r")[:LONGEST_LINE]))
        if b"boom" in line:
            until = number + closely
    seen = [entry for entry in lines_seen(data, (b"boom",), closely, sizes) if entry[1] or entry in expected]
    assert [entry for entry in seen if b"boom" in entry[1]] == [entry for entry in expected if b"boom" in entry[1]]
    assert {number for number, _ in seen} >= {number for number, line in expected if line}


def test_the_drawings_of_a_progress_bar_are_one_line_and_its_last_drawing_counts() -> None:
    bar = b"".join(b"\rLoading weights: %d%%" % percent for percent in range(100))
    assert lines_seen(b"a\n" + bar + b"\nboom\n", (b"boom", b"Loading")) == [(2, b"Loading weights: 99%"), (3, b"boom")]


def test_a_log_without_line_ends_is_read_in_constant_memory() -> None:
    seen: list[int] = []
    scanner = Scanner(lambda number, line: seen.append(len(line)), nothing, NEVER, (b"y",))
    tracemalloc.start()
    for _ in range(300):
        scanner.feed(b"y" * 65536)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    scanner.finish(b"#")
    assert scanner.size == 300 * 65536
    assert max(seen) <= LONGEST_LINE
    assert len(seen) <= 2 + 300 * 65536 // LONGEST_CARRY
    assert peak < 8 * LONGEST_CARRY


def test_very_many_different_exceptions_and_processes_are_read_in_constant_memory() -> None:
    reader = LogReader(load_patterns())
    tracemalloc.start()
    peaks = []
    for part in range(4):
        for number in range(part * 1200, (part + 1) * 1200):
            who = b"(W_%d pid=%d) " % (number, number)
            frame = b'  File "/x/vllm/%s.py", line 1, in f' % (b"p" * 300)
            texts = (b"Traceback (most recent call last):", frame, b"ValueError: %d" % number)
            reader.feed(b"".join(who + text + b"\n" for text in texts))
        peaks.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert peaks[3] < peaks[1] * 1.2
    assert told(reader)["root_cause"]["exception"] == "ValueError"


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_lines_that_begin_alike_come_in_one_piece(end: bytes) -> None:
    seen: list[object] = []

    def each(number: int, line: bytes) -> bytes | None:
        seen.append((number, line))
        return b"> " if line.startswith(b">") else None

    data = end.join([b"> a", b"> b", b"> c", b"other", b"> d", b"> e\rf", b"> g", b""])
    scanner = Scanner(each, lambda number, lines: seen.append((number, lines)), NEVER, (b">",))
    scanner.feed(data)
    scanner.finish(b"#")
    assert seen == [
        (1, b"> a"),
        (2, [b"> b", b"> c"]),
        (4, b"other"),
        (5, b"> d"),
        (6, b"> e"),
        (6, b"f"),
        (7, b"> g"),
    ]
