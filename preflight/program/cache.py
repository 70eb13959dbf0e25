"""Facts of files, kept in the user's cache by the hash of their content. A cache can be lost, never be wrong.

A file's name is the hash of the content, of the facts' version and of this Python's; what cannot be read back, for
whatever reason, is as if it were not there. Nothing but this package's own NamedTuples is ever built from a file.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import sys
from pathlib import Path

from preflight.program import facts as facts_module
from preflight.program.facts import FACTS_VERSION, ModuleFacts

_KEY = f"facts-{FACTS_VERSION}-{sys.version_info[0]}.{sys.version_info[1]}"
_ALLOWED = frozenset(
    name for name, value in vars(facts_module).items() if isinstance(value, type) and issubclass(value, tuple)
)


class _Reader(pickle.Unpickler):
    """Builds facts and nothing else: a file that asks for any other class is no cache of ours."""

    def find_class(self, module: str, name: str) -> type:
        if module == facts_module.__name__ and name in _ALLOWED:
            return getattr(facts_module, name)
        raise pickle.UnpicklingError(f"{module}.{name} is no kind of fact")


class FactsCache:
    """Reads and writes facts under ``folder``; with None it keeps them only for the programs of this run, such as the
    one of the tree and the one of the release that it is held against."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder / _KEY if folder is not None else None
        self._writable = self._folder is not None
        self._known: dict[str, ModuleFacts] = {}

    def get(self, data: bytes) -> ModuleFacts | None:
        """The facts of a file with this content, None if they are not kept."""
        name = _name(data)
        if name not in self._known:
            found = self._load(name)
            if not isinstance(found, ModuleFacts):
                return None
            self._known[name] = found
        return self._known[name]

    def put(self, data: bytes, facts: ModuleFacts) -> None:
        """Keep the facts; in the folder silently only where it can be written."""
        name = _name(data)
        self._known[name] = facts
        self._store(name, facts)

    def index(self, key: str) -> dict[str, list[str]] | None:
        """An index of names that was kept under this key, None if there is none."""
        found = self._load(_name(key.encode("utf-8", "surrogateescape")))
        return found if isinstance(found, dict) else None

    def put_index(self, key: str, index: dict[str, list[str]]) -> None:
        """Keep an index of names."""
        self._store(_name(key.encode("utf-8", "surrogateescape")), index)

    def _load(self, name: str) -> object:
        if self._folder is None:
            return None
        try:
            stored = (self._folder / name).read_bytes()
            digest, payload = stored[:16], stored[16:]
            if hashlib.blake2b(payload, digest_size=16).digest() != digest:
                return None
            return _Reader(io.BytesIO(payload)).load()
        except Exception:
            # A truncated, foreign or unreadable file may fail in any way, and none of them matters.
            return None

    def _store(self, name: str, value: object) -> None:
        if self._folder is None or not self._writable:
            return
        target = self._folder / name
        partial = self._folder / f".{name}.{os.getpid()}"
        payload = pickle.dumps(value, 5)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            partial.write_bytes(hashlib.blake2b(payload, digest_size=16).digest() + payload)
            partial.replace(target)
        except OSError:
            self._writable = False


def _name(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=20).hexdigest()
