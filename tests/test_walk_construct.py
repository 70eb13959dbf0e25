"""The construction of a model: torch's rules of modules, and launches of a miniature whose model is built."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from minilaunch import ENGINE, check_launch, engine
from walk_programs import possible_values, walk

from preflight.cli import main
from preflight.program import FactsCache, Program
from preflight.walk.built import BuiltParameter, modules_of
from preflight.walk.lending import stored_by
from preflight.walk.world import ProgramWorld
from tests.construct_cases import build, judged
from tests.programs import tree_of as tree_in
from tests.renamed_reads import outcomes
from tests.walk_cases import CASES, tree_of

HEAD = "import torch\nfrom torch import nn\n"
MODEL = "vllm/model_executor/models/toy.py"
BUILDER = {
    "vllm/model_executor/__init__.py": "",
    "vllm/model_executor/model_loader/__init__.py": "",
    "vllm/model_executor/models/__init__.py": "",
    "vllm/config/__init__.py": """
from contextlib import contextmanager


@contextmanager
def set_current_vllm_config(config):
    yield
""",
    "vllm/model_executor/model_loader/utils.py": """
from vllm.model_executor.models.toy import ToyForCausalLM


def initialize_model(vllm_config, *, prefix="", model_class=None, model_config=None):
    return ToyForCausalLM(vllm_config=vllm_config, prefix=prefix)
""",
}
TOY = """
import torch
from torch import nn


class Layer(nn.Module):
    def __init__(self, config, prefix):
        super().__init__()
        self.proj = nn.Linear(config.num_attention_heads, 4, bias=False)
        self.scale = nn.Parameter(torch.ones(4))
        self.register_buffer("cache", torch.zeros(2, 3), persistent=False)
        self.register_buffer("offset", torch.zeros(2))


class ToyForCausalLM(nn.Module):
    def __init__(self, *, vllm_config, prefix=""):
        super().__init__()
        config = vllm_config.model_config.hf_config
        self.layers = nn.ModuleList([Layer(config, f"{prefix}.layers.{i}") for i in range(3)])
        LAST
"""


def value_of(body: str) -> Any:
    """What a program over torch gives, where that is known for sure."""
    walked = walk(HEAD + body, (1, 2), (False, False))
    assert walked is not None
    assert not walked.exits, walked.exits
    values = possible_values(walked)
    assert values is not None
    return values[0]


def raised(body: str) -> tuple[str | None, int]:
    """The exception that a program over torch ends in, with its line in ``body``."""
    walked = walk(HEAD + body, (1, 2), (False, False))
    assert walked is not None
    assert len(walked.exits) == 1, walked
    return walked.exits[0][0], walked.exits[0][1] - HEAD.count("\n")


def test_containers_hold_modules_in_order() -> None:
    body = """
class A(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.n = n
def main(a, b):
    many = nn.ModuleList([A(i) for i in range(4)])
    many.append(A(9))
    named = nn.ModuleDict({"x": A(7)})
    row = nn.Sequential(A(1), nn.Identity())
    kinds = [isinstance(m, nn.Module) for m in (many, named, row)]
    return [m.n for m in many], many[1].n, len(many), named["x"].n, "y" in named, len(row), kinds
"""
    assert value_of(body) == ([0, 1, 2, 3, 9], 1, 5, 7, False, 2, [True, True, True])


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("nn.Linear(4, None)", "TypeError"),
        ("nn.Linear(4, 5, bias_x=True)", "TypeError"),
        ("nn.Linear(4)", "TypeError"),
        ("nn.Embedding(None, 5)", "TypeError"),
        ("torch.arange(None, dtype=torch.float)", "TypeError"),
        ("torch.empty(3, None)", "TypeError"),
        ("torch.zeros((3, 2.5))", "TypeError"),
        ("torch.empty(-1)", "RuntimeError"),
        ("nn.ModuleList([nn.Identity()])[3]", "IndexError"),
        ("nn.ModuleDict()['x']", "KeyError"),
        ("nn.Module().weight", "AttributeError"),
    ],
)
def test_what_torch_refuses(statement: str, error: str) -> None:
    assert raised(f"def main(a, b):\n    return {statement}\n") == (error, 2)


@pytest.mark.parametrize(
    "statement",
    [
        "nn.Linear(4, 5, bias=False, dtype=torch.float16).bias",
        "nn.LayerNorm((3, 4), eps=1e-5).eps",
        "torch.empty(3, a, device='cuda', dtype=torch.int8)",
        "torch.arange(0, 8, 2)",
        "nn.Conv1d(3, 4, kernel_size=3).stride[0]",
        "nn.SomeNewLayer(3, any=4).thing",
        "nn.Parameter(torch.empty(2), requires_grad=False).weight_loader",
    ],
)
def test_what_torch_takes(statement: str) -> None:
    walked = walk(HEAD + f"def main(a, b):\n    return {statement}\n", (1, 2), (False, False))
    assert walked is not None
    assert not walked.exits


def test_modules_are_registered_after_the_constructor_of_the_base() -> None:
    early = """
class A(nn.Module):
    def __init__(self):
        self.plain = 3
        self.inner = nn.Identity()
        super().__init__()
def main(a, b):
    return A().plain
"""
    assert raised(early) == ("AttributeError", 5)


def test_a_parameter_is_replaced_by_none_or_another_alone() -> None:
    body = """
class A(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2))
        self.weight = None
        self.weight = nn.Parameter(torch.ones(3))
        self.weight = 5
