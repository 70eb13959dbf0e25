"""Whole launches on released trees: the incident in every state, and flags that do not fit a config."""

from __future__ import annotations

import pytest
from walk_launches import (
    LLAMA,
    LLAMA_MODEL,
    launch,
    line_of,
    places,
    replaced,
    source,
)

from preflight.model import Fault
from preflight.walk.ids import ASSERTION, RAISES
from preflight.walk.report import faults
from preflight.walk.values import Instance

pytestmark = pytest.mark.real


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


def test_a_method_that_no_list_of_the_release_has_is_one_fault() -> None:
    found = launch("0.16.0", LLAMA, "-q", "fp9")
    assert [(name, path) for name, path, _line in places(found)] == [("ValidationError", "vllm/config/model.py")]


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
