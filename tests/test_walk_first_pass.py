"""The first run of a model, which every worker does before it serves: what patched code must raise there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from minilaunch import ENGINE, check_launch, engine
from test_walk_loading import LOADERS, RUNNER, TREE

from tests.walk_launches import KIMI, SPECULATION, TARGET, interface, launch, places, replaced, source
from tests.walk_launches import line_of as line_at

EAGLE3_MODEL = "vllm/model_executor/models/llama_eagle3.py"
MODEL = "vllm/model_executor/models/toy.py"
OTHER = "vllm/model_executor/layers.py"
UTILS = "vllm/model_executor/model_loader/utils.py"
TOY = """
from torch import nn

from vllm.config import set_current_vllm_config
from vllm.model_executor.layers import Norm, compiled, context


class Block(nn.Module):
    def __init__(self, wide):
        super().__init__()
        self.norm = Norm(4)
        self.wide = wide
        self.proj = nn.Linear(4, 4)

    def forward(self, states, residual=None):
        states, residual = self.norm(states, residual)
        return self.proj(states), residual


@compiled
class Model(nn.Module):
    def __init__(self, wide):
        super().__init__()
        self.layers = nn.ModuleList([Block(wide) for _ in range(40)])

    def forward(self, input_ids, positions, inputs_embeds=None, **kwargs):
        assert context() is not None
        states, residual = inputs_embeds, None
        for layer in self.layers:
            states, residual = layer(states, residual)
        return states


class ToyForCausalLM(nn.Module):
    def __init__(self, *, vllm_config, prefix=""):
        super().__init__()
        self.model = Model(vllm_config.model_config.hf_config.num_attention_heads > 4)

    def forward(self, input_ids, positions, inputs_embeds=None, **kwargs):
        return self.model(input_ids, positions, inputs_embeds, **kwargs)

    def compute_logits(self, states):
        return self.model.layers[0].proj(states)

    def load_weights(self, weights):
        names = set()
        for name, weight in weights:
            names.add(name)
        return names
"""
LAYERS = """
from torch import nn

_context = None


def context():
    return _context


