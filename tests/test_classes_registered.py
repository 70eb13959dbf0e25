"""What the engine asks of every registered class: to be a module, and methods that take what the tree passes."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from preflight.checks.classes.family import check_classes
from preflight.checks.context import CheckOptions
from preflight.model import Fault, Severity
from preflight.program import FactsCache, Program
from tests.checking import context_of
from tests.minimodels import FILES, MODELS
from tests.programs import tree_of

TOY = f"{MODELS}/toy.py"
LOADER = "vllm/loader.py"
NEIGHBOURS = ("Ant", "Bee", "Cat", "Dog")
HEAD = "import torch.nn as nn\nfrom .interfaces import SupportsPP\n"
MODEL = """\
class ToyForCausalLM(nn.Module, SupportsPP):
    def __init__(self, *, config, prefix=""):
        super().__init__()
    def forward(self, input_ids, positions, intermediate=None): ...
    def compute_logits(self, hidden): return hidden
    def make_empty(self, size): return size
    def load_weights(self, weights): return weights
"""
ENTRIES = "".join(f'        "{name}ForCausalLM": ("beside", "{name}"),\n' for name in NEIGHBOURS)
BESIDE = "import torch.nn as nn\n" + "".join(
    f"class {name}(nn.Module):\n    def load_weights(self, weights): return weights\n" for name in NEIGHBOURS
)
LOADING = """\
from torch import nn

class Loader:
    def load(self, model: nn.Module, names):
        if not hasattr(model, "load_weights"):
            raise ValueError(names)
        return model.load_weights((name, 1) for name in names)
"""


def faults_of(folder: Path, text: str, released: str = HEAD + MODEL, **files: str) -> list[tuple[str, int | None]]:
    """The check and line of the errors of a patched model; ``files`` take the place of the release's."""
    registry = FILES[f"{MODELS}/registry.py"].replace("    _TEXT = {\n", f"    _TEXT = {{\n{ENTRIES}")
    own = {"beside": BESIDE, "loading": LOADING, **files}
    tree = tree_of(
        folder,
        {
            **FILES,
            f"{MODELS}/registry.py": registry,
            f"{MODELS}/beside.py": own["beside"],
            LOADER: own["loading"],
            TOY: released,
        },
    )
    tree = tree.with_overlay({TOY: (HEAD + textwrap.dedent(text)).encode()})
    paths = tuple(file.path for file in tree.facts.patched)
    found = list(check_classes(context_of(tree, Program(tree, FactsCache(None)), paths, CheckOptions())))
    return [(one.check, one.span.line) for one in found if isinstance(one, Fault) and one.severity is not Severity.INFO]


def changed(old: str, new: str) -> str:
    assert old in MODEL
    return MODEL.replace(old, new)


NO_MODULE = changed("(nn.Module, SupportsPP)", "(SupportsPP)")
LOADS = "def load_weights(self, weights)"


def test_a_registered_class_is_a_module(tmp_path: Path) -> None:
    assert faults_of(tmp_path / "as_released", "\n" + MODEL) == []
    assert faults_of(tmp_path / "none", NO_MODULE) == [("registry-entry-broken", 3)]


def test_a_new_object_is_of_the_class_that_makes_it(tmp_path: Path) -> None:
    new = "    def __new__(cls, *args, **kwargs):\n"
    itself = NO_MODULE + new + "        made = super().__new__(cls)\n        return made\n"
    other = NO_MODULE + new + "        return pick(cls)(*args)\n"
    assert faults_of(tmp_path / "itself", itself) == [("registry-entry-broken", 3)]
    assert faults_of(tmp_path / "other", "from elsewhere import pick\n" + other) == []


@pytest.mark.parametrize(
    ("text", "files"),
    [
        (NO_MODULE.replace("(SupportsPP)", "(SupportsPP, Unknown)"), {}),
        ("@unknown\n" + NO_MODULE, {}),
        # where one of those beside it is none either, the engine does not need it
        (NO_MODULE, {"beside": BESIDE.replace("Bee(nn.Module)", "Bee")}),
    ],
)
def test_what_may_be_a_module_or_need_not(tmp_path: Path, text: str, files: dict[str, str]) -> None:
    assert faults_of(tmp_path, "from elsewhere import Unknown, unknown\n" + text, **files) == []


@pytest.mark.parametrize("written", ["def load_weights(self, weights, extra)", "def load_weights(self)"])
def test_a_method_that_cannot_take_what_the_loader_passes(tmp_path: Path, written: str) -> None:
    assert faults_of(tmp_path, changed(LOADS, written)) == [("call-cannot-bind", 9)]


@pytest.mark.parametrize(
    ("written", "files"),
    [
        ("def load_weights(self, given, extra=None)", {}),
        ("def load_weights(self, *given)", {}),
        ("@unknown\n    def load_weights(self)", {}),
        # the object is of a class that is asked for, another one, or not known to be a module
        (
            "def load_weights(self)",
            {"loading": LOADING.replace('not hasattr(model, "load_weights")', "isinstance(model, X)")},
        ),
        (
            "def load_weights(self)",
            {"loading": LOADING.replace("        return", "        model = names(model)\n        return")},
        ),
        ("def load_weights(self)", {"loading": LOADING.replace(": nn.Module", "")}),
        # another caller passes what it takes
        ("def load_weights(self)", {"loading": f"{LOADING}\ndef again(model: nn.Module):\n    model.load_weights()\n"}),
        # those beside it cannot take it either: it is another method of this name
        ("def load_weights(self)", {"beside": BESIDE.replace("weights)", "weights, more)")}),
        # something else is put there
        ("def load_weights(self)", {"loading": f"{LOADING}\ndef put(model, f):\n    model.load_weights = f\n"}),
    ],
)
def test_a_method_that_may_take_it(tmp_path: Path, written: str, files: dict[str, str]) -> None:
    text = "from elsewhere import unknown\n" + changed(LOADS, written)
    assert faults_of(tmp_path, text, **files) == []
