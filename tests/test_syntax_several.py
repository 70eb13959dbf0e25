"""Several faults in one file: each is found, and none of them twice."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from breakages import BREAKAGES, Breakage
from syntaxlab import Lab, fixed

from preflight.syntax.source import decode
from tests.trees import released

#: Those that break the file as a whole leave no room for a second fault.
LOCAL = [b for b in BREAKAGES if b.cause not in ("cut-off", "not-python", "future-late", "future-unknown")]


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    lab = Lab()
    yield lab
    lab.compiler.close()


@pytest.mark.real
@pytest.mark.parametrize("seed", range(24))
def test_three_breakages_are_three_faults(lab: Lab, seed: int) -> None:
    text = (released("0.16.0") / "vllm/model_executor/models/deepseek_v2.py").read_text()
    chance = random.Random(seed)
    lines: list[str] = []
    expected: list[int] = []
    for part in parts(text.split("\n")):
        broken, line = broken_somehow(part, chance)
        if line is not None:
            expected.append(len(lines) + line)
        lines += broken
    assert len(expected) >= 2
    diagnoses = lab.diagnose(decode("x.py", "\n".join(lines).encode()))
    assert [diagnosis.start[0] for diagnosis in diagnoses] == expected


def parts(lines: list[str]) -> list[list[str]]:
    """The file in three parts, cut before classes."""
    classes = [at for at, line in enumerate(lines) if line.startswith("class ")]
    first, second = classes[2], classes[6]
    return [lines[:first], lines[first:second], lines[second:]]


def broken_somehow(part: list[str], chance: random.Random) -> tuple[list[str], int | None]:
    """The part, broken in one of the ways that find a place in it."""
    for breakage in chance.sample(LOCAL, len(LOCAL)):
        try:
            return _applied(breakage, part)
        except StopIteration:
            continue  # there is no such place in this part
    return part, None


def _applied(breakage: Breakage, part: list[str]) -> tuple[list[str], int]:
    return breakage.apply(list(part))


def test_fixes_of_one_file_go_together(lab: Lab) -> None:
    text = "def f(a)\n    return a\n\n\ndef g(a):\n    if a = 1:\n        return a\n"
    source = decode("x.py", text.encode())
    diagnoses = lab.diagnose(source)
    assert [(d.cause, d.start[0], d.safe) for d in diagnoses] == [
        ("colon-missing", 1, True),
        ("equals-in-condition", 6, True),
    ]
    assert lab.compiles(fixed(source, diagnoses))


def test_a_fix_beside_a_fault_without_one_is_not_called_safe(lab: Lab) -> None:
    text = "def f(a)\n    return a\n\n\nreturn 3\n"
    diagnoses = lab.diagnose(decode("x.py", text.encode()))
    assert [(d.cause, bool(d.fix), d.safe) for d in diagnoses] == [
        ("colon-missing", True, False),
        ("outside-function", False, False),
    ]


def test_a_fault_that_only_shows_when_others_are_repaired(lab: Lab) -> None:
    # Python reports the unclosed string first, though it stands last
    text = "x = (1,\n     2;\n     3)\n\n\ndef f():\n    return 'abc\n"
    assert lab.faults(text) == [("semicolon-for-comma", 2), ("string-unclosed", 7)]


def test_an_echo_is_no_fault_of_its_own(lab: Lab) -> None:
    text = "def f(self) ! -> int:\n    if self:\n        return 1\n    return 2\n\n\ndef g():\n    return 3\n"
    assert [line for _, line in lab.faults(text)] == [1]
