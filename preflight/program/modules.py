"""One module of the program: its facts, read when they are first asked for, and the names its body leaves behind."""

from __future__ import annotations

import ast
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING

from preflight.program.cache import FactsCache
from preflight.program.extract import MAX_BYTES, extract, facts_of, parse
from preflight.program.facts import FunctionFacts, Hole, Import, ModuleFacts
from preflight.program.finder import ModuleKind, ModuleSpec
from preflight.program.one_function import FunctionNode, cut_out, functions_in
from preflight.program.source_text import SourceText
from preflight.tree.kinds import SourceUnreadable

if TYPE_CHECKING:
    from preflight.program.namespace import Namespace
    from preflight.tree import Tree

#: how many syntax trees are kept at once; one of a large model file takes some megabytes
KEPT_TREES = 160
#: how much source is kept at most; a whole released tree has about 30 MB
KEPT_BYTES = 64 * 1024 * 1024


class Module:
    """A module that has a spec; ``facts`` is empty for one without source."""

    __slots__ = ("_facts", "_loader", "exports", "name", "namespace", "spec")

    def __init__(self, spec: ModuleSpec, loader: Loader) -> None:
        self.spec = spec
        self.name = spec.name
        self._loader = loader
        self._facts: ModuleFacts | None = None
        self.namespace: Namespace | None = None  # filled by the resolver
        self.exports: tuple[tuple[str, ...], str | None] | None = None

    def __repr__(self) -> str:
        return f"Module({self.name!r}, {self.spec.kind.value})"

    @property
    def path(self) -> str | None:
        return self.spec.path

    @property
    def has_source(self) -> bool:
        return self.spec.kind is ModuleKind.SOURCE

    @property
    def package(self) -> str:
        """What a relative import of this module counts from."""
        return self.name if self.spec.is_package else self.name.rpartition(".")[0]

    @property
    def facts(self) -> ModuleFacts:
        if self._facts is None:
            self._facts = self._loader.facts(self.spec) if self.has_source else ModuleFacts((), (), (), (), None)
        return self._facts

    @property
    def hole(self) -> Hole | None:
        return self.facts.hole

    def absolute(self, item: Import) -> str | None:
        """The absolute import path that an import statement names; None for one that climbs out of its package."""
        return absolute_name(self.package, item.level, item.module)


def absolute_name(package: str, level: int, name: str) -> str | None:
    """What ``from`` with so many dots and ``name`` means in a package; None for an import that climbs out of it."""
    if not level:
        return name
    parts = package.split(".") if package else []
    if level > len(parts):
        return None
    return ".".join([*parts[: len(parts) - level + 1], *([name] if name else [])])


class Loader:
    """Reads files into facts and syntax trees; trees are kept only for those who ask."""

    def __init__(self, tree: Tree, cache: FactsCache) -> None:
        self._tree = tree
        self.cache = self._cache = cache
        self._trees: OrderedDict[str, tuple[ast.Module | Hole, bytes]] = OrderedDict()
        self._data: dict[str, bytes] = {}
        self._lines: dict[str, SourceText] = {}
        self._functions: dict[str, tuple[ast.Module, dict[tuple[int, str], FunctionNode]]] = {}
        self._kept_bytes = 0
        self.parsed = 0

    def data(self, spec: ModuleSpec) -> bytes | Hole:
        """The bytes of a module's file; those of the tree are kept, for they are searched as text more than once."""
        if spec.path is None:
            return Hole("the module has no file", None, None)
        known = self._data.get(spec.path)
        if known is None:
            known = self._read(spec, spec.path)
            if spec.in_tree and isinstance(known, bytes) and self._kept_bytes < KEPT_BYTES:
                self._data[spec.path] = known
                self._kept_bytes += len(known)
        return known

    def _read(self, spec: ModuleSpec, name: str) -> bytes | Hole:
        try:
            if spec.in_tree:
                return self._tree.read(name)
            path = Path(name)
            if path.stat().st_size > MAX_BYTES:
                return Hole("the file is too large to be read", None, None)
            return path.read_bytes()
        except SourceUnreadable as error:
            return Hole(f"the file cannot be read: {error.reason}", None, None)
        except OSError as error:
            return Hole(f"the file cannot be read: {error.strerror or error}", None, None)

    def facts(self, spec: ModuleSpec) -> ModuleFacts:
        """The facts of a module's file, from the cache or by parsing it."""
        data = self.data(spec)
        if isinstance(data, Hole):
            return ModuleFacts((), (), (), (), None, data)
        known = self.cache.get(data)
        if known is not None:
            return known
        kept = self._trees.get(spec.name)
        if kept is not None and isinstance(kept[0], ast.Module):
            try:
                facts = extract(kept[0], data)
            except RecursionError:
                facts = ModuleFacts((), (), (), (), None, Hole("the code is nested too deeply", None, None))
        else:
            self.parsed += 1
            facts, tree = facts_of(data)
            del tree
        self.cache.put(data, facts)
        return facts

    def facts_of(self, data: bytes) -> ModuleFacts:
        """The facts of a file that is no module of this program, such as the release's of a patched one."""
        known = self.cache.get(data)
        if known is None:
            self.parsed += 1
            known, _ = facts_of(data)
            self.cache.put(data, known)
        return known

    def tree(self, spec: ModuleSpec) -> ast.Module | Hole:
        """The syntax tree of a module's file, or why there is none. A bounded number of them is kept."""
        kept = self._trees.get(spec.name)
        if kept is None:
            data = self.data(spec)
            if isinstance(data, Hole):
                return data
            self.parsed += 1
            kept = (parse(data), data)
            self._trees[spec.name] = kept
            if len(self._trees) > KEPT_TREES:
                name, _ = self._trees.popitem(last=False)
                self._functions.pop(name, None)
        else:
            self._trees.move_to_end(spec.name)
        return kept[0]

    def function(self, spec: ModuleSpec, facts: FunctionFacts) -> FunctionNode | None:
        """The syntax tree of one function: out of its file's where that is at hand, else parsed by itself."""
        if spec.name not in self._trees:
            text = self._lines.get(spec.name)
            if text is None:
                data = self.data(spec)
                if isinstance(data, Hole):
                    return None
                text = self._lines[spec.name] = SourceText(data)
            node = cut_out(text, facts)
            if node is not None:
                return node
        tree = self.tree(spec)
        if not isinstance(tree, ast.Module):
            return None
        known = self._functions.get(spec.name)
        if known is None or known[0] is not tree:
            known = self._functions[spec.name] = (tree, functions_in(tree))
        return known[1].get((facts.line, facts.name))

    def kept(self, what: str, signature: str) -> dict[str, list[str]] | None:
        """An index of names that was kept for these very files."""
        return self.cache.index(f"{what}:{signature}")

    def keep(self, what: str, signature: str, index: dict[str, list[str]]) -> None:
        """Keep an index of names for later runs."""
        self.cache.put_index(f"{what}:{signature}", index)
