"""Modules of the tree, read name by name: a name's statements run when the name is first asked for, never before.

A module of vLLM imports hundreds of others; the parser needs a handful of names of each. The order in which statements
run therefore differs from Python's, which only matters for statements that change what others have made: those are
counted among the statements of every name that they touch.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Protocol

from preflight.launch.reading.values import External, Object, Scope, Unknown

if TYPE_CHECKING:
    from preflight.launch.reading.run import Run


class ModuleSource(Protocol):
    """Where the syntax trees of the tree's modules come from."""

    def find(self, name: str) -> tuple[str, bool] | None:
        """The tree-relative path of a Python module of the tree and whether it is a package; None if it is none."""

    def syntax(self, path: str) -> ast.Module | None:
        """The syntax tree of a file, None if it has none."""


class Module:
    """A module of the tree and the values of those of its names that were asked for."""

    __slots__ = ("_done", "_pending", "is_package", "name", "names", "path", "scope", "statements", "tree")

    def __init__(self, name: str, path: str, is_package: bool, tree: ast.Module) -> None:
        self.name = name
        self.path = path
        self.tree = tree
        self.is_package = is_package
        self.scope = Scope(self)
        self.names = self.scope.names
        self.statements = index(tree.body)
        self._done: set[int] = set()
        self._pending: set[str] = set()

    def __repr__(self) -> str:
        return f"Module({self.name!r})"

    @property
    def package(self) -> str:
        return self.name if self.is_package else self.name.rpartition(".")[0]


class Modules:
    """All modules that a reading came across."""

    def __init__(self, source: ModuleSource) -> None:
        self._source = source
        self._modules: dict[str, Module | None] = {}

    def get(self, name: str) -> Module | None:
        """The module of the tree with this import path; None for one that is not of the tree or cannot be read."""
        if name not in self._modules:
            found = self._source.find(name)
            tree = self._source.syntax(found[0]) if found is not None else None
            self._modules[name] = Module(name, found[0], found[1], tree) if found and tree else None
        return self._modules[name]

    def known(self) -> list[Module]:
        """Every module that was read so far."""
        return [module for module in self._modules.values() if module is not None]


def look_up(run: Run, module: Module, name: str) -> Object:
    """``module.name`` as other code asks for it: a name of the module, what its ``__getattr__`` gives, a submodule.

    Raises KeyError if it has none of these.
    """
    given = run.assumed.get(f"{module.name}.{name}") if run.assumed else None
    if given is not None:
        return given(run)
    try:
        return global_name(run, module, name)
    except KeyError:
        pass
    submodule = run.modules.get(f"{module.name}.{name}") if module.is_package else None
    if submodule is not None:
        return submodule
    if "__getattr__" in module.statements:
        from preflight.launch.reading.calls import call

        return call(run, global_name(run, module, "__getattr__"), [name], {})
    raise KeyError(name)


def global_name(run: Run, module: Module, name: str) -> Object:
    """The value of a name as the module's own code sees it. Raises KeyError if its statements give it none."""
    if name not in module.names or name in module._pending:
        _execute_for(run, module, name)
    if name in module.names:
        from preflight.launch.reading.classes import as_registry

        return as_registry(module.names[name], name)
    if name == "__name__":
        return "__main__" if run.main == module.name else module.name
    if name == "__package__":
        return module.package
    if name == "__file__":
        return Unknown("where the tree will be installed")
    if name == "__doc__":
        return None
    for statement in module.statements.get("*", ()):
        value = _from_star(run, module, statement, name)
        if value is not None:
            return value
    raise KeyError(name)


def import_module(run: Run, name: str) -> Object:
    """What ``import name`` makes available under ``name``."""
    module = run.modules.get(name)
    if module is not None:
        if name not in run.loaded:
            run.loaded.append(name)
        return module
    run.unsure += 1
    return External(name)


def import_from(run: Run, module: Module, node: ast.ImportFrom, name: str) -> Object:
    """What ``from ... import name`` binds in ``module``."""
    from preflight.launch.reading.library import external

    origin = absolute(module, node)
    source = import_module(run, origin)
    if isinstance(source, External):
        return external(run, f"{origin}.{name}")
    try:
        return look_up(run, source, name)
    except KeyError:
        run.unsure += 1
        return Unknown(f"{origin} has no {name} that can be read")


def absolute(module: Module, node: ast.ImportFrom) -> str:
    """The absolute import path that a ``from`` statement names."""
    if not node.level:
        return node.module or ""
    parts = module.package.split(".")
    parts = parts[: len(parts) - (node.level - 1)]
    return ".".join([*parts, node.module] if node.module else parts)


def index(body: list[ast.stmt]) -> dict[str, list[ast.stmt]]:
    """The statements of a module's or a class's body by the names that they bind or change; stars under ``*``."""
    found: dict[str, list[ast.stmt]] = {}
    for statement in body:
        for name in touched(statement):
            found.setdefault(name, []).append(statement)
    return found


def touched(statement: ast.stmt) -> set[str]:
    """The names that a statement binds, or whose objects it may change."""
    names: set[str] = set()
    _collect(statement, names)
    return names


def _collect(node: ast.AST, names: set[str]) -> None:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        names.add(node.name)
        return
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        for alias in node.names:
            names.add(alias.asname or (alias.name if isinstance(node, ast.ImportFrom) else alias.name.split(".")[0]))
        return
    if isinstance(node, ast.Lambda):
        return
    if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
        names.add(node.id)
    elif isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, (ast.Store, ast.Del)):
        _add_base(node, names)
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        _add_base(node.value.func, names)
        for argument in node.value.args:
            _add_base(argument, names)
    elif isinstance(node, ast.ExceptHandler) and node.name:
        names.add(node.name)
    for child in ast.iter_child_nodes(node):
        _collect(child, names)


def _add_base(node: ast.AST, names: set[str]) -> None:
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    if isinstance(node, ast.Name):
        names.add(node.id)


def _execute_for(run: Run, module: Module, name: str) -> None:
    """Run the statements of ``name`` that have not run yet, in order."""
    from preflight.launch.reading.statements import execute

    if name in module._pending:
        return
    module._pending.add(name)
    aside, unsure = run.doubt.pause(), run.unsure
    try:
        for statement in module.statements.get(name, ()):
            if id(statement) in module._done:
                continue
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                _bind_import(run, module, statement, name)
                continue
            module._done.add(id(statement))
            execute(run, statement, module.scope)
    finally:
        run.doubt.resume(aside)
        run.unsure = unsure  # what may fail in there fails when the module is imported, not in the ``try`` at hand
        module._pending.discard(name)


def _bind_import(run: Run, module: Module, node: ast.Import | ast.ImportFrom, name: str) -> None:
    """Bind only the asked name of an import statement: the others' modules need not be read."""
    for alias in node.names:
        if isinstance(node, ast.ImportFrom):
            if (alias.asname or alias.name) == name:
                module.names[name] = import_from(run, module, node, alias.name)
        elif (alias.asname or alias.name.split(".")[0]) == name:
            if alias.asname is None:
                import_module(run, alias.name)
            module.names[name] = import_module(run, alias.name if alias.asname else name)


def _from_star(run: Run, module: Module, statement: ast.stmt, name: str) -> Object:
    if not isinstance(statement, ast.ImportFrom) or name.startswith("_"):
        return None
    source = run.modules.get(absolute(module, statement))
    if source is None or source is module:
        return None
    try:
        return look_up(run, source, name)
    except KeyError:
        return None
