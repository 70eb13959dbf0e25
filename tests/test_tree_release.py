"""Released trees out of a package index: real HTTP, real files, and everything that goes wrong with both."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from preflight.errors import FetchError
from preflight.tree import TreeKind, TreeRequest, open_tree
from preflight.tree.cache import cache_folder, is_whole, not_writable
from preflight.tree.pipconfig import pip_config
from preflight.tree.release import fetch_release
from tests.gitrepo import ENVIRON, make_repository
from tests.minitree import make_tree, write
from tests.wheelindex import TAIL, Index, make_wheel, noise, serving, spread_wheel

WHEEL = "vllm-{}-cp38-abi3-manylinux_2_31_x86_64.whl"
TRANSFORMERS = "transformers-{}-py3-none-any.whl"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("PREFLIGHT_CACHE", str(folder))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    for name in [name for name in os.environ if name.startswith("PIP_") and name != "PIP_CONFIG_FILE"]:
        monkeypatch.delenv(name)
    return folder


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    with serving(Index({WHEEL.format("0.16.0"): spread_wheel()})) as state:
        monkeypatch.setenv("PIP_INDEX_URL", state.url)
        yield state


def left_over(cache: Path) -> list[str]:
    """What is in the cache beside locks."""
    return sorted(name.name for name in (cache / "releases").iterdir() if not name.name.endswith(".lock"))


SOURCES = ["vllm/__init__.py", *(f"vllm/m{i}.py" for i in range(6))]


def files_of(folder: Path) -> list[str]:
    return sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file())


# --- what is fetched ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["json", "html"])
@pytest.mark.parametrize("suffix", [True, False])
def test_only_sources_and_metadata_are_fetched(index, cache, form, suffix):
    index.form, index.suffix_ranges = form, suffix
    folder = fetch_release("vllm", "0.16.0")
    info = [f"vllm-0.16.0.dist-info/{name}" for name in ("METADATA", "RECORD", "WHEEL")]
    assert files_of(folder) == sorted([*info, *SOURCES])
    assert (folder / "vllm/m3.py").read_bytes() == b"x = 3\n"
    assert left_over(cache) == ["vllm-0.16.0"]
    assert is_whole(folder, "vllm", every_byte=True)


def test_members_that_lie_close_together_cost_one_request(index):
    files = {f"vllm/m{i}.py": noise(50, i).hex().encode() for i in range(300)}
    index.wheels[WHEEL.format("0.17.0")] = make_wheel(version="0.17.0", files={**files, "vllm/x.so": noise(TAIL)})
    fetch_release("vllm", "0.17.0")
    assert len(index.ranges_asked) < 6


def test_a_wheel_of_any_platform_will_do_and_the_commonest_is_taken(index):
    data = index.wheels.pop(WHEEL.format("0.16.0"))
    arm = WHEEL.format("0.16.0").replace("x86_64", "aarch64")
    index.wheels[arm] = data
    fetch_release("vllm", "0.16.0")
    index.wheels["vllm-0.17.0-cp38-abi3-manylinux_2_31_aarch64.whl"] = b"never asked for"
    index.wheels[WHEEL.format("0.17.0")] = spread_wheel(version="0.17.0")
    assert fetch_release("vllm", "0.17.0").name == "vllm-0.17.0"


@pytest.mark.parametrize("wanted", ["0.16", "v0.16.0", " 0.16.0 ", "0.16.*", "<0.17", "~=0.16.0"])
def test_versions_may_be_spelled_in_other_ways(index, wanted):
    index.wheels[WHEEL.format("0.16.1rc1")] = b""
    index.wheels[WHEEL.format("0.17.0")] = b""
    index.wheels[WHEEL.format("0.16.9")] = b""
    index.yanked.add(WHEEL.format("0.16.9"))
    assert fetch_release("vllm", wanted).name == "vllm-0.16.0"


def test_a_kept_release_needs_no_network(index):
    folder = fetch_release("vllm", "0.16.0")
    index.asked.clear()
    index.status = 500
    assert fetch_release("vllm", "0.16.0") == folder
    assert fetch_release("vllm", "0.16") == folder
    assert fetch_release("vllm", "0.16.0", verify=True) == folder
    assert index.asked == []


def test_a_server_without_ranges_gives_small_wheels_whole(index, cache):
    index.ranges = False
    assert sorted(SOURCES) == [f for f in files_of(fetch_release("vllm", "0.16.0")) if f.startswith("vllm/")]


def test_local_indexes_and_folders_of_wheels(index, tmp_path, monkeypatch):
    name = WHEEL.format("0.16.0")
    write(tmp_path / "wheels" / name, index.wheels[name])
    page = f'<a href="../../wheels/{name}">{name}</a>'.encode()
    write(tmp_path / "simple" / "vllm" / "index.html", page)
    monkeypatch.setenv("PIP_INDEX_URL", (tmp_path / "simple").as_uri())
    assert fetch_release("vllm", "0.16.0").is_dir()
    shutil.rmtree(cache_folder(os.environ))
    monkeypatch.delenv("PIP_INDEX_URL")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    assert fetch_release("vllm", "0.16.0").is_dir()
    assert index.asked == []


def test_an_extra_index_is_asked_too(index, tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", index.url)
    monkeypatch.setenv("PIP_INDEX_URL", (tmp_path / "nothing").as_uri())
    assert fetch_release("vllm", "0.16.0").is_dir()


def test_credentials_are_used_and_never_shown(index, monkeypatch):
    index.login = "me:s3cret%2F"
    monkeypatch.setenv("PIP_INDEX_URL", index.url)
    index.login = "me:s3cret/"
    assert fetch_release("vllm", "0.16.0").is_dir()
    index.login = "me:changed"
    with pytest.raises(FetchError) as raised:
        fetch_release("vllm", "0.17.0")
    assert "401" in raised.value.message and "s3cret" not in raised.value.message + (raised.value.help or "")


# --- what cannot be had -------------------------------------------------------------------------------------------


def test_an_unknown_version_names_the_nearest(index):
    for version in ("0.15.0", "0.15.1", "0.17.0", "0.18.0", "0.19.0", "1.0.0", "0.1.0", "2.0"):
        index.wheels[WHEEL.format(version)] = b""
    with pytest.raises(FetchError) as raised:
        fetch_release("vllm", "0.16.7")
    assert "0.16.0, 0.17.0" in raised.value.message and "2.0" not in raised.value.message


def test_a_build_for_an_accelerator_is_a_build_of_the_version(index):
    index.wheels[WHEEL.format("0.17.0+cu129")] = spread_wheel(version="0.17.0+cu129")
    assert fetch_release("vllm", "0.17.0").name == "vllm-0.17.0+cu129"


@pytest.mark.parametrize("wanted", ["nonsense", ">=99", "==0.16.0.*.*", "", "0.16.0;x", "../../etc"])
def test_what_is_no_version_is_said(index, wanted):
    with pytest.raises(FetchError):
        fetch_release("vllm", wanted)


FAULTS = {
    "unknown project": {"wheels": {}},
    "source archives only": {"wheels": {"vllm-0.16.0.tar.gz": b""}},
    "refused": {"status": 403},
    "login": {"status": 401},
    "broken server": {"status": 500},
    "no index": {"page": b"welcome"},
    "wheel gone": {"wheel_status": 404},
    "wheel refused": {"wheel_status": 403},
    "no ranges, too large": {"ranges": False, "pretend_size": 500 << 20},
    "always cut": {"cut": 1000},
    "no wheel": {"wheels": {WHEEL.format("0.16.0"): noise(TAIL)}},
    "empty wheel": {"wheels": {WHEEL.format("0.16.0"): b""}},
    "no RECORD": {"wheels": {WHEEL.format("0.16.0"): make_wheel().replace(b"RECORD", b"OTHERS")}},
    "wrong hash": {
        "wheels": {WHEEL.format("0.16.0"): make_wheel(record={"vllm/core.py": "A" * 43})},
    },
    "row without its file": {
        "wheels": {WHEEL.format("0.16.0"): make_wheel(record={}).replace(b"vllm/core.py", b"vllm/kore.py", 1)},
    },
    "corrupt member": {"corrupt": b"lib_3"},
}


@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_every_fault_is_a_sentence_and_leaves_no_tree(index, cache, fault):
    """No half tree, whatever the index does."""
    for name, value in FAULTS[fault].items():
        setattr(index, name, value)
    with pytest.raises(FetchError) as raised:
        fetch_release("vllm", "0.16.0")
    assert raised.value.message and raised.value.help
    assert not (cache / "releases" / "vllm-0.16.0").exists()


@pytest.mark.parametrize(
    "environ",
    [
        {"PIP_INDEX_URL": "http://127.0.0.1:9/simple"},
        {"PIP_INDEX_URL": "https://{host}/simple"},
        {"PIP_PROXY": "http://127.0.0.1:9", "NO_PROXY": ""},
        {"PIP_INDEX_URL": "ftp://{host}/simple"},
        {"PIP_INDEX_URL": "http://[/simple"},
        {"PIP_INDEX_URL": "file:///nowhere/at/all"},
        {"PIP_NO_INDEX": "true"},
    ],
)
def test_a_network_that_does_not_work_is_a_sentence(index, monkeypatch, environ):
    for key, value in environ.items():
        monkeypatch.setenv(key, value.format(host=f"127.0.0.1:{index.port}"))
    monkeypatch.delenv("no_proxy", raising=False)
    with pytest.raises(FetchError) as raised:
        fetch_release("vllm", "0.16.0")
    assert raised.value.help


def test_hostile_members_are_not_written(index, cache):
    files = {"vllm/__init__.py": b"", "vllm/../../../evil.py": b"evil", "/evil.py": b"evil"}
    index.wheels[WHEEL.format("0.16.0")] = make_wheel(files=files)
    with pytest.raises(FetchError):
        fetch_release("vllm", "0.16.0")
    assert not any(file.name == "evil.py" for file in cache.parent.rglob("*"))


def test_what_record_does_not_name_is_not_taken(index):
    files = {"vllm/__init__.py": b"", "vllm/smuggled.py": b"x"}
    index.wheels[WHEEL.format("0.16.0")] = make_wheel(files=files, record={"vllm/smuggled.py": None})
    assert not (fetch_release("vllm", "0.16.0") / "vllm/smuggled.py").exists()


def test_a_cache_that_cannot_be_written_to(index, cache):
    write(cache, b"a file where the folder should be")
    with pytest.raises(FetchError) as raised:
        fetch_release("vllm", "0.16.0")
    assert "PREFLIGHT_CACHE" in (raised.value.help or "")


def test_a_full_disk_is_said():
    import errno

    assert "room" in not_writable(OSError(errno.ENOSPC, "No space left on device")).message


# --- interruptions ------------------------------------------------------------------------------------------------


def test_connections_that_break_off_are_tried_again(index):
    index.cut = 2
    assert fetch_release("vllm", "0.16.0").is_dir()


def test_what_was_fetched_before_a_failure_is_not_fetched_again(index, cache):
    index.dies_after = 5
    process = fetching()
    _, error = process.communicate(timeout=60)
    assert "FetchError" in error
    assert left_over(cache) == [".vllm-0.16.0.part"]
    had = len([file for file in files_of(cache / "releases" / ".vllm-0.16.0.part") if file.endswith(".py")])
    assert had > 0
    index.dies_after = None
    index.asked.clear()
    fetch_release("vllm", "0.16.0")
    assert len(index.ranges_asked) == 1 + len(SOURCES) - had
    assert left_over(cache) == ["vllm-0.16.0"]


def test_a_part_that_was_spoiled_is_fetched_again(index, cache):
    write(cache / "releases/.vllm-0.16.0.part/vllm/m3.py", b"half")
    write(cache / "releases/.vllm-0.16.0.part/vllm/__init__.py", b"")
    folder = fetch_release("vllm", "0.16.0")
    assert (folder / "vllm/m3.py").read_bytes() == b"x = 3\n"


FETCH = (
    "import sys; sys.path[:0] = sys.argv[2:]\n"
    "from preflight.tree.release import fetch_release\n"
    "print(fetch_release('vllm', sys.argv[1], progress=True))"
)


def fetching(version: str = "0.16.0") -> subprocess.Popen[str]:
    here = str(Path(__file__).parents[1])
    return subprocess.Popen(
        [sys.executable, "-c", FETCH, version, here], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_fetch_is_resumed(index, cache, number):
    index.delay = 0.4
    parts = cache / "releases" / ".vllm-0.16.0.part"
    process = fetching()
    until(lambda: any(part.stat().st_size for part in parts.glob("vllm/m*.py")))  # one that is there in full
    process.send_signal(number)
    process.communicate(timeout=30)
    assert process.returncode != 0
    assert not (cache / "releases" / "vllm-0.16.0").exists()
    index.delay = 0
    index.asked.clear()
    folder = fetch_release("vllm", "0.16.0")
    assert is_whole(folder, "vllm", every_byte=True)
    assert len(index.ranges_asked) < 1 + len(SOURCES)


def until(condition, seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


def test_runs_at_the_same_time_fetch_once(index, cache):
    index.delay = 0.1
    runs = [fetching() for _ in range(3)]
    outputs = [run.communicate(timeout=60) for run in runs]
    assert [run.returncode for run in runs] == [0, 0, 0], outputs
    assert {out for out, _ in outputs} == {f"{cache}/releases/vllm-0.16.0\n"}
    assert len(index.ranges_asked) == 1 + len(SOURCES)  # the directory with the dist-info, every module by itself
    assert left_over(cache) == ["vllm-0.16.0"]
    assert all("[" in error and "MB" in error for _, error in outputs if error)


# --- the cache ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("damage", ["changed", "same size", "gone", "empty folder"])
def test_a_damaged_release_is_fetched_again(index, cache, damage):
    folder = fetch_release("vllm", "0.16.0")
    file = folder / "vllm/m3.py"
    if damage == "changed":
        file.write_bytes(b"half a f")
    elif damage == "same size":
        file.write_bytes(b"x = 4\n")
    elif damage == "gone":
        file.unlink()
    else:
        shutil.rmtree(folder)
        folder.mkdir()
    assert fetch_release("vllm", "0.16.0") == folder
    assert file.read_bytes() == b"x = 3\n"
    assert left_over(cache) == ["vllm-0.16.0"]


def test_every_byte_is_looked_at_only_if_asked(index):
    folder = fetch_release("vllm", "0.16.0")
    file = folder / "vllm/m3.py"
    before = file.stat()
    file.write_bytes(b"x = 4\n")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    index.asked.clear()
    fetch_release("vllm", "0.16.0")
    assert index.asked == []
    fetch_release("vllm", "0.16.0", verify=True)
    assert file.read_bytes() == b"x = 3\n"


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        ({"PREFLIGHT_CACHE": "/c", "XDG_CACHE_HOME": "/x"}, "/c"),
        ({"XDG_CACHE_HOME": "/x"}, "/x/preflight"),
    ],
)
def test_the_place_of_the_cache(environ, folder):
    assert str(cache_folder(environ)) == folder


# --- as a tree ----------------------------------------------------------------------------------------------------


@pytest.fixture
def both(index: Index) -> Index:
    """vLLM 0.16.0 which asks for transformers 4, and five releases of that."""
    index.wheels[WHEEL.format("0.16.0")] = make_wheel(requires=("torch==2.9.1", "transformers<5,>=4.56.0"))
    for version in ("4.55.0", "4.56.0", "4.57.0", "4.57.9", "5.0.0"):
        index.wheels[TRANSFORMERS.format(version)] = make_wheel("transformers", version)
    index.yanked.add(TRANSFORMERS.format("4.57.9"))
    return index


def test_a_released_tree_with_its_transformers(both):
    tree = open_tree(TreeRequest(vllm="0.16.0"), os.environ)
    assert tree.kind is TreeKind.RELEASED
    assert (tree.facts.vllm, tree.facts.transformers, tree.facts.patched) == ("0.16.0", "4.57.0", ())
    assert [folder.name for folder in tree.packages] == ["transformers-4.57.0"]
    assert tree.undecided == () and not tree.whole_environment and tree.interpreter is None
    assert tree.pristine("vllm/core.py") == b"x = 1\n"
    assert tree.origin("vllm/core.py") is None
    assert tree.python_range == ">=3.10"


def test_the_second_time_nothing_is_asked_even_if_there_is_a_newer_one(both):
    open_tree(TreeRequest(vllm="0.16.0"), os.environ)
    both.wheels[TRANSFORMERS.format("4.58.0")] = b""
    both.asked.clear()
    assert open_tree(TreeRequest(vllm="0.16.0"), os.environ).facts.transformers == "4.57.0"
    assert both.asked == []


def test_without_an_upper_bound_the_newest_of_its_own_time_is_taken(both):
    both.wheels[WHEEL.format("0.8.5")] = make_wheel(version="0.8.5", requires=("transformers>=4.51.1",))
    both.uploaded[WHEEL.format("0.8.5")] = "2025-04-28T00:00:00Z"
    for version, moment in (("4.55.0", "2025-03-01"), ("4.56.0", "2025-04-01"), ("5.0.0", "2026-01-01")):
        both.uploaded[TRANSFORMERS.format(version)] = f"{moment}T00:00:00Z"
    assert open_tree(TreeRequest(vllm="0.8.5"), os.environ).facts.transformers == "4.56.0"


def test_an_environment_that_is_given_has_the_transformers(both, tmp_path):
    site = tmp_path / "env/lib/python3.12/site-packages"
    write(site / "transformers-4.56.1.dist-info/METADATA", b"Name: transformers\nVersion: 4.56.1\n")
    python = tmp_path / "env/bin/python"
    write(python, b"#!/bin/sh\n")
    python.chmod(0o755)
    tree = open_tree(TreeRequest(vllm="0.16.0", python=str(python)), os.environ)
    assert (tree.facts.transformers, tree.interpreter, tree.facts.python) == ("4.56.1", python, "3.12")


def test_a_vllm_that_requires_no_transformers(index):
    index.wheels[WHEEL.format("0.16.0")] = make_wheel()
    tree = open_tree(TreeRequest(vllm="0.16.0"), os.environ)
    assert (tree.facts.transformers, tree.packages) == (None, ())


def test_an_overlay_over_a_release(both, tmp_path):
    write(tmp_path / "o/vllm/core.py", b"x = 2\n")
    tree = open_tree(TreeRequest(vllm="0.16.0", overlays=(str(tmp_path / "o"),)), os.environ)
    assert [file.path for file in tree.facts.patched] == ["vllm/core.py"]
    assert (tree.read("vllm/core.py"), tree.pristine("vllm/core.py")) == (b"x = 2\n", b"x = 1\n")


def test_a_release_as_the_reference_of_an_installed_tree(both, tmp_path):
    site = make_tree(tmp_path, {"vllm/core.py": "x = 1\n"}, {"vllm/more.py": ""})
    (site / "vllm-0.16.0.dist-info/RECORD").unlink()
    write(site / "vllm/core.py", b"x = 2\n")
    tree = open_tree(TreeRequest(site_packages=str(site), vllm="0.16.0"), os.environ)
    assert {file.path: file.state.value for file in tree.facts.patched} == {
        "vllm/core.py": "modified",
        "vllm/more.py": "added",
    }
    assert tree.undecided == () and tree.pristine("vllm/core.py") == b"x = 1\n"


def test_products_of_a_build_are_no_patches_of_a_checkout(both, tmp_path):
    files = {"vllm/__init__.py": b"", "vllm/core.py": b"x = 1\n", "vllm/_version.py": b"v = 1\n"}
    both.wheels[WHEEL.format("0.16.0")] = make_wheel(files={**files, "vllm/flash/__init__.py": b""})
    checkout = tmp_path / "checkout"
    write(checkout / ".gitignore", b"vllm/_version.py\nvllm/flash/*\n")
    write(checkout / "vllm/__init__.py", b"")
    write(checkout / "vllm/core.py", b"x = 2\n")
    make_repository(checkout)
    write(checkout / "vllm/_version.py", b"v = 2\n")
    tree = open_tree(TreeRequest(site_packages=str(checkout), vllm="0.16.0"), {**os.environ, **ENVIRON})
    assert [(file.path, file.state.value) for file in tree.facts.patched] == [("vllm/core.py", "modified")]
    assert any("build" in note for note in tree.notes)


# --- pip's configuration ------------------------------------------------------------------------------------------


def config(folder: Path, text: str, name: str = "pip.conf") -> Path:
    write(folder / name, text.encode())
    return folder / name


def test_later_files_and_then_variables_override(tmp_path):
    config(tmp_path / "xdg/pip", "[global]\nindex-url = http://global/\nclient-cert = /global.pem\ntimeout = 3\n")
    config(
        tmp_path / "home/.config/pip",
        "[global]\nindex-url = http://user/\nextra-index-url =\n  http://a/\n  http://b/\n",
    )
    config(tmp_path / "env", "[global]\nproxy = http://site-proxy/\n[install]\nindex_url = http://install/\n")
    environ = {
        "XDG_CONFIG_DIRS": str(tmp_path / "xdg"),
        "HOME": str(tmp_path / "home"),
        "VIRTUAL_ENV": str(tmp_path / "env"),
    }
    found = pip_config(environ)
    assert found.indexes == ("http://install/",)
    assert found.extra_indexes == ("http://a/", "http://b/")
    assert (found.client_cert, found.proxy, found.timeout) == ("/global.pem", "http://site-proxy/", 3.0)
    own = config(tmp_path, "[global]\nindex-url = http://own/\n", "own.conf")
    found = pip_config({**environ, "PIP_CONFIG_FILE": str(own)})
    assert (found.indexes, found.extra_indexes) == (("http://own/",), ())
    found = pip_config({**environ, "PIP_INDEX_URL": "http://variable/", "PIP_TIMEOUT": "nonsense"})
    assert (found.indexes, found.timeout) == (("http://variable/",), 15.0)
    assert pip_config({**environ, "PIP_CONFIG_FILE": os.devnull}).indexes is None
    assert pip_config({**environ, "PIP_NO_INDEX": "1"}).indexes == ()


@pytest.mark.parametrize("text", ["index-url = no section\n", "[global\n", "[global]\n\xff"])
def test_a_configuration_that_pip_cannot_read_is_said(tmp_path, text):
    write(tmp_path / "pip.conf", text.encode("latin-1"))
    with pytest.raises(FetchError) as raised:
        pip_config({"PIP_CONFIG_FILE": str(tmp_path / "pip.conf")})
    assert str(tmp_path / "pip.conf") in raised.value.message
