"""``python -m tests.public_deaths [ID...]``: launches that died in public, on the release that killed them and on one
that did not. What does not come out as it should is printed.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.popular_configs import POPULAR, Config
from tests.popular_others import EVERY
from tests.walk_cases import Said, say
from tests.walk_launches import DRAFTER, words_of


@dataclass(frozen=True, slots=True)
class Death:
    """A launch, and per release what an error must carry; None where the release takes it."""

    said: dict[str, str | None]
    target: Config
    flags: tuple[str, ...] = ()
    drafter: Config | None = None
    settings: dict[str, Any] | None = None
    assume: tuple[str, ...] = ("gpu-count=8,gpu-memory=141,capability=9.0,cpu-memory=2048,package=bitsandbytes",)


QWEN3, QWEN3_MOE, QWEN2 = (POPULAR[name][0] for name in ("qwen3-8b", "qwen3-30b-a3b", "qwen2.5-7b"))
SMALL = {**QWEN3, "hidden_size": 1024, "num_hidden_layers": 28, "num_attention_heads": 16, "intermediate_size": 3072}
MOE_DRAFT = {**DRAFTER, "hidden_size": 2048, "num_attention_heads": 32, "num_key_value_heads": 4, "vocab_size": 151936}
_QWEN3_DRAFT = {**MOE_DRAFT, "hidden_size": 4096, "num_key_value_heads": 8}
NARROW = {**QWEN2, "vocab_size": 151936, "hidden_size": 1536, "num_attention_heads": 12, "num_key_value_heads": 2}
_MLP = {
    "architectures": ["MLPSpeculatorPreTrainedModel"],
    "model_type": "mlp_speculator",
    "emb_dim": 4096,
    "inner_dim": 4096,
    "n_candidates": 5,
    "n_predict": 3,
    "scale_input": True,
    "tie_weights": True,
    "top_k_tokens_per_head": [4, 3, 2],
    "torch_dtype": "bfloat16",
    "vocab_size": 128256,
}
_QWEN3_VL = EVERY["qwen3-vl-8b"][0]
_QWEN3_VL_MOE = {
    **_QWEN3_VL,
    "architectures": ["Qwen3VLMoeForConditionalGeneration"],
    "model_type": "qwen3_vl_moe",
    "text_config": {
        "model_type": "qwen3_vl_moe_text",
        "attention_bias": False,
        "attention_dropout": 0.0,
        "bos_token_id": 151643,
        "decoder_sparse_step": 1,
        "dtype": "bfloat16",
        "eos_token_id": 151645,
        "head_dim": 128,
        "hidden_act": "silu",
        "hidden_size": 4096,
        "initializer_range": 0.02,
        "intermediate_size": 12288,
        "max_position_embeddings": 262144,
        "mlp_only_layers": [],
        "moe_intermediate_size": 1536,
        "norm_topk_prob": True,
        "num_attention_heads": 64,
        "num_experts": 128,
        "num_experts_per_tok": 8,
        "num_hidden_layers": 94,
        "num_key_value_heads": 4,
        "rms_norm_eps": 1e-06,
        "rope_scaling": {"mrope_interleaved": True, "mrope_section": [24, 20, 20], "rope_type": "default"},
        "rope_theta": 5000000,
        "use_cache": True,
        "vocab_size": 151936,
    },
    "vision_config": {**_QWEN3_VL["vision_config"], "model_type": "qwen3_vl_moe"},
}
_GEMMA4 = {
    "architectures": ["Gemma4ForConditionalGeneration"],
    "model_type": "gemma4",
    "dtype": "bfloat16",
    "audio_token_id": 258881,
    "boi_token_id": 255999,
    "eoi_token_id": 258882,
    "image_token_id": 258880,
    "tie_word_embeddings": True,
    "vision_soft_tokens_per_image": 280,
    "text_config": {
        "model_type": "gemma4_text",
        "attention_bias": False,
        "attention_k_eq_v": False,
        "dtype": "bfloat16",
        "enable_moe_block": False,
        "final_logit_softcapping": 30.0,
        "global_head_dim": 512,
        "head_dim": 256,
        "hidden_activation": "gelu_pytorch_tanh",
        "hidden_size": 2560,
        "hidden_size_per_layer_input": 256,
        "intermediate_size": 10240,
        "layer_types": (["sliding_attention"] * 5 + ["full_attention"]) * 7,
        "max_position_embeddings": 131072,
        "num_attention_heads": 8,
        "num_hidden_layers": 42,
        "num_key_value_heads": 2,
        "num_kv_shared_layers": 18,
        "rms_norm_eps": 1e-06,
        "rope_parameters": {
            "full_attention": {"partial_rotary_factor": 0.25, "rope_theta": 1000000.0, "rope_type": "proportional"},
            "sliding_attention": {"rope_theta": 10000.0, "rope_type": "default"},
        },
        "sliding_window": 512,
        "tie_word_embeddings": True,
        "vocab_size": 262144,
        "vocab_size_per_layer_input": 262144,
    },
    "vision_config": {
        "model_type": "gemma4_vision",
        "head_dim": 64,
        "hidden_activation": "gelu_pytorch_tanh",
        "hidden_size": 768,
        "intermediate_size": 3072,
        "num_attention_heads": 12,
        "num_hidden_layers": 16,
        "num_key_value_heads": 12,
        "patch_size": 16,
        "pooling_kernel_size": 3,
        "position_embedding_size": 10240,
    },
}
MAMBA2: Config = {
    "architectures": ["Mamba2ForCausalLM"],
    "model_type": "mamba2",
    "torch_dtype": "bfloat16",
    "chunk_size": 256,
    "expand": 2,
    "head_dim": 64,
    "hidden_size": 4096,
    "n_groups": 8,
    "num_heads": 128,
    "num_hidden_layers": 64,
    "state_size": 128,
    "vocab_size": 32768,
}
_DEEPSEEK4 = {
    "architectures": ["DeepseekV4ForCausalLM"],
    "model_type": "deepseek_v4",
    "torch_dtype": "bfloat16",
    "compress_ratios": [0, 0] + [4, 128] * 20 + [4, 0],
    "compress_rope_theta": 160000,
    "hc_eps": 1e-06,
    "hc_mult": 4,
    "hc_sinkhorn_iters": 20,
    "head_dim": 512,
    "hidden_act": "silu",
    "hidden_size": 4096,
    "index_head_dim": 128,
    "index_n_heads": 64,
    "index_topk": 512,
    "initializer_range": 0.02,
    "max_position_embeddings": 1048576,
    "moe_intermediate_size": 2048,
    "n_routed_experts": 256,
    "n_shared_experts": 1,
    "norm_topk_prob": True,
    "num_attention_heads": 64,
    "num_experts_per_tok": 6,
    "num_hash_layers": 3,
    "num_hidden_layers": 43,
    "num_key_value_heads": 1,
    "num_nextn_predict_layers": 1,
    "o_groups": 8,
    "o_lora_rank": 1024,
    "q_lora_rank": 1024,
    "qk_rope_head_dim": 64,
    "quantization_config": {
        "activation_scheme": "dynamic",
        "fmt": "e4m3",
        "quant_method": "fp8",
        "scale_fmt": "ue8m0",
        "weight_block_size": [128, 128],
    },
    "rms_norm_eps": 1e-06,
    "rope_scaling": {
        "beta_fast": 32,
        "beta_slow": 1,
        "factor": 16,
        "original_max_position_embeddings": 65536,
        "type": "yarn",
    },
    "rope_theta": 10000,
    "routed_scaling_factor": 1.5,
    "scoring_func": "sqrtsoftplus",
    "sliding_window": 128,
    "swiglu_limit": 10.0,
    "topk_method": "noaux_tc",
    "vocab_size": 129280,
}
_MISTRAL3 = {
    "architectures": ["MistralLarge3ForCausalLM"],
    "model_type": "deepseek_v3",
    "torch_dtype": "bfloat16",
    "first_k_dense_replace": 3,
    "hidden_act": "silu",
    "hidden_size": 7168,
    "intermediate_size": 16384,
    "kv_lora_rank": 512,
    "llama_4_scaling": {"original_max_position_embeddings": 8192, "beta": 0.1},
    "max_position_embeddings": 262144,
    "moe_intermediate_size": 4096,
    "moe_layer_freq": 1,
    "n_group": 1,
    "n_routed_experts": 128,
    "n_shared_experts": 1,
    "norm_topk_prob": True,
    "num_attention_heads": 128,
    "num_experts_per_tok": 4,
    "num_hidden_layers": 61,
    "num_key_value_heads": 128,
    "q_lora_rank": 1536,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "rms_norm_eps": 1e-6,
    "rope_parameters": {
        "rope_type": "yarn",
        "rope_theta": 10000.0,
        "factor": 36.0,
        "original_max_position_embeddings": 8192,
        "beta_fast": 32.0,
        "beta_slow": 1.0,
        "mscale_all_dim": 1,
        "apply_yarn_scaling": False,
    },
    "routed_scaling_factor": 1.0,
    "scoring_func": "softmax",
    "tie_word_embeddings": False,
    "topk_group": 1,
    "topk_method": None,
    "v_head_dim": 128,
    "vocab_size": 131072,
}

EAGLE3 = {"method": "eagle3", "num_speculative_tokens": 2}
DEATHS: dict[str, Death] = {
    "B01": Death(
        {"0.10.2": "Model does not support EAGLE3 interface", "0.11.0": "EAGLE3 interface", "0.12.0": None},
        QWEN3_MOE,
        ("--enforce-eager",),
        MOE_DRAFT,
        EAGLE3,
    ),
    "B05": Death(
        {"0.8.5": "Eagle3 is only", "0.9.2": "Eagle3 is only", "0.10.0": "Eagle3 is only supported", "0.11.0": None},
        QWEN3,
        (),
        _QWEN3_DRAFT,
        EAGLE3,
    ),
    # the first release that takes a drafter of its own without a method has number 0.18
    "B06": Death(
        {"0.13.0": "draft model is not supported yet", "0.14.0": "draft model is not supported yet", "0.18.1": None},
        QWEN3,
        (),
        SMALL,
        {},
    ),
    "B08": Death(
        {"0.10.2": "['EagleQwen2ForCausalLM'] are not supported", "0.33.0": "EagleQwen2ForCausalLM"},
        QWEN2,
        (),
        {**QWEN2, "num_hidden_layers": 1},
        {"method": "eagle", "draft_tensor_parallel_size": 1, "num_speculative_tokens": 4},
    ),
    "B11": Death(
        # the next release reads no heads of it, and has no such drafter any more
        {"0.16.0": "num_attention_heads", "0.17.1": "num_attention_heads", "0.18.1": "MLPSpeculatorPreTrainedModel"},
        POPULAR["llama-3.1-8b"][0],
        (),
        _MLP,
        {},
    ),
    "B12": Death(
        {"0.14.0": "image_token_index", "0.15.1": None},
        _QWEN3_VL_MOE,
        ("-tp", "2", "-dp", "4", "--enable-expert-parallel"),
        {**MOE_DRAFT, "hidden_size": 4096},
        EAGLE3,
    ),
    "B16": Death(
        # the drafter makes itself without its base's __init__, and loads its weights as the base does
        {"0.21.0": "no attribute 'use_mha'", "0.23.0": "no attribute 'use_mha'", "0.24.0": None},
        _MISTRAL3,
        ("-tp", "1"),
        {**_MISTRAL3, "num_hidden_layers": 2},
        {"method": "eagle"},
        ("gpu-count=1,gpu-memory=2000,capability=9.0,cpu-memory=2048",),
    ),
    "B19": Death(
        {"0.16.0": "same vocabulary size", "0.18.1": "same vocabulary size", "0.20.2": "same vocabulary size"},
        QWEN2,
        (),
        NARROW,
        {"method": "draft_model"},
    ),
    "B40": Death(
        {"0.19.1": "does not support LoRA yet", "0.20.2": None},
        _GEMMA4,
        ("--enable-lora", "--lora-modules", "a=/nowhere/a"),
    ),
    "B42": Death(
        {"0.20.2": "does not support BitsAndBytes", "0.30.0": "bitsandbytes"},
        MAMBA2,
        ("--quantization", "bitsandbytes"),
    ),
    "B48": Death(
        {"0.28.0": "must be divisible by", "0.30.0": "must be divisible by"},
        _DEEPSEEK4,
        ("-tp", "3", "--enable-expert-parallel"),
    ),
    "B48-4": Death(
        {"0.28.0": None, "0.30.0": None},
        _DEEPSEEK4,
        ("-tp", "4", "--enable-expert-parallel", "--kv-cache-dtype", "fp8"),
    ),
    "B50": Death(
        {"0.9.2": None, "0.10.0": "--enable-reasoning"},
        QWEN3,
        ("--enable-reasoning", "--reasoning-parser", "deepseek_r1"),
    ),
    "B52": Death(
        {"0.13.0": "--enable-logging-iteration-details", "0.14.0": None},
        QWEN3,
        ("--enable-logging-iteration-details",),
    ),
}


def launched(version: str, death: Death) -> Said:
    """What is said of the launch."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        settings = None if death.settings is None else {"num_speculative_tokens": 3, **death.settings}
        words = words_of(folder, death.target, *death.flags, drafter=death.drafter, settings=settings)
        return say(version, folder, words, death.assume)


def main() -> None:
    """Each launch on each of its releases."""
    for name in sys.argv[1:] or DEATHS:
        for version, part in DEATHS[name].said.items():
            said = launched(version, DEATHS[name])
            right = said.verdict == "clear" if part is None else any(part in error for error in said.errors)
            print(f"{name} {version} {'as it should' if right else 'WRONG'}: {said.verdict} in {said.seconds:.1f}s")
            if not right or len(said.errors) > 1:
                for text in (*said.errors, *said.open):
                    print("   said:", " ".join(text.split())[:300])
            sys.stdout.flush()


if __name__ == "__main__":
    main()
