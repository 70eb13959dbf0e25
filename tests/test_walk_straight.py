"""A stage goes on past a fault from the statement that raises: what it tells is what a walk of all of it again tells, and
CPython raises where it tells anything.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_walk_property import INPUTS, PROGRAMS, fresh
from walk_programs import PRELUDE, run_real, shown, told_by_stage

MODEST = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


@MODEST
@given(PROGRAMS, st.sampled_from(INPUTS), st.sampled_from(INPUTS))
def test_a_fault_means_that_python_raises(text: str, a: Any, b: Any) -> None:
    real = run_real(text, (fresh(a), fresh(b)))
    if real is None:
        return
    told = told_by_stage(text, (fresh(a), fresh(b)), (False, False))
    # a library that is not walked may have raised before the walk knows that something must
    assert not told.faults or real.error is not None, (shown(text), told, real)


@MODEST
@given(PROGRAMS, st.sampled_from(INPUTS), st.tuples(st.booleans(), st.booleans()))
def test_the_first_fault_is_that_of_a_walk_of_the_whole(text: str, known: Any, hidden: tuple[bool, bool]) -> None:
    told = told_by_stage(text, (fresh(known), fresh(known)), hidden)
    whole = told_by_stage(text, (fresh(known), fresh(known)), hidden, open_frames=False)
    if told.faults and whole.faults:
        cause = told.faults[0]
        # of one that is raised while another is on its way, in a ``finally``, that other is told
        assert cause == whole.faults[0] or "finally" in text, (shown(text), told, whole)
    assert not told.faults or whole.faults or whole.stopped, (shown(text), told, whole)


@MODEST
@given(PROGRAMS, st.sampled_from(INPUTS), st.tuples(st.booleans(), st.booleans()).filter(any))
def test_with_unknown_inputs_a_fault_means_that_none_leads_through(
    text: str, known: Any, hidden: tuple[bool, bool]
) -> None:
    if not told_by_stage(text, (fresh(known), fresh(known)), hidden).faults:
        return
    for value in INPUTS:
        arguments = tuple(fresh(value) if unknown else fresh(known) for unknown in hidden)
        real = run_real(text, arguments)
        assert real is None or real.error is not None, (shown(text), arguments, real)


def lines_of(body: str) -> tuple[str, dict[str, int]]:
    """The program, and the lines that end in a comment by it."""
    text = PRELUDE + body
    return text, {
        line.rpartition("# ")[2]: number for number, line in enumerate(text.splitlines(), 1) if "  # " in line
    }


CASES = {
    "faults in functions of their own": """
class Config:
    pass
def one(config):
    return config.absent  # first
def two(config):
    if config.kind != "b":
        raise ValueError("no")  # second
    return 1
def three(config):
    assert config.kind == "b"  # third
def long(n):
    return sum([i * i for i in range(n)])
def main(a, b):
    config = Config()
    config.kind = "a"
    long(200)
    one(config)
    long(200)
    two(config)
    long(200)
    three(config)
    return 1
""",
    "inside a try whose handler raises": """
def inner(a):
    raise KeyError("a")  # first
def other(a):
    assert a is None  # second
def main(a, b):
    try:
        x = [i for i in range(300)]
        with Guard(False):
            inner(a)
        other(a)
    except ImportError as error:
        raise RuntimeError("no") from error
    return 1
""",
    "a handler that catches it tells another": """
def main(a, b):
    try:
        raise KeyError("a")
    except LookupError as error:
        raise RuntimeError("no")  # first
""",
    "a handler that goes on tells nothing": """
def main(a, b):
    try:
        raise KeyError("a")
    except LookupError:
        a = 1
    return a
""",
    "one handler of two goes on": """
def main(a, b):
    try:
        b()
        raise KeyError("a")
    except ValueError:
        return 2
    except ImportError:
        raise
""",
    "a raise behind a way out that is not known": """
def main(a, b):
    if b:
        return 1
    raise ValueError("only if not b")
""",
    "a raise behind one in the same statement": """
def main(a, b):
    if a:
        for c in b:
            return 1
        raise ValueError("only if there is none in b")
""",
    "a raise in a loop that may be over": """
def main(a, b):
    for c in (1, 2):
        if b:
            break
        raise ValueError("only if not b")
""",
    "a raise in a generator that nobody asks on": """
def parts():
    yield 1
    raise ValueError("never")
def main(a, b):
    for part in parts():
        return part
""",
    "a raise that the library catches": """
class Lazy:
    @property
    def value(self):
        raise AttributeError("no")
def main(a, b):
    return getattr(Lazy(), "value", 3)
""",
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_told(name: str) -> None:
    text, marks = lines_of(CASES[name])
    told = told_by_stage(text, (1, 2), (False, True))
    assert [line for _, line in told.faults] == [marks[key] for key in ("first", "second", "third") if key in marks]
    whole = told_by_stage(text, (1, 2), (False, True), open_frames=False)
    assert told.faults == whole.faults
    assert told.steps <= whole.steps


def test_what_lies_before_a_fault_is_walked_once() -> None:
    text, _ = lines_of(CASES["faults in functions of their own"])
    told = told_by_stage(text, (1, 2), (False, True))
    whole = told_by_stage(text, (1, 2), (False, True), open_frames=False)
    assert told.steps < 0.5 * whole.steps
