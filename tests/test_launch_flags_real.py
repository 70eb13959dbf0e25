"""The parsers of released vLLM trees, read from their code: what the real ones took and refused, and all they have."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from pathlib import Path

import pytest

from preflight.checks.flags import UNKNOWN, check_flags
from preflight.launch import conversion
from preflight.launch.entry import ProgramSource, console_script
from preflight.launch.facts import launch_facts
from preflight.launch.launch import Launch, read_launch
from preflight.launch.matching import match
from preflight.launch.parsing import CommandReading, Parsed, read_command
from preflight.launch.reading.argparsing import Namespace
from preflight.launch.reading.expressions import items
from preflight.launch.reading.values import Instance, Unknown
from preflight.launch.request import LaunchRequest
from preflight.model import Fault
from preflight.program import FactsCache, Program
from preflight.tree import TreeRequest, open_tree
from tests.trees import released

pytestmark = pytest.mark.real

_RELEASES = ("0.8.5", "0.10.2", "0.12.0", "0.16.0", "0.18.1", "0.20.2", "0.26.0", "0.33.0")
_CASES = Path(__file__).parent / "fixtures" / "cases"
#: texts of which every type of a released parser takes one
_CANDIDATES = ("1", "0.5", "x", "{}", "[]", '{"a": 1}', "auto", "name=path", "a.b")


@lru_cache(maxsize=1)
def _program(version: str) -> Program:
    tree = open_tree(TreeRequest(site_packages=str(released(version)), use_cache=False), {})
    return Program(tree, FactsCache(None))


@lru_cache(maxsize=1)
def _reading(version: str) -> CommandReading:
    """The reading of ``vllm serve M``, which other words can be put to."""
    return _read(_program(version), lean=False)


def _read(program: Program, *, lean: bool) -> CommandReading:
    module, function = console_script(program.tree)
    return read_command(
        ProgramSource(program), ["serve", "M"], module=module, function=function, program="vllm", environ={}, lean=lean
    )


def _launch(version: str, *words: str, **options) -> Launch:
    program = _program(version)
    launch = read_launch(LaunchRequest(words=words, **options), {"HF_HOME": "/nowhere"}, program.tree, program)
    assert launch is not None
    return launch


def _said(parsed: Parsed) -> list[str]:
    assert parsed.match is not None, parsed.trouble
    return [*(refusal.text for refusal in parsed.match.refusals), *(one.message for one in parsed.invalid)]


@pytest.mark.parametrize("version", _RELEASES)
def test_the_parser_is_the_same_when_those_of_other_subcommands_are_left(version: str):
    whole, lean = _reading(version), _read(_program(version), lean=True)
    assert lean.parsed.trouble is None
    assert lean.parsed.parser.gaps == []
    described = [
        [(one.name, one.options, one.action, one.dest, one.path, one.line) for one in reading.parsed.parser.arguments]
        for reading in (whole, lean)
    ]
    assert described[0] == described[1]
    assert lean.parsed.defaults.keys() == whole.parsed.defaults.keys()
    assert lean.run.steps < whole.run.steps


@pytest.mark.parametrize("version", _RELEASES)
def test_the_parser_is_read_without_a_gap(version: str):
    parsed = _reading(version).parsed
    assert parsed.trouble is None
    assert parsed.raised is None
    assert parsed.parser.gaps == []
    assert len(parsed.parser.arguments) > 120
    assert [argument.name for argument in parsed.parser.arguments if not argument.certain] == []
    for argument in parsed.parser.arguments:
        assert argument.action != "unknown", argument.name
        assert not isinstance(argument.nargs, Unknown), argument.name


@pytest.mark.parametrize("version", _RELEASES)
def test_every_flag_takes_a_plausible_value(version: str):
    reading = _reading(version)
    top, run = reading.parse(["serve", "M"]).match.top, reading.run
    refused = []
    for argument in reading.parsed.parser.arguments:
        if argument.action in ("help", "version"):
            continue
        for option in argument.options:
            if not any(_is_taken(top, run, ["serve", "M", option, *words]) for words in _plausible(run, argument)):
                refused.append(option)
    assert refused == []


def _plausible(run, argument) -> list[list[str]]:
    if argument.nargs in (0, "?") or argument.action in ("store_true", "store_false", "boolean", "count"):
        return [[]]
    texts = _CANDIDATES
    if argument.choices is not None and not isinstance(argument.choices, Unknown):
        known = [choice for choice in items(run, argument.choices) if choice is not None]
        texts = [str(one.names["value"] if isinstance(one, Instance) else one) for one in known[:2]]
    return [[text] * (argument.nargs if isinstance(argument.nargs, int) else 1) for text in texts]


def _is_taken(top, run, words: list[str]) -> bool:
    found = match(top, words)
    namespace = Namespace({}, True)
    return not found.refusals and not found.uncertain and not any(
        conversion.apply(run, occurrence, namespace, None) for occurrence in found.occurrences
    )  # fmt: skip


@pytest.mark.parametrize("version", ["0.16.0", "0.33.0"])
def test_the_real_parsers_verdicts(version: str):
    cases = json.loads((_CASES / f"serve-flags-{version}.json").read_text())["cases"]
    reading = _reading(version)
    assert len(cases) > 40
    for case in cases:
        said = _said(reading.parse(["serve", "M", *case["flags"]]))
        if case["refused"] is None:
            assert said == [], case
        else:
            assert len(said) == 1, case
            assert _decisive(case["refused"], case["flags"]) in said[0], case


def _decisive(message: str, flags: list[str]) -> str:
    """What of the real message must be in ours: the choice and the choices, or the flag that is not there."""
    found = re.search(r"invalid choice: .*|--[\w-]+$", message)
    return found.group().strip() if found else str(json.loads(flags[-1])["mode"])


@pytest.mark.parametrize(
    ("flag", "releases"),
    [
        ("--num-scheduler-steps", {"0.8.5": True, "0.10.0": True, "0.10.1": False, "0.16.0": False}),
        ("--enable-reasoning", {"0.8.5": True, "0.9.2": True, "0.10.0": False, "0.10.1": False}),
        ("--enable-logging-iteration-details", {"0.13.0": False, "0.14.0": True, "0.33.0": True}),
        ("--disable-log-requests", {"0.8.5": True, "0.10.1": True, "0.16.0": True}),
    ],
)
def test_flags_come_and_go_with_the_releases(flag: str, releases: dict[str, bool]):
    for version, there in releases.items():
        assert (flag in _reading(version).parsed.parser.by_option()) is there, version


@pytest.mark.parametrize(
    ("version", "words"),
    [
        ("0.10.0", "vllm serve M --enable-reasoning --reasoning-parser deepseek_r1"),
        ("0.13.0", "vllm serve M --enable-logging-iteration-details"),
        ("0.16.0", "vllm serve M --num-scheduler-steps 10"),
        ("0.33.0", "python -m vllm.entrypoints.openai.api_server --model M --num-scheduler-steps 10"),
    ],
)
def test_the_handed_cases_of_dead_launches(version: str, words: str):
    program = _program(version)

    class Context:
        tree, launch = program.tree, _launch(version, *words.split())

        @staticmethod
        def load_program() -> Program:
            return program

    found = [one for one in check_flags(Context) if isinstance(one, Fault)]
    assert [one.check for one in found] == [UNKNOWN]
    assert re.search(r"--(enable-reasoning|enable-logging-iteration-details|num-scheduler-steps)", found[0].message)


_GOOD = {
    "0.8.5": "-tp 8 -O3 --max-model-len 32k --enable-auto-tool-choice --tool-call-parser hermes --lora-modules a=b c=d",
    "0.10.2": "-tp 8 -O3 --max-model-len 25.6k --speculative-config.method ngram --compilation-config.level 3",
    "0.16.0": "--tensor-parallel-size=8 -O3 --limit-mm-per-prompt.image 2 -cc.mode=3 --attention-config.backend FLASH_ATTN",
    "0.20.2": "--tensor_parallel_size 8 --hf-overrides.a 1 --no-enable-prefix-caching --cudagraph-capture-sizes 1 2 4",
    "0.33.0": "-tp 8 --async-scheduling --max-model-len auto --numa-bind --spec-method ngram --disable-log-requests",
}


@pytest.mark.parametrize("version", _GOOD)
def test_good_launches_of_many_forms_are_taken(version: str):
    launch = _launch(version, "vllm", "serve", "M", *_GOOD[version].split())
    assert _said(launch.parsed) == []
    assert launch.parsed.raised is None


@pytest.mark.parametrize(
    ("version", "words", "part"),
    [
        ("0.8.5", "serve --model M", "positional"),
        ("0.16.0", "serve M --enable-auto-tool-choice", "--tool-call-parser"),
        ("0.33.0", "serve M --headless --api-server-count 2", "--headless"),
        ("0.33.0", "serve --served-model-name x --port 80", "positional"),
    ],
)
def test_what_the_command_itself_refuses(version: str, words: str, part: str):
    launch = _launch(version, "vllm", *words.split())
    assert _said(launch.parsed) == [] if launch.parsed.match else True
    assert launch.parsed.raised.deliberate
    assert part in str(launch.parsed.raised)


@pytest.mark.parametrize(
    ("version", "words", "said"),
    [
        ("0.8.5", "bench latency --model M --input-len 3", []),
        ("0.16.0", "bench serve --model M --num-prompts 3 --nosuch", ["unrecognized arguments: --nosuch"]),
        ("0.16.0", "run-batch -i a -o b --model M", []),
        ("0.33.0", "bench throughput --model M --input-len 3", []),
        ("0.33.0", "chat --url x --nosuch", ["unrecognized arguments: --nosuch"]),
        ("0.33.0", "launch render M --port 80", []),
    ],
)
def test_other_commands_have_their_own_parsers(version: str, words: str, said: list[str]):
    assert _said(_launch(version, "vllm", *words.split()).parsed) == said


def test_the_incidents_launch(tmp_path: Path):
    target, draft = tmp_path / "Kimi-K2.5", tmp_path / "eagle3"
    for folder, architecture in ((target, "KimiK25ForConditionalGeneration"), (draft, "LlamaForCausalLMEagle3")):
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps({"architectures": [architecture], "text_config": {}}))
    settings = json.dumps({"method": "eagle3", "model": str(draft), "num_speculative_tokens": 5})
    words = ("vllm", "serve", str(target), "--tensor-parallel-size", "8", "--trust-remote-code")
    launch = _launch("0.16.0", *words, "--speculative-config", settings)
    assert _said(launch.parsed) == []
    assert launch.undecided == ()
    facts = launch_facts(launch, _program("0.16.0"))
    assert facts.architecture == "KimiK25ForConditionalGeneration"
    assert facts.model_class == "vllm.model_executor.models.kimi_k25:KimiK25ForConditionalGeneration"
    assert facts.flags["tensor_parallel_size"] == 8
    assert (facts.drafter["architecture"], facts.drafter["num_speculative_tokens"]) == ("LlamaForCausalLMEagle3", 5)


def test_a_value_that_the_server_module_refuses_is_told_once(tmp_path: Path):
    (tmp_path / "config.json").write_text('{"architectures": ["LlamaForCausalLM"], "model_type": "llama"}')
    words = ("python", "-m", "vllm.entrypoints.openai.api_server", "--model", str(tmp_path), "--dtype", "fp7")
    assert len(_said(_launch("0.16.0", *words).parsed)) == 1
