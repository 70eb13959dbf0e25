"""Runs transactions that are stopped at every step, and prints what each left behind.

``python -m tests.transaction_driver MODE FOLDER``. A step is a call that changes the file system: Python tells an audit
hook of most of them before it makes them; ``write`` and ``fsync`` are wrapped. For each step a child is forked that is
stopped there; MODE says how. One line of JSON for each: what a reader then found, and what the next runs made of it.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import stat
import sys
from collections.abc import Callable
from pathlib import Path

from preflight.errors import TreeError
from preflight.transaction.engine import opened
from preflight.transaction.place import Place
from preflight.transaction.plan import apply_plan, plan_of
from preflight.transaction.restoring import restore
from tests.minitree import make_tree, write

RELEASE = {
    "vllm/toy.py": "value = 1\n",
    "vllm/gone.py": "value = 2\n",
    "vllm/shared.py": "value = 3\n",
    "vllm/linked.py": "value = 4\n",
    "vllm/models/one.py": "value = 5\n",
}
LAYER = {
    "vllm/toy.py": b"value = 10\n",
    "vllm/gone.py": None,
    "vllm/shared.py": b"value = 30\n",
    "vllm/linked.py": b"value = 40\n",
    "vllm/new/deep/module.py": b"value = 60\n",
}
_EVENTS = {
    "os.rename",
    "os.remove",
    "os.mkdir",
    "os.rmdir",
    "os.link",
    "os.symlink",
    "os.chmod",
    "os.utime",
    "os.chown",
}
STOPPED = 41  #: the code of a child that was killed
ENDED = 40  #: the code of a child that came to its end before the step


def tree(folder: Path) -> Path:
    """A tree with a file of every kind: shared with another environment, a link into a cache, with byte code."""
    shutil.rmtree(folder, ignore_errors=True)
    root = make_tree(folder, RELEASE)
    cache = folder / "cache"
    cache.mkdir()
    os.link(root / "vllm/shared.py", cache / "shared.py")
    (root / "vllm/linked.py").rename(cache / "linked.py")
    (root / "vllm/linked.py").symlink_to(cache / "linked.py")
    (root / "vllm/toy.py").chmod(0o640)
    write(root / "vllm/__pycache__/toy.cpython-311.pyc", b"stale")
    return root


def seen(root: Path) -> dict[str, str]:
    """All that is under the tree's package, byte code aside, with modes: as a reader finds it."""
    found = {}
    for file in sorted((root / "vllm").rglob("*")):
        path = file.relative_to(root).as_posix()
        if "__pycache__" in path:
            continue
        status = file.lstat()
        if stat.S_ISLNK(status.st_mode):
            found[path] = f"-> {os.path.relpath(file.readlink(), root)}"
        elif stat.S_ISDIR(status.st_mode):
            found[path + "/"] = ""
        else:
            found[path] = f"{stat.S_IMODE(status.st_mode):o} {file.read_bytes()!r}"
    return found


def place(root: Path) -> Place:
    return Place(root, root, "0.16.0", None, None)


def apply(root: Path) -> None:
    with opened(root, _silent) as store:
        plan = plan_of(root, LAYER)
        if plan.contents:
            apply_plan(store, place(root), plan)


def take_out(root: Path) -> None:
    with opened(root, _silent) as store:
        restore(store, place(root), force=False)


def settle(root: Path) -> None:
    with opened(root, _silent):
        pass


def stopped_at(number: int, mode: str, act: Callable[[Path], None], root: Path) -> int:
    """Run ``act`` in a child that is stopped at step ``number``: STOPPED or ENDED, or else 2 if it raised TreeError,
    130 if KeyboardInterrupt, 0 if it went on."""
    child = os.fork()
    if child == 0:
        steps = _install(number, mode, root)
        code = 0
        try:
            act(root)
        except TreeError:
            code = 2
        except KeyboardInterrupt:
            code = 130
        os._exit(code if steps[0] > number else ENDED)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return STOPPED
    return os.WEXITSTATUS(status)


def _install(number: int, mode: str, root: Path) -> list[int]:
    count = [0]

    def step() -> None:
        count[0] += 1
        if count[0] - 1 < number or (count[0] - 1 > number and mode != "read-only"):
            return
        if mode == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if mode == "interrupt":
            raise KeyboardInterrupt
        raise OSError(errno.ENOSPC if mode == "full" else errno.EROFS, "an error that was put here", str(root))

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_CREAT | os.O_WRONLY)
        if event in _EVENTS or writes:
            step()

    real_write = os.write

    def torn_write(descriptor: int, data: memoryview) -> int:
        real = real_write(descriptor, data[: len(data) // 2]) if len(data) > 1 else 0
        step()
        return real or real_write(descriptor, data)

    os.write = torn_write
    os.fsync = lambda _: step()
    sys.addaudithook(hook)
    return count


def once(mode: str, folder: Path, *, applied: bool) -> None:
    """Stop an apply (``applied``: a restore of one) at each step; then end it, repeat it, and restore."""
    number = 0
    while True:
        root = tree(folder)
        if applied:
            apply(root)
        code = stopped_at(number, mode, take_out if applied else apply, root)
        row: dict[str, object] = {"step": number, "code": code, "raw": seen(root)}
        settle(root)
        row["settled"] = seen(root)
        apply(root)
        row["applied"] = seen(root)
        row["bytecode"] = (root / "vllm/__pycache__/toy.cpython-311.pyc").exists()
        take_out(root)
        _report(row, root, folder)
        number += 3 if mode in ("interrupt", "read-only") else 1
        if code == ENDED:
            return


def twice(folder: Path) -> None:
    """Kill an apply, then kill what takes it back; then end it."""
    number, code = 0, STOPPED
    while code == STOPPED:
        again, second = 0, STOPPED
        while second == STOPPED:
            root = tree(folder)
            code = stopped_at(number, "kill", apply, root)
            second = stopped_at(again, "kill", settle, root)
            row: dict[str, object] = {"step": [number, again], "code": second, "raw": seen(root)}
            settle(root)
            row["settled"] = seen(root)
            take_out(root)
            _report(row, root, folder)
            again += 3
        number += 5


def _report(row: dict[str, object], root: Path, folder: Path) -> None:
    row["restored"] = seen(root)
    row["rest"] = sorted(path.name for path in root.iterdir() if path.name.startswith(".preflight"))
    row["cache"] = {file.name: file.read_text() for file in sorted((folder / "cache").iterdir())}
    print(json.dumps(row))


def _silent(sentence: str) -> None:
    """What is said to people is not looked at here."""


def main(mode: str, folder: Path) -> None:
    os.fsync = lambda _: None  # it is for machines that stop, which this does not try
    before = seen(tree(folder))
    root = tree(folder)
    apply(root)
    print(json.dumps({"before": before, "after": seen(root)}))
    if mode == "twice":
        twice(folder)
    elif mode.startswith("restore-"):
        once(mode.removeprefix("restore-"), folder, applied=True)
    else:
        once(mode, folder, applied=False)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]).resolve())
