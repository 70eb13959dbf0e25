"""Where fetched releases are kept, and whether one is there and whole.

A release lies in ``releases/NAME-VERSION``, put there by one rename after each of its files was checked; what is known
about it beside its files is in ``releases/NAME-VERSION.json``. All files get one fixed time: one that has another was
written to since, and is checked again.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from preflight.errors import FetchError
from preflight.tree.cachedir import cache_folder
from preflight.tree.distinfo import distributions, normalized
from preflight.tree.patched import matches
from preflight.tree.paths import is_folder, names_in
from preflight.tree.reading import read_bytes
from preflight.tree.record import Entry, read_record

#: The time that files of a release are given (2000-01-01).
STAMP = 946684800
_HELP = "Name another cache folder: PREFLIGHT_CACHE=/path/to/folder."


def releases_folder() -> Path:
    """Where releases are kept."""
    return cache_folder(os.environ) / "releases"


def cached_release(name: str, version: str) -> Path | None:
    """The folder of a release that is in the cache; None if it is not. No network is used, nothing is checked."""
    folder = releases_folder() / f"{normalized(name)}-{version}"
    return folder if version and not set(version) & set("/\\\0") and is_folder(folder) else None


def cached_versions(name: str) -> list[str]:
    """The versions of a project that are in the cache."""
    start = f"{normalized(name)}-"
    folder = releases_folder()
    return [n[len(start) :] for n in names_in(folder) if n.startswith(start) and is_folder(folder / n)]


def cached_around(name: str, version: str | None) -> tuple[list[str], list[str]]:
    """The versions in the cache before ``version`` and behind it, the nearest first; none beside a version that is not
    known, or among others that are no versions.
    """
    from packaging.version import InvalidVersion, Version

    try:
        here = Version(version or "").release
        known = sorted((Version(other), other) for other in cached_versions(name))
    except InvalidVersion:
        return [], []
    older = [other for number, other in reversed(known) if number.release < here]
    return older, [other for number, other in known if number.release > here]


def is_source(path: str) -> bool:
    """True for the members of a wheel that a released tree consists of."""
    return path.endswith((".py", ".pyi")) or path.split("/")[0].endswith(".dist-info")


def is_whole(folder: Path, name: str, *, every_byte: bool = False) -> bool:
    """True if a kept release has all its sources as they were put there. Files that still have their time and size
    are not read, unless ``every_byte``."""
    found = distributions(folder, name)
    if len(found) != 1:
        return False
    try:
        record = read_record(found[0].record)
    except Exception as error:
        if isinstance(error, MemoryError):
            raise
        return False
    base = os.fspath(folder) + os.sep
    return all(
        _is_kept(base + path, entry, every_byte)
        for path, entry in record.entries.items()
        if is_source(path) and entry.digest
    )


def _is_kept(file: str, entry: Entry, every_byte: bool) -> bool:
    try:
        status = os.stat(file)  # noqa: PTH116 - no Path for each of 5,000 files
        if not every_byte and int(status.st_mtime) == STAMP and status.st_size == entry.size:
            return True
        return matches(entry, read_bytes(file))
    except OSError:
        return False


def facts_of(folder: Path) -> dict[str, Any]:
    """What was written down about a kept release; empty if nothing was, or it cannot be read."""
    import json

    try:
        facts = json.loads(read_bytes(_facts_file(folder)))
    except (OSError, ValueError, RecursionError):
        return {}
    return facts if isinstance(facts, dict) else {}


def note_facts(folder: Path, facts: Mapping[str, Any]) -> None:
    """Adds to what is written down about a release. A cache that cannot be written to only costs time later."""
    import json

    file = _facts_file(folder)
    part = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        part.write_text(json.dumps({**facts_of(folder), **facts}, indent=1, sort_keys=True) + "\n")
        part.replace(file)
    except OSError:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


@contextlib.contextmanager
def locked(name: str) -> Iterator[Path]:
    """Holds the lock of one release, waiting for another preflight that fetches it; gives the folder for its parts.

    The lock goes with the process, however it ends. Raises FetchError when the cache cannot be written to.
    """
    folder = releases_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = os.open(folder / f".{name}.lock", os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666)
    except OSError as error:
        raise not_writable(error) from None
    try:
        yield folder / (f".{name}.part" if _lock(file) else f".{name}.part-{os.getpid()}")
    finally:
        os.close(file)


def not_writable(error: OSError) -> FetchError:
    """The sentence for a cache that cannot be written to."""
    folder = releases_folder()
    if error.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)):
        return FetchError(f"There is no room for a release in the cache folder {folder}.", f"Make room there. {_HELP}")
    return FetchError(f"The cache folder {folder} cannot be written to: {error.strerror}.", _HELP)


def _lock(file: int) -> bool:
    """Waits for the lock of an open file; False on a file system that has no locks."""
    try:
        if os.name == "nt":
            import msvcrt

            while True:
                try:
                    msvcrt.locking(file, msvcrt.LK_LOCK, 1)  # gives up after ten seconds
                    return True
                except OSError as error:
                    if error.errno != errno.EDEADLK:
                        raise
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX)
        return True
    except OSError:
        return False


def _facts_file(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.json")
