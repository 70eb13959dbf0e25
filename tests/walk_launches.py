"""Launches for the tests of the walk: a released tree with changes laid over it, a model's config, flags."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from preflight.checks.first_pass import asked_about
from preflight.program import Program
from preflight.tree import TreeRequest, open_tree
from preflight.walk.assumptions import Assumptions
from preflight.walk.files import FOLDER, Files
from preflight.walk.result import Scope, Walk
from preflight.walk.stages import walk_launch
from preflight.walk.world import ProgramWorld
from tests.trees import released, transformers

#: the transformers that a release was made with
TRANSFORMERS = {"0.16.0": "4.57.6", "0.18.1": "4.57.6", "0.20.2": "4.57.6", "0.33.0": "5.24.0"}
TARGET: dict[str, Any] = {
    "architectures": ["KimiK25ForConditionalGeneration"],
    "model_type": "kimi_k25",
    "media_placeholder_token_id": 163605,
    "vision_config": {
        "model_type": "kimi_k25_vision",
        "patch_size": 14,
        "vt_num_hidden_layers": 27,
        "vt_hidden_size": 1152,
        "vt_num_attention_heads": 16,
    },
    "text_config": {
        "architectures": ["DeepseekV3ForCausalLM"],
        "model_type": "kimi_k2",
        "hidden_size": 7168,
        "num_hidden_layers": 61,
        "num_attention_heads": 64,
        "num_key_value_heads": 64,
        "n_routed_experts": 384,
        "n_shared_experts": 1,
        "num_experts_per_tok": 8,
        "first_k_dense_replace": 1,
        "q_lora_rank": 1536,
        "kv_lora_rank": 512,
        "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64,
        "v_head_dim": 128,
        "moe_intermediate_size": 2048,
        "intermediate_size": 18432,
        "n_group": 1,
        "topk_group": 1,
        "topk_method": "noaux_tc",
        "scoring_func": "sigmoid",
        "norm_topk_prob": True,
        "routed_scaling_factor": 2.827,
        "vocab_size": 163840,
        "max_position_embeddings": 262144,
        "rope_theta": 50000.0,
        "rope_scaling": {
            "type": "yarn",
            "factor": 64.0,
            "original_max_position_embeddings": 4096,
            "beta_fast": 32.0,
            "beta_slow": 1.0,
            "mscale": 1.0,
            "mscale_all_dim": 1.0,
        },
        "torch_dtype": "bfloat16",
    },
    "torch_dtype": "bfloat16",
}
DRAFTER: dict[str, Any] = {
    "architectures": ["LlamaForCausalLMEagle3"],
    "model_type": "llama",
    "num_hidden_layers": 1,
    "hidden_size": 7168,
    "num_attention_heads": 64,
    "num_key_value_heads": 64,
    "head_dim": 128,
    "intermediate_size": 18432,
    "draft_vocab_size": 32000,
    "vocab_size": 163840,
    "max_position_embeddings": 262144,
    "torch_dtype": "bfloat16",
}
LLAMA: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "num_hidden_layers": 4,
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 11008,
    "vocab_size": 32000,
    "max_position_embeddings": 8192,
    "torch_dtype": "bfloat16",
}
EAGLE3 = '{"method": "eagle3", "model": "/models/drafter", "num_speculative_tokens": 5}'
KIMI = ("--tensor-parallel-size", "8", "--trust-remote-code")

LLAMA_MODEL = "vllm/model_executor/models/llama.py"
SPECULATIVE = "vllm/config/speculative.py"
DRAFTING = "vllm/v1/spec_decode/eagle.py"
RUNNER = "vllm/v1/worker/gpu_model_runner.py"
KIMI_MODEL = "vllm/model_executor/models/kimi_k25.py"
DEEPSEEK = "vllm/model_executor/models/deepseek_v2.py"
SPECULATION = ("--speculative-config", EAGLE3)


def words_of(
    folder: Path,
    target: dict[str, Any],
    *flags: str,
    drafter: dict[str, Any] | None = None,
    settings: dict[str, Any] | None = None,
) -> list[str]:
    """The words of a launch whose checkpoints are written to ``folder``; ``settings`` are those of its drafter, none
    for a launch that does not speculate."""
    for name, config in (("target", target), ("drafter", drafter)):
        if config is not None:
            (folder / name).mkdir()
            (folder / name / "config.json").write_text(json.dumps(config))
    words = ["vllm", "serve", str(folder / "target"), *flags]
    if settings is not None:
        words += ["--speculative-config", json.dumps({"model": str(folder / "drafter"), **settings})]
    return words


def launch(
    version: str,
    config: dict[str, Any],
    *flags: str,
    overlay: dict[str, bytes] | None = None,
    construct: bool = False,
) -> Walk:
    """Walk ``vllm serve`` of a model with these flags, on a release with files laid over it: to the engine config, or
    with ``construct`` on to the first run of what is built."""
    tree = open_tree(TreeRequest(site_packages=str(released(version))), {})
    if overlay:
        tree = tree.with_overlay(overlay)
    library = transformers(TRANSFORMERS[version])
    program = Program(_with_package(tree, library))
    world = ProgramWorld(program)
    files = Files()
    for name, content in (("model", config), ("drafter", DRAFTER)):
        files.add(f"/models/{name}", FOLDER)
        files.add_json(f"/models/{name}/config.json", content)
    assumptions = Assumptions(
        gpu_count=8,
        gpu_memory=141,
        cpu_memory=2048,
        absent=frozenset({"bitsandbytes", "modelscope", "libtpu"}),
        present=program.requirements.required(),
        versions={"vllm": version, "transformers": TRANSFORMERS[version], "torch": "2.9.1"},
    )
    asked = asked_about(frozenset(overlay or ()), lambda: program) if construct else None
    scope = Scope(construct=construct, first_pass=asked)
    return walk_launch(world, ["--model", "/models/model", *flags], files, assumptions, scope)


def _with_package(tree: Any, folder: Any) -> Any:
    from dataclasses import replace

    return replace(tree, packages=(folder,))


def places(walk: Walk) -> list[tuple[str, str, int]]:
    """The faults that a walk found: exception, file, line."""
    return [
        (found.exit.cls.name if found.exit.cls is not None else "?", found.exit.place.path, found.exit.place.line)
        for found in walk.found
    ]


def source(version: str, path: str) -> str:
    """A file of a release."""
    return (released(version) / path).read_text()


def replaced(text: str, *pairs: tuple[str, str]) -> bytes:
    """``text`` with each pair replaced once; each must be there."""
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text.encode()


def line_of(text: str, part: str) -> int:
    """The line on which ``part`` begins."""
    return text[: text.index(part)].count("\n") + 1


# --- the patches of the incident, one after the other ---


def listed() -> dict[str, bytes]:
    """The patch of the first fault: the model type is in the white list."""
    return {
        SPECULATIVE: replaced(
            source("0.16.0", SPECULATIVE), ('"afmoe",\n        ]', '"afmoe",\n            "kimi_k2",\n        ]')
        )
    }


def token() -> dict[str, bytes]:
    """And that of the second: the drafter takes the name that this config has."""
    old = (
        "            else:\n                self.model.config.image_token_index = (\n"
        "                    target_model.config.image_token_index"
    )
    new = (
        '            elif self.get_model_name(target_model) == "KimiK25ForConditionalGeneration":\n'
        "                self.model.config.image_token_index = target_model.config.media_placeholder_token_id\n"
    )
    return {**listed(), DRAFTING: replaced(source("0.16.0", DRAFTING), (old, new + old))}


def interface() -> dict[str, bytes]:
    """And that of the third: both model classes have the interface."""
    kimi = replaced(
        source("0.16.0", KIMI_MODEL),
        ("SupportsMultiModal,", "SupportsEagle3, SupportsMultiModal,"),
        (
            "SupportsMultiModal, SupportsPP, SupportsQuant\n",
            "SupportsMultiModal, SupportsPP, SupportsQuant, SupportsEagle3\n",
        ),
    )
    deepseek = replaced(
        source("0.16.0", DEEPSEEK),
        ("import MixtureOfExperts, SupportsEagle,", "import MixtureOfExperts, SupportsEagle, SupportsEagle3,"),
        ("SupportsLoRA, SupportsEagle\n", "SupportsLoRA, SupportsEagle, SupportsEagle3\n"),
    )
    return {**token(), KIMI_MODEL: kimi, DEEPSEEK: deepseek}
