"""The transaction: all files of it change, or none does, whatever ends the process and whenever.

1. What is there is kept (``originals/``), and the journal says what will be changed.
2. Every new content is written beside the file that it will replace. Nothing has changed for a reader yet.
3. The files are replaced, one rename each. A link is replaced, not followed, and so is a hard link: what another
   environment or an installer's cache shares with the tree keeps its content.
4. The new manifest is renamed into its place: from here on the transaction is carried out. The journal goes.

Who finds a journal whose identity is not that of the manifest takes the transaction back. That needs no room on the
disk: the kept files are renamed back.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from preflight.errors import PreflightError, TreeError
from preflight.transaction.bytecode import forget_bytecode, other_second
from preflight.transaction.durable import sync_folder, write_new
from preflight.transaction.journal import Journal, Manifest, Step
from preflight.transaction.state import Kind, State, digest_of, state_of
from preflight.transaction.store import Store, locked, not_written, remove_folders
from preflight.tree.reading import read_bytes


@dataclass(frozen=True, slots=True)
class Change:
    """What a transaction makes of one file. A new content is ``data``, or that of the kept file ``source``.

    ``lasting``: what was there will be the kept original of this file, so it must be a file of its own.
    """

    path: str
    before: State
    after: State
    data: bytes | None = None
    source: str | None = None
    lasting: bool = True


@contextlib.contextmanager
def opened(root: Path, say: Callable[[str], None]) -> Iterator[Store]:
    """The locked store of a tree, with no transaction under way: one that was interrupted is ended first, and ``say``
    is told so. Raises TreeError."""
    with locked(root, say) as store:
        if (sentence := recover(store)) is not None:
            say(sentence)
        yield store


def carry_out(
    store: Store,
    changes: tuple[Change, ...],
    folders: tuple[str, ...],
    manifest: Callable[[str, Mapping[str, str | None]], Manifest],
) -> None:
    """Change all files, or none. ``folders`` are made before; ``manifest`` gives the new one, of the identity of the
    transaction and the names of the kept files by path.

    Raises TreeError, with the tree as it was.
    """
    journal = _journal(changes, folders)
    try:
        store.make()
        for change, step in zip(changes, journal.steps, strict=True):
            _keep(store, change, step)
        store.begin(journal)
        for folder in folders:
            _make_folder(store.root / folder)
        for change, step in zip(changes, journal.steps, strict=True):
            _stage(store, change, step)
        kept = {step.path: step.kept for step in journal.steps}
        prepared = store.prepare(manifest(journal.identity, kept))
        for step in journal.steps:
            _swap(store, step)
        for folder in {(store.root / step.path).parent for step in journal.steps}:
            sync_folder(folder)
        store.settle(prepared)
    except BaseException as error:
        _give_up(store, error)
        if isinstance(error, OSError):
            raise not_written(error, store.root) from error
        raise
    with contextlib.suppress(OSError):  # it is carried out; the next one removes the journal
        store.end()


def recover(store: Store) -> str | None:
    """End a transaction that was interrupted. Returns a sentence that says how; None if there was none.

    Raises TreeError if it cannot be taken back; the journal stays, for the next one to try again.
    """
    journal = store.journal()
    if journal is None:
        return None
    manifest = store.manifest()
    try:
        if manifest is not None and manifest.identity == journal.identity:
            store.end()
            return "an apply or restore that was interrupted had written every file: it is finished"
        left = _take_back(store, journal)
        store.end()
    except OSError as error:
        raise TreeError(
            f"{error.filename or store.root} cannot be written: {error.strerror or error}, so an apply or restore that "
            f"was interrupted cannot be ended; {store.folder} has what is needed for it.",
            f"Set that right and run preflight again: preflight restore --vllm-site-packages {store.root}",
        ) from error
    sentence = "an apply or restore that was interrupted is taken back"
    return f"{sentence}; somebody changed {', '.join(left)} since: left as it is" if left else sentence


def _give_up(store: Store, error: BaseException) -> None:
    """Take back what a failure interrupted; if that fails too, that is what the user must know."""
    try:
        recover(store)
    except PreflightError as worse:
        raise worse from error


def _journal(changes: tuple[Change, ...], folders: tuple[str, ...]) -> Journal:
    identity = os.urandom(8).hex()
    steps = tuple(
        Step(
            change.path,
            change.before,
            change.after,
            f"{identity}-{number}" if change.before.kind is Kind.FILE else None,
            f".preflight-{identity}-{number}",
        )
        for number, change in enumerate(changes)
    )
    return Journal(identity, steps, folders)


def _keep(store: Store, change: Change, step: Step) -> None:
    if step.kept is None:
        return
    file, kept = store.root / step.path, store.kept(step.kept)
    with _about(file):
        if change.lasting:
            _copy(file, kept, change.before)
        else:
            _link_or_copy(file, kept, change.before)


def _make_folder(folder: Path) -> None:
    folder.mkdir()
    like = folder.parent.stat()
    with contextlib.suppress(PermissionError):
        os.chown(folder, like.st_uid, like.st_gid)
    folder.chmod(like.st_mode & 0o7777)


def _stage(store: Store, change: Change, step: Step) -> None:
    file = store.root / step.path
    part = file.with_name(step.part)
    after = step.after
    with _about(file):
        if after.kind is Kind.LINK:
            assert after.target is not None, "a link leads somewhere"
            part.symlink_to(after.target)
        elif after.kind is Kind.FILE and change.data is not None:
            write_new(part, change.data, after.mode or 0o644, mtime=after.mtime, like=_owner(file))
        elif after.kind is Kind.FILE:
            assert change.source is not None, "a new content comes from somewhere"
            _link_or_copy(store.kept(change.source), part, after)
            if after.mtime is not None:
                os.utime(part, ns=(after.mtime, after.mtime))


def _swap(store: Store, step: Step) -> None:
    file = store.root / step.path
    if not state_of(file).same_content(step.before):
        raise _changed(file)
    forget_bytecode(file)
    if step.after.kind is Kind.ABSENT:
        file.unlink()
    else:
        _rename(file.with_name(step.part), file)


def _take_back(store: Store, journal: Journal) -> list[str]:
    """Make every file what it was. Returns the paths of those that are neither what they were nor what was written."""
    left: list[str] = []
    for step in reversed(journal.steps):
        file = store.root / step.path
        part = file.with_name(step.part)
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            part.unlink()
        now = _state_or_none(file)
        if now is not None and now.same_content(step.before):
            continue
        if now is None or not now.same_content(step.after):
            left.append(step.path)
            continue
        forget_bytecode(file)
        if step.before.kind is Kind.ABSENT:
            file.unlink()
        elif step.before.kind is Kind.LINK:
            assert step.before.target is not None, "a link leads somewhere"
            part.symlink_to(step.before.target)
            _rename(part, file)
        else:
            assert step.kept is not None, "what a file had is kept"
            _put_back(store.kept(step.kept), part, file, step.before)
        sync_folder(file.parent)
    remove_folders(store.root, journal.folders)
    return left


def _state_or_none(file: Path) -> State | None:
    """What is at ``file``; None for what can be neither what was there nor what was written."""
    try:
        return state_of(file)
    except OSError:
        return None


def _put_back(kept: Path, part: Path, file: Path, before: State) -> None:
    try:
        with _about(file):
            kept.replace(file)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        _copy(kept, part, before)  # a folder of the package is another file system
        _rename(part, file)


def _rename(part: Path, file: Path) -> None:
    with _about(file):
        part.replace(file)


@contextlib.contextmanager
def _about(file: Path) -> Iterator[None]:
    """Lets an error name the file that is meant, not the temporary one beside it or the kept one."""
    try:
        yield
    except OSError as error:
        error.filename = os.fspath(file)
        raise


def _link_or_copy(source: Path, target: Path, state: State) -> None:
    """A second name for a file that nobody writes into, which takes no room; a copy where that cannot be."""
    try:
        target.hardlink_to(source)
    except OSError:
        _copy(source, target, state)


def _copy(source: Path, target: Path, state: State) -> None:
    data = read_bytes(source)
    if digest_of(data) != state.digest:
        raise _changed(source)
    write_new(target, data, state.mode or 0o644, mtime=state.mtime, like=source.stat())


def _changed(file: Path) -> TreeError:
    return TreeError(
        f"{file} was changed by somebody else meanwhile; the tree is as it was before.", "Run preflight again."
    )


def written_at(now: int, before: State) -> int:
    """The time that new content is given, so that no byte code of what was there before is taken for its own."""
    return other_second(now, before.mtime)


def _owner(file: Path) -> os.stat_result:
    """The one whom a new file should belong to: the owner of the file that it replaces, else of its folder."""
    try:
        return os.lstat(file)
    except FileNotFoundError:
        return file.parent.stat()
