"""Follows what a Dockerfile or a shell script does to the tree: ``COPY``, ``cp``, ``sed -i``, ``patch``, Python.

Only commands that name a file of the tree matter. One of those that is not followed, or that stands behind a test which
nobody can decide, ends in ``GaveUp``: what the tree is behind it, nobody can say.
"""

from __future__ import annotations

import contextlib
import posixpath
import re
from collections.abc import Iterator, Sequence
from typing import NoReturn

from preflight.tree.scripts.blocks import Block, Node, Simple, blocks
from preflight.tree.scripts.commands import ApplyDiff, ShellCommands, Stopped
from preflight.tree.scripts.files import ANYWHERE, REPOSITORY, Files, Place
from preflight.tree.scripts.outcome import GaveUp, Made, Outcome, ScriptFailure, ScriptWhy
from preflight.tree.scripts.values import words
from preflight.tree.scripts.words import HERE, Command, Logical, commands

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
_BEFORE = words("sudo env nohup time exec command builtin nice ionice stdbuf")
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*$")
#: shell text that may change files
MAY_CHANGE = re.compile(
    r"\bsed\b[^\n]*[ \t](?:-\w*i|--in-place)|\b(?:patch|cp|mv|rm|ln|install|tee|rsync|perl|ed|dd|truncate|unzip)\b"
    r"|\bgit\b[^\n]*\bapply\b|\bpython[\d.]*\b|(?<![<\d&])>|\b(?:curl|wget)\b[^\n]*[ \t]-\w*[oOP]"
    r"|\b(?:ba)?sh\b|\bxargs\b|\btar\b|\bsource\b|^[ \t]*\.[ \t/]",
    re.MULTILINE,
)
_MOST_ROUNDS = 500
_MOST_STEPS = 20_000
_DEEPEST = 20


class _Returns(Exception):
    """A function or the script is left."""


