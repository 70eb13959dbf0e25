"""Values in the user's cache folder, one file each. A cache can be lost, never be wrong.

What cannot be read back, for whatever reason, is as if it were not there, and a folder that cannot be written keeps
nothing. From a file nothing is built but classes that the caller names.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from types import ModuleType

_DIGEST = 16


class Kept:
    """Values under ``folder``; with None there are none. ``classes``: those that a value may be made of, by the
    module and the name that they are written down with (see ``classes_of``)."""

    def __init__(self, folder: Path | None, classes: Mapping[tuple[str, str], type]) -> None:
        self._folder = folder
        self._classes = classes
        self._writable = folder is not None

    def load(self, name: str) -> object:
        """The value of this name; None if there is none, or none that is whole."""
        if self._folder is None:
            return None
        try:
            stored = (self._folder / name).read_bytes()
            digest, payload = stored[:_DIGEST], stored[_DIGEST:]
            if hashlib.blake2b(payload, digest_size=_DIGEST).digest() != digest:
                return None
            return _Reader(payload, self._classes).load()
        except Exception:
            # A truncated, foreign or unreadable file may fail in any way, and none of them matters.
            return None

    def store(self, name: str, value: object) -> None:
        """Keep a value, atomically; one that cannot be written down is not kept."""
        if self._folder is None or not self._writable:
            return
        try:
            payload = pickle.dumps(value, 5)
        except (pickle.PicklingError, TypeError, AttributeError, RecursionError):
            return
        try:
            write_whole(self._folder / name, hashlib.blake2b(payload, digest_size=_DIGEST).digest() + payload)
        except OSError:
            self._writable = False


def write_whole(target: Path, data: bytes) -> None:
    """Write a file of the cache, and the folder around it: all of it, or nothing. Raises OSError."""
    # The name carries the process, so that two runs never write into the same file.
    partial = target.with_name(f".{target.name}.{os.getpid()}")
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        partial.write_bytes(data)
        partial.replace(target)
    except OSError:
        with suppress(OSError):  # a full disk keeps what was written so far
            partial.unlink(missing_ok=True)
        raise


class _Reader(pickle.Unpickler):
    """Builds the classes it is given and nothing else: a file that asks for any other is no cache of ours."""

    def __init__(self, payload: bytes, classes: Mapping[tuple[str, str], type]) -> None:
        super().__init__(io.BytesIO(payload))
        self._known = classes

    def find_class(self, module: str, name: str) -> type:
        try:
            return self._known[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"{module}.{name} is not kept") from None


def classes_of(module: ModuleType, kinds: Iterable[type] = (object,)) -> dict[tuple[str, str], type]:
    """The classes that ``module`` defines and that are of one of ``kinds``."""
    wanted = tuple(kinds)
    return {
        (module.__name__, name): value
        for name, value in vars(module).items()
        if isinstance(value, type) and value.__module__ == module.__name__ and issubclass(value, wanted)
    }
