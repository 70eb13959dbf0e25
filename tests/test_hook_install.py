"""``preflight install-hook`` in real git repositories: what it writes, and what the hook does to a commit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from preflight.cli import main
from preflight.errors import UsageError
from preflight.hook import install_hook
from tests.gitrepo import ENVIRON, git, make_repository
from tests.minitree import make_tree, write

RELEASE = {"vllm/toy.py": "value = 1\n", "vllm/models/one.py": "value = 2\n"}
GOOD, BROKEN = b"value = 3\n", b"value = (\n"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A patch repository with a configuration that names a miniature tree."""
    for name, value in ENVIRON.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PREFLIGHT_CACHE", str(tmp_path / "cache"))
    site = make_tree(tmp_path, RELEASE)
    folder = tmp_path / "patches"
    write(folder / "preflight.toml", f'vllm-site-packages = "{site}"\n'.encode())
    make_repository(folder)
    monkeypatch.chdir(folder)
    return folder


def commit(folder: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    environ = {
        **ENVIRON,
        "PYTHONPATH": str(Path(__file__).parents[1]),
        "PREFLIGHT_CACHE": str(folder / "../cache"),
        **more,
    }
    return subprocess.run(
        ["git", "commit", "-q", "-m", "patch", *words],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        timeout=60,
    )


def stage(folder: Path, path: str, data: bytes) -> None:
    write(folder / path, data)
    git(folder, "add", path)


def hook_of(folder: Path) -> Path:
    return folder / ".git/hooks/pre-commit"


def test_a_broken_patch_is_not_committed_and_a_good_one_is(repository: Path) -> None:
    assert main(["install-hook"]) == 0
    stage(repository, "vllm/toy.py", BROKEN)
    (repository / "vllm/toy.py").write_bytes(GOOD)  # not staged, so not committed
    stopped = commit(repository)
    assert stopped.returncode == 1
    assert "PF101" in stopped.stdout + stopped.stderr and "--no-verify" in stopped.stderr
    assert git(repository, "log", "--format=%s").split() == [b"all"]
    git(repository, "add", "vllm/toy.py")
    done = commit(repository)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert git(repository, "show", "HEAD:vllm/toy.py") == GOOD


def test_a_commit_of_something_else_passes(repository: Path) -> None:
    assert main(["install-hook"]) == 0
    stage(repository, "notes.md", b"# notes\n")
    assert commit(repository).returncode == 0


def test_a_second_time_changes_nothing(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["install-hook"]) == 0
    before = (
        hook_of(repository).read_bytes(),
        hook_of(repository).stat().st_mtime_ns,
        hook_of(repository).stat().st_ino,
    )
    assert main(["install-hook"]) == main(["install-hook", "--force"]) == 0
    assert "already" in capsys.readouterr().out
    file = hook_of(repository)
    assert (file.read_bytes(), file.stat().st_mtime_ns, file.stat().st_ino) == before
    assert [path.name for path in file.parent.glob("*pre-commit*") if path.suffix != ".sample"] == ["pre-commit"]


def test_a_hook_of_somebody_else_is_kept(repository: Path) -> None:
    file = hook_of(repository)
    write(file, b"#!/bin/sh\nexit 0\n")
    assert main(["install-hook"]) == 2
    assert file.read_bytes() == b"#!/bin/sh\nexit 0\n"
    assert main(["install-hook", "--force"]) == 0
    assert file.with_name("pre-commit.before-preflight").read_bytes() == b"#!/bin/sh\nexit 0\n"
    stage(repository, "vllm/toy.py", BROKEN)
    assert commit(repository).returncode == 1


def test_a_hook_that_is_a_link_is_replaced_and_not_written_through(repository: Path) -> None:
    write(repository / "hooks/mine", b"#!/bin/sh\nexit 0\n")
    hook_of(repository).parent.mkdir(exist_ok=True)
    hook_of(repository).symlink_to(repository / "hooks/mine")
    assert main(["install-hook", "--force"]) == 0
    assert (repository / "hooks/mine").read_bytes() == b"#!/bin/sh\nexit 0\n"
    assert hook_of(repository).with_name("pre-commit.before-preflight").readlink() == repository / "hooks/mine"
    assert not hook_of(repository).is_symlink()


def test_a_link_that_leads_nowhere_is_somebody_s_too(repository: Path) -> None:
    hook_of(repository).parent.mkdir(exist_ok=True)
    hook_of(repository).symlink_to("nowhere")
    assert main(["install-hook"]) == 2
    assert main(["install-hook", "--force"]) == 0
    assert hook_of(repository).with_name("pre-commit.before-preflight").is_symlink()


def test_a_hook_of_ours_from_another_interpreter_is_replaced(repository: Path) -> None:
    first = install_hook(repository, None, "/nowhere/python", ENVIRON, force=False)
    second = install_hook(repository, None, sys.executable, ENVIRON, force=False)
    assert first.written and second.written and second.backup is None
    assert sys.executable.encode() in hook_of(repository).read_bytes()


def test_core_hookspath_is_followed(repository: Path) -> None:
    git(repository, "config", "core.hooksPath", ".githooks")
    assert main(["install-hook"]) == 0
    assert (repository / ".githooks/pre-commit").exists() and not hook_of(repository).exists()
    stage(repository, "vllm/toy.py", BROKEN)
    assert commit(repository).returncode == 1


def test_hooks_of_all_repositories_are_left_alone(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / ".gitconfig", f"[core]\n\thooksPath = {tmp_path}/shared\n".encode())
    monkeypatch.setenv("HOME", str(tmp_path))
    assert main(["install-hook"]) == 2
    assert not (tmp_path / "shared").exists()
    assert main(["install-hook", "--force"]) == 0
    assert (tmp_path / "shared/pre-commit").exists()


def test_a_worktree_has_its_repository_s_hook(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = repository.parent / "other"
    git(repository, "worktree", "add", "-q", str(other))
    monkeypatch.chdir(other)
    assert main(["install-hook"]) == 0
    assert hook_of(repository).exists()
    stage(other, "vllm/toy.py", BROKEN)
    assert commit(other).returncode == 1
    stage(other, "vllm/toy.py", GOOD)
    assert commit(other).returncode == 0


@pytest.mark.parametrize("worktree", [False, True])
def test_a_configuration_below_the_top_is_found_with_the_index_that_is_committed(
    repository: Path, worktree: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(repository, "mv", "-k", "preflight.toml", "notes.toml")
    write(repository / "my patches/preflight.toml", (repository / "notes.toml").read_bytes())
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "below")
    top = repository
    if worktree:
        top = repository.parent / "other"
        git(repository, "worktree", "add", "-q", str(top))
    monkeypatch.chdir(top / "my patches")
    assert main(["install-hook"]) == 0
    stage(top, "my patches/vllm/toy.py", BROKEN)
    stage(top, "my patches/vllm/models/one.py", GOOD)
    assert commit(top).returncode == 1
    assert commit(top, "--", "my patches/vllm/models/one.py").returncode == 0  # an index of its own, without toy.py
    assert git(top, "diff", "--cached", "--name-only").splitlines() == [b"my patches/vllm/toy.py"]


@pytest.mark.parametrize("interpreter", ["/nowhere/it's gone/python", "stub"])
def test_without_its_interpreter_the_hook_takes_preflight_from_the_path(
    repository: Path, tmp_path: Path, interpreter: str
) -> None:
    stub = tmp_path / "stub"  # a Python that has no preflight
    write(stub, b'#!/bin/sh\nexec "%s" -S -E "$@"\n' % os.fsencode(sys.executable))
    stub.chmod(0o755)
    install_hook(repository, None, str(stub) if interpreter == "stub" else interpreter, ENVIRON, force=False)
    stage(repository, "vllm/toy.py", BROKEN)
    none = commit(repository)
    assert none.returncode == 1 and "nothing was checked" in none.stderr
    program = tmp_path / "bin/preflight"
    write(program, b'#!/bin/sh\nexec "%s" -m preflight "$@"\n' % os.fsencode(sys.executable))
    program.chmod(0o755)
    path = f"{program.parent}{os.pathsep}/usr/bin{os.pathsep}/bin"
    assert "PF101" in commit(repository, PATH=path).stderr + commit(repository, PATH=path).stdout
    stage(repository, "vllm/toy.py", GOOD)
    assert commit(repository, PATH=path).returncode == 0


def test_a_folder_named_preflight_in_the_repository_is_not_run(repository: Path) -> None:
    assert main(["install-hook"]) == 0
    stage(repository, "preflight/__init__.py", b"raise SystemExit(0)\n")
    stage(repository, "vllm/toy.py", BROKEN)
    assert commit(repository).returncode == 1


def test_outside_a_repository_there_is_nothing_to_write(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        install_hook(tmp_path, None, sys.executable, ENVIRON, force=False)
