"""Which scope a name belongs to, by the rules of the language reference (4.2, naming and binding).

It answers what the compiler's symbol table would, with the places at which names are read, and leaves out what no run
evaluates: annotations that stay text, and the arms of an ``if`` that is decided beforehand (``TYPE_CHECKING``).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum

from preflight.program import Truth

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
#: methods of a dictionary that leave it as it is
_READERS = frozenset({"get", "keys", "values", "items", "copy"})
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class ScopeKind(Enum):
    """What opens the scope."""

    MODULE = "module"
    CLASS = "class"
    FUNCTION = "function"
    COMPREHENSION = "comprehension"
    TYPES = "types"  #: the type parameters of a function, class or alias (PEP 695)


@dataclass(slots=True, eq=False)
class Scope:
    """A scope: the names that it binds (``bound``), those of them that are not only bound for type checkers (``live``),
    and the names that are read in it, in the order of the source."""

    kind: ScopeKind
    node: ast.AST
    parent: Scope | None
    bound: set[str] = field(default_factory=set)
    live: set[str] = field(default_factory=set)
    globals: set[str] = field(default_factory=set)
    nonlocals: set[str] = field(default_factory=set)
    reads: list[ast.Name] = field(default_factory=list)

    def own(self, name: str) -> bool:
        """Whether ``name`` is a variable of this very scope."""
        return name in self.bound and name not in self.globals and name not in self.nonlocals

    @property
    def qualname(self) -> str:
        """The name of the function or class as tracebacks write it, those around it included."""
        own = getattr(self.node, "name", f"<{self.kind.value}>")
        outer = self.parent
        while outer is not None and outer.kind not in (ScopeKind.CLASS, ScopeKind.FUNCTION):
            outer = outer.parent
        if outer is None or not isinstance(own, str):
            return str(own)
        return f"{outer.qualname}{'.<locals>.' if outer.kind is ScopeKind.FUNCTION else '.'}{own}"


@dataclass(slots=True)
class Scopes:
    """All scopes of a file. ``of`` finds the one that a node opens.

    ``assigned_inside`` are the names that nested functions assign as ``nonlocal``, ``functions`` the module's functions
    that are bound just once. ``dynamic`` is the first place where names of the module may come or go that no statement
    shows: ``globals().update(...)``, ``exec(...)``.
    """

    module: Scope
    all: list[Scope]
    of: dict[ast.AST, Scope]
    assigned_inside: set[str]
    functions: dict[str, ast.FunctionDef]
    dynamic: ast.expr | None

    def owner(self, scope: Scope, name: str) -> Scope:
        """The scope that a read of ``name`` in ``scope`` goes to; the module for all that nothing else binds."""
        current: Scope | None = scope
        own_class = True
        while current is not None and current.parent is not None:
            if name in current.globals:
                return self.module
            if (current.kind is not ScopeKind.CLASS or own_class) and current.own(name):
                return current
            own_class = own_class and current.kind is ScopeKind.TYPES
            current = current.parent
        return self.module


def read_scopes(tree: ast.Module, test: Callable[[ast.expr], Truth], evaluated: bool) -> Scopes:
    """The scopes of a file. ``test`` decides the condition of an ``if``, ``evaluated`` says whether annotations run.

    Raises RecursionError for absurdly nested code.
    """
    reader = _Reader(test, evaluated and not postponed(tree))
    module = reader.open(ScopeKind.MODULE, tree, None)
    reader.scope = module
    reader.block(tree.body)
    for scope in reader.all:
        for name in scope.globals:
            if name in scope.bound:
                module.bound.add(name)
                module.live.add(name)
    functions = {
        name: nodes[0] for name, nodes in reader.functions.items() if len(nodes) == 1 and reader.count[name] == 1
    }
    return Scopes(module, reader.all, reader.of, reader.assigned_inside, functions, reader.dynamic)


def postponed(tree: ast.Module) -> bool:
    """Whether the file says ``from __future__ import annotations``."""
    return any(
        isinstance(node, ast.ImportFrom)
        and node.module == "__future__"
        and any(alias.name == "annotations" for alias in node.names)
        for node in tree.body
    )


def parameters(arguments: ast.arguments) -> Iterator[ast.arg]:
    """All parameters, in the order of the source."""
    yield from arguments.posonlyargs
    yield from arguments.args
    if arguments.vararg is not None:
        yield arguments.vararg
    yield from arguments.kwonlyargs
    if arguments.kwarg is not None:
        yield arguments.kwarg


def imported_name(alias: ast.alias, plain: bool) -> str:
    """The name that one alias of an import binds; ``plain``: of an ``import`` without ``from``."""
    return alias.asname or (alias.name.partition(".")[0] if plain else alias.name)


def last_name(node: ast.AST) -> str:
    """``c`` of ``a.b.c`` and of ``c``; empty for anything else."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def captures(pattern: ast.pattern) -> Iterator[str]:
    """The names that a pattern of a ``match`` binds."""
    for part in ast.walk(pattern):
        if isinstance(part, (ast.MatchAs, ast.MatchStar)) and part.name:
            yield part.name
        elif isinstance(part, ast.MatchMapping) and part.rest:
            yield part.rest


