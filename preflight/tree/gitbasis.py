"""Git as what a tree is compared with: a commit against the work tree, or against what is staged."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from preflight.model import FileState
from preflight.tree.git import Repository, repository_of
from preflight.tree.kinds import PACKAGE, TreeRequest
from preflight.tree.locate import Location
from preflight.tree.patched import Comparison, is_source_name, unseen
from preflight.tree.reference import Basis
from preflight.tree.scan import Listing


@dataclass(frozen=True, slots=True)
class GitReference:
    """A commit's tree, in which the tree's files have ``prefix`` before their paths."""

    repository: Repository
    base: str
    prefix: str

    def has(self, path: str) -> bool:
        return self.content(path) is not None

    def content(self, path: str) -> bytes | None:
        return self.repository.contents(self.base, [self.prefix + path]).get(self.prefix + path)


def git_basis(request: TreeRequest, location: Location, listing: Listing, environ: Mapping[str, str]) -> Basis | None:
    """Compares a tree with ``--base-ref``, or what is staged with HEAD; None if git does not track the tree.

    Raises UsageError for a reference that git does not know, TreeError if git cannot be asked.
    """
    repository = _own_repository(location, environ)
    if repository is None:
        return None
    base = repository.resolve(request.base_ref) if request.base_ref is not None else repository.head()
    prefix = _prefix(location, repository)
    under = prefix + PACKAGE
    states = {
        path.removeprefix(prefix): state
        for path, state in repository.changed(base, under, staged=request.staged).items()
        if "/__pycache__/" not in path
        and (state is not FileState.ADDED or (path.endswith(".py") and is_source_name(path)))
    }
    layer: dict[str, bytes | None] = {}
    name = request.base_ref or "HEAD"
    note = f"The files were compared with {name} of the git repository {repository.top}."
    if request.staged:
        note = f"What git has staged was compared with {name} of the git repository {repository.top}."
        differing = repository.unstaged(under)
        contents = repository.contents("", differing)
        layer.update((path.removeprefix(prefix), contents[path]) for path in differing if path in contents)
        layer.update((path.removeprefix(prefix), None) for path in repository.untracked(under))
    comparison = Comparison(dict(sorted(states.items())), (note,), tuple(unseen(listing)))
    return Basis(comparison, GitReference(repository, base, prefix), layer=layer, by_git=True)


def ignored_by_git(location: Location, paths: Iterable[str], environ: Mapping[str, str]) -> set[str]:
    """Those of ``paths`` that the tree's repository ignores: products of a build."""
    repository = _own_repository(location, environ)
    if repository is None:
        return set()
    prefix = _prefix(location, repository)
    return {path.removeprefix(prefix) for path in repository.ignored(prefix + path for path in paths)}


def _own_repository(location: Location, environ: Mapping[str, str]) -> Repository | None:
    """The git repository that tracks the tree's files; an environment that merely lies in one is not tracked."""
    repository = repository_of(location.root, environ)
    if repository is None or not repository.tracks(f"{_prefix(location, repository)}{PACKAGE}/__init__.py"):
        return None
    return repository


def _prefix(location: Location, repository: Repository) -> str:
    """From the repository's top to the tree, with a ``/`` at its end if it is not empty."""
    inside = Path(os.path.realpath(location.root)).relative_to(os.path.realpath(repository.top)).as_posix()
    return "" if inside == "." else inside + "/"
