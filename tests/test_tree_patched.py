"""The patched set of an installed tree, and files that are not what they should be."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from preflight.errors import TreeError
from preflight.model import FileState
from preflight.tree import SourceUnreadable, Tree, TreeRequest, open_tree
from preflight.tree.patched import matches
from preflight.tree.record import Entry, read_record
from tests.minitree import make_tree, record_hash, write

RELEASE = {
    "vllm/engine/core.py": "import vllm\n",
    "vllm/engine/args.py": "x = 1\n",
    "vllm/model_executor/models/toy.py": "class Toy: ...\n",
    "vllm/assets/logo.txt": "logo\n",
}


def opened(site: Path, **options) -> Tree:
    return open_tree(TreeRequest(site_packages=str(site), **options), {"PATH": os.environ["PATH"]})


def states(tree: Tree) -> dict[str, str]:
    return {file.path: file.state.value for file in tree.facts.patched}


def test_a_release_as_it_is_has_no_patches(tmp_path):
    tree = opened(make_tree(tmp_path, RELEASE))
    assert states(tree) == {}
    assert tree.undecided == ()
    assert tree.compiled_modules() == {"vllm/_C.abi3.so"}
    assert "vllm/engine/core.py" in tree.files() and "vllm/_C.abi3.so" in tree.files()


def test_modified_added_and_missing_are_told_apart(tmp_path):
    patched = {
        "vllm/engine/core.py": "import vllm.x\n",
        "vllm/engine/new.py": "",
        "vllm/engine/args.py": None,
        "vllm/assets/logo.txt": "other\n",
        "vllm/_C.abi3.so": b"another build",
        "other/package.py": "",
        "vllm/notes.txt": "added, but no Python\n",
    }
    tree = opened(make_tree(tmp_path, RELEASE, patched))
    assert states(tree) == {
        "vllm/_C.abi3.so": "modified",
        "vllm/assets/logo.txt": "modified",
        "vllm/engine/args.py": "missing",
        "vllm/engine/core.py": "modified",
        "vllm/engine/new.py": "added",
    }
    assert tree.patched_python() == ("vllm/engine/core.py", "vllm/engine/new.py")
    assert not tree.exists("vllm/engine/args.py")


@settings(max_examples=25)
@given(data=st.data())
def test_any_set_of_changes_is_found_exactly(tmp_path_factory, data):
    names = [f"vllm/p/m{i}.py" for i in range(6)]
    changes = data.draw(st.dictionaries(st.sampled_from(names), st.sampled_from(["modified", "missing"])))
    added = data.draw(st.sets(st.sampled_from(["vllm/p/a.py", "vllm/q.py", "vllm/p/sub/b.py"])))
    site = make_tree(tmp_path_factory.mktemp("tree"), {name: name for name in names})
    for name, state in changes.items():
        (site / name).write_text("changed") if state == "modified" else (site / name).unlink()
    for name in added:
        write(site / name, b"")
    assert states(opened(site)) == {**changes, **dict.fromkeys(added, "added")}


def test_caches_and_unimportable_names_are_nothing(tmp_path):
    junk = {
        "vllm/engine/__pycache__/core.cpython-312.pyc": b"\0",
        "vllm/engine/__pycache__/odd.py": "x =",
        "vllm/engine/._core.py": b"\0\5\26\7\0\2\0\0",
    }
    site = make_tree(tmp_path, RELEASE, junk)
    (site / "vllm/engine/.#core.py").symlink_to("somebody@somewhere.1234")
    assert states(opened(site)) == {}


def test_sources_only_is_no_patch_but_one_deleted_data_file_is(tmp_path):
    whole = make_tree(tmp_path / "whole", RELEASE, {"vllm/assets/logo.txt": None})
    assert states(opened(whole)) == {"vllm/assets/logo.txt": "missing"}
    taken = {"vllm/assets/logo.txt": None, "vllm/_C.abi3.so": None}
    sources = opened(make_tree(tmp_path / "sources", RELEASE, {**taken, "vllm/engine/core.py": None}))
    assert states(sources) == {"vllm/engine/core.py": "missing"}
    assert any("sources only" in note for note in sources.notes)


def test_large_modules_are_compared_by_size_unless_everything_is_asked_for(tmp_path):
    size = 5 << 20
    site = make_tree(tmp_path, {"vllm/_big.abi3.so": b"a" * size})
    write(site / "vllm/_big.abi3.so", b"b" * size)
    tree = opened(site)
    assert states(tree) == {} and any("by size" in note for note in tree.notes)
    assert states(opened(site, whole_tree=True)) == {"vllm/_big.abi3.so": "modified"}
    write(site / "vllm/_big.abi3.so", b"a" * (size + 1))
    assert states(opened(site)) == {"vllm/_big.abi3.so": "modified"}


@pytest.mark.parametrize("algorithm", ["sha512", "sha384", "md5", "sha3_256"])
def test_other_hashes_of_hashlib_count(tmp_path, algorithm):
    import base64
    import hashlib

    site = make_tree(tmp_path, RELEASE)
    digest = base64.urlsafe_b64encode(hashlib.new(algorithm, b"x = 1\n").digest()).rstrip(b"=").decode()
    edit_record(site, f"sha256={record_hash(b'x = 1' + bytes([10]))}", f"{algorithm}={digest}")
    assert states(opened(site)) == {}
    write(site / "vllm/engine/args.py", b"x = 2\n")
    assert states(opened(site)) == {"vllm/engine/args.py": "modified"}


def edit_record(site: Path, old: str, new: str) -> None:
    file = site / "vllm-0.16.0.dist-info" / "RECORD"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


@pytest.mark.parametrize("algorithm", ["crc32", "shake_128", "nonsense"])
def test_a_hash_that_cannot_be_computed_leaves_it_undecided(tmp_path, algorithm):
    site = make_tree(tmp_path, RELEASE)
    edit_record(site, "vllm/engine/args.py,sha256=", f"vllm/engine/args.py,{algorithm}=")
    found = [(u.id, u.path, u.decisive) for u in opened(site).undecided]
    assert found == [("record-hash-unknown", "vllm/engine/args.py", True)]


def test_a_python_file_without_a_hash_among_hashed_ones_is_undecided(tmp_path):
    site = make_tree(tmp_path, RELEASE)
    row = f"vllm/engine/args.py,sha256={record_hash(b'x = 1' + bytes([10]))},6"
    edit_record(site, row, "vllm/engine/args.py,,")
    assert [(u.id, u.path) for u in opened(site).undecided] == [("record-without-hash", "vllm/engine/args.py")]


@pytest.mark.parametrize("how", ["gone", "no hashes", "no dist-info"])
def test_without_hashes_what_is_patched_is_not_known(tmp_path, how):
    site = make_tree(tmp_path, RELEASE, {"vllm/engine/core.py": "patched\n"})
    info = site / "vllm-0.16.0.dist-info"
    if how == "gone":
        (info / "RECORD").unlink()
    elif how == "no hashes":
        (info / "RECORD").write_text("vllm/__init__.py,,\nvllm-0.16.0.dist-info/RECORD,,\n")
    else:
        info.rename(tmp_path / "away")
    tree = opened(site)
    assert states(tree) == {}
    assert [(u.id, u.decisive) for u in tree.undecided] == [("no-reference", True)]
    assert [(u.id, u.decisive) for u in opened(site, whole_tree=True).undecided] == [("no-reference", False)]


def test_rows_outside_the_tree_are_never_opened(tmp_path):
    site = make_tree(tmp_path, RELEASE)
    os.mkfifo(tmp_path / "pipe")  # opening it would wait for ever
    with (site / "vllm-0.16.0.dist-info" / "RECORD").open("a") as record:
        record.write(f"../pipe,sha256={'A' * 43},3\n{tmp_path}/pipe,,\n../../../../pipe,,\n")
    tree = opened(site)
    assert states(tree) == {}
    assert [(u.id, u.count) for u in tree.undecided] == [("record-outside-tree", 2)]


def test_a_record_that_lies_makes_the_file_modified(tmp_path):
    site = make_tree(tmp_path, RELEASE)
    edit_record(site, record_hash(b"x = 1\n"), record_hash(b"x = 2\n"))
    tree = opened(site)
    assert states(tree) == {"vllm/engine/args.py": "modified"}
    assert tree.pristine("vllm/engine/args.py") is None


@pytest.mark.parametrize("damage", [b"", b"PK\3\4\0\0binary", b"vllm/engine/core.py,sha256=abc\n"])
def test_a_damaged_record_ends_in_a_tree_error(tmp_path, damage):
    site = make_tree(tmp_path, RELEASE)
    write(site / "vllm-0.16.0.dist-info" / "RECORD", damage)
    with pytest.raises(TreeError):
        opened(site)


# --- links and files that are none --------------------------------------------------------------------------------


def test_files_that_are_links_out_of_the_tree_are_read_as_python_reads_them(tmp_path):
    """uv's link mode "symlink" makes every file of an environment a link into its cache."""
    site = make_tree(tmp_path, RELEASE)
    cache = tmp_path / "cache"
    for file in list((site / "vllm").rglob("*.py")):
        target = cache / file.relative_to(site)
        write(target, file.read_bytes())
        file.unlink()
        file.symlink_to(target)
    assert states(opened(site)) == {}
    write(cache / "vllm/engine/args.py", b"x = 2\n")
    assert states(opened(site)) == {"vllm/engine/args.py": "modified"}


