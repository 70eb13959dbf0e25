"""Which tree may be written to: that of an environment, and neither a source checkout nor a cache."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from preflight.errors import TreeError, UsageError
from preflight.transaction.state import digest_of
from preflight.tree.basis import own_record
from preflight.tree.cachedir import cache_folder
from preflight.tree.kinds import TreeKind, TreeRequest
from preflight.tree.locate import locate
from preflight.tree.reading import read_bytes
from preflight.tree.record import Record


@dataclass(frozen=True, slots=True)
class Place:
    """A tree that may be written to.

    ``root`` has no links in it; ``named`` is the same place as its environment knows it, by which its interpreter is
    found. ``record_digest`` tells whether vLLM was installed anew since.
    """

    root: Path
    named: Path
    vllm: str | None
    record: Record | None
    record_digest: str | None


def place_of(request: TreeRequest, environ: Mapping[str, str]) -> Place:
    """The tree that ``request`` asks for. Raises TreeError or UsageError if it is none that may be written to."""
    if request.site_packages is None and not request.use_environment:
        raise UsageError(
            f"--vllm {request.vllm} is a release in preflight's own cache, which is never written to.",
            "Name an installed tree: --vllm-site-packages DIR. `preflight check --overlay PATCH` only checks.",
        )
    location = locate(request.site_packages, environ)
    root = Path(os.path.realpath(location.root))
    if location.kind is not TreeKind.INSTALLED:
        raise TreeError(
            f"{location.root} is a source folder, not an installed vLLM: preflight does not write to it.",
            "There, `git apply PATCH` writes and `git apply -R PATCH` takes back.",
        )
    if root.is_relative_to(os.path.realpath(cache_folder(environ))):
        raise TreeError(f"{root} is in preflight's own cache, which is never written to.", "Name an installed tree.")
    record = own_record(location)
    digest = digest_of(read_bytes(record.file)) if record is not None else None
    version = location.distribution.version if location.distribution is not None else None
    return Place(root, location.root, version, record, digest)


def folder_problem(root: Path, path: str) -> str | None:
    """Why nothing may be written at ``path``: one of its folders is a link, or no folder. None if nothing is wrong."""
    folder = root
    for part in path.split("/")[:-1]:
        folder = folder / part
        if folder.is_symlink():
            return (
                f"{folder} is a link to {os.path.realpath(folder)}, which may belong to another environment: "
                "nothing is written through it"
            )
        if os.path.lexists(folder) and not folder.is_dir():
            return f"{folder} is a file, so that no file can be below it"
    return None
