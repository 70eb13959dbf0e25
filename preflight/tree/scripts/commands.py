"""The commands of a shell script that change files of the tree, or ask for their text."""

from __future__ import annotations

import fnmatch
import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePosixPath

from preflight.tree.scripts.asking import test_holds, text_holds
from preflight.tree.scripts.files import ANYWHERE, REPOSITORY, Files, Place
from preflight.tree.scripts.outcome import GaveUp, Outcome, ScriptWhy
from preflight.tree.scripts.python import follow
from preflight.tree.scripts.sed import SedCommand, apply_sed, parse_sed, read_call
from preflight.tree.scripts.words import Command

#: applies the diff of this name and content to the files; its failures are kept by whoever gives this
ApplyDiff = Callable[[str, bytes], None]

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
_FLAT = frozenset({"-d", "--directory"})


class Stopped(Exception):
    """The script ends with an error."""


class ShellCommands:
    """Carries out commands; each gives its status, None where that is not known."""

    script: str
    files: Files
    line: int
    inner: list[Outcome]
    used: set[str]
    ran: set[str]
    _names: Sequence[str]
    _apply_diff: ApplyDiff
    _folder: str
    _here: str
    _copied: dict[str, str]
    _made: set[str]
    _strict: bool
    _asked: bool
    _doubt: str | None
    _missed: tuple[str | None, str, int] | None
    _unseen: tuple[str, int] | None

    # given by the other part
    _write: Callable[[Place, bytes | None], None]
    _fails: Callable[[ScriptWhy, str | None, str | None, str], None]

    # -- which files are meant ----------------------------------------------------------------------------------------

    def _place(self, word: str) -> Place:
        return self.files.place(posixpath.join(self._folder, word))

    def _places(self, word: str) -> list[Place]:
        """The files that a word means: braces and wildcards are those of the tree."""
        found: list[Place] = []
        for one in _braces(word):
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
            found = [one for one in self._names if _holds(name, one)]
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

    # -- Python -------------------------------------------------------------------------------------------------------

    def _python(self, words: list[str], command: Command) -> bool | None:
        while words[:1] and words[0].startswith("-") and words[0] not in ("-c", "-m", "-"):
            words = words[2:] if words[0] in ("-W", "-X") else words[1:]
        if words[:1] in ([], ["-"]):
            if command.heredoc is not None:
                return self._python_text(*command.heredoc, words[1:])
            return None
        if words[0] == "-c" and len(words) > 1:
            return self._python_text(words[1], self.line, words[2:])
        if words[0] == "-m":
            return None
        name = self._script(words[0])
        data = self._of_repository(name)
        if name is None or data is None:
            return self._not_at_hand(words)
        return self._ran(lambda: follow(data.decode("utf-8", "replace"), name, self.files))

    def _not_at_hand(self, words: list[str]) -> None:
        """A script is run that cannot be read: given a file of the tree, or started there, it is about the tree."""
        what = f"what {posixpath.basename(words[0])} does is not known: it is not at hand"
        if any(self._place(word).tree is not None for word in [*words, "."] if word.startswith(("/", ".", "\ue000"))):
            raise GaveUp(what, self.line)
        self._unknown(what)

    def _python_text(self, text: str, first_line: int, words: Sequence[str] = ()) -> bool | None:
        if "vllm" not in text and not any(self._place(word).tree is not None for word in words):
            return None
        if "argv" in text and words:
            raise GaveUp("what a script does with the words that it is given is not followed", self.line)
        return self._ran(lambda: follow(text, self.script, self.files, first_line))

    def _ran(self, run: Callable[[], Outcome]) -> bool | None:
        self._certain()
        outcome = run()
        self.inner.append(outcome)
        if outcome.given_up is not None:
            return None
        if outcome.stopped:
            raise Stopped
        return True

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

    # -- text ---------------------------------------------------------------------------------------------------------

    def _sed(self, name: str, words: list[str], command: Command) -> bool | None:
        call = read_call(words)
        if not call.in_place:
            return None
        if any(ANYWHERE in word and self._place(word).tree is None for word in call.files):
            self._unknown("which file `sed -i` changes is not known")
        places = [place for word in call.files for place in self._places(word) if place.tree is not None]
        if not places:
            return None
        if call.open is not None:
            raise GaveUp(f"the option {call.open} of sed is not followed", self.line)
        scripts = [*call.scripts]
        for file in call.script_files:
            data = self._content(file)
            if data is None:
                raise GaveUp(f"the sed script {posixpath.basename(file)} is not at hand", self.line)
            scripts.append(data.decode("utf-8", "replace"))
        parsed = [one for script in scripts for one in parse_sed(script, call.extended)]
        status = True
        touched = [self._edited(place, parsed, call.suffix) for place in places]
        if None in touched:
            status = False
        if parsed and True not in touched and None not in touched:
            # files named one by one are each meant; of those that wildcards bring, one is enough
            for place in places[:1] if len(places) > len(call.files) else places:
                self._fails(ScriptWhy.NO_ANCHOR, place.tree, parsed[0].shown, "")
        elif len(places) <= len(call.files):
            for place, changed in zip(places, touched, strict=True):
                if changed is False and parsed:
                    self._fails(ScriptWhy.NO_ANCHOR, place.tree, parsed[0].shown, "")
        return status

    def _edited(self, place: Place, parsed: list[SedCommand], suffix: str) -> bool | None:
        """Edit one file; whether a command had anything to do. None where there is no such file."""
        assert place.tree is not None
        data = self.files.data(place)
        if data is None:
            self._fails(ScriptWhy.STOPS if self._strict else ScriptWhy.NO_FILE, place.tree, None, "")
            return None
        if suffix and "*" not in suffix and "/" not in suffix:
            self._write(self.files.place(place.text + suffix), data)
        text, hits = apply_sed(parsed, data.decode("utf-8", "surrogateescape"))
        if any(hits):
            self._write(place, text.encode("utf-8", "surrogateescape"))
        return any(hits)

    def _grep(self, name: str, words: list[str], command: Command) -> bool | None:
        self._asked = True
        options, rest = self._options("grep", words)
        letters = "".join(option[1:] for option, _ in options if not option.startswith("--") and option != "-e")
        patterns = [value for option, value in options if option == "-e"] or rest[:1]
        targets = rest if any(option == "-e" for option, _ in options) else rest[1:]
        if len(patterns) != 1 or len(targets) != 1 or ANYWHERE in patterns[0]:
            return None
        place = self._place(targets[0])
        data = self.files.data(place) if place.tree is not None else None
        found = text_holds(name, letters, patterns[0], data) if data is not None else None
        if found is False:
            self._missed = (place.tree, patterns[0], self.line)
        return found

    def _test(self, name: str, words: list[str], command: Command) -> bool | None:
        self._asked = True
        words = words[:-1] if words[-1:] in (["]"], ["]]"]) else words
        return test_holds(words, self.files, self._place)

    # -- files --------------------------------------------------------------------------------------------------------

    def _cp(self, name: str, words: list[str], command: Command) -> bool | None:
        """``cp``, ``mv``, ``install`` and ``ln``: afterwards the target has the source's content."""
        options, rest = self._options(name, words)
        given = {option for option, _ in options}
        if name == "install" and given & _FLAT:
            return self._mkdir(name, rest, command)
        into = next((value for option, value in options if option in ("-t", "--target-directory")), None)
        if into is None:
            if len(rest) < 2:
                return None
            *rest, into = rest
            place = self._place(into)
            in_folder = into.endswith("/") or into in (".", "..") or len(rest) > 1 or self._is_folder(place)
        else:
            in_folder = True
        status: bool | None = None
        whole = name in ("mv", "ln") or bool(given & {"-r", "-R", "-a", "--recursive", "--archive"})
        for word in rest:
            for source in _braces(word):
                if self._copy_one(name, source, (into, in_folder), "-D" in given, whole) is False:
                    status = False
        return status

    def _copy_one(self, name: str, source: str, to: tuple[str, bool], makes: bool, whole: bool) -> bool | None:
        into, in_folder = to
        from_tree = self._place(source)
        data = self._content(source) if not re.search(r"[*?\[]", source) else None
        named = self._script(source) if data is not None else None
        if data is not None:
            target = posixpath.join(into, posixpath.basename(source)) if in_folder else into
            status = self._put(self._place(target), data, named, makes)
            if name == "mv" and from_tree.tree is not None:
                self._write(from_tree, None)
            return status
        inside = self._inside(source)
        if not whole:
            depth = posixpath.normpath(source).count("/")
            inside = tuple(one for one in inside if one.count("/") <= depth + self._here.count("/") + bool(self._here))
        if not inside or from_tree.tree is not None:
            target = self._place(posixpath.join(into, posixpath.basename(source)) if in_folder else into)
            if target.tree is not None or from_tree.tree is not None:
                raise GaveUp(f"{_shown(source)} is copied over {target.tree or into}, and is not at hand", self.line)
            return None
        top = next(one for one in self._in_repository(source) if _holds(one, inside[0]))
        wild = re.search(r"[*?\[]", top) is not None
        top = posixpath.dirname(top) if wild else top
        base = into
        if in_folder and not wild and not source.endswith(("/.", "/..")) and source != ".":
            base = posixpath.join(into, posixpath.basename(source.rstrip("/")))
        for one in inside:
            content = self._of_repository(one)
            if content is not None:
                rest = one if top in ("", ".") else one[len(top) + 1 :]
                self._put(self._place(posixpath.join(base, rest)), content, one, makes=True)
        return None

    def _put(self, place: Place, data: bytes, named: str | None, makes: bool) -> bool | None:
        if named is not None:
            self._copied[place.text] = named
        if place.tree is None:
            self.files.write(place, data)
            return None
        folder = self.files.place(posixpath.dirname(place.text))
        if not makes and folder.tree is not None and not self._is_folder(folder):
            self._fails(ScriptWhy.STOPS if self._strict else ScriptWhy.NO_FILE, folder.tree, None, "")
            return False
        if named is not None:
            self.used.add(named)
        self._write(place, data)
        return None

    def _mkdir(self, name: str, words: list[str], command: Command) -> bool | None:
        for word in self._options("cp", words)[1]:
            text = self._place(word).text
            while len(text) > 1:
                self._made.add(text)
                text = posixpath.dirname(text)
        return None

    def _rm(self, name: str, words: list[str], command: Command) -> bool | None:
        options, rest = self._options(name, words)
        given = {option for option, _ in options}
        for place in (place for word in rest for place in self._places(word)):
            if place.tree is None or "__pycache__" in place.text:
                continue
            if self.files.data(place) is not None:
                self._write(place, None)
            elif self.files.is_folder(place):
                if not given & {"-r", "-R", "--recursive"}:
                    return False
                self._certain()
                self.files.remove_folder(place)
            elif not given & {"-f", "--force"}:
                self._fails(ScriptWhy.STOPS if self._strict else ScriptWhy.NO_FILE, place.tree, None, "")
                return False
        return None

    def _patch(self, words: list[str], command: Command, name: str) -> bool | None:
        options, rest = self._options(name, words)
        given = {option for option, _ in options}
        if given & {"--dry-run", "--check", "--stat", "--numstat", "--summary"}:
            return None
        if given & {"-R", "--reverse"}:
            raise GaveUp("a diff is taken back, which is not followed", self.line)
        named = [value for option, value in options if option in ("-i", "--input") and value]
        found = [*command.sources, *named]
        found += rest if name == "git" else [one for one in rest[1:] if one not in found]
        if name == "patch" and len(rest) == 1 and not found and rest[0].endswith((".patch", ".diff")):
            found = rest
        if not found:
            raise GaveUp("what diff is applied is not known", self.line)
        for word in found:
            diffs = self._inside(word) if re.search(r"[*?\[]", word) else ()
            for one in diffs or (word,):
                diff = one if diffs else self._script(word)
                data = self._of_repository(diff)
                if diff is None or data is None:
                    raise GaveUp(f"the diff {PurePosixPath(word).name} is not at hand", self.line)
                self._certain()
                self._apply_diff(diff, data)
        return None


def _holds(name: str, one: str) -> bool:
    """Whether a name, which may have wildcards, is that of a file or of a folder around it."""
    parts = name.split("/")
    return name == "." or fnmatch.fnmatchcase("/".join(one.split("/")[: len(parts)]), name)


def _shown(word: str) -> str:
    return word.replace(ANYWHERE, "...").replace(REPOSITORY + "/", "")


def _braces(word: str) -> list[str]:
    """``a{b,c}`` as the shell expands it."""
    match = re.search(r"\{([^{},]*(?:,[^{},]*)+)\}", word)
    if match is None or word.count("{") > _MOST_BRACES:
        return [word]
    return [
        whole for part in match[1].split(",") for whole in _braces(word[: match.start()] + part + word[match.end() :])
    ]
