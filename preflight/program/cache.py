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
from collections.abc import Mapping
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


def cache_folder(environ: Mapping[str, str]) -> Path | None:
    """``$XDG_CACHE_HOME/preflight/facts`` or the like; None where there is no home."""
    base = environ.get("XDG_CACHE_HOME")
    if base and Path(base).is_absolute():
        return Path(base) / "preflight" / "facts"
    try:
        return Path.home() / ".cache" / "preflight" / "facts"
    except RuntimeError:
        return None


class FactsCache:
    """Reads and writes facts under ``folder``; with None it keeps nothing."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder / _KEY if folder is not None else None
        self._writable = self._folder is not None

    def get(self, data: bytes) -> ModuleFacts | None:
        """The facts of a file with this content, None if they are not kept."""
        if self._folder is None:
            return None
        try:
            stored = (self._folder / _name(data)).read_bytes()
            digest, payload = stored[:16], stored[16:]
            if hashlib.blake2b(payload, digest_size=16).digest() != digest:
                return None
            found = _Reader(io.BytesIO(payload)).load()
        except Exception:
            # A truncated, foreign or unreadable file may fail in any way, and none of them matters.
            return None
        return found if isinstance(found, ModuleFacts) else None

    def put(self, data: bytes, facts: ModuleFacts) -> None:
        """Keep the facts; silently does not where the folder cannot be written."""
        if self._folder is None or not self._writable:
            return
        name = _name(data)
        target = self._folder / name
        partial = self._folder / f".{name}.{os.getpid()}"
        payload = pickle.dumps(facts, 5)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            partial.write_bytes(hashlib.blake2b(payload, digest_size=16).digest() + payload)
            partial.replace(target)
        except OSError:
            self._writable = False


def _name(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=20).hexdigest()
