"""What of vLLM runs in the engine's and the workers' processes only, and never in the one that starts them.

Some classes are made there, and are found by how the tree leads to them: the models of its registry, the workers that
its platforms name, the engine that loads plug-ins and is the target of a process, and what that engine keeps under an
annotated name. Any other class or function belongs there if nothing but methods of such objects names it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from preflight.checks.reach import classes_of
from preflight.program import Class
from preflight.program.entry_points import LOAD_PLUGINS, WORKER_CLASS
from preflight.program.facts import Hole
from preflight.program.syntax_nodes import dotted

if TYPE_CHECKING:
    from preflight.program import Module, Program

_NAMED_WORKER = re.compile(rb"\b" + WORKER_CLASS.encode() + rb"\s*=\s*\(?\s*['\"](vllm[\w.]+)['\"]")
#: calls whose arguments only ask what something is
_ASKING = frozenset({"isinstance", "issubclass", "cast"})
#: a method that needs no object
_ANYWHERE = ("", False)
#: so many names are followed one from the other, and so many modules may hold one
_DEEPEST = 6
_MOST_MODULES = 250


class Children:
    """The answers for one program."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._known: dict[tuple[str, bool, bool], bool] = {}
        self._asking: list[str] = []
        engines = frozenset(self._engines())
        self._made = frozenset((*self._models(), *self._workers(), *engines))
        self._kept = frozenset(kept for engine in engines for kept in self._annotated(engine))

    def has_class(self, cls: Class) -> bool:
        """Whether all objects of a class are made there."""
        if cls in self._made:
            return True
        if cls.facts is None or "." in cls.qualname:
            return False
        kept = any(one in self._kept for one in cls.mro)
        return self.has_name(cls.name, kept, any(one.module.partition(".")[0] == "torch" for one in cls.mro))

    def has_name(self, name: str, calls_only: bool = False, layer: bool = False) -> bool:
        """Whether nothing but code of those processes names a class or function; ``calls_only``: or calls it.
        ``layer``: the class is one of torch's modules, which a model may have as an attribute of its class."""
        key = (name, calls_only, layer)
        if key not in self._known:
            if name in self._asking or len(self._asking) >= _DEEPEST:
                return False
            self._asking.append(name)
            self._known[key] = self._is_theirs(*key)
            self._asking.pop()
        return self._known[key]

    def _models(self) -> Iterator[Class]:
        reader = self._program.registry_reader
        for entry in reader.registry().entries.values():
            found = reader.model_class(entry)
            if isinstance(found, Class):
                yield found

    def _workers(self) -> Iterator[Class]:
        for module in self._program.texts.modules_with(WORKER_CLASS):
            for match in _NAMED_WORKER.finditer(self._program.texts.of(module)):
                owner, _, name = match[1].decode().rpartition(".")
                found = self._program.find_class(owner, name)
                if isinstance(found, Class):
                    yield found

    def _engines(self) -> Iterator[Class]:
        """The classes that load plug-ins, and those that derive from them, where a process is started with a method of
        one of these."""
        for module in self._program.texts.matching(rf"(?<!def )\b{LOAD_PLUGINS}\(\)".encode(), LOAD_PLUGINS):
            loaders = frozenset(self._callers(module))
            for cls in classes_of(self._program, module):
                line = [one for one in cls.mro if one.name in loaders and one.module == module.name]
                if line and self._program.texts.matching(rf"\btarget\w*\s*=\s*{cls.name}\.".encode(), cls.name):
                    yield from (cls, *line)

    def _callers(self, module: Module) -> Iterator[str]:
        """The classes of a module with a method that loads plug-ins."""
        for cls in _classes(self._program, module):
            for node in ast.walk(cls):
                if isinstance(node, ast.Call) and dotted(node.func) == LOAD_PLUGINS:
                    yield cls.name

    def _annotated(self, engine: Class) -> Iterator[Class]:
        """The classes of what an engine makes and keeps under a name with an annotation."""
        module = self._program.module(engine.module)
        for cls in _classes(self._program, module):
            for node in ast.walk(cls) if cls.name == engine.name else ():
                if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Call):
                    text = dotted(node.annotation)
                    only = self._program.resolve_in(module, text).only if text is not None else None
                    made = self._program.class_of(only) if only is not None else None
                    if isinstance(node.target, ast.Attribute) and made is not None and not made.opaque:
                        yield made

    # -- who names what -------------------------------------------------------------------------------------------

    def _is_theirs(self, name: str, calls_only: bool, layer: bool) -> bool:
        modules = self._program.texts.modules_with(name)
        if len(modules) > _MOST_MODULES:
            return False
        found = False
        for module in modules:
            tree = self._program.syntax_tree(module)
            if isinstance(tree, Hole):
                return False
            if self._is_anothers(module, name):
                continue
            uses = _Uses(name, calls_only, layer)
            uses.visit(tree)
            if uses.escapes:
                return False
            for place in uses.places:
                if not self._is_place(module, *place):
                    return False
                found = True
            if any(not self._is_heir(module, heir) for heir in uses.heirs):
                return False
        return found or calls_only

    def _is_anothers(self, module: Module, name: str) -> bool:
        """Whether a module has the name from another package than vLLM, and from nowhere else."""
        imports = [item for item in module.facts.imports if name in (item.name, item.bound)]
        outside = [item for item in imports if not self._program.finder.is_own(module.absolute(item) or module.name)]
        return bool(imports) and imports == outside

    def _is_heir(self, module: Module, name: str) -> bool:
        found = self._program.find_class(module.name, name)
        return isinstance(found, Class) and self.has_class(found)

    def _is_place(self, module: Module, outer: str, method: bool) -> bool:
        """Whether code of this class's methods, or of this function, runs in those processes only."""
        if not method:
            return self.has_name(outer)
        found = self._program.find_class(module.name, outer)
        return isinstance(found, Class) and self.has_class(found)


