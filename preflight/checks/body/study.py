"""What of a module cannot be had: imports, names and attributes that are certainly not there; and when."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from preflight.checks.body.flow import Flow
from preflight.checks.body.moment import Moment
from preflight.checks.body.scopes import Scope, Scopes, imported_name, read_scopes
from preflight.program import Kind, Missing, Module, ModuleKind, Program, Truth
from preflight.program.facts import ClassFacts, Hole, Import
from preflight.program.known import words
from preflight.program.namespace import StarName

if TYPE_CHECKING:
    from preflight.checks.changes import Change

#: builtins that came with a Python (documentation of ``builtins``); every supported Python has all others
_ADDED = {
    "ExceptionGroup": (3, 11),
    "BaseExceptionGroup": (3, 11),
    "PythonFinalizationError": (3, 13),
}
#: what a module has without a statement (data model, "Modules"), and ``__class__``, which methods have
_IMPLICIT = words(
    """__name__ __doc__ __file__ __package__ __loader__ __spec__ __builtins__ __cached__ __annotations__ __debug__
    __warningregistry__ __path__ __class__ __conditional_annotations__"""
)


@dataclass(frozen=True, slots=True)
class ImportProblem:
    """An import that certainly fails where it runs. ``function``: the function that it stands in, "" at import time.

    ``assumed``: what is missing belongs to a package of which only a version that may not be the one used is at hand.
    """

    item: Import
    missing: Missing
    moment: Moment
    function: str
    assumed: bool

    @property
    def error(self) -> type[Exception]:
        """What it raises; a star import asks for the names of ``__all__`` as attributes."""
        if self.missing.name is None:
            return ModuleNotFoundError
        return AttributeError if self.item.name == "*" and self.missing.name != "*" else ImportError

    @property
    def caught(self) -> Truth:
        """Whether a handler around the import catches that."""
        return self.moment.catches(self.error)

    @property
    def line(self) -> int:
        """Where the statement begins."""
        return self.item.statement_line


@dataclass(frozen=True, slots=True)
class NameProblem:
    """A name that has no value where it is read. ``local``: it is a variable of the function around it.

    ``bound``: the module binds it, but later, or only for type checkers (``typing``).
    """

    node: ast.Name
    moment: Moment
    function: str
    local: bool
    bound: bool
    typing: bool

    @property
    def error(self) -> type[Exception]:
        """What it raises."""
        return UnboundLocalError if self.local else NameError

    @property
    def caught(self) -> Truth:
        """Whether a handler around the place catches that."""
        return self.moment.catches(self.error)

    @property
    def line(self) -> int:
        """Where it is read."""
        return self.node.lineno


@dataclass(frozen=True, slots=True)
class AttributeProblem:
    """``node`` reads an attribute that a module or class certainly lacks."""

    node: ast.Attribute
    missing: Missing
    moment: Moment
    function: str
    assumed: bool

    @property
    def caught(self) -> Truth:
        """Whether a handler around the place catches an AttributeError."""
        return self.moment.catches(AttributeError)

    @property
    def line(self) -> int:
        """Where it is read."""
        return self.node.lineno


@dataclass(frozen=True, slots=True)
class Study:
    """All of one module. ``open``: why names that no statement of it binds cannot be decided, where there are any."""

    imports: tuple[ImportProblem, ...] = ()
    names: tuple[NameProblem, ...] = ()
    attributes: tuple[AttributeProblem, ...] = ()
    open: str | None = None


def study(program: Program, module: Module, kept: Change | None = None) -> Study:
    """Read one module. ``kept``: what of it is as in the release, where it asks for nothing that has gone."""
    tree = program.syntax_tree(module)
    if isinstance(tree, Hole):
        return Study(open=tree.message)
    reader = _Reader(program, module, tree, kept)
    try:
        return reader.read()
    except RecursionError:
        return Study(open="the code is nested too deeply")


def belongs_elsewhere(program: Program, name: str) -> bool:
    """Whether a module is of a package of which the version that will run is not known to be the one at hand."""
    spec = program.finder.find(name.partition(".")[0])
    if spec.in_tree:
        return False
    if spec.name in _stdlib():
        return not spec.exact
    return not program.tree.whole_environment


def _stdlib() -> frozenset[str]:
    import sys

    return sys.stdlib_module_names


class _Reader:
    def __init__(self, program: Program, module: Module, tree: ast.Module, kept: Change | None) -> None:
        self._program = program
        self._module = module
        self._tree = tree
        self._kept = kept
        self._function = ""
        self._imports: list[ImportProblem] = []
        self._names: list[NameProblem] = []
        self._attributes: list[AttributeProblem] = []
        self._resolved: dict[str, Missing | None] = {}
        self._tests: dict[ast.expr, Truth] = {}
        self._items: dict[tuple[int, str, str], Import] = {}
        self._scopes: Scopes

    def _item(self, node: ast.Import | ast.ImportFrom, alias: ast.alias) -> Import:
        """The import among the facts that an alias of the tree is."""
        if not self._items:
            for item in self._module.facts.imports:
                self._items.setdefault((item.line, item.name or item.module, item.bound), item)
        bound = "" if alias.name == "*" else imported_name(alias, isinstance(node, ast.Import))
        return self._items.get((alias.lineno, alias.name, bound)) or _as_import(node, alias, bound)

    def read(self) -> Study:
        evaluated = self._program.platform.python < (3, 14)
        self._scopes = read_scopes(self._tree, self.test, evaluated)
        facts = self._module.facts
        flow = Flow(self._tree, self._scopes, self, evaluated, self._known() | frozenset(facts.globals))
        flow.module()
        reason = self._openness(flow.open)
        for scope in self._scopes.all:
            if isinstance(scope.node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                if self._keeps(scope.node.lineno, scope.node.end_lineno or scope.node.lineno):
                    continue
                self._function = scope.qualname
                flow.function(scope.node)
        if not flow.open:
            self._undefined(flow.starred)
        names = self._names if reason is None else [problem for problem in self._names if problem.local]
        doubt = reason if self._has_star() or len(names) < len(self._names) else None
        return Study(tuple(self._imports), tuple(names), tuple(self._attributes), doubt)

    def _known(self) -> frozenset[str]:
        # importing a module of a package, in whatever form, binds its last name in the package
        modules = self._program.finder.submodules(self._module.name) if self._module.spec.is_package else frozenset()
        python = self._program.platform.python if self._program.tree.facts.python else (99, 0)
        return (
            frozenset(dir(builtins))
            .union(_IMPLICIT, _ADDED, modules)
            .difference(name for name, since in _ADDED.items() if since > python)
        )

    def _has_star(self) -> bool:
        return any(item.name == "*" for item in self._module.facts.imports)

    def _openness(self, star: bool) -> str | None:
        """Why the module may have names that no statement of it shows."""
        dynamic = self._scopes.dynamic
        if dynamic is not None:
            return f"line {dynamic.lineno} may bind names that no statement shows"
        namespace = self._program.resolver.namespace(self._module) if self._has_star() else None
        reason = self._program.resolver.openness(self._module, namespace)
        if reason is None and star:
            reason = "a star import brings names that are not all known"
        return reason

    # -- what the flow asks and tells ------------------------------------------------------------------------------

    def test(self, node: ast.expr) -> Truth:
        answer = self._tests.get(node)
        if answer is None:
            answer = self._tests[node] = self._program.resolver.test(self._module, node)
        return answer

    def star(self, node: ast.ImportFrom) -> Iterable[str] | None:
        _, names, reason = self._program.resolver.star(self._module, self._item(node, node.names[0]))
        return names if reason is None else None

    def imports(self, node: ast.Import | ast.ImportFrom, alias: ast.alias, moment: Moment) -> type[Exception] | None:
        item = self._item(node, alias)
        if self._keeps(item.statement_line, item.line):
            return None
        missing = lacking(self._program, self._module, item)
        if missing is None:
            return None
        assumed = belongs_elsewhere(self._program, missing.module)
        problem = ImportProblem(item, missing, moment, self._function, assumed)
        self._imports.append(problem)
        return None if assumed else problem.error

    def unbound(self, node: ast.Name, local: bool, moment: Moment) -> None:
        if node.id.startswith("__") and not node.id.endswith("__"):
            return  # in a class it has another name
        module = self._scopes.module
        bound = node.id in module.live
        typing = not local and not bound and node.id in module.bound
        self._names.append(NameProblem(node, moment, self._function, local, bound, typing))

    def _keeps(self, first: int, last: int) -> bool:
        """Whether the lines are the release's, and nothing that they can mean has gone."""
        return self._kept is not None and self._kept.keeps(first, last)

    def _is_own(self, item: Import) -> bool:
        """Whether an import asks for something of vLLM itself."""
        target = self._module.absolute(item)
        return target is not None and self._program.finder.is_own(target)

    def attribute(self, node: ast.Attribute, moment: Moment) -> None:
        if self._keeps(node.lineno, node.lineno):
            return
        chain = [node]
        while isinstance(chain[-1].value, ast.Attribute):
            chain.append(chain[-1].value)
        root = chain[-1].value
        if not isinstance(root, ast.Name):
            return
        text = root.id
        for part in reversed(chain):
            text = f"{text}.{part.attr}"
            missing = self._missing(text)
            if missing is not None:
                assumed = belongs_elsewhere(self._program, missing.module)
                self._attributes.append(AttributeProblem(part, missing, moment, self._function, assumed))
                return

    def _missing(self, text: str) -> Missing | None:
        """What a dotted name lacks, if its first name means just one module or class of source."""
        if text not in self._resolved:
            self._resolved[text] = self._resolve(text)
        return self._resolved[text]

    def _resolve(self, text: str) -> Missing | None:
        root, _, _ = text.partition(".")
        if text.endswith("__"):
            return None  # Python and the decorators of classes bring such attributes, and no statement shows them
        namespace = self._program.resolver.namespace(self._module)
        bindings = namespace.names.get(root, ()) if namespace is not None else ()
        if len(bindings) != 1 or not isinstance(bindings[0], (Import, StarName, ClassFacts)):
            return None
        if isinstance(bindings[0], Import) and not self._is_own(bindings[0]):
            return None  # only what vLLM's own modules and classes lack is reported
        owner = self._program.resolve_in(self._module, text.rpartition(".")[0]).only
        if owner is None or owner.kind not in (Kind.MODULE, Kind.CLASS):
            return None
        if owner.kind is Kind.MODULE and self._program.module(owner.module).spec.kind is not ModuleKind.SOURCE:
            return None
        return self._program.resolve_in(self._module, text).missing

    # -- what only runs when it is called --------------------------------------------------------------------------

    def _undefined(self, starred: set[str]) -> None:
        """Names that the module nowhere binds, in what the flow does not enter: lambdas and generator expressions."""
        module, known = self._scopes.module, self._known() | frozenset(self._module.facts.globals) | starred
        for scope in self._scopes.all:
            if not scope.reads or not _is_put_off(scope):
                continue
            self._function = scope.qualname
            for node in scope.reads:
                if node.id not in known and node.id not in module.live and self._scopes.owner(scope, node.id) is module:
                    self.unbound(node, False, Moment(False, (), False, ("?",) if self._catches_names() else (), ()))

    def _catches_names(self) -> bool:
        """Whether anything in the file provides for a name that is not there."""
        return any(isinstance(part, ast.Name) and part.id == "NameError" for part in ast.walk(self._tree))


