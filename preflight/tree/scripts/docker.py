"""Follows the instructions of a Dockerfile, and runs shell scripts as a whole."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence

from preflight.tree.scripts.blocks import structured
from preflight.tree.scripts.files import Files
from preflight.tree.scripts.meaning import Stopped
from preflight.tree.scripts.outcome import GaveUp
from preflight.tree.scripts.sed import NotFollowed
from preflight.tree.scripts.shell import Shell
from preflight.tree.scripts.words import Logical, commands, logical_lines

#: what of a COPY may stand in the tree and matter to it
_KEPT = (".py", ".json", ".txt", ".jinja", ".yaml")


def follow_shell(text: str, script: str, files: Files, names: Sequence[str], *, docker: bool) -> Shell:
    """Follow a shell script or a Dockerfile; what is returned has its ``outcome``, those of each Python script that it
    runs (``inner``), the names of the files that it copies into the tree (``used``) and of the shell scripts that it
    runs (``ran``), and the diffs that it applied before it was lost (``loose``). ``names`` are the files of the
    repository that are at hand. Raises TreeError for a diff that is none."""
    runner = Dockerfile(script, files, names) if docker else Shell(script, files, names)
    saved = files.saved()
    try:
        runner.script_text(text)
        runner.finish()
    except Stopped:
        pass
    except GaveUp as gave_up:
        runner.outcome.given_up = (gave_up.reason, gave_up.line)
    except NotFollowed as error:
        runner.outcome.given_up = (str(error), runner.line)
    except ValueError as error:
        runner.outcome.given_up = (f"it cannot be read as shell text: {error}", runner.line)
    except RecursionError:
        runner.outcome.given_up = ("it is nested too deeply", runner.line)
    if runner.outcome.given_up is not None or runner.outcome.stopped:
        runner.loose = files.restore(saved)
    return runner


class Dockerfile(Shell):
    """A Dockerfile: each ``RUN`` is a shell script of its own, and an error in it ends the build."""

    def script_text(self, text: str) -> None:
        """Follow the instructions in order."""
        for logical in logical_lines(text):
            self.line = logical.line
            name, _, rest = logical.text.strip().partition(" ")
            name = name.upper()
            if name in ("ARG", "ENV"):
                self._assigned(rest)
            elif name == "WORKDIR":
                self._folder = posixpath.join(self._folder, self._plain(rest))
            elif name in ("COPY", "ADD") and not logical.heredocs:
                self._copy(rest)
            elif name in ("COPY", "ADD"):
                target = self._place(self._words(rest)[-1])
                if target.tree is not None:
                    self._write(target, logical.heredocs[0][0].encode())
            elif name == "RUN":
                self._ran_in_shell(rest, logical)

    def _ran_in_shell(self, rest: str, logical: Logical) -> None:
        rest = re.sub(r"^(?:--\S+\s+)+", "", rest.lstrip())
        folder, self._strict = self._folder, True
        if rest.lstrip().startswith("<<") and len(logical.heredocs) == 1:
            body, begin = logical.heredocs[0]
            if "python" in rest:
                self._python_text(body, begin)
            else:
                self.lines(body, begin)
        elif rest.lstrip().startswith("["):
            self.lines(" ".join(f"'{word}'" for word in _json_words(rest)), logical.line)
        else:
            nodes = structured([Logical(logical.line, rest, logical.heredocs, logical.literal)])
            if self._list(nodes) is False and nodes:
                self._ends(nodes[-1])
        self._folder = folder

    def _assigned(self, rest: str) -> None:
        for match in re.finditer(r"([A-Za-z_]\w*)=(\"[^\"]*\"|'[^']*'|\S+)", rest):
            self._variables[match[1]] = self._plain(match[2])

    def _plain(self, text: str) -> str:
        return next(iter(self._words(text)), "")

    def _words(self, text: str) -> list[str]:
        found = commands(Logical(self.line, text, ()), self._variables)
        return found[0].words if found else []

    def _copy(self, rest: str) -> None:
        words = _json_words(rest) if rest.strip().startswith("[") else self._words(rest)
        if any(word.startswith("--from") for word in words):
            return
        words = [word for word in words if not word.startswith("--")]
        if len(words) < 2:
            return
        *sources, target = words
        for source in sources:
            self._bring(source, posixpath.join(self._folder, target) + ("/" if target.endswith(("/", ".")) else ""))

    def _bring(self, source: str, target: str) -> None:
        """Copy a file or folder of the repository; the folders above its target are made."""
        name = self._name(source)
        data = self._of_repository(name)
        if name is not None and data is not None:
            place = self.files.place(target)
            if target.endswith("/") or self._is_folder(place):
                place = self.files.place(posixpath.join(target, posixpath.basename(name)))
            self._kept(place.text, data, name)
            return
        inside = self._inside(source)
        if not inside:
            if self.files.place(target).tree is not None:
                raise GaveUp(f"{source} is copied into the tree, and is not at hand", self.line)
            return
        for one in inside:
            content = self._of_repository(one)
            if content is not None:
                self._kept(posixpath.join(target, self._within(source, one)), content, one)

    def _within(self, source: str, one: str) -> str:
        """The part of a file's name behind the folder that is copied."""
        for top in self._in_repository(source):
            if re.search(r"[*?\[]", top) or top == ".":
                top = posixpath.dirname(top) if top != "." else ""
            if not top or one.startswith(top + "/"):
                return one[len(top) + 1 :] if top else one
        return posixpath.basename(one)

    def _kept(self, target: str, data: bytes, name: str) -> None:
        place = self.files.place(target)
        self._copied[place.text] = name
        if place.tree is None or place.tree.endswith(_KEPT):
            self._put(place, data, name, makes=True)


def _json_words(text: str) -> list[str]:
    import json

    try:
        return [str(one) for one in json.loads(text.strip())]
    except ValueError:
        return []
