"""Where preflight keeps what it may lose: fetched releases, facts of files, parsed rules."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from preflight.tree.paths import absolute


def cache_folder(environ: Mapping[str, str]) -> Path:
    """preflight's cache folder: ``$PREFLIGHT_CACHE``, else the user's cache folder as the system has it.

    It need not exist. Relative names are taken from the current folder; without a home folder it is ``~`` as written.
    """
    if given := environ.get("PREFLIGHT_CACHE"):
        return absolute(given)
    if (xdg := environ.get("XDG_CACHE_HOME")) and Path(xdg).is_absolute():
        return Path(xdg, "preflight")
    home = absolute("~")
    if os.name == "nt":
        return Path(environ.get("LOCALAPPDATA") or home / "AppData" / "Local", "preflight", "Cache")
    return home / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "preflight"
