"""What is said about a root cause: the rule, the command, whether the file is patched; and how it is written."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from preflight.errors import TreeError
from preflight.rulebook import load_rulebook
from preflight.rulebook.book import Rulebook
from preflight.rulebook.rule import Status
from preflight.triage.advice import redacted
from tests.minitree import make_tree
from tests.triage_reading import LOGS, all_rules, answer, lines, no_rules, root, rule, triage

SYNTAX = LOGS / "incident-4-syntax-error.log"
FLAG = LOGS / "incident-5-flag.log"
MODEL = "vllm/model_executor/models/deepseek_v2.py"


def test_the_rule_of_this_release_is_named_with_the_command_to_run() -> None:
    found = root(SYNTAX, rules=load_rulebook)
    assert found["rule"] == "PF101"
    words = shlex.split(found["command"])
    assert words[:4] == ["preflight", "check", "--vllm-site-packages", "/opt/venv/lib/python3.12/site-packages"]
    assert words[4:8] == ["--", "vllm", "serve", "/models/Kimi-K2.5"]
    assert words[words.index("--tensor-parallel-size") + 1] == "8"
    assert "--trust-remote-code" in words
    assert json.loads(words[words.index("--speculative-config") + 1])["method"] == "eagle3"


def test_a_rule_that_this_release_does_not_have_is_not_named() -> None:
    found = root(FLAG, rules=no_rules)
    assert (found["rule"], found["command"], found["undecidable"]) == (None, None, None)
    assert found["meaning"] is not None
    _, text = triage(FLAG, rules=no_rules)
    assert "no rule of this release decides this" in text


def test_the_first_rule_that_exists_is_taken_and_a_tombstone_is_none() -> None:
    def book(*rules) -> Rulebook:
        return Rulebook(tuple(rules))

    misplaced, flag = rule("PF509", "argument-misplaced"), rule("PF508", "flag-unknown")
    assert root(FLAG, rules=lambda: book(misplaced, flag))["rule"] == "PF508"
    refused = lines("usage: vllm serve", "vllm serve: error: the following arguments are required: model")
    assert root(refused, rules=lambda: book(flag))["rule"] == "PF508"
    assert root(refused, rules=lambda: book(flag, misplaced))["rule"] == "PF509"
    gone = rule("PF508", "flag-unknown", Status.REMOVED)
    assert root(FLAG, rules=lambda: book(gone))["rule"] is None


def test_a_rule_may_be_named_by_the_check_that_decides_it() -> None:
    other = replace(rule("PF507", "no-such-flag"), check="flag-unknown")
    assert root(FLAG, rules=lambda: Rulebook((other,)))["rule"] == "PF507"


def test_no_rulebook_is_read_for_what_no_static_check_can_decide() -> None:
    def none() -> Rulebook:
        raise AssertionError("it was loaded")

    assert root(LOGS / "oom-kill.log", rules=none)["undecidable"] == "memory"
    assert answer(LOGS / "healthy.log", rules=none)["root_cause"] is None


def test_the_command_of_a_refused_flag_keeps_the_flag() -> None:
    found = root(FLAG)
    assert found["command"] == "preflight check -- vllm serve MODEL --num-scheduler-steps 10"
    _, text = triage(FLAG)
    assert "complete it" in text


def test_the_command_out_of_a_log_that_preflight_kept_hides_secrets() -> None:
    command = root(LOGS / "our-own-launch.log")["command"]
    assert command.endswith("-- vllm serve /models/Kimi-K2.5 --tensor-parallel-size 8 --api-key '***'")


def test_arguments_of_all_kinds_become_flags() -> None:
    arguments = {
        "model": "/m",
        "enforce_eager": True,
        "enable_prefix_caching": False,
        "served_model_name": ["a", "b c"],
        "compilation_config": {"level": 3},
        "max_model_len": 8,
        "seed": None,
        "api_key": ["s3cret"],
    }
    log = lines(f"(APIServer pid=1) INFO 11-29 10:00:00 [u.py:1] non-default args: {arguments}", *_syntax_error())
    words = shlex.split(root(log)["command"])
    assert words[words.index("--") + 1 :] == [
        *("vllm", "serve", "/m", "--enforce-eager", "--no-enable-prefix-caching", "--served-model-name", "a", "b c"),
        *("--compilation-config", '{"level": 3}', "--max-model-len", "8", "--api-key", "***"),
    ]


def test_arguments_that_cannot_be_read_leave_the_model() -> None:
    namespace = (
        "INFO 04-22 17:52:14 [api_server.py:1044] args: Namespace(model_tag='/m', dispatch=<function f at 0x7f>)"
    )
    assert root(lines(namespace, *_syntax_error()))["command"].endswith("-- vllm serve /m")
    broken = "INFO 04-22 17:52:14 [api_server.py:1044] non-default args: {'model': <Enum>}"
    assert " -- " not in root(lines(broken, *_syntax_error()))["command"]


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["--api-key", "x", "y", "--port", "1"], ["--api-key", "***", "***", "--port", "1"]),
        (["--api_key=x", "--hf-token", "y"], ["--api_key=***", "--hf-token", "***"]),
        (["--ssl-keyfile", "k.pem", "--model", "m"], ["--ssl-keyfile", "k.pem", "--model", "m"]),
        (["--max-num-batched-tokens", "8"], ["--max-num-batched-tokens", "8"]),
        (["--num-speculative-tokens=5"], ["--num-speculative-tokens=5"]),
    ],
)
def test_secrets_are_hidden(words: list[str], shown: list[str]) -> None:
    assert redacted(words) == shown


def test_patched_or_not(tmp_path: Path) -> None:
    plain = make_tree(tmp_path / "plain", {MODEL: "x = 1\n"})
    patched = make_tree(tmp_path / "patched", {MODEL: "x = 1\n"}, {MODEL: "x = (\n"})
    assert root(SYNTAX)["patched"] is None
    assert root(SYNTAX, "--vllm-site-packages", str(plain))["patched"] is False
    found = root(SYNTAX, "--vllm-site-packages", str(patched))
    assert found["patched"] is True
    assert found["command"].startswith(f"preflight check --vllm-site-packages {patched} -- vllm serve")
    _, text = triage(SYNTAX, "--vllm-site-packages", str(patched))
    assert "(patched)" in text
    outside = lines("Traceback (most recent call last):", '  File "/srv/app.py", line 1, in f', "ValueError: v")
    assert root(outside, "--vllm-site-packages", str(patched))["patched"] is None


def test_a_tree_that_is_not_there_ends_the_command(tmp_path: Path) -> None:
    with pytest.raises(TreeError):
        triage(SYNTAX, "--vllm-site-packages", str(tmp_path / "none"))


def test_the_json_has_the_shape_of_the_contract() -> None:
    found = answer(SYNTAX)
    assert list(found)[:7] == ["format_version", "tool", "stage", "root_cause", "cascade", "noise", "launches"]
    assert found["tool"]["name"] == "preflight"
    contract = ["exception", "message", "path", "line", "process", "patched", "rule", "command", "log_line"]
    assert list(found["root_cause"])[:9] == contract
    assert {"pattern", "count"} <= found["noise"][0].keys()
    assert {"exception", "message", "path", "line", "process", "log_line"} <= found["cascade"][0].keys()
    for empty in (answer(b""), answer(LOGS / "healthy.log")):
        assert list(empty) == list(found)
        assert empty["root_cause"] is None


@pytest.mark.parametrize("path", sorted(LOGS.glob("*.log")), ids=lambda path: path.name)
def test_the_text_ends_with_one_sentence_and_shows_the_root_cause(path: Path) -> None:
    _, text = triage(path)
    found = answer(path)
    last = text.splitlines()[-1]
    assert last.endswith(".") and "\x1b" not in text
    cause = found["root_cause"]
    if cause is None:
        assert "no failure found" in last or not found["launches"]
        assert text.count("root cause:") == 0
        for noise in found["noise"] if found["state"] == "unfinished" else ():
            assert noise["text"][:30] in text
    else:
        assert text.startswith("root cause: ")
        assert f"log line {cause['log_line']}" in text
        assert (cause["exception"] or "an error").lower() in last.lower()
        if cause["path"] is not None:
            assert f"{cause['path']}:{cause['line']}" in text


def test_colour_is_only_what_is_put_around_the_words() -> None:
    import argparse
    import io
    import re

    from preflight.triage.command import add_arguments, run

    parser = argparse.ArgumentParser()
    add_arguments(parser)
    texts = []
    for colour in (False, True):
        out = io.StringIO()
        arguments = parser.parse_args([str(SYNTAX)])
        run(arguments, stdin=io.BytesIO(), stdout=out, environ={}, rules=all_rules, colour=colour, width=80)
        texts.append(out.getvalue())
    plain, coloured = texts
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain != coloured
    assert all(
        len(line) <= 80 or " " not in line.strip() or line.startswith("    preflight")
        for line in plain.splitlines()[:-1]
    )


def _syntax_error() -> list[str]:
    return [
        '  File "/opt/site-packages/vllm/b.py", line 7',
        "    x = (",
        "        ^",
        "SyntaxError: '(' was never closed",
    ]
