"""A miniature vLLM that can be launched: a parser, engine arguments, a config made of config.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from minitree import make_tree

from preflight.cli import main
from preflight.rulebook import load_rulebook

ENGINE = "vllm/engine/arg_utils.py"


def files() -> dict[str, str]:
    """The files of the miniature: those of the example of a launch that is clear."""
    rule = load_rulebook().find("PF402")
    assert rule is not None
    return dict(rule.examples[0].release)


def engine(*body: str) -> str:
    """The engine arguments, with more statements before the config is made."""
    text = files()[ENGINE]
    before, last, behind = text.partition("        return VllmConfig(")
    return before + "".join(f"        {line}\n" for line in body) + last + behind


def check_launch(
    folder: Path,
    capsys: Any,
    *words: str,
    patch: dict[str, str] | None = None,
    config: Any = None,
    release: dict[str, str] | None = None,
) -> tuple[int, dict[str, Any]]:
    """Check a launch of the miniature in ``folder``: the exit code and the report. ``patch`` are changed files,
    ``release`` those that the release has besides, or in another way."""
    tree = make_tree(folder, {**files(), **(release or {})}, patch or {})
    model = folder / "toy"
    model.mkdir(parents=True)
    facts = {"architectures": ["ToyForCausalLM"], "num_attention_heads": 8, "media_token_id": 7}
    (model / "config.json").write_text(json.dumps(facts if config is None else config))
    launch = () if "--" in words else ("--model", str(model))
    code = main(["check", "--vllm-site-packages", str(tree), "--output-format", "json", *launch, *words])
    return code, json.loads(capsys.readouterr().out)
