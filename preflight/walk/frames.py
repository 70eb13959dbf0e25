"""Where names live while code is walked: one frame per call, class body, module body or comprehension."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from preflight.walk.values import Class, Function, Host, ModuleValue, Store, Value

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
        "open",
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
        #: whether an exception that leaves one of its statements must be the end of the walked program
        self.open = False
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


def scan(body: Sequence[ast.AST]) -> Scope:
    """The scope of a body of statements, without those of bodies inside it."""
    scope = Scope()
    todo: list[Host] = list(body)
    while todo:
        node = todo.pop()
        kind = type(node)
        if kind is ast.Name:
            if type(node.ctx) is not ast.Load:
                scope.bound.add(node.id)
            continue
        special = _SPECIAL.get(kind)
        if special is not None:
            special(scope, node, todo)
            continue
        for name in kind._fields:
            value = getattr(node, name, None)
            if type(value) is list:
                todo += value
            elif isinstance(value, ast.AST):
                todo.append(value)
    scope.bound -= scope.globals | scope.nonlocals
    return scope


def _nothing(scope: Scope, node: Host, todo: list[Host]) -> None:
    """Neither binds a name nor holds what does."""


def _signature(arguments: ast.arguments) -> list[ast.expr]:
    return [*arguments.defaults, *(default for default in arguments.kw_defaults if default is not None)]


def _function(scope: Scope, node: ast.FunctionDef | ast.AsyncFunctionDef, todo: list[Host]) -> None:
    scope.bound.add(node.name)
    todo += [*node.decorator_list, *_signature(node.args)]


def _class(scope: Scope, node: ast.ClassDef, todo: list[Host]) -> None:
    scope.bound.add(node.name)
    todo += [*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords)]


def _lambda(scope: Scope, node: ast.Lambda, todo: list[Host]) -> None:
    todo += _signature(node.args)


def _comprehension(
    scope: Scope, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, todo: list[Host]
) -> None:
    todo.append(node.generators[0].iter)
    for inner in ast.walk(node):
        if isinstance(inner, ast.NamedExpr) and isinstance(inner.target, ast.Name):
            scope.bound.add(inner.target.id)


def _import(scope: Scope, node: ast.Import, todo: list[Host]) -> None:
    scope.bound.update(alias.asname or alias.name.split(".")[0] for alias in node.names)


def _import_from(scope: Scope, node: ast.ImportFrom, todo: list[Host]) -> None:
    scope.bound.update(alias.asname or alias.name for alias in node.names)


def _handler(scope: Scope, node: ast.ExceptHandler, todo: list[Host]) -> None:
    if node.name:
        scope.bound.add(node.name)
    todo += [node.type, *node.body]


def _match_as(scope: Scope, node: ast.MatchAs, todo: list[Host]) -> None:
    if node.name:
        scope.bound.add(node.name)
    todo.append(node.pattern)


def _match_star(scope: Scope, node: ast.MatchStar, todo: list[Host]) -> None:
    if node.name:
        scope.bound.add(node.name)


def _match_mapping(scope: Scope, node: ast.MatchMapping, todo: list[Host]) -> None:
    if node.rest:
        scope.bound.add(node.rest)
    todo += [*node.keys, *node.patterns]


def _global(scope: Scope, node: ast.Global, todo: list[Host]) -> None:
    scope.globals.update(node.names)


def _nonlocal(scope: Scope, node: ast.Nonlocal, todo: list[Host]) -> None:
    scope.nonlocals.update(node.names)


def _yield(scope: Scope, node: ast.Yield | ast.YieldFrom, todo: list[Host]) -> None:
    scope.generator = True
    todo.append(node.value)


_SPECIAL: dict[type, Callable[[Scope, Host, list[Host]], None]] = {
    type(None): _nothing,
    str: _nothing,
    ast.Constant: _nothing,
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.ClassDef: _class,
    ast.Lambda: _lambda,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.DictComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.Import: _import,
    ast.ImportFrom: _import_from,
    ast.ExceptHandler: _handler,
    ast.MatchAs: _match_as,
    ast.MatchStar: _match_star,
    ast.MatchMapping: _match_mapping,
    ast.Global: _global,
    ast.Nonlocal: _nonlocal,
    ast.Yield: _yield,
    ast.YieldFrom: _yield,
}


def scan_function(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> Scope:
    """The scope of a function, its parameters among the bound names."""
    scope = scan([node.body] if isinstance(node, ast.Lambda) else node.body)
    arguments = node.args
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg):
        if argument is not None:
            scope.bound.add(argument.arg)
    return scope
