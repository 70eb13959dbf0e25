"""The parsed form of rule files in the user's cache. It is only ever a shortcut: what is not sound there is ignored.

Parsing forty rule files takes tens of milliseconds, reading the same as JSON takes one; and it is paid at every start.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from preflight import __version__
from preflight.tree.keeping import write_whole


class Store:
    """One file a rule folder. ``cache`` None: nothing is kept."""

    def __init__(self, cache: Path | None) -> None:
        self._cache = cache

    def load(self, folder: Path, texts: Iterable[str]) -> Mapping[str, Any] | None:
        """The parsed files (file name -> document) if these very texts were saved before, whole and by this release."""
        if self._cache is None:
            return None
        import json

        try:
            head, _, body = self._file(folder).read_bytes().partition(b"\n")
            if head != self._seal(texts, body):
                return None
            return json.loads(body)
        except (OSError, ValueError, RecursionError):
            return None

    def save(self, folder: Path, texts: Iterable[str], documents: Mapping[str, Any]) -> None:
        """Keep the documents, atomically. A cache that cannot be written changes nothing."""
        if self._cache is None:
            return
        import json

        try:
            body = json.dumps(documents).encode()
            write_whole(self._file(folder), self._seal(texts, body) + b"\n" + body)
        except (OSError, TypeError, ValueError):
            return

    def _file(self, folder: Path) -> Path:
        assert self._cache is not None
        return self._cache / f"rules-{_digest(os.fsencode(folder.absolute()))[:16]}.json"

    def _seal(self, texts: Iterable[str], body: bytes) -> bytes:
        """Ties the body to this release, to the files' texts, and to itself."""
        parts = [__version__.encode(), *(text.encode() for text in texts), body]
        return _digest(b"".join(b"%d:%b" % (len(part), part) for part in parts)).encode()


def _digest(data: bytes) -> str:
    from hashlib import sha256

    return sha256(data).hexdigest()
