"""Takes out what was applied, and holds the files against RECORD."""

from __future__ import annotations

from dataclasses import dataclass, replace

from preflight.errors import TreeError
from preflight.transaction.bytecode import other_second
from preflight.transaction.engine import Change, carry_out
from preflight.transaction.journal import Entry
from preflight.transaction.place import Place, folder_problem
from preflight.transaction.state import Kind, State, digest_of, state_of
from preflight.transaction.store import Store, not_written
from preflight.tree.kinds import counted
from preflight.tree.patched import matches
from preflight.tree.reading import read_bytes, reason

_REINSTALL = "Reinstall vLLM in this environment: that puts every file of it back."
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Restored:
    """What a restore did.

    ``paths`` were put back, ``removed`` taken away; ``left`` are neither, since vLLM was installed anew and what was
    kept is not of this release; ``differing`` are what they were before the apply, but not what RECORD says.
    ``verified`` is False for a tree without RECORD.
    """

    paths: tuple[str, ...]
    removed: tuple[str, ...]
    left: tuple[str, ...]
    differing: tuple[str, ...]
    verified: bool


def restore(store: Store, place: Place, *, force: bool) -> Restored | None:
    """Put the kept originals back, all or none; None if nothing is applied.

    Raises TreeError, with the tree as it was, for files that somebody changed since (unless ``force``), for kept files
    that were damaged, and for a tree that cannot be written to.
    """
    manifest = store.manifest()
    if manifest is None or not manifest.entries:
        return None
    same_release = manifest.record == place.record_digest
    changes: list[Change] = []
    changed: list[str] = []
    left: list[str] = []
    for entry in manifest.entries:
        now = _now(place, entry)
        if now.same_content(entry.original):
            continue
        ours = now.same_content(entry.written)
        if not same_release and not (ours and _of_release(place, entry)):
            if ours or not _is_released(place, entry.path, now):
                left.append(entry.path)
            continue
        if not ours:
            changed.append(entry.path)
        changes.append(_change(entry, now))
    if changed and not force:
        raise TreeError(
            f"{counted(len(changed), 'file')} changed after the apply: {_some(changed)}. Nothing was restored.",
            "Keep what you need of them, then run `preflight restore --force`, which puts the release's files there.",
        )
    _verify_kept(store, manifest.entries, {change.path for change in changes})
    carry_out(store, tuple(changes), (), lambda identity, _: replace(manifest, identity=identity, entries=()))
    differing = tuple(e.path for e in manifest.entries if e.path not in left and not _fits(place, e.path))
    return Restored(
        tuple(change.path for change in changes if change.after.kind is not Kind.ABSENT),
        tuple(change.path for change in changes if change.after.kind is Kind.ABSENT),
        tuple(left),
        differing if place.record is not None else (),
        place.record is not None,
    )


def _now(place: Place, entry: Entry) -> State:
    if (problem := folder_problem(place.root, entry.path)) is not None:
        raise TreeError(f"{problem}.", _REINSTALL)
    try:
        return state_of(place.root / entry.path)
    except OSError as error:
        raise TreeError(f"{place.root / entry.path} cannot be replaced: {reason(error)}.", "Move it away.") from None


def _change(entry: Entry, now: State) -> Change:
    original = entry.original
    if original.mtime is not None:
        original = replace(original, mtime=other_second(original.mtime, now.mtime))
    return Change(entry.path, now, original, source=entry.kept, lasting=False)


def _verify_kept(store: Store, entries: tuple[Entry, ...], wanted: set[str]) -> None:
    damaged = []
    for entry in entries:
        if entry.path not in wanted or entry.original.kind is not Kind.FILE:
            continue
        try:
            whole = entry.kept is not None and digest_of(read_bytes(store.kept(entry.kept))) == entry.original.digest
        except FileNotFoundError:
            whole = False
        except OSError as error:
            raise not_written(error, store.root) from error
        if not whole:
            damaged.append(entry.path)
    if damaged:
        raise TreeError(
            f"What {store.folder} kept of {_some(damaged)} is not there or was changed. Nothing was restored.",
            _REINSTALL,
        )


def _of_release(place: Place, entry: Entry) -> bool:
    """True if the kept original is what the RECORD of now says of this path."""
    if place.record is None:
        return False
    row = place.record.entries.get(entry.path)
    if row is None:
        return entry.original.kind is Kind.ABSENT
    if entry.original.kind is not Kind.FILE or entry.original.digest is None:
        return False
    return _hexadecimal(row.algorithm, row.digest) == entry.original.digest


def _hexadecimal(algorithm: str | None, digest: str | None) -> str | None:
    """A sha256 of RECORD (base64 without padding) as hexadecimal digits."""
    import base64
    import binascii

    if algorithm != "sha256" or digest is None:
        return None
    try:
        return base64.urlsafe_b64decode(f"{digest.rstrip('=')}=").hex()
    except binascii.Error:
        return None


def _is_released(place: Place, path: str, now: State) -> bool:
    """True if the file is as the installer wrote it."""
    return place.record is not None and (path in place.record.entries or now.kind is Kind.ABSENT) and _fits(place, path)


def _fits(place: Place, path: str) -> bool:
    """True if RECORD says nothing else of the file; a link is followed, as Python would."""
    row = place.record.entries.get(path) if place.record is not None else None
    file = place.root / path
    if row is None:
        return place.record is None or not file.exists()
    if row.digest is None:
        return file.exists()
    try:
        return matches(row, read_bytes(file))
    except OSError:
        return False


def _some(paths: list[str]) -> str:
    return ", ".join(paths[:_SHOWN]) + (f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else "")
