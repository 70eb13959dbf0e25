"""Kept reports: the same question about the same files has the same answer, at once; whatever changed, a new one."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import preflight.cli.check as command
from preflight import witness
from preflight.cli import main
from preflight.tree.keeping import Kept
from preflight.witness import NAMES, STAT, Witness, same_still, watching
from tests.minitree import make_tree, write

TOY = "vllm/toy.py"
RELEASE = {TOY: "from .other import Alpha\n", "vllm/other.py": "class Alpha: ...\n"}
PATCH = {TOY: "from .other import Gamma\n"}


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("PREFLIGHT_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows by one with each run that was not spared."""
    count: list[int] = []
    real = command.checked

    def checked(*arguments: object, **options: object) -> object:
        count.append(1)
        return real(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(command, "checked", checked)
    return count


def asked(capsys: pytest.CaptureFixture[str], site: Path, *words: str) -> dict:
    main(["check", "--vllm-site-packages", str(site), "--output-format", "json", *words])
    report = json.loads(capsys.readouterr().out)
    del report["summary"]["seconds"]
    return report


def test_the_same_question_is_answered_once(tmp_path: Path, capsys, runs: list[int]) -> None:
    site = make_tree(tmp_path, RELEASE, PATCH)
    first = asked(capsys, site)
    assert [(f["rule"], f["path"], f["line"]) for f in first["findings"]] == [("PF201", TOY, 1)]
    assert asked(capsys, site) == first
    assert len(runs) == 1
    main(["check", "--vllm-site-packages", str(site), "--output-format", "short", "-q"])
    assert "PF201" in capsys.readouterr().out, "another form of the same report"
    assert len(runs) == 1
    asked(capsys, site, "--no-cache")
    assert len(runs) == 2


def same_size_and_time(site: Path) -> None:
    file = site / TOY
    before = file.stat()
    file.write_text(PATCH[TOY].replace("Gamma", "Alpha"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def another_file(site: Path) -> None:
    write(site / "vllm/other.py", b"class Alpha: ...\nclass Gamma: ...\n")


def a_file_that_shadows(site: Path) -> None:
    write(site / "vllm/other/__init__.py", b"Gamma = 1\n")


def one_is_gone(site: Path) -> None:
    (site / "vllm/other.py").unlink()


def one_is_a_link_now(site: Path) -> None:
    (site.parent / "elsewhere.py").write_text("Gamma = 1\n")
    (site / "vllm/other.py").unlink()
    (site / "vllm/other.py").symlink_to(site.parent / "elsewhere.py")


def another_package(site: Path) -> None:
    write(site / "plugin-1.0.dist-info/METADATA", b"Metadata-Version: 2.1\nName: plugin\nVersion: 1.0\n")


def a_configuration(site: Path) -> None:
    Path("preflight.toml").write_text('ignore = ["PF201"]\n')


def a_variable(site: Path) -> None:
    os.environ["VLLM_USE_V1"] = "0"


def the_working_folder(site: Path) -> None:
    os.chdir(site.parent)


@pytest.mark.parametrize(
    "change",
    [
        same_size_and_time,
        another_file,
        a_file_that_shadows,
        one_is_gone,
        one_is_a_link_now,
        another_package,
        a_configuration,
        a_variable,
        the_working_folder,
    ],
)
def test_whatever_changed_is_seen(
    tmp_path: Path, capsys, runs: list[int], monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], None]
) -> None:
    monkeypatch.setenv("VLLM_USE_V1", "1")
    site = make_tree(tmp_path, RELEASE, PATCH)
    asked(capsys, site)
    change(site)
    second = asked(capsys, site)
    assert len(runs) == 2
    assert second == asked(capsys, site, "--no-cache")


def test_other_options_are_another_question(tmp_path: Path, capsys, runs: list[int]) -> None:
    site = make_tree(tmp_path, RELEASE, PATCH)
    asked(capsys, site)
    assert asked(capsys, site, "--ignore", "PF201")["findings"] == []
    assert len(runs) == 2


def test_every_file_that_is_opened_was_seen(tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the system says that this process opens below the tree stands among what was noted."""
    site = make_tree(tmp_path, RELEASE, PATCH, transformers="4.57.6")
    write(tmp_path / "model/config.json", b'{"architectures": ["X"], "model_type": "x"}')
    opened: set[str] = set()
    on = [True]

    def hook(event: str, arguments: tuple) -> None:
        if on and event in ("open", "os.listdir", "os.scandir") and isinstance(arguments[0], (str, Path)):
            opened.add(os.path.realpath(arguments[0]))

    witnesses: list[Witness] = []
    real = witness.watching
    monkeypatch.setattr("preflight.kept.watching", lambda one: witnesses.append(one) or real(one))
    sys.addaudithook(hook)
    asked(capsys, site, "--", "vllm", "serve", str(tmp_path / "model"))
    on.clear()
    entries = witnesses[0].entries()
    assert entries is not None, witnesses[0].beyond
    below = {path for path in opened if path.startswith(os.path.realpath(tmp_path) + os.sep) and "/cache" not in path}
    assert len(below) > 5
    assert below <= {os.path.realpath(path) for _, path, _, _ in entries}


def test_what_git_says_is_asked_again(tmp_path: Path, capsys, runs: list[int]) -> None:
    site = make_tree(tmp_path, RELEASE, PATCH)
    for words in (["init", "-q"], ["add", "-A"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"]):
        subprocess.run(["git", *words], cwd=site, check=True)
    for expected in (1, 2):
        asked(capsys, site, "--base-ref", "HEAD")
        assert len(runs) == expected


def test_a_file_that_changes_meanwhile_is_not_answered_for(tmp_path: Path) -> None:
    file = tmp_path / "one"
    file.write_text("a")
    with watching(Witness()) as seen:
        file.read_text()
        file.write_text("another")
    assert seen.entries() is None
    with watching(Witness()) as seen:
        file.read_text()
        file.write_text("once more")
        file.read_text()
    assert seen.beyond is not None


def test_young_files_are_compared_by_their_content(tmp_path: Path) -> None:
    file, folder = tmp_path / "one", tmp_path / "folder"
    file.write_text("a")
    folder.mkdir()
    with watching(Witness()) as seen:
        file.read_text()
        list(folder.iterdir())
    entries = seen.entries()
    assert entries is not None
    assert {(kind, path) for kind, path, _, digest in entries if digest} == {(STAT, str(file)), (NAMES, str(folder))}
    assert same_still(entries)
    wrong = [(kind, path, stamp, digest and hashlib.blake2b(b"x").digest()) for kind, path, stamp, digest in entries]
    assert not same_still(wrong)


def test_a_name_that_was_looked_for_in_vain_is_seen_to_come(tmp_path: Path) -> None:
    with watching(Witness()) as seen:
        assert not (tmp_path / "config.json").exists()
    entries = seen.entries()
    assert entries and same_still(entries)
    (tmp_path / "config.json").touch()
    assert not same_still(entries)


def test_what_is_asked_beyond_files_is_said(tmp_path: Path) -> None:
    with watching(Witness()) as seen:
        subprocess.run(["true"], check=True)
    assert seen.beyond is not None
    with watching(Witness()) as seen:
        subprocess.run([sys.executable, "-I", "-S", "-c", ""], check=True)
    assert seen.beyond is None
    assert os.stat.__module__ == "posix", "the functions are as they were"


def test_a_report_that_is_not_whole_is_as_if_it_were_not_there(tmp_path: Path, capsys, runs: list[int]) -> None:
    site = make_tree(tmp_path, RELEASE, PATCH)
    first = asked(capsys, site)
    (file,) = (tmp_path / "cache/reports").iterdir()
    whole = file.read_bytes()
    payload = pickle.dumps(((), {"no": "report"}), 5)
    foreign = hashlib.blake2b(payload, digest_size=16).digest() + payload
    for expected, broken in enumerate((b"", whole[:-1], whole[:40], foreign), 2):
        file.write_bytes(broken)
        assert asked(capsys, site) == first
        assert len(runs) == expected


def test_old_reports_go(tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("preflight.kept._MOST", 2)
    for index in range(4):
        asked(capsys, make_tree(tmp_path / str(index), RELEASE, PATCH))
    assert len(list((tmp_path / "cache/reports").iterdir())) == 2


def test_a_full_cache_keeps_nothing_that_is_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, data: bytes) -> int:
        with self.open("wb") as stream:
            stream.write(data[:7])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    Kept(tmp_path / "cache", {}).store("one", "value")
    assert list((tmp_path / "cache").iterdir()) == []
