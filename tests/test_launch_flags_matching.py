"""Matching words, held against the ``argparse`` of every Python at hand: what one refuses, the other refuses."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from preflight.launch.arguments import Argument, Commands, Parser
from preflight.launch.matching import BARE, match
from tests.syntaxlab import pythons

_CHILD = Path(__file__).with_name("launch_argparse_child.py")
_OPTIONS = (
    "--max-model-len", "--max-num-seqs", "--model", "-tp", "-t", "--tensor-parallel-size", "-O", "--port",
    "--enforce-eager", "--names", "-q", "-dp",
)  # fmt: skip
_WORDS = (
    "a", "1", "-1", "x=1", "-5.5", "--port=3", "--max", "--max-num-seqs=4", "--mo", "-tp8", "-tp=8", "-tp", "-q", "-O3",
    "--enforce-eager=1", "--unknown", "--unknown=1", "--", "-x", "", "a b", "--names", "--port", "--enforce-eager",
    "-t", "-t1", "-dp", "-dp2", "--tensor", "--model", "-",
)  # fmt: skip
_NARGS = st.sampled_from((None, None, 0, 0, "?", "*", "+", 2))


@pytest.fixture(scope="module")
def children() -> Iterator[list[subprocess.Popen]]:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "encoding": "utf-8"}
    started = [subprocess.Popen([str(python), "-I", "-S", str(_CHILD)], **pipes) for python in pythons().values()]
    yield started
    for child in started:
        child.communicate()


def _ask(child: subprocess.Popen, arguments: list, words: list[str]) -> dict:
    child.stdin.write(json.dumps([arguments, words]) + "\n")
    child.stdin.flush()
    return json.loads(child.stdout.readline())


def _parser(arguments: list) -> Parser:
    parser = Parser("x")
    for options, nargs in arguments:
        names = tuple(options) if options[0].startswith("-") else ()
        action = "store_true" if nargs == 0 else "store"
        dest = options[0].lstrip("-").replace("-", "_")
        parser.arguments.append(Argument(dest, names, action, "p.py", 1, nargs=nargs))
    return parser


@st.composite
def _definitions(draw):
    options = draw(st.lists(st.sampled_from(_OPTIONS), min_size=1, max_size=7, unique=True))
    arguments = [[[option], draw(_NARGS)] for option in options]
    if draw(st.booleans()):
        arguments.insert(0, [["model_tag"], draw(st.sampled_from(("?", None)))])
    return arguments


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(arguments=_definitions(), words=st.lists(st.sampled_from(_WORDS), max_size=6))
def test_every_argparse_accepts_and_refuses_the_same(children, arguments, words):
    found = match(_parser(arguments), words)
    for child in children:
        real = _ask(child, arguments, words)
        assert (not found.refusals) is real["accepted"], (real, [refusal.text for refusal in found.refusals])


def _argument(*options: str, nargs: object = None, action: str = "store") -> Argument:
    return Argument(options[0].lstrip("-").replace("-", "_"), options, action, "p.py", 1, nargs=nargs)


def _kinds(words: list[str], *arguments: Argument) -> list[tuple[str, tuple[str, ...]]]:
    parser = Parser("vllm serve", arguments=[Argument("model_tag", (), "store", "p.py", 1, nargs="?"), *arguments])
    return [(refusal.kind, refusal.words) for refusal in match(parser, words).refusals]


def test_everything_that_is_wrong_is_told_in_one_run():
    port, eager = _argument("--port"), _argument("--enforce-eager", nargs=0, action="store_true")
    names = _argument("--names", nargs="+")
    lengths = (_argument("--max-model-len"), _argument("--max-num-seqs"))
    words = ["M", "--nosuch", "3", "--enforce-eager=1", "--max", "7", "--port", "--names", "--other=2", "surplus"]
    assert sorted(_kinds(words, port, eager, names, *lengths)) == [
        ("ambiguous-flag", ("--max",)),
        ("unknown-flag", ("--nosuch", "3")),
        ("unknown-flag", ("--other=2", "surplus")),
        ("value-missing", ("--names",)),
        ("value-missing", ("--port",)),
        ("value-surplus", ("--enforce-eager=1",)),
    ]


def test_occurrences_know_their_words_and_their_values():
    port, size = _argument("--port"), _argument("--tensor-parallel-size", "-tp")
    token = _argument("--hf-token", nargs="?")
    parser = Parser("x", arguments=[Argument("model_tag", (), "store", "p.py", 1, nargs="?"), port, size, token])
    words = ["M", "-tp", "2", "--tensor-par=4", "--port=80", "--hf-token", "-tp=8"]
    found = match(parser, words)
    assert not found.refusals
    assert [(o.argument.dest, o.values, found.word_at(o.position)) for o in found.occurrences] == [
        ("model_tag", "M", None),
        ("tensor_parallel_size", "2", "-tp"),
        ("tensor_parallel_size", "4", "--tensor-par=4"),
        ("port", "80", "--port=80"),
        ("hf_token", BARE, "--hf-token"),
        ("tensor_parallel_size", "8", "-tp=8"),
    ]


def test_subcommands_have_parsers_of_their_own():
    top = Parser("vllm", arguments=[_argument("--version", nargs=0, action="version")])
    serve = Parser("vllm serve", arguments=[_argument("--port")])
    inner = Parser("vllm bench serve", arguments=[_argument("--num-prompts")])
    bench = Parser("vllm bench", commands=Commands("kind", True, {"serve": inner}))
    top.commands = Commands("subparser", False, {"serve": serve, "bench": bench})
    found = match(top, ["bench", "serve", "--num-prompts", "3", "--port", "4"])
    assert (found.path, found.parser) == (("bench", "serve"), inner)
    assert found.chosen == {"subparser": "bench", "kind": "serve"}
    assert [(refusal.kind, refusal.words) for refusal in found.refusals] == [("unknown-flag", ("--port", "4"))]
    assert [refusal.kind for refusal in match(top, ["srve", "M"]).refusals] == ["unknown-command"]
    assert [refusal.kind for refusal in match(top, ["bench"]).refusals] == ["required-missing"]


def test_an_argument_whose_values_cannot_be_counted_makes_the_matching_uncertain():
    from preflight.launch.reading.values import Unknown

    odd = _argument("--odd", nargs=Unknown("nargs"))
    parser = Parser("x", arguments=[odd, _argument("--port")])
    assert match(parser, ["--port", "1"]).uncertain == []
    assert match(parser, ["--odd", "1", "2"]).uncertain != []


def test_a_thousand_words_that_are_all_wrong_come_to_an_end():
    found = match(Parser("x", arguments=[_argument("--port")]), ["--port"] * 150)
    assert {refusal.kind for refusal in found.refusals} == {"value-missing"}
