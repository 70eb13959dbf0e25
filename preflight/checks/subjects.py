"""The Python files of a run as modules, and how each stands to the release."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING

from preflight.model import FileState
from preflight.program import Module, ModuleKind, ModuleSpec

if TYPE_CHECKING:
    from preflight.checks.context import Context
    from preflight.program import Missing, Program
    from preflight.program.facts import Import, ModuleFacts


class Standing(Enum):
    """How a file stands to the release that the tree was compared with."""

    PATCHED = "patched"  #: it is not as the release has it, or nothing is known to compare it with
    RELEASED = "released"  #: it is as released
    OUTSIDE = "outside"  #: it is a file of a patch repository and no file of the tree


@dataclass(frozen=True, slots=True)
class Subject:
    """One file to check."""

    path: str
    module: Module
    standing: Standing


class Subjects:
    """The files of one run. Iterating gives those that exist and can be read as Python."""

    def __init__(self, context: Context, program: Program) -> None:
        self._context = context
        self._program = program
        self._tree = context.tree
        self._imports: dict[str, frozenset[tuple[int, str, str | None]] | None] = {}
        self._released: Program | None = None

    @cached_property
    def patched(self) -> frozenset[str]:
        """The paths of files that are not as released, those that are gone included."""
        return frozenset(file.path for file in self._tree.facts.patched)

    @cached_property
    def compared(self) -> bool:
        """Whether there was anything to compare the tree with."""
        return not any(question.id == "no-reference" for question in self._tree.undecided)

    def __iter__(self) -> Iterator[Subject]:
        outside = {file.path for file in self._tree.outside}
        for path in self._context.paths:
            if not path.endswith(".py"):
                continue
            if path in outside:
                yield Subject(path, self._outside(path), Standing.OUTSIDE)
            elif self._tree.exists(path):
                module = self._program.module_at(path)
                if module is not None and module.hole is None:
                    standing = Standing.PATCHED if path in self.patched or not self.compared else Standing.RELEASED
                    yield Subject(path, module, standing)

    def _outside(self, path: str) -> Module:
        """A file of a patch repository as a module that nothing imports."""
        return Module(ModuleSpec(f"<{path}>", ModuleKind.SOURCE, path, True), self._program.loader)

    def of_tree(self, missing: Missing) -> bool:
        """Whether what is missing would be vLLM's own."""
        return self._program.finder.find(missing.module.partition(".")[0]).in_tree

    def caused(self, missing: Missing) -> bool:
        """Whether a missing module or name is missing because of a patched file."""
        if not self.compared:
            return True
        spec = self._program.finder.find(missing.module)
        if spec.path is not None and spec.in_tree:
            return spec.path in self.patched
        base = missing.module.replace(".", "/")
        return f"{base}.py" in self.patched or f"{base}/__init__.py" in self.patched

    def is_new(self, subject: Subject, item: Import) -> bool:
        """Whether the release's file does not have this import; True where the release's file is not known."""
        return self.is_new_in(subject.path, item)

    def is_new_in(self, path: str, item: Import) -> bool:
        """The same of a file by its path."""
        if path not in self._imports:
            facts = self.released_facts(path)
            self._imports[path] = (
                None if facts is None else frozenset((one.level, one.module, one.name) for one in facts.imports)
            )
        known = self._imports[path]
        return known is None or (item.level, item.module, item.name) not in known

    def released_facts(self, path: str) -> ModuleFacts | None:
        """What the release's file says, where it is known and can be read as Python."""
        from preflight.program.extract import facts_of

        data = self._tree.pristine(path)
        if data is None:
            return None
        facts, _ = facts_of(data)
        return facts if facts.hole is None else None

    def concerns(self, subject: Subject, line: int, name: str) -> bool:
        """Whether what a line says of a name is the patch's doing: the release's file has no such line, or it bound the
        name itself. True where the release's file is not known, False for a file that is as released."""
        if subject.standing is Standing.RELEASED:
            return False
        data = self._tree.pristine(subject.path) if subject.standing is Standing.PATCHED else None
        facts = self.released_facts(subject.path) if data is not None else None
        if data is None or facts is None:
            return True
        from preflight.checks.bound import bound_lines

        text = self._context.sources.get(subject.path).lines[line - 1 : line]
        if name in bound_lines(facts.body):
            return True
        return not text or text[0].strip().encode() not in map(bytes.strip, data.splitlines())

    def released_program(self) -> Program | None:
        """The tree as released, as a program; None where the release's files are not known."""
        if self._released is None and self.compared:
            changes: dict[str, bytes | None] = {}
            for file in self._tree.facts.patched:
                data = self._tree.pristine(file.path)
                if data is None and file.state in (FileState.MODIFIED, FileState.MISSING):
                    return None
                changes[file.path] = data
            cache = self._program.loader._cache
            self._released = type(self._program)(self._tree.with_overlay(changes), cache)
        return self._released
