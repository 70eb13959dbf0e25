"""What a patch reads of configs, on miniature trees: what is told, and what is left alone."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest

from preflight.checks.configs.family import check_configs
from preflight.checks.context import CheckOptions
from preflight.model import Fault, Severity, Undecided
from preflight.program import FactsCache, Program
from tests import minimodels
from tests.checking import context_of
from tests.programs import tree_of

MODEL = "vllm/model_executor/models/toy.py"
#: the parts of transformers that are looked at, and the tree's own configs
FILES = {
    "transformers/__init__.py": "from .configuration_utils import PretrainedConfig\nfrom .models.bar import BarConfig\n",
    "transformers/configuration_utils.py": """\
        class PretrainedConfig:
            def __init__(self, tie_word_embeddings=True, **kwargs):
                self.tie_word_embeddings = tie_word_embeddings
                for key, value in kwargs.items():
                    setattr(self, key, value)

            def get_text_config(self):
                return getattr(self, "text_config", self)
        """,
    "transformers/models/__init__.py": "",
    "transformers/models/auto/__init__.py": "",
    "transformers/models/auto/configuration_auto.py": 'NAMES = [("bar", "BarConfig")]\n',
    "transformers/models/auto/modeling_auto.py": 'NAMES = [("bar", "BarForCausalLM")]\n',
    "transformers/models/bar/__init__.py": "from .configuration_bar import BarConfig\n",
    "transformers/models/bar/configuration_bar.py": """\
        from ...configuration_utils import PretrainedConfig

        class BarVisionConfig(PretrainedConfig):
            patch_size: int = 14

        class BarConfig(PretrainedConfig):
            attribute_map = {"num_layers": "n_layer"}
            sub_configs = {"vision_config": BarVisionConfig}

            def __init__(self, n_layer=2, head_dim=None, **kwargs):
                super().__init__(**kwargs)
                self.n_layer = n_layer
                self.head_dim = head_dim
        """,
    "torch/__init__.py": "",
    "torch/nn/__init__.py": "class Module: ...\n",
    "vllm/config.py": """\
        from dataclasses import dataclass, field
        from typing import TYPE_CHECKING, Any

        if TYPE_CHECKING:
            from transformers import PretrainedConfig
        else:
            PretrainedConfig = Any

        @dataclass
        class CacheConfig:
            block_size: int = 16

        @dataclass
        class ModelConfig:
            model: str = ""
            hf_config: PretrainedConfig = field(init=False)

        @dataclass
        class VllmConfig:
            model_config: ModelConfig = None
            cache_config: CacheConfig = None
        """,
    "vllm/setting.py": "def set_some(config):\n    config.set_elsewhere = 1\n",
}
HEAD = """\
from torch import nn
from transformers import BarConfig, PretrainedConfig
from vllm.config import CacheConfig, VllmConfig
"""


def faults_of(
    folder: Path, text: str, released: str = HEAD, files: Mapping[str, str] = MappingProxyType({})
) -> list[tuple[str, int | None]]:
    """What is told of a patched model file: check and line. ``files`` are more of the release."""
    tree = tree_of(folder, {**FILES, **files, MODEL: released})
    tree = tree.with_overlay({MODEL: (HEAD + textwrap.dedent(text)).encode()})
    program = Program(tree, FactsCache(None))
    paths = tuple(file.path for file in tree.facts.patched)
    faults = list(check_configs(context_of(tree, program, paths, CheckOptions())))
    assert all(isinstance(fault, Fault) and fault.severity is Severity.WARNING for fault in faults)
    return [(fault.check, fault.span.line) for fault in faults]


#: a statement of a model's ``__init__`` that reads what is not there
TOLD = {
    "by the annotation of a parameter": "self.x = config.gone",
    "by an object that holds it": "self.config = config\n        self.x = self.config.gone",
    "by a local of its own annotation": "part: BarConfig = make(config)\n        self.x = part.gone",
    "by the class that made it": "self.x = BarConfig(n_layer=1).gone",
    "of a nested config": "self.x = config.vision_config.gone",
    "of the engine's config of a model, nowhere at all": "self.x = vllm_config.model_config.hf_config.gone",
    "of a part of any config, nowhere at all": "self.x = vllm_config.model_config.hf_config.get_text_config().gone",
    "of the engine's own config": "self.x = vllm_config.cache_config.gone",
    "of what is called a config": "self.x = some_config.gone",
    "of a config given, or the engine's": "config = config or vllm_config.model_config.hf_config\n        self.x = config.gone",
}
QUIET = {
    "a parameter of the class": "self.x = config.head_dim",
    "what only the engine's config may have": (
        "some = config\n        some = some or vllm_config.model_config.hf_config\n        self.x = some.patch_size"
    ),
    "a config given, or what nobody knows": "config = config or other.config\n        self.x = config.gone",
    "nothing but itself": "mine = mine or mine\n        self.x = mine.gone",
    "an alias": "self.x = config.num_layers",
    "what the base has": "self.x = config.tie_word_embeddings",
    "a method": "self.x = config.get_text_config()",
    "what some code sets": "self.x = config.set_elsewhere",
    "what the file asks for": 'self.x = config.gone if hasattr(config, "gone") else 1',
    "what some other model's config has, of any config": "self.x = vllm_config.model_config.hf_config.n_layer",
    "what is caught": "try:\n            self.x = config.gone\n        except AttributeError:\n            self.x = 1",
    "what is no config": "self.x = other.gone",
    "an annotation that does not fit the name": "self.x = wrong.gone",
}
INIT = """\
class Toy(nn.Module):
    def __init__(self, config: BarConfig, vllm_config: VllmConfig, some_config, other, wrong: CacheConfig) -> None:
        super().__init__()
        {}
