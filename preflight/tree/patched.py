"""The patched set: which files of a tree are not what the release has.

The knowledge is RECORD's: it carries a hash for every file of the release. All files that it names are compared, links
are followed as Python would follow them, and nothing that RECORD names outside the tree is ever opened.
"""

from __future__ import annotations

import binascii
import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from preflight.model import FileState, Undecided
from preflight.tree.kinds import counted
from preflight.tree.paths import exists
from preflight.tree.reading import feed
from preflight.tree.record import Entry, Record, climbs_out_of, is_compiled
from preflight.tree.scan import Listing

#: Compiled modules above this size are compared by size: hashing a whole release of them takes seconds.
_HASHED_MODULE = 4 << 20
#: site-packages is three folders below its environment (lib/pythonX.Y/site-packages).
_DEPTH = 3


@dataclass(frozen=True, slots=True)
class Comparison:
    """What the comparison found: the files that differ, with sentences about how it was done."""

    states: dict[str, FileState]
    notes: tuple[str, ...] = ()
    undecided: tuple[Undecided, ...] = ()
    absent: frozenset[str] = frozenset()  #: what a sources-only tree leaves out of the release


def compare(root: Path, package: str, listing: Listing, record: Record, *, whole_tree: bool = False) -> Comparison:
    """Compares the files of ``root`` with ``record``; ``listing`` is what is under ``root/package``.

    A file that cannot be read counts as modified (reading it says why), one that vanishes meanwhile as missing.
    """
    states: dict[str, FileState] = {}
    present = set(listing.files).difference(listing.dead)
    closed = tuple(folder + "/" for folder, _ in listing.closed)
    inside = package + "/"
    base = os.fspath(root) + os.sep
    digests = _Digests()
    sources_only = _sources_only(record, present, root, inside)
    absent: set[str] = set()
    by_size = 0
    for path, entry in record.entries.items():
        if "/__pycache__/" in path or (entry.digest is None and (path.endswith(".pyc") or ".dist-info/" in path)):
            continue  # written at install: byte code, INSTALLER, RECORD itself
        if path.startswith(inside) and path not in present and not (closed and path.startswith(closed)):
            if sources_only and not path.endswith(".py"):
                absent.add(path)
            else:
                states[path] = FileState.MODIFIED if path in listing.dead else FileState.MISSING
            continue
        try:
            if is_compiled(path) and not whole_tree and entry.size is not None and entry.size > _HASHED_MODULE:
                by_size += 1
                same = os.stat(base + path).st_size == entry.size  # noqa: PTH116 - no Path for each of 5,000 files
            else:
                same = digests.same(base + path, entry)
        except (FileNotFoundError, NotADirectoryError):
            states[path] = FileState.MISSING
        except OSError:
            states[path] = FileState.MODIFIED
        else:
            if not same:
                states[path] = FileState.MODIFIED
    for path in listing.files:
        if path.endswith(".py") and path not in record.entries and is_source_name(path) and path not in states:
            states[path] = FileState.ADDED
    return Comparison(
        dict(sorted(states.items())),
        tuple(_notes(sources_only, by_size)),
        (*digests.undecided(record), *_outside(record), *unseen(listing)),
        frozenset(absent),
    )


def is_source_name(path: str) -> bool:
    """False for names that no import can reach: an editor's locks and a file system's attributes (``._x.py``)."""
    return not path.rpartition("/")[2].startswith(".")


class _Digests:
    """Compares files with RECORD's hashes, and remembers what RECORD does not allow to compare."""

    def __init__(self) -> None:
        self._unknown: dict[str, tuple[str, int]] = {}
        self._unhashed: list[str] = []

    def same(self, file: str, entry: Entry) -> bool:
        if entry.algorithm is None or entry.digest is None:
            if entry.path.endswith(".py"):
                self._unhashed.append(entry.path)
            return entry.size is None or os.stat(file).st_size == entry.size  # noqa: PTH116
        try:
            state = hashlib.sha256() if entry.algorithm == "sha256" else hashlib.new(entry.algorithm)
            if state.digest_size == 0:
                raise ValueError
        except ValueError:
            name, count = self._unknown.get(entry.algorithm, (entry.path, 0))
            self._unknown[entry.algorithm] = (name, count + 1)
            return True
        return feed(file, state.update, entry.size) and _encoded(state.digest()) == entry.digest.rstrip("=")

    def undecided(self, record: Record) -> list[Undecided]:
        found = [
            Undecided(
                "record-hash-unknown",
                f"{record.file} hashes {count} files with {algorithm!r}, which this Python cannot compute: "
                "whether they are patched is not known.",
                path,
                count=count,
                decisive=True,
            )
            for algorithm, (path, count) in self._unknown.items()
        ]
        if self._unhashed:
            found.append(
                Undecided(
                    "record-without-hash",
                    f"{record.file} has no hash for {len(self._unhashed)} Python files: whether they are patched is "
                    "not known.",
                    self._unhashed[0],
                    count=len(self._unhashed),
                    decisive=True,
                )
            )
        return found


def matches(entry: Entry, data: bytes) -> bool:
    """True if ``data`` has the hash that ``entry`` gives."""
    if entry.algorithm is None or entry.digest is None or entry.algorithm not in hashlib.algorithms_available:
        return False
    return _encoded(hashlib.new(entry.algorithm, data).digest()) == entry.digest.rstrip("=")


def _encoded(digest: bytes) -> str:
    """A digest as RECORD writes it."""
    return binascii.b2a_base64(digest, newline=False).translate(_URLSAFE, b"=").decode()


_URLSAFE = bytes.maketrans(b"+/", b"-_")


def _sources_only(record: Record, present: set[str], root: Path, inside: str) -> bool:
    """True for a tree that has the release's Python sources and none of its compiled modules and data files."""
    others = [
        path
        for path in record.entries
        if not path.endswith((".py", ".pyi", ".pyc")) and ".dist-info/" not in path and "__pycache__" not in path
    ]
    if not any(map(is_compiled, others)):
        return False
    return not any(path in present if path.startswith(inside) else exists(root / path) for path in others)


def _notes(sources_only: bool, by_size: int) -> list[str]:
    notes = []
    if sources_only:
        notes.append(
            "The tree holds the release's Python sources only: its compiled modules and data files are not there, "
            "and that is not taken for a patch."
        )
    elif by_size:
        notes.append(
            f"{counted(by_size, 'compiled module')} larger than {_HASHED_MODULE >> 20} MiB compared by size, not by "
            "hash (--all hashes all)."
        )
    return notes


def _outside(record: Record) -> list[Undecided]:
    far = [entry for entry in record.outside if climbs_out_of(entry, _DEPTH)]
    if not far:
        return []
    return [
        Undecided(
            "record-outside-tree",
            f"{record.file}, line {far[0].line}: names {far[0].path}, which is outside the environment; "
            "such files are not opened.",
            count=len(far),
        )
    ]


def unseen(listing: Listing) -> list[Undecided]:
    """The folders whose files are not known."""
    found = [
        Undecided("folder-loop", f"{path} is a link to a folder that it is in: it is not followed.", path)
        for path in listing.loops
    ]
    found += [
        Undecided(
            "folder-unreadable",
            f"The folder {path} cannot be listed ({why}): files that were added to it are not seen.",
            path,
            decisive=True,
        )
        for path, why in listing.closed
    ]
    return found
