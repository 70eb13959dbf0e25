"""Whether importing a module succeeds, with everything that it imports on the way.

Only imports that certainly run count: those under TYPE_CHECKING, in functions, in an open branch or in a ``try`` whose
handlers catch the failure do not make the import of their module fail. Packages outside the tree are taken as sound in
themselves; of them only the modules and names that the tree asks for have to be there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from preflight.model import Span
from preflight.program.conditions import Truth
from preflight.program.definitions import Missing
from preflight.program.facts import Import
from preflight.program.finder import ModuleKind

if TYPE_CHECKING:
    from preflight.program.modules import Module
    from preflight.program.program import Program


@dataclass(frozen=True, slots=True)
class ImportFailure:
    """What stops an import: at ``span`` in ``module``, where ``missing`` is not there or ``message`` is raised.

    ``via`` are the modules on the way, the one that was asked about first.
    """

    module: str
    span: Span
    message: str
    missing: Missing | None = None
    via: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Survey:
    """``asked``: the modules asked about; ``failing``: those of them whose import certainly fails. ``packages``: for
    each outside package that is not at hand, which of them need it, and the modules of the tree that import it, with
    the import."""

    asked: frozenset[str]
    failing: frozenset[str]
    packages: dict[str, tuple[frozenset[str], dict[str, Import]]]


@dataclass(slots=True)
class _Node:
    """What one module needs when it is imported."""

    needs: tuple[str, ...] = ()  # modules of the tree, in the order in which they are imported
    failure: ImportFailure | None = None
    packages: tuple[tuple[str, Import], ...] = ()  # outside modules that are not at hand


class Importing:
    """Follows imports for one program."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._nodes: dict[str, _Node] = {}
        self._shallow: dict[str, Truth] = {}

    def failure(self, name: str) -> ImportFailure | None:
        """The first thing that certainly stops ``import name``, None if nothing does."""
        came_from: dict[str, str | None] = {name: None}
        for current in self._order(name, came_from):
            failure = self._node(current).failure
            if failure is not None:
                via: list[str] = []
                step: str | None = current
                while step is not None:
                    via.append(step)
                    step = came_from[step]
                return ImportFailure(
                    failure.module, failure.span, failure.message, failure.missing, tuple(reversed(via))
                )
        return None

    def survey(self, names: Iterable[str]) -> Survey:
        """The same for many modules at once: which fail, and which need a package that is not at hand."""
        wanted = list(dict.fromkeys(names))
        needed_by: dict[str, list[str]] = {}
        seen: dict[str, str | None] = dict.fromkeys(wanted)
        failing: list[str] = []
        packages: dict[str, dict[str, Import]] = {}
        waiting = deque(wanted)
        while waiting:
            current = waiting.popleft()
            node = self._node(current)
            if node.failure is not None:
                failing.append(current)
            for target, item in node.packages:
                packages.setdefault(target.partition(".")[0], {}).setdefault(current, item)
            for needed in node.needs:
                needed_by.setdefault(needed, []).append(current)
                if needed not in seen:
                    seen[needed] = current
                    waiting.append(needed)
        return Survey(
            frozenset(wanted),
            frozenset(wanted) & _spread(failing, needed_by),
            {
                package: (frozenset(wanted) & _spread(importers, needed_by), dict(importers))
                for package, importers in packages.items()
            },
        )

    def needs(self, name: str) -> Iterable[str]:
        """The modules of the tree that importing ``name`` imports for certain, itself first."""
        return self._order(name, {name: None})

    def shallow(self, name: str, depth: int = 2) -> Truth:
        """Whether ``import name`` succeeds, looking only a few modules deep: for the ``try`` around an import."""
        spec = self._program.finder.find(name)
        if spec.kind is ModuleKind.ABSENT:
            return Truth.MAYBE if self._program.lazy.makes_module(name) else Truth.NO
        if spec.kind is ModuleKind.UNKNOWN:
            return Truth.MAYBE
        if spec.kind is not ModuleKind.SOURCE or not spec.in_tree or depth == 0:
            return Truth.YES
        known = self._shallow.get(name)
        if known is None:
            self._shallow[name] = Truth.YES  # a cycle does not make an import fail by itself
            known = self._shallow[name] = self._look(name, depth)
        return known

    def _look(self, name: str, depth: int) -> Truth:
        module = self._program.module(name)
        namespace = self._program.resolver.namespace(module)
        answer = Truth.YES
        for item, certain in namespace.imports if namespace is not None else ():
            target = module.absolute(item) if certain else None
            found = self.shallow(target, depth - 1) if target is not None else Truth.YES
            if found is Truth.NO:
                return Truth.NO
            if found is Truth.MAYBE:
                answer = Truth.MAYBE
        return answer

    # -- the graph ----------------------------------------------------------------------------------------------------

    def _order(self, name: str, came_from: dict[str, str | None]) -> Iterable[str]:
        """The modules that importing ``name`` reaches, nearest first."""
        waiting = deque([name])
        while waiting:
            current = waiting.popleft()
            yield current
            for needed in self._node(current).needs:
                if needed not in came_from:
                    came_from[needed] = current
                    waiting.append(needed)

    def _node(self, name: str) -> _Node:
        found = self._nodes.get(name)
        if found is None:
            found = self._nodes[name] = self._make(name)
        return found

    def _make(self, name: str) -> _Node:
        module = self._program.module(name)
        spec = module.spec
        parent = name.rpartition(".")[0]
        if not spec.in_tree:
            return _Node()
        if spec.kind is not ModuleKind.SOURCE:
            return _Node((parent,) if parent else ())
        if module.hole is not None:
            hole = module.hole
            span = Span(module.path or name, hole.line, hole.column)
            return _Node(failure=ImportFailure(name, span, f"SyntaxError: {hole.message}"))
        needs: list[str] = [parent] if parent else []
        packages: list[tuple[str, Import]] = []
        namespace = self._program.resolver.namespace(module)
        for item, certain in namespace.imports if namespace is not None else ():
            if not certain:
                continue
            failure = self._import(module, item, needs, packages)
            if failure is not None:
                return _Node(tuple(dict.fromkeys(needs)), failure, tuple(packages))
        failure = None
        if namespace is not None and namespace.raises is not None:
            raised = namespace.raises
            text = raised.value.text if raised.value is not None else "raise"
            failure = ImportFailure(name, Span(module.path or name, raised.line, raised.column), f"it raises {text}")
        return _Node(tuple(dict.fromkeys(needs)), failure, tuple(packages))

    def _import(
        self, module: Module, item: Import, needs: list[str], packages: list[tuple[str, Import]]
    ) -> ImportFailure | None:
        """Note what one import needs; the failure if it certainly cannot succeed."""
        target = module.absolute(item)
        span = Span(module.path or module.name, item.line, item.column, item.end_line, item.end_column)
        if target is None:
            message = "ImportError: attempted relative import beyond top-level package"
            return ImportFailure(module.name, span, message)
        spec = self._program.finder.find(target)
        if spec.kind is ModuleKind.UNKNOWN:
            packages.append((target, item))
            return None
        if spec.in_tree:
            needs.append(target)
            if item.name not in (None, "*"):
                submodule = self._program.finder.find(f"{target}.{item.name}")
                if submodule.found and not self._binds(target, item.name or ""):
                    needs.append(submodule.name)
        if item.name is not None and item.name != "*" and spec.in_tree and self._binds(target, item.name):
            return None
        if item.name == "*":
            missing = None
            if spec.kind is ModuleKind.ABSENT and not self._program.lazy.makes_module(target):
                missing = Missing(target, None, spec.reason)
        else:
            missing = self._program.resolver.imported(module, item).missing
        if missing is None:
            return None
        return ImportFailure(module.name, span, missing.as_exception(), missing)

    def _binds(self, target: str, name: str) -> bool:
        """Whether the body of a module certainly binds the name (what the binding leads to is that module's matter)."""
        namespace = self._program.resolver.namespace(self._program.module(target))
        bindings = namespace.names.get(name) if namespace is not None else None
        return bool(bindings) and None not in (bindings or ())


def _spread(sources: Iterable[str], needed_by: dict[str, list[str]]) -> frozenset[str]:
    """The sources and everything that needs one of them."""
    found = dict.fromkeys(sources)
    waiting = list(found)
    while waiting:
        for user in needed_by.get(waiting.pop(), ()):
            if user not in found:
                found[user] = None
                waiting.append(user)
    return frozenset(found)
