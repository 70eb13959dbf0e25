"""Byte code that Python takes for a patched file's, and that was made of other source.

Python runs the ``.pyc`` of a source if the source has the size and the time in seconds that the ``.pyc`` names (PEP
3147), or if it is a hash-based one that is not checked (PEP 552). Copying a file with its time kept, or unpacking an
archive, brings both together. The byte code is compared with what the interpreter makes of the source now.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from preflight.checks.effects.ids import STALE
from preflight.model import Fault, Span, Undecided
from preflight.tree.kinds import TreeKind
from preflight.tree.paths import names_in
from preflight.tree.reading import read_bytes

if TYPE_CHECKING:
    from pathlib import Path

    from preflight.checks.context import Context

#: Reads the path of a source and of its byte code, line by line, and says "same", "other" or "foreign" for each pair.
#: Only the interpreter whose byte code it is can read it; it loads code and runs none of it.
_SCRIPT = r"""
import importlib.util, marshal, sys
for line in sys.stdin.buffer:
    source, code = line.rstrip(b"\n").split(b"\0")
    answer = "foreign"
    try:
        with open(code, "rb") as file:
            data = file.read()
        with open(source, "rb") as file:
            text = file.read()
        if data[:4] == importlib.util.MAGIC_NUMBER:
            old = marshal.loads(data[16:])
            level = 2 if b".opt-2." in code else 1 if b".opt-1." in code else 0
            new = compile(text, old.co_filename, "exec", 0, True, level)
            answer = "same" if old == new else "other"
    except Exception:
        pass
    sys.stdout.write(answer + "\n")
    sys.stdout.flush()
"""
_SECONDS = 60


def stale_bytecode(context: Context, paths: Iterable[str]) -> Iterator[Fault | Undecided]:
    """A fault for each patched file of an installed tree whose byte code Python would run, and is of other source."""
    if context.tree.kind is TreeKind.RELEASED:
        return
    pairs = [(path, code) for path in paths for code in _taken(context.tree.root / path)]
    if not pairs:
        return
    answers = _compared(context, [(context.tree.root / path, code) for path, code in pairs])
    for (path, code), answer in zip(pairs, answers, strict=True):
        shown = f"{path.rpartition('/')[0]}/__pycache__/{code.name}"
        if answer == "other":
            yield Fault(
                STALE,
                Span(path),
                f"Python runs {shown} in place of this file, and it was made of other source",
                why="its size and time are those of this file (or it is one that Python never checks), so Python takes "
                "it without a look at the source",
                help=f"delete {shown}",
            )
        elif answer != "same":
            yield Undecided(
                "bytecode-not-compared",
                f"Whether {shown} is of this source is not known: no interpreter that reads it is at hand (--python "
                "FILE names one).",
                path,
            )


def _taken(source: Path) -> Iterator[Path]:
    """The byte code files that Python would run for a source without reading it."""
    import os

    folder = source.parent / "__pycache__"
    for name in names_in(folder):
        if not (name.startswith(f"{source.stem}.") and name.endswith(".pyc")):
            continue
        try:
            status = os.stat(source)  # noqa: PTH116 - of a path that may be gone
            head = read_bytes(folder / name)[:16]
        except OSError:
            continue
        if len(head) < 16:
            continue
        flags = int.from_bytes(head[4:8], "little")
        time, size = (int.from_bytes(head[at : at + 4], "little") for at in (8, 12))
        timely = time == int(status.st_mtime) & 0xFFFFFFFF and size == status.st_size & 0xFFFFFFFF
        if flags == 1 or (flags == 0 and timely):
            yield folder / name


def _compared(context: Context, pairs: list[tuple[Path, Path]]) -> list[str]:
    """What the interpreter of the tree says of each pair; preflight's own where that is not at hand."""
    import subprocess

    interpreter = str(context.tree.interpreter or sys.executable)
    lines = b"".join(bytes(source) + b"\0" + bytes(code) + b"\n" for source, code in pairs)
    try:
        run = subprocess.run(
            [interpreter, "-I", "-S", "-c", _SCRIPT], input=lines, capture_output=True, timeout=_SECONDS, check=False
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return ["foreign"] * len(pairs)
    answers = run.stdout.decode("ascii", "replace").split()
    return [*answers, *["foreign"] * len(pairs)][: len(pairs)]
