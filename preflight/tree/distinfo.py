"""``*.dist-info`` and ``*.egg-info`` folders: which distribution, which version, what it asks for.

The formats are the packaging guide's "Core metadata" and "Recording installed projects". Nothing is imported; METADATA
is read as header lines (the standard email parser costs more than the whole comparison of a small tree).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from preflight.tree.paths import names_in
from preflight.tree.reading import read_bytes

_LIMIT = 8 << 20
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Distribution:
    """An installed distribution: its dist-info folder, and the version that METADATA (else the folder's name) gives."""

    folder: Path
    version: str | None
    requires_python: str | None
    requires: tuple[str, ...]

    @property
    def record(self) -> Path:
        """Where its RECORD is, if it has one."""
        return self.folder / "RECORD"


def distributions(site: Path, name: str) -> list[Distribution]:
    """The dist-info folders of ``name`` in ``site``, in the order of their folder names."""
    wanted = normalized(name)
    found = []
    for entry in names_in(site):
        if entry.endswith(".dist-info") and normalized(entry[:-10].partition("-")[0]) == wanted:
            found.append(read_distribution(site / entry))
    return found


def read_distribution(folder: Path) -> Distribution:
    """Reads METADATA (dist-info) or PKG-INFO (egg-info) of ``folder``, as far as it can be read."""
    headers = list(_headers(folder / "METADATA")) or list(_headers(folder / "PKG-INFO"))
    version = next((v for k, v in headers if k == "version"), None)
    if version is None and folder.name.endswith(".dist-info"):
        version = folder.name[:-10].partition("-")[2]
    if not version or not version.isprintable() or len(version) > _LONGEST:
        version = None
    return Distribution(
        folder,
        version,
        next((v for k, v in headers if k == "requires-python"), None),
        tuple(v for k, v in headers if k == "requires-dist"),
    )


def normalized(name: str) -> str:
    """A distribution's name as names are compared (PEP 503), with ``_``."""
    return re.sub(r"[-_.]+", "_", name).lower()


def _headers(file: Path) -> Iterator[tuple[str, str]]:
    """The header lines of a metadata file, in order; none if it cannot be read."""
    try:
        text = read_bytes(file, _LIMIT).decode("utf-8", "replace")
    except OSError:
        return
    for line in text.splitlines():
        if not line:
            return  # one of blanks only goes on with the header before it, such as the text of a licence
        key, colon, value = line.partition(":")
        if colon and not key[:1].isspace():
            yield key.strip().lower(), value.strip()
