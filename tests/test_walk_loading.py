"""The loading of weights: attributes that a model's ``load_weights`` reads, and its constructor has not set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from minilaunch import ENGINE, check_launch, engine

from preflight.walk.files import FILE, FOLDER, Files
from preflight.walk.library.registry import Library
from preflight.walk.machine import Machine
from preflight.walk.modules import Modules
from preflight.walk.outcomes import Raised
from preflight.walk.values import Builtin, Const
from preflight.walk.world import Texts

MODEL = "vllm/model_executor/models/toy.py"
LOADERS = "vllm/model_executor/model_loader/__init__.py"
RUNNER = "vllm/v1/worker/gpu_model_runner.py"
TREE = {
    "vllm/envs.py": "VLLM_USE_V2_MODEL_RUNNER = False\n",
    "vllm/model_executor/__init__.py": "",
    "vllm/model_executor/models/__init__.py": "",
    "vllm/config/__init__.py": """
from contextlib import contextmanager

_current = None


@contextmanager
def set_current_vllm_config(config):
    global _current
    _current = config
    try:
        yield
    finally:
        _current = None
""",
    LOADERS: """
class BaseModelLoader:
    def __init__(self, load_config):
        self.load_config = load_config

    def load_model(self, vllm_config, model_config, prefix=""):
        raise NotImplementedError


class DefaultModelLoader(BaseModelLoader):
    def get_all_weights(self, model_config, model):
        yield from ()

    def load_weights(self, model, model_config):
        loaded = model.load_weights(self.get_all_weights(model_config, model))
        if loaded is not None:
            self.loaded = loaded


class DummyModelLoader(BaseModelLoader):
    def load_weights(self, model, model_config):
        for name in model.state_dict():
            print(name)


class SettingModelLoader(DefaultModelLoader):
    def load_weights(self, model, model_config):
        model.model.fused = False
        super().load_weights(model, model_config)


def get_model_loader(load_config):
    return KINDLoader(load_config)
""",
    "vllm/model_executor/model_loader/utils.py": """
from vllm.model_executor.models.toy import DraftForCausalLM, ToyForCausalLM


def get_model_architecture(model_config):
    cls = DraftForCausalLM if model_config.draft else ToyForCausalLM
    return cls, cls.__name__


def initialize_model(vllm_config, *, prefix="", model_class=None, model_config=None):
    cls, _name = get_model_architecture(model_config or vllm_config.model_config)
    return cls(vllm_config=vllm_config, prefix=prefix)
""",
    "vllm/model_executor/models/utils.py": """
class AutoWeightsLoader:
    def __init__(self, module, *, skip_prefixes=None):
        self.module = module
        self.skip_prefixes = skip_prefixes or []

    def load_weights(self, weights, *, mapper=None):
        return {name for name, _ in weights}
""",
}
TOY = """
from torch import nn

from vllm.model_executor.models.utils import AutoWeightsLoader


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(4, 4)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Layer() for _ in range(3)])
        self.fused = True

    def load_weights(self, weights):
        found = set()
        BODY
        for name, weight in weights:
            if "rotary" in name:
                continue
            found.add(name)
        return found


class Own(Model):
    def __init__(self):
        nn.Module.__init__(self)
        self.layers = nn.ModuleList([Layer() for _ in range(2)])
        OWN


class ToyForCausalLM(nn.Module):
    def __init__(self, *, vllm_config, prefix=""):
        super().__init__()
        self.model = TARGET()
        self.head = nn.Linear(4, 4)

    def load_weights(self, weights):
        return AutoWeightsLoader(self).load_weights(map(self.renamed, weights)) | {"head.weight"}

    def renamed(self, pair):
        name, weight = pair
        return f"model.{name}", weight


class DraftForCausalLM(ToyForCausalLM):
    def __init__(self, *, vllm_config, prefix=""):
        nn.Module.__init__(self)
        self.model = DRAFT()
