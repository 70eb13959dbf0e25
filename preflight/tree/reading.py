"""Reads files that may be anything: devices, pipes, folders, huge, closed, or gone by now."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

#: No source, no patch and no metadata is as large as this.
LIMIT = 128 << 20
#: Without O_NONBLOCK, opening a named pipe would wait for a writer for ever.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_CHUNK = 1 << 20
#: Above this, a file of another size than it should have is not read to see that its content is another, too.
_LARGE = 16 << 20


def read_bytes(path: str | Path, limit: int = LIMIT) -> bytes:
    """The content of a regular file. Raises OSError, with a reason in ``strerror``, for all that is none."""
    chunks: list[bytes] = []
    _feed(path, chunks.append, limit, None)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def feed(path: str | Path, take: Callable[[bytes], object], size: int | None) -> bool:
    """Gives the content of a regular file of any size to ``take``, in pieces. Raises OSError like read_bytes.

    Returns False for a large file that is not of ``size``: it is not read.
    """
    return _feed(path, take, None, size)


def _feed(path: str | Path, take: Callable[[bytes], object], limit: int | None, expected: int | None) -> bool:
    descriptor = os.open(path, _FLAGS)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            what = "it is a folder" if stat.S_ISDIR(status.st_mode) else "it is a device or a pipe, not a file"
            raise OSError(errno.EINVAL, what)
        if limit is not None and status.st_size > limit:
            raise OSError(errno.EFBIG, f"it is {status.st_size >> 20} MiB large; at most {limit >> 20} MiB are read")
        if expected is not None and status.st_size != expected and status.st_size > _LARGE:
            return False
        # Most sources are smaller than one piece: one read gives all, a second one only where there may be more.
        wanted = min(max(status.st_size + 1, 4096), _CHUNK)
        total = 0
        while piece := os.read(descriptor, wanted):
            take(piece)
            total += len(piece)
            if limit is not None and total > limit:
                raise OSError(errno.EFBIG, f"it grows while it is read; at most {limit >> 20} MiB are read")
            if len(piece) < wanted and total >= status.st_size:
                break
        return True
    finally:
        os.close(descriptor)


def reason(error: OSError) -> str:
    """Why a file cannot be read, for a sentence."""
    if error.errno == errno.EACCES:
        return "you have no permission to read it"
    if error.errno == errno.ELOOP:
        return "it is a link that leads in a circle"
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return "it is not there"
    text = error.strerror or str(error)
    return text[:1].lower() + text[1:]
