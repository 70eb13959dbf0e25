"""The files that a patch script sees: the tree's under any site-packages that it may name, and the repository's."""

from __future__ import annotations

import fnmatch
import posixpath
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from preflight.tree.kinds import PACKAGE, SourceUnreadable
from preflight.tree.placing import Places
from preflight.tree.tree import Tree

if TYPE_CHECKING:
    from preflight.tree.diff import Applied, Marks
    from preflight.tree.scripts.diffs import GivenDiff

#: Stand for folders whose place nobody knows here: site-packages, the repository, and what the script was given.
TREE = "/\ue000tree"
REPOSITORY = "/\ue000repository"
ANYWHERE = "/\ue000anywhere"

#: Gives the content of a file of the repository by its name; None if it has none.
Lookup = Callable[[str], "bytes | None"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a path leads: ``tree`` is the path of the tree that it means (there or not), else it is not of the tree."""

    text: str
    tree: str | None


@dataclass(frozen=True, slots=True)
class Saved:
    """What scripts had done at a moment."""

    written: dict[str, bytes | None]
    marks: dict[str, Marks]
    diffs: tuple[tuple[GivenDiff, Applied], ...]
    broken: frozenset[str]


class Files:
    """The tree and the repository, with what the script has written so far."""

    def __init__(self, tree: Tree, lookup: Lookup) -> None:
        self._tree = tree
        self._lookup = lookup
        self.names = tuple(tree.files())
        self._places = Places(self.names)
        self.version = tree.facts.vllm
        self.written: dict[str, bytes | None] = {}
        self.marks: dict[str, Marks] = {}  #: of files that diffs have changed, which line of a diff made each line
        self.diffs: list[tuple[GivenDiff, Applied]] = []  #: the diffs that were applied, in order
        self.broken: set[str] = set()  #: files that a diff did not apply to: nobody knows what they should be
        self._elsewhere: dict[str, bytes | None] = {}

    def place(self, text: str) -> Place:
        """Where ``text`` leads."""
        text = posixpath.normpath(text)
        if text == TREE or text.startswith(TREE + "/"):
            rest = text[len(TREE) + 1 :]
            return Place(text, rest if rest.startswith(PACKAGE + "/") or rest == PACKAGE else None)
        parts = [part for part in text.split("/") if part]
        if text.startswith(REPOSITORY + "/"):
            if self._in_repository(text) is not None:
                return Place(text, None)
            parts = parts[1:]
        found = self._places.mirrored(parts)
        if found is None and text.startswith(ANYWHERE + "/"):
            tail = "/".join(parts[1:])
            candidates = [path for path in (tail, f"{PACKAGE}/{tail}") if path in self.names]
            found = candidates[0] if candidates else None
        if found is None and not text.startswith(REPOSITORY):
            found = self._places.inside(parts) if self._is_installed(text, parts) else None
            found = self._folder(parts) or found if self._is_under_packages(parts) else found
        return Place(text, found)

    def data(self, place: Place) -> bytes | None:
        """The content of a file as the script finds it; None if it is not there."""
        if place.tree is None:
            if place.text in self._elsewhere:
                return self._elsewhere[place.text]
            return self._in_repository(place.text)
        if place.tree in self.written:
            return self.written[place.tree]
        if not self._tree.exists(place.tree):
            return None
        try:
            return self._tree.read(place.tree)
        except SourceUnreadable:
            return None

    def saved(self) -> Saved:
        """What is known now, to come back to."""
        return Saved(dict(self.written), dict(self.marks), tuple(self.diffs), frozenset(self.broken))

    def restore(self, saved: Saved) -> list[GivenDiff]:
        """Go back to what was known; the diffs that were applied since."""
        since = [diff for diff, _ in self.diffs[len(saved.diffs) :]]
        self.written.clear()
        self.written.update(saved.written)
        self.marks, self.diffs, self.broken = dict(saved.marks), list(saved.diffs), set(saved.broken)
        return since

    def marks_of(self, path: str) -> Marks:
        """Which line of a diff made each line of a file of the tree; nothing where none did."""
        return self.marks.get(path) or self._tree.marks.get(path, ())

    def before(self, path: str) -> bytes | None:
        """The content of a file of the tree before the script ran."""
        try:
            return self._tree.read(path) if self._tree.exists(path) else None
        except SourceUnreadable:
            return None

    def write(self, place: Place, data: bytes | None) -> None:
        """Keep what is written to a file, or that it is deleted."""
        if place.tree is None:
            self._elsewhere[place.text] = data
        else:
            self.written[place.tree] = data

    def is_folder(self, place: Place) -> bool | None:
        """Whether a path is a folder of the tree; None for one elsewhere."""
        if place.tree is None:
            return True if place.text == TREE else None
        return any(name.startswith(place.tree + "/") for name in self.names)

    def remove_folder(self, place: Place) -> bool:
        """Delete what is in a folder of the tree; whether there is one."""
        inside = [name for name in self.names if place.tree is not None and name.startswith(place.tree + "/")]
        for name in inside:
            self.written[name] = None
        return bool(inside)

    def is_unknown(self, place: Place) -> bool:
        """Whether nobody can say from here what is at this path."""
        return place.tree is None and self.data(place) is None

    def matching(self, pattern: str) -> list[str] | None:
        """The paths that a pattern with wildcards means; None if it is not about the tree."""
        parts = [part for part in posixpath.normpath(pattern).split("/") if part]
        for number, part in enumerate(parts):
            if part == PACKAGE:
                tail = "/".join(parts[number:])
                found = [name for name in self.names if fnmatch.fnmatchcase(name, tail)]
                return [f"{TREE}/{name}" for name in found if "**" in tail or name.count("/") == tail.count("/")]
        return None

    def _in_repository(self, text: str) -> bytes | None:
        if text.startswith(REPOSITORY + "/"):
            return self._lookup(text[len(REPOSITORY) + 1 :])
        return None

    def _is_under_packages(self, parts: list[str]) -> bool:
        return parts[:1] == [PACKAGE] or any(
            part in ("site-packages", "dist-packages", "\ue000anywhere") for part in parts
        )

    def _is_installed(self, text: str, parts: list[str]) -> bool:
        """Whether a path leads into an installed package: it means the tree though the tree has no such file."""
        if parts[:1] == [PACKAGE] and not text.startswith("/"):
            return self._places.has_folder(text)
        return any(
            part in ("site-packages", "dist-packages", "\ue000anywhere") and parts[number + 1 : number + 2] == [PACKAGE]
            for number, part in enumerate(parts)
        )

    def _folder(self, parts: list[str]) -> str | None:
        """The folder of the tree that a path ends in."""
        for number, part in enumerate(parts):
            if part == PACKAGE:
                folder = "/".join(parts[number:])
                if any(name.startswith(folder + "/") for name in self.names):
                    return folder
        return None
