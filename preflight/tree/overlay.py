"""Lays files and diffs over a tree in memory: ``--overlay`` and the PATH arguments, in the order they are given."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from preflight.errors import TreeError, UsageError
from preflight.model import Undecided
from preflight.tree.diff import Applied, Why, apply, read_diff
from preflight.tree.gather import Given, Selection, gather
from preflight.tree.kinds import PACKAGE, EntryPoint, OutsideFile, SourceUnreadable, counted
from preflight.tree.paths import absolute, is_file
from preflight.tree.placing import Places
from preflight.tree.reading import read_bytes
from preflight.tree.record import is_compiled
from preflight.tree.series import in_order, is_diff, is_series, unused
from preflight.tree.tree import Tree

#: A file that shares less of its lines with the tree's file of the same bare name is no patched copy of it ...
_COMMON = 0.05
#: ... where the tree's file has so many bytes that a patched copy must share some.
_TELLING = 2000
#: A module of another package is a patched copy only if it has so many of its lines from the tree's file.
_COPY = 0.5
#: A larger file beside a patch script is none that it copies into the tree.
_LIMIT = 16 << 20


def lay_over(
    tree: Tree,
    overlays: Sequence[str],
    paths: Sequence[str],
    selection: Selection,
    *,
    only_patched: bool = False,
    option: str = "--overlay",
) -> Tree:
    """``tree`` with all that is given laid over it; its ``selected`` and ``outside`` say what the user asked for:
    of the tree's own files that a PATH names, all, or those of the patched set if ``only_patched``. ``option`` is how
    the user gave the overlays.

    Raises TreeError for a path that cannot be read and for a diff that does not apply, UsageError for an overlay that
    has nothing that could be laid over.
    """
    work = _Work(tree, option)
    once: set[Path] = set()
    for given in overlays:
        files, changed = gather(given, option, selection)
        once.update(file.file for file in files)
        work.overlay(given, files, changed)
    for given in paths:
        inside = inside_tree(given, tree.root)
        if inside is not None:
            work.select(given, inside)
            continue
        files, changed = gather(given, "PATH", selection)
        rest = [file for file in files if file.file not in once]
        if rest or not files:  # else all of it is laid over already, by an overlay
            work.path(given, rest, changed)
    return work.done(limited=selection.limited, only_patched=only_patched or selection.limited)


def inside_tree(given: str, root: Path) -> str | None:
    """The tree's own path (``""`` for its root) that a PATH names; None if it names something else."""
    path = absolute(given)
    for place, top in ((path, root), (Path(os.path.realpath(path)), Path(os.path.realpath(root)))):
        if place == top:
            return ""
        if place.is_relative_to(top / PACKAGE):
            return place.relative_to(top).as_posix()
    return None


