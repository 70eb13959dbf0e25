"""The files of the tree as one text, read once: which of them hold a word is asked many times in a run."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from preflight.program.modules import Module
    from preflight.program.program import Program

#: stands between two files; no word reaches over it
_BETWEEN = b"\n\0\n"


class Texts:
    """The bytes of every module of the tree. They are read on the first question and kept."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._modules: list[Module] = []
        self._starts: list[int] = []
        self._data: bytes | None = None
        self._place: dict[str, int] = {}
        self._with: dict[str, tuple[Module, ...]] = {}
        self._found: dict[str, tuple[list[Module], Iterator[Module]]] = {}
        self._matching: dict[tuple[bytes, str], tuple[Module, ...]] = {}

    def modules_with(self, word: str) -> tuple[Module, ...]:
        """Modules whose text holds ``word`` as a whole word."""
        if word not in self._with:
            self._with[word] = tuple(self.each_with(word))
        return self._with[word]

    def each_with(self, word: str) -> Iterator[Module]:
        """The same one by one: who stops early does not have the whole tree searched."""
        found, rest = self._found.setdefault(word, ([], self._find(word.encode())))
        for place in count():
            if place == len(found):
                module = next(rest, None)
                if module is None:
                    return
                found.append(module)
            yield found[place]

    def matching(self, pattern: bytes, word: str) -> tuple[Module, ...]:
        """The modules with ``word`` in which a pattern is found."""
        key = (pattern, word)
        if key not in self._matching:
            compiled = re.compile(pattern)
            found = [module for module in self.modules_with(word) if compiled.search(self.of(module))]
            self._matching[key] = tuple(found)
        return self._matching[key]

    def places(self, text: bytes, but: str) -> list[tuple[str, int]]:
        """The first two files, ``but`` one, that hold a piece of text, with the line at which it begins there."""
        data = self._read()
        found: list[tuple[str, int]] = []
        at = data.find(text)
        while at >= 0 and len(found) < 2:
            index = bisect_right(self._starts, at) - 1
            path = self._modules[index].path
            if path is not None and path != but:
                found.append((path, data.count(b"\n", self._starts[index], at) + 1))
            at = data.find(text, self._end(index))
        return found

    def of(self, module: Module) -> bytes:
        """The bytes of a module's file; nothing for one that cannot be read."""
        data = self._read()
        index = self._place.get(module.name)
        return data[self._starts[index] : self._end(index)] if index is not None else b""

    def lines_with(self, module: Module, pattern: bytes) -> frozenset[int]:
        """The lines of a module at which a pattern is found."""
        text = self.of(module)
        found: set[int] = set()
        line, at = 1, 0
        for match in re.finditer(pattern, text):
            line += text.count(b"\n", at, match.start())
            at = match.start()
            found.add(line)
        return frozenset(found)

    def _find(self, needle: bytes) -> Iterator[Module]:
        data = self._read()
        length = len(needle)
        at = data.find(needle)
        while at >= 0:
            if _is_letter(data, at - 1) or _is_letter(data, at + length):
                at = data.find(needle, at + 1)
                continue
            index = bisect_right(self._starts, at) - 1
            yield self._modules[index]
            at = data.find(needle, self._end(index))

    def _end(self, index: int) -> int:
        assert self._data is not None
        last = index + 1 == len(self._starts)
        return len(self._data) if last else self._starts[index + 1] - len(_BETWEEN)

    def _read(self) -> bytes:
        if self._data is None:
            parts: list[bytes] = []
            at = 0
            for module in self._program.tree_modules():
                data = self._program.loader.data(module.spec)
                if isinstance(data, bytes):
                    self._place[module.name] = len(self._modules)
                    self._modules.append(module)
                    self._starts.append(at)
                    parts.append(data)
                    at += len(data) + len(_BETWEEN)
            self._data = _BETWEEN.join(parts)
        return self._data


def whole_word(name: str) -> re.Pattern[bytes]:
    """Finds a name in the bytes of a source, and not inside of another one."""
    return re.compile(rb"(?<!\w)" + re.escape(name.encode()) + rb"(?!\w)")


def _is_letter(data: bytes, at: int) -> bool:
    """Whether the byte may be part of a name."""
    if not 0 <= at < len(data):
        return False
    byte = data[at : at + 1]
    return byte.isalnum() or byte == b"_" or byte >= b"\x80"
