"""``preflight apply`` and ``preflight restore`` as users run them."""

from __future__ import annotations

import contextlib
import json
import os
import py_compile
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from preflight.cli import main
from preflight.errors import TreeError
from preflight.transaction.bytecode import other_second
from preflight.transaction.engine import opened
from preflight.transaction.journal import inside_package
from preflight.transaction.place import Place
from preflight.transaction.plan import apply_plan, plan_of
from tests.minitree import make_tree, record_hash, write
from tests.transaction_driver import seen

RELEASE = {"vllm/toy.py": "value = 1\n", "vllm/models/one.py": "value = 2\n"}
GOOD = {"vllm/toy.py": "value = 3\n", "vllm/models/new/two.py": "value = 4\n"}
BROKEN = {"vllm/toy.py": "value = (\n", "vllm/models/one.py": "value = 5\n"}
DIFF = "--- a/vllm/toy.py\n+++ b/vllm/toy.py\n@@ -1 +1 @@\n-value = 1\n+value = 3\n"
BACK = "--- a/vllm/toy.py\n+++ b/vllm/toy.py\n@@ -1 +1 @@\n-value = 3\n+value = 1\n"


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PREFLIGHT_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def site(tmp_path: Path) -> Path:
    return make_tree(tmp_path, RELEASE)


def files(name: str, contents: dict[str, str]) -> str:
    for path, text in contents.items():
        write(Path(name, path), text.encode())
    return name


def apply(site: Path, *words: str) -> int:
    return main(["apply", *words, "--vllm-site-packages", str(site)])


def restore(site: Path, *words: str) -> int:
    return main(["restore", *words, "--vllm-site-packages", str(site)])


def process(*words: str, **more: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "preflight", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        **more,
    )


def test_what_is_clear_is_written_and_comes_out_again(site: Path) -> None:
    before = seen(site)
    assert apply(site, files("good", GOOD)) == 0
    assert {path: (site / path).read_text() for path in GOOD} == GOOD
    assert restore(site) == 0
    assert seen(site) == before
    assert not (site / ".preflight").exists()


