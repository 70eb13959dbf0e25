"""Follows what a Dockerfile or a shell script does to the tree: ``COPY``, ``cp``, ``sed -i``, ``patch``, Python.

Only commands that name a file of the tree matter. One of those that is not followed, or that stands behind a test which
nobody can decide, ends in ``GaveUp``: what the tree is behind it, nobody can say.
"""

from __future__ import annotations

import contextlib
import posixpath
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from preflight.tree.scripts.blocks import Block, Node, Simple, blocks
from preflight.tree.scripts.files import ANYWHERE, REPOSITORY, Files
from preflight.tree.scripts.loops import Loops
from preflight.tree.scripts.meaning import Returns, Stopped
from preflight.tree.scripts.outcome import GaveUp, Outcome, ScriptWhy
from preflight.tree.scripts.printing import MAY_CHANGE
from preflight.tree.scripts.values import words
from preflight.tree.scripts.words import HERE, Command, commands

if TYPE_CHECKING:
    from preflight.tree.scripts.diffs import GivenDiff

_BEFORE = words("sudo env nohup time exec command builtin nice ionice stdbuf")
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*$")
_MOST_STEPS = 20_000
_DEEPEST = 20


class Shell(Loops):
    """One script. ``names`` are the files of the repository that are at hand."""

    def __init__(self, script: str, files: Files, names: Sequence[str]) -> None:
        self.script = script
        self.files = files
        self.outcome = Outcome(script)
        self.inner: list[Outcome] = []
        self.line = 1
        self.used: set[str] = set()  #: files of the repository that it copies into the tree
        self.ran: set[str] = set()  #: shell scripts that it runs
        self._names = names
        self.loose: list[GivenDiff] = []  #: the diffs that it applied before it was lost
        self._here = posixpath.dirname(script)
        self._variables: dict[str, str] = {HERE: posixpath.join(REPOSITORY, self._here).rstrip("/")}
        self._functions: dict[str, tuple[Node, ...]] = {}
        self._folder = ""
        self._folders: list[str] = []
        self._strict = False
        self._tested = 0  # so many conditions are being run: what fails there ends nothing
        self._asked = False  # the last command was a test
        self._doubt: str | None = None  # why it is not known whether this runs
        self._left: str | None = None  # why it is not known whether the rest of the loop at hand runs
        self._loops = 0
        self._depth = 0
        self._steps = 0
        self._piped: Simple | None = None  # the command before a pipe
        self._missed: tuple[str | None, str, int] | None = None  # what a `grep` did not find: path, text, line
        self._copied: dict[str, str] = {}  # where a file of the repository was copied to -> its name
        self._made: set[str] = set()  # folders that were made
        self._unseen: tuple[str, int] | None = None

    def script_text(self, text: str) -> None:
        """Follow a whole shell script."""
        with contextlib.suppress(Returns):
            self.lines(text, 1)

    def lines(self, text: str, first_line: int) -> bool | None:
        """Follow shell text; its status. Raises ValueError for text that is none."""
        try:
            nodes = blocks(text, first_line)
        except ValueError:
            if MAY_CHANGE.search(text) is None:
                return None
            raise
        return self._list(nodes)

    def finish(self) -> None:
        """A script that patches the tree and runs what cannot be seen, may patch it there too."""
        if self._unseen is not None and self.outcome.made and self.outcome.given_up is None:
            self.outcome.given_up = self._unseen

    # -- lists and blocks ---------------------------------------------------------------------------------------------

    def _list(self, nodes: Sequence[Node]) -> bool | None:
        """Run commands in order; the status of the last one that runs."""
        status: bool | None = True
        asked = False
        for number, node in enumerate(nodes):
            doubt: str | None = None
            if node.before in ("&&", "||"):
                if status is (node.before == "||"):
                    continue
                if status is None and asked:
                    doubt = f"whether the test before `{node.before}` holds is not known"
                elif status is None and node.before == "||":
                    continue
            self.line = node.line if isinstance(node, Block) else node.logical.line
            self._piped = self._command_before(nodes, number)
            chained = next((one.before for one in nodes[number + 1 :] if one.before), ";") in ("&&", "||")
            self._tested += chained or node.negated
            self._asked = False
            with self._doubting(doubt):
                status = self._node(node)
            asked = self._asked
            self._tested -= chained or node.negated
            if node.negated:
                status = None if status is None else not status
            elif status is False and self._strict and not self._tested and node.before not in ("&&", "||"):
                self._ends(node)
        return status

    def _command_before(self, nodes: Sequence[Node], number: int) -> Simple | None:
        before = nodes[number - 1] if number and nodes[number].before in ("|", "|&") else None
        return before if isinstance(before, Simple) else None

    def _node(self, node: Node) -> bool | None:
        if isinstance(node, Simple):
            found = commands(node.logical, self._variables)
            return self._command(found[0], node) if found else True
        if node.redirected is not None and self._is_written(node, node.redirected):
            return True
        if node.kind == "if":
            return self._if(node)
        if node.kind == "for":
            return self._for(node)
        if node.kind == "function":
            self._functions[node.name] = node.arms[0][1]
            return True
        if node.kind == "case":
            return self._case(node)
        if node.kind in ("while", "until"):
            return self._while(node)
        folder, variables = self._folder, dict(self._variables)
        status = self._list(node.arms[0][1])
        if node.kind == "subshell":
            self._folder, self._variables = folder, variables
        return status

    def _ends(self, node: Node) -> NoReturn:
        """A command fails, and the script with it."""
        if not self.outcome.stopped:
            text = " ".join(node.logical.text.split()) if isinstance(node, Simple) else node.kind
            self._fails(ScriptWhy.STOPS, None, None, f"`{text[:80]}` fails")
        raise Stopped

    # -- commands -----------------------------------------------------------------------------------------------------

    def _command(self, command: Command, node: Simple) -> bool | None:
        self.line = command.line
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise GaveUp("it has too many steps", self.line)
        words = command.words
        at = 0
        while at < len(words) and re.match(r"[A-Za-z_]\w*\+?=", words[at]):
            at += 1
        if at == len(words):
            for word in words:
                name, _, value = word.partition("=")
                self._assign(name.rstrip("+"), (self._variables.get(name[:-1], "") if name[-1] == "+" else "") + value)
            return self._redirected("true", ["true"], command) if command.targets else True
        words = _behind_prefixes(words[at:])
        if not words:
            return None
        name = posixpath.basename(words[0])
        if words[0] in self._functions:
            return self._called(words)
        if name in ("export", "readonly", "local", "declare", "typeset"):
            for word in words[1:]:
                key, given, value = word.partition("=")
                if given:
                    self._assign(key, value)
            return True
        if name in ("cd", "pushd", "popd"):
            return self._cd(name, [word for word in words[1:] if not word.startswith("-")])
        if name == "set":
            self._strict = self._strict or any(re.match(r"-\w*e", word) for word in words[1:])
            return True
        if name == "exit" or (name == "return" and self._depth):
            return self._exit(words)
        if name in ("break", "continue"):
            return self._leave(name, words[1:])
        if name == "touch":
            return self._touch(words[1:])
        if name in ("true", ":", "false"):
            return self._redirected(name, words, command) if command.targets else name != "false"
        if _PYTHON.match(name):
            return self._python(words[1:], command)
        if name in ("bash", "sh", "source", ".", "dash", "zsh") or words[0].startswith("./"):
            return self._shell(name, words)
        if name == "eval":
            return self.lines(" ".join(words[1:]), self.line)
        follow_it = {
            "sed": self._sed, "cp": self._cp, "mv": self._cp, "install": self._cp, "ln": self._cp, "rm": self._rm,
            "mkdir": self._mkdir, "grep": self._grep, "egrep": self._grep, "fgrep": self._grep, "test": self._test,
            "[": self._test, "[[": self._test,
        }.get(name)  # fmt: skip
        if follow_it is not None:
            status = follow_it(name, words[1:], command)
            self._redirected(name, words, command)
            return status
        if name == "patch":
            return self._patch(words[1:], command, name)
        verb = next((word for word in words[1:4] if word in ("apply", "am")), None) if name == "git" else None
        if verb is not None:
            return self._patch(words[words.index(verb) + 1 :], command, verb)
        return self._other(name, words, command)

    def _assign(self, name: str, value: str) -> None:
        """A variable that may or may not be set has a value that is not known."""
        known = self._doubt is None or self._variables.get(name) == value
        self._variables[name] = value if known else ANYWHERE

    def _cd(self, name: str, words: list[str]) -> bool | None:
        if name == "popd":
            self._folder = self._folders.pop() if self._folders else ANYWHERE
            return True
        if name == "pushd":
            self._folders.append(self._folder)
        folder = posixpath.join(self._folder, words[0]) if words and words[0] != "-" else ANYWHERE
        if self._doubt is not None and folder != self._folder:
            if self._is_folder(self.files.place(folder)):
                self._certain()
            folder = ANYWHERE
        self._folder = folder
        return True

    def _exit(self, words: list[str]) -> NoReturn:
        if words[0] == "exit" and words[1:2] not in ([], ["0"]) and self._doubt is None:
            self._fails(ScriptWhy.STOPS, None, None, f"exit {words[1]}")
            raise Stopped
        raise Returns

    def _called(self, words: list[str]) -> bool | None:
        """A function of the script is called."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise GaveUp("a function calls itself", self.line)
        before = {name: value for name, value in self._variables.items() if name.isdigit() or name in "@*"}
        for name in before:
            del self._variables[name]
        self._variables.update({str(number): word for number, word in enumerate(words[1:], 1)})
        self._variables.update({"@": " ".join(words[1:]), "*": " ".join(words[1:])})
        status: bool | None = None
        with contextlib.suppress(Returns):
            status = self._list(self._functions[words[0]])
        for name in [name for name in self._variables if name.isdigit()]:
            del self._variables[name]
        self._variables.update(before)
        self._depth -= 1
        return status

    def _shell(self, name: str, words: list[str]) -> bool | None:
        """Another shell script, or text that is given to a shell."""
        rest = words if words[0].startswith("./") else words[1:]
        letters = ""
        while rest and rest[0].startswith("-") and len(rest[0]) > 1:
            letters += rest[0][1:]
            rest = rest[1:]
        if not rest:
            return None
        if "c" in letters:
            return self.lines(rest[0], self.line)
        found = self._script(rest[0])
        data = self._of_repository(found)
        if found is None or data is None:
            self._not_at_hand(rest)
            return None
        if data[:2] == b"#!" and b"sh" not in data.partition(b"\n")[0]:
            return self._python([found], Command(self.line)) if b"python" in data.partition(b"\n")[0] else None
        self._depth += 1
        self.ran.add(found)
        if self._depth > _DEEPEST:
            raise GaveUp("a script runs itself", self.line)
        line, strict, folder = self.line, self._strict, self._folder
        if name not in ("source", "."):
            self._strict = "e" in letters
        with contextlib.suppress(Returns):
            self.lines(data.decode("utf-8", "replace"), 1)
        self.line, self._strict = line, strict
        self._folder = self._folder if name in ("source", ".") else folder
        self._depth -= 1
        return None


def _behind_prefixes(words: list[str]) -> list[str]:
    """A command without what only says how it is run: ``sudo -E``, ``env A=1``, ``timeout 5``."""
    while words and posixpath.basename(words[0]) in _BEFORE | {"timeout"}:
        first = posixpath.basename(words[0])
        if first == "command" and words[1:2] in (["-v"], ["-V"]):
            return words
        words = words[1:]
        while words and (words[0].startswith("-") or re.match(r"[A-Za-z_]\w*=", words[0])):
            words = words[2:] if words[0] in ("-u", "-g", "-n", "-k", "-s") else words[1:]
        if first == "timeout":
            words = words[1:]
    return words
