"""Where a report goes: standard output, or the file of ``-o``, whatever kind of file that is."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TextIO

from preflight.errors import UsageError


class OutputError(UsageError):
    """Standard output takes nothing more, so the reason cannot be told there."""


def write_report(target: str | None, text: str, stream: TextIO) -> None:
    """Write ``text`` to the file ``target`` (``-``: standard output), or to ``stream`` if there is none.

    A regular file is replaced as a whole; a device or a pipe is written to. Raises UsageError when that fails.
    """
    if target is None or target == "-":
        write_text(sys.stdout if target == "-" else stream, text)
        return
    data = text.encode("utf-8", "backslashreplace")
    file = Path(target)
    if not target or file.is_dir():
        raise UsageError(f"-o {target!r} is no file", "name a file for the report")
    if file.exists() and not file.is_file():
        try:
            with file.open("wb", buffering=0) as special:
                special.write(data)
        except OSError as error:
            raise UsageError(f"-o {target} cannot be written: {error.strerror}", "name another file") from error
        return
    from preflight.cli.repair import write_atomically

    write_atomically(file, data)


def write_text(stream: TextIO, text: str) -> None:
    """Write ``text``, even where the stream's encoding cannot show every character of a file's code.

    A reader that has gone (``| head``) has what it wanted, so that is no failure. Raises OutputError for a full disk.
    """
    try:
        try:
            stream.write(text)
        except UnicodeEncodeError:
            encoding = stream.encoding or "ascii"
            stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()
    except BrokenPipeError:
        discard(stream)
    except OSError as error:
        discard(stream)
        raise OutputError(
            f"the output cannot be written: {error.strerror}", "make room, or write it elsewhere with -o FILE"
        ) from error


def discard(stream: TextIO) -> None:
    """Let what is still in the stream's buffer go nowhere, so that Python does not complain of it at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
