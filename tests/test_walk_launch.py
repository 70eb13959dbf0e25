"""Whole launches on released trees: the incident in every state, and flags that do not fit a config."""

from __future__ import annotations

import pytest
from walk_launches import (
    DRAFTING,
    KIMI,
    LLAMA,
    LLAMA_MODEL,
    RUNNER,
    SPECULATION,
    SPECULATIVE,
    TARGET,
    interface,
    launch,
    line_of,
    listed,
    places,
    replaced,
    source,
    token,
)

from preflight.model import Fault
from preflight.walk.report import ASSERTION, ATTRIBUTE, RAISES, faults
from preflight.walk.values import Instance

pytestmark = pytest.mark.real


def test_the_release_has_all_three_faults_of_the_incident_in_one_run() -> None:
    found = launch("0.16.0", TARGET, *KIMI, *SPECULATION)
    white_list = line_of(source("0.16.0", SPECULATIVE), 'raise ValueError(\n                f"Eagle3 is only supported')
    index = (
        source("0.16.0", DRAFTING).splitlines().index("                    target_model.config.image_token_index") + 1
    )
    interface = line_of(
        source("0.16.0", RUNNER), 'raise RuntimeError(\n                            "Model does not support EAGLE3'
    )
    assert places(found) == [
        ("ValidationError", SPECULATIVE, white_list),
        ("AttributeError", DRAFTING, index),
        ("RuntimeError", RUNNER, interface),
    ]
    told = [fault for fault in faults(found, frozenset()) if isinstance(fault, Fault)]
    assert [fault.check for fault in told] == [RAISES, ATTRIBUTE, RAISES]
    values = {value.name: value for value in told[0].values}
    assert values["self.target_model_config.hf_text_config.model_type"].value == "kimi_k2"
    assert values["self.target_model_config.hf_text_config.model_type"].origin == "config.json: text_config.model_type"
    assert told[1].help is not None
    assert "media_placeholder_token_id" in told[1].help
    assert told[2].trail[-1].path == RUNNER


@pytest.mark.parametrize(("patch", "left"), [(listed, [DRAFTING, RUNNER]), (token, [RUNNER]), (interface, [])])
def test_each_patch_leaves_the_faults_behind_it(patch, left) -> None:
    assert [
        path for _error, path, _line in places(launch("0.16.0", TARGET, *KIMI, *SPECULATION, overlay=patch()))
    ] == left


@pytest.mark.parametrize("version", ["0.18.1", "0.33.0"])
def test_releases_with_the_fix_are_clear(version: str) -> None:
    found = launch(version, TARGET, *KIMI, *SPECULATION)
    assert places(found) == []
    assert found.runner is not None


def test_without_speculation_the_launch_is_clear() -> None:
    found = launch("0.16.0", TARGET, *KIMI)
    assert places(found) == []
    assert found.config is not None


@pytest.mark.parametrize(
    ("flags", "check", "said"),
    [
        (("--tensor-parallel-size", "3"), RAISES, "(32) must be divisible by tensor parallel size (3)"),
        (("--max-model-len", "1000000"), RAISES, "1000000"),
        (("--data-parallel-hybrid-lb",), ASSERTION, "data_parallel_size_local must be set"),
    ],
)
def test_flags_that_do_not_fit_are_told_with_their_values(flags, check, said) -> None:
    found = launch("0.16.0", LLAMA, *flags)
    told = [fault for fault in faults(found, frozenset()) if isinstance(fault, Fault)]
    assert [fault.check for fault in told][:1] == [check]
    assert said in told[0].message


def test_a_model_of_the_release_is_constructed() -> None:
    found = launch("0.16.0", LLAMA, "--skip-tokenizer-init", construct=True)
    assert places(found) == []
    assert isinstance(found.model, Instance)
    assert found.model.cls.name == "LlamaForCausalLM"


def test_a_config_read_that_was_renamed_is_found_at_its_line() -> None:
    text = source("0.16.0", LLAMA_MODEL)
    patched = replaced(
        text, ("intermediate_size=config.intermediate_size", "intermediate_size=config.intermediate_sizes")
    )
    found = launch("0.16.0", LLAMA, "--skip-tokenizer-init", construct=True, overlay={LLAMA_MODEL: patched})
    line = line_of(patched.decode(), "intermediate_size=config.intermediate_sizes")
    assert places(found)[0] == ("AttributeError", LLAMA_MODEL, line)
    told = [fault for fault in faults(found, frozenset()) if isinstance(fault, Fault)]
    assert told[0].help is not None
    assert "intermediate_size" in told[0].help


def test_a_key_that_the_model_needs_and_the_config_lacks_is_found() -> None:
    config = {name: value for name, value in LLAMA.items() if name != "num_attention_heads"} | {
        "num_attention_heads": None
    }
    assert places(launch("0.16.0", config, "--skip-tokenizer-init", construct=True))
