"""Launches on released trees, as a user checks them: the incident in every state, and what many launch every day."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from preflight.cli import main
from tests.popular_configs import POPULAR
from tests.walk_launches import (
    DEEPSEEK,
    DRAFTER,
    DRAFTING,
    RUNNER,
    SPECULATIVE,
    TARGET,
    interface,
    line_of,
    listed,
    source,
    token,
)

pytestmark = pytest.mark.real

WHITE_LIST = line_of(source("0.16.0", SPECULATIVE), 'raise ValueError(\n                f"Eagle3 is only supported')
INDEX = source("0.16.0", DRAFTING).splitlines().index("                    target_model.config.image_token_index") + 1
INTERFACE = line_of(
    source("0.16.0", RUNNER), 'raise RuntimeError(\n                            "Model does not support EAGLE3'
)
ONE = ("PF601", SPECULATIVE, WHITE_LIST)
TWO = ("PF401", DRAFTING, INDEX)
THREE = ("PF601", RUNNER, INTERFACE)
FOUR = ("PF101", DEEPSEEK, 83)


def malformed() -> dict[str, bytes]:
    """All patches, the import of the last one without its parentheses."""
    changes = interface()
    before, name, behind = changes[DEEPSEEK].partition(b" SupportsEagle3,")
    return {**changes, DEEPSEEK: before + b"\n   " + name + b"\n   " + behind}


def check(
    capsys: pytest.CaptureFixture[str], folder: Path, *words: str, overlay: dict[str, bytes] | None = None
) -> dict[str, Any]:
    """The report of a check of ``vllm serve`` with these words; the overlay is written to a folder beside it."""
    options: list[str] = []
    for path, data in (overlay or {}).items():
        file = folder / "overlay" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        options = ["--overlay", str(folder / "overlay")]
    split = words.index("serve") - 1
    main(["check", *words[:split], *options, "--output-format", "json", "--", *words[split:]])
    return json.loads(capsys.readouterr().out)


def errors(report: dict[str, Any]) -> list[tuple[str, str, int]]:
    return [(f["rule"], f["path"], f["line"]) for f in report["findings"] if f["severity"] == "error"]


def incident(folder: Path, speculates: bool) -> list[str]:
    """The words of the incident's launch, its checkpoints in ``folder``."""
    for name, config in (("target", TARGET), ("drafter", DRAFTER)):
        (folder / name).mkdir()
        (folder / name / "config.json").write_text(json.dumps(config))
    words = ["vllm", "serve", str(folder / "target"), "--tensor-parallel-size", "8", "--trust-remote-code"]
    if speculates:
        settings = {"method": "eagle3", "model": str(folder / "drafter"), "num_speculative_tokens": 5}
        words += ["--speculative-config", json.dumps(settings)]
    return words


@pytest.mark.parametrize(
    ("version", "patch", "speculating", "plain"),
    [
        pytest.param("0.16.0", dict, [ONE, TWO, THREE], [], id="released"),
        pytest.param("0.16.0", listed, [TWO, THREE], [], id="listed"),
        pytest.param("0.16.0", token, [THREE], [], id="token"),
        pytest.param("0.16.0", malformed, [FOUR], [FOUR], id="malformed"),
        pytest.param("0.16.0", interface, [], [], id="repaired"),
        pytest.param("0.18.1", dict, [], [], id="0.18.1"),
        pytest.param("0.20.2", dict, [], [], id="0.20.2"),
        pytest.param("0.33.0", dict, [], [], id="0.33.0"),
    ],
)
@pytest.mark.parametrize("speculates", [True, False], ids=["eagle3", "plain"])
def test_the_table_of_the_incident(
    version: str, patch: Any, speculating: list[Any], plain: list[Any], speculates: bool, tmp_path: Path, capsys: Any
) -> None:
    report = check(capsys, tmp_path, "--vllm", version, *incident(tmp_path, speculates), overlay=patch())
    wanted = speculating if speculates else plain
    assert errors(report) == wanted
    assert report["verdict"] == ("would-not-launch" if wanted else "clear")


@pytest.mark.parametrize("name", POPULAR)
@pytest.mark.parametrize("version", ["0.12.0", "0.18.1", "0.26.0", "0.33.0"])
def test_popular_models_are_clear(name: str, version: str, tmp_path: Path, capsys: Any) -> None:
    config, flags = POPULAR[name]
    (tmp_path / "config.json").write_text(json.dumps(config))
    report = check(capsys, tmp_path, "--vllm", version, "vllm", "serve", str(tmp_path), *flags)
    assert errors(report) == []
    assert report["error"] is None
