"""Real files broken at random: never a crash or a hang, a fault for what does not compile, and none for what does."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from syntaxlab import Lab, fixed

from preflight.checks.compiled import check_compiled
from preflight.checks.context import Context
from preflight.model import Fault, Severity
from preflight.syntax.cst import CstParser
from preflight.syntax.source import decode
from preflight.syntax.tokens import scan
from tests.trees import released

FILES = (
    "vllm/model_executor/models/interfaces.py",
    "vllm/model_executor/models/kimi_k25.py",
    "vllm/config/speculative.py",
    "vllm/v1/spec_decode/eagle.py",
    "vllm/logger.py",
)
_PIECES = """
( ) [ ] { } " ' \"\"\" \'\'\' \\ : , = == def class if else: try: return import from lambda @ # f" + - 0 08 1_ yield
await async * ** ... -> := ; ` $ ! <<<<<<< ======= >>>>>>> except: global break match case type
"""
PIECES = tuple(_PIECES.split())
WHITE = [" ", "    ", "\t", "\n", "\r", "\r\n", "\u00a0", "\u200b", "\u201c", "\x0c", "\x01", "\u00e9"]

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("syntax-property")]


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    lab = Lab()
    yield lab
    lab.compiler.close()


@cache
def text_of(path: str) -> str:
    return (released("0.16.0") / path).read_bytes().decode()


@st.composite
def broken(draw: st.DrawFn) -> tuple[str, str]:
    """A real file and what random edits of its characters, tokens and lines made of it."""
    original = text_of(draw(st.sampled_from(FILES)))
    text = original
    for _ in range(draw(st.integers(1, 3))):
        text = draw(st.sampled_from([of_characters, of_tokens, of_lines]))(text, draw)
    return original, text


def of_characters(text: str, draw: st.DrawFn) -> str:
    at = draw(st.integers(0, len(text)))
    return text[:at] + draw(st.sampled_from([*PIECES, *WHITE, ""])) + text[at + draw(st.integers(0, 6)) :]


def of_tokens(text: str, draw: st.DrawFn) -> str:
    tokens = scan(text)
    if len(tokens) < 2:
        return text
    at = draw(st.integers(0, len(tokens) - 2))
    one, two = tokens[at], tokens[at + 1]
    between = text[one.end : two.start]
    new = draw(st.sampled_from([two.text, f"{one.text} {one.text}{between}{two.text}", two.text + between + one.text]))
    return text[: one.start] + new + text[two.end :]


def of_lines(text: str, draw: st.DrawFn) -> str:
    lines = text.split("\n")
    at = draw(st.integers(0, len(lines) - 1))
    line = lines[at]
    prefix = draw(st.sampled_from(["+", "-", " ", "\t", ">>> ", "12: ", "    "]))
    suffix = draw(st.sampled_from([" \\", ";", ":", "(", ")", '"""', ","]))
    choices = [[], [line, line], [prefix + line], [line + suffix], [line.lstrip()], ["```"], [line, "<<<<<<< x"]]
    return "\n".join([*lines[:at], *draw(st.sampled_from(choices)), *lines[at + 1 :]])


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(broken(), st.booleans())
def test_diagnosis_of_anything(lab: Lab, case: tuple[str, str], known: bool) -> None:
    original, text = case
    data = text.encode()
    source = decode("vllm/x.py", data)
    if source.problem is not None:
        return  # a control character can make it undecodable; test_syntax_source has those
    compiles = lab.compiles(data)
    diagnoses = lab.diagnose(source, original if known else None)
    assert bool(diagnoses) is not compiles
    for diagnosis in diagnoses:
        assert diagnosis.message
        assert (1, 1) <= diagnosis.start <= diagnosis.end
        assert diagnosis.start[0] <= len(source.lines)
    assert len({diagnosis.start[0] for diagnosis in diagnoses}) == len(diagnoses)
    if any(diagnosis.safe for diagnosis in diagnoses):
        assert lab.compiles(fixed(source, diagnoses))


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(broken())
def test_the_check_finds_an_error_where_python_does(lab: Lab, case: tuple[str, str]) -> None:
    original, text = case
    source = decode("vllm/x.py", text.encode())
    tree = SimpleNamespace(
        interpreter=None,
        python_range="<3.14,>=3.10",
        facts=SimpleNamespace(python=".".join(map(str, lab.version)), vllm="0.16.0"),
        exists=lambda path: True,
        pristine=lambda path: original.encode(),
    )
    with CstParser() as cst:
        context = cast(Context, SimpleNamespace(tree=tree, cst=cst))
        items = list(check_compiled(context, [source], frozenset({source.path})))
    errors = [item for item in items if isinstance(item, Fault) and item.severity in (None, Severity.ERROR)]
    assert bool(errors) is not lab.compiles(source.data)