"""


#: what the loading reads most often
FUSED = "if self.fused:\n            found.add('fused')"


def found(folder: Path, capsys: Any, body: str = FUSED, **options: Any) -> list[tuple[str, str, int]]:
    """The faults of a launch of the miniature, whose model leaves out what its base sets."""
    findings = findings_of(folder, capsys, body, **{"target": "Own", **options})
    return [(one["rule"], one["path"], one["line"]) for one in findings]


def findings_of(
    folder: Path,
    capsys: Any,
    body: str = "pass",
    own: str = "pass",
    kind: str = "DefaultModel",
    target: str = "Model",
    draft: str = "Model",
    patch: dict[str, str] | None = None,
) -> list[dict[str, Any]]:
    """The faults of a launch of the miniature as the report has them."""
    text = TOY.replace("BODY", body).replace("OWN", own).replace("TARGET", target).replace("DRAFT", draft)
    config = engine().replace(
        "        return VllmConfig(",
        "        model.draft = False\n"
        "        made = VllmConfig(model, self.tensor_parallel_size)\n"
        "        made.load_config = None\n"
        "        return made\n"
        "        return VllmConfig(",
    )
    tree = {**TREE, MODEL: text, ENGINE: config, LOADERS: TREE[LOADERS].replace("KIND", kind), **(patch or {})}
    _code, report = check_launch(folder, capsys, patch=tree)
    assert "model-not-constructed" not in [one["id"] for one in report["undecided"]]
    return [one for one in report["findings"] if "PF4" < one["rule"] < "PF7"]


def line_of(text: str, body: str) -> int:
    """The line of the model's file that holds ``text``."""
    return max(number for number, line in enumerate(TOY.replace("BODY", body).splitlines(), 1) if text in line)


@pytest.mark.parametrize(
    "body",
    [
        FUSED,
        "fused = {True: 1}[self.fused]",
        "self.note()\n\n    def note(self):\n        print(self.fused)\n\n    def unused(self, found, weights):",
    ],
)
def test_what_a_base_alone_sets_is_missing_where_the_weights_are_loaded(body: str, tmp_path: Path, capsys: Any) -> None:
    assert found(tmp_path, capsys, body) == [("PF401", MODEL, line_of("self.fused", body))]


@pytest.mark.parametrize(
    "options",
    [
        {"own": "self.fused = False"},
        {"own": "setattr(self, 'fused', False)"},
        {"target": "Model"},
        {"body": "if hasattr(self, 'fused'):\n            found.add(self.fused)"},
        {"body": "fused = getattr(self, 'fused', None)"},
        {"body": "if weights is None:\n            found.add(self.fused)"},
        {"body": "try:\n            found.add(self.fused)\n        except AttributeError:\n            pass"},
        {"body": "self.fused = True\n        found.add(self.fused)"},
        {"kind": "DummyModel"},
        {"kind": "SettingModel"},
    ],
)
def test_what_is_there_or_not_read_is_no_fault(options: dict[str, str], tmp_path: Path, capsys: Any) -> None:
    assert found(tmp_path, capsys, **options) == []


def test_a_read_for_every_weight_is_one_for_any(tmp_path: Path, capsys: Any) -> None:
    body = "for name, weight in weights:\n            found.add(self.fused)"
    assert found(tmp_path, capsys, body) == [("PF401", MODEL, line_of("found.add(self.fused)", body))]
    body = "for name, weight in weights:\n            if 'q_proj' in name:\n                found.add(self.fused)"
    (tmp_path / "other").mkdir()
    assert found(tmp_path / "other", capsys, body) == []


def test_a_read_for_every_weight_that_is_not_left_out(tmp_path: Path, capsys: Any) -> None:
    skipping = "for name, weight in weights:\n            if '{}' in name:\n                continue\n"
    read = "            found.add(self.fused)"
    body = skipping.format("rotary") + read
    assert found(tmp_path, capsys, body) == [("PF401", MODEL, line_of("found.add(self.fused)", body))]
    (tmp_path / "other").mkdir()
    assert found(tmp_path / "other", capsys, skipping.format("layers.0.") + read) == []


@pytest.mark.parametrize(("kind", "fails"), [("DefaultModel", True), ("DummyModel", False)])
def test_a_model_without_the_method_is_found_out_by_the_loader_that_asks_for_it(
    kind: str, fails: bool, tmp_path: Path, capsys: Any
) -> None:
    text = TOY.replace(
        "    def load_weights(self, weights):\n        return Auto", "    def load(self, weights):\n        return Auto"
    )
    text = text.replace("BODY", "pass").replace("OWN", "pass").replace("TARGET", "Model").replace("DRAFT", "Model")
    lines = TREE[LOADERS].replace("KIND", kind).splitlines()
    asked = next(number for number, line in enumerate(lines, 1) if "model.load_weights(" in line)
    assert found(tmp_path, capsys, kind=kind, patch={MODEL: text}) == [("PF401", LOADERS, asked)] * fails


