"""The parsing by libcst in its own process: answers in order, and no source takes the others with it."""

from __future__ import annotations

import sys

import pytest

from preflight.syntax.cst import MAX_BYTES, CstParser
from preflight.syntax.source import Source, decode

GOOD = decode("good.py", b"def f(x):\n    return x\n")
BROKEN = decode("broken.py", b"a = 1\nb = = 2\n")
DEEP = decode("deep.py", b"x = " + b"(" * 100_000 + b")" * 100_000 + b"\n")
LONG = decode("long.py", b"# " + b"x" * MAX_BYTES + b"\n")
NO_TEXT = decode("bytes.py", b"a = '\xff'\n")


def problems(cst: CstParser, *sources: Source) -> list[str | None]:
    cst.send(sources)
    return [problem for _, problem in cst.answers()]


def test_each_source_has_its_own_answer_in_order() -> None:
    sources = [decode(f"{n}.py", f"x = {'' if n % 3 == 1 else n}\n".encode()) for n in range(20)]
    with CstParser() as cst:
        found = problems(cst, *sources)
    assert [problem is None for problem in found] == [n % 3 != 1 for n in range(20)]


def test_a_refusal_names_the_line() -> None:
    with CstParser() as cst:
        (found,) = problems(cst, BROKEN)
    assert found is not None
    assert "line 2" in found


def test_a_source_that_brings_the_parser_down_leaves_the_others_their_answers() -> None:
    with CstParser() as cst:
        deep, good = problems(cst, DEEP, GOOD)
        assert deep is not None
        assert good is None
        assert problems(cst, GOOD, GOOD) == [None, None]  # a second batch, as after --fix


def test_what_is_too_long_is_not_parsed_and_what_has_no_text_is_not_answered() -> None:
    with CstParser() as cst:
        long, good = problems(cst, LONG, NO_TEXT, GOOD)
    assert long is not None
    assert good is None


def test_a_process_that_cannot_be_started_is_said_of_every_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nosuch/python")
    with CstParser() as cst:
        cst.start()
        found = problems(cst, GOOD, GOOD)
    assert None not in found


def test_a_process_that_ends_is_said_of_every_source_that_waits() -> None:
    cst = CstParser()
    with cst:
        cst.start()
        assert problems(cst, GOOD) == [None]
        assert cst._process is not None
        cst._process._child.kill()
        assert None not in problems(cst, GOOD, GOOD)


def test_what_python_refuses_is_not_waited_for() -> None:
    slow = decode("slow.py", b"x = " + b"+".join([b"1"] * 60_000) + b"\n")
    with CstParser() as cst:
        cst.send([GOOD, slow])
        cst.drop(slow)
        assert [(source.path, problem) for source, problem in cst.answers()] == [("good.py", None)]
        assert problems(cst, GOOD) == [None]
