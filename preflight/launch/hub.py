"""Where a model's files are: a folder, a file, or the local cache of the hub's client.

The layout of the cache is documented by huggingface_hub: ``models--ORG--NAME/refs/REVISION`` holds the commit, and
``snapshots/COMMIT/`` the files.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from preflight.launch.files import exists

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[\w.-]+)?")
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class Location:
    """``folder`` of a checkpoint, or (None) the reason why it is not to be had here."""

    folder: Path | None
    reason: str = ""
    file: Path | None = None  #: the very file that was named, if it was one


def locate(model: str, revision: str | None, environ: Mapping[str, str], folder: Path, cache: str | None) -> Location:
    """Find a model. ``environ`` is asked for the cache's place, ``cache`` is the one that the launch names itself."""
    path = folder / Path(model).expanduser()
    if exists(path):
        if path.is_dir():
            return Location(path)
        return Location(path.parent, file=path)
    if model.startswith(("/", "./", "../", "~")):
        return Location(None, f"there is no {model}")
    if "://" in model or not _HUB_ID.fullmatch(model):
        return Location(None, f"{model} is neither a path that is here nor the name of a model on the hub")
    caches = hub_caches(environ, cache)
    for root in caches:
        snapshot = _snapshot(root / f"models--{model.replace('/', '--')}", revision or "main")
        if snapshot is not None:
            return Location(snapshot)
    tried = ", ".join(str(root) for root in caches)
    at = f" at revision {revision}" if revision else ""
    return Location(None, f"{model}{at} is not in the hub's local cache ({tried})")


def hub_caches(environ: Mapping[str, str], cache: str | None) -> list[Path]:
    """The folders that the hub's client looks into, first the launch's own."""
    if cache:
        return [Path(cache).expanduser()]
    for name, inside in (("HF_HUB_CACHE", ""), ("HUGGINGFACE_HUB_CACHE", ""), ("HF_HOME", "hub")):
        if environ.get(name):
            return [Path(environ[name]).expanduser() / inside]
    base = environ.get("XDG_CACHE_HOME")
    root = Path(base).expanduser() if base else Path("~/.cache").expanduser()
    return [root / "huggingface" / "hub"]


def _snapshot(repository: Path, revision: str) -> Path | None:
    commit = revision
    reference = repository / "refs" / revision
    if not _COMMIT.fullmatch(revision) and ".." not in revision.split("/"):
        try:
            commit = reference.read_text("ascii")[:64].strip() if reference.stat().st_size < 1024 else ""
        except (OSError, ValueError):
            return None
    if not re.fullmatch(r"[\w.-]+", commit) or commit.strip(".") == "":
        return None
    snapshot = repository / "snapshots" / commit
    return snapshot if snapshot.is_dir() else None