@dataclass
class _Work:
    """The tree while things are laid over it."""

    tree: Tree
    option: str  #: how the user gave the overlays
    laid: set[str] = field(default_factory=set)  #: paths of overlays that the user asked for
    picked: set[str] | None = None  #: files of the tree itself that the user asked for
    outside: dict[str, OutsideFile] = field(default_factory=dict)
    packages: set[str] = field(default_factory=set)  #: folders of the PATH at hand that are Python packages
    entry_points: dict[EntryPoint, None] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    aside: list[str] = field(default_factory=list)
    undecided: list[Undecided] = field(default_factory=list)

    def overlay(self, given: str, files: Sequence[Given], changed: frozenset[Path]) -> None:
        """``--overlay``: a diff, a folder of diffs, a file, or a folder of files."""
        places = Places(tuple(self.tree.files()))
        diffs = [file for file in files if file.is_diff or (len(files) == 1 and is_diff(file))]
        placed: dict[str, Given] = {}
        rest: list[Given] = []
        whole = any(file.parts[0] == PACKAGE and len(file.parts) > 1 for file in files)
        for file in files:
            if file.is_diff or file in diffs:
                continue
            path = _mirrored(file, places, whole) or _bare(file, places)
            if path is None or not _can_be_laid(path):
                rest.append(file)
                if path is not None and is_compiled(path):
                    self.aside.append(path)
            else:
                placed[path] = file
        if diffs and placed:
            raise UsageError(
                f"{self.option} {given} holds diffs ({diffs[0].file.name}) and files of the tree "
                f"({next(iter(placed))}): which are laid over first is not clear.",
                f"Give them one after the other: {self.option} FOLDER_OF_FILES, then {self.option} FOLDER_OF_DIFFS.",
            )
        if not diffs and not placed:
            raise UsageError(
                f"{self.option} {given} has nothing that could be laid over the tree: no diff, and no file whose path "
                f"from a {PACKAGE}/ folder on, or whose bare name, is one of the tree.",
                f"Lay the files out as in the tree: {PACKAGE}/model_executor/models/NAME.py.",
            )
        for file in in_order(diffs, files):
            self._apply(file, file.file in changed)
        self._lay(placed, changed)
        if others := [file.file.name for file in rest if file.file.suffix == ".py"]:
            self.notes.append(
                f"{self.option} {given} has {counted(len(others), 'Python file')} that mirror no path of the tree "
                f"({others[0]}): not laid over it."
            )

    def path(self, given: str, files: Sequence[Given], changed: frozenset[Path]) -> None:
        """A PATH of a patch repository: overlays by their place or their name, the rest is code that uses the tree."""
        places = Places(tuple(self.tree.files()))
        placed: dict[str, Given] = {}
        rest: list[Given] = []
        tops: set[tuple[str, ...]] = set()
        names = {file.name for file in files}
        self.packages = {name.rpartition("/")[0] for name in names if name.endswith("/__init__.py")}
        for file in files:
            path = places.mirrored(file.places)
            if path is not None and _can_be_laid(path) and not _is_inside_package(file, path, names):
                placed[path] = file
                tops.add(file.places[: -len(path.split("/"))])
            else:
                rest.append(file)
        self._lay(placed, changed)
        found = bool(placed)
        scripts, copied = self._follow([file for file in rest if file.file in changed], files)
        if scripts:
            places = Places(tuple(self.tree.files()))
        diffs: list[Given] = []
        placed = {}
        for file in rest:
            path = _added(file, tops, places)
            if path is not None and _can_be_laid(path) and not _is_inside_package(file, path, names):
                placed[path] = file
            elif file.name in copied:
                continue
            elif file.is_diff:
                if file.file in changed and file.name not in scripts:
                    diffs.append(file)
            elif (
                file.file.suffix == ".py"
                and (file.name in scripts or not self._is_bare_copy(file, places, placed))
                and file.file in changed
            ):
                self.outside[file.name] = OutsideFile(file.name, "" if file.staged else str(file.file), file.data)
        if diffs and diffs[0].file == absolute(given):
            self._apply(diffs[0], diffs[0].file in changed)
        elif diffs and not (found or placed) and is_series(series := unused(files, scripts), places):
            for file in in_order(series, [replace(one, parts=one.parts[-1:]) for one in files]):
                self._apply(file, file.file in changed)
        elif diffs:
            self.undecided.append(
                Undecided(
                    "diff-not-laid-over",
                    f"{given} has {counted(len(diffs), 'diff')} ({diffs[0].name}) that no --overlay names: what the "
                    "tree is with them was not checked.",
                    diffs[0].name,
                    count=len(diffs),
                )
            )
        if not (found or placed or diffs or scripts) and not any(file.file.suffix == ".py" for file in files):
            self.undecided.append(
                Undecided(
                    "path-without-python",
                    f"PATH {given} holds no Python file and no diff: nothing of it was checked.",
                    decisive=True,
                )
            )
        self._lay(placed, changed)
        if self.outside:
            from preflight.tree.plugin_entries import entry_points

            self.entry_points.update(dict.fromkeys(entry_points(absolute(given), files)))

    def _follow(self, asked: Sequence[Given], files: Sequence[Given]) -> tuple[frozenset[str], frozenset[str]]:
        """Follow the patch scripts among the files that the user asked for, and lay over the tree what they write;
        returns the names of what is a script or is run by one, and of what is copied into the tree."""
        if not any(b"vllm" in file.data for file in asked):
            return frozenset(), frozenset()
        from preflight.tree.scripts.files import Files
        from preflight.tree.scripts.reading import follow_scripts, is_shell_or_docker, may_patch

        shells = [file for file in asked if is_shell_or_docker(file)]
        scripts = [
            file
            for file in asked
            if file.file.suffix == ".py" and file.name.rpartition("/")[0] not in self.packages and may_patch(file.data)
        ]
        if not shells and not scripts:
            return frozenset(), frozenset()
        known = {file.name: file.data for file in files}
        lookup = _lookup(files, known)
        found = follow_scripts(self.tree, shells, scripts, known, lookup)
        changes = {path: data for path, data in found.writes.items() if _can_be_laid(path)}
        if changes:
            self.tree = self.tree.with_overlay(changes, marks=found.marks)
            self.laid.update(changes)
        self.tree = replace(self.tree, script_failures=(*self.tree.script_failures, *found.failures))
        self.undecided += [
            Undecided(
                "patch-script-not-followed",
                f"What {script} does to the tree was not checked: {why}.",
                script,
                line,
                decisive=True,
            )
            for script, why, line in found.given_up
        ]
        for diff, applied in found.diffs:
            self._diff_done(diff.name, applied, True)
        for diff in found.loose:
            self._diff_laid(diff.name, diff.applied(Files(self.tree, lookup)), True)
        names = {*(file.name for file in shells), *(diff.name for diff, _ in found.diffs)}
        return frozenset({*found.scripts, *names, *(diff.name for diff in found.loose)}), frozenset(found.used)

    def select(self, given: str, inside: str) -> None:
        """A PATH that points into the tree itself."""
        top = f"{inside}/" if inside else f"{PACKAGE}/"
        known = {*self.tree.files(), *(file.path for file in self.tree.facts.patched)}  # a missing file can be named
        found = [path for path in known if path == inside or path.startswith(top)]
        if not found:
            raise TreeError(f"PATH {given}: the tree has no such file or folder.", "Name a file that is there.")
        self.picked = (self.picked or set()).union(found)

    def done(self, *, limited: bool, only_patched: bool) -> Tree:
        """The tree, with what was asked for."""
        selected: set[str] | None = None
        patched = {file.path for file in self.tree.facts.patched}
        if self.picked is not None:
            selected = (self.picked & patched if only_patched else self.picked) | self.laid
        elif limited:
            selected = self.laid & patched
        return replace(
            self.tree,
            selected=None if selected is None else tuple(sorted(selected)),
            outside=(*self.tree.outside, *self.outside.values()),
            entry_points=(*self.tree.entry_points, *self.entry_points),
            notes=(*self.tree.notes, *self.notes),
            aside=tuple(self.aside),
            undecided=(*self.tree.undecided, *self.undecided),
        )

    def _is_bare_copy(self, file: Given, places: Places, placed: dict[str, Given]) -> bool:
        """Lays a file over the path that alone has its name, if the two have more in common than the name."""
        path = _bare(file, places)
        if path is None or file.file.name == "__init__.py":
            return False
        theirs = _read(self.tree, path)
        in_package = file.name.rpartition("/")[0] in self.packages
        if in_package and (len(theirs) <= _TELLING or _common(theirs, file.data) < _COPY):
            return False  # a module of the package that has the name of one of vLLM's
        if len(theirs) > _TELLING and _common(theirs, file.data) < _COMMON:
            self.notes.append(
                f"{file.file.name} has the name of {path} but little of its text: it is taken for code that uses the "
                f"tree (--overlay {file.file.name} lays it over)."
            )
            return False
        placed.setdefault(path, file)
        return True

    def _lay(self, placed: dict[str, Given], changed: frozenset[Path]) -> None:
        if placed:
            self.tree = self.tree.with_overlay(
                {path: file.data for path, file in placed.items()},
                origins={path: file.file for path, file in placed.items() if not file.staged},
            )
            self.laid.update(path for path, file in placed.items() if file.file in changed)

    def _apply(self, file: Given, asked: bool) -> None:
        """Lays a diff over the tree; what of it does not apply exactly is kept among the tree's failures."""
        applied = apply(
            read_diff(file.data, file.name),
            file.name,
            Places(tuple(self.tree.files())).of_diff,
            lambda path: _existing(self.tree, path),
            lambda path: self.tree.marks.get(path, ()),
        )
        self._diff_laid(file.name, applied, asked)

    def _diff_laid(self, name: str, applied: Applied, asked: bool) -> None:
        changes = {path: data for path, data in applied.changes.items() if _can_be_laid(path)}
        self.tree = self.tree.with_overlay(changes, marks=applied.marks)
        self._diff_done(name, applied, asked)

    def _diff_done(self, name: str, applied: Applied, asked: bool) -> None:
        """Keep what is to be said of a diff that was laid over the tree."""
        # of a file that an earlier diff failed on, nothing can be said
        failed = {failure.path for failure in self.tree.failures if failure.why is not Why.APPLIED}
        absent = [failure.path for failure in applied.failures if failure.path in self.tree.absent]
        failures = [f for f in applied.failures if f.path not in self.tree.absent and f.path not in failed]
        self.tree = replace(self.tree, failures=(*self.tree.failures, *failures))
        if asked:
            self.laid.update(path for path in applied.changes if _can_be_laid(path))
        places = Places(tuple(self.tree.files()))
        self.aside += [path for left in applied.skipped if (path := places.of_diff([left])) is not None]
        self.aside += [path for path in applied.changes if is_compiled(path)]
        if aside := [*applied.skipped, *absent]:
            self.notes.append(
                f"{name} also changes {counted(len(aside), 'file')} ({aside[0]}) not checked here: not in the tree's "
                f"{PACKAGE}/, or not text."
            )