class Shell(ShellCommands):
    """One script. ``names`` are the files of the repository that are at hand."""

    def __init__(self, script: str, files: Files, names: Sequence[str], apply_diff: ApplyDiff) -> None:
        self.script = script
        self.files = files
        self.outcome = Outcome(script)
        self.inner: list[Outcome] = []
        self.line = 1
        self.used: set[str] = set()  #: files of the repository that it copies into the tree
        self.ran: set[str] = set()  #: shell scripts that it runs
        self._names = names
        self._apply_diff = apply_diff
        self._here = posixpath.dirname(script)
        self._variables: dict[str, str] = {HERE: posixpath.join(REPOSITORY, self._here).rstrip("/")}
        self._functions: dict[str, tuple[Node, ...]] = {}
        self._folder = ""
        self._folders: list[str] = []
        self._strict = False
        self._tested = 0  # so many conditions are being run: what fails there ends nothing
        self._asked = False  # the last command was a test
        self._doubt: str | None = None  # why it is not known whether this runs
        self._depth = 0
        self._steps = 0
        self._piped: Simple | None = None  # the command before a pipe
        self._missed: tuple[str | None, str, int] | None = None  # what a `grep` did not find: path, text, line
        self._copied: dict[str, str] = {}  # where a file of the repository was copied to -> its name
        self._made: set[str] = set()  # folders that were made
        self._unseen: tuple[str, int] | None = None

    def script_text(self, text: str) -> None:
        """Follow a whole shell script."""
        with contextlib.suppress(_Returns):
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
            if isinstance(node, Simple) and not node.before:
                self._block_redirected(node)
                continue
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

    def _block_redirected(self, node: Simple) -> None:
        """What a whole block puts out goes into a file."""
        for command in commands(node.logical, self._variables):
            for target, _ in command.targets:
                if self._place(target).tree is not None:
                    raise GaveUp(f"what a block writes to {self._place(target).tree} is not known", self.line)

    @contextlib.contextmanager
    def _doubting(self, reason: str | None) -> Iterator[None]:
        """While it is not known whether commands run: an exit among them is taken for one that is not come to."""
        before = self._doubt
        self._doubt = before or reason
        try:
            yield
        except _Returns:
            if reason is None or before is not None:
                raise
        finally:
            self._doubt = before

    def _command_before(self, nodes: Sequence[Node], number: int) -> Simple | None:
        before = nodes[number - 1] if number and nodes[number].before in ("|", "|&") else None
        return before if isinstance(before, Simple) else None

    def _node(self, node: Node) -> bool | None:
        if isinstance(node, Simple):
            found = commands(node.logical, self._variables)
            return self._command(found[0], node) if found else True
        if node.kind == "if":
            return self._if(node)
        if node.kind == "for":
            return self._for(node)
        if node.kind == "function":
            self._functions[node.name] = node.arms[0][1]
            return True
        if node.kind == "case":
            if MAY_CHANGE.search(node.text):
                self._give_up_if_changed("the shell's `case` is not followed", node.text)
            return None
        if node.kind == "loop":
            with self._doubting("how often a loop of the shell runs is not known"):
                for part in (*node.arms[0][0], *node.arms[0][1]):
                    self._list([part])
            return None
        folder, variables = self._folder, dict(self._variables)
        status = self._list(node.arms[0][1])
        if node.kind == "subshell":
            self._folder, self._variables = folder, variables
        return status

    def _give_up_if_changed(self, reason: str, text: str) -> None:
        """Text that is not followed: it matters if it names a file of the tree, or the script is about nothing else."""
        if self._doubt is not None or "vllm" in text or "$" in text:
            raise GaveUp(reason, self.line)

    def _if(self, node: Block) -> bool | None:
        for condition, body in node.arms:
            self._tested += 1
            self._asked = True
            answer = self._list(condition) if condition else True
            self._tested -= 1
            if answer is True:
                return self._list(body)
            if answer is None:
                with self._doubting(f"whether the condition of the `if` in line {node.line} holds is not known"):
                    for _, other in node.arms[node.arms.index((condition, body)) :]:
                        with contextlib.suppress(_Returns):
                            self._list(other)
                return None
        return True

    def _for(self, node: Block) -> bool | None:
        text = node.words if node.words else "$@"
        found = commands(Logical(node.line, f"for {text}", ()), self._variables)
        values = [
            one for word in (found[0].words[1:] if found else []) for one in (word.split() if " " in word else [word])
        ]
        rounds: list[str] = []
        wild = False
        for value in values:
            if re.search(r"\{[^{}]*\.\.[^{}]*\}", value):
                value = ANYWHERE  # a sequence
            places = self._places(value) if re.search(r"[*?\[{]", value) else []
            inside = self._inside(value) if re.search(r"[*?\[]", value) else ()
            texts = [place.text for place in places if place.tree is not None and self.files.data(place) is not None]
            wild = wild or len(texts) > 1
            rounds += texts or [f"{REPOSITORY}/{one}" for one in inside] or [value]
        known = bool(rounds) and len(rounds) <= _MOST_ROUNDS and not any(one == ANYWHERE for one in rounds)
        said, made = len(self.outcome.failures), len(self.outcome.made)
        with self._doubting(None if known else "what a loop of the shell runs through is not known"):
            for value in rounds if known else [ANYWHERE]:
                self._variables[node.name] = value
                self._list(node.arms[0][1])
        if wild and len(self.outcome.made) > made:
            # of files that wildcards bring, only some need what is looked for
            later = [one for one in self.outcome.failures[said:] if one.why is not ScriptWhy.NO_ANCHOR]
            self.outcome.failures[said:] = later
        return None

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
                self._variables[name.rstrip("+")] = (
                    self._variables.get(name[:-1], "") if name[-1] == "+" else ""
                ) + value
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
                    self._variables[key] = value
            return True
        if name in ("cd", "pushd", "popd"):
            return self._cd(name, [word for word in words[1:] if not word.startswith("-")])
        if name == "set":
            self._strict = self._strict or any(re.match(r"-\w*e", word) for word in words[1:])
            return True
        if name == "exit" or (name == "return" and self._depth):
            return self._exit(words)
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
        if name == "patch" or (name == "git" and "apply" in words[1:4]):
            rest = words[1:] if name == "patch" else words[words.index("apply") + 1 :]
            return self._patch(rest, command, name)
        return self._other(name, words, command)

    def _touch(self, words: list[str]) -> bool | None:
        for word in words:
            place = self._place(word)
            if place.tree is not None and self.files.data(place) is None and not self._is_folder(place):
                self._write(place, b"")
        return None

    def _cd(self, name: str, words: list[str]) -> bool | None:
        if name == "popd":
            self._folder = self._folders.pop() if self._folders else ANYWHERE
            return True
        if name == "pushd":
            self._folders.append(self._folder)
        self._folder = posixpath.join(self._folder, words[0]) if words and words[0] != "-" else ANYWHERE
        return True

    def _exit(self, words: list[str]) -> NoReturn:
        if words[0] == "exit" and words[1:2] not in ([], ["0"]) and self._doubt is None:
            self._fails(ScriptWhy.STOPS, None, None, f"exit {words[1]}")
            raise Stopped
        raise _Returns

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
        with contextlib.suppress(_Returns):
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
        with contextlib.suppress(_Returns):
            self.lines(data.decode("utf-8", "replace"), 1)
        self.line, self._strict = line, strict
        self._folder = self._folder if name in ("source", ".") else folder
        self._depth -= 1
        return None

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

    # -- results ------------------------------------------------------------------------------------------------------

    def _write(self, place: Place, data: bytes | None) -> None:
        assert place.tree is not None
        self._certain()
        self.files.write(place, data)
        self.outcome.made.setdefault(place.tree, []).append(Made(self.line, ""))

    def _fails(self, why: ScriptWhy, path: str | None, anchor: str | None, reason: str) -> None:
        self._certain()
        line = self.line
        if why is ScriptWhy.STOPS and anchor is None and self._missed is not None:
            path, anchor, line = self._missed
        self.outcome.failures.append(ScriptFailure(self.script, line, why, path, anchor, reason=reason))


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
