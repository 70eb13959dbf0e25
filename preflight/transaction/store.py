"""The folder beside the package where preflight keeps what it needs to take patches out again, and its lock.

It is ``<site-packages>/.preflight``: on the file system of the tree, so that a file is moved by a rename; found by
whoever has the tree, in a container image too; and no package, so that nothing imports it. It is there only while
something is applied.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from preflight.errors import PreflightError, TreeError, UsageError
from preflight.transaction.durable import prepare, sync_folder, write_whole
from preflight.transaction.journal import Journal, Manifest, read_journal, read_manifest
from preflight.tree.kinds import JOURNAL, STORE
from preflight.tree.paths import names_in
from preflight.tree.reading import read_bytes, reason

_NO_ROOM = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))

#: A folder that somebody put something into, or removed, or replaced.
_NOT_OURS = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT, errno.ENOTDIR)


@dataclass(frozen=True, slots=True)
class Store:
    """The kept files of the tree at ``root``."""

    root: Path

    @property
    def folder(self) -> Path:
        return self.root / STORE

    @property
    def _manifest(self) -> Path:
        return self.folder / "manifest.json"

    @property
    def _journal(self) -> Path:
        return self.folder / JOURNAL

    def kept(self, name: str) -> Path:
        """Where the kept file ``name`` is."""
        return self.folder / "originals" / name

    def make(self) -> None:
        """Make the folder for kept files. Raises OSError."""
        self.kept("").mkdir(exist_ok=True)

    def manifest(self) -> Manifest | None:
        """What is applied; None if nothing is. Raises TreeError for a manifest that cannot be read."""
        data = _read(self._manifest)
        return None if data is None else read_manifest(data, self._manifest)

    def journal(self) -> Journal | None:
        """The transaction that was not finished. Raises TreeError for a journal that cannot be read."""
        data = _read(self._journal)
        return None if data is None else read_journal(data, self._journal)

    def begin(self, journal: Journal) -> None:
        """Write the journal down. Raises OSError, and then there is none."""
        sync_folder(self.kept(""))
        write_whole(self._journal, _encoded(journal.as_json()))

    def prepare(self, manifest: Manifest) -> Path:
        """The new manifest, ready to be named so by ``settle``. Raises OSError."""
        return prepare(self._manifest, _encoded(manifest.as_json()))

    def settle(self, prepared: Path) -> None:
        """The one step after which the transaction is carried out. Raises OSError if it is not."""
        prepared.replace(self._manifest)
        with contextlib.suppress(OSError):  # it is done, and the next fsync tells of a disk that fails
            sync_folder(self.folder)

    def end(self) -> None:
        """Remove the journal: the transaction is carried out, or taken back. Raises OSError."""
        self._journal.unlink(missing_ok=True)
        sync_folder(self.folder)

    def tidy(self) -> None:
        """Remove what nothing needs, and all of the folder if nothing is applied. Raises OSError and TreeError."""
        if os.path.lexists(self._journal):
            return
        manifest = self.manifest()
        wanted = {entry.kept for entry in manifest.entries} if manifest is not None else set()
        for name in names_in(self.kept("")):
            if name not in wanted:
                self.kept(name).unlink(missing_ok=True)
        for file in (self._manifest, self._journal):
            file.with_name(f"{file.name}.new").unlink(missing_ok=True)
        if manifest is not None and manifest.entries:
            return
        if manifest is not None:
            remove_folders(self.root, manifest.folders)
        with contextlib.suppress(FileNotFoundError):
            self.kept("").rmdir()
        self._manifest.unlink(missing_ok=True)
        (self.folder / "lock").unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # something of somebody else is in it
            self.folder.rmdir()


def remove_folders(root: Path, folders: tuple[str, ...]) -> None:
    """Remove folders that were made for files, if nothing is in them any more. Raises OSError."""
    for folder in sorted(folders, key=lambda path: -path.count("/")):
        try:
            (root / folder).rmdir()
        except OSError as error:
            if error.errno not in _NOT_OURS:
                raise


@contextlib.contextmanager
def locked(root: Path, say: Callable[[str], None]) -> Iterator[Store]:
    """The store of the tree at ``root``, for one process at a time; another one is waited for, and ``say`` is told so.

    The lock goes with the process, however it ends. Raises TreeError if the tree cannot be written to.
    """
    store = Store(root)
    descriptor = _lock(store, say)
    try:
        yield store
    finally:
        with contextlib.suppress(OSError, PreflightError):  # the next one tidies up
            store.tidy()
        os.close(descriptor)


def _lock(store: Store, say: Callable[[str], None]) -> int:
    try:
        import fcntl
    except ImportError:
        raise UsageError(
            "This system has no flock, without which a tree is not written to.", "Run it where vLLM runs."
        ) from None
    while True:
        descriptor = None
        try:
            descriptor = _open_lock(store)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                say(f"another preflight is changing {store.root}: waiting for it (Ctrl-C ends the wait)")
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            # The one before may have removed the file that it had locked.
            if os.path.samestat(os.fstat(descriptor), os.lstat(store.folder / "lock")):
                return descriptor
        except FileNotFoundError:
            if not store.root.is_dir():
                raise TreeError(f"{store.root} is not there any more.", "Run preflight again.") from None
        except OSError as error:
            if descriptor is not None:
                os.close(descriptor)
            raise not_written(error, store.root) from None
        except BaseException:
            if descriptor is not None:
                os.close(descriptor)
            raise
        if descriptor is not None:
            os.close(descriptor)


def _open_lock(store: Store) -> int:
    with contextlib.suppress(FileExistsError):
        store.folder.mkdir()
    if not stat.S_ISDIR(os.lstat(store.folder).st_mode):
        raise TreeError(
            f"{store.folder} is no folder of preflight's.", "Move it away: preflight keeps originals there."
        )
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    return os.open(store.folder / "lock", flags, 0o644)


def not_written(error: OSError, root: Path) -> TreeError:
    """The sentence for a tree that cannot be written to, and is as it was."""
    file = error.filename if isinstance(error.filename, str) else os.fspath(root)
    if error.errno in _NO_ROOM:
        return TreeError(
            f"{file} cannot be written: there is no room for it ({error.strerror}); the tree is as it was.",
            "Make room on that file system, or raise the quota or limit.",
        )
    return TreeError(
        f"{file} cannot be written: {_why(error)}; the tree is as it was.",
        "Run preflight as the owner of the environment, on a file system that is not mounted read-only.",
    )


def _why(error: OSError) -> str:
    if error.errno in (errno.EACCES, errno.EPERM):
        return "you have no permission to write there"
    text = error.strerror or str(error)
    return text[:1].lower() + text[1:]


def _read(file: Path) -> bytes | None:
    try:
        return read_bytes(file)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise TreeError(f"{file} cannot be read: {reason(error)}.", "Run preflight as the one who applied.") from None


def _encoded(table: object) -> bytes:
    import json

    return f"{json.dumps(table, indent=1)}\n".encode()
