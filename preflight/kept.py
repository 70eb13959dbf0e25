"""Reports of earlier runs: the same question about files that are all as they were has the answer it had.

A finding about one file hangs on many others, so none is kept by itself: a whole report is, together with everything
that its run looked at (see ``preflight.witness``), and it is taken again only if each of these is still what it was.
Nothing is kept of a run that asked more than files: the package index, git.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from preflight import model
from preflight.model import Report
from preflight.tree.cachedir import cache_folder
from preflight.tree.keeping import Kept, classes_of
from preflight.tree.paths import working_folder
from preflight.witness import Witness, same_still, watching

#: The shape of what is kept.
_VERSION = 1
#: How many reports are kept; the one that was made first goes.
_MOST = 64
#: What a shell sets for itself at every step.
_OF_SHELLS = frozenset({"_", "SHLVL", "OLDPWD"})


class KeptReports:
    """The report of one question, if it is kept.

    ``question``: all that is asked, as text; the environment, the working folder, this Python, who runs it and this
    tool's own code are added here. ``keep`` False: nothing is read and nothing written.
    """

    def __init__(self, question: str, environ: Mapping[str, str], *, keep: bool = True) -> None:
        here = working_folder()
        # Only POSIX has the time of a file's last change that no program can set.
        self._folder = cache_folder(environ) / "reports" if keep and here is not None and os.name == "posix" else None
        self._apart = [os.fspath(cache_folder(environ) / name) for name in ("reports", "facts", "rules")]
        self._name = ""
        if self._folder is not None:
            variables = sorted(item for item in environ.items() if item[0] not in _OF_SHELLS)
            tool = (sys.version, sys.executable, _own_code(), _packages())
            asked = (question, variables, os.fspath(here or ""), _user(), tool)
            self._name = hashlib.blake2b(repr((_VERSION, asked)).encode("utf-8", "backslashreplace")).hexdigest()[:40]
        self._kept = Kept(self._folder, classes_of(model))

    def find(self) -> Report | None:
        """The report of an earlier run, if all that it hangs on is as it was."""
        begun = time.perf_counter()
        found = self._kept.load(self._name)
        try:
            entries, report = found  # type: ignore[misc]
            if not isinstance(report, Report) or not same_still(entries):
                return None
        except (TypeError, ValueError, AttributeError):
            return None
        return replace(report, seconds=time.perf_counter() - begun)

    @contextmanager
    def watched(self) -> Iterator[list[Report]]:
        """Watch the run in the block; the report that it puts into the list is kept."""
        made: list[Report] = []
        if self._folder is None:
            yield made
            return
        with suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)  # before the run looks whether there is a cache
        witness = Witness(self._apart)
        with watching(witness):
            yield made
        entries = witness.entries()
        if made and entries is not None:
            self._kept.store(self._name, (entries, made[-1]))
            _prune(self._folder)


def _user() -> tuple[int, ...]:
    """Whose permissions decide what can be read."""
    return (os.geteuid(), *sorted({os.getegid(), *os.getgroups()}))


def _own_code() -> list[tuple[str, int, int]]:
    """The files of this package and of its rules as they are: a release is not told by its number while it is
    written."""
    found = []
    for at, folders, names in os.walk(Path(__file__).parent):
        folders[:] = [folder for folder in folders if folder != "__pycache__"]
        for name in names:
            with suppress(OSError):
                status = Path(at, name).stat()
                found.append((f"{at}/{name}", status.st_size, status.st_mtime_ns))
    return sorted(found)


def _packages() -> list[tuple[str, int]]:
    """The folders that the libraries of this tool lie in, with the time of the last installation there."""
    found = []
    for folder in sys.path:
        if folder.endswith("-packages"):
            with suppress(OSError):
                found.append((folder, Path(folder).stat().st_mtime_ns))
    return found


def _prune(folder: Path) -> None:
    with suppress(OSError):
        files = sorted(folder.iterdir(), key=lambda file: file.stat().st_mtime)
        for file in files[:-_MOST]:
            file.unlink()
