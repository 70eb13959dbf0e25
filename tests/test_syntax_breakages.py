"""Every kind of broken Python of the table, made from real files: found at its line, named by its cause, repaired."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from breakages import BREAKAGES, COMPILES, RESTORES, RESTORES_WITH_RELEASE, Breakage
from syntaxlab import Lab, fixed, pythons

from preflight.syntax.source import decode
from tests.trees import released

pytestmark = pytest.mark.real

PATH = "vllm/model_executor/models/deepseek_v2.py"
#: With the release's text at hand, a moved line is told by that alone.
MOVED = "indent-moved"


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    lab = Lab()
    yield lab
    lab.compiler.close()


@pytest.fixture(scope="module")
def others() -> Iterator[list[Lab]]:
    labs = [Lab(python) for python in pythons().values()]
    yield labs
    for one in labs:
        one.compiler.close()


def test_the_table_is_large_enough() -> None:
    assert len({breakage.name for breakage in BREAKAGES}) == len(BREAKAGES) >= 90
    assert len({breakage.cause for breakage in BREAKAGES}) >= 45


@pytest.mark.parametrize("breakage", BREAKAGES, ids=lambda breakage: breakage.name)
def test_breakage_of_0_16_0(lab: Lab, breakage: Breakage) -> None:
    judge(lab, breakage, text_of("0.16.0"), known=False)


@pytest.mark.parametrize("breakage", BREAKAGES, ids=lambda breakage: breakage.name)
def test_breakage_of_0_33_0_with_the_release_known(lab: Lab, breakage: Breakage) -> None:
    judge(lab, breakage, text_of("0.33.0"), known=True)


@pytest.mark.parametrize("breakage", BREAKAGES, ids=lambda breakage: breakage.name)
def test_no_cause_depends_on_the_words_of_one_python(others: list[Lab], breakage: Breakage) -> None:
    text = text_of("0.16.0")
    begin = text[: text.index("\nclass DeepseekV2MoE")]
    for lab in others:
        try:
            judge(lab, breakage, begin, known=False)
        except StopIteration:  # the kind of line that it breaks stands farther down
            judge(lab, breakage, text, known=False)


def judge(lab: Lab, breakage: Breakage, text: str, known: bool) -> None:
    lines, line = breakage.apply(text.split("\n"))
    source = decode(PATH, "\n".join(lines).encode())

    diagnoses = lab.diagnose(source, text if known else None)

    assert [diagnosis.start[0] for diagnosis in diagnoses] == [line]
    (diagnosis,) = diagnoses
    assert diagnosis.cause == breakage.cause or (known and diagnosis.cause == MOVED)
    assert diagnosis.message
    assert diagnosis.start <= diagnosis.end
    if diagnosis.fix:
        assert diagnosis.safe
        assert lab.compiles(fixed(source, diagnoses))
    if breakage.mends == COMPILES:
        assert diagnosis.fix
    if breakage.mends == RESTORES or (breakage.mends == RESTORES_WITH_RELEASE and known):
        assert fixed(source, diagnoses) == text.encode()


def text_of(version: str) -> str:
    return (released(version) / PATH).read_bytes().decode()
