"""What a tree's files are compared with, and what the release has in a file, where that is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from preflight.tree.kinds import PACKAGE
from preflight.tree.patched import Comparison, matches
from preflight.tree.paths import is_file
from preflight.tree.reading import read_bytes
from preflight.tree.record import Record


class Reference(Protocol):
    """A reference that a tree was compared with."""

    def content(self, path: str) -> bytes | None:
        """The pristine bytes of a file of the tree; None if the reference has no such file or cannot give it."""

    def has(self, path: str) -> bool:
        """Whether the reference has such a file."""


@dataclass(frozen=True, slots=True)
class Basis:
    """The outcome of a comparison. ``layer`` is what git's index has where the work tree has something else;
    ``by_git`` says that the git options were used up on the tree itself."""

    comparison: Comparison
    reference: Reference | None = None
    record: Record | None = None
    layer: Mapping[str, bytes | None] = field(default_factory=dict)
    by_git: bool = False


@dataclass(frozen=True, slots=True)
class RecordReference:
    """The tree's own RECORD. A file that did not differ has the release's content on disk; of the others the content
    is known only if the same release is in preflight's cache."""

    root: Path
    record: Record
    differing: Mapping[str, object]
    version: str | None

    def has(self, path: str) -> bool:
        return path in self.record.entries

    def content(self, path: str) -> bytes | None:
        if path not in self.record.entries:
            return None
        if path not in self.differing:
            return _read(self.root / path)
        from preflight.tree.cache import cached_release

        folder = cached_release(PACKAGE, self.version) if self.version is not None else None
        data = _read(folder / path) if folder is not None else None
        return data if data is not None and matches(self.record.entries[path], data) else None


@dataclass(frozen=True, slots=True)
class ReleaseReference:
    """A release's sources in preflight's cache."""

    folder: Path

    def has(self, path: str) -> bool:
        return is_file(self.folder / path)

    def content(self, path: str) -> bytes | None:
        return _read(self.folder / path)


def _read(file: Path) -> bytes | None:
    try:
        return read_bytes(file)
    except OSError:
        return None
