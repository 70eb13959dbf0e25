"""What is at a path of a tree: a file, a symbolic link, or nothing."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from preflight.tree.reading import read_bytes


class Kind(str, Enum):
    """The three things that can be at a path; a folder or a device there is an error."""

    FILE = "file"
    LINK = "link"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class State:
    """What is at a path. ``digest`` is the sha256 of a file, ``target`` what a link leads to, as it is written.

    ``mtime`` (nanoseconds) is that of the content that Python would read, so a link's is that of the file behind it.
    """

    kind: Kind
    digest: str | None = None
    target: str | None = None
    mode: int | None = None
    mtime: int | None = None

    def same_content(self, other: State) -> bool:
        """True if a reader sees no difference; mode and time are left aside."""
        return (self.kind, self.digest, self.target) == (other.kind, other.digest, other.target)


ABSENT = State(Kind.ABSENT)


def state_of(file: Path) -> State:
    """What is at ``file`` itself: a link is not followed. Raises OSError for what is neither file nor link, and for
    what cannot be read."""
    try:
        status = os.lstat(file)
    except FileNotFoundError:
        return ABSENT
    if stat.S_ISLNK(status.st_mode):
        try:
            mtime = file.stat().st_mtime_ns
        except OSError:  # a link that leads nowhere
            mtime = status.st_mtime_ns
        return State(Kind.LINK, target=os.readlink(file), mtime=mtime)  # noqa: PTH115 - as it is written
    if not stat.S_ISREG(status.st_mode):
        what = "it is a folder" if stat.S_ISDIR(status.st_mode) else "it is a device or a pipe, not a file"
        raise OSError(errno.EINVAL, what, os.fspath(file))
    return State(Kind.FILE, digest_of(read_bytes(file)), None, stat.S_IMODE(status.st_mode), status.st_mtime_ns)


def digest_of(data: bytes) -> str:
    """The sha256 of ``data``, in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()