class _Uses(ast.NodeVisitor):
    """Where a module names something: in methods of objects or in functions (``places``: the name of the class or
    function, and whether it is a class), as a base (``heirs``), or in a way that cannot be followed (``escapes``)."""

    def __init__(self, name: str, calls_only: bool, layer: bool) -> None:
        self._names = {name}
        self._calls_only = calls_only
        self._layer = layer
        self._place: tuple[str, bool] | None = None
        self._class: str | None = None
        self.places: set[tuple[str, bool]] = set()
        self.heirs: set[str] = set()
        self.escapes = False

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        if self._place is not None or self._class is not None:
            self._nested(node)
            return
        for base in node.bases:
            if any(self._is_named(part) for part in ast.walk(base)):
                self.heirs.add(node.name)
        for one in node.decorator_list:
            self.visit(one)
        self._class = node.name
        for statement in node.body:
            self.visit(statement)
        self._class = None

    def _nested(self, node: ast.ClassDef) -> None:
        """A class in a function or a class: what it names, its surroundings name."""
        if any(self._is_named(part) for base in node.bases for part in ast.walk(base)):
            self.escapes = True
        for statement in node.body:
            self.visit(statement)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._function(node)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for one in (*node.decorator_list, *node.args.defaults, *node.args.kw_defaults):
            if one is not None:
                self.visit(one)
        before = self._place
        if before is None:
            if self._class is None:
                self._place = (node.name, False)
            elif [arg.arg for arg in (*node.args.posonlyargs, *node.args.args)][:1] == ["self"]:
                self._place = (self._class, True)
            else:
                self._place = _ANYWHERE
        for statement in node.body:
            self.visit(statement)
        self._place = before

    def visit_Import(self, node: ast.Import) -> None:
        pass

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        self._names.update(one.asname for one in node.names if one.name in self._names and one.asname is not None)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets):
            return
        if self._layer and self._place is None and self._class is not None and self._is_named(node.value):
            self.places.add((self._class, True))
        else:
            self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        for part in (node.left, *node.comparators):
            if not self._is_named(part) and not isinstance(part, (ast.Constant, ast.List, ast.Tuple, ast.Set)):
                self.visit(part)

    def visit_Call(self, node: ast.Call) -> None:
        asks = (dotted(node.func) or "").rpartition(".")[2] in _ASKING
        if self._calls_only and self._is_named(node.func):
            self._used()
        for part in ast.iter_child_nodes(node):
            if not (asks and part is not node.func):
                self.visit(part)

    def visit_Name(self, node: ast.Name) -> None:
        if self._is_named(node) and not self._calls_only:
            self._used()

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if self._is_named(node) and not self._calls_only:
            self._used()
        self.visit(node.value)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str) and not self._calls_only:
            self.escapes = self.escapes or node.value.rpartition(".")[2] in self._names

    def _is_named(self, node: ast.AST) -> bool:
        return (isinstance(node, ast.Name) and node.id in self._names) or (
            isinstance(node, ast.Attribute) and node.attr in self._names
        )

    def _used(self) -> None:
        if self._place is None or self._place is _ANYWHERE:
            self.escapes = True
        elif self._place[0] not in self._names:
            self.places.add(self._place)


def children_of(program: Program) -> Children:
    """The answers that all questions of a run share."""
    return program.derived(Children)


def _classes(program: Program, module: Module) -> Iterator[ast.ClassDef]:
    tree = program.syntax_tree(module)
    yield from (node for node in tree.body if isinstance(node, ast.ClassDef)) if isinstance(tree, ast.Module) else ()
