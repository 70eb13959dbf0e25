"""Overlays and PATHs: what is laid over which path of the tree, in memory, and what is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from preflight.errors import PreflightError, TreeError, UsageError
from preflight.tree import SourceUnreadable, Tree, TreeRequest, open_tree
from preflight.tree.diff import Why
from tests.gitrepo import ENVIRON, make_repository
from tests.minitree import make_tree, write

TOY = "".join(f"line_{i} = {i}\n" for i in range(20))
RELEASE = {
    "vllm/model_executor/models/toy.py": TOY,
    "vllm/model_executor/models/registry.py": "MODELS = {}\n",
    "vllm/engine/utils.py": "x = 1\n",
    "vllm/entrypoints/utils.py": "y = 1\n",
    "vllm/configs/toy.json": "{}\n",
}
MODEL = "vllm/model_executor/models/toy.py"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    return make_tree(tmp_path / "env", RELEASE)


def opened(site: Path, *overlays: str, paths: tuple[str, ...] = ()) -> Tree:
    before = {file: file.read_bytes() for file in site.rglob("*") if file.is_file()}
    tree = open_tree(TreeRequest(site_packages=str(site), overlays=overlays, paths=paths), ENVIRON)
    assert {file: file.read_bytes() for file in site.rglob("*") if file.is_file()} == before
    return tree


def states(tree: Tree) -> dict[str, str]:
    return {file.path: file.state.value for file in tree.facts.patched}


# --- --overlay ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("top", ["", "deep/down", "vllm/of/mine"])
def test_a_folder_of_files_mirrors_the_tree(site, repo, top):
    write(repo / "overlay" / top / MODEL, b"patched\n")
    write(repo / "overlay" / top / "vllm/model_executor/models/new.py", b"new\n")
    write(repo / "overlay" / top / "README.md", b"words\n")
    tree = opened(site, "overlay")
    assert states(tree) == {MODEL: "overlay", "vllm/model_executor/models/new.py": "overlay"}
    assert tree.read(MODEL) == b"patched\n" and tree.pristine(MODEL) == TOY.encode()
    assert tree.exists("vllm/model_executor/models/new.py") and "vllm/model_executor/models/new.py" in tree.files()
    assert tree.origin(MODEL) == repo / "overlay" / top / MODEL
    assert tree.selected is None and tree.outside == ()


def test_the_package_folder_itself_as_overlay(site, repo):
    write(repo / "vllm" / "model_executor/models/new.py", b"new\n")
    write(repo / MODEL, b"patched\n")
    assert set(states(opened(site, "vllm"))) == {MODEL, "vllm/model_executor/models/new.py"}


@pytest.mark.parametrize("name", ["toy.py", "models/vllm/model_executor/models/toy.py"])
def test_a_single_file_by_its_place_or_its_bare_name(site, repo, name):
    write(repo / name, b"patched\n")
    assert states(opened(site, name)) == {MODEL: "overlay"}


@pytest.mark.parametrize("name", ["utils.py", "unheard_of.py", "pyproject.toml"])
def test_a_name_that_is_not_one_of_the_tree_is_refused(site, repo, name):
    write(repo / name, b"x = 1\n")
    with pytest.raises(UsageError):
        opened(site, name)


def test_later_overlays_lie_over_earlier_ones(site, repo):
    write(repo / "one" / MODEL, b"one\n")
    write(repo / "two" / MODEL, b"two\n")
    assert opened(site, "one", "two").read(MODEL) == b"two\n"
    assert opened(site, "two", "one").read(MODEL) == b"one\n"


def test_an_overlay_that_is_the_release_is_no_patch(site, repo):
    write(repo / "overlay" / MODEL, TOY.encode())
    tree = opened(site, "overlay")
    assert states(tree) == {}
    assert any(MODEL in note for note in tree.notes)


def test_an_overlay_that_restores_the_release_takes_the_patch_away(tmp_path, repo):
    site = make_tree(tmp_path / "other", RELEASE, {MODEL: "patched\n"})
    write(repo / "same" / MODEL, b"patched\n")
    assert states(opened(site, "same")) == {MODEL: "modified"}


def test_hidden_things_caches_and_environments_are_no_overlay(site, repo):
    write(repo / "o" / MODEL, b"patched\n")
    for path in (".git/vllm/a.py", "vllm/__pycache__/a.py", ".venv/vllm/b.py", "vllm/engine/._utils.py"):
        write(repo / "o" / path, b"\0")
    write(repo / "o/env/pyvenv.cfg", b"")
    write(repo / "o/env/lib/vllm/engine/utils.py", b"\0")
    write(repo / "o/vllm/_C.abi3.so", b"\0")
    assert states(opened(site, "o")) == {MODEL: "overlay"}


# --- diffs --------------------------------------------------------------------------------------------------------


def diff_of(path: str, old: str = "line_3 = 3", new: str = "line_3 = 33", line: int = 4) -> bytes:
    return f"--- {path}\n+++ {path}\n@@ -{line} +{line} @@\n-{old}\n+{new}\n".encode()


@pytest.mark.parametrize(
    "path",
    [
        f"a/{MODEL}",
        MODEL,
        f"site-packages/{MODEL}",
        f"/usr/lib/python3/{MODEL}",
        "a/model_executor/models/toy.py",
        "model_executor/models/toy.py",
        "toy.py",
        f"a/vllm/{MODEL}",
    ],
)
def test_a_diff_is_applied_whatever_its_paths_begin_with(site, repo, path):
    write(repo / "x.patch", diff_of(path))
    tree = opened(site, "x.patch")
    assert states(tree) == {MODEL: "overlay"}
    assert tree.read(MODEL) == TOY.replace("line_3 = 3\n", "line_3 = 33\n").encode()
    assert tree.origin(MODEL) is None


def test_a_folder_of_diffs_is_applied_in_order(site, repo):
    write(repo / "p/0002-b.patch", diff_of(MODEL, "line_3 = 33", "line_3 = 333"))
    write(repo / "p/0001-a.diff", diff_of(MODEL))
    write(repo / "p/apply.sh", b"exit 1\n")
    assert b"line_3 = 333\n" in opened(site, "p").read(MODEL)


def test_a_series_file_gives_the_order(site, repo):
    write(repo / "p/a.patch", diff_of(MODEL, "line_3 = 33", "line_3 = 333"))
    write(repo / "p/z.patch", diff_of(MODEL))
    write(repo / "p/never.patch", diff_of(MODEL, "no", "no"))
    write(repo / "p/series", b"# order\nz.patch -p1\n\na.patch # last\n")
    assert b"line_3 = 333\n" in opened(site, "p").read(MODEL)
    write(repo / "p/series", b"missing.patch\n")
    with pytest.raises(TreeError):
        opened(site, "p")


def test_new_and_deleted_files_of_a_diff(site, repo):
    new = b"--- /dev/null\n+++ b/vllm/new_package/mod.py\n@@ -0,0 +1 @@\n+x = 1\n\\ No newline at end of file\n"
    gone = b"--- a/vllm/engine/utils.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x = 1\n"
    write(repo / "x.diff", new + gone)
    tree = opened(site, "x.diff")
    assert states(tree) == {"vllm/engine/utils.py": "missing", "vllm/new_package/mod.py": "overlay"}
    assert tree.read("vllm/new_package/mod.py") == b"x = 1"
    assert tree.patched_python() == ("vllm/new_package/mod.py",)
    assert "vllm/engine/utils.py" not in tree.files()
    with pytest.raises(SourceUnreadable):
        tree.read("vllm/engine/utils.py")


def test_what_a_diff_changes_elsewhere_is_noted(site, repo):
    write(repo / "x.diff", diff_of(MODEL) + diff_of("tests/test_toy.py") + diff_of("setup.py"))
    tree = opened(site, "x.diff")
    assert states(tree) == {MODEL: "overlay"}
    assert any("tests/test_toy.py" in note for note in tree.notes)


def test_a_diff_of_data_that_a_sources_only_tree_has_not_is_noted(tmp_path, repo):
    taken = {"vllm/configs/toy.json": None, "vllm/_C.abi3.so": None}
    site = make_tree(tmp_path / "sources", RELEASE, taken)
    write(repo / "x.diff", diff_of(MODEL) + diff_of("vllm/configs/toy.json", "{}", "[]", 1))
    assert states(opened(site, "x.diff")) == {MODEL: "overlay"}


@pytest.mark.parametrize(
    ("old", "new", "line", "why"),
    [
        ("line_3 = 4", "x", 4, Why.DIFFERS),
        ("line_3 = 3", "x", 6, Why.MOVED),
        ("line_9 = 1", "line_3 = 3", 4, Why.APPLIED),
        ("line_3 = 3", "x", 90, Why.MOVED),
    ],
)
def test_what_does_not_apply_exactly_is_kept_and_the_file_left_as_it_is(site, repo, old, new, line, why):
    write(repo / "x.patch", diff_of(f"a/{MODEL}", old, new, line))
    tree = opened(site, "x.patch")
    (failure,) = tree.failures
    assert (failure.diff, failure.path, failure.why) == ("x.patch", MODEL, why)
    assert tree.read(MODEL) == (site / MODEL).read_bytes()


def test_a_file_that_a_diff_failed_on_is_failed_on_once(site, repo):
    write(repo / "o/1.patch", diff_of(f"a/{MODEL}", "line_3 = 4", "x", 4))
    write(repo / "o/2.patch", diff_of(f"a/{MODEL}", "x", "y", 4))
    assert [failure.diff for failure in opened(site, "o").failures] == ["o/1.patch"]


def test_diffs_in_order_mark_the_lines_that_they_make(site, repo):
    write(repo / "o/1.patch", diff_of(f"a/{MODEL}", "line_3 = 3", "line_3 = 4", 4))
    write(repo / "o/2.patch", diff_of(f"a/{MODEL}", "line_3 = 4", "line_3 = 5", 4))
    tree = opened(site, "o")
    assert tree.read(MODEL).splitlines()[3] == b"line_3 = 5"
    assert [(mark.diff, at) for at, mark in enumerate(tree.marks[MODEL]) if mark is not None] == [("o/2.patch", 3)]


def test_a_diff_without_the_name_of_one(site, repo):
    write(repo / "change.txt", diff_of(MODEL))
    assert states(opened(site, "change.txt")) == {MODEL: "overlay"}


def test_diffs_and_files_in_one_folder_have_no_order(site, repo):
    write(repo / "o/x.patch", diff_of(MODEL))
    write(repo / "o" / MODEL, b"patched\n")
    with pytest.raises(UsageError):
        opened(site, "o")


# --- bad input ----------------------------------------------------------------------------------------------------


def spoil(folder: Path, how: str) -> str:
    write(folder / "o" / MODEL, b"patched\n")
    bad = folder / "o/vllm/engine/bad.py"
    bad.parent.mkdir(parents=True)
    if how == "folder loop":
        (bad.parent / "loop").symlink_to("..")
    elif how == "link loop":
        bad.symlink_to("bad.py")
    elif how == "dangling":
        bad.symlink_to("nowhere")
    elif how == "pipe":
        os.mkfifo(bad)
    elif how == "huge":
        with bad.open("wb") as stream:
            stream.truncate(1 << 30)
    elif how == "binary diff":
        return _only(folder / "o/x.patch", b"--- a\0\n")
    elif how == "no diff":
        return _only(folder / "o/x.patch", b"words\n")
    elif how == "empty":
        (folder / "nothing").mkdir()
        return "nothing"
    elif how == "missing":
        return "missing"
    elif how == "null":
        return "a\0b"
    return "o"


def _only(file: Path, data: bytes) -> str:
    write(file, data)
    return str(file)


HOSTILE = ["folder loop", "link loop", "dangling", "pipe", "huge", "binary diff", "no diff", "missing", "null"]


@pytest.mark.parametrize("how", [*HOSTILE, "empty"])
def test_bad_overlays_end_in_an_error_with_the_way_out(site, repo, how):
    with pytest.raises(PreflightError) as raised:
        opened(site, spoil(repo, how))
    assert raised.value.help


@pytest.mark.parametrize("how", HOSTILE)
def test_bad_paths_do_too(site, repo, how):
    with pytest.raises(PreflightError) as raised:
        opened(site, paths=(spoil(repo, how),))
    assert raised.value.help


def test_an_overlay_file_that_is_no_python_is_left_to_the_checks(site, repo):
    write(repo / "o" / MODEL, b"\0\xff")
    assert opened(site, "o").read(MODEL) == b"\0\xff"


# --- PATH ---------------------------------------------------------------------------------------------------------


def test_paths_are_overlays_or_code_that_uses_the_tree(site, repo):
    write(repo / "patches" / MODEL, b"patched\n")
    write(repo / "patches/vllm/engine/brand_new.py", b"new\n")
    write(repo / "tools/serve.py", b"import vllm\n")
    write(repo / "tests/vllm/helper.py", b"helper\n")
    write(repo / "data.json", b"{}\n")
    tree = opened(site, paths=(".",))
    assert states(tree) == {MODEL: "overlay", "vllm/engine/brand_new.py": "overlay"}
    assert [file.path for file in tree.outside] == ["tests/vllm/helper.py", "tools/serve.py"]
    assert tree.read("tools/serve.py") == b"import vllm\n"
    assert tree.origin("tools/serve.py") == repo / "tools/serve.py"
    assert "tools/serve.py" not in tree.files() and not tree.exists("tools/serve.py")


def test_the_folder_of_a_repository_is_not_the_package_though_it_has_its_name(site, tmp_path, monkeypatch):
    """A checkout of vLLM is in a folder called vllm; its setup.py is not vllm/setup.py."""
    repo = tmp_path / "vllm"
    write(repo / "engine/utils.py", b"a tool of the repository\n")
    write(repo / MODEL, b"patched\n")
    make_repository(repo)
    monkeypatch.chdir(repo)
    tree = opened(site, paths=(".",))
    assert states(tree) == {MODEL: "overlay"}
    assert [file.path for file in tree.outside] == ["engine/utils.py"]
    assert set(states(opened(site, "."))) == {MODEL}


def test_a_bare_copy_is_an_overlay_and_a_namesake_is_not(tmp_path, repo):
    long = "".join(f"entry_{number} = {number}\n" for number in range(200))
    site = make_tree(tmp_path / "long", {**RELEASE, "vllm/model_executor/models/registry.py": long})
    write(repo / "toy.py", TOY.replace("line_3 = 3", "line_3 = 33").encode())
    write(repo / "registry.py", b"print('a script of my own')\n")
    write(repo / "utils.py", b"x = 1\n")
    tree = opened(site, paths=("toy.py", "registry.py", "utils.py"))
    assert states(tree) == {MODEL: "overlay"}
    assert [file.path for file in tree.outside] == ["registry.py", "utils.py"]
    assert any("registry.py" in note for note in tree.notes)


@pytest.mark.parametrize("path", ["p/x.patch", "p", "."])
def test_a_diff_of_a_repository_is_applied(site, repo, path):
    write(repo / "p/x.patch", diff_of(MODEL))
    tree = opened(site, paths=(path,))
    assert states(tree) == {MODEL: "overlay"}
    assert not tree.undecided


@pytest.mark.parametrize(
    "others",
    [
        {"p/y.patch": diff_of("vllm/engine/utils.py")},  # in no order
        {"q/0002.patch": diff_of("vllm/engine/utils.py")},  # in another folder: of another release, perhaps
        {"p/other.patch": b"--- a/other/x.py\n+++ b/other/x.py\n@@ -1 +1 @@\n-a\n+b\n"},
        {"p/broken.patch": b"--- a/vllm/x.py\n+++ b/vllm/x.py\n@@ -1,9 +1 @@\n-a\n"},
        {MODEL: b"a file of the tree, too\n"},
    ],
)
def test_diffs_of_a_repository_that_may_not_belong_together_are_noted(site, repo, others):
    for path, data in {"p/x.patch": diff_of(MODEL), **others}.items():
        write(repo / path, data)
    tree = opened(site, paths=(".",))
    assert set(states(tree)) <= set(others)
    assert [u.id for u in tree.undecided] == ["diff-not-laid-over"]


def test_diffs_of_a_repository_in_an_order(site, repo):
    write(repo / "p/0001.patch", diff_of(MODEL))
    write(repo / "p/0002-more.patch", diff_of(MODEL, "line_3 = 33", "line_3 = 34"))
    tree = opened(site, paths=(".",))
    assert b"line_3 = 34" in tree.read(MODEL)
    assert not tree.failures


def test_paths_into_the_tree_select(tmp_path, repo):
    site = make_tree(tmp_path / "patched", RELEASE, {MODEL: "patched\n", "vllm/engine/utils.py": "patched\n"})
    tree = opened(site, paths=(str(site / MODEL), str(site / "vllm/entrypoints")))
    assert tree.selected == ("vllm/entrypoints/__init__.py", "vllm/entrypoints/utils.py", MODEL)
    assert set(states(tree)) == {MODEL, "vllm/engine/utils.py"}
    assert MODEL in (opened(site, paths=(str(site),)).selected or ())
    with pytest.raises(TreeError):
        opened(site, paths=(str(site / "vllm/nothing.py"),))


def test_overlays_and_selected_paths_together(site, repo):
    write(repo / "o" / MODEL, b"patched\n")
    tree = opened(site, "o", paths=(str(site / "vllm/engine/utils.py"),))
    assert tree.selected == ("vllm/engine/utils.py", MODEL)
