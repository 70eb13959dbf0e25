"""Which modules import which when they are imported, by the text of their import lines alone.

It is quick and errs to the side of too many edges, so that modules which it puts on no cycle are on none, and the exact
order of imports need not be looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from preflight.program.modules import absolute_name

if TYPE_CHECKING:
    from preflight.program import Module, Program

_IMPORT = re.compile(
    rb"^([ \t]*)(?:from[ \t]+([.\w]+)[ \t]+import[ \t]*(\([^)]*\)|[^\n]*(?:\\\n[^\n]*)*)|import[ \t]+([^\n#]+))",
    re.MULTILINE,
)
_WORD = re.compile(rb"[A-Za-z_]\w*")
#: a line at the left margin that opens a block of which the imports do not run when the module is imported
_DEFERRED = re.compile(rb"def\b|async\b|class\b|@|if TYPE_CHECKING|if typing\.TYPE_CHECKING")


class ImportGraph:
    """The edges of one program's modules, found when they are asked for."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._edges: dict[str, frozenset[str]] = {}
        self._names: dict[str, tuple[str, ...]] = {}

    def edges(self, name: str) -> frozenset[str]:
        """The modules of the tree that importing ``name`` may import at once, the packages above them included."""
        known = self._edges.get(name)
        if known is None:
            known = self._edges[name] = frozenset(self._read(self._program.module(name)))
        return known

    def cycle(self, name: str) -> frozenset[str]:
        """The modules that are on some cycle of imports with ``name``, itself included; empty if there is none."""
        ahead = self._reached([name], self.edges)
        if name not in ahead:
            return frozenset()
        behind: dict[str, set[str]] = {}
        for module in ahead:
            for target in self.edges(module):
                behind.setdefault(target, set()).add(module)
        back = self._reached([name], lambda module: behind.get(module, ()))
        return frozenset(ahead & (back | {name}))

    def _reached(self, names: Iterable[str], edges: object) -> set[str]:
        found: set[str] = set()
        waiting = list(names)
        while waiting:
            for target in edges(waiting.pop()):  # type: ignore[operator]
                if target not in found:
                    found.add(target)
                    waiting.append(target)
        return found

    def _read(self, module: Module) -> Iterable[str]:
        data = self._program.loader.data(module.spec) if module.has_source and module.spec.in_tree else b""
        if not isinstance(data, bytes) or b"import" not in data:
            return
        for match in _IMPORT.finditer(data):
            if match[1] and _is_deferred(data, match.start()):
                continue
            if match[4] is not None:
                for part in match[4].split(b","):
                    yield from self._known(part.split(b" as ")[0].strip().decode("ascii", "replace"))
                continue
            text = match[2].decode("ascii", "replace")
            name = text.lstrip(".")
            base = absolute_name(module.package, len(text) - len(name), name)
            if base is None:
                continue
            yield from self._known(base)
            if self._program.finder.find(base).is_package:
                for word in _WORD.findall(match[3]):
                    yield from self._known(f"{base}.{word.decode()}")

    def _known(self, name: str) -> tuple[str, ...]:
        """The module and the packages above it, as far as they are the tree's."""
        known = self._names.get(name)
        if known is None:
            above = name.rpartition(".")[0]
            spec = self._program.finder.find(name)
            own = (name,) if spec.found and spec.in_tree else ()
            known = self._names[name] = own + (self._known(above) if above else ())
        return known


def _is_deferred(data: bytes, start: int) -> bool:
    """Whether an indented line stands in a function, in a class, or under TYPE_CHECKING."""
    end = start
    while end > 0:
        begin = data.rfind(b"\n", 0, end - 1) + 1 if end > 1 else 0
        first = data[begin : begin + 1]
        if first.strip() and first not in b"#)]}\"'":
            return _DEFERRED.match(data, begin) is not None
        end = begin
    return False