OTHER = """


class OtherForCausalLM(nn.Module):
    def load_weights(self, weights):
        return set()


class OtherForPooling(OtherForCausalLM):
    def load_weights(self, weights):
        return set()
"""


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (("def load_weights(", "def load("), ["define `load_weights`", "ToyForCausalLM"]),
        (("def load_weights(", "def load_weight("), ["rename `load_weight`", "to `load_weights`"]),
        (("class", OTHER), ["from OtherForCausalLM"]),
        (("return AutoWeightsLoader", "return self.zzqqx or AutoWeightsLoader"), ["`self.zzqqx`", "ToyForCausalLM"]),
    ],
    ids=["none", "misspelt", "another class", "attribute"],
)
def test_what_is_missing_for_the_loading_has_a_way_out(
    change: tuple[str, str], named: list[str], tmp_path: Path, capsys: Any
) -> None:
    head, middle, tail = TOY.partition("class ToyForCausalLM")
    if change[0] == "class":
        text = f"{head}{OTHER.strip()}\n\n\n{middle}{tail.replace('def load_weights(', 'def take(', 1)}"
    else:
        text = head + middle + tail.replace(*change, 1)
    for name, value in (("BODY", "pass"), ("OWN", "pass"), ("TARGET", "Model"), ("DRAFT", "Model")):
        text = text.replace(name, value)
    (finding,) = findings_of(tmp_path, capsys, patch={MODEL: text})
    lines = (text if "zzqqx" in text else TREE[LOADERS]).splitlines()
    asked = "self.zzqqx" if "zzqqx" in text else "model.load_weights("
    line = next(number for number, one in enumerate(lines, 1) if asked in one)
    assert (finding["rule"], finding["path"], finding["line"]) == (
        "PF401", MODEL if "zzqqx" in text else LOADERS, line
    )  # fmt: skip
    assert all(part in finding["help"] for part in named)


def test_a_child_that_is_left_out_loads_nothing(tmp_path: Path, capsys: Any) -> None:
    text = TOY.replace("AutoWeightsLoader(self)", "AutoWeightsLoader(self, skip_prefixes=['model.'])")
    text = text.replace("BODY", "found.add(self.fused)").replace("OWN", "pass").replace("TARGET", "Own")
    assert found(tmp_path, capsys, patch={MODEL: text.replace("DRAFT", "Model")}) == []


def test_a_drafter_is_given_its_weights_as_well(tmp_path: Path, capsys: Any) -> None:
    runner = """
from vllm.model_executor.model_loader import get_model_loader


class GPUModelRunner:
    def __init__(self, config, device):
        self.config = config

    def load_model(self):
        config = self.config
        get_model_loader(None).load_model(vllm_config=config, model_config=config.model_config)
        get_model_loader(None).load_model(vllm_config=config, model_config=config.speculative_config.draft_model_config)
"""
    config = engine().replace(
        "        return VllmConfig(",
        "        model.draft = False\n"
        "        made = VllmConfig(model, self.tensor_parallel_size)\n"
        "        made.load_config = None\n"
        "        made.speculative_config = ToyConfig(draft_model_config=ToyConfig(draft=True))\n"
        "        return made\n"
        "        return VllmConfig(",
    )
    patch = {RUNNER: runner, ENGINE: config}
    body = "found.add(self.fused)"
    assert found(tmp_path, capsys, body, target="Model", draft="Own", patch=patch) == [
        ("PF401", MODEL, line_of("self.fused)", body))
    ]
    (tmp_path / "other").mkdir()
    assert found(tmp_path / "other", capsys, body, target="Model", draft="Model", patch=patch) == []


def test_a_folder_may_say_what_its_model_is_without_config_json() -> None:
    """transformers looks for a config.json, and takes it that a folder has none; of any other file it does not."""
    library = Library()
    library.files = Files()
    library.files.add("/model", FOLDER)
    library.files.add("/model/params.json", FILE)
    machine = Machine(Modules(Texts({})), library)
    cached_file = library.external(machine, "transformers.utils.cached_file")
    assert isinstance(cached_file, Builtin)

    def given(folder: str, name: str) -> Any:
        found = cached_file.run(machine, [Const(folder), Const(name)], {})
        assert isinstance(found, Const)
        return found.value

    assert given("/model", "params.json") == "/model/params.json"
    assert given("/model", "config.json") is None
    with pytest.raises(Raised):
        given("/model", "tokenizer.json")
