"""Where fetched releases are kept, and whether one is there."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from preflight.tree.distinfo import normalized


def cache_folder(environ: Mapping[str, str] | None = None) -> Path:
    """preflight's cache folder: ``$PREFLIGHT_CACHE``, else the user's cache folder as the system has it."""
    environ = os.environ if environ is None else environ
    if given := environ.get("PREFLIGHT_CACHE"):
        return Path(os.path.abspath(os.path.expanduser(given)))  # noqa: PTH100, PTH111
    if (xdg := environ.get("XDG_CACHE_HOME")) and os.path.isabs(xdg):  # noqa: PTH117
        return Path(xdg, "preflight")
    home = Path(os.path.expanduser("~"))  # noqa: PTH111
    if os.name == "nt":
        return Path(environ.get("LOCALAPPDATA") or home / "AppData" / "Local", "preflight", "Cache")
    return home / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "preflight"


def release_folder(name: str, version: str, environ: Mapping[str, str] | None = None) -> Path:
    """Where the release is kept, or would be."""
    return cache_folder(environ) / "releases" / f"{normalized(name)}-{version}"


def cached_release(name: str, version: str) -> Path | None:
    """The folder of a release that is in the cache; None if it is not. No network is used."""
    if not version or "/" in version or os.sep in version:
        return None
    folder = release_folder(name, version)
    return folder if folder.is_dir() else None
