"""Where the bytes of a log come from: a file, a compressed one, standard input, a file that is still growing."""

from __future__ import annotations

import os
import stat
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from preflight.errors import PreflightError

_BLOCK = 256 * 1024
_GZIP = b"\x1f\x8b"
_PAUSE = 0.3
#: What is compressed otherwise is refused with the way out: guessing at it would say "nothing found".
REFUSED = {
    b"\x28\xb5\x2f\xfd": ("Zstandard", "zstd -dc"),
    b"BZh91AY&SY": ("bzip2", "bzip2 -dc"),
    b"\xfd7zXZ\x00": ("xz", "xz -dc"),
    b"PK\x03\x04": ("zip", "unzip -p"),
}


class LogUnreadable(PreflightError):
    """The log cannot be read."""


class Log:
    """One log. ``blocks`` may be asked for once; ``notes`` then says what was amiss with it.

    ``name`` is a path, or ``-`` for ``stdin``. With ``follow`` the end of the file is not the end: ``enough()`` is
    asked in every pause, with the seconds since the last byte, and ends it.
    """

    def __init__(self, name: str, stdin: BinaryIO, follow: bool = False) -> None:
        """Opens the file. Raises LogUnreadable."""
        self.notes: list[str] = []
        self._name = name
        self._follow = follow and name != "-"
        self._stream = stdin if name == "-" else _opened(name)

    def blocks(self, enough: Callable[[float], bool] = lambda silence: True) -> Iterator[bytes]:
        """The log's bytes. Raises LogUnreadable when reading fails in the middle."""
        try:
            first = self._read()
        except OSError as error:
            raise self._unreadable(error) from error
        for magic, (kind, command) in REFUSED.items():
            if first.startswith(magic):
                raise LogUnreadable(
                    f"{self._name} is compressed with {kind}, which preflight does not read.",
                    f"Unpack it on the way: `{command} {self._name} | preflight triage -`.",
                )
        blocks = self._raw(first, enough)
        if first.startswith(_GZIP):
            blocks = self._gunzipped(blocks)
        elif first.startswith((b"\xff\xfe", b"\xfe\xff")):
            # PowerShell's `>` writes UTF-16.
            blocks = _from_utf16(blocks)
        try:
            yield from blocks
        except OSError as error:
            raise self._unreadable(error) from error

    def close(self) -> None:
        """Closes the file; standard input is not ours to close."""
        if self._name != "-":
            self._stream.close()

    def _read(self) -> bytes:
        """What is there now: a pipe whose writer takes its time must not be waited for until a whole block is full."""
        read = getattr(self._stream, "read1", self._stream.read)
        return read(_BLOCK)

    def _raw(self, first: bytes, enough: Callable[[float], bool]) -> Iterator[bytes]:
        data = first
        heard = time.monotonic()
        while True:
            if data:
                heard = time.monotonic()
                yield data
            elif not self._follow or enough(time.monotonic() - heard):
                return
            elif self._was_replaced():
                self._stream.close()
                self._stream = _opened(self._name)
                self.notes.append(
                    "The log was replaced or cut off while it was followed; reading went on with the new one."
                )
            else:
                time.sleep(_PAUSE)
            data = self._read()

    def _was_replaced(self) -> bool:
        """A rotated log is another file under the same name; one that was cut off is shorter than what was read."""
        try:
            now, held = Path(self._name).stat(), os.fstat(self._stream.fileno())
        except OSError:
            return False
        return (now.st_ino, now.st_dev) != (held.st_ino, held.st_dev) or now.st_size < self._stream.tell()

    def _gunzipped(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        """What can be unpacked, up to where the data end or are damaged."""
        unpacker = zlib.decompressobj(wbits=31)
        complete = True
        try:
            for block in blocks:
                while block:
                    data = unpacker.decompress(block, _BLOCK)
                    complete = False
                    if data:
                        yield data
                    if unpacker.eof:
                        complete = True
                        # Logs that were appended to each other are one archive behind the other; padding is nothing.
                        block = unpacker.unused_data.lstrip(b"\0")
                        unpacker = zlib.decompressobj(wbits=31)
                    else:
                        block = unpacker.unconsumed_tail
        except zlib.error as error:
            self.notes.append(f"The gzip data are damaged ({error}); what could be unpacked before that was read.")
            return
        if not complete:
            self.notes.append("The gzip data are cut off; what there was of them was read.")

    def _unreadable(self, error: OSError) -> LogUnreadable:
        return LogUnreadable(
            f"{self._name} cannot be read: {error.strerror or error}.",
            "Give the path of a log file, or `-` for standard input.",
        )


def _opened(name: str) -> BinaryIO:
    help = "Give the path of a log file, or `-` for standard input."
    if not name or "\0" in name:
        raise LogUnreadable(f"{name!r} is no path.", help)
    path = Path(name)
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise LogUnreadable(
                f"{name} is a folder, not a log.", f"Give one file, or all: `cat {name}/*.log | preflight triage -`."
            )
        return path.open("rb", buffering=0)  # blocks are large, and a growing file must not be read ahead
    except OSError as error:
        raise LogUnreadable(f"{name} cannot be read: {error.strerror or error}.", help) from error


def _from_utf16(blocks: Iterator[bytes]) -> Iterator[bytes]:
    from codecs import getincrementaldecoder

    decoder = getincrementaldecoder("utf-16")("replace")
    for block in blocks:
        yield decoder.decode(block).encode("utf-8", "replace")
    yield decoder.decode(b"", final=True).encode("utf-8", "replace")
