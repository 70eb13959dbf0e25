"""What a tree's files are compared with, and what the release has in a file, where that is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from preflight.tree.cache import cached_release
from preflight.tree.git import Repository
from preflight.tree.kinds import PACKAGE
from preflight.tree.patched import matches
from preflight.tree.reading import read_bytes
from preflight.tree.record import Record


class Reference(Protocol):
    """A reference that a tree was compared with."""

    def content(self, path: str) -> bytes | None:
        """The pristine bytes of a file of the tree; None if the reference has no such file or cannot give it."""


@dataclass(frozen=True, slots=True)
class RecordReference:
    """The tree's own RECORD. A file that did not differ has the release's content on disk; of the others the content
    is known only if the same release is in preflight's cache."""

    root: Path
    record: Record
    differing: Mapping[str, object]
    version: str | None

    def content(self, path: str) -> bytes | None:
        if path not in self.record.entries:
            return None
        if path not in self.differing:
            return _read(self.root / path)
        folder = cached_release(PACKAGE, self.version) if self.version is not None else None
        data = _read(folder / path) if folder is not None else None
        return data if data is not None and matches(self.record.entries[path], data) else None


@dataclass(frozen=True, slots=True)
class ReleaseReference:
    """A release's sources in preflight's cache."""

    folder: Path

    def content(self, path: str) -> bytes | None:
        return _read(self.folder / path)


@dataclass(frozen=True, slots=True)
class GitReference:
    """A commit's tree, in which the tree's files have ``prefix`` before their paths."""

    repository: Repository
    base: str
    prefix: str

    def content(self, path: str) -> bytes | None:
        return self.repository.contents(self.base, [self.prefix + path]).get(self.prefix + path)


def _read(file: Path) -> bytes | None:
    try:
        return read_bytes(file)
    except OSError:
        return None
