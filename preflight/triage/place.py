"""A file of a traceback -> its path in the tree."""

from __future__ import annotations

import re
from dataclasses import dataclass

_SITE = re.compile(r".*/(?:site|dist)-packages/")
_PACKAGE = "vllm/"


@dataclass(frozen=True, slots=True)
class Place:
    """``path`` is relative to the tree (or to its site-packages, for other packages' files) where the log shows enough,
    and as it stands there otherwise. ``site_packages`` is the folder that the log names."""

    path: str
    line: int
    function: str | None
    in_tree: bool
    site_packages: str | None = None


def place_of(path: str, line: int, function: str | None) -> Place:
    """The place that a frame names. ``/`` and ``\\`` are both separators."""
    path = path.replace("\\", "/")
    site = _SITE.match(path)
    if site is not None:
        inner = path[site.end() :]
        return Place(inner, line, function, inner.startswith(_PACKAGE), site.group().rstrip("/"))
    # A checkout: the package is the last folder of that name, since the checkout itself is mostly called vllm too.
    before, found, inner = path.rpartition(f"/{_PACKAGE}")
    if found:
        return Place(f"{_PACKAGE}{inner}", line, function, True, before or None)
    return Place(path, line, function, path.startswith(_PACKAGE))
