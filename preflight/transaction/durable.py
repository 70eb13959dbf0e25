"""Files that are there whole or not at all, and stay when the machine stops: write, fsync, rename, fsync the folder."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


def write_new(
    file: Path, data: bytes, mode: int, *, mtime: int | None = None, like: os.stat_result | None = None
) -> None:
    """Write a file that is not there yet, with its mode, time and the owner of ``like``. Raises OSError; what was
    written until then is the caller's to remove.

    An owner that cannot be given is left: it takes root, and a file that its folder's owner may read is what matters.
    """
    descriptor = os.open(file, _NEW, 0o600)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        if like is not None and (like.st_uid, like.st_gid) != (os.geteuid(), os.getegid()):
            with contextlib.suppress(PermissionError):
                os.fchown(descriptor, like.st_uid, like.st_gid)
        os.fchmod(descriptor, mode)
        if mtime is not None:
            os.utime(descriptor, ns=(mtime, mtime))
        os.fsync(descriptor)
    except OSError as error:
        error.filename = error.filename if isinstance(error.filename, str) else os.fspath(file)
        raise
    finally:
        os.close(descriptor)


def write_whole(file: Path, data: bytes, mode: int = 0o644) -> None:
    """Replace ``file`` by ``data`` in one step. Raises OSError, with the file as it was."""
    part = prepare(file, data, mode)
    part.replace(file)
    sync_folder(file.parent)


def prepare(file: Path, data: bytes, mode: int = 0o644) -> Path:
    """The file beside ``file`` that needs only to be renamed to it. Raises OSError and leaves none."""
    part = file.with_name(f"{file.name}.new")
    part.unlink(missing_ok=True)  # of one that was killed here
    try:
        write_new(part, data, mode)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise
    return part


def sync_folder(folder: Path) -> None:
    """Let the names in ``folder`` reach the disk. A file system that cannot do that for folders does it by itself."""
    descriptor = os.open(folder, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    try:
        with contextlib.suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
