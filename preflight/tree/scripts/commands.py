"""The commands of a shell script that run Python, replace text, or ask for it."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Sequence

from preflight.tree.scripts.asking import test_holds, text_holds
from preflight.tree.scripts.diffs import Diffs
from preflight.tree.scripts.files import ANYWHERE, REPOSITORY, Place
from preflight.tree.scripts.meaning import Stopped
from preflight.tree.scripts.outcome import GaveUp, Outcome, ScriptWhy
from preflight.tree.scripts.python import follow
from preflight.tree.scripts.sed import SedCommand, apply_sed, parse_sed, read_call
from preflight.tree.scripts.words import Command


class ShellCommands(Diffs):
    """Carries out commands; each gives its status, None where that is not known."""

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
        return test_holds(words, self.files, self._at_hand)

    def _at_hand(self, word: str) -> Place:
        """A file of the tree, or else of the repository."""
        place = self._place(word)
        name = self._name(word) if place.tree is None and ANYWHERE not in place.text else None
        return place if name is None else self.files.place(f"{REPOSITORY}/{name}")
