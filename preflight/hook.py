"""Git's pre-commit hook for those who do not use pre-commit: a script that checks what is staged."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from preflight.errors import TreeError, UsageError
from preflight.tree.git import Repository, repository_of
from preflight.tree.reading import read_bytes

_NAME = "pre-commit"
#: The second line of a hook that we wrote; what stands in the rest of it may change.
_MARK = b"# Written by `preflight install-hook`"
#: The status by which the interpreter says that it has no preflight (any more). ``-c`` puts the current folder, a
#: repository that may hold anything, in front of the modules: it is taken away.
_NO_PREFLIGHT = 97
_START = f"""\
import sys
sys.path[:] = [folder for folder in sys.path if folder]
try:
    from preflight.cli import command
except ModuleNotFoundError as error:
    sys.exit({_NO_PREFLIGHT} if error.name == "preflight" else f"preflight: {{error}}")
command()
"""
_SCRIPT = """\
#!/bin/sh
{mark}: checks the vLLM patches that are staged.
# To be rid of it, remove this file. To commit once without it: git commit --no-verify
interpreter={interpreter}
start={start}
{move}status={missing}
if [ -x "$interpreter" ]; then
    "$interpreter" -c "$start" check --staged --quiet
    status=$?
fi
if [ "$status" -eq {missing} ]; then
    if ! command -v preflight >/dev/null 2>&1; then
        echo "preflight: $interpreter has no preflight, and none is on PATH: nothing was checked." >&2
        echo "  help: run \\`preflight install-hook\\` again, or commit with --no-verify" >&2
        exit 1
    fi
    preflight check --staged --quiet
    status=$?
fi
if [ "$status" -ne 0 ]; then
    echo "preflight: the commit is stopped (git commit --no-verify makes it nevertheless)" >&2
fi
exit "$status"
"""

#: Git runs a hook at the top of the work tree, and what it says of its index and its folder may be relative to that.
_MOVE = """\
case "${{GIT_INDEX_FILE:-/}}" in /*) ;; *) export GIT_INDEX_FILE="$PWD/$GIT_INDEX_FILE" ;; esac
case "${{GIT_DIR:-/}}" in /*) ;; *) export GIT_DIR="$PWD/$GIT_DIR" ;; esac
if [ -n "${{GIT_DIR:-}}" ]; then export GIT_WORK_TREE="${{GIT_WORK_TREE:-$PWD}}"; fi
cd {folder} || exit 1
"""


@dataclass(frozen=True, slots=True)
class Installed:
    """A hook that is there. ``written`` is False if it was there before; ``backup`` is the hook that it replaced."""

    file: Path
    written: bool
    backup: Path | None = None


def install_hook(
    folder: Path, config: Path | None, interpreter: str, environ: Mapping[str, str], *, force: bool
) -> Installed:
    """Write the hook of the repository that ``folder`` is in.

    ``config`` is the configuration file that holds in ``folder``: the hook runs where it is. ``interpreter`` runs
    preflight. Raises UsageError for a hook of somebody else (unless ``force``), TreeError for what cannot be written.
    """
    repository = repository_of(folder, environ)
    if repository is None:
        raise UsageError(f"{folder} is in no git repository.", "Run it in the repository of the patches.")
    hooks = repository.hooks()
    if repository.shares_hooks() and not force:
        raise UsageError(
            f"core.hooksPath is {hooks} for all your repositories: a hook there would run in each of them.",
            "Set it for this repository (`git config core.hooksPath .githooks`), or write it there with --force.",
        )
    file = hooks / _NAME
    script = _script(_folder(repository, config), interpreter)
    try:
        found = _content(file)
        if found == script and not file.is_symlink() and os.access(file, os.X_OK):
            return Installed(file, written=False)
        foreign = found is not None and not found.partition(b"\n")[2].startswith(_MARK)
        if foreign and not force:
            raise UsageError(
                f"{file} is a hook that preflight did not write.",
                "Call `preflight check --staged --quiet` in it, or replace it with --force; it is kept beside it then.",
            )
        hooks.mkdir(parents=True, exist_ok=True)
        backup = _kept(file) if foreign else None
        _replace(file, script)
    except OSError as error:
        raise TreeError(
            f"{error.filename or file} cannot be used: {error.strerror or error}.", "Set that right."
        ) from error
    return Installed(file, written=True, backup=backup)


def _content(file: Path) -> bytes | None:
    """What is in a hook; nothing where it is a link that leads nowhere, None where there is none."""
    try:
        return read_bytes(file)
    except FileNotFoundError:
        return b"" if file.is_symlink() else None


def _script(folder: str | None, interpreter: str) -> bytes:
    from shlex import quote

    text = _SCRIPT.format(
        mark=_MARK.decode(),
        interpreter=quote(interpreter),
        start=quote(_START),
        move=_MOVE.format(folder=quote(folder)) if folder is not None else "",
        missing=_NO_PREFLIGHT,
    )
    return os.fsencode(text)


def _folder(repository: Repository, config: Path | None) -> str | None:
    """The folder whose configuration holds, from the top of the work tree; None for the top itself."""
    top = Path(os.path.realpath(repository.top))
    place = Path(os.path.realpath(config.parent)) if config is not None else top
    return f"./{place.relative_to(top).as_posix()}" if place.is_relative_to(top) and place != top else None


def _kept(file: Path) -> Path:
    """A second name for the hook of somebody else, which stays when the first is replaced."""
    names = [f"{file.name}.before-preflight", *(f"{file.name}.before-preflight-{n}" for n in range(2, 100))]
    for name in names:
        backup = file.with_name(name)
        if not os.path.lexists(backup):
            if file.is_symlink():
                backup.symlink_to(os.readlink(file))  # noqa: PTH115 - as it is written
            else:
                shutil.copy2(file, backup)
            return backup
    raise UsageError(f"{file.parent} holds {len(names)} hooks that were replaced already.", "Remove those not needed.")


def _replace(file: Path, script: bytes) -> None:
    part = file.with_name(f".{file.name}.preflight-{os.getpid()}")
    try:
        part.write_bytes(script)
        part.chmod(0o755)
        part.replace(file)
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
