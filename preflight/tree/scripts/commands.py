"""The commands of a shell script that change files of the tree, or ask for their text."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath

from preflight.tree.scripts.files import REPOSITORY, Files, Place
from preflight.tree.scripts.outcome import GaveUp, Outcome, ScriptWhy
from preflight.tree.scripts.python import follow
from preflight.tree.scripts.sed import apply_sed, parse_sed, posix_pattern
from preflight.tree.scripts.texts import TooMuch, checked_pattern
from preflight.tree.scripts.words import Command

#: applies the diff of this name and content to the files; its failures are kept by whoever gives this
ApplyDiff = Callable[[str, bytes], None]


class Stopped(Exception):
    """The script ends with an error."""


class ShellCommands:
    """Carries out commands; each gives its status, None where that is not known."""

    script: str
    files: Files
    line: int
    inner: list[Outcome]
    used: set[str]
    _names: Sequence[str]
    _apply_diff: ApplyDiff
    _folder: str
    _copied: dict[str, str]
    _strict: bool
    _missed: tuple[str | None, str, int] | None

    # given by the other part
    _name: Callable[[str], str | None]
    _write: Callable[[Place, bytes | None], None]
    _fails: Callable[[ScriptWhy, str | None, str | None, str], None]

    def _place(self, word: str) -> Place:
        if "*" in word:
            found = self.files.matching(posixpath.join(self._folder, word))
            if found and len(found) == 1:
                return self.files.place(found[0])
        return self.files.place(posixpath.join(self._folder, word))

    def _content(self, word: str) -> bytes | None:
        """The content of a file that a command reads: of the tree, copied before, or of the repository."""
        data = self.files.data(self._place(word))
        if data is None and (name := self._name(word)) is not None:
            data = self.files.data(self.files.place(f"{REPOSITORY}/{name}"))
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

    def _python(self, words: list[str], command: Command) -> bool | None:
        while words[:1] and words[0].startswith("-") and words[0] not in ("-c", "-m", "-"):
            words = words[1:]
        if words[:1] in ([], ["-"]):
            if command.heredoc is not None:
                return self._python_text(*command.heredoc)
            return None
        if words[0] == "-c" and len(words) > 1:
            return self._python_text(words[1], self.line)
        if words[0] == "-m":
            return None
        name = self._script(words[0])
        if name is None:
            return None
        data = self.files.data(self.files.place(f"{REPOSITORY}/{name}")) or b""
        return self._ran(follow(data.decode("utf-8", "replace"), name, self.files))

    def _python_text(self, text: str, first_line: int) -> bool | None:
        if "vllm" not in text:
            return None
        return self._ran(follow(text, self.script, self.files, first_line))

    def _ran(self, outcome: Outcome) -> bool | None:
        self.inner.append(outcome)
        if outcome.given_up is not None:
            return None
        if outcome.stopped:
            raise Stopped
        return True

    def _options(self, words: list[str], valued: str = "") -> tuple[list[tuple[str, str]], list[str]]:
        """Options with their values, and the other words."""
        options: list[tuple[str, str]] = []
        rest: list[str] = []
        at = 0
        while at < len(words):
            word = words[at]
            if word.startswith("-") and len(word) > 1 and word != "--":
                if len(word) == 2 and word[1] in valued and at + 1 < len(words):
                    options.append((word, words[at + 1]))
                    at += 1
                else:
                    options.append((word, ""))
            elif word != "--":
                rest.append(word)
            at += 1
        return options, rest

    def _sed(self, name: str, words: list[str], command: Command) -> bool | None:
        options, rest = self._options(words, "ef")
        flags = {option for option, _ in options}
        if not any(flag.startswith(("-i", "--in-place")) for flag in flags):
            return None
        scripts = [value for option, value in options if option in ("-e", "--expression")]
        if not scripts:
            scripts, rest = rest[:1], rest[1:]
        places = [place for place in map(self._place, rest) if place.tree is not None]
        if not places:
            return None
        if "-f" in flags or "-n" in flags or "-z" in flags or not scripts:
            raise GaveUp("these options of sed are not followed", self.line)
        extended = bool(flags & {"-E", "-r", "-Ei", "-ri", "-iE", "-ir", "--regexp-extended"})
        parsed = [one for script in scripts for one in parse_sed(script, extended)]
        for place in places:
            data = self.files.data(place)
            if data is None:
                self._fails(ScriptWhy.STOPS if self._strict else ScriptWhy.NO_FILE, place.tree, None, "")
                return False
            text, hits = apply_sed(parsed, data.decode("utf-8", "surrogateescape"))
            for one, count in zip(parsed, hits, strict=True):
                if not count and not any(hits):
                    self._fails(ScriptWhy.NO_ANCHOR, place.tree, one.shown, "")
                    break
            if any(hits):
                self._write(place, text.encode("utf-8", "surrogateescape"))
        return True

    def _cp(self, name: str, words: list[str], command: Command) -> bool | None:
        _, rest = self._options(words)
        if len(rest) < 2:
            return None
        *sources, target = rest
        for source in sources:
            place = self._place(target)
            if target.endswith("/") or self.files.is_folder(place):
                place = self._place(posixpath.join(target, posixpath.basename(source)))
            data = self._content(source)
            if data is None:
                if place.tree is not None or self._place(source).tree is not None:
                    raise GaveUp(f"{source} is copied over {place.tree or target}, and is not at hand", self.line)
                continue
            named = self._script(source)
            if place.tree is not None:
                if named is not None:
                    self.used.add(named)
                self._write(place, data)
            else:
                self.files.write(place, data)
                if named is not None:
                    self._copied[place.text] = named
        return None

    def _rm(self, name: str, words: list[str], command: Command) -> bool | None:
        for word in self._options(words)[1]:
            place = self._place(word)
            if place.tree is not None and self.files.data(place) is not None:
                self._write(place, None)
            elif place.tree is not None and "__pycache__" not in word and self.files.is_folder(place):
                raise GaveUp(f"{place.tree} is deleted, a folder", self.line)
        return None

    def _grep(self, name: str, words: list[str], command: Command) -> bool | None:
        options, rest = self._options(words, "e")
        letters = "".join(option[1:] for option, _ in options if not option.startswith("--"))
        patterns = [value for option, value in options if option == "-e"] or rest[:1]
        targets = rest if any(option == "-e" for option, _ in options) else rest[1:]
        if len(patterns) != 1 or len(targets) != 1 or set(letters) - set("qFEnsecHhxwi") or "r" in letters:
            return None
        place = self._place(targets[0])
        data = self.files.data(place) if place.tree is not None else None
        if data is None or set(letters) & set("xwi"):
            return None
        if name == "fgrep" or "F" in letters:
            found = patterns[0].encode() in data
        else:
            try:
                pattern = posix_pattern(patterns[0], name == "egrep" or "E" in letters)
                checked_pattern(pattern)
                found = any(re.search(pattern, line) for line in data.decode("utf-8", "replace").splitlines())
            except (TooMuch, re.error):
                return None
        if not found:
            self._missed = (place.tree, patterns[0], self.line)
        return found

    def _patch(self, words: list[str], command: Command) -> bool | None:
        _, rest = self._options(words, "pdi")
        named = [value for option, value in self._options(words, "pdi")[0] if option == "-i"]
        for word in [*command.sources, *named, *[one for one in rest if one.endswith((".patch", ".diff"))]]:
            name = self._script(word)
            data = self.files.data(self.files.place(f"{REPOSITORY}/{name}")) if name is not None else None
            if name is None or data is None:
                raise GaveUp(f"the diff {PurePosixPath(word).name} is not at hand", self.line)
            self._apply_diff(name, data)
        return None
