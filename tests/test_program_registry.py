"""The registry and a model's info, read by running the tree's own code on its classes."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.program import Class, Program
from preflight.program.model_info import ModelInfo
from tests.minimodels import FILES, MODELS, REGISTRY, TOY
from tests.programs import class_of, program_of


def info_of(program: Program, module: str, name: str) -> ModelInfo:
    return program.model_infos.info(class_of(program, module, name))


def values(info: ModelInfo) -> dict:
    return {flag.name: flag.value for flag in (*info.flags, info.eagle3)}


def test_entries_with_their_modules_classes_and_places(tmp_path: Path) -> None:
    program = program_of(tmp_path, FILES)
    registry = program.registry_reader.registry()
    assert registry.module == "vllm.model_executor.models.registry"
    assert {name: (entry.module, entry.name) for name, entry in registry.entries.items()} == {
        "ToyForCausalLM": ("vllm.model_executor.models.toy", "ToyForCausalLM"),
        "OtherNameForCausalLM": ("vllm.model_executor.models.toy", "ToyForCausalLM"),
        "LazyForCausalLM": ("vllm.models.lazy", "LazyForCausalLM"),
        "BrokenForCausalLM": ("vllm.model_executor.models.broken", "BrokenForCausalLM"),
        "GoneForCausalLM": ("vllm.model_executor.models.toy", "GoneForCausalLM"),
    }
    lines = REGISTRY.splitlines()
    for name, entry in registry.entries.items():
        assert entry.span.path == f"{MODELS}/registry.py" and entry.span.line is not None
        assert f'"{name}": (' in lines[entry.span.line - 1]


def test_a_registry_that_grows_by_statements_is_followed(tmp_path: Path) -> None:
    text = REGISTRY.replace(
        "    _MODELS = {**_TEXT, **_MORE}\n",
        '    _TEXT["Added"] = ("toy", "ToyForCausalLM")\n'
        '    _MORE.update({"Updated": ("toy", "ToyForCausalLM")})\n'
        "    _MODELS = {**_TEXT, **_MORE}\n",
    )
    entries = program_of(tmp_path, {**FILES, f"{MODELS}/registry.py": text}).registry_reader.registry().entries
    assert {"Added", "Updated", "ToyForCausalLM"} <= set(entries)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("ModelRegistry = ", "Renamed = "),
        ("**_TEXT", "**elsewhere()"),
        ('if name.startswith("vllm."):', "if elsewhere(name):"),
        ("    _MODELS = {", "    if ready():\n        _TEXT['x'] = ('toy', 'Toy')\n    _MODELS = {"),
        ("_MODELS.items()", "_MODELS_GONE.items()"),
    ],
)
def test_a_registry_that_cannot_be_followed_says_why(tmp_path: Path, old: str, new: str) -> None:
    assert old in REGISTRY
    files = {**FILES, f"{MODELS}/registry.py": REGISTRY.replace(old, new), f"{MODELS}/__init__.py": ""}
    registry = program_of(tmp_path, files).registry_reader.registry()
    assert registry.entries == {} and registry.reason


def test_the_info_is_what_the_trees_own_predicates_say(tmp_path: Path) -> None:
    program = program_of(tmp_path, FILES)
    assert values(info_of(program, "vllm.model_executor.models.toy", "ToyForCausalLM")) == {
        "architecture": "ToyForCausalLM",
        "is_generating": True,
        "supports_pp": True,
        "kind": "special",
        "sizes": "(1, 2)",
        "eagle3": True,
    }
    # an __init__ that takes no config, no forward of its own: torch's takes (*input)
    assert values(info_of(program, "vllm.models.lazy", "LazyForCausalLM")) == {
        "architecture": "LazyForCausalLM",
        "is_generating": False,
        "supports_pp": False,
        "kind": "plain",
        "sizes": "()",
        "eagle3": False,
    }
    assert program.model_infos.field_names() == ("architecture", "is_generating", "supports_pp", "kind", "sizes")


@pytest.mark.parametrize(
    ("old", "new", "flag", "value"),
    [
        ("(Base, SupportsPP, SupportsEagle3)", "(Base, SupportsPP)", "eagle3", False),
        ("(Base, SupportsPP, SupportsEagle3)", "(Base, SupportsEagle3)", "supports_pp", False),
        ("intermediate=None", "other=None", "supports_pp", False),
        ("input_ids, positions", "ids, positions", "is_generating", False),
        ("*, config, prefix", "*, vllm_config, prefix", "is_generating", False),
        ("def compute_logits", "def compute_logit", "is_generating", False),
        ('@kind("special")', "", "kind", "plain"),
        ("def set_layers", "def set_layer", "eagle3", True),  # the body in the interface counts, empty as it is
    ],
)
def test_a_change_of_the_model_changes_its_info(
    tmp_path: Path, old: str, new: str, flag: str, value: str | bool
) -> None:
    assert old in TOY
    program = program_of(tmp_path, {**FILES, f"{MODELS}/toy.py": TOY.replace(old, new)})
    info = info_of(program, "vllm.model_executor.models.toy", "ToyForCausalLM")
    assert values(info)[flag] == value


def test_eagle3_without_claiming_it_is_a_matter_of_attributes(tmp_path: Path) -> None:
    duck = TOY.replace("(Base, SupportsPP, SupportsEagle3)", "(Base)").replace(
        "sizes = (1, 2)", "supports_eagle3 = True\n        def get_layers(self): return (1,)"
    )
    program = program_of(tmp_path, {**FILES, f"{MODELS}/toy.py": duck})
    assert values(info_of(program, "vllm.model_executor.models.toy", "ToyForCausalLM"))["eagle3"] is True


def test_what_is_not_known_is_none_with_a_reason(tmp_path: Path) -> None:
    text = TOY.replace("class Base(nn.Module)", "class Base(Elsewhere)").replace(
        "import torch.nn as nn", "from elsewhere import Elsewhere"
    )
    program = program_of(tmp_path, {**FILES, f"{MODELS}/toy.py": text})
    info = info_of(program, "vllm.model_executor.models.toy", "ToyForCausalLM")
    assert info.error is None
    assert {flag.name: bool(flag.reason) for flag in info.flags if flag.value is None}
    lazy = info_of(program, "vllm.models.lazy", "LazyForCausalLM")
    assert all(flag.value is not None for flag in lazy.flags)


def test_what_the_trees_code_raises_is_the_error(tmp_path: Path) -> None:
    text = TOY.replace("sizes = (1, 2)", 'kind = "another"').replace('@kind("special")', "")
    text = text.replace("class Base(nn.Module):", 'class Base(nn.Module):\n        kind = "special"')
    program = program_of(tmp_path, {**FILES, f"{MODELS}/toy.py": text})
    info = info_of(program, "vllm.model_executor.models.toy", "ToyForCausalLM")
    assert info.error is not None and info.error.startswith("AssertionError")
    assert f"{MODELS}/interfaces.py" in info.error


def test_a_tree_without_the_predicates_says_so(tmp_path: Path) -> None:
    program = program_of(tmp_path, {"vllm/m.py": "class C: ...\n"})
    info = info_of(program, "vllm.m", "C")
    assert info.flags == () and info.eagle3.value is None and info.eagle3.reason
    assert program.registry_reader.registry().reason


def test_an_entry_that_leads_nowhere(tmp_path: Path) -> None:
    program = program_of(tmp_path, FILES)
    entries = program.registry_reader.registry().entries
    gone = program.registry_reader.model_class(entries["GoneForCausalLM"])
    assert not isinstance(gone, Class) and gone.missing is not None and gone.missing.name == "GoneForCausalLM"
