"""Launches on released trees, as a user checks them: the incident in every state, and what many launch every day."""

from __future__ import annotations

import gc
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from preflight.cli import main
from tests.popular_configs import POPULAR, Config
from tests.popular_others import OTHERS
from tests.public_deaths import MAMBA2, MOE_DRAFT, NARROW, QWEN2, QWEN3, QWEN3_MOE, SMALL
from tests.walk_cases import decisive, outcomes, say
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
    words_of,
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
    settings = {"method": "eagle3", "num_speculative_tokens": 5} if speculates else None
    flags = ("--tensor-parallel-size", "8", "--trust-remote-code")
    return words_of(folder, TARGET, *flags, drafter=DRAFTER, settings=settings)


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
    for finding in report["findings"]:
        if finding["rule"] == "PF401":  # what this config has instead
            assert "media_placeholder_token_id" in finding["help"]
    assert report["verdict"] == ("would-not-launch" if wanted else "clear")


def broken(version: str, *names: str) -> dict[str, bytes]:
    """Files of models, each with a line in front that is no Python."""
    paths = [f"vllm/model_executor/models/{name}.py" for name in names]
    return {path: b"def broken(:\n" + source(version, path).encode() for path in paths}


@pytest.mark.parametrize(
    ("version", "config", "loaded", "others"),
    [
        # of the wrapper's language model the launch loads the file by way of the registry, and what that imports
        pytest.param("0.16.0", TARGET, ["deepseek_v2"], ["qwen3", "deepseek_mtp"], id="nested"),
        pytest.param("0.33.0", POPULAR["llama-3.1-8b"][0], [], ["phi4mm", "phi4mm_audio"], id="others"),
        pytest.param("0.33.0", POPULAR["llama-3.1-8b"][0], ["llama"], ["qwen3_vl_moe"], id="its own"),
    ],
)
def test_a_file_that_the_launch_does_not_load_stops_it_not(
    version: str, config: Config, loaded: list[str], others: list[str], tmp_path: Path, capsys: Any
) -> None:
    words = words_of(tmp_path, config, "--trust-remote-code")
    report = check(capsys, tmp_path, "--vllm", version, *words, overlay=broken(version, *loaded, *others))
    found = {(Path(f["path"]).stem, f["severity"]) for f in report["findings"] if f["rule"] == "PF101"}
    assert found == {*((name, "error") for name in loaded), *((name, "warning") for name in others)}
    assert report["verdict"] == ("would-not-launch" if loaded else "clear")


_TESTS = itertools.count(1)


