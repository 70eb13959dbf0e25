"""What the files of a tree are compared with: a release that is named, a git commit, or the tree's own RECORD."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from preflight.errors import UsageError
from preflight.model import Undecided
from preflight.tree.distinfo import distributions
from preflight.tree.kinds import PACKAGE, TreeKind, TreeRequest, counted
from preflight.tree.locate import Location
from preflight.tree.patched import Comparison, compare, unseen
from preflight.tree.record import Record, read_record
from preflight.tree.reference import Basis, RecordReference, ReleaseReference
from preflight.tree.scan import Listing


def basis(request: TreeRequest, location: Location, listing: Listing, environ: Mapping[str, str]) -> Basis:
    """Compares ``location`` with what the request names, else with what it carries itself.

    Raises TreeError, FetchError or UsageError when the reference cannot be had.
    """
    record = own_record(location)
    if request.staged or request.base_ref is not None:
        from preflight.tree.gitbasis import git_basis

        found = git_basis(request, location, listing, environ)
        if found is not None and request.vllm is not None:
            option = "--staged" if request.staged else "--base-ref"
            raise UsageError(f"--vllm and {option} both say what the tree is compared with.", "Give one of the two.")
        if found is not None:
            return replace(found, record=record)
    if request.vllm is not None:
        return replace(_with_release(request, location, listing, environ), record=record)
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
        decisive=not request.whole_tree,  # with --all nothing hangs on it: every file is checked
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

    folder = fetch_release(PACKAGE, request.vllm or "", progress=request.progress, environ=environ)
    comparison = compare(location.root, PACKAGE, listing, release_record(folder), whole_tree=request.whole_tree)
    own_info = distributions(folder, PACKAGE)[0].folder.name + "/"
    states = {path: state for path, state in comparison.states.items() if not path.startswith(own_info)}
    notes = [f"The files were compared with the release {folder.name.partition('-')[2]}.", *comparison.notes]
    if location.kind is not TreeKind.INSTALLED:
        from preflight.tree.gitbasis import ignored_by_git

        if built := ignored_by_git(location, states, environ):
            states = {path: state for path, state in states.items() if path not in built}
            notes.append(
                f"{counted(len(built), 'file')} that git ignores ({min(built)}) differ from the release: products of a "
                "build, not patches."
            )
    return Basis(replace(comparison, states=states, notes=tuple(notes)), ReleaseReference(folder))
