"""Imports in the order in which the interpreter executes them, to see what is bound in a module that is still running.

Python runs the packages above a module, then the module, and puts it into ``sys.modules`` before its first statement. A
module that is imported again while it runs is handed out as it is: ``from it import name`` fails if the name is not yet
bound and is no submodule. Both the names that may be bound and the ways that may be taken are followed generously, so
that what fails here fails in Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from preflight.checks.body.moment import catches
from preflight.checks.bound import bound_lines
from preflight.program import Truth
from preflight.program.facts import (
    Assign,
    Branches,
    ClassFacts,
    Delete,
    FunctionFacts,
    If,
    Import,
    Item,
    Raise,
    Try,
    With,
)
from preflight.program.resolver import MODULE_ATTRIBUTES

if TYPE_CHECKING:
    from preflight.program import Module, Program

#: stands among the names of a module of which not all are known
_OPEN = "*"
#: deeper chains of imports are followed no further
_DEEPEST = 200


@dataclass(frozen=True, slots=True)
class PartialImport:
    """``item`` of ``module`` asks ``source``, which is still running, for a name that is not bound yet.

    ``chain`` are the imports that led here: each module with the import that it was running, the first module first.
    """

    module: str
    item: Import
    source: str
    chain: tuple[tuple[str, Import], ...]


@dataclass(slots=True)
class ImportRun:
    """One process that imports modules. ``eager``: imports that may run do run. What fails with and without, fails."""

    program: Program
    eager: bool
    failures: list[PartialImport] = field(default_factory=list)
    #: what each module that was begun may have bound; _OPEN among them: and who knows what else
    _bound: dict[str, set[str]] = field(default_factory=dict)
    _done: set[str] = field(default_factory=set)
    _chain: list[tuple[str, Import]] = field(default_factory=list)

    def load(self, name: str) -> None:
        """``import name``: the packages above it first."""
        parts = name.split(".")
        for count in range(1, len(parts) + 1):
            self._load(".".join(parts[:count]))

    def is_loaded(self, name: str) -> bool:
        """Whether the module has been imported to its end."""
        return name in self._done

    def binds(self, name: str) -> set[str]:
        """The names that a module which is running may have bound so far."""
        return self._bound[name]

    def is_quiet(self, module: Module, item: Import) -> bool:
        """Whether an import runs no other code: of a module that was begun before, and of no submodule. Such a one
        fails for want of the name or not at all. Asked behind the import.
        """
        target = module.absolute(item)
        bound = self._bound.get(target) if target is not None and item.name is not None else None
        if bound is None or not bound.isdisjoint({_OPEN, "__getattr__", "__all__"}):
            return False
        return item.name == "*" or not self.program.finder.find(f"{target}.{item.name}").found

    def _load(self, name: str) -> None:
        if name in self._bound or len(self._chain) > _DEEPEST:
            return
        module = self.program.module(name)
        if not module.has_source or not module.spec.in_tree:
            return
        self._bound[name] = set(MODULE_ATTRIBUTES | {"__path__"})
        if self.program.resolver.openness(module, None) is not None:
            self._bound[name].add(_OPEN)
        _Body(self, module).block(module.facts.body, True)
        self._done.add(name)

    def imported(self, module: Module, item: Import, certain: bool) -> PartialImport | None:
        """Run one name of an import statement; what is wrong with it, if it fails."""
        target = module.absolute(item)
        if target is None or not self.program.finder.find(target.partition(".")[0]).in_tree:
            return None
        self._chain.append((module.name, item))
        self.load(target)
        failure = self._name(module, item, target)
        self._chain.pop()
        return failure if certain else None

    def _name(self, module: Module, item: Import, target: str) -> PartialImport | None:
        if item.name in (None, "*"):
            return None
        name = item.name or ""
        bound = self._bound.get(target)
        submodule = self.program.finder.find(f"{target}.{name}")
        if bound is not None and (name in bound or "__getattr__" in bound or _OPEN in bound):
            return None
        if submodule.found:
            self.load(submodule.name)
            return None
        if bound is None or self.program.resolve(target, name).exists is Truth.NO:
            return None  # nobody knows, or it is missing however the modules are ordered
        return PartialImport(module.name, item, target, tuple(self._chain))

    def star(self, target: str) -> set[str]:
        """The names that a star import may bring now."""
        names, reason = self.program.resolver.exports(target)
        bound = self._bound.get(target)
        if bound is None or _OPEN in bound:
            return {*names, _OPEN} if bound is not None or reason is not None else set(names)
        if "__all__" in bound:
            return {*names, _OPEN} if reason is not None else set(names)
        return {name for name in bound if not name.startswith("_")}


@dataclass(slots=True)
class _Body:
    """The body of one module that runs."""

    run: ImportRun
    module: Module
    caught: list[str] = field(default_factory=list)

    def block(self, items: Sequence[Item], certain: bool) -> bool:
        """Run the items; False if they certainly do not reach their end."""
        return all(self.item(item, certain) for item in items)

    def item(self, item: Item, certain: bool) -> bool:
        if isinstance(item, Import):
            return self.import_item(item, certain)
        if isinstance(item, (Assign, FunctionFacts)):
            if item.name:
                self.bound.add(item.name)
        elif isinstance(item, ClassFacts):
            for inner in item.body:
                if isinstance(inner, Import):
                    self.run.imported(self.module, inner, False)
            self.bound.add(item.name)
        elif isinstance(item, If):
            return self.if_item(item, certain)
        elif isinstance(item, Try):
            return self.try_item(item, certain)
        elif isinstance(item, With):
            self.caught.append("?")
            self.block(item.body, certain)
            self.caught.pop()
        elif isinstance(item, Branches):
            for arm in item.arms:
                self.open_arm(arm)
        elif isinstance(item, Delete):
            self.bound.discard(item.name)
        elif isinstance(item, Raise):
            return False
        return True

    @property
    def bound(self) -> set[str]:
        return self.run.binds(self.module.name)

    def import_item(self, item: Import, certain: bool) -> bool:
        failure = self.run.imported(self.module, item, certain)
        if failure is not None:
            if any(catches(name.rpartition(".")[2], ImportError) is not Truth.NO for name in self.caught):
                return False
            self.run.failures.append(failure)
        if item.name != "*":
            self.bound.add(item.bound)
        else:
            target = self.module.absolute(item)
            self.bound.update(self.run.star(target) if target is not None else ())
        return True

    def if_item(self, item: If, certain: bool) -> bool:
        answer = self.run.program.resolver.test(self.module, item.test)
        if answer is Truth.YES:
            return self.block(item.body, certain)
        if answer is Truth.NO:
            return self.block(item.orelse, certain)
        self.open_arm(item.body)
        self.open_arm(item.orelse)
        return True

    def open_arm(self, items: Sequence[Item]) -> None:
        """What may run: its names may be bound, its imports run if the process is an eager one."""
        if self.run.eager:
            self.block(items, False)
        else:
            self.bound.update(bound_lines(items))

    def try_item(self, item: Try, certain: bool) -> bool:
        caught = [name for handler in item.handlers for name in handler.caught]
        self.caught.extend(caught)
        ended = self.block(item.body, certain)
        del self.caught[len(self.caught) - len(caught) :]
        if ended:
            ended = self.block(item.orelse, certain)
        quiet = all(isinstance(inner, Import) and self.run.is_quiet(self.module, inner) for inner in item.body)
        for handler in item.handlers:
            if not quiet or any(_is_of_import(name) for name in handler.caught):
                self.open_arm(handler.body)
        self.block(item.final, certain)
        return ended or bool(item.handlers)


def _is_of_import(caught: str) -> bool:
    """Whether a handler catches what an import raises that finds a module and not the name."""
    name = caught.rpartition(".")[2]
    return any(catches(name, error) is not Truth.NO for error in (ImportError, AttributeError))