def test_a_linked_folder_is_followed_and_its_patches_are_found(tmp_path):
    site = make_tree(tmp_path, RELEASE)
    (site / "vllm/engine").rename(tmp_path / "work")
    (site / "vllm/engine").symlink_to(tmp_path / "work")
    write(tmp_path / "work/core.py", b"patched\n")
    assert states(opened(site)) == {"vllm/engine/core.py": "modified"}


def test_a_site_packages_that_is_itself_a_link(tmp_path):
    site = make_tree(tmp_path / "real", RELEASE)
    (tmp_path / "link").symlink_to(site)
    assert states(opened(tmp_path / "link")) == {}


@pytest.mark.parametrize("target", [".", "..", "../..", "../../vllm/engine"])
def test_folder_loops_end(tmp_path, target):
    site = make_tree(tmp_path, RELEASE)
    (site / "vllm/engine/loop").symlink_to(target)
    tree = opened(site)
    assert [(u.id, u.path) for u in tree.undecided] == [("folder-loop", "vllm/engine/loop")]
    assert states(tree) == {}


def test_folders_that_link_to_each_other_end(tmp_path):
    site = make_tree(tmp_path, RELEASE)
    (site / "vllm/engine/over").symlink_to("../model_executor")
    (site / "vllm/model_executor/back").symlink_to("../engine")
    assert {u.id for u in opened(site).undecided} == {"folder-loop"}