def _lookup(files: Sequence[Given], known: Mapping[str, bytes]) -> Callable[[str], bytes | None]:
    """Finds files of the repository by name: those that were gathered, then (if git's index is not what counts) those
    that are beside them."""
    first = files[0]
    top = Path(str(first.file)[: -len(first.name)]) if str(first.file).endswith(first.name) else None

    def look(name: str) -> bytes | None:
        if name in known or first.staged or top is None or ".." in name.split("/"):
            return known.get(name)
        try:
            return read_bytes(top / name, _LIMIT)
        except (OSError, ValueError):
            return None

    return look


def _mirrored(file: Given, places: Places, whole: bool) -> str | None:
    """The path of a file of ``--overlay``, by the folders it is in: its repository's, or from the folder given on,
    whose own name counts too unless it holds a ``whole`` package."""
    below = file.parts if whole else file.file.parts[-len(file.parts) - 1 :]
    for parts in (file.places, below):
        if (path := places.mirrored(parts) or _new(places.inside(parts), places)) is not None:
            return path
    return None


def _bare(file: Given, places: Places) -> str | None:
    """The path that alone has the file's name, for a file that was given without a folder of its own."""
    return places.named(file.file.name) if len(file.parts) == 1 else None


def _new(path: str | None, places: Places) -> str | None:
    """``path`` if it can be a file that is added to the tree: a module anywhere, another file beside those of it."""
    return path if path is not None and (path.endswith(".py") or places.has_folder(path)) else None