def type_parameters(node: ast.AST) -> list[ast.AST]:
    """The type parameters of a function, class or alias; Python 3.12 and later have them."""
    return list(getattr(node, "type_params", ()))


class _Reader:
    def __init__(self, test: Callable[[ast.expr], Truth], evaluated: bool) -> None:
        self.test = test
        self.evaluated = evaluated
        self.all: list[Scope] = []
        self.of: dict[ast.AST, Scope] = {}
        self.assigned_inside: set[str] = set()
        self.functions: dict[str, list[ast.FunctionDef]] = {}
        self.count: dict[str, int] = {}
        self.dynamic: ast.expr | None = None
        self.harmless: set[ast.AST] = set()  # calls like ``globals()`` whose outcome is only read
        self.scope: Scope
        self.dead = 0  # how many arms that never run are around the place
        self.typing = 0  # how many of them are for type checkers

    def open(self, kind: ScopeKind, node: ast.AST, parent: Scope | None) -> Scope:
        scope = Scope(kind, node, parent)
        self.all.append(scope)
        if kind is not ScopeKind.TYPES:
            self.of[node] = scope
        return scope

    def bind(self, name: str, scope: Scope | None = None) -> None:
        where = scope if scope is not None else self.scope
        where.bound.add(name)
        if not self.typing:
            where.live.add(name)
        if where.kind is ScopeKind.MODULE or name in where.globals:
            self.count[name] = self.count.get(name, 0) + 1
        if name in where.nonlocals:
            self.assigned_inside.add(name)

    # -- statements -----------------------------------------------------------------------------------------------

    def block(self, statements: Iterable[ast.stmt]) -> None:
        for statement in statements:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            self.function(node)
        elif isinstance(node, ast.ClassDef):
            self.class_statement(node)
        elif isinstance(node, ast.If):
            self.visit(node.test)
            answer = self.test(node.test)
            self.arm(node.body, answer is Truth.NO, node.test)
            self.arm(node.orelse, answer is Truth.YES, node.test)
        elif isinstance(node, ast.AnnAssign):
            self.annotated(node)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                if alias.name != "*":
                    self.bind(imported_name(alias, isinstance(node, ast.Import)))
        elif isinstance(node, ast.Global):
            # a name may be declared behind its first use only by mistake, which the compiler refuses
            self.scope.globals.update(node.names)
        elif isinstance(node, ast.Nonlocal):
            self.scope.nonlocals.update(node.names)
        elif isinstance(node, ast.Match):
            self.visit(node.subject)
            for case in node.cases:
                for name in captures(case.pattern):
                    self.bind(name)
                self.visit(case.pattern)
                if case.guard is not None:
                    self.visit(case.guard)
                self.block(case.body)
        elif type(node).__name__ == "TypeAlias":
            self.type_alias(node)
        else:
            # A try, a loop, a with or a plain statement: its parts, in the order of the source.
            self.parts(node)

    def arm(self, statements: Iterable[ast.stmt], dead: bool, test: ast.expr) -> None:
        # An arm for another Python or platform may be met again by a test that is not decided here.
        typing = dead and any(last_name(part) == "TYPE_CHECKING" for part in ast.walk(test))
        self.dead += dead
        self.typing += typing
        self.block(statements)
        self.dead -= dead
        self.typing -= typing

    def parts(self, node: ast.AST) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt):
                self.statement(child)
            elif isinstance(child, ast.ExceptHandler):
                if child.name:
                    self.bind(child.name)
                self.parts(child)
            else:
                self.visit(child)

    def annotated(self, node: ast.AnnAssign) -> None:
        if isinstance(node.target, ast.Name):
            # In a function even a bare annotation makes the name local; elsewhere it binds nothing.
            if node.value is not None:
                self.bind(node.target.id)
            elif self.scope.kind is ScopeKind.FUNCTION:
                self.scope.bound.add(node.target.id)
        else:
            self.visit(node.target)
        if self.evaluated and self.scope.kind in (ScopeKind.MODULE, ScopeKind.CLASS):
            self.visit(node.annotation)
        if node.value is not None:
            self.visit(node.value)

    def type_alias(self, node: ast.AST) -> None:
        self.bind(node.name.id)  # type: ignore[attr-defined]
        # The value is computed when it is asked for, so its names count as read inside of a function.
        outer = self.types(node)
        inner = self.open(ScopeKind.FUNCTION, node, self.scope)
        self.scope = inner
        self.visit(node.value)  # type: ignore[attr-defined]
        self.scope = outer

    def types(self, node: ast.AST) -> Scope:
        """Open the scope of type parameters where there are some; the scope to go back to afterwards."""
        outer = self.scope
        found = type_parameters(node)
        if found:
            self.scope = self.open(ScopeKind.TYPES, node, outer)
            for parameter in found:
                self.bind(parameter.name)  # type: ignore[attr-defined]
        return outer

    # -- functions and classes ------------------------------------------------------------------------------------

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for decorator in node.decorator_list:
            self.visit(decorator)
        self.defaults(node.args)
        if self.scope.kind is ScopeKind.MODULE and isinstance(node, ast.FunctionDef) and not self.dead:
            self.functions.setdefault(node.name, []).append(node)
        self.bind(node.name)
        outer = self.types(node)
        if self.evaluated:
            for parameter in parameters(node.args):
                if parameter.annotation is not None:
                    self.visit(parameter.annotation)
            if node.returns is not None:
                self.visit(node.returns)
        self.function_body(node, node.args)
        self.scope = outer

    def function_body(self, node: FunctionNode, arguments: ast.arguments) -> None:
        outer = self.scope
        self.scope = self.open(ScopeKind.FUNCTION, node, outer)
        for parameter in parameters(arguments):
            self.bind(parameter.arg)
        if isinstance(node, ast.Lambda):
            self.visit(node.body)
        else:
            self.block(node.body)
        self.scope = outer

    def defaults(self, arguments: ast.arguments) -> None:
        for default in (*arguments.defaults, *arguments.kw_defaults):
            if default is not None:
                self.visit(default)

    def class_statement(self, node: ast.ClassDef) -> None:
        for decorator in node.decorator_list:
            self.visit(decorator)
        self.bind(node.name)
        outer = self.types(node)
        for base in node.bases:
            self.visit(base)
        for keyword in node.keywords:
            self.visit(keyword.value)
        around = self.scope
        self.scope = self.open(ScopeKind.CLASS, node, around)
        self.block(node.body)
        self.scope = outer

    # -- expressions ----------------------------------------------------------------------------------------------

    def visit(self, node: ast.AST) -> None:
        kind = type(node)
        if kind is ast.Name:
            assert isinstance(node, ast.Name)
            if not isinstance(node.ctx, ast.Load):
                self.bind(node.id)
            elif not self.dead:
                self.scope.reads.append(node)
        elif kind is ast.Constant:
            return
        elif kind is ast.Attribute:
            assert isinstance(node, ast.Attribute)
            called = isinstance(node.value, ast.Call) and node.attr in _READERS
            if called or (isinstance(node.value, ast.Subscript) and isinstance(node.ctx, ast.Load)):
                self.harmless.add(node.value)
            self.visit(node.value)
        elif kind is ast.Lambda:
            assert isinstance(node, ast.Lambda)
            self.defaults(node.args)
            self.function_body(node, node.args)
        elif kind in _COMPREHENSIONS:
            self.comprehension(node)  # type: ignore[arg-type]
        elif kind is ast.NamedExpr:
            assert isinstance(node, ast.NamedExpr)
            self.visit(node.value)
            around = self.scope
            while around.kind is ScopeKind.COMPREHENSION and around.parent is not None:
                around = around.parent
            self.bind(node.target.id, around)
        else:
            self.notice(node)
            for child in ast.iter_child_nodes(node):
                self.visit(child)

    def notice(self, node: ast.AST) -> None:
        """Notice what may bind names of the module without a statement that shows it."""
        if isinstance(node, ast.Subscript):
            if isinstance(node.ctx, ast.Load):
                self.harmless.add(node.value)
            if last_name(node.value) == "modules" and last_name(node.slice) == "__name__":
                self.notice_use(node)
        elif isinstance(node, ast.Compare):
            self.harmless.update(node.comparators)
        elif isinstance(node, ast.Call):
            called = last_name(node.func)
            outside = self.scope.kind in (ScopeKind.MODULE, ScopeKind.CLASS)
            if not node.args:
                if called == "globals" or (called in ("locals", "vars") and outside):
                    self.notice_use(node)
            elif called in ("exec", "eval"):
                if called == "exec" and len(node.args) == 1:
                    self.notice_use(node)
            elif called == "_convert_" and len(node.args) > 1:  # of the enumerations: it makes globals of members
                self.notice_use(node)
            else:
                self.handed_on(node)

    def notice_use(self, node: ast.expr) -> None:
        if node not in self.harmless:
            self.dynamic = self.dynamic or node

    def handed_on(self, node: ast.Call) -> None:
        """``f("name", globals())`` may bind that one name: so loaders work that put in a module when it is used."""
        names = [part.value for part in node.args if isinstance(part, ast.Constant) and isinstance(part.value, str)]
        for part in node.args:
            if isinstance(part, ast.Call) and last_name(part.func) == "globals" and names:
                self.harmless.add(part)
                module = self.scope
                while module.parent is not None:
                    module = module.parent
                self.bind(names[0], module)

    def comprehension(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> None:
        self.visit(node.generators[0].iter)
        outer = self.scope
        self.scope = self.open(ScopeKind.COMPREHENSION, node, outer)
        for index, generator in enumerate(node.generators):
            self.visit(generator.target)
            if index:
                self.visit(generator.iter)
            for condition in generator.ifs:
                self.visit(condition)
        if isinstance(node, ast.DictComp):
            self.visit(node.key)
            self.visit(node.value)
        else:
            self.visit(node.elt)
        self.scope = outer
