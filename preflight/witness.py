"""What a run asked the file system, so that a later one can tell whether the answers are still the same.

A witness stands beside everything that looks at files, whichever room it is in: while it watches, the functions of
``os`` and ``io`` through which Python code looks at the file system note the path and what was there. A stamp is what
git's index goes by: kind, place, size and times of a file. A content can only change without one of them within a tick
of the file system's clock, so what was young when it was seen has the hash of its content beside the stamp.
"""

from __future__ import annotations

import builtins
import hashlib
import io
import os
import pathlib
import shutil  # noqa: F401 - compares functions of os when it is imported: it must see the real ones
import stat
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from preflight.tree.reading import read_bytes

#: What was looked at: a path, links followed; a path, links not followed; the names in a folder.
STAT, LSTAT, NAMES = "stat", "lstat", "names"

Stamp = tuple[int, ...]
#: A question, the stamp of its answer, and the hash of what was young then.
Entry = tuple[str, str, Stamp, bytes | None]

#: Seconds: no file system's clock ticks more slowly.
_YOUNG = 3.0
#: Bytes: a young file above this is not hashed.
_LARGE = 64 << 20
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
#: Events after which it is not known what the run hangs on.
_BEYOND = frozenset({"os.system", "os.exec", "os.spawn", "os.forkpty", "socket.connect", "socket.getaddrinfo"})
_stat, _lstat = os.stat, os.lstat


class Witness:
    """One run's questions. ``apart``: folders whose content the outcome does not hang on (the caches of this tool)."""

    def __init__(self, apart: Iterable[str] = ()) -> None:
        self._apart = tuple(folder.rstrip(os.sep) + os.sep for folder in apart)
        self._seen: dict[tuple[str, str], Stamp] = {}
        self._begun = time.time()
        #: why the outcome may hang on more than was seen; None while it does not
        self.beyond: str | None = None

    def saw(self, kind: str, path: object, stamp: Stamp | None = None) -> None:
        """Note a question; ``stamp``, if it is known, is its answer. A number is an open file, whose path was noted
        when it was opened."""
        if not isinstance(path, (str, bytes, os.PathLike)):
            return
        text = os.fsdecode(path)
        if not text.startswith(os.sep):
            text = os.path.join(os.getcwd(), text)  # noqa: PTH109, PTH118 - as the system takes it, `..` and all
        if (text + os.sep).startswith(self._apart):
            return
        found = stamp if stamp is not None else stamp_of(kind, text)
        if self._seen.setdefault((kind, text), found) != found:
            self.beyond = f"{text} changed while it was looked at"

    def entries(self) -> tuple[Entry, ...] | None:
        """What was seen; None if the outcome may hang on more than that, or something is not any more what it was."""
        entries: list[Entry] = []
        for (kind, path), stamp in self._seen.items():
            if self.beyond is not None or stamp_of(kind, path) != stamp:
                return None
            digest = None
            if len(stamp) == len(_TIMED) and stamp[-1] / 1e9 > self._begun - _YOUNG:
                digest = _digest(kind, path, stamp)
                if digest is None:
                    return None
            entries.append((kind, path, stamp, digest))
        return tuple(entries)


#: The fields of a stamp with times; the changing of a file's content, mode, owner or name sets the last one.
_TIMED = ("st_mode", "st_uid", "st_gid", "st_dev", "st_ino", "st_size", "st_mtime_ns", "st_ctime_ns")


def stamp_of(kind: str, path: str) -> Stamp:
    """The stamp of what is at ``path``: a number of the system's error where nothing can be seen."""
    try:
        status = _lstat(path) if kind == LSTAT else _stat(path)
    except OSError as error:
        return (error.errno or 0,)
    except ValueError:
        return (0,)
    return _stamp(kind, status)


