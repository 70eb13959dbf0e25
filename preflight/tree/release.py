"""A released vLLM (or transformers) as a tree: only its sources, out of the package index, kept in the user's cache.

Nothing is half there: files are fetched into a folder of parts, each is checked against the hash in RECORD, and the
folder gets its name by one rename. What was fetched before an interruption is used by the next run.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from preflight.errors import FetchError, TreeError
from preflight.tree.cache import (
    STAMP,
    cached_release,
    cached_versions,
    facts_of,
    is_source,
    is_whole,
    locked,
    not_writable,
    note_facts,
    releases_folder,
)
from preflight.tree.distinfo import Distribution, normalized
from preflight.tree.patched import matches
from preflight.tree.paths import exists, is_folder
from preflight.tree.reading import read_bytes

if TYPE_CHECKING:
    from datetime import datetime

    from preflight.tree.index import Wheel
    from preflight.tree.ranges import OpenWheel
    from preflight.tree.record import Entry, Record
    from preflight.tree.web import Web

#: No module of Python source is larger.
_MEMBER = 64 << 20


def fetch_release(
    name: str,
    version: str,
    *,
    progress: bool = False,
    verify: bool = False,
    environ: Mapping[str, str] | None = None,
) -> Path:
    """The folder that holds the sources and the dist-info of a release.

    ``version`` is a version (``0.16.0``) or a range (``0.16.*``: the newest). A release that is in the cache is used
    without a network; ``verify`` checks every byte of it. ``progress`` shows a bar on standard error.
    Raises FetchError.
    """
    version = version.strip()
    if version and (folder := _kept(name, version, verify)) is not None:
        return folder
    web = _web(environ)
    from preflight.tree.index import choose, wheels

    wheel = choose(name, version, wheels(name, web))
    folder = releases_folder() / f"{normalized(name)}-{wheel.version}"
    if is_folder(folder) and is_whole(folder, name, every_byte=verify):
        return folder
    with locked(folder.name) as parts:
        if not (is_folder(folder) and is_whole(folder, name, every_byte=verify)):
            _fetch(name, wheel, web, parts, folder, progress)
    return folder


def fetch_requirement(
    name: str, of: Distribution, *, progress: bool = False, environ: Mapping[str, str] | None = None
) -> tuple[Path | None, str]:
    """The release of ``name`` that a kept release ``of`` asks for (Requires-Dist), and a sentence that says which.

    It is the newest that is allowed and not yanked; where the metadata sets no upper bound, the newest of the time when
    ``of`` was published, which is what it was made with. The choice is written down, so it needs a network only once.
    Raises FetchError.
    """
    folder = of.folder.parent
    version, _, specifier = str(facts_of(folder).get(f"requires {name}", "")).partition(" ")
    if version and (kept := _kept(name, version, False)) is not None:
        return kept, _said(name, version, specifier, of)
    required = _specifier(name, of)
    if required is None:
        return None, f"vLLM {of.version} does not require {name}, so none is looked at."
    web = _web(environ)
    from packaging.specifiers import SpecifierSet

    from preflight.tree.index import wheels

    found = [wheel for wheel in wheels(name, web) if not wheel.yanked]
    allowed = SpecifierSet(required)
    if not any(s.operator in ("<", "<=", "==", "===", "~=") for s in allowed):
        found = _until(_uploaded(of, web), found) or found
    versions = list(allowed.filter(wheel.version for wheel in found))
    if not versions:
        raise FetchError(
            f"No release of {name} is what vLLM {of.version} asks for ({required}).",
            "Name an environment that has one: --python /path/to/environment/bin/python.",
        )
    version = str(max(versions))
    fetched = fetch_release(name, version, progress=progress, environ=environ)
    note_facts(folder, {f"requires {name}": f"{version} {required}"})
    return fetched, _said(name, version, required, of)


def _kept(name: str, version: str, verify: bool) -> Path | None:
    """The release if it is in the cache and whole, under this spelling of its version or another."""
    folder = cached_release(name, version)
    if folder is None and version[:1].isalnum() and "*" not in version:
        folder = _respelled(name, version)
    return folder if folder is not None and is_whole(folder, name, every_byte=verify) else None


def _respelled(name: str, version: str) -> Path | None:
    """``0.16`` and ``v0.16.0`` are ``0.16.0``."""
    from packaging.version import InvalidVersion, Version

    try:
        wanted = Version(version)
        return next((cached_release(name, v) for v in cached_versions(name) if Version(v) == wanted), None)
    except InvalidVersion:
        return None


def _web(environ: Mapping[str, str] | None) -> Web:
    from preflight.tree.pipconfig import pip_config
    from preflight.tree.web import Web

    return Web(pip_config(os.environ if environ is None else environ))


def _fetch(name: str, wheel: Wheel, web: Web, parts: Path, folder: Path, progress: bool) -> None:
    """Fetches into ``parts`` what is not there yet, and gives it its name. Raises FetchError."""
    from preflight.tree.progress import Progress
    from preflight.tree.ranges import OpenWheel

    opened = OpenWheel(wheel, web)
    try:
        record = _record(opened, wheel, parts)
        wanted = [info for info in opened.members() if is_source(info.filename) and info.filename in record.entries]
        sources = {info.filename for info in wanted}
        lost = [
            path for path, entry in record.entries.items() if is_source(path) and entry.digest and path not in sources
        ]
        if lost:
            raise _bad(wheel, f"its RECORD names {lost[0]}, which it does not hold")
        for info in wanted:
            if info.file_size > _MEMBER:
                raise _bad(wheel, f"{info.filename} is {info.file_size >> 20} MiB large")
        missing = [info for info in wanted if not _is_there(parts, record.entries[info.filename])]
        spans = opened.spans(missing)
        bar = Progress(f"{name} {wheel.version}", sum(span.end - span.start for span in spans), shown=progress)
        try:
            for span, contents in opened.read(spans):
                for path, data in contents.items():
                    entry = record.entries[path]
                    if entry.digest and not matches(entry, data):
                        raise _bad(wheel, f"{path} is not what its RECORD says")
                    _write(parts, path, data)
                bar.add(span.end - span.start)
        finally:
            bar.close()
        _publish(parts, folder)
    except OSError as error:
        raise not_writable(error) from None


def _record(opened: OpenWheel, wheel: Wheel, parts: Path) -> Record:
    """The wheel's RECORD, which is read first: it says what the rest has to be. It is written among the parts."""
    from preflight.tree.record import parse_record

    members = opened.members()
    found = [i for i in members if i.filename.count("/") == 1 and i.filename.endswith(".dist-info/RECORD")]
    if len(found) != 1 or found[0].file_size > _MEMBER:
        raise _bad(wheel, "it has no RECORD, so what is in it cannot be checked")
    path = found[0].filename
    [(_, contents)] = opened.read(opened.spans(found))
    try:
        record = parse_record(contents[path], Path(path))
    except TreeError as error:
        raise _bad(wheel, error.message.rstrip(".")) from None
    if record.outside:
        raise _bad(wheel, f"its RECORD names {record.outside[0].path}, which is outside of it")
    _write(parts, path, contents[path])
    return record


