"""Collects the files of a patch repository: from the work tree, or with ``--staged`` from git's index."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from preflight.errors import TreeError
from preflight.tree.git import Repository, repository_of
from preflight.tree.paths import absolute
from preflight.tree.reading import read_bytes, reason
from preflight.tree.scan import scan

#: No source and no patch is larger; generated data may be, and does not belong into an overlay.
_LIMIT = 16 << 20
_DIFFS = (".diff", ".patch")
_HELP = "Name the files or folders that belong to the patch."


@dataclass(frozen=True, slots=True)
class Given:
    """A file that was collected: where it is, its parts below the folder that was given, and its content, which is
    git's index's if ``staged``."""

    file: Path
    parts: tuple[str, ...]
    data: bytes
    staged: bool = False

    @property
    def is_diff(self) -> bool:
        """True for a unified diff, by its name."""
        return self.file.name.endswith(_DIFFS)


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
    repository = _repository(path, selection)
    if repository is not None and selection.staged:
        files = _from_index(path, repository)
    elif not os.path.lexists(path):
        raise TreeError(f"{option} {given} does not exist.", "Paths are relative to the folder preflight runs in.")
    elif path.is_dir():
        files = [_read(file, parts) for file, parts in _walk(path, option)]
    else:
        files = [_read(path, (path.name,))]
    if not selection.limited:
        return files, frozenset(file.file for file in files)
    if repository is None:
        raise TreeError(
            f"{option} {given} is not in a git repository, so --staged and --base-ref mean nothing for it.",
            "Leave the git options away, or run preflight in the repository of the patch.",
        )
    base = repository.resolve(selection.base) if selection.base is not None else repository.head()
    changed = repository.changed(base, _inside(path, repository), staged=selection.staged)
    return files, frozenset(repository.top / name for name in changed)


def repository_name(file: Path) -> str:
    """The file's name in its repository; outside of one, relative to the working folder, else as it is."""
    for parent in file.parents:
        if (parent / ".git").exists():
            return file.relative_to(parent).as_posix()
    here = Path.cwd()
    return file.relative_to(here).as_posix() if file.is_relative_to(here) else file.as_posix()


def _repository(path: Path, selection: Selection) -> Repository | None:
    if not selection.limited:
        return None
    folder = path
    while not folder.is_dir() and folder.parent != folder:
        folder = folder.parent
    return repository_of(folder, selection.environ)


def _inside(path: Path, repository: Repository) -> str:
    real = Path(os.path.realpath(path.parent), path.name) if path != path.parent else path
    top = Path(os.path.realpath(repository.top))
    inside = Path(os.path.realpath(path)) if path.is_dir() else real
    return "" if inside == top else inside.relative_to(top).as_posix()


def _from_index(path: Path, repository: Repository) -> list[Given]:
    """The files that the index has at ``path``, with the index's content."""
    under = _inside(path, repository)
    names = [name for name in repository.indexed(under) if not _hidden(name.split("/"))]
    contents = repository.contents("", names)
    files = []
    for name in names:
        if name in contents:
            parts = tuple(name.removeprefix(under).strip("/").split("/")) if name != under else (path.name,)
            files.append(Given(repository.top / name, parts, contents[name], staged=True))
    return files


def _walk(folder: Path, option: str) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """The files below a folder, hidden ones and installed environments left out."""
    listing = scan(folder.parent, folder.name)
    if listing.loops:
        raise TreeError(f"{option}: {folder.parent / listing.loops[0]} is a link to a folder that it is in.", _HELP)
    if listing.closed:
        place, why = listing.closed[0]
        raise TreeError(f"{option}: the folder {folder.parent / place} cannot be listed: {why}.", _HELP)
    environments = [path.rpartition("/")[0] + "/" for path in listing.files if path.endswith("/pyvenv.cfg")]
    for path in listing.files:
        parts = tuple(path.split("/"))[1:]
        if not _hidden(parts) and not path.startswith(tuple(environments)):
            yield folder.joinpath(*parts), parts


def _hidden(parts: tuple[str, ...] | list[str]) -> bool:
    return any(part.startswith(".") or part in ("__pycache__", "node_modules", "site-packages") for part in parts)


def _read(file: Path, parts: tuple[str, ...]) -> Given:
    try:
        return Given(file, parts, read_bytes(file, _LIMIT))
    except OSError as error:
        raise TreeError(f"{file} cannot be read: {reason(error)}.", _HELP) from None
