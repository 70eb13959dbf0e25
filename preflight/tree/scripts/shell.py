"""Follows what a Dockerfile or a shell script does to the tree: ``COPY``, ``cp``, ``sed -i``, ``patch``, Python.

Only commands that name a file of the tree matter. One of those that is not followed ends in ``GaveUp``: what the tree
is behind it, nobody can say.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from typing import NoReturn

from preflight.tree.scripts.commands import ApplyDiff, ShellCommands, Stopped
from preflight.tree.scripts.files import REPOSITORY, Files, Place
from preflight.tree.scripts.outcome import GaveUp, Made, Outcome, ScriptFailure, ScriptWhy
from preflight.tree.scripts.sed import NotFollowed
from preflight.tree.scripts.values import words
from preflight.tree.scripts.words import Command, Logical, commands, logical_lines

#: commands that change no file that they are given
_READING = words(
    """cat ls head tail test [ echo printf true false wc diff cmp chmod chown stat file sha256sum md5sum set export
    mkdir pip pip3 uv apt apt-get curl wget env source . which"""
)
_BLOCKS = words("if then else elif fi for while until do done case esac function { }")
_PYTHON = re.compile(r"python[\d.]*$")


def follow_shell(
    text: str, script: str, files: Files, names: Sequence[str], apply_diff: ApplyDiff, *, docker: bool
) -> tuple[Outcome, list[Outcome], set[str]]:
    """What a shell script or a Dockerfile does, each Python script that it runs, and the names of the files that it
    copies into the tree. ``names`` are the files of the repository that are at hand."""
    runner = _Shell(script, files, names, apply_diff)
    written = dict(files.written)
    try:
        if docker:
            runner.dockerfile(text)
        else:
            runner.lines(text, 1, strict=False)
    except Stopped:
        pass
    except GaveUp as gave_up:
        runner.outcome.given_up = (gave_up.reason, gave_up.line)
    except NotFollowed as error:
        runner.outcome.given_up = (str(error), runner.line)
    except ValueError as error:
        runner.outcome.given_up = (f"it cannot be read as shell text: {error}", runner.line)
    if runner.outcome.given_up is not None or runner.outcome.stopped:
        files.written.clear()
        files.written.update(written)
    return runner.outcome, runner.inner, runner.used


class _Shell(ShellCommands):
    def __init__(self, script: str, files: Files, names: Sequence[str], apply_diff: ApplyDiff) -> None:
        self.script = script
        self.files = files
        self.outcome = Outcome(script)
        self.inner: list[Outcome] = []
        self.line = 1
        self._names = names
        self._apply_diff = apply_diff
        self._variables: dict[str, str] = {}
        self._folder = ""
        self._here = posixpath.dirname(script)
        self.used: set[str] = set()  #: files of the repository that it copies into the tree
        self._strict = False
        self._missed: tuple[str | None, str, int] | None = None  # what a `grep` did not find: path, text, line
        self._copied: dict[str, str] = {}  # where a file of the repository was copied to -> its name

    # -- Dockerfiles --------------------------------------------------------------------------------------------------

    def dockerfile(self, text: str) -> None:
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
            elif name == "RUN":
                rest = re.sub(r"^(?:--\S+\s+)+", "", rest.lstrip())
                folder = self._folder
                if rest.lstrip().startswith("<<") and len(logical.heredocs) == 1:
                    body, begin = logical.heredocs[0]
                    if "python" in rest:
                        self._python_text(body, begin)
                    else:
                        self.lines(body, begin, strict=True)
                else:
                    whole = Logical(logical.line, rest, logical.heredocs, logical.literal)
                    self._run(commands(whole, self._variables), strict=True)
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
        rest = rest.strip()
        if rest.startswith("["):
            import json

            try:
                words = [str(one) for one in json.loads(rest)]
            except ValueError:
                return
        else:
            words = self._words(rest)
        if any(word.startswith("--from") for word in words):
            return
        words = [word for word in words if not word.startswith("--")]
        if len(words) < 2:
            return
        *sources, target = words
        for source in sources:
            self._bring(source, posixpath.join(self._folder, target) + ("/" if target.endswith(("/", ".")) else ""))

    def _bring(self, source: str, target: str) -> None:
        """Copy a file or folder of the repository."""
        name = self._name(source)
        into = target.endswith("/")
        data = self.files.data(self.files.place(f"{REPOSITORY}/{name}")) if name is not None else None
        if name is not None and data is not None:
            place = self._target(target, posixpath.basename(name), into)
            self._put(place, data, name)
            return
        folder = posixpath.normpath(posixpath.join(self._here, source))
        for base in (folder, posixpath.normpath(source)):
            prefix = "" if base == "." else base + "/"
            inside = [one for one in self._names if one.startswith(prefix)]
            if inside:
                for one in inside:
                    content = self.files.data(self.files.place(f"{REPOSITORY}/{one}"))
                    if content is not None:
                        self._put(self.files.place(posixpath.join(target, one[len(prefix) :])), content, one)
                return
        if self.files.place(target).tree is not None:
            raise GaveUp(f"{source} is copied into the tree, and is not at hand", self.line)

    def _target(self, target: str, name: str, into: bool) -> Place:
        place = self.files.place(target)
        if into or self.files.is_folder(place):
            place = self.files.place(posixpath.join(target, name))
        return place

    def _put(self, place: Place, data: bytes, name: str) -> None:
        self._copied[place.text] = name
        if place.tree is not None:
            if place.tree.endswith((".py", ".json", ".txt", ".jinja", ".yaml")):
                self.used.add(name)
                self._write(place, data)
        else:
            self.files.write(place, data)

    def _name(self, source: str) -> str | None:
        """The repository's name of a file that a Dockerfile or script names: beside it, or from the top on."""
        for base in (posixpath.join(self._here, source), source):
            name = posixpath.normpath(base)
            if not name.startswith("..") and self.files.data(self.files.place(f"{REPOSITORY}/{name}")) is not None:
                return name
        return None

    # -- shell text ---------------------------------------------------------------------------------------------------

    def lines(self, text: str, first_line: int, *, strict: bool) -> None:
        """Follow shell text; ``strict``: an error ends it (a Dockerfile's ``RUN``)."""
        for logical in logical_lines(text, first_line):
            self.line = logical.line
            stripped = logical.text.strip()
            if re.match(r"set\s+-\w*e", stripped):
                strict = True
            assigned = re.match(r"(?:export\s+|readonly\s+)?([A-Za-z_]\w*)=(.*)$", stripped, re.DOTALL)
            found = commands(logical, self._variables)
            if assigned is not None and len(found) == 1 and len(found[0].words) <= 2:
                value = found[0].words[-1].partition("=")[2]
                self._variables[assigned[1]] = value
                continue
            try:
                self._run(found, strict)
            except Stopped:
                return

    def _run(self, found: list[Command], strict: bool) -> None:
        """Run a chain of commands."""
        self._strict = strict
        status: bool | None = True
        for number, command in enumerate(found):
            if command.before == "&&" and status is False:
                continue
            if command.before == "||" and status is not False:
                continue
            self.line = command.line
            status = self._command(command)
            following = found[number + 1].before if number + 1 < len(found) else ";"
            if status is False and strict and following not in ("&&", "||"):
                self._ends(command)
        if status is False and strict and found:
            self._ends(found[-1])

    def _ends(self, command: Command) -> NoReturn:
        """A command fails, and the script with it."""
        if not self.outcome.stopped:
            self._fails(ScriptWhy.STOPS, None, None, f"`{' '.join(command.words)[:80]}` fails")
        raise Stopped

    def _command(self, command: Command) -> bool | None:
        words = [word for word in command.words if not re.fullmatch(r"[A-Za-z_]\w*=.*", word)]
        if not words:
            return True
        name = posixpath.basename(words[0])
        if name == "sudo" and len(words) > 1:
            words, name = words[1:], posixpath.basename(words[1])
        if name in _BLOCKS or words[0] == "!" or name in ("(", ")"):
            raise GaveUp(f"the shell's `{words[0]}` is not followed", self.line)
        if name == "cd" and len(words) == 2:
            self._folder = posixpath.join(self._folder, words[1])
            return True
        if name == "exit":
            if words[1:2] not in ([], ["0"]):
                self._fails(ScriptWhy.STOPS, None, None, f"exit {words[1]}")
            raise Stopped
        if _PYTHON.match(name):
            return self._python(words[1:], command)
        if name in ("bash", "sh") and len(words) == 2:
            name_of = self._script(words[1])
            if name_of is not None:
                data = self.files.data(self.files.place(f"{REPOSITORY}/{name_of}"))
                self.lines((data or b"").decode("utf-8", "replace"), 1, strict=False)
                return None
        follow_it = {
            "sed": self._sed, "cp": self._cp, "mv": self._cp, "install": self._cp, "rm": self._rm, "grep": self._grep,
            "egrep": self._grep, "fgrep": self._grep,
        }.get(name)  # fmt: skip
        if follow_it is not None:
            return follow_it(name, words[1:], command)
        if name == "patch" or (name == "git" and words[1:2] == ["apply"]):
            return self._patch(words[1:], command)
        return self._other(name, words, command)

    def _other(self, name: str, words: list[str], command: Command) -> bool | None:
        for target, append in command.targets:
            place = self._place(target)
            if place.tree is None:
                continue
            if name == "cat" and command.heredoc is not None:
                new = command.heredoc[0].encode()
            elif name == "echo" and not {"-e", "-n"} & set(words):
                new = (" ".join(words[1:]) + "\n").encode()
            elif name == "cat" and len(words) > 1 and all(self._content(one) is not None for one in words[1:]):
                new = b"".join(self._content(one) or b"" for one in words[1:])
            else:
                raise GaveUp(f"what `{name}` writes to {place.tree} is not known", self.line)
            self._write(place, (self.files.data(place) or b"" if append else b"") + new)
        if command.targets or name in _READING:
            return None
        for word in words[1:]:
            if "/" in word and "\n" not in word and self._place(word).tree is not None:
                raise GaveUp(f"what `{name}` does to {self._place(word).tree} is not known", self.line)
        return None

    # -- results ------------------------------------------------------------------------------------------------------

    def _write(self, place: Place, data: bytes | None) -> None:
        assert place.tree is not None
        self.files.write(place, data)
        self.outcome.made.setdefault(place.tree, []).append(Made(self.line, ""))

    def _fails(self, why: ScriptWhy, path: str | None, anchor: str | None, reason: str) -> None:
        if why is ScriptWhy.STOPS and anchor is None and self._missed is not None:
            path, anchor, line = self._missed
            self.outcome.failures.append(ScriptFailure(self.script, line, why, path, anchor, reason=reason))
            return
        self.outcome.failures.append(ScriptFailure(self.script, self.line, why, path, anchor, reason=reason))
