"""``patch`` and ``git apply`` in a shell script: a diff is applied, exactly, where the script comes to it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass

from preflight.tree.diff import Applied, Why, apply, read_diff, reversed_diff
from preflight.tree.placing import Places
from preflight.tree.scripts.copying import Copying
from preflight.tree.scripts.files import Files, Place
from preflight.tree.scripts.meaning import shown
from preflight.tree.scripts.outcome import GaveUp
from preflight.tree.scripts.words import Command, commands

_LOOKS_ONLY = frozenset({"--dry-run", "--check", "--stat", "--numstat", "--summary"})


@dataclass(frozen=True, slots=True)
class GivenDiff:
    """A diff that a script applies: the file that it stands in, and its text. One that stands in the script itself has
    as many empty lines before it as the script has lines. ``reverse``: it is taken back. ``target``: the file that it
    is for, whatever it says itself."""

    name: str
    data: bytes
    reverse: bool = False
    target: str | None = None

    def applied(self, files: Files) -> Applied:
        """What it makes of the files. Raises TreeError for what is no diff."""
        read = read_diff(self.data, self.name)
        places = Places((*files.names, *files.written))
        return apply(
            reversed_diff(read) if self.reverse else read,
            self.name,
            places.of_diff if self.target is None else lambda names: self.target,
            lambda path: files.data(Place(path, path)),
            files.marks_of,
        )


class Diffs(Copying):
    """Carries these commands out."""

    def _patch(self, words: list[str], command: Command, name: str) -> bool | None:
        options, rest = self._options("patch" if name == "patch" else "git", words)
        given = {option for option, _ in options}
        if given & _LOOKS_ONLY:
            return None
        if name == "am" and given & {"--abort", "--skip", "--continue", "--quit", "-3", "--3way"}:
            raise GaveUp("what `git am` does is not followed", self.line)
        named = [value for option, value in options if option in ("-i", "--input") and value]
        target = None
        if name != "patch":
            named += [word for word in rest if word != "-"]
        elif len(rest) == 1 and not named and rest[0].endswith((".patch", ".diff")) and not command.sources:
            named = rest
        elif rest:
            target = self._place(rest[0]).tree
            named += [one for one in rest[1:] if one not in named]
        for diff in self._named(named) if named else self._given(command):
            self._certain()
            self._apply(GivenDiff(*diff, bool(given & {"-R", "--reverse"}), target))
        return None

    def _named(self, words: list[str]) -> Iterator[tuple[str, bytes]]:
        """The diffs of the repository that words name."""
        for word in words:
            inside = self._inside(word) if re.search(r"[*?\[]", word) else ()
            for one in inside or (word,):
                diff = one if inside else self._script(word)
                data = self._of_repository(diff)
                if diff is None or data is None:
                    raise GaveUp(f"the diff {posixpath.basename(shown(word))} is not at hand", self.line)
                yield diff, data

    def _given(self, command: Command) -> Iterator[tuple[str, bytes]]:
        """The diffs that a command is given on its standard input."""
        if command.heredoc is not None:
            text, line = command.heredoc
            yield self.script, b"\n" * (line - 1) + text.encode()
            return
        words = list(command.sources)
        if not words and self._piped is not None:
            before = commands(self._piped.logical, self._variables)
            if len(before) == 1 and before[0].words[:1] == ["cat"]:
                words = [*before[0].words[1:], *before[0].sources]
        if not words or any(word.startswith("-") for word in words):
            raise GaveUp("what diff is applied is not known", self.line)
        yield from self._named(words)

    def _apply(self, diff: GivenDiff) -> None:
        applied = diff.applied(self.files)
        self.files.diffs.append((diff, applied))
        for path, data in applied.changes.items():
            self.files.write(Place(path, path), data)
            self.files.marks[path] = applied.marks.get(path, ())
        self.files.broken |= {failure.path for failure in applied.failures if failure.why is not Why.APPLIED}