@pytest.fixture(autouse=True, scope="module")
def frozen() -> Iterator[None]:
    """What the tests before have left is not gone through again after each walk."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """A walk leaves much behind, and the tests to come should not have to keep it; to look for it takes seconds."""
    yield
    if next(_TESTS) % 4 == 0:
        gc.collect()


def said_of(folder: Path, version: str, target: Config, *flags: str, drafter: Config | None = None, **settings: Any):
    """What is said of a launch of ``target``; ``settings`` are those of the speculative config."""
    words = words_of(folder, target, *flags, drafter=drafter, settings=settings if drafter is not None else None)
    return say(version, folder, words)


RELEASES = ("0.12.0", "0.18.1", "0.26.0", "0.33.0")
#: every other model, each on one release (``python -m tests.popular_sweep`` runs all on all); the runs of one release
#: stand together
PAIRS = sorted((RELEASES[number % len(RELEASES)], name) for number, name in enumerate(list(POPULAR)[::2]))


@pytest.mark.parametrize(("version", "name"), PAIRS)
def test_popular_models_are_clear(version: str, name: str, tmp_path: Path) -> None:
    config, flags = POPULAR[name]
    said = said_of(tmp_path, version, config, *flags)
    assert said.errors == ()
    assert said.open == ()


@pytest.mark.parametrize("version", ["0.12.0", "0.33.0"])
@pytest.mark.parametrize(
    ("name", "flags", "part"),
    [
        ("llama-3.1-8b", ("--tensor-parallel-size", "3"), "must be divisible by tensor parallel size (3)"),
        ("qwen3-8b", ("--max-model-len", "1000000"), "max_model_len (1000000)"),
        ("mistral-7b", ("--quantization", "awq"), "Cannot find the config file for awq"),
    ],
)
def test_one_fault_put_in_is_found(version: str, name: str, flags: tuple[str, ...], part: str, tmp_path: Path) -> None:
    said = said_of(tmp_path, version, POPULAR[name][0], *flags)
    assert [error for error in said.errors if part in error]


OPT, KIMI = OTHERS["opt-125m"][0], OTHERS["kimi-k2"][0]


@pytest.mark.parametrize(
    ("version", "target", "drafter", "settings", "parts"),
    [
        # an interface that a model class lacked up to 0.11.0
        ("0.12.0", QWEN3_MOE, MOE_DRAFT, {"method": "eagle3"}, ()),
        # no method is inferred for a plain model as a drafter
        ("0.13.0", QWEN3, SMALL, {}, ("speculative.py:380 NotImplementedError",)),
        # the architecture is renamed before it is looked up
        (
            "0.12.0",
            QWEN2,
            {**QWEN2, "num_hidden_layers": 1},
            {"method": "eagle"},
            ("['EagleQwen2ForCausalLM'] are not",),
        ),
        # a drafter's layers have names of their own
        ("0.18.1", QWEN2, {**NARROW, "vocab_size": 152064}, {"method": "draft_model"}, ()),
        ("0.18.1", QWEN2, NARROW, {}, ("should have the same vocabulary size", "vocab_size=152064")),
        # the second model runner, which this release takes by default, asks the model itself
        ("0.33.0", OPT, {**DRAFTER, "vocab_size": 50272}, {"method": "eagle3"}, ("eagle3_utils.py:29 RuntimeError",)),
    ],
    ids=["interface", "whitelist", "registry", "draft-model", "draft-target", "second-runner"],
)
def test_launches_that_died_in_public(
    version: str, target: Config, drafter: Config, settings: Any, parts: tuple[str, ...], tmp_path: Path
) -> None:
    said = said_of(tmp_path, version, target, drafter=drafter, num_speculative_tokens=2, **settings)
    assert bool(said.errors) == bool(parts)
    for part in parts:
        assert part in said.errors[0]


def test_a_launch_on_the_engine_before_is_open_and_no_error(tmp_path: Path) -> None:
    """This release runs a drafter on its first engine, whose worker has another model runner than the one walked."""
    sizes = {"hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256}
    target = POPULAR["llama-3.1-8b"][0]
    said = said_of(tmp_path, "0.8.5", target, drafter={**DRAFTER, **sizes}, method="eagle3", num_speculative_tokens=2)
    assert said.errors == ()
    assert ["runner-not-walked" in question for question in said.open] == [True]


@pytest.mark.parametrize(
    ("version", "model", "flags", "part"),
    [
        # releases of another time, whose start-up code is written otherwise
        ("0.8.5", QWEN2, ("--tensor-parallel-size", "3"), "must be divisible by tensor parallel size (3)"),
        ("0.10.2", QWEN2, ("--max-model-len", "16384"), None),
        ("0.18.1", OTHERS["starcoder2-7b"][0], ("--enable-lora",), "Starcoder2ForCausalLM does not support LoRA yet"),
        ("0.18.1", QWEN3, ("--enable-lora",), None),
        ("0.20.2", MAMBA2, ("--quantization", "bitsandbytes"), "does not support BitsAndBytes quantization yet"),
    ],
    ids=["0.8.5", "0.10.2", "no-lora", "lora", "bitsandbytes"],
)
def test_what_is_asked_of_a_model(
    version: str, model: Config, flags: tuple[str, ...], part: str | None, tmp_path: Path
) -> None:
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "config.json").write_text(json.dumps(model))
    said = say(version, tmp_path, ["vllm", "serve", str(tmp_path / "target"), *flags], ("package=bitsandbytes",))
    assert said.open == ()
    assert bool(said.errors) == (part is not None)
    assert part is None or part in said.errors[0]


OWN = {
    **{key: value for key, value in QWEN3.items() if key != "num_key_value_heads"},
    "architectures": ["OwnForCausalLM"],
    "model_type": "own",
    "auto_map": {"AutoConfig": "configuration_own.OwnConfig"},
}
OWN_CODE = """
import somewhere
from transformers import PretrainedConfig
class OwnConfig(PretrainedConfig):
    model_type = "own"
    def __init__(self, num_key_value_heads=8, **kwargs):
        self.num_key_value_heads = num_key_value_heads
        super().__init__(**kwargs)
