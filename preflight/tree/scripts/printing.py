"""What the commands of a shell script put out, and into which files of the tree it goes."""

from __future__ import annotations

import posixpath
import re

from preflight.tree.scripts.blocks import Block, Simple
from preflight.tree.scripts.commands import ShellCommands
from preflight.tree.scripts.files import ANYWHERE
from preflight.tree.scripts.outcome import GaveUp
from preflight.tree.scripts.values import words
from preflight.tree.scripts.words import Command, commands

#: commands that change no file that they are given, of those that are not followed
_READING = words(
    """cat ls head tail wc diff cmp chmod chown stat file sha256sum md5sum pip pip3 uv apt apt-get apk dnf yum
    which find sort uniq cut tr awk less more readlink realpath basename dirname echo printf wait sleep kill ps tar
    du df vllm unset shift trap read shopt ulimit umask return command type"""
)
#: of those, the ones that ask something
_ASKING = words("diff cmp which command type pgrep id hash read")
#: options with which one of them writes into a file or folder of the tree
_WRITING = {"tar": ("x", "-x", "--extract"), "find": ("-exec", "-execdir", "-delete", "-ok"), "awk": ("-i",)}
#: shell text that may change files
MAY_CHANGE = re.compile(
    r"\bsed\b[^\n]*[ \t](?:-\w*i|--in-place)|\b(?:patch|cp|mv|rm|ln|install|tee|rsync|perl|ed|dd|truncate|unzip)\b"
    r"|\bgit\b[^\n]*\bapply\b|\bpython[\d.]*\b|(?<![<\d&])>|\b(?:curl|wget)\b[^\n]*[ \t]-\w*[oOP]"
    r"|\b(?:ba)?sh\b|\bxargs\b|\btar\b|\bsource\b|^[ \t]*\.[ \t/]",
    re.MULTILINE,
)


class Printing(ShellCommands):
    """Writes what commands put out, and passes over commands that change nothing."""

    def _redirected(self, name: str, words: list[str], command: Command) -> bool | None:
        """What a command writes into files of the tree."""
        targets = [(self._place(target), append) for target, append in command.targets]
        if name == "tee":
            append = any(word in ("-a", "--append") for word in words)
            targets += [(self._place(word), append) for word in words[1:] if not word.startswith("-")]
        for place, append in targets:
            if place.tree is None:
                continue
            new = self._printed(name, words, command)
            if new is None:
                raise GaveUp(f"what `{name}` writes to {place.tree} is not known", self.line)
            self._write(place, (self.files.data(place) or b"" if append else b"") + new)
        return None

    def _printed(self, name: str, words: list[str], command: Command) -> bytes | None:
        """What a command puts out, where it is easily known."""
        if name in ("true", ":"):
            return b""
        if name in ("cat", "tee") and command.heredoc is not None and command.heredoc[0].count(ANYWHERE) == 0:
            return command.heredoc[0].encode()
        if any(ANYWHERE in word for word in words):
            return None
        if name == "echo" and not (len(words) > 1 and re.fullmatch(r"-[neE]+", words[1])):
            return (" ".join(words[1:]) + "\n").encode()
        if name == "echo" and words[1] == "-n":
            return " ".join(words[2:]).encode()
        if name == "printf" and len(words) == 2 and not re.search(r"%|\\(?!n)", words[1]):
            return words[1].replace("\\n", "\n").encode()
        contents = [self._content(word) for word in words[1:]]
        if name == "cat" and contents and None not in contents:
            return b"".join(one or b"" for one in contents)
        return None

    def _other(self, name: str, words: list[str], command: Command) -> bool | None:
        if name == "tee" and self._piped is not None:
            inner = commands(self._piped.logical, self._variables)
            if inner and inner[0].words:
                new = self._printed(posixpath.basename(inner[0].words[0]), inner[0].words, inner[0])
                if new is not None:
                    command.heredoc = (new.decode("utf-8", "replace"), self.line)
        if command.targets or name == "tee":
            return self._redirected(name, words, command)
        if name in _ASKING:
            self._asked = True
        if name in _READING and not set(words[1:]) & set(_WRITING.get(name, ())):
            return None
        if name == "xargs" and MAY_CHANGE.search(" ".join(words[1:])):
            given = self._piped.logical.text if self._piped is not None else "vllm"
            self._give_up_if_changed("what files `xargs` gives to a command is not known", given)
        for word in words[1:]:
            tail = word.partition("=")[2] if word.startswith(("of=", "--")) else word
            if "/" in tail and "\n" not in tail and self._place(tail).tree is not None:
                raise GaveUp(f"what `{name}` does to {self._place(tail).tree} is not known", self.line)
        return None

    def _is_written(self, node: Block, redirected: Simple) -> bool:
        """What a whole block puts out goes into a file of the tree: it is written where it is known, and True."""
        targets = [target for command in commands(redirected.logical, self._variables) for target in command.targets]
        within = [(place, append) for word, append in targets if (place := self._place(word)).tree is not None]
        if not within:
            return False
        new = b""
        for one in node.arms[0][1] if node.kind in ("group", "subshell") else (node,):
            found = (
                commands(one.logical, self._variables) if isinstance(one, Simple) and one.before in (";", "&&") else []
            )
            command = found[0] if len(found) == 1 and found[0].words and not found[0].targets else None
            printed = self._printed(command.words[0], command.words, command) if command is not None else None
            if printed is None:
                raise GaveUp(f"what a block writes to {within[0][0].tree} is not known", self.line)
            new += printed
        for place, append in within:
            self._write(place, (self.files.data(place) or b"" if append else b"") + new)
        return True

    def _give_up_if_changed(self, reason: str, text: str) -> None:
        """Text that is not followed: it matters if it names a file of the tree, or the script is about nothing else."""
        if self._doubt is not None or "vllm" in text or "$" in text:
            raise GaveUp(reason, self.line)