def main(a, b):
    return A()
"""
    assert raised(body) == ("TypeError", 8)


def test_a_property_of_a_parameter_is_deleted_by_its_deleter() -> None:
    body = """
class Loaded(nn.Parameter):
    def __new__(cls, data, **kwargs):
        return super().__new__(cls, data=data, requires_grad=False)
    def __init__(self, data, loader):
        self._loader = loader
    @property
    def loader(self):
        if self._loader is None:
            raise AttributeError("deleted")
        return self._loader
    @loader.deleter
    def loader(self):
        self._loader = None
def main(a, b):
    one = Loaded(torch.empty(2, 3), loader=len)
    before = hasattr(one, "loader")
    del one.loader
    return before, hasattr(one, "loader"), list(one.shape)
"""
    assert value_of(body) == (True, False, [2, 3])


# --- launches ---


def launched(tmp_path: Path, capsys: Any, last: str) -> dict[str, Any]:
    """The report on the miniature whose model ends its constructor with ``last``."""
    patch = {**BUILDER, MODEL: TOY.replace("LAST", last)}
    _code, report = check_launch(tmp_path, capsys, patch=patch)
    return report


@pytest.mark.parametrize(
    ("last", "rule"),
    [
        ("self.token = config.image_token_index", "PF401"),
        ("self.token = getattr(config, 'image_token_index', None)", None),
        ("assert config.num_attention_heads % 3 == 0", "PF602"),
        ("raise ValueError(config.num_attention_heads)", "PF601"),
        ("self.head = nn.Linear(None, 4)", "PF603"),
        ("self.last = self.layers[2].proj", None),
        ("self.last = self.layers[2].projection", "PF401"),
    ],
)
def test_a_constructor_that_cannot_end_is_an_error_at_its_line(
    last: str, rule: str | None, tmp_path: Path, capsys: Any
) -> None:
    report = launched(tmp_path, capsys, last)
    found = [(one["rule"], one["path"], one["line"]) for one in report["findings"] if "PF4" < one["rule"] < "PF7"]
    line = TOY.partition("LAST")[0].count("\n") + 1
    assert found == ([] if rule is None else [(rule, MODEL, line)])
    assert "model-not-constructed" not in [one["id"] for one in report["undecided"]]


@pytest.mark.parametrize(
    ("last", "rules"),
    [
        ("raise ValueError(config.num_attention_heads)", ["PF601"]),
        ("self.token = config.image_token_index", ["PF401", "PF601"]),
    ],
)
def test_what_a_refused_config_brings_about_is_not_told_again(
    last: str, rules: list[str], tmp_path: Path, capsys: Any
) -> None:
    patch = {**BUILDER, MODEL: TOY.replace("LAST", last), ENGINE: engine("raise ValueError('refused')")}
    _code, report = check_launch(tmp_path, capsys, patch=patch)
    assert sorted(one["rule"] for one in report["findings"] if "PF4" < one["rule"] < "PF7") == rules


@pytest.mark.parametrize(("skipped", "rules"), [(True, ["PF401"]), (False, [])])
def test_a_tokenizer_is_not_made_but_asked_whether_it_is(
    skipped: bool, rules: list[str], tmp_path: Path, capsys: Any
) -> None:
    last = "self.token = cached_tokenizer_from_config(vllm_config.model_config).vocab"
    tokenizers = f"""
def get_tokenizer(name):
    raise FileNotFoundError(name)


def cached_tokenizer_from_config(model_config):
    if {skipped}:
        return None
    return get_tokenizer(model_config)
