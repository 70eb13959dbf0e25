"""Byte code that must not outlive its source.

Python takes a ``.pyc`` for its source's if the source's size and its time in whole seconds are those that the file
names (``importlib._bootstrap_external``, PEP 3147), and one that is "unchecked" (PEP 552) without looking at all. So a
file that is replaced loses its ``.pyc`` files, and its new content has another second: that holds also for a ``.pyc``
that is written by a process which read the old source just before, or that lies elsewhere (PYTHONPYCACHEPREFIX).
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from preflight.tree.paths import names_in

_SECOND = 10**9


def forget_bytecode(file: Path) -> None:
    """Remove the byte code of the source ``file``. Raises OSError if it cannot be removed.

    A ``__pycache__`` that is a link belongs to somebody else: there the times have to do.
    """
    folder = file.parent / "__pycache__"
    if file.suffix != ".py" or folder.is_symlink():
        return
    names = [name for name in names_in(folder) if name.startswith(f"{file.stem}.") and name.endswith(".pyc")]
    for name in names:
        (folder / name).unlink(missing_ok=True)
    if names:
        with contextlib.suppress(OSError):  # byte code of others is in it
            folder.rmdir()


def other_second(wanted: int, before: int | None) -> int:
    """``wanted`` (nanoseconds), or one second later if that is the second of ``before``."""
    return wanted + _SECOND if before is not None and wanted // _SECOND == before // _SECOND else wanted