def _added(file: Given, tops: set[tuple[str, ...]], places: Places) -> str | None:
    """The path of a file that the tree does not have: beside files that mirror the tree, or in a folder of it."""
    parts = file.places
    for top in tops:
        if parts[: len(top) + 1] == (*top, PACKAGE):
            return _new("/".join(parts[len(top) :]), places)
    path = places.inside(file.name.split("/"))
    return path if path is not None and path.count("/") > 1 and places.has_folder(path) else None


def _is_inside_package(file: Given, path: str, names: set[str]) -> bool:
    """Whether the ``vllm`` folder that a file is in belongs to another package (``plugin/integration/vllm/...``)."""
    above = file.name.split("/")[: -path.count("/") - 1]
    if "/".join((*above, "__init__.py")) in names:
        return bool(above)
    folder = file.file.parents[path.count("/")]
    return not file.staged and is_file(folder / "__init__.py")


def _can_be_laid(path: str) -> bool:
    return not is_compiled(path) and not path.endswith((".pyc", ".pyo"))


def _common(ours: bytes, theirs: bytes) -> float:
    """The part of the distinct lines of ``ours`` that ``theirs`` has too."""
    lines = {line for line in map(bytes.strip, ours.splitlines()) if line}
    return len(lines.intersection(map(bytes.strip, theirs.splitlines()))) / len(lines) if lines else 1.0


def _existing(tree: Tree, path: str) -> bytes | None:
    return tree.read(path) if tree.exists(path) else None


def _read(tree: Tree, path: str) -> bytes:
    try:
        return tree.read(path)
    except SourceUnreadable:
        return b""