somewhere.must_never_run()
"""


@pytest.mark.parametrize(
    ("flags", "part"),
    [
        ((), "contains custom code which must be executed"),
        (("--trust-remote-code", "--hf-overrides", '{"architectures": ["Qwen3ForCausalLM"]}'), None),
        (
            ("--trust-remote-code", "--hf-overrides", '{"architectures": ["Qwen3ForCausalLM"]}', "-tp", "7"),
            "Total number of attention heads",
        ),
    ],
    ids=["not-trusted", "overridden", "divided"],
)
def test_a_config_of_the_checkpoints_own_code_is_read(flags: tuple[str, ...], part: str | None, tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "config.json").write_text(json.dumps(OWN))
    (tmp_path / "target" / "configuration_own.py").write_text(OWN_CODE)
    said = say("0.18.1", tmp_path, ["vllm", "serve", str(tmp_path / "target"), *flags])
    assert len(said.errors) == (part is not None)
    assert part is None or part in said.errors[0]
    assert said.open == ()


@pytest.mark.parametrize(
    ("version", "model", "flags", "part"),
    [
        ("0.20.2", KIMI, ("-tp", "8"), None),
        ("0.20.2", KIMI, ("-tp", "7"), "attention heads (64) must be divisible by tensor parallel size (7)"),
        ("0.20.2", KIMI, ("-tp", "8", "--max-model-len", "1000000000"), "max_model_len (1000000000)"),
        # its rope can be of the kind before transformers 5 or of that, which the base class asks
        ("0.20.2", OTHERS["deepseek-v2-lite"][0], (), None),
        ("0.33.0", OTHERS["deepseek-v2-lite"][0], (), None),
    ],
    ids=["clear", "divided", "long", "rope", "rope-by-layer"],
)
def test_a_config_whose_own_code_is_not_here_is_read_off_config_json(
    version: str, model: Config, flags: tuple[str, ...], part: str | None, tmp_path: Path
) -> None:
    said = said_of(tmp_path, version, model, "--trust-remote-code", *flags)
    assert said.open == () or part is not None
    assert len(said.errors) == (part is not None)
    assert part is None or part in said.errors[0]


@pytest.mark.parametrize(
    ("architecture", "said"),
    [("Qwen3ForSequenceClassification", True), ("Qwen3ForCausalLM", False)],
)
def test_a_class_that_the_registry_falls_back_to_is_said(
    architecture: str, said: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = words_of(tmp_path, {**QWEN3, "architectures": [architecture]})
    assert main(["check", "--vllm", "0.16.0", "--", *words]) == 0
    told = [line for line in capsys.readouterr().out.splitlines() if "falls back" in line]
    assert bool(told) == said
    assert all(architecture in line and "Qwen3ForCausalLM" in line for line in told)


@pytest.mark.parametrize("file", ["engine-config-0.16.0.json", "engine-config-0.33.0.json"])
def test_engine_configs_come_out_as_a_real_vllm_said(file: str) -> None:
    """A sample; ``python -m tests.walk_cases FILE`` runs all of them."""
    for number, case, said in outcomes(file, slice(2, None, 89)):
        assert said.verdict == ("raises" if case["verdict"] == "raises" else "clear"), number
        if said.errors:
            assert any(decisive(case) in error for error in said.errors), number


FLAT: dict[str, Any] = {
    "architectures": ["Qwen2_5_VLForConditionalGeneration"],
    "model_type": "qwen2_5_vl",
    "hidden_size": 512,
    "intermediate_size": 1024,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "num_hidden_layers": 4,
    "vocab_size": 152064,
    "max_position_embeddings": 128000,
    "rope_theta": 1000000.0,
    "rope_scaling": {"type": "mrope", "mrope_section": [8, 12, 12]},
    "torch_dtype": "bfloat16",
    "vision_config": {"depth": 4, "hidden_size": 320, "num_heads": 4, "out_hidden_size": 512, "intermediate_size": 640},
}


def test_a_config_that_keeps_the_text_model_flat_is_read_as_it_is(tmp_path: Path, capsys: Any) -> None:
    words = words_of(tmp_path, FLAT, "--max-model-len", "64000")
    report = check(capsys, tmp_path, "--vllm", "0.33.0", *words)
    assert (report["verdict"], errors(report)) == ("clear", [])
