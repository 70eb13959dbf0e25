"""The conditions and loops of a shell script."""

from __future__ import annotations

import contextlib
import fnmatch
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from preflight.tree.scripts.blocks import Block, Node, Simple
from preflight.tree.scripts.files import ANYWHERE, REPOSITORY
from preflight.tree.scripts.meaning import Leaves, Returns
from preflight.tree.scripts.outcome import GaveUp, ScriptWhy
from preflight.tree.scripts.printing import Printing
from preflight.tree.scripts.words import Logical, commands

_MOST_ROUNDS = 500
_OFTEN = "how often a loop of the shell runs is not known"


class Loops(Printing):
    """Follows conditions and loops; each gives its status, None where that is not known."""

    _list: Callable[[Sequence[Node]], bool | None]
    _left: str | None
    _loops: int
    _tested: int

    @contextlib.contextmanager
    def _doubting(self, reason: str | None) -> Iterator[None]:
        """While it is not known whether commands run: an exit among them is taken for one that is not come to, and
        behind one that leaves a round of a loop it is not known whether the rest of the loop runs."""
        before = self._doubt
        self._doubt = before or reason
        try:
            yield
        except Returns:
            if reason is None or before is not None:
                raise
        finally:
            self._doubt = before or self._left

    def _leave(self, name: str, words: list[str]) -> None:
        """``break`` and ``continue``"""
        if not self._loops:
            return
        if self._doubt is None:
            raise Leaves(name, int(words[0]) if words and words[0].isdigit() else 1)
        self._left = f"whether the `{name}` in line {self.line} is come to is not known"

    @contextlib.contextmanager
    def _looping(self) -> Iterator[None]:
        before, doubt = self._left, self._doubt
        self._loops += 1
        try:
            yield
        finally:
            self._loops -= 1
            self._left, self._doubt = before, doubt

    def _round(self, body: Sequence[Node]) -> bool:
        """Run the body of a loop once; whether the loop goes on."""
        try:
            self._list(body)
        except Leaves as leaves:
            if leaves.levels > 1:
                leaves.levels -= 1
                raise
            return not leaves.ends
        return True

    def _case(self, node: Block) -> bool | None:
        found = commands(Logical(node.line, f"case {node.words}", ()), self._variables)
        value = found[0].words[1] if found and len(found[0].words) == 2 else ANYWHERE
        status: bool | None = True
        falls = False
        for number, (_, body) in enumerate(node.arms):
            answer = True if falls else self._matches(value, node.patterns[number], node.line)
            if answer is None:
                with self._doubting(f"which arm of the `case` in line {node.line} runs is not known"):
                    for _, other in node.arms[number:]:
                        with contextlib.suppress(Returns):
                            self._list(other)
                return None
            if answer:
                status = self._list(body)
                if node.ends[number] == ";;":
                    return status
            falls = answer and node.ends[number] == ";&"
        return status

    def _matches(self, value: str, patterns: Iterable[str], line: int) -> bool | None:
        """Whether one of the patterns of an arm is that of a value."""
        answers = [self._is_like(value, pattern, line) for pattern in patterns]
        return True if True in answers else None if None in answers else False

    def _is_like(self, value: str, pattern: str, line: int) -> bool | None:
        if pattern == "*":
            return True
        found = commands(Logical(line, f"case {pattern}", ()), self._variables)
        words = found[0].words[1:] if len(found) == 1 else []
        if len(words) != 1 or ANYWHERE in value + words[0]:
            return None
        wild = re.search(r"[*?\[]", words[0]) is not None and re.fullmatch(r"'[^']*'", pattern) is None
        if wild and re.search(r"['\"\\$]|\[[\^\[]|\[:", pattern):
            return None
        return fnmatch.fnmatchcase(value, words[0]) if wild else value == words[0]

    def _while(self, node: Block) -> bool | None:
        """``while`` and ``until``, as long as their condition is known; lines that are read are those of a file."""
        condition, body = node.arms[0]
        piped = self._piped is not None
        variables = dict(self._variables)
        with self._looping():
            rounds = self._read_rounds(node)
            if rounds is not None:
                for values in rounds:
                    self._variables.update(values)
                    if not self._round(body):
                        break
            elif not self._tested_rounds(node):
                with self._doubting(_OFTEN):
                    for part in (*condition, *body):
                        self._list([part])
        if piped:
            self._variables = variables  # the loop is a process of its own
        return None

    def _tested_rounds(self, node: Block) -> bool:
        """Run a loop whose condition can be asked; False where its answer is not known."""
        condition, body = node.arms[0]
        for _ in range(_MOST_ROUNDS):
            self._tested += 1
            answer = self._list(condition)
            self._tested -= 1
            if answer is None:
                return False
            if answer is (node.kind == "until"):
                return True
            before = (dict(self._variables), self._folder, len(self.outcome.made), dict(self.files.written))
            if not self._round(body):
                return True
            if before == (self._variables, self._folder, len(self.outcome.made), self.files.written):
                return True  # what ends it is not the script
        raise GaveUp(_OFTEN, self.line)

    def _read_rounds(self, node: Block) -> list[dict[str, str]] | None:
        """The variables of each round of ``while read``; None where it is another loop, or its lines are not known."""
        condition = node.arms[0][0]
        first = condition[0] if condition else None
        if node.kind != "while" or not isinstance(first, Simple) or first.negated:
            return None
        whole = len(condition) == 2 and isinstance(condition[1], Simple) and condition[1].before == "||"
        if len(condition) > 1 and not (whole and re.match(r"(?:\[\[?|test)\s+-n\b", _text(condition[1]))):
            return None
        words = _text(first).split()
        trims = words[:1] not in (["IFS="], ["IFS=''"])
        words = words if trims else words[1:]
        raw = words[1:2] == ["-r"]
        names = words[2:] if raw else words[1:]
        if words[:1] != ["read"] or not all(name.isidentifier() for name in names):
            return None
        text = self._input(node)
        lines = text.split("\n") if text is not None else []
        rest = lines.pop() if lines else ""
        lines += [rest] if rest and whole else []
        if text is None or len(lines) > _MOST_ROUNDS or (not raw and "\\" in text):
            return None
        return [_split(line, names or ["REPLY"], trims) for line in lines]

    def _input(self, node: Block) -> str | None:
        """What a loop is given on its standard input, where that is known."""
        given = commands(node.redirected.logical, self._variables) if node.redirected is not None else []
        if node.redirected is not None and "<" in node.redirected.logical.text:
            command = given[0] if len(given) == 1 else None
            if command is None or "<<<" in node.redirected.logical.text or "(" in node.redirected.logical.text:
                return None
            if command.heredoc is not None:
                return command.heredoc[0] if ANYWHERE not in command.heredoc[0] else None
            data = self._content(command.sources[0]) if len(command.sources) == 1 else None
        elif self._piped is not None:
            before = commands(self._piped.logical, self._variables)
            only = before[0] if len(before) == 1 and before[0].words and not before[0].targets else None
            data = self._printed(only.words[0], only.words, only) if only is not None else None
        else:
            return None
        return data.decode("utf-8", "replace") if data is not None else None

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
                        with contextlib.suppress(Returns):
                            self._list(other)
                return None
        return True

    def _for(self, node: Block) -> bool | None:
        text = node.words if node.words else "$@"
        found = commands(Logical(node.line, f"for {text}", ()), self._variables)
        quoted = re.search(r"['\"]", text) is not None
        values = [
            one
            for word in (found[0].words[1:] if found else [])
            for one in ([word] if quoted and " " not in word else word.split())
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
        with self._looping(), self._doubting(None if known else "what a loop of the shell runs through is not known"):
            for value in rounds if known else [ANYWHERE]:
                self._variables[node.name] = value
                if not self._round(node.arms[0][1]):
                    break
        if wild and len(self.outcome.made) > made:
            # of files that wildcards bring, only some need what is looked for
            later = [one for one in self.outcome.failures[said:] if one.why is not ScriptWhy.NO_ANCHOR]
            self.outcome.failures[said:] = later
        return None


def _text(node: Node) -> str:
    return node.logical.text.strip() if isinstance(node, Simple) else ""


def _split(line: str, names: Sequence[str], trims: bool) -> dict[str, str]:
    """A line as ``read`` puts it into variables; with an empty ``IFS`` (``trims`` is False) it is not split."""
    if not trims:
        return {**dict.fromkeys(names, ""), names[0]: line}
    parts = line.strip(" \t").split(None, len(names) - 1)
    return {**dict.fromkeys(names, ""), **dict(zip(names, parts, strict=False))}