def test_what_reaches_fail_on_is_not_written(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = seen(site)
    assert apply(site, files("bad", BROKEN), "--output-format", "json") == 1
    report = json.loads(capsys.readouterr().out)
    assert [(f["rule"], f["path"], f["line"]) for f in report["findings"]] == [("PF101", "vllm/toy.py", 1)]
    assert seen(site) == before
    assert not (site / ".preflight").exists()


def test_force_writes_it_and_keeps_the_exit_code(site: Path) -> None:
    before = seen(site)
    assert apply(site, "--force", files("bad", BROKEN)) == 1
    assert {path: (site / path).read_text() for path in BROKEN} == BROKEN
    assert restore(site) == 0
    assert seen(site) == before


@pytest.mark.parametrize(("contents", "code"), [(GOOD, 0), (BROKEN, 1)])
def test_check_only_writes_nothing(site: Path, contents: dict[str, str], code: int) -> None:
    before = seen(site)
    assert apply(site, "--check-only", "--force", files("patch", contents)) == code
    assert seen(site) == before
    assert not (site / ".preflight").exists()


def test_diffs_and_files_are_applied_in_order(site: Path) -> None:
    files("diffs", {"1.patch": DIFF, "2.patch": DIFF.replace("= 1", "= 3").replace("+value = 3", "+value = 9")})
    assert apply(site, "diffs", files("good", {"vllm/models/one.py": "value = 7\n"})) == 0
    assert (site / "vllm/toy.py").read_text() == "value = 9\n"
    assert (site / "vllm/models/one.py").read_text() == "value = 7\n"


def test_a_diff_that_does_not_apply_writes_nothing(site: Path) -> None:
    before = seen(site)
    files(".", {"wrong.patch": DIFF.replace("value = 1", "value = 8")})
    words = [files("good", {"vllm/models/one.py": "value = 7\n"}), "wrong.patch"]
    assert apply(site, *words) == 1
    assert apply(site, *words, "--ignore", "PF701") == 2
    assert apply(site, *words, "--force") == 2
    assert seen(site) == before
    assert not (site / ".preflight").exists()


@pytest.mark.parametrize("patch", ["nowhere", "empty"])
def test_a_patch_that_is_none_is_named_as_it_was_given(
    site: Path, patch: str, capsys: pytest.CaptureFixture[str]
) -> None:
    files("empty", {"notes.md": "nothing"})
    assert apply(site, patch) == 2
    error = capsys.readouterr().err
    assert f"PATCH {patch}" in error and "--overlay" not in error


@pytest.mark.parametrize(
    "contents",
    [
        {"x.patch": DIFF + "diff --git a/vllm/a.bin b/vllm/a.bin\nnew file mode 100644\nindex 0000000..1111111\n"
         "Binary files /dev/null and b/vllm/a.bin differ\n"},
        {"vllm/toy.py": "value = 3\n", "vllm/_C.abi3.so": "another library"},
    ],
)  # fmt: skip
def test_a_patch_that_cannot_be_written_whole_is_not_written(site: Path, contents: dict[str, str]) -> None:
    before = seen(site)
    assert apply(site, "--force", files("patch", contents)) == 2
    assert apply(site, "--check-only", "patch") == 2
    assert seen(site) == before


def test_what_a_diff_does_outside_the_package_is_left_aside(site: Path) -> None:
    files("patch", {"x.patch": DIFF + DIFF.replace("vllm/toy.py", "tests/test_toy.py")})
    assert apply(site, "patch") == 0
    assert (site / "vllm/toy.py").read_text() == "value = 3\n"
    assert not (site / "tests").exists()


def test_the_first_original_comes_back_after_several_applies(site: Path) -> None:
    before = seen(site)
    assert apply(site, files("good", GOOD)) == 0
    assert apply(site, files("more", {"vllm/toy.py": "value = 30\n", "vllm/models/one.py": "value = 20\n"})) == 0
    assert apply(site, "more") == 0  # again: nothing to write
    assert restore(site) == 0
    assert seen(site) == before


def test_a_patch_that_takes_an_earlier_one_back_leaves_nothing_to_restore(
    site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = seen(site)
    files(".", {"on.patch": DIFF, "off.patch": BACK})
    assert apply(site, "on.patch") == 0
    assert apply(site, "off.patch") == 0
    assert seen(site) == before
    assert not (site / ".preflight").exists()
    capsys.readouterr()
    assert restore(site) == 0
    assert "Nothing is applied" in capsys.readouterr().out


def test_a_diff_that_is_applied_already_changes_nothing(site: Path) -> None:
    files(".", {"on.patch": DIFF})
    assert apply(site, "on.patch") == 0
    manifest = (site / ".preflight/manifest.json").read_bytes()
    assert apply(site, "on.patch") == 0
    assert (site / ".preflight/manifest.json").read_bytes() == manifest


def test_a_file_that_was_changed_since_is_not_restored_without_force(
    site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = seen(site)
    assert apply(site, files("good", GOOD)) == 0
    (site / "vllm/toy.py").write_text("value = 'mine'\n")
    changed = seen(site)
    assert restore(site) == 2
    assert "vllm/toy.py" in capsys.readouterr().err
    assert seen(site) == changed
    assert restore(site, "--force") == 0
    assert seen(site) == before


def test_a_file_that_was_put_back_by_hand_is_no_change(site: Path) -> None:
    before = seen(site)
    assert apply(site, files("good", GOOD)) == 0
    (site / "vllm/toy.py").write_text(RELEASE["vllm/toy.py"])
    assert restore(site) == 0
    assert seen(site) == before


def test_what_is_not_the_release_s_after_all_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    site = make_tree(tmp_path, RELEASE, {"vllm/toy.py": "value = 'by hand'\n"})
    assert apply(site, files("good", GOOD)) == 0
    capsys.readouterr()
    assert restore(site) == 1
    named = [line for line in capsys.readouterr().out.splitlines() if "RECORD says" in line]
    assert len(named) == 1 and named[0].startswith("vllm/toy.py")
    assert (site / "vllm/toy.py").read_text() == "value = 'by hand'\n"


def install(site: Path, version: str, contents: dict[str, str]) -> None:
    """What an installer does to a tree: other files, another RECORD; what it does not know it leaves."""
    (old,) = site.glob("vllm-*.dist-info")
    for file in old.iterdir():
        file.unlink()
    old.rmdir()
    info = f"vllm-{version}.dist-info"
    rows = [f"{path},sha256={record_hash(text.encode())},{len(text)}" for path, text in contents.items()]
    rows += [f"vllm/__init__.py,sha256={record_hash(b'')},0", f"{info}/RECORD,,"]
    write(site / info / "METADATA", f"Metadata-Version: 2.4\nName: vllm\nVersion: {version}\n".encode())
    write(site / info / "RECORD", "\n".join([*rows, ""]).encode())
    for path, text in contents.items():
        write(site / path, text.encode())


def test_after_a_new_install_the_old_release_s_files_do_not_come_back(site: Path) -> None:
    assert apply(site, files("good", {**GOOD, "vllm/models/one.py": "value = 50\n"})) == 0
    newer = {"vllm/toy.py": "value = 100\n", "vllm/models/one.py": "value = 2\n"}
    install(site, "0.17.0", newer)
    assert restore(site) == 0
    assert {path: (site / path).read_text() for path in newer} == newer
    assert not (site / "vllm/models/new").exists()


def test_what_a_new_install_left_patched_is_named(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert apply(site, files("good", GOOD)) == 0
    install(site, "0.17.0", {"vllm/toy.py": "value = 100\n"})
    (site / "vllm/toy.py").write_text(GOOD["vllm/toy.py"])
    capsys.readouterr()
    assert restore(site) == 1
    assert any(line.startswith("vllm/toy.py: left") for line in capsys.readouterr().out.splitlines())
    assert (site / "vllm/toy.py").read_text() == GOOD["vllm/toy.py"]


def test_an_apply_after_a_new_install_keeps_the_new_release_s_file(site: Path) -> None:
    assert apply(site, files("good", GOOD)) == 0
    install(site, "0.17.0", {"vllm/toy.py": "value = 100\n"})
    assert apply(site, "good") == 0
    assert restore(site) == 0
    assert (site / "vllm/toy.py").read_text() == "value = 100\n"
    assert not (site / "vllm/models/new").exists()


def test_a_kept_file_that_was_damaged_is_not_put_back(site: Path) -> None:
    assert apply(site, files("good", GOOD)) == 0
    applied = seen(site)
    (kept,) = (site / ".preflight/originals").iterdir()
    kept.write_text("something else\n")
    assert restore(site, "--force") == 2
    assert seen(site) == applied


@pytest.mark.parametrize(
    "change",
    [
        lambda table: "no json",
        lambda table: json.dumps([]),
        lambda table: json.dumps({**table, "format": 99}),
        lambda table: json.dumps({**table, "entries": [{"path": "vllm/toy.py"}]}),
        lambda table: json.dumps({**table, "entries": [{**table["entries"][0], "path": "vllm/../../victim.py"}]}),
        lambda table: json.dumps({**table, "entries": [{**table["entries"][0], "kept": "../../victim.py"}]}),
        lambda table: json.dumps({**table, "entries": [{**table["entries"][0], "original": {"kind": "folder"}}]}),
        lambda table: json.dumps({**table, "folders": ["/"]}),
        lambda table: "[" * 100_000,
    ],
)
def test_a_manifest_that_somebody_changed_is_refused(site: Path, change) -> None:
    assert apply(site, files("good", GOOD)) == 0
    applied = seen(site)
    manifest = site / ".preflight/manifest.json"
    manifest.write_text(change(json.loads(manifest.read_text())))
    assert restore(site) == 2
    assert apply(site, files("more", {"vllm/toy.py": "value = 9\n"})) == 2
    assert seen(site) == applied


@pytest.mark.parametrize("path", ["vllm", "vllm/../x", "/vllm/x", "vllm//x", "vllm/./x", "other/x", "vllm/x\0", ""])
def test_nothing_outside_the_package_is_written(path: str) -> None:
    assert not inside_package(path)


def test_a_folder_that_is_a_link_is_not_written_through(site: Path) -> None:
    other = site.parent / "other"
    (site / "vllm/models").rename(other)
    (site / "vllm/models").symlink_to(other)
    before = {path.name: path.read_bytes() for path in other.iterdir()}
    assert apply(site, files("patch", {"vllm/toy.py": "value = 3\n", "vllm/models/one.py": "value = 9\n"})) == 2
    assert {path.name: path.read_bytes() for path in other.iterdir()} == before
    assert (site / "vllm/toy.py").read_text() == RELEASE["vllm/toy.py"]


def test_a_tree_behind_a_link_is_written_and_its_environment_is_known(
    site: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "env/lib/python3.12"
    write(tmp_path / "env/pyvenv.cfg", b"version = 3.12.1\n")
    folder.mkdir(parents=True)
    (folder / "site-packages").symlink_to(site)
    assert apply(folder / "site-packages", files("good", GOOD), "--output-format", "json") == 0
    assert json.loads(capsys.readouterr().out)["tree"]["site_packages"] == str(folder / "site-packages")
    assert (site / "vllm/toy.py").read_text() == GOOD["vllm/toy.py"]
    assert main(["restore", "--vllm-site-packages", str(tmp_path / "env")]) == 0
    assert (site / "vllm/toy.py").read_text() == RELEASE["vllm/toy.py"]


def test_a_launch_is_judged_as_by_check(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [files("good", GOOD), "--fail-on", "undecided", "--output-format", "json"]
    asked = []
    for launch in ([], ["--", "vllm", "serve", "m"]):
        assert main(["apply", *words, "--vllm-site-packages", str(site), *launch]) == 1
        asked.append({question["id"] for question in json.loads(capsys.readouterr().out)["undecided"]})
    assert asked[0] < asked[1]
    assert (site / "vllm/toy.py").read_text() == RELEASE["vllm/toy.py"]


def test_a_path_below_a_file_is_refused(site: Path) -> None:
    before = seen(site)
    assert apply(site, files("patch", {"vllm/models/one.py": "value = 3\n", "vllm/toy.py/x.py": "value = 9\n"})) == 2
    assert seen(site) == before


def test_a_file_where_the_folder_of_originals_should_be_is_an_error(site: Path) -> None:
    (site / ".preflight").write_text("mine")
    before = seen(site)
    assert apply(site, files("good", GOOD)) == 2
    assert seen(site) == before
    assert (site / ".preflight").read_text() == "mine"


def test_a_released_tree_in_the_cache_is_never_written(tmp_path: Path) -> None:
    good = files("good", GOOD)
    assert main(["apply", good, "--vllm", "0.16.0"]) == 2
    kept = make_tree(tmp_path / "cache/releases", RELEASE)
    before = seen(kept)
    assert apply(kept, good) == 2
    link = tmp_path / "link"
    link.symlink_to(kept)
    assert apply(link, good) == 2
    assert seen(kept) == before


def test_a_source_folder_is_not_written(tmp_path: Path) -> None:
    write(tmp_path / "source/vllm/__init__.py", b"")
    write(tmp_path / "source/vllm/toy.py", b"value = 1\n")
    assert apply(tmp_path / "source", files("good", GOOD)) == 2
    assert restore(tmp_path / "source") == 2
    assert (tmp_path / "source/vllm/toy.py").read_text() == "value = 1\n"


def test_a_file_that_does_not_fit_on_the_disk_leaves_the_tree_as_it_was(site: Path) -> None:
    before = seen(site)
    files("large", {**GOOD, "vllm/models/large.py": "# much\n" * 20_000})

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))

    words = ("apply", "large", "--vllm-site-packages", str(site), "--output-format", "json")
    run = process(*words, preexec_fn=limit)
    out, _ = run.communicate(timeout=60)
    report = json.loads(out)
    assert (run.returncode, report["verdict"]) == (2, "not-checked")
    assert "vllm/models/large.py" in report["error"]["message"]
    assert seen(site) == before
    assert not (site / ".preflight").exists()


def test_stale_byte_code_is_not_used(site: Path) -> None:
    for mode in (py_compile.PycInvalidationMode.UNCHECKED_HASH, py_compile.PycInvalidationMode.TIMESTAMP):
        py_compile.compile(str(site / "vllm/toy.py"), invalidation_mode=mode)
        for patch, code, value in ((["apply", files("good", GOOD)], 0, "3"), (["restore"], 0, "1")):
            assert main([*patch, "--vllm-site-packages", str(site)]) == code
            out = subprocess.run(
                [sys.executable, "-c", "import vllm.toy; print(vllm.toy.value)"],
                cwd=site,
                capture_output=True,
                text=True,
                check=True,
            )
            assert out.stdout.strip() == value


@pytest.mark.parametrize(("wanted", "before"), [(5_000_000_000, 5_999_999_999), (5_999_999_999, 5_000_000_000)])
def test_new_content_has_another_second_than_the_old(wanted: int, before: int) -> None:
    assert other_second(wanted, before) // 10**9 not in (before // 10**9,)
    assert other_second(wanted, None) == wanted == other_second(wanted, before + 10**10)


def test_times_and_modes_come_back(site: Path) -> None:
    file = site / "vllm/toy.py"
    file.chmod(0o600)
    os.utime(file, ns=(10**18, 10**18))
    assert apply(site, files("good", GOOD)) == 0
    assert file.stat().st_mode & 0o7777 == 0o600
    assert file.stat().st_mtime_ns != 10**18
    assert restore(site) == 0
    assert (file.stat().st_mode & 0o7777, file.stat().st_mtime_ns) == (0o600, 10**18)


def test_the_owner_stays(site: Path) -> None:
    file = site / "vllm/toy.py"
    with contextlib.suppress(PermissionError):  # only root gives files away, and only root needs this
        os.chown(file, 12345, 12345)
    owner = (file.stat().st_uid, file.stat().st_gid)
    assert apply(site, files("good", GOOD)) == 0
    assert (file.stat().st_uid, file.stat().st_gid) == owner
    assert restore(site) == 0
    assert (file.stat().st_uid, file.stat().st_gid) == owner


@pytest.mark.parametrize("change", ["value = 'other'\n", None])
def test_a_file_that_changes_between_check_and_write_is_left(site: Path, change: str | None) -> None:
    layer = {"vllm/models/one.py": b"value = 20\n", "vllm/toy.py": b"value = 30\n"}
    with opened(site, print) as store:
        plan = plan_of(site, layer)
        if change is None:
            (site / "vllm/toy.py").unlink()
        else:
            (site / "vllm/toy.py").write_text(change)
        before = seen(site)
        with pytest.raises(TreeError):
            apply_plan(store, Place(site, site, "0.16.0", None, None), plan)
    assert seen(site) == before
    assert not (site / ".preflight").exists()


def test_one_waits_for_the_other_and_ctrl_c_ends_the_wait(site: Path) -> None:
    files("good", GOOD)
    words = ("apply", "good", "--vllm-site-packages", str(site))
    with opened(site, print):
        waiting, given_up = process(*words), process(*words)
        for run in (waiting, given_up):
            assert run.stderr is not None
            assert "waiting" in run.stderr.readline()
        given_up.send_signal(signal.SIGINT)
        given_up.communicate(timeout=60)
        assert (site / "vllm/toy.py").read_text() == RELEASE["vllm/toy.py"]
    waiting.communicate(timeout=60)
    assert (given_up.returncode, waiting.returncode) == (130, 0)
    assert (site / "vllm/toy.py").read_text() == GOOD["vllm/toy.py"]


def test_several_at_once_end_in_one_manifest(site: Path) -> None:
    before = seen(site)
    names = ["a", "b", "c"]
    runs = [
        process("apply", files(name, {f"vllm/{name}.py": "value = 1\n"}), "--vllm-site-packages", str(site))
        for name in names
    ]
    for run in runs:
        run.communicate(timeout=60)
    assert [run.returncode for run in runs] == [0, 0, 0]
    manifest = json.loads((site / ".preflight/manifest.json").read_text())
    assert sorted(entry["path"] for entry in manifest["entries"]) == [f"vllm/{name}.py" for name in names]
    assert restore(site) == 0
    assert seen(site) == before


def test_an_interrupted_apply_is_ended_before_anything_else(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = seen(site)
    assert apply(site, files("good", GOOD)) == 0
    store = site / ".preflight"
    manifest = json.loads((store / "manifest.json").read_text())
    steps = [
        {
            "path": e["path"],
            "before": e["original"],
            "after": e["written"],
            "kept": e["kept"],
            "part": f".preflight-{n}",
        }
        for n, e in enumerate(manifest["entries"])
    ]
    journal = {"format": 1, "identity": "of another", "steps": steps, "folders": manifest["folders"]}
    (store / "journal.json").write_text(json.dumps(journal))
    (store / "manifest.json").unlink()
    assert apply(site, "--check-only", "good") == 2
    capsys.readouterr()
    assert main(["check", "--vllm-site-packages", str(site), "--output-format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["verdict"] == "undecided"
    assert "apply-unfinished" in [question["id"] for question in report["undecided"]]
    capsys.readouterr()
    assert restore(site) == 0
    captured = capsys.readouterr()
    assert "taken back" in captured.err and "Nothing is applied" in captured.out
    assert seen(site) == before
    assert not store.exists()


def test_what_somebody_changed_after_an_interruption_is_left(site: Path) -> None:
    (site / ".preflight/originals").mkdir(parents=True)
    absent = {"kind": "absent", "digest": None, "target": None, "mode": None, "mtime": None}
    step = {"path": "vllm/toy.py", "before": absent, "after": {**absent, "kind": "link", "target": "x"}}
    journal = {"format": 1, "identity": "x", "steps": [{**step, "kept": None, "part": ".preflight-x-0"}], "folders": []}
    (site / ".preflight/journal.json").write_text(json.dumps(journal))
    assert restore(site) == 0
    assert (site / "vllm/toy.py").read_text() == RELEASE["vllm/toy.py"]
    assert not (site / ".preflight").exists()