"""
    text = "from vllm.tokenizers import cached_tokenizer_from_config\n" + TOY.replace("LAST", last)
    _code, report = check_launch(tmp_path, capsys, patch={**BUILDER, MODEL: text, "vllm/tokenizers.py": tokenizers})
    assert [one["rule"] for one in report["findings"] if "PF4" < one["rule"] < "PF7"] == rules


def test_a_tree_that_builds_another_way_leaves_the_model_open(tmp_path: Path, capsys: Any) -> None:
    _code, report = check_launch(tmp_path, capsys)
    assert report["verdict"] == "clear"
    assert "model-not-constructed" in [one["id"] for one in report["undecided"]]


def test_the_modules_that_were_built_are_shown(tmp_path: Path, capsys: Any) -> None:
    launched(tmp_path, capsys, "pass")
    tree = next(tmp_path.glob("*/vllm")).parent
    main(["show", "--vllm-site-packages", str(tree), "--output-format", "json", "--model", str(tmp_path / "toy")])
    import json

    modules = json.loads(capsys.readouterr().out)["model"]["modules"]
    assert [module["name"] for module in modules][:5] == ["", "layers", "layers.0", "layers.0.proj", "layers.1"]
    layer = modules[2]
    assert layer["class"] == "Layer"
    assert layer["parameters"] == [
        {"name": "scale", "shape": [4], "buffer": False},
        {"name": "offset", "shape": [2], "buffer": True},
    ]
    assert modules[3]["parameters"] == [{"name": "weight", "shape": [4, 8], "buffer": False}]


@pytest.mark.real
def test_a_real_vllm_says_the_same() -> None:
    """One architecture that is built, with the shapes of its parameters, and two that are not; ``python -m
    tests.construct_cases`` runs all.
    """
    import json

    cases = json.loads((CASES / "construct-0.16.0.json").read_text())["cases"]
    by_name = {case["architecture"]: case for case in cases}
    tree, program = tree_of("0.16.0")
    for name in ("Qwen3MoeForCausalLM", "HunYuanMoEV1ForCausalLM", "Glm4MoeForCausalLM"):
        built = build(tree, program, by_name[name]["config"])
        assert judged(by_name[name], built) == "agrees", (name, built)
        if name == "Qwen3MoeForCausalLM":
            assert built.followed is not None
            modules = {module.name: module for module in modules_of(built.followed.walk.model)}
            experts = modules["model.layers.23.mlp.experts"]
            assert BuiltParameter("w13_weight", (128, 1536, 2048)) in experts.parameters


def test_bases_of_which_one_is_not_known_have_no_wrong_order() -> None:
    """`object` stands for a base that is not known, and may not stand before another one."""
    body = """
class Extra:
    pass
def main(a, b):
    class C(torch.somewhere.Model):
        pass
    C.__bases__ = C.__bases__ + (Extra,)
    return 1
"""
    assert value_of(body) == 1


@pytest.mark.real
def test_a_read_under_another_name_is_an_error_where_it_is_come_to() -> None:
    """Two reads of one launch, and one that it does not come to; ``python -m tests.renamed_reads`` takes any."""
    said = list(outcomes("0.16.0", slice(None), share=0.0, reads=2, unread=1, only="Qwen3VLForConditionalGeneration"))
    assert [one if isinstance(one, str) else one.judgement for one in said] == ["agrees"] * 3


def test_a_library_sets_no_other_attributes_than_its_text_has(tmp_path: Path) -> None:
    """A config that a library was given lacks what no code of it sets."""
    files = {
        "transformers/__init__.py": "",
        "transformers/models/__init__.py": "",
        "transformers/models/toy/__init__.py": "",
        "transformers/helping.py": "def helped(part):\n    part.helped = 1\n",
        "transformers/models/toy/modeling_toy.py": """
from ...helping import helped


class Tower:
    def __init__(self, config):
        self.own = 1
        config.sized = 3
        setattr(config, "named", 1)
        helped(config)
""",
        "transformers/models/toy/computing.py": """
class Model:
    def __init__(self, config, names):
        config.sized = 3

    def save(self, folder):
        \"\"\"Saved with `save`.\"\"\"
        for name in folder:
            setattr(self.config, name, None)
        self.config.save(folder)
""",
        "transformers/models/toy/called.py": """
from .computing import Model


def saved(model):
    model.save([])
""",
    }
    program = Program(tree_in(tmp_path, files), FactsCache(None))

    def stored(module: str, called: str) -> frozenset[str] | None:
        found = stored_by(program, f"transformers.models.toy.{module}", lambda name: False)
        return found.by(called) if found is not None else None

    assert stored("modeling_toy", "Tower") == {"helped", "sized", "named"}
    assert stored("computing", "Model") == {"sized"}
    assert stored("computing", "save") is None
    assert stored("called", "saved") is None
    assert stored("nowhere", "Tower") is None


@pytest.mark.parametrize(
    ("module", "name", "lacking"),
    [
        ("transformers.models.toy", "OtherConfig", True),
        ("transformers.models.toy", "ToyConfig", False),
        ("transformers.models.toy", "configuration_toy", False),
        # what lies in a file that is no package may have been made by anything
        ("transformers.models.toy.configuration_toy", "OtherConfig", False),
        ("torch", "OtherConfig", False),
    ],
)
def test_a_package_of_transformers_that_lacks_a_name(module: str, name: str, lacking: bool, tmp_path: Path) -> None:
    """A model type may have the config class of another: its own package is asked for that first."""
    lazy = """
from typing import TYPE_CHECKING

from ...utils import _LazyModule

if TYPE_CHECKING:
    from .configuration_toy import *
else:
    import sys

    sys.modules[__name__] = _LazyModule(__name__)
"""
    files = {
        "transformers/__init__.py": "",
        "transformers/utils/__init__.py": "class _LazyModule:\n    def __getattr__(self, name):\n        return self.of[name]\n",
        "transformers/models/__init__.py": "",
        "transformers/models/toy/__init__.py": lazy,
        "transformers/models/toy/configuration_toy.py": "__all__ = ['ToyConfig']\n\n\nclass ToyConfig:\n    pass\n",
    }
    program = Program(tree_in(tmp_path, files), FactsCache(None))
    assert ProgramWorld(program).lacks(module, name) is lacking