def lacking(program: Program, module: Module, item: Import) -> Missing | None:
    """What an import certainly cannot have."""
    target = module.absolute(item)
    if target is None:
        top = module.name.partition(".")[0]
        return Missing(top, item.name, "the relative import climbs out of its package")
    if item.name != "*":
        return program.resolver.imported(module, item).missing
    spec = program.finder.find(target)
    if spec.kind is ModuleKind.ABSENT:
        return Missing(target, None, spec.reason)
    found = program.module(target)
    listed = program.resolver.dunder_all(found) if found.has_source else None
    if listed is not None and listed[1] is None:
        for name in listed[0]:
            missing = program.resolve(target, name).missing
            if missing is not None and missing.module == target:
                return missing
    return None


def _is_put_off(scope: Scope) -> bool:
    """Whether code of the scope runs when a lambda is called, or when a generator is asked for its items."""
    current: Scope | None = scope
    while current is not None and not isinstance(current.node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        if isinstance(current.node, (ast.Lambda, ast.GeneratorExp)):
            return True
        current = current.parent
    return False


def _as_import(node: ast.Import | ast.ImportFrom, alias: ast.alias, bound: str) -> Import:
    end = (alias.end_lineno or alias.lineno, (alias.end_col_offset or 0) + 1)
    place = (alias.lineno, alias.col_offset + 1, *end, node.lineno, ())
    if isinstance(node, ast.Import):
        return Import(0, alias.name, None, bound, alias.asname is not None, *place)
    return Import(node.level, node.module or "", alias.name, bound, alias.asname is not None, *place)


class Studies:
    """The studies of one program's modules, each made once."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._known: dict[tuple[str, Change | None], Study] = {}

    def of(self, module: Module, kept: Change | None = None) -> Study:
        """The study of a module; see ``study``."""
        known = self._known.get((module.name, kept))
        if known is None:
            known = self._known[(module.name, kept)] = study(self._program, module, kept)
        return known


def studies_of(program: Program) -> Studies:
    """The studies that all checks of a run share."""
    return program.derived(Studies)
