"""Git as the reference and as the source of contents: --base-ref and --staged, on real repositories."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from preflight.errors import TreeError, UsageError
from preflight.tree import SourceUnreadable, Tree, TreeRequest, open_tree
from tests.gitrepo import ENVIRON, git, make_repository
from tests.minitree import make_tree, write

MODEL = "vllm/model_executor/models/toy.py"


def opened(site: Path, environ: dict[str, str] | None = None, **options) -> Tree:
    return open_tree(TreeRequest(site_packages=str(site), **options), environ or ENVIRON)


def states(tree: Tree) -> dict[str, str]:
    return {file.path: file.state.value for file in tree.facts.patched}


def make_checkout(folder: Path) -> Path:
    """A source checkout under git, with a tag and products of a build that git ignores."""
    for path in ("vllm/__init__.py", "vllm/engine/core.py", "vllm/engine/args.py", MODEL, "tests/test_toy.py"):
        write(folder / path, f"# {path}\n".encode())
    write(folder / ".gitignore", b"vllm/_version.py\n*.so\n__pycache__\n")
    make_repository(folder)
    git(folder, "tag", "v0.16.0")
    write(folder / "vllm/_version.py", b"__version__ = '0.16.0'\n")
    return folder


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    return make_checkout(tmp_path / "checkout")


def change(checkout: Path) -> None:
    write(checkout / MODEL, b"patched\n")
    write(checkout / "vllm/engine/new.py", b"new\n")
    (checkout / "vllm/engine/args.py").unlink()


def test_without_a_reference_a_checkout_is_undecided(checkout):
    change(checkout)
    tree = opened(checkout)
    assert states(tree) == {}
    assert [(u.id, u.decisive) for u in tree.undecided] == [("no-reference", True)]
    assert tree.facts.vllm == "0.16.0"


@pytest.mark.parametrize("place", ["", "src"])
def test_base_ref_compares_the_work_tree_with_untracked_files(tmp_path, place):
    top = tmp_path / "repo"
    root = make_checkout(top / place) if not place else top / place
    if place:
        make_checkout(top)
        (top / "vllm/_version.py").unlink()
        git(top, "rm", "-q", "--cached", "-r", ".")
        (top / "src").mkdir()
        (top / "vllm").rename(top / "src/vllm")
        make_repository(top)
    change(root)
    write(root / "vllm/engine/notes.txt", b"no Python\n")
    tree = opened(top, base_ref="HEAD")
    assert states(tree) == {
        "vllm/engine/args.py": "missing",
        "vllm/engine/new.py": "added",
        MODEL: "modified",
    }
    assert tree.undecided == ()
    assert tree.pristine(MODEL) == f"# {MODEL}\n".encode()
    assert tree.pristine("vllm/engine/new.py") is None
    assert any("HEAD" in note for note in tree.notes)


def test_base_ref_may_be_an_older_commit_or_a_tag(checkout):
    write(checkout / MODEL, b"second\n")
    git(checkout, "commit", "-q", "-a", "-m", "second")
    assert states(opened(checkout, base_ref="HEAD")) == {}
    assert states(opened(checkout, base_ref="v0.16.0")) == {MODEL: "modified"}
    assert opened(checkout, base_ref="v0.16.0").facts.vllm == "0.16.0"


def test_the_version_of_a_checkout_without_a_build_is_that_of_its_tag(checkout):
    (checkout / "vllm/_version.py").unlink()
    assert opened(checkout).facts.vllm == "0.16.0"
    git(checkout, "commit", "-q", "--allow-empty", "-m", "second")
    assert (opened(checkout).facts.vllm or "").startswith("0.16.0+1.g")


@pytest.mark.parametrize("ref", ["nothing", "--output=x", "", "HEAD:vllm/__init__.py", "a\0b"])
def test_a_reference_that_is_none_is_refused(checkout, ref):
    with pytest.raises(UsageError):
        opened(checkout, base_ref=ref)
    assert not (checkout / "x").exists()


def test_git_that_is_not_there_is_said(checkout):
    with pytest.raises(TreeError) as raised:
        opened(checkout, {"PATH": str(checkout)}, base_ref="HEAD")
    assert "git" in raised.value.message


def test_a_broken_repository_is_said(checkout):
    (checkout / ".git" / "index").write_bytes(b"broken")
    with pytest.raises(TreeError):
        opened(checkout, base_ref="HEAD")


def test_programs_that_a_repository_configures_are_not_run(checkout):
    marker = checkout / "was-run"
    script = checkout / "run.sh"
    script.write_text(f"#!/bin/sh\ntouch {marker}\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    for key in ("diff.external", "core.fsmonitor", "diff.py.textconv", "diff.py.command"):
        git(checkout, "config", key, str(script))
    write(checkout / ".gitattributes", b"*.py diff=py\n")
    change(checkout)
    assert MODEL in states(opened(checkout, base_ref="HEAD"))
    assert not marker.exists()


# --- --staged on the tree itself ----------------------------------------------------------------------------------


def test_staged_content_is_checked_not_the_work_tree(checkout):
    change(checkout)
    git(checkout, "add", "-A")
    write(checkout / MODEL, b"not staged\n")
    write(checkout / "vllm/engine/args.py", b"back, but not staged\n")
    write(checkout / "vllm/engine/core.py", b"not staged\n")
    write(checkout / "vllm/engine/untracked.py", b"untracked\n")
    tree = opened(checkout, staged=True)
    assert states(tree) == {"vllm/engine/args.py": "missing", "vllm/engine/new.py": "added", MODEL: "modified"}
    assert tree.read(MODEL) == b"patched\n"
    assert tree.read("vllm/engine/core.py") == b"# vllm/engine/core.py\n"
    assert not tree.exists("vllm/engine/untracked.py")
    assert tree.origin(MODEL) is None
    with pytest.raises(SourceUnreadable):
        tree.read("vllm/engine/args.py")


def test_staged_before_the_first_commit(tmp_path):
    write(tmp_path / "vllm/__init__.py", b"")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    assert states(opened(tmp_path, staged=True)) == {"vllm/__init__.py": "added"}


def test_a_path_into_a_staged_tree_selects_what_is_staged(checkout):
    change(checkout)
    git(checkout, "add", "-A")
    tree = opened(checkout, staged=True, paths=(str(checkout / "vllm/engine"),))
    assert tree.selected == ("vllm/engine/args.py", "vllm/engine/new.py")


def test_the_index_that_a_hook_is_given_is_the_one_that_counts(checkout, monkeypatch):
    """``git commit FILE`` runs its hooks with an index of its own."""
    monkeypatch.chdir(checkout)
    other = checkout / ".git" / "other-index"
    other.write_bytes((checkout / ".git" / "index").read_bytes())
    write(checkout / MODEL, b"patched\n")
    git(checkout, "add", MODEL)
    assert states(opened(checkout, staged=True)) == {MODEL: "modified"}
    hook = {**ENVIRON, "GIT_INDEX_FILE": str(other), "GIT_DIR": str(checkout / ".git")}
    assert states(opened(checkout, hook, staged=True)) == {}


# --- a patch repository beside an installed tree ------------------------------------------------------------------


@pytest.fixture
def site(tmp_path: Path) -> Path:
    return make_tree(tmp_path / "env", {MODEL: "release\n", "vllm/engine/core.py": "release\n"})


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "repo"
    write(folder / "patches" / MODEL, b"patched\n")
    write(folder / "patches/vllm/engine/core.py", b"patched\n")
    write(folder / "tools/a.py", b"a\n")
    write(folder / "tools/b.py", b"b\n")
    monkeypatch.chdir(make_repository(folder))
    return folder


def stage(repo: Path) -> None:
    write(repo / "patches" / MODEL, b"staged\n")
    write(repo / "tools/a.py", b"staged\n")
    git(repo, "add", "-A")
    write(repo / "patches" / MODEL, b"not staged\n")
    write(repo / "tools/a.py", b"not staged\n")
    write(repo / "tools/b.py", b"not staged\n")


@pytest.mark.parametrize("paths", [(), (".",), ("patches", "tools")])
def test_staged_files_of_a_patch_repository(site, repo, paths):
    stage(repo)
    tree = opened(site, staged=True, paths=paths)
    assert states(tree) == {MODEL: "overlay", "vllm/engine/core.py": "overlay"}
    assert tree.selected == (MODEL,)
    assert tree.read(MODEL) == b"staged\n"
    assert [(file.path, file.data) for file in tree.outside] == [("tools/a.py", b"staged\n")]
    assert tree.origin(MODEL) is None and tree.origin("tools/a.py") is None


def test_files_that_differ_from_a_base(site, repo):
    stage(repo)
    tree = opened(site, base_ref="HEAD")
    assert tree.selected == (MODEL,)
    assert tree.read(MODEL) == b"not staged\n"
    assert [file.path for file in tree.outside] == ["tools/a.py", "tools/b.py"]


def test_a_staged_overlay_and_its_diffs(site, repo):
    write(repo / "diffs/x.patch", b"--- a/vllm/engine/core.py\n+++ b/vllm/engine/core.py\n@@ -1 +1 @@\n-release\n+x\n")
    git(repo, "add", "-A")
    write(repo / "diffs/x.patch", b"broken since\n")
    tree = opened(site, staged=True, overlays=("diffs",))
    assert (tree.selected, tree.read("vllm/engine/core.py")) == (("vllm/engine/core.py",), b"x\n")


def test_a_file_taken_out_of_the_index_is_no_overlay(site, repo):
    git(repo, "rm", "-q", "--cached", f"patches/{MODEL}")
    assert states(opened(site, staged=True)) == {"vllm/engine/core.py": "overlay"}


def test_git_options_for_a_folder_without_git_are_refused(site, tmp_path, monkeypatch):
    write(tmp_path / "plain" / MODEL, b"x\n")
    monkeypatch.chdir(tmp_path / "plain")
    with pytest.raises(TreeError):
        opened(site, staged=True)


def test_an_environment_inside_the_patch_repository_is_not_taken_for_its_tree(repo):
    site = make_tree(repo / "env", {MODEL: "release\n"})
    write(repo / ".gitignore", b"env\n")
    stage(repo)
    tree = opened(site, staged=True, paths=("patches",))
    assert tree.read(MODEL) == b"staged\n"
    assert os.fspath(tree.root) == os.fspath(site)


@pytest.mark.parametrize("options", [{"staged": True}, {"base_ref": "HEAD"}])
def test_two_references_for_one_tree_are_refused(checkout, options):
    with pytest.raises(UsageError):
        opened(checkout, vllm="0.16.0", **options)
