"""The effective state of launches on a released tree."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from preflight.cli import main
from tests.trees import released
from tests.walk_launches import DRAFTER, TARGET

pytestmark = pytest.mark.real

LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "vocab_size": 1000,
    "max_position_embeddings": 2048,
    "torch_dtype": "bfloat16",
}


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    released("0.16.0")
    assert main(["show", "--vllm", "0.16.0", "--output-format", "json", *words]) == 0
    return json.loads(capsys.readouterr().out)


def checkpoint(folder: Path, config: dict[str, Any]) -> str:
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    return str(folder)


def test_a_tree_alone(capsys: pytest.CaptureFixture[str]) -> None:
    state = shown(capsys)
    assert (state["tree"]["vllm"], state["tree"]["patched"], state["launch"], state["model"]) == (
        "0.16.0", [], None, None,
    )  # fmt: skip


def test_a_model_with_its_class_and_the_origin_of_its_values(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = shown(capsys, "--", "vllm", "serve", checkpoint(tmp_path / "m", LLAMA), "-tp", "2")
    model = state["model"]
    assert model["class"] == "vllm.model_executor.models.llama:LlamaForCausalLM"
    assert model["mro"][0] == "vllm.model_executor.models.llama.LlamaForCausalLM"
    assert "SupportsPP" in model["interfaces"]
    values = {value["name"]: (value["value"], value["origin"]) for value in model["config"]}
    assert values["hidden_size"] == (256, "config.json: hidden_size")
    assert values["head_dim"][0] == 32  # no file says it: transformers computes it
    assert values["head_dim"][1] == "computed from config.json: hidden_size, config.json: num_attention_heads"
    assert state["parallel"]["tp"] == 2
    assert state["drafter"] is None


def test_a_drafter(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target, drafter = checkpoint(tmp_path / "t", TARGET), checkpoint(tmp_path / "d", DRAFTER)
    settings = json.dumps({"method": "eagle3", "model": drafter, "num_speculative_tokens": 3})
    state = shown(
        capsys, "--", "vllm", "serve", target, "-tp", "8", "--trust-remote-code", "--speculative-config", settings
    )
    assert state["model"]["architecture"] == "KimiK25ForConditionalGeneration"
    assert {value["name"] for value in state["model"]["config"]} >= {"media_placeholder_token_id"}
    assert state["drafter"]["class"].startswith("vllm.")
    assert "launch-ends" in {question["id"] for question in state["undecided"]}  # the white list of 0.16.0


def test_the_text_has_the_same_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = checkpoint(tmp_path / "m", LLAMA)
    assert main(["show", "--vllm", "0.16.0", "--", "vllm", "serve", model]) == 0
    text = capsys.readouterr().out
    for part in ("hidden_size = 256 (config.json: hidden_size)", "llama:LlamaForCausalLM", "SupportsPP", "tp=1"):
        assert part in text
    assert main(["show", "--vllm", "0.16.0", "--verbose", "--", "vllm", "serve", model]) == 0
    assert len(capsys.readouterr().out) > len(text)
