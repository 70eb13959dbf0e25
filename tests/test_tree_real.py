"""The tree room on released vLLM trees."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from preflight.tree import TreeKind, TreeRequest, open_tree
from preflight.tree.cache import is_whole
from preflight.tree.release import fetch_release
from tests.gitrepo import ENVIRON
from tests.trees import linked_copy, released, replace_file

pytestmark = pytest.mark.real

IMPORT = b"from .interfaces import MixtureOfExperts, SupportsEagle, SupportsLoRA, SupportsPP\n"
DEEPSEEK = "vllm/model_executor/models/deepseek_v2.py"


@pytest.mark.parametrize("version", ["0.8.5", "0.16.0", "0.33.0"])
def test_as_released_nothing_is_patched(version):
    tree = open_tree(TreeRequest(site_packages=str(released(version))), ENVIRON)
    assert (tree.facts.vllm, tree.facts.patched, tree.undecided) == (version, (), ())
    assert len(tree.compiled_modules()) > 5 and not tree.compiled_modules() & set(tree.files())


def test_changes_to_a_release_are_found_exactly(tmp_path):
    site = linked_copy(released("0.16.0"), tmp_path)
    replace_file(site / DEEPSEEK, (site / DEEPSEEK).read_bytes() + b"\n")
    replace_file(site / "vllm/model_executor/models/mine.py", b"")
    (site / "vllm/envs.py").unlink()
    tree = open_tree(TreeRequest(site_packages=str(site)), ENVIRON)
    assert [(file.path, file.state.value) for file in tree.facts.patched] == [
        ("vllm/envs.py", "missing"),
        (DEEPSEEK, "modified"),
        ("vllm/model_executor/models/mine.py", "added"),
    ]
    assert tree.pristine(DEEPSEEK) == (released("0.16.0") / DEEPSEEK).read_bytes()


def test_a_released_tree_with_its_transformers_and_the_incident_laid_over():
    patch = Path(__file__).parent / "fixtures" / "patches" / "incident-malformed.patch"
    tree = open_tree(TreeRequest(vllm="0.16.0", overlays=(str(patch),)), os.environ)
    assert (tree.kind, tree.facts.transformers) == (TreeKind.RELEASED, "4.57.6")
    assert [file.path for file in tree.facts.patched] == [DEEPSEEK]
    assert IMPORT in (tree.pristine(DEEPSEEK) or b"") and IMPORT not in tree.read(DEEPSEEK)


def test_the_incidents_patch_does_not_apply_to_another_release():
    patch = Path(__file__).parent / "fixtures" / "patches" / "incident-malformed.patch"
    tree = open_tree(TreeRequest(site_packages=str(released("0.33.0")), overlays=(str(patch),)), ENVIRON)
    assert [failure.path for failure in tree.failures] == [DEEPSEEK]
    assert tree.facts.patched == ()


def test_a_release_comes_out_of_the_real_index(tmp_path, monkeypatch):
    monkeypatch.setenv("PREFLIGHT_CACHE", str(tmp_path))
    folder = fetch_release("vllm", "0.8.5")
    assert is_whole(folder, "vllm", every_byte=True)
    assert {file.suffix for file in (folder / "vllm").rglob("*") if file.is_file()} <= {".py", ".pyi"}