"""


@pytest.mark.parametrize("name", TOLD)
def test_a_read_that_no_config_bears_out(name: str, tmp_path: Path) -> None:
    ((check, line),) = faults_of(tmp_path, INIT.format(TOLD[name]))
    assert (check, line) == ("config-read-undeclared", 7 + TOLD[name].count("\n"))


@pytest.mark.parametrize("name", QUIET)
def test_a_read_of_which_nobody_can_tell(name: str, tmp_path: Path) -> None:
    assert faults_of(tmp_path, INIT.format(QUIET[name])) == []


def test_what_the_release_reads_itself(tmp_path: Path) -> None:
    was = INIT.format("self.x = config.gone")
    assert faults_of(tmp_path / "same", "\n" + was, HEAD + was) == []
    assert faults_of(tmp_path / "again", was + "        self.y = config.gone\n", HEAD + was) == []


def test_the_registry_says_which_config_a_model_has(tmp_path: Path) -> None:
    model = """\
        class ToyForCausalLM(nn.Module):
            def __init__(self, vllm_config: VllmConfig) -> None:
                self.patch = vllm_config.model_config.hf_config.patch_size
        """
    registry = "vllm/model_executor/models/registry.py"
    files = {path: text for path, text in minimodels.FILES.items() if path.startswith(registry.rpartition("/")[0])}
    models = 'NAMES = [("bar", "ToyForCausalLM"), ("bar", "OtherNameForCausalLM")]\n'
    # some config has the name, but not the one of this model
    assert faults_of(tmp_path / "other", model, files=files) == []
    told = faults_of(tmp_path / "bar", model, files={**files, "transformers/models/auto/modeling_auto.py": models})
    assert told == [("config-read-undeclared", 6)]


def test_a_default_that_hides_another_spelling(tmp_path: Path) -> None:
    reads = 'self.x = getattr(config, "dim_head", 64)\n        self.y = getattr(config, "window", None)'
    assert faults_of(tmp_path, INIT.format(reads)) == [("config-default-hides-rename", 7)]


def test_a_value_that_another_class_reads(tmp_path: Path) -> None:
    reader = (
        "class Part(nn.Module):\n    def __init__(self, config: BarConfig) -> None:\n        self.x = config.head_dim\n"
    )
    writer = INIT.format("config.head_dim = 64\n        config.mine = 1\n        self.part = Part(config)")
    assert faults_of(tmp_path / "both", writer, HEAD + reader) == []
    assert faults_of(tmp_path / "one", reader + writer, HEAD + reader) == [("config-value-overwritten", 10)]


def left_open(folder: Path, released: Mapping[str, str], text: str, *, in_place: bool) -> list[tuple[str, int]]:
    """What of a patched model file is left open, with how many files that is said of."""
    tree = tree_of(folder, {**released, MODEL: HEAD})
    tree = tree.with_overlay({MODEL: (HEAD + text).encode()})
    if in_place:
        tree = replace(tree, reference=None)
    paths = tuple(file.path for file in tree.facts.patched)
    said = check_configs(context_of(tree, Program(tree, FactsCache(None)), paths, CheckOptions()))
    return [(one.id, one.count) for one in said if isinstance(one, Undecided)]


def test_reads_that_were_not_looked_up_are_left_open(tmp_path: Path) -> None:
    reads = INIT.format("self.x = config.n_layer")
    without = {name: text for name, text in FILES.items() if not name.startswith("transformers/")}
    assert left_open(tmp_path / "known", FILES, reads, in_place=False) == []
    assert left_open(tmp_path / "place", FILES, reads, in_place=True) == [("config-reads-not-checked", 1)]
    assert left_open(tmp_path / "names", without, reads, in_place=False) == [("config-reads-not-checked", 1)]
    assert left_open(tmp_path / "none", without, INIT.format("self.x = other.x"), in_place=True) == []
