"""`--require` on released vLLM, whose interface of EAGLE-3 has had three forms."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from preflight.cli import main
from tests.trees import released

pytestmark = pytest.mark.real

MODELS = "vllm/model_executor/models"
MEMBERS = {"set_aux_hidden_state_layers", "get_eagle3_aux_hidden_state_layers"}
#: release, architecture, and the members that it lacks; None: it has the interface
STATES = [
    ("0.10.2", "LlamaForCausalLM", None),
    ("0.10.2", "GemmaForCausalLM", MEMBERS),
    ("0.12.0", "MistralForCausalLM", None),
    ("0.12.0", "GemmaForCausalLM", MEMBERS),
    ("0.18.1", "KimiK25ForConditionalGeneration", None),
    ("0.20.2", "KimiK25ForConditionalGeneration", None),
    ("0.20.2", "GemmaForCausalLM", set()),
    ("0.26.0", "KimiK25ForConditionalGeneration", None),
    ("0.33.0", "KimiK25ForConditionalGeneration", None),
    ("0.33.0", "GemmaForCausalLM", set()),
]


def check(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict]:
    code = main(["check", *words, "--output-format", "json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(("version", "architecture", "lacks"), STATES)
def test_a_release_has_it_or_names_what_is_missing(
    capsys: pytest.CaptureFixture[str], version: str, architecture: str, lacks: set[str] | None
) -> None:
    code, report = check(capsys, "--vllm", version, "--require", f"SupportsEagle3={architecture}")
    if lacks is None:
        assert (code, report["findings"]) == (0, [])
        return
    (finding,) = report["findings"]
    assert (code, finding["rule"], finding["severity"]) == (1, "PF310", "error")
    assert {value["name"] for value in finding["values"]} == {f"SupportsEagle3.{name}" for name in lacks}
    lines = (released(version) / finding["path"]).read_text().splitlines()
    assert lines[finding["line"] - 1].startswith(f"class {architecture}(")
    examples = [step for step in finding["trail"] if step["path"] != f"{MODELS}/interfaces.py"]
    assert examples and all((released(version) / step["path"]).is_file() for step in examples)


@pytest.mark.parametrize(
    ("version", "demand", "near"),
    [
        ("0.8.5", "SupportsEagle3=LlamaForCausalLM", "SupportsLoRA"),
        ("0.16.0", "SupportsEagel3", "SupportsEagle3"),
        ("0.16.0", "SupportsEagle3=KimiK25ForConditionalGeneratoin", "KimiK25ForConditionalGeneration"),
    ],
)
def test_what_the_tree_does_not_have_cannot_be_demanded(
    capsys: pytest.CaptureFixture[str], version: str, demand: str, near: str
) -> None:
    code, report = check(capsys, "--vllm", version, "--require", demand)
    assert (code, report["verdict"], report["findings"]) == (2, "not-checked", [])
    assert near in report["error"]["help"]


@pytest.mark.parametrize(("version", "model"), [("0.20.2", "Arcee"), ("0.33.0", "Granite")])
def test_a_model_inside_without_the_part_that_the_interface_asserts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], version: str, model: str
) -> None:
    path = f"{MODELS}/{model.lower()}.py"
    text = (released(version) / path).read_text()
    spoilt = text.replace(f"class {model}Model(nn.Module, EagleModelMixin)", f"class {model}Model(nn.Module)")
    assert spoilt != text
    file = tmp_path / path
    file.parent.mkdir(parents=True)
    file.write_text(spoilt)
    words = ("--vllm", version, "--overlay", str(tmp_path))
    code, report = check(capsys, *words, "--require", f"SupportsEagle3={model}ForCausalLM")
    assert code == 1
    places = {
        (finding["rule"], spoilt.splitlines()[finding["line"] - 1].partition("(")[0])
        for finding in report["findings"]
        if finding["severity"] == "error"
    }
    assert ("PF308", f"class {model}ForCausalLM") in places