def _stamp(kind: str, status: os.stat_result) -> Stamp:
    plain = (status.st_mode, status.st_uid, status.st_gid, status.st_dev, status.st_ino)
    if stat.S_ISDIR(status.st_mode) and kind != NAMES:
        return plain  # its size and times are those of the names in it
    return (*plain, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def same_still(entries: Iterable[Entry]) -> bool:
    """Whether every question would be answered as it was."""
    return all(
        stamp_of(kind, path) == stamp and (digest is None or _digest(kind, path, stamp) == digest)
        for kind, path, stamp, digest in entries
    )


def _digest(kind: str, path: str, stamp: Stamp) -> bytes | None:
    """The hash of a content; None where it cannot be had."""
    try:
        if kind == NAMES:
            data = os.fsencode("\0".join(sorted(os.listdir(path))))  # noqa: PTH208 - names are wanted
        elif not stat.S_ISREG(stamp[0]):
            data = os.fsencode(os.readlink(path)) if stat.S_ISLNK(stamp[0]) else b""  # noqa: PTH115 - a text is wanted
        else:
            data = read_bytes(path, _LARGE)
    except OSError:
        return None
    return hashlib.blake2b(data, digest_size=16).digest()


_Function = TypeVar("_Function", bound=Callable[..., Any])
_watching: list[Witness] = []
_hooked: list[bool] = []


@contextmanager
def watching(witness: Witness) -> Iterator[Witness]:
    """Let ``witness`` see what this process asks the file system for while the block runs."""
    if not _hooked:
        sys.addaudithook(_heard)  # it stays for the life of the process, and hears nothing when nobody watches
        _hooked.append(True)
    real = [(owner, name, getattr(owner, name), stand_in) for owner, name, stand_in in _watched()]
    _watching.append(witness)
    try:
        for owner, name, function, stand_in in real:
            seeing = stand_in(witness, function)
            setattr(owner, name, staticmethod(seeing) if isinstance(owner, type) else seeing)
        yield witness
    finally:
        _watching.remove(witness)
        for owner, name, function, _ in real:
            setattr(owner, name, function)


def _heard(event: str, arguments: tuple[Any, ...]) -> None:
    if event in ("subprocess.Popen", "os.posix_spawn"):
        for witness in _watching:
            _started(witness, os.fsdecode(arguments[0]))
    elif event in _BEYOND:
        for witness in _watching:
            witness.beyond = f"it asked beyond the file system ({event})"


def _started(witness: Witness, program: str) -> None:
    """An interpreter that is asked what it can compile hangs on itself; of any other program it is not known what it
    reads.
    """
    folder, _, name = program.rpartition(os.sep)
    if folder.startswith(os.sep) and name.startswith(("python", "pypy")):
        witness.saw(STAT, program)
    else:
        witness.beyond = f"it asked a program ({program})"


def _watched() -> Iterator[tuple[Any, str, Callable[[Witness, Any], Any]]]:
    """The functions through which Python code looks at the file system, and what makes a stand-in for each."""
    # pathlib of Python 3.10 took functions of os and io for its own when it was imported
    accessor = getattr(pathlib, "_NormalAccessor", None)
    for owner in (os, *([accessor] if accessor is not None else [])):
        yield owner, "stat", _of_stat
        yield owner, "listdir", _of_names
        yield owner, "scandir", _of_names
    yield os, "lstat", partial(_noting, LSTAT)
    yield os, "readlink", partial(_noting, LSTAT)
    yield os, "access", partial(_noting, STAT)
    yield os, "open", _of_open
    for owner in (io, builtins, *([accessor] if accessor is not None else [])):
        yield owner, "open", _of_file


def _of_stat(witness: Witness, real: Callable[..., os.stat_result]) -> Callable[..., os.stat_result]:
    def stat(path: object, *, follow_symlinks: bool = True, **options: object) -> os.stat_result:
        kind = STAT if follow_symlinks else LSTAT
        try:
            status = real(path, follow_symlinks=follow_symlinks, **options)
        except (OSError, ValueError):
            witness.saw(kind, path)
            raise
        witness.saw(kind, path, _stamp(kind, status))
        return status

    return stat


def _of_names(witness: Witness, real: Callable[..., object]) -> Callable[..., object]:
    seen = _noting(NAMES, witness, real)
    return lambda path=".": seen("." if path is None else path)


def _noting(kind: str, witness: Witness, real: _Function) -> _Function:
    def looked(path: object, *arguments: object, **options: object) -> object:
        witness.saw(kind, path)
        return real(path, *arguments, **options)

    return looked  # type: ignore[return-value]


def _of_open(witness: Witness, real: Callable[..., int]) -> Callable[..., int]:
    def opened(path: object, flags: int, *arguments: object, **options: object) -> int:
        if not flags & _WRITES:
            witness.saw(STAT, path)
        return real(path, flags, *arguments, **options)

    return opened


def _of_file(witness: Witness, real: Callable[..., object]) -> Callable[..., object]:
    def opened(file: object, mode: str = "r", *arguments: object, **options: object) -> object:
        if "r" in mode and "+" not in mode:
            witness.saw(STAT, file)
        return real(file, mode, *arguments, **options)

    return opened