def test_links_that_multiply_a_tree_without_end_are_an_error(tmp_path):
    site = make_tree(tmp_path, RELEASE)
    for level in range(22):
        folder = tmp_path / "levels" / str(level)
        folder.mkdir(parents=True)
        for side in "ab":
            (folder / side).symlink_to(tmp_path / "levels" / str(level + 1))
    (tmp_path / "levels" / "22").mkdir()
    (site / "vllm/bomb").symlink_to(tmp_path / "levels" / "0")
    with pytest.raises(TreeError) as raised:
        opened(site)
    assert "more than" in raised.value.message


def spoil(file: Path, how: str) -> None:
    file.unlink(missing_ok=True)
    if how == "loop":
        file.symlink_to(file.name)
    elif how == "pipe":
        os.mkfifo(file)
    elif how == "dangling":
        file.symlink_to("nowhere.py")
    elif how == "device":
        file.symlink_to("/dev/zero")
    elif how == "huge":
        with file.open("wb") as stream:
            stream.truncate(1 << 30)


@pytest.mark.parametrize("how", ["loop", "pipe", "dangling", "device", "huge"])
@pytest.mark.parametrize(("name", "state"), [("args.py", "modified"), ("added.py", "added")])
def test_what_cannot_be_read_is_patched_and_says_why_when_it_is_read(tmp_path, how, name, state):
    site = make_tree(tmp_path, RELEASE)
    path = f"vllm/engine/{name}"
    spoil(site / path, how)
    tree = opened(site)
    assert states(tree) == {path: state}
    assert path in tree.patched_python()
    with pytest.raises(SourceUnreadable) as raised:
        tree.read(path)
    assert raised.value.path == path and raised.value.reason


def test_a_folder_where_a_file_should_be_is_a_missing_file(tmp_path):
    site = make_tree(tmp_path, RELEASE, {"vllm/engine/args.py": None})
    (site / "vllm/engine/args.py").mkdir()
    assert states(opened(site)) == {"vllm/engine/args.py": "missing"}


def test_a_file_that_vanishes_after_opening(tmp_path):
    site = make_tree(tmp_path, RELEASE, {"vllm/engine/core.py": "patched\n"})
    tree = opened(site)
    (site / "vllm/engine/core.py").unlink()
    with pytest.raises(SourceUnreadable) as raised:
        tree.read("vllm/engine/core.py")
    assert "not there" in raised.value.reason