class Norm(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.size = size

    def forward(self, states, residual):
        return states, residual


def tune(module):
    module.tuned = True


def compiled(cls):
    def __call__(self, *args, **kwargs):
        if self.compiled_code is not None:
            return self.compiled_code(*args, **kwargs)
        return self.forward(*args, **kwargs)

    cls.compiled_code = open("code").read()
    cls.__call__ = __call__
    return cls
"""
PROCESS = """

def process_weights_after_loading(model, model_config, target_device):
    for module in model.modules():
        print(module)
"""
GPU_RUNNER = """
import torch


class GPUModelRunner:
    def __init__(self, config, device):
        self.config = config

    @torch.inference_mode()
    def _dummy_run(self, count):
        return self.model(input_ids=self.ids, positions=self.places, inputs_embeds=None, **self.more)
"""


def checked(
    folder: Path,
    capsys: Any,
    *pairs: tuple[str, str],
    release: str = "",
    more: str = "",
    runner: str = GPU_RUNNER,
    target: str = "",
    process: str = "",
) -> dict[str, Any]:
    """The report of a launch where the file of the model has each first text replaced by the second; ``release``:
    what the released file has; ``more``: statements that set up the config; ``target``: the target's file, where only
    the drafter is of the patched one."""
    text = TOY
    for old, new in pairs:
        assert text.count(old) >= 1, old
        text = text.replace(old, new, 1)
    config = engine().replace(
        "        return VllmConfig(",
        "        model.draft = False\n"
        "        model.multimodal_config = None\n"
        "        model.runner_type = 'generate'\n"
        "        made = VllmConfig(model, self.tensor_parallel_size)\n"
        "        made.load_config = made.lora_config = None\n"
        f"        {more or 'pass'}\n"
        "        return made\n"
        "        return VllmConfig(",
    )
    released = {
        **TREE,
        OTHER: LAYERS,
        RUNNER: runner,
        ENGINE: config,
        LOADERS: TREE[LOADERS].replace("KIND", "DefaultModel"),
        UTILS: TREE[UTILS].replace(
            "DraftForCausalLM, ", "").replace("DraftForCausalLM if model_config.draft else ", ""),
    }  # fmt: skip
    released[UTILS] += process
    if target:
        released |= {UTILS: TWO_MODELS, TARGETS: target}
    _code, report = check_launch(folder, capsys, patch={MODEL: text}, release={**released, MODEL: release or TOY})
    assert "walk-fault" not in [one["id"] for one in report["undecided"]]
    return report


def found(folder: Path, capsys: Any, *pairs: tuple[str, str], **options: str) -> list[tuple[str, str, str, int]]:
    """What is found of it."""
    report = checked(folder, capsys, *pairs, **options)
    return [(one["rule"], one["severity"], one["path"], one["line"]) for one in report["findings"]]


def line_of(*pairs: tuple[str, str]) -> int:
    """The line at which the last replacement begins."""
    text = TOY
    for old, new in pairs:
        at = text.index(old)
        text = text.replace(old, new, 1)
    return text[:at].count("\n") + 1


@pytest.mark.parametrize(
    ("rule", "pair"),
    [
        ("PF601", ("return self.proj(states), residual", "return self.proj(state), residual")),
        ("PF401", ("return self.proj(states), residual", "return self.project(states), residual")),
        ("PF603", ("layer(states, residual)", "layer(states, residual, positions)")),
        ("PF603", ("layer(states, residual)", "layer(states, rest=residual)")),
        ("PF603", ("self.norm(states, residual)", "self.norm(states)")),
        ("PF601", ("return self.model(input_ids,", "return self.model(input_id,")),
        ("PF601", ("return self.model.layers[0].proj(states)", "return self.model.layers[0].proj(logits)")),
        ("PF601", ("names = set()", "names = sett()")),
        ("PF601", ("names.add(name)", "names.add(nam)")),
        ("PF603", ("def forward(self, input_ids, positions, inputs_embeds=None, **kwargs):\n        return",
                   "def forward(self, input_ids, positions):\n        inputs_embeds, kwargs = None, {}\n        return")),
        ("PF401", ("states, residual = self.norm(", "if self.wide:\n            self.norm_(1)\n        states = ("
                   )),
    ],
)  # fmt: skip
def test_what_the_first_run_must_raise_ends_the_launch(
    rule: str, pair: tuple[str, str], tmp_path: Path, capsys: Any
) -> None:
    line = line_of(pair) + ("\n" in pair[1] and "self.norm_" in pair[1])
    assert (rule, "error", MODEL, line) in found(tmp_path, capsys, pair)


def test_what_stands_in_a_sequence_is_run(tmp_path: Path, capsys: Any) -> None:
    pairs = (
        ("self.proj = nn.Linear(4, 4)", "self.proj = nn.Sequential(nn.Linear(4, 4), Norm(4))"),
        ("return self.model.layers[0].proj(states)", "return states"),
    )
    assert ("PF603", "error", MODEL, line_of(*pairs[:1], ("return self.proj(states), residual", ""))) in found(
        tmp_path, capsys, *pairs
    )


@pytest.mark.parametrize(
    ("pair", "named"),
    [
        (("self.norm(states, residual)", "self.norm(states)"), f"{OTHER}:"),
        (("inputs_embeds=None, **kwargs):\n        return", "embeds=None):\n        inputs_embeds, kwargs = None, {}\n"
          "        return"), "the parameters that the engine passes"),
        (("        return self.proj(states), residual", "        self.proj(states)"), "return from Block.forward"),
        (("        return self.model(input_ids,", "        self.model(input_ids,"), "return from ToyForCausalLM.forward"),
        (("self.proj(states), residual", "self.project(states), residual"), "define `project`"),
        (("self.proj(states), residual", "self.proj(state), residual"), "write the name that is meant"),
    ],
)  # fmt: skip
def test_each_has_a_way_out(pair: tuple[str, str], named: str, tmp_path: Path, capsys: Any) -> None:
    report = checked(tmp_path, capsys, pair)
    helps = [one["help"] for one in report["findings"] if one["severity"] == "error"]
    assert helps
    assert all(help is not None and named in help for help in helps), helps


def test_it_is_told_once(tmp_path: Path, capsys: Any) -> None:
    pair = ("return self.proj(states), residual", "return self.proj(state), residual")
    assert found(tmp_path, capsys, pair) == [("PF601", "error", MODEL, line_of(pair))]


def test_a_model_that_returns_nothing_ends_the_launch(tmp_path: Path, capsys: Any) -> None:
    pair = ("        return self.model(input_ids,", "        self.model(input_ids,")
    start = (
        "    def forward(self, input_ids, positions, inputs_embeds=None, **kwargs):\n        return self.model",
        "",
    )
    assert ("PF603", "error", MODEL, line_of(start)) in found(tmp_path, capsys, pair)


def test_a_layer_that_returns_nothing_ends_the_launch(tmp_path: Path, capsys: Any) -> None:
    pair = ("        return self.proj(states), residual", "        self.proj(states)")
    asked = ("            states, residual = layer(states, residual)", "")
    assert ("PF603", "error", MODEL, line_of(asked)) in found(tmp_path, capsys, pair)


BODY = "states, residual = self.norm("


@pytest.mark.parametrize(
    "pairs",
    [
        (("import nn\n", "import nn  # patched\n"),),
        ((BODY, f"if states is None:\n            self.norm_(1)\n        {BODY}"),),
        ((BODY, f"if not self.wide:\n            self.norm_(1)\n        {BODY}"),),
        ((BODY, f"try:\n            self.norm_(1)\n        except AttributeError:\n            pass\n        {BODY}"),),
        ((BODY, f"if self.tuned:\n            pass\n        {BODY}"),),
        ((BODY, f"assert context().ready\n        {BODY}"),),
        ((BODY, f"if context() is None:\n            raise ValueError('no context')\n        {BODY}"),),
        (
            ("self.wide = wide", "self.norm.register_forward_pre_hook(print)"),
            ("states, residual = self.norm(states, residual)", "self.norm(states)"),
        ),
        ((BODY, f"if self.training:\n            self.norm_(1)\n        {BODY}"),),
        (
            ("states, residual = layer(states, residual)", "states, residual = layer(states, residual, tag=1)"),
            (
                "        names = set()\n",
                "        names = set()\n        self.model.layers[0] = nn.Identity(self.model.layers[0])\n",
            ),
        ),
        (
            ("states, residual = self.norm(states, residual)", "states, residual = self.norm(states, tag=1)"),
            (
                "        names = set()\n",
                "        names = set()\n        for layer in self.model.layers:\n"
                "            layer.norm = nn.Identity(layer.norm)\n",
            ),
        ),
        (
            ("states, residual = self.norm(states, residual)", "states, residual = self.norm(states, tag=1)"),
            (
                "        names = set()\n",
                "        names = set()\n        for name, one in self.model.named_modules():\n"
                "            setattr(one, 'no' + 'rm', nn.Identity(one))\n",
            ),
        ),
        ((BODY, f"if hasattr(self, 'extra'):\n            self.extra(1)\n        {BODY}"),),
    ],
)
def test_what_need_not_be_raised_does_not(pairs: tuple[tuple[str, str], ...], tmp_path: Path, capsys: Any) -> None:
    assert [one for one in found(tmp_path, capsys, *pairs) if one[1] == "error"] == []


def test_what_the_engine_has_set_before_hides_nothing(tmp_path: Path, capsys: Any) -> None:
    pairs = (
        (BODY, f"assert context().ready\n        {BODY}"),
        ("return self.proj(states), residual", "return self.project(states), residual"),
    )
    assert ("PF401", "error", MODEL, line_of(*pairs)) in found(tmp_path, capsys, *pairs)


@pytest.mark.parametrize(
    "more",
    [
        "made.lora_config = object()",
        "model.multimodal_config = ToyConfig(mm_encoder_only=True)",
        "made.parallel_config = ToyConfig(worker_cls='own.Worker')",
    ],
)
def test_a_launch_that_runs_no_such_model_goes_on(more: str, tmp_path: Path, capsys: Any) -> None:
    pair = ("return self.proj(states), residual", "return self.proj(state), residual")
    assert [one for one in found(tmp_path, capsys, pair, more=more) if one[1] == "error"] == []


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("pass", False),
        ("made.lora_config = object()", True),
        ("made.parallel_config = ToyConfig(worker_cls='own.Worker')", True),
    ],
)
def test_a_patched_model_that_is_not_followed_is_said_to_be_open(
    more: str, said: bool, tmp_path: Path, capsys: Any
) -> None:
    report = checked(tmp_path, capsys, ("import nn\n", "import nn  # patched\n"), more=more, process=PROCESS)
    opened = [one for one in report["undecided"] if one["id"] == "first-run-open"]
    assert len(opened) == said
    assert not [one for one in report["findings"] if one["severity"] == "error"]


def test_a_model_that_the_patch_has_no_part_in_is_asked_nothing(tmp_path: Path, capsys: Any) -> None:
    report = checked(tmp_path, capsys, more="made.lora_config = object()", process=PROCESS)
    assert "first-run-open" not in [one["id"] for one in report["undecided"]]


def test_a_model_that_pools_makes_no_logits(tmp_path: Path, capsys: Any) -> None:
    pair = ("return self.model.layers[0].proj(states)", "return self.model.layers[0].proj(logits)")
    given = found(tmp_path, capsys, pair, more="model.runner_type = 'pooling'")
    assert [one for one in given if one[1] == "error"] == []


def test_what_the_release_has_itself_is_not_told(tmp_path: Path, capsys: Any) -> None:
    broken = TOY.replace("return self.proj(states), residual", "return self.project(states), residual")
    assert [one for one in found(tmp_path, capsys, release=broken) if one[1] == "error"] == []


TARGETS = "vllm/model_executor/models/target.py"
TWO_MODELS = """
from vllm.model_executor.models.target import ToyForCausalLM as Target
from vllm.model_executor.models.toy import ToyForCausalLM


def initialize_model(vllm_config, *, prefix="", draft=False):
    cls = ToyForCausalLM if draft else Target
    return cls(vllm_config=vllm_config, prefix=prefix)
"""
DRAFTING = """
import torch

from vllm.model_executor.model_loader.utils import initialize_model


class Drafter:
    def __init__(self, config):
        self.config = config

    def dummy_run(self, count):
        self.model(input_ids=None, positions=None)


class GPUModelRunner:
    def __init__(self, config, device):
        self.config = config
        self.drafter = Drafter(config)
        self.drafts = DRAFTS

    def load_model(self):
        self.drafter.model = initialize_model(self.config, draft=True)

    @torch.inference_mode()
    def _dummy_run(self, count):
        self.model(input_ids=self.ids, positions=self.places, inputs_embeds=None, **self.more)
        if self.config.speculative_config and self.drafts:
            self.drafter.dummy_run(count)
"""


@pytest.mark.parametrize(("drafts", "ends"), [("True", True), ("False", False), ("torch.rand(1)", False)])
def test_a_drafter_is_run_where_the_runner_says_so(drafts: str, ends: bool, tmp_path: Path, capsys: Any) -> None:
    # the target is of the release, the drafter's class of the patch
    pair = ("return self.proj(states), residual", "return self.proj(state), residual")
    given = found(
        tmp_path, capsys, pair, runner=DRAFTING.replace("DRAFTS", drafts), target=TOY,
        more="made.speculative_config = object()",
    )  # fmt: skip
    assert [one for one in given if one[1] == "error"] == [("PF601", "error", MODEL, line_of(pair))] * ends


@pytest.mark.real
def test_the_incident_with_one_more_fault_in_the_forward_of_the_drafter() -> None:
    text = source("0.16.0", EAGLE3_MODEL)
    patch = {**interface(), EAGLE3_MODEL: replaced(text, ("embeds=input_embeds,", "embed=input_embeds,"))}
    walk = launch("0.16.0", TARGET, *KIMI, *SPECULATION, overlay=patch, construct=True)
    line = line_at(text, "hidden_states, residual = layer(")
    assert [place[1:] for place in places(walk)] == [(EAGLE3_MODEL, line)]
    assert walk.stopped == []
