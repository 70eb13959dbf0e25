"""Facts of files, kept in the user's cache by the hash of their content.

A file's name is the hash of the content, of the facts' version and of this Python's. Nothing but this package's own
NamedTuples is ever built from a file.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

from preflight.program import facts as facts_module
from preflight.program.facts import FACTS_VERSION, ModuleFacts
from preflight.tree.keeping import Kept, classes_of

_KEY = f"facts-{FACTS_VERSION}-{sys.version_info[0]}.{sys.version_info[1]}"
_CLASSES = classes_of(facts_module, [tuple])


class FactsCache:
    """Reads and writes facts under ``folder``; with None it keeps them only for the programs of this run, such as the
    one of the tree and the one of the release that it is held against."""

    def __init__(self, folder: Path | None) -> None:
        self._kept = Kept(folder / _KEY if folder is not None else None, _CLASSES)
        self._known: dict[str, ModuleFacts] = {}

    def get(self, data: bytes) -> ModuleFacts | None:
        """The facts of a file with this content, None if they are not kept."""
        name = _name(data)
        if name not in self._known:
            found = self._kept.load(name)
            if not isinstance(found, ModuleFacts):
                return None
            self._known[name] = found
        return self._known[name]

    def put(self, data: bytes, facts: ModuleFacts) -> None:
        """Keep the facts; in the folder silently only where it can be written."""
        name = _name(data)
        self._known[name] = facts
        self._kept.store(name, facts)

    def index(self, key: str) -> dict[str, list[str]] | None:
        """An index of names that was kept under this key, None if there is none."""
        found = self._kept.load(_name(key.encode("utf-8", "surrogateescape")))
        return found if isinstance(found, dict) else None

    def put_index(self, key: str, index: dict[str, list[str]]) -> None:
        """Keep an index of names."""
        self._kept.store(_name(key.encode("utf-8", "surrogateescape")), index)


def _name(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=20).hexdigest()
