"""What an apply would change: the files of the checked tree that are not what the disk has."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from preflight.errors import TreeError
from preflight.transaction.engine import Change, carry_out, written_at
from preflight.transaction.journal import Entry, Manifest, inside_package
from preflight.transaction.place import Place, folder_problem
from preflight.transaction.state import ABSENT, Kind, State, digest_of, state_of
from preflight.transaction.store import Store, not_written
from preflight.tree.diff import Why
from preflight.tree.kinds import PACKAGE
from preflight.tree.reading import read_bytes, reason
from preflight.tree.tree import Tree

#: The mode of a new file, where the package gives no example.
_MODE = 0o644


@dataclass(frozen=True, slots=True)
class Plan:
    """The new contents by path (None: deleted) of files that are now what ``before`` says, and the folders to make."""

    contents: Mapping[str, bytes | None]
    before: Mapping[str, State]
    folders: tuple[str, ...]


def refuse_parts(tree: Tree) -> None:
    """Raise TreeError if the patches that are laid over ``tree`` could only be written in part."""
    refused = [failure for failure in tree.failures if failure.why is not Why.APPLIED]
    if refused:
        raise TreeError(
            f"{refused[0].message} A part of the patches is not written without the rest, so nothing was written.",
            "Make the diff anew against this tree.",
        )
    if tree.aside:
        raise TreeError(
            f"The patches change {tree.aside[0]}, which is a binary file or a link: that is not checked, so it is not "
            "written, and neither is the rest of them.",
            "Take it out of the patches, and put it there by the means that made it.",
        )


def plan_of(root: Path, layer: Mapping[str, bytes | None]) -> Plan:
    """What must be written for the tree at ``root`` to be what it is with ``layer`` laid over it.

    Raises TreeError for a path that cannot be written to safely.
    """
    contents: dict[str, bytes | None] = {}
    before: dict[str, State] = {}
    folders: set[str] = set()
    for path, data in sorted(layer.items()):
        if not inside_package(path):
            raise TreeError(f"{path} is not in the tree's {PACKAGE}/ folder: it is not written.", "Take it out.")
        if (problem := folder_problem(root, path)) is not None:
            raise TreeError(f"{problem}.", f"Name the tree that really holds {path}.")
        try:
            state = state_of(root / path)
            if _has(root / path, state, data):
                continue
        except OSError as error:
            raise TreeError(f"{root / path} cannot be replaced: {reason(error)}.", "Move it away.") from None
        contents[path] = data
        before[path] = state
        folders.update(str(f) for f in PurePosixPath(path).parents if len(f.parts) and not (root / f).exists())
    return Plan(contents, before, tuple(sorted(folders)))


def apply_plan(store: Store, place: Place, plan: Plan) -> None:
    """Write all of ``plan``, or nothing. Raises TreeError with the tree as it was."""
    try:
        applied = applied_entries(store, place)
        mode = _mode(place.root)
    except OSError as error:
        raise not_written(error, place.root) from error
    now = time.time_ns()
    changes = tuple(
        Change(path, plan.before[path], _after(data, plan.before[path], mode, now), data, lasting=path not in applied)
        for path, data in plan.contents.items()
    )
    known = store.manifest()
    folders = tuple(sorted({*plan.folders, *(known.folders if known is not None else ())}))

    def manifest(identity: str, kept: Mapping[str, str | None]) -> Manifest:
        entries = dict(applied)
        for change in changes:
            first = applied.get(change.path)
            original = first.original if first is not None else change.before
            name = first.kept if first is not None else kept[change.path]
            if original.same_content(change.after):
                entries.pop(change.path, None)  # a patch that takes an earlier one back
            else:
                entries[change.path] = Entry(change.path, original, name, change.after)
        return Manifest(identity, place.vllm, place.record_digest, tuple(entries.values()), folders)

    carry_out(store, changes, plan.folders, manifest)


def applied_entries(store: Store, place: Place) -> dict[str, Entry]:
    """What is applied, by path. Once vLLM was installed anew, that is only what the installer left as it was written.

    Raises TreeError for a manifest that cannot be read, OSError for a file that cannot.
    """
    manifest = store.manifest()
    entries = {entry.path: entry for entry in manifest.entries} if manifest is not None else {}
    if manifest is None or manifest.record == place.record_digest:
        return entries
    return {path: e for path, e in entries.items() if state_of(place.root / path).same_content(e.written)}


def _has(file: Path, state: State, data: bytes | None) -> bool:
    """True if ``file`` is what it should become; for a link, if the file behind it is."""
    if data is None or state.kind is Kind.ABSENT:
        return data is None and state.kind is Kind.ABSENT
    if state.kind is Kind.FILE:
        return state.digest == digest_of(data)
    try:
        return read_bytes(file) == data
    except OSError:  # it leads nowhere
        return False


def _after(data: bytes | None, before: State, mode: int, now: int) -> State:
    if data is None:
        return ABSENT
    return State(
        Kind.FILE, digest_of(data), None, before.mode if before.mode is not None else mode, written_at(now, before)
    )


def _mode(root: Path) -> int:
    """New files may be read by those who may read the package."""
    try:
        return (root / PACKAGE / "__init__.py").stat().st_mode & 0o777 | 0o200
    except OSError:
        return _MODE