@pytest.mark.parametrize("path", ["../x", "/etc/hostname", "vllm/../../x", "", "vllm/\0", "C:/x"])
def test_reading_never_leaves_the_tree(tmp_path, path):
    tree = opened(make_tree(tmp_path, RELEASE))
    write(tmp_path / "x", b"secret")
    with pytest.raises(SourceUnreadable):
        tree.read(path)
    assert tree.pristine(path) is None and not tree.exists(path)


def test_files_and_folders_without_permission(tmp_path):
    """Run as a user without privileges, since root reads everything."""
    site = make_tree(tmp_path, RELEASE)
    (site / "vllm/engine/args.py").chmod(0)
    (site / "vllm/model_executor").chmod(0)
    script = (
        "import json, os, sys; sys.path[:0] = json.loads(sys.argv[2])\n"
        "from preflight.tree import *\n"
        "open_tree(TreeRequest(site_packages=sys.argv[1]), {})  # what is imported late is there then\n"
        "os.setuid(65534) if os.geteuid() == 0 else None\n"
        "tree = open_tree(TreeRequest(site_packages=sys.argv[1]), {})\n"
        "def why(path):\n"
        "    try: tree.read(path)\n"
        "    except SourceUnreadable as error: return error.reason\n"
        "print(json.dumps([[[p.path, p.state] for p in tree.facts.patched], [u.id for u in tree.undecided],"
        " why('vllm/engine/args.py'), why('vllm/model_executor/models/toy.py')]))"
    )
    import json

    modes = {folder: stat.S_IMODE(folder.stat().st_mode) for folder in (tmp_path, *tmp_path.parents)}
    before = {folder: mode for folder, mode in modes.items() if mode & 0o055 != 0o055}
    for folder, mode in before.items():
        folder.chmod(mode | 0o055)
    try:
        done = subprocess.run(
            [sys.executable, "-c", script, str(site), json.dumps(sys.path)],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    finally:
        for folder, mode in before.items():
            folder.chmod(mode)
        (site / "vllm/model_executor").chmod(0o755)
    patched, undecided, file_reason, folder_reason = json.loads(done.stdout)
    assert patched == [
        ["vllm/engine/args.py", "modified"],
        ["vllm/model_executor/__init__.py", "modified"],
        ["vllm/model_executor/models/__init__.py", "modified"],
        ["vllm/model_executor/models/toy.py", "modified"],
    ]
    assert undecided == ["folder-unreadable"]
    assert "permission" in file_reason and "permission" in folder_reason


# --- what the release has -----------------------------------------------------------------------------------------


def test_pristine_is_the_file_itself_where_it_is_unchanged(tmp_path):
    tree = opened(make_tree(tmp_path, RELEASE, {"vllm/engine/core.py": "patched\n", "vllm/engine/new.py": "x\n"}))
    assert tree.pristine("vllm/engine/args.py") == b"x = 1\n"
    assert tree.pristine("vllm/engine/core.py") is None
    assert tree.pristine("vllm/engine/new.py") is None


def test_pristine_of_a_patched_file_comes_out_of_the_cache_if_its_hash_is_right(tmp_path, monkeypatch):
    monkeypatch.setenv("PREFLIGHT_CACHE", str(tmp_path / "cache"))
    kept = tmp_path / "cache" / "releases" / "vllm-0.16.0"
    write(kept / "vllm/engine/core.py", RELEASE["vllm/engine/core.py"].encode())
    write(kept / "vllm/engine/args.py", b"not what RECORD says\n")
    patched = {"vllm/engine/core.py": "patched\n", "vllm/engine/args.py": "patched\n"}
    tree = opened(make_tree(tmp_path, RELEASE, patched))
    assert tree.pristine("vllm/engine/core.py") == b"import vllm\n"
    assert tree.pristine("vllm/engine/args.py") is None


def test_matches_is_the_hash_of_record(tmp_path):
    site = make_tree(tmp_path, RELEASE)
    entry = read_record(site / "vllm-0.16.0.dist-info" / "RECORD").entries["vllm/engine/args.py"]
    assert matches(entry, b"x = 1\n") and not matches(entry, b"x = 1")
    assert not matches(Entry("x", None, None, None, 1), b"")


def test_origin_is_the_file_for_a_fix(tmp_path):
    site = make_tree(tmp_path, RELEASE)
    tree = opened(site)
    assert tree.origin("vllm/engine/args.py") == site / "vllm/engine/args.py"
    assert tree.origin("vllm/nothing.py") is None
    assert tree.facts.patched == () and FileState.MODIFIED.value == "modified"
