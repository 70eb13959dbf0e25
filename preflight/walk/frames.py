"""Where names live while code is walked: one frame per call, class body, module body or comprehension."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from preflight.walk.values import Class, Function, ModuleValue, Store, Value

if TYPE_CHECKING:
    from preflight.walk.outcomes import Condition


class Frame(Store):
    """The names of one call. ``node`` is the piece of code that is being walked, for places and trails."""

    __slots__ = (
        "caught",
        "closure",
        "conditions",
        "function",
        "hidden",
        "kind",
        "module",
        "name",
        "node",
        "owner",
        "past",
        "scope",
        "weighed",
    )

    content: dict[str, Value]

    def __init__(
        self, kind: str, name: str, module: ModuleValue, closure: Frame | None, scope: Scope, serial: int
    ) -> None:
        super().__init__({}, serial)
        self.kind = kind
        self.name = name
        self.module = module
        self.closure = closure
        self.scope = scope
        self.node: ast.AST | None = None
        self.function: Function | None = None
        self.owner: Class | None = None
        self.conditions: list[Condition] = []
        #: the exceptions whose handlers are being walked, innermost last, for a bare ``raise``
        self.caught: list[Value] = []
        #: whether it was walked past a raise that was found before: how Python would go on is not known
        self.past = False
        #: the assumptions about the machine that decided something here
        self.weighed: frozenset[str] = frozenset()

    @property
    def path(self) -> str:
        return self.module.file

    @property
    def line(self) -> int:
        return line_of(self.node)


def line_of(node: ast.AST | None) -> int:
    """The line that a traceback names for ``node``."""
    if node is None:
        return 0
    if isinstance(node, ast.Attribute):
        return node.end_lineno or node.lineno
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.end_lineno or node.lineno
    return getattr(node, "lineno", 0)


@dataclass(slots=True)
class Scope:
    """The names that a body binds, and how it declares them."""

    bound: set[str] = field(default_factory=set)
    globals: set[str] = field(default_factory=set)
    nonlocals: set[str] = field(default_factory=set)
    generator: bool = False


class _Scan(ast.NodeVisitor):
    """Collects the bindings of one body, without going into bodies inside it."""

    def __init__(self) -> None:
        self.scope = Scope()

    def visit_Name(self, node: ast.Name) -> None:
        if not isinstance(node.ctx, ast.Load):
            self.scope.bound.add(node.id)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.scope.bound.add(node.name)
        for expression in (
            *node.decorator_list,
            *node.args.defaults,
            *(d for d in node.args.kw_defaults if d is not None),
        ):
            self.visit(expression)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.scope.bound.add(node.name)
        for expression in (*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords)):
            self.visit(expression)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        for expression in (*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)):
            self.visit(expression)

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> None:
        self.visit(node.generators[0].iter)
        for inner in ast.walk(node):
            if isinstance(inner, ast.NamedExpr) and isinstance(inner.target, ast.Name):
                self.scope.bound.add(inner.target.id)

    visit_ListComp = visit_SetComp = visit_GeneratorExp = visit_DictComp = _comprehension

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self.scope.bound.add(alias.asname or alias.name.split(".")[0])

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            self.scope.bound.add(alias.asname or alias.name)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self.scope.bound.add(node.name)
        self.generic_visit(node)

    def visit_MatchAs(self, node: ast.MatchAs) -> None:
        if node.name:
            self.scope.bound.add(node.name)
        self.generic_visit(node)

    def visit_MatchStar(self, node: ast.MatchStar) -> None:
        if node.name:
            self.scope.bound.add(node.name)

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        if node.rest:
            self.scope.bound.add(node.rest)
        self.generic_visit(node)

    def visit_Global(self, node: ast.Global) -> None:
        self.scope.globals.update(node.names)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        self.scope.nonlocals.update(node.names)

    def visit_Yield(self, node: ast.Yield | ast.YieldFrom) -> None:
        self.scope.generator = True
        self.generic_visit(node)

    visit_YieldFrom = visit_Yield


def scan(body: list[ast.stmt]) -> Scope:
    """The scope of a body of statements."""
    visitor = _Scan()
    for statement in body:
        visitor.visit(statement)
    scope = visitor.scope
    scope.bound -= scope.globals | scope.nonlocals
    return scope


def scan_function(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> Scope:
    """The scope of a function, its parameters among the bound names."""
    if isinstance(node, ast.Lambda):
        visitor = _Scan()
        visitor.visit(node.body)
        scope = visitor.scope
    else:
        scope = scan(node.body)
    arguments = node.args
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg):
        if argument is not None:
            scope.bound.add(argument.arg)
    return scope
