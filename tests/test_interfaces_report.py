"""``preflight interfaces``: rows, names, what is missing, and the two forms in which it is written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from preflight.errors import TreeError, UsageError
from preflight.interfaces import Change, InterfacesReport, ModelRow, compare, interfaces_report, render_interfaces
from preflight.program import Program
from tests.minimodels import FILES, MODELS, TOY
from tests.programs import WHOLE_ENVIRONMENT, program_of


def row_of(report: InterfacesReport, architecture: str) -> ModelRow:
    (row,) = [row for row in report.rows if row.architecture == architecture]
    return row


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return program_of(tmp_path, FILES)


def test_a_row_for_each_architecture_in_the_registrys_order(program: Program) -> None:
    report = interfaces_report(program)
    assert [row.architecture for row in report.rows] == list(program.registry_reader.registry().entries)
    row = row_of(report, "OtherNameForCausalLM")
    assert (row.module, row.name) == ("vllm.model_executor.models.toy", "ToyForCausalLM")
    assert row.complete and row.error is None
    assert row.interfaces == ("SupportsPP", "SupportsEagle3")
    assert row.mro == (
        "vllm.model_executor.models.toy.ToyForCausalLM",
        "vllm.model_executor.models.toy.Base",
        "torch.nn.modules.module.Module",
        "vllm.model_executor.models.interfaces.SupportsPP",
        "vllm.model_executor.models.interfaces.SupportsEagle3",
        "typing.Protocol",
        "typing.Generic",
        "builtins.object",
    )
    assert {flag.name: flag.value for flag in row.flags}["architecture"] == "ToyForCausalLM"


def test_what_is_missing_is_what_the_interface_leaves_without_a_body(program: Program) -> None:
    row = row_of(interfaces_report(program), "ToyForCausalLM")
    # make_empty is set on the instance by Base.__init__, set_layers has a body, forward has one in Base
    assert [(m.interface, m.member, m.signature) for m in row.missing] == [("SupportsEagle3", "get_layers", "(self)")]
    lines = FILES[f"{MODELS}/interfaces.py"].splitlines()
    span = row.missing[0].span
    assert span.path == f"{MODELS}/interfaces.py" and span.line is not None
    assert "def get_layers" in lines[span.line - 1]


def test_classes_that_cannot_be_had_say_why_and_where(program: Program) -> None:
    report = interfaces_report(program)
    broken = row_of(report, "BrokenForCausalLM")
    assert broken.error is not None
    assert "cannot import name 'Misspelt'" in broken.error and f"{MODELS}/broken.py:2" in broken.error
    gone = row_of(report, "GoneForCausalLM")
    assert gone.error is not None and "GoneForCausalLM" in gone.error and gone.mro == ()
    assert {flag.value for flag in gone.flags} == {None}
    assert row_of(report, "ToyForCausalLM").error is None


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("(Base, SupportsPP, SupportsEagle3)", "(nn.Module, Base, SupportsPP)", "MRO"),
        ("class ToyForCausalLM", "@refuse\n    class ToyForCausalLM", "TypeError: no"),
        ("from .interfaces import SupportsEagle3,", "from .interfaces import SupportsEagle33,", "SupportsEagle33"),
        ("import torch.nn as nn", "import torch.nn as nn\n    def f(:", "SyntaxError"),
    ],
)
def test_a_class_that_python_refuses_has_an_error(tmp_path: Path, old: str, new: str, said: str) -> None:
    text = TOY.replace(old, new).replace(
        "class Base", "def refuse(cls):\n        raise TypeError('no')\n    class Base"
    )
    row = row_of(interfaces_report(program_of(tmp_path, {**FILES, f"{MODELS}/toy.py": text})), "ToyForCausalLM")
    assert row.error is not None and said in row.error, row


def test_an_optional_package_is_an_error_with_its_condition(tmp_path: Path) -> None:
    text = "import rarething\n" + FILES["vllm/models/lazy/model.py"].replace("        ", "")
    files = {**FILES, "vllm/models/lazy/__init__.py": "from .model import LazyForCausalLM\n"}
    files["vllm/models/lazy/model.py"] = text.replace("def __init__", "    def __init__")
    row = row_of(interfaces_report(program_of(tmp_path / "sources", files)), "LazyForCausalLM")
    assert row.error is not None and row.error.startswith("ModuleNotFoundError: No module named 'rarething'")
    assert "unless it is installed" in row.error and row.mro
    row = row_of(interfaces_report(program_of(tmp_path / "whole", {**files, **WHOLE_ENVIRONMENT})), "LazyForCausalLM")
    assert row.error is not None and "unless" not in row.error


def test_names_are_architectures_classes_or_interfaces(program: Program) -> None:
    def names(*asked: str) -> list[str]:
        return [row.architecture for row in interfaces_report(program, asked).rows]

    assert names("OtherNameForCausalLM") == ["OtherNameForCausalLM"]
    assert names("vllm.models.lazy:LazyForCausalLM") == ["LazyForCausalLM"]
    assert names("SupportsEagle3") == ["ToyForCausalLM", "OtherNameForCausalLM"]
    assert names("Base") == ["Base"]
    assert names("vllm.model_executor.models.toy.Base", "LazyForCausalLM") == ["Base", "LazyForCausalLM"]
    assert names("ToyForCausalLM", "SupportsPP") == ["ToyForCausalLM", "OtherNameForCausalLM"]


def test_a_name_shows_where_every_member_comes_from(program: Program) -> None:
    row = row_of(interfaces_report(program, ["ToyForCausalLM"]), "ToyForCausalLM")
    assert row.members is not None
    found = {(m.interface, m.member): (m.kind, m.owner.rpartition(".")[2], m.span.path) for m in row.members}
    toy, interfaces = f"{MODELS}/toy.py", f"{MODELS}/interfaces.py"
    assert found == {
        ("SupportsPP", "supports_pp"): ("value", "SupportsPP", interfaces),
        ("SupportsPP", "make_empty"): ("instance attribute", "Base", toy),
        ("SupportsPP", "forward"): ("method", "Base", toy),
        ("SupportsEagle3", "supports_eagle3"): ("value", "SupportsEagle3", interfaces),
        ("SupportsEagle3", "set_layers"): ("method", "ToyForCausalLM", toy),
        ("SupportsEagle3", "get_layers"): ("method", "SupportsEagle3", interfaces),
    }
    assert interfaces_report(program).rows[0].members is None


@pytest.mark.parametrize(("asked", "near"), [("ToyForCausal", "ToyForCausalLM"), ("SupportEagle3", "SupportsEagle3")])
def test_an_unknown_name_is_refused_with_the_nearest(program: Program, asked: str, near: str) -> None:
    with pytest.raises(UsageError) as caught:
        interfaces_report(program, [asked])
    assert asked in caught.value.message and near in (caught.value.help or "")
    with pytest.raises(UsageError) as caught:
        interfaces_report(program, ["nothing-like-it"])
    assert caught.value.help


def test_a_tree_without_a_registry(tmp_path: Path) -> None:
    program = program_of(tmp_path, {"vllm/m.py": "class Lonely: ...\n"})
    with pytest.raises(TreeError) as caught:
        interfaces_report(program)
    assert "ModelRegistry" in caught.value.message
    assert [row.name for row in interfaces_report(program, ["Lonely"]).rows] == ["Lonely"]


KEYS = ["architecture", "module", "class", "flags", "mro", "complete", "missing", "error"]


def test_the_json_has_the_shape_of_the_contract(program: Program) -> None:
    data = json.loads(render_interfaces(interfaces_report(program), "json"))
    assert list(data) == ["format_version", "tool", "tree", "models"]
    assert data["tool"]["name"] == "preflight"
    assert list(data["tree"]) == ["site_packages", "vllm", "transformers", "python", "patched"]
    for model in data["models"]:
        assert list(model) == KEYS
    toy = data["models"][0]
    assert toy["flags"] == {
        "architecture": "ToyForCausalLM",
        "is_generating": True,
        "supports_pp": True,
        "kind": "special",
        "sizes": "(1, 2)",
        "eagle3": True,
    }
    assert [list(missing) for missing in toy["missing"]] == [["interface", "member", "path", "line"]]
    gone = next(model for model in data["models"] if model["architecture"] == "GoneForCausalLM")
    assert set(gone["flags"].values()) == {None} and list(gone["flags"]) == list(toy["flags"])


def test_the_text_names_every_architecture_and_closes_with_one_sentence(program: Program) -> None:
    text = render_interfaces(interfaces_report(program), "text")
    for architecture in program.registry_reader.registry().entries:
        assert any(line.startswith(architecture) for line in text.splitlines())
    assert text.splitlines()[-1] == "vLLM 0.16.0: 5 architectures, 2 that cannot be imported as far as it is known."
    for width in (40, 60, 200):
        narrow = render_interfaces(interfaces_report(program), "text", width=width)
        assert "supports_pp" in narrow


def test_the_text_of_one_class(program: Program) -> None:
    text = render_interfaces(interfaces_report(program, ["ToyForCausalLM"]), "text")
    lines = TOY.splitlines()
    for expected in (
        f"{MODELS}/toy.py:{next(n for n, line in enumerate(lines, 1) if 'class Toy' in line)}",
        "set_layers  method of ToyForCausalLM",
        "SupportsEagle3.get_layers(self) has no body",
        "torch.nn.modules.module.Module",
    ):
        assert expected in text


def test_what_changed_between_two_trees(tmp_path: Path) -> None:
    before = interfaces_report(program_of(tmp_path / "old", FILES, version="0.15.0"))
    files = {
        **FILES,
        f"{MODELS}/toy.py": TOY.replace("(Base, SupportsPP, SupportsEagle3)", "(Base, SupportsPP)"),
        f"{MODELS}/broken.py": "from torch import nn\nclass BrokenForCausalLM(nn.Module): ...\n",
        f"{MODELS}/registry.py": FILES[f"{MODELS}/registry.py"]
        .replace('"OtherNameForCausalLM": (', '"NewForCausalLM": (')
        .replace('("vllm.models.lazy", "LazyForCausalLM")', '("vllm.models.lazy.model", "LazyForCausalLM")'),
    }
    after = interfaces_report(program_of(tmp_path / "new", files))
    changes = compare(before, after)
    assert {(change.architecture, change.what) for change in changes} == {
        ("ToyForCausalLM", "eagle3"),
        ("ToyForCausalLM", "interface"),
        ("NewForCausalLM", "added"),
        ("OtherNameForCausalLM", "removed"),
        ("LazyForCausalLM", "class"),
        ("BrokenForCausalLM", "error"),
    }
    assert Change("ToyForCausalLM", "eagle3", True, False) in changes
    assert Change("ToyForCausalLM", "interface", "SupportsEagle3", None) in changes
    text = render_interfaces(after, "text", changes=changes)
    assert "eagle3: yes -> no" in text and "-SupportsEagle3" in text
    data = json.loads(render_interfaces(after, "json", changes=changes))
    assert {"architecture": "ToyForCausalLM", "what": "eagle3", "before": True, "after": False} in data["changes"]
    assert compare(after, after) == ()
    assert "Nothing changed." in render_interfaces(after, "text", changes=())
