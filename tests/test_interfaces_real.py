"""Interfaces of released vLLM: what the real runtime said of every class of 0.16.0, and sense on the other releases."""

from __future__ import annotations

import json
import os
import re
from functools import cache
from pathlib import Path

import pytest

from preflight.interfaces import InterfacesReport, ModelRow, interfaces_report
from preflight.program import load_program
from preflight.tree import TreeRequest, open_tree

pytestmark = pytest.mark.real

CASES = Path(__file__).parent / "fixtures" / "cases" / "interfaces-0.16.0.json"
RELEASES = ("0.8.5", "0.10.2", "0.12.0", "0.16.0", "0.18.1", "0.20.2", "0.26.0", "0.33.0")
KIMI = "vllm/model_executor/models/kimi_k25.py"
ARCHITECTURE = "KimiK25ForConditionalGeneration"


@cache
def report_of(version: str, overlay: str | None = None, names: tuple[str, ...] = ()) -> InterfacesReport:
    overlays = (overlay,) if overlay is not None else ()
    tree = open_tree(TreeRequest(vllm=version, overlays=overlays), os.environ)
    return interfaces_report(load_program(tree, os.environ), names)


def rows_of(version: str) -> dict[str, ModelRow]:
    return {row.architecture: row for row in report_of(version).rows}


def shortened(mro: list[str] | tuple[str, ...]) -> list[str]:
    """Classes from outside the tree by their last name."""
    return [name if name.startswith("vllm.") else name.rpartition(".")[2] for name in mro]


def test_every_field_of_every_class_is_what_the_runtime_says() -> None:
    cases = json.loads(CASES.read_text())["models"]
    rows = rows_of("0.16.0")
    assert list(rows) == list(cases)
    differing = {}
    for architecture, case in cases.items():
        row = rows[architecture]
        if "error" in case:
            # the cause is the module or name that the runtime did not find
            (wanted,) = re.findall(r"(?:No module named|cannot import name) '([\w.]+)'", case["error"])
            assert row.error is not None and f"'{wanted}'" in row.error, architecture
            continue
        expected = {**case, "mro": shortened(case["mro"]), "error": None}
        found = {flag.name: flag.value for flag in row.flags} | {"mro": shortened(row.mro), "error": row.error}
        if found != expected or not row.complete:
            differing[architecture] = {key: (found.get(key), value) for key, value in expected.items()
                                       if found.get(key) != value}  # fmt: skip
    assert differing == {}


@pytest.mark.parametrize("version", RELEASES)
def test_every_class_of_a_release_is_known_in_full(version: str) -> None:
    rows = rows_of(version)
    assert len(rows) > 100
    assert [row.architecture for row in rows.values() if not row.complete] == []
    # 0.8.5 has no predicate for EAGLE-3
    known = {flag.name for row in rows.values() for flag in row.flags if flag.value is None}
    assert known == ({"eagle3"} if version == "0.8.5" else set())
    for row in rows.values():
        assert row.mro[-1] == "builtins.object" and "torch.nn.modules.module.Module" in row.mro


@pytest.mark.parametrize("version", RELEASES)
def test_only_missing_packages_stop_a_class_of_a_release(version: str) -> None:
    for row in rows_of(version).values():
        assert row.error is None or row.error.startswith(("ModuleNotFoundError", "ImportError")), row.error


@pytest.mark.parametrize(
    ("version", "expected"), [("0.16.0", False), ("0.18.1", True), ("0.20.2", True), ("0.33.0", True)]
)
def test_the_incidents_model_and_eagle3(version: str, expected: bool) -> None:
    assert {flag.name: flag.value for flag in rows_of(version)[ARCHITECTURE].flags}["eagle3"] is expected
    assert {flag.name: flag.value for flag in rows_of(version)["Qwen3ForCausalLM"].flags}["eagle3"] is True


def patched(tmp_path: Path, *changes: tuple[str, str]) -> ModelRow:
    text = (open_tree(TreeRequest(vllm="0.16.0"), os.environ).root / KIMI).read_text()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    file = tmp_path / KIMI
    file.parent.mkdir(parents=True)
    file.write_text(text)
    (row,) = report_of("0.16.0", str(tmp_path), (ARCHITECTURE,)).rows
    return row


IMPORT = ("SupportsMultiModal,\n    SupportsPP,\n", "SupportsEagle3,\n    SupportsMultiModal,\n    SupportsPP,\n")
BASES = ("SupportsPP, SupportsQuant\n", "SupportsPP, SupportsQuant, SupportsEagle3\n")
METHODS = (
    "    @classmethod\n    def get_placeholder_str",
    "    def set_aux_hidden_state_layers(self, layers: tuple[int, ...]) -> None:\n"
    "        self.language_model.set_aux_hidden_state_layers(layers)\n\n"
    "    def get_eagle3_aux_hidden_state_layers(self) -> tuple[int, ...]:\n"
    "        return self.language_model.get_eagle3_aux_hidden_state_layers()\n\n"
    "    @classmethod\n    def get_placeholder_str",
)


def eagle3(row: ModelRow) -> str | bool | int | None:
    return {flag.name: flag.value for flag in row.flags}["eagle3"]


def test_a_patch_of_the_model_shows_what_it_did(tmp_path: Path) -> None:
    row = patched(tmp_path / "claims", IMPORT, BASES)
    assert eagle3(row) is True
    assert {m.member for m in row.missing if m.interface == "SupportsEagle3"} == {
        "set_aux_hidden_state_layers",
        "get_eagle3_aux_hidden_state_layers",
    }
    row = patched(tmp_path / "right", IMPORT, BASES, METHODS)
    assert eagle3(row) is True
    assert not [m for m in row.missing if m.interface == "SupportsEagle3"]
    assert row.error is None and row.complete


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ([BASES], "NameError"),
        ([(IMPORT[0], IMPORT[1].replace("SupportsEagle3", "SupportsEagle33")), BASES], "SupportsEagle33"),
        ([IMPORT, (BASES[0], "SupportsPP, SupportsQuant, SupportsPP\n")], "duplicate base class"),
        ([IMPORT, ("nn.Module, SupportsMultiModal", "object, nn.Module, SupportsMultiModal")], "MRO"),
    ],
)
def test_a_patch_that_python_refuses_is_an_error(tmp_path: Path, changes: list[tuple[str, str]], said: str) -> None:
    row = patched(tmp_path, *changes)
    assert row.error is not None and said in row.error, row
