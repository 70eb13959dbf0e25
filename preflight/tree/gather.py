"""Collects the files of a patch repository: from the work tree, or with ``--staged`` from git's index."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from preflight.errors import TreeError
from preflight.tree.git import Repository, repository_of
from preflight.tree.paths import absolute, exists, is_folder, working_folder
from preflight.tree.reading import read_bytes, reason
from preflight.tree.scan import scan

#: No source and no patch is larger; generated data may be, and does not belong into an overlay.
_LIMIT = 16 << 20
_DIFFS = (".diff", ".patch")
_HELP = "Name the files or folders that belong to the patch."


@dataclass(frozen=True, slots=True)
class Given:
    """A file that was collected. ``parts`` are below the folder that was given, ``name`` is relative to the repository
    (outside of one to the working folder, else as it is); the content is that of git's index if ``staged``."""

    file: Path
    parts: tuple[str, ...]
    name: str
    data: bytes
    in_repository: bool
    staged: bool = False

    @property
    def is_diff(self) -> bool:
        """True for a unified diff, by its name."""
        return self.file.name.endswith(_DIFFS)

    @property
    def places(self) -> tuple[str, ...]:
        """The folders that can say which path of the tree is meant. Those above a repository say nothing of it: the
        folder of a checkout is often called like the package."""
        return tuple(self.name.split("/")) if self.in_repository else self.file.parts


@dataclass(frozen=True, slots=True)
class Selection:
    """How files are collected: from the index or the work tree, and which of them the user asked for.

    ``base`` is what ``--base-ref`` names; with ``staged`` and no base, HEAD is meant.
    """

    staged: bool
    base: str | None
    environ: Mapping[str, str]

    @property
    def limited(self) -> bool:
        """True if only what git says has changed is asked for."""
        return self.staged or self.base is not None


def gather(given: str, option: str, selection: Selection) -> tuple[list[Given], frozenset[Path]]:
    """The files at a path that the user gave, and those of them that changed (all, if no git option limits them).

    Raises TreeError when the path is not there, or something in it cannot be read. ``option`` is how it was given.
    """
    path = absolute(given)
    top = next((folder for folder in (path, *path.parents) if exists(folder / ".git")), None)
    if selection.limited:
        repository = _repository(path, selection)
        if repository is None or top is None:
            raise TreeError(
                f"{option} {given} is not in a git repository, so --staged and --base-ref mean nothing for it.",
                "Leave the git options away, or run preflight in the repository of the patch.",
            )
        under = _under(path, top)
        base = repository.resolve(selection.base) if selection.base is not None else repository.head()
        changed = repository.changed(base, under, staged=selection.staged)
        marked = frozenset(top / name for name in changed)
        if selection.staged:
            return [_given(top / name, path, top, data) for name, data in _indexed(repository, under)], marked
    if not os.path.lexists(path):
        raise TreeError(f"{option} {given} does not exist.", "Paths are relative to the folder preflight runs in.")
    found = _walk(path, option) if is_folder(path) else [path]
    files = [_given(file, path, top, None) for file in found]
    return files, marked if selection.limited else frozenset(file.file for file in files)


def _repository(path: Path, selection: Selection) -> Repository | None:
    folder = path
    while not is_folder(folder) and folder.parent != folder:
        folder = folder.parent
    return repository_of(folder, selection.environ)


def _under(path: Path, top: Path) -> str:
    """The path in its repository; ``""`` for its top."""
    return "" if path == top else path.relative_to(top).as_posix()


def _given(file: Path, path: Path, top: Path | None, staged: bytes | None) -> Given:
    """A file below ``path``, read from disk unless git's index gave its content. Raises TreeError."""
    here = top or working_folder()
    name = file.relative_to(here).as_posix() if here is not None and file.is_relative_to(here) else file.as_posix()
    parts = file.relative_to(path).parts or (file.name,)
    if staged is not None:
        return Given(file, parts, name, staged, top is not None, staged=True)
    try:
        return Given(file, parts, name, read_bytes(file, _LIMIT), top is not None)
    except OSError as error:
        raise TreeError(f"{file} cannot be read: {reason(error)}.", _HELP) from None


def _indexed(repository: Repository, under: str) -> list[tuple[str, bytes]]:
    """The files that the index has under a path, with its contents."""
    names = [name for name in repository.indexed(under) if not _hidden(name.split("/"))]
    contents = repository.contents("", names)
    return [(name, contents[name]) for name in names if name in contents]


def _walk(folder: Path, option: str) -> Iterator[Path]:
    """The files below a folder, hidden ones and installed environments left out."""
    listing = scan(folder.parent, folder.name)
    if listing.loops:
        raise TreeError(f"{option}: {folder.parent / listing.loops[0]} is a link to a folder that it is in.", _HELP)
    if listing.closed:
        place, why = listing.closed[0]
        raise TreeError(f"{option}: the folder {folder.parent / place} cannot be listed: {why}.", _HELP)
    environments = tuple(path.rpartition("/")[0] + "/" for path in listing.files if path.endswith("/pyvenv.cfg"))
    for path in listing.files:
        parts = path.split("/")[1:]
        if not _hidden(parts) and not path.startswith(environments):
            yield folder.joinpath(*parts)


def _hidden(parts: list[str]) -> bool:
    return any(part.startswith(".") or part in ("__pycache__", "node_modules", "site-packages") for part in parts)