def _is_there(parts: Path, entry: Entry) -> bool:
    try:
        return matches(entry, read_bytes(parts / entry.path))
    except OSError:
        return False


def _write(parts: Path, path: str, data: bytes) -> None:
    """Writes a member. Its path is one of RECORD's, which do not climb; folders on the way are real ones."""
    file = parts.joinpath(*PurePosixPath(path).parts)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    os.utime(file, (STAMP, STAMP))


def _publish(parts: Path, folder: Path) -> None:
    """Gives the whole release its name. A damaged one that had it is put away first."""
    if exists(folder):
        away = folder.with_name(f".{folder.name}.damaged-{os.getpid()}")
        folder.rename(away)
        shutil.rmtree(away, ignore_errors=True)
    try:
        parts.rename(folder)
    except OSError:
        if not is_folder(folder):  # else another run, on a file system without locks, was quicker with the same content
            raise
        with contextlib.suppress(OSError):
            shutil.rmtree(parts)


def _specifier(name: str, of: Distribution) -> str | None:
    """What ``of`` requires of ``name`` unconditionally; ``""`` for any version, None if it does not require it."""
    from packaging.requirements import InvalidRequirement, Requirement

    for text in of.requires:
        with contextlib.suppress(InvalidRequirement):
            requirement = Requirement(text)
            if normalized(requirement.name) == normalized(name) and "extra" not in str(requirement.marker or ""):
                return str(requirement.specifier)
    return None


def _uploaded(of: Distribution, web: Web) -> datetime | None:
    """When a kept release was uploaded, as far as the index tells times."""
    from preflight.tree.index import choose, wheels

    name, _, version = of.folder.parent.name.partition("-")
    try:
        return choose(name, version, wheels(name, web)).uploaded
    except FetchError:  # it is not on this index any more
        return None


def _until(moment: datetime | None, found: list[Wheel]) -> list[Wheel]:
    """The wheels that were there at a moment."""
    if moment is None:
        return []
    return [wheel for wheel in found if wheel.uploaded is not None and wheel.uploaded <= moment]


def _said(name: str, version: str, specifier: str, of: Distribution) -> str:
    asked = f"{name} {specifier or 'in any version'}"
    return f"{name} {version} was taken from the package index: vLLM {of.version} asks for {asked}."


def _bad(wheel: Wheel, what: str) -> FetchError:
    return FetchError(
        f"The wheel {wheel.filename} is not taken: {what}.",
        "Try again; if it stays so, the index (or a proxy in between) has a broken file.",
    )
