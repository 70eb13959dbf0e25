"""What the words of a shell script's commands mean: files of the tree and of the repository, and options."""

from __future__ import annotations

import fnmatch
import posixpath
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from preflight.tree.scripts.blocks import Simple
from preflight.tree.scripts.files import ANYWHERE, REPOSITORY, Files, Place
from preflight.tree.scripts.outcome import GaveUp, Made, Outcome, ScriptFailure, ScriptWhy

if TYPE_CHECKING:
    from preflight.tree.scripts.diffs import GivenDiff

#: the options of these commands that take a value
_VALUED = {
    "cp": "tS",
    "mv": "tS",
    "ln": "tS",
    "install": "tmogS",
    "patch": "pdioFrBDYzV",
    "git": "pC",
    "grep": "eABCmf",
}
_MOST_BRACES = 3


class Stopped(Exception):
    """The script ends with an error."""


class Returns(Exception):
    """A function or the script is left."""


class Leaves(Exception):
    """A ``break`` or ``continue``; ``levels`` is how many loops it is for."""

    def __init__(self, name: str, levels: int) -> None:
        super().__init__(name)
        self.ends = name == "break"
        self.levels = levels


class Meaning:
    """What is known where a command is come to, and what its words mean."""

    script: str
    files: Files
    line: int
    inner: list[Outcome]
    used: set[str]
    ran: set[str]
    outcome: Outcome
    loose: list[GivenDiff]
    _names: Sequence[str]
    _folder: str
    _here: str
    _copied: dict[str, str]
    _made: set[str]
    _strict: bool
    _asked: bool
    _variables: dict[str, str]
    _piped: Simple | None
    _doubt: str | None
    _missed: tuple[str | None, str, int] | None
    _unseen: tuple[str, int] | None

    # -- which files are meant ----------------------------------------------------------------------------------------

    def _place(self, word: str) -> Place:
        return self.files.place(posixpath.join(self._folder, word))

    def _places(self, word: str) -> list[Place]:
        """The files that a word means: braces and wildcards are those of the tree."""
        found: list[Place] = []
        for one in braces_of(word):
            if re.search(r"[*?\[]", one):
                matching = self.files.matching(posixpath.join(self._folder, one))
                if matching:
                    found += map(self.files.place, matching)
                    continue
            found.append(self._place(one))
        return found

    def _in_repository(self, word: str) -> Iterator[str]:
        """The names that a file of the repository may have: beside the script, in the folder at hand, from the top."""
        top = REPOSITORY + "/"
        text = posixpath.normpath(posixpath.join(self._folder, word))
        for whole in (text, word):
            if whole == REPOSITORY or whole.startswith(top):
                yield whole[len(top) :]
            elif whole.startswith(ANYWHERE + "/"):
                yield posixpath.normpath(posixpath.join(self._here, whole[len(ANYWHERE) + 1 :]))
        if not word.startswith("/"):
            if not self._folder.startswith("/"):
                yield posixpath.normpath(posixpath.join(self._here, self._folder, word))
            yield posixpath.normpath(posixpath.join(self._here, word))
            yield posixpath.normpath(word)

    def _name(self, source: str) -> str | None:
        """The repository's name of a file that a Dockerfile or script names."""
        for name in self._in_repository(source):
            if not name.startswith("..") and self._of_repository(name) is not None:
                return name
        return None

    def _content(self, word: str) -> bytes | None:
        """The content of a file that a command reads: of the tree, copied before, or of the repository."""
        data = self.files.data(self._place(word))
        if data is None and (name := self._name(word)) is not None:
            data = self._of_repository(name)
        return data

    def _script(self, word: str) -> str | None:
        """The repository's name of a script that is run, by its place or by where it was copied to."""
        text = self._place(word).text
        if text in self._copied:
            return self._copied[text]
        found = self._name(word)
        if found is None:
            named = [name for name in self._names if posixpath.basename(name) == posixpath.basename(word)]
            found = named[0] if len(named) == 1 else None
        return found

    def _inside(self, word: str) -> tuple[str, ...]:
        """The files of the repository in a folder of it, or in what wildcards mean."""
        for name in self._in_repository(word):
            found = [one for one in self._names if holds(name, one)]
            if found:
                return tuple(found)
        return ()

    def _is_folder(self, place: Place) -> bool:
        """Whether a path is a folder of the tree, be it one that the script has made."""
        if self.files.is_folder(place) or place.text in self._made:
            return True
        return place.tree is not None and any(path.startswith(place.tree + "/") for path in self.files.written)

    def _of_repository(self, name: str | None) -> bytes | None:
        """The content of a file of the repository; None for one that is not at hand."""
        return self.files.data(self.files.place(f"{REPOSITORY}/{name}")) if name is not None else None

    def _certain(self) -> None:
        """What follows matters, so it has to be known whether it runs. Raises GaveUp."""
        if self._doubt is not None:
            raise GaveUp(self._doubt, self.line)

    def _unknown(self, what: str) -> None:
        """Something is run or changed that cannot be seen: in a script that patches the tree, it may be a patch."""
        if self._unseen is None:
            self._unseen = (what, self.line)

    def _options(self, name: str, words: list[str]) -> tuple[list[tuple[str, str]], list[str]]:
        """Options with their values, and the other words."""
        valued = _VALUED.get(name, "")
        options: list[tuple[str, str]] = []
        rest: list[str] = []
        at = 0
        while at < len(words):
            word = words[at]
            if word.startswith("--") and len(word) > 2:
                key, _, value = word.partition("=")
                options.append((key, value))
            elif word.startswith("-") and len(word) > 1 and word != "--":
                if word[1] in valued and len(word) > 2:
                    options.append((word[:2], word[2:]))
                elif word[-1] in valued and at + 1 < len(words):
                    options += [(f"-{letter}", "") for letter in word[1:-1]]
                    options.append((f"-{word[-1]}", words[at + 1]))
                    at += 1
                else:
                    options += [(f"-{letter}", "") for letter in word[1:]]
            elif word != "--":
                rest.append(word)
            at += 1
        return options, rest

    # -- results ------------------------------------------------------------------------------------------------------

    def _write(self, place: Place, data: bytes | None) -> None:
        assert place.tree is not None
        self._certain()
        self._is_meant(place.tree)
        self.files.write(place, data)
        self.outcome.made.setdefault(place.tree, []).append(Made(self.line, ""))

    def _is_meant(self, path: str) -> None:
        """Raises GaveUp for a path of the tree that holds what is not known."""
        if ANYWHERE.strip("/") in path:
            raise GaveUp(f"which file of {path.partition(ANYWHERE.strip('/'))[0]} is meant is not known", self.line)

    def _fails(self, why: ScriptWhy, path: str | None, anchor: str | None, reason: str) -> None:
        self._certain()
        self._is_meant(path or "")
        line = self.line
        if why is ScriptWhy.STOPS and anchor is None and self._missed is not None:
            path, anchor, line = self._missed
        self.outcome.failures.append(ScriptFailure(self.script, line, why, path, anchor, reason=reason))


def holds(name: str, one: str) -> bool:
    """Whether a name, which may have wildcards, is that of a file or of a folder around it."""
    parts = name.split("/")
    return name == "." or fnmatch.fnmatchcase("/".join(one.split("/")[: len(parts)]), name)


def shown(word: str) -> str:
    """A word as a sentence shows it."""
    return word.replace(ANYWHERE, "...").replace(REPOSITORY + "/", "")


def braces_of(word: str) -> list[str]:
    """``a{b,c}`` as the shell expands it."""
    match = re.search(r"\{([^{},]*(?:,[^{},]*)+)\}", word)
    if match is None or word.count("{") > _MOST_BRACES:
        return [word]
    return [
        whole for part in match[1].split(",") for whole in braces_of(word[: match.start()] + part + word[match.end() :])
    ]
