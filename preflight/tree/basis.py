"""What the files of a tree are compared with: a release that is named, a git commit, or the tree's own RECORD."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from preflight.errors import UsageError
from preflight.model import FileState, Undecided
from preflight.tree.distinfo import distributions
from preflight.tree.git import Repository, repository_of
from preflight.tree.kinds import PACKAGE, TreeKind, TreeRequest
from preflight.tree.locate import Location
from preflight.tree.patched import Comparison, compare, is_source_name, unseen
from preflight.tree.record import Record, read_record
from preflight.tree.reference import GitReference, RecordReference, Reference, ReleaseReference
from preflight.tree.scan import Listing


@dataclass(frozen=True, slots=True)
class Basis:
    """The outcome of a comparison. ``layer`` is what git's index has where the work tree has something else;
    ``by_git`` says that the git options were used up on the tree itself."""

    comparison: Comparison
    reference: Reference | None = None
    record: Record | None = None
    layer: Mapping[str, bytes | None] = field(default_factory=dict)
    by_git: bool = False


def basis(request: TreeRequest, location: Location, listing: Listing, environ: Mapping[str, str]) -> Basis:
    """Compares ``location`` with what the request names, else with what it carries itself.

    Raises TreeError, FetchError or UsageError when the reference cannot be had.
    """
    repository = _own_repository(location, environ) if request.staged or request.base_ref is not None else None
    record = own_record(location)
    if request.vllm is not None:
        if repository is not None and request.base_ref is not None:
            raise UsageError("--vllm and --base-ref both say what the tree is compared with.", "Give one of the two.")
        return replace(_with_release(request, location, listing, environ), record=record)
    if repository is not None:
        return replace(_with_git(request, location, listing, repository), record=record)
    if record is not None and record.names_package(PACKAGE):
        return _with_record(request, location, listing, record)
    why = "its dist-info has no RECORD" if record is None else "its RECORD has no hashes of them"
    if location.kind is not TreeKind.INSTALLED:
        why = "a source folder carries no hashes of its release"
    elif location.distribution is None:
        why = "there is no dist-info of vLLM beside it"
    undecided = Undecided(
        "no-reference",
        f"Which files of {location.root} are patched is not known: {why}. Say what to compare with: --vllm VERSION "
        "(a release) or --base-ref REF (a git commit).",
        decisive=True,
    )
    return Basis(Comparison({}, (), (undecided, *unseen(listing))), None, record)


def own_record(location: Location) -> Record | None:
    """The RECORD of the vLLM that is installed in this folder, if it has one."""
    if location.kind is not TreeKind.INSTALLED or location.distribution is None:
        return None
    file = location.distribution.record
    return read_record(file) if os.path.lexists(file) else None


def release_record(folder: Path) -> Record:
    """The RECORD of a release in preflight's cache."""
    return read_record(distributions(folder, PACKAGE)[0].record)


def _with_record(request: TreeRequest, location: Location, listing: Listing, record: Record) -> Basis:
    comparison = compare(location.root, PACKAGE, listing, record, whole_tree=request.whole_tree)
    version = location.distribution.version if location.distribution is not None else None
    note = f"The files were compared with {record.file.parent.name}/{record.file.name}."
    reference = RecordReference(location.root, record, comparison.states, version)
    return Basis(replace(comparison, notes=(note, *comparison.notes)), reference, record)


def _with_release(request: TreeRequest, location: Location, listing: Listing, environ: Mapping[str, str]) -> Basis:
    from preflight.tree.release import fetch_release

    folder = fetch_release(PACKAGE, request.vllm or "", progress=request.progress)
    comparison = compare(location.root, PACKAGE, listing, release_record(folder), whole_tree=request.whole_tree)
    own_info = distributions(folder, PACKAGE)[0].folder.name + "/"
    states = {path: state for path, state in comparison.states.items() if not path.startswith(own_info)}
    notes = [f"The files were compared with the release {folder.name.partition('-')[2]}.", *comparison.notes]
    if location.kind is not TreeKind.INSTALLED and (repository := _own_repository(location, environ)) is not None:
        prefix = _prefix(location, repository)
        built = {p.removeprefix(prefix) for p in repository.ignored(prefix + path for path in states)}
        if built := built.intersection(states):
            states = {path: state for path, state in states.items() if path not in built}
            notes.append(
                f"{len(built)} files that git ignores ({min(built)}) differ from the release: they are products of a "
                "build, not patches."
            )
    return Basis(replace(comparison, states=states, notes=tuple(notes)), ReleaseReference(folder))


def _with_git(request: TreeRequest, location: Location, listing: Listing, repository: Repository) -> Basis:
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
