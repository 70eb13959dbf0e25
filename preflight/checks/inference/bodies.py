"""One function's body, read once: what its names are bound to, what it sets on ``self``, and what certainly runs.

A place is ``sure`` if every call of the function reaches it or raises before: no condition, loop, handler or early
return stands in front of it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from preflight.checks.body.scopes import captures, imported_name, parameters

if TYPE_CHECKING:
    from preflight.program.modules import Module

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.Module

_TRY = (ast.Try, ast.TryStar) if hasattr(ast, "TryStar") else (ast.Try,)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
#: questions about an object whose answer a branch may stand on
_QUESTIONS = frozenset({"isinstance", "hasattr", "getattr", "callable", "issubclass", "type"})


@dataclass(frozen=True, slots=True, eq=False)
class Binding:
    """How a name or an attribute gets a value. ``kind``: "=" (from ``value``), "for" (an item of ``value``), "with",
    or "other" (nothing is known of it). ``index`` leads into a tuple: (1, 0) is ``value[1][0]``."""

    kind: str
    value: ast.expr | None
    index: tuple[int, ...]
    node: ast.AST
    sure: bool


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """An expression that may be asked about. ``caught`` are the exceptions that handlers around it catch, ``looped``
    says that it stands in a loop and under nothing else."""

    node: ast.expr
    sure: bool
    caught: tuple[str, ...]
    looped: bool

    def survives(self, *exceptions: str) -> bool:
        """Whether a handler around it may catch one of these exceptions."""
        wide = ("*", "Exception", "BaseException", "?")
        return any(name.rpartition(".")[2] in (*wide, *exceptions) for name in self.caught)


@dataclass(slots=True, eq=False)
class Body:
    """The body of a function or lambda, or of a module with the class statements in it.

    ``outer`` is the body that it is defined in, None for a module's function or a method. ``self_name`` is the first
    parameter of a method, in functions inside of it as well.
    """

    module: Module
    node: FunctionNode
    outer: Body | None
    self_name: str | None
    parameters: tuple[str, ...]
    names: dict[str, list[Binding]] = field(default_factory=dict)
    stores: dict[str, list[Binding]] = field(default_factory=dict)  #: attributes set on ``self``
    foreign: list[tuple[ast.Attribute, Binding]] = field(default_factory=list)  #: attributes set on other objects
    calls: list[Place] = field(default_factory=list)
    reads: list[Place] = field(default_factory=list)  #: attributes that are read, of any object
    returns: list[tuple[ast.Return, bool]] = field(default_factory=list)  #: with "it stands in a loop"
    inner: list[Body] = field(default_factory=list)
    globals: set[str] = field(default_factory=set)
    asked: set[str] = field(default_factory=set)  #: expressions that isinstance, hasattr and the like ask about
    asked_names: set[str] = field(default_factory=set)  #: attributes that hasattr and getattr ask for by name
    yields: bool = False

    def own(self, name: str) -> bool:
        """Whether ``name`` is a variable of this function."""
        return name not in self.globals and (name in self.names or name in self.parameters)

    def own_names(self) -> set[str]:
        """The attributes that this body and those inside of it read on the object itself, or by ``super()``."""
        return {
            place.node.attr
            for body in self.all()
            for place in body.reads
            if isinstance(place.node, ast.Attribute)
            and (
                (isinstance(place.node.value, ast.Name) and place.node.value.id == body.self_name)
                or (isinstance(place.node.value, ast.Call) and isinstance(place.node.value.func, ast.Name))
            )
        }

    def all(self) -> Iterator[Body]:
        """This body and the ones inside it."""
        yield self
        for inner in self.inner:
            yield from inner.all()


def read_body(module: Module, node: FunctionNode, outer: Body | None, method: bool) -> Body:
    """Read the body of a function; ``method`` says that its first parameter is the object."""
    assert not isinstance(node, ast.Module)
    names = tuple(parameter.arg for parameter in parameters(node.args))
    self_name = names[0] if method and names else None
    if outer is not None and outer.self_name not in names:
        self_name = outer.self_name
    body = Body(module, node, outer, self_name, names)
    _Reader(body).read()
    return body


def read_top(module: Module, tree: ast.Module) -> Body:
    """Read what importing a module runs: its statements and those of its classes, but no function."""
    body = Body(module, tree, None, None, ())
    _Reader(body).block(tree.body)
    body.names.clear()  # they are the module's, which the program answers for
    return body


class _Reader:
    """Walks the statements of one function in order."""

    def __init__(self, body: Body) -> None:
        self.body = body
        self.sure = True
        self.looped = False
        self.caught: tuple[str, ...] = ()
        self.loops = 0

    def read(self) -> None:
        node = self.body.node
        if isinstance(node, ast.Lambda):
            self.expression(node.body)
        else:
            self.block(node.body)

    @property
    def top(self) -> bool:
        """Whether the body is a module's."""
        return isinstance(self.body.node, ast.Module)

    # -- statements ---------------------------------------------------------------------------------------------------

    def block(self, statements: Iterable[ast.stmt]) -> None:
        for statement in statements:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for part in (*node.decorator_list, *node.args.defaults, *node.args.kw_defaults):
                if part is not None:
                    self.expression(part)
            self.bind(node, "other", None, (), node.name)
            if not self.top:
                self.body.inner.append(read_body(self.body.module, node, self.body, method=False))
        elif isinstance(node, ast.ClassDef):
            self.bind(node, "other", None, (), node.name)
            if self.top:
                for part in (*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords)):
                    self.expression(part)
                self.block(node.body)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                self.bind(node, "other", None, (), imported_name(alias, isinstance(node, ast.Import)))
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            self.body.globals.update(node.names)
        elif isinstance(node, ast.Assign):
            self.expression(node.value)
            for target in node.targets:
                self.target(target, "=", node.value, (), node)
        elif isinstance(node, ast.AnnAssign):
            if node.value is not None:
                self.expression(node.value)
                self.target(node.target, "=", node.value, (), node)
        elif isinstance(node, ast.AugAssign):
            self.expression(node.value)
            self.target(node.target, "other", None, (), node)
        elif isinstance(node, ast.Return):
            if node.value is not None:
                self.expression(node.value)
            self.body.returns.append((node, self.loops > 0))
        elif isinstance(node, (ast.If, ast.While, ast.For, ast.AsyncFor, ast.With, ast.AsyncWith, ast.Match, *_TRY)):
            self.compound(node)
        else:
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):
                    self.expression(child)
                    if isinstance(node, ast.Delete):
                        self.target(child, "other", None, (), node)

    def compound(self, node: ast.stmt) -> None:
        """A statement that has statements in it."""
        if isinstance(node, ast.If):
            self.test(node.test)
            self.arms(node.body, node.orelse)
        elif isinstance(node, ast.While):
            self.test(node.test)
            self.loop(node.body, node.orelse)
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            self.expression(node.iter)
            self.target(node.target, "for", node.iter, (), node)
            self.loop(node.body, node.orelse)
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            outer = self.caught
            for item in node.items:
                self.expression(item.context_expr)
                self.caught += _suppressed(item.context_expr)
                if item.optional_vars is not None:
                    self.target(item.optional_vars, "with", item.context_expr, (), node)
            self.block(node.body)
            self.caught = outer
        elif isinstance(node, ast.Match):
            self.expression(node.subject)
            for case in node.cases:
                for name in captures(case.pattern):
                    self.bind(node, "other", None, (), name)
            self.arms(*(case.body for case in node.cases))
        elif isinstance(node, _TRY):
            self.try_statement(node)

    def arms(self, *blocks: list[ast.stmt]) -> None:
        """Blocks of which one may run: nothing in them is sure, nor what follows where one of them may leave."""
        sure, looped = self.sure, self.looped
        self.sure = self.looped = False
        for block in blocks:
            self.block(block)
        self.sure = sure and not any(_leaves(block) for block in blocks)
        self.looped = looped and not any(_leaves(block) for block in blocks)

    def loop(self, body: list[ast.stmt], orelse: list[ast.stmt]) -> None:
        sure, looped = self.sure, self.looped
        self.sure, self.looped = False, sure or looped
        self.loops += 1
        self.block(body)
        self.loops -= 1
        self.looped = False
        self.block(orelse)
        left = _returns(body) or _returns(orelse)
        self.sure, self.looped = sure and not left, looped and not left

    def try_statement(self, node: ast.Try) -> None:
        outer, sure, looped = self.caught, self.sure, self.looped
        if node.handlers:
            handlers = [handler for handler in node.handlers if _leaves(node.finalbody) or not _raises_again(handler)]
            self.caught = (*outer, *(name for handler in handlers for name in _handled(handler)))
            self.sure = self.looped = False
        self.block(node.body)
        self.caught = outer
        for handler in node.handlers:
            if handler.name:
                self.bind(handler, "other", None, (), handler.name)
            if handler.type is not None:
                self.expression(handler.type)
            self.block(handler.body)
        self.block(node.orelse)
        blocks = [node.body, *(handler.body for handler in node.handlers), node.orelse]
        left = any(_leaves(block) for block in blocks) if node.handlers else _leaves(node.orelse)
        self.sure, self.looped = sure and not left, looped and not left
        self.block(node.finalbody)

    # -- what is bound ------------------------------------------------------------------------------------------------

    def bind(self, node: ast.AST, kind: str, value: ast.expr | None, index: tuple[int, ...], name: str) -> None:
        self.body.names.setdefault(name, []).append(Binding(kind, value, index, node, self.sure))

    def target(
        self, target: ast.expr, kind: str, value: ast.expr | None, index: tuple[int, ...], node: ast.AST
    ) -> None:
        if isinstance(target, ast.Name):
            self.bind(target, kind, value, index, target.id)
        elif isinstance(target, (ast.Tuple, ast.List)):
            starred = any(isinstance(element, ast.Starred) for element in target.elts)
            for position, element in enumerate(target.elts):
                if starred:
                    self.target(element, "other", None, (), node)
                else:
                    self.target(element, kind, value, (*index, position), node)
        elif isinstance(target, ast.Starred):
            self.target(target.value, "other", None, (), node)
        elif isinstance(target, ast.Attribute):
            binding = Binding(kind, value, index, target, self.sure)
            if isinstance(target.value, ast.Name) and target.value.id == self.body.self_name:
                self.body.stores.setdefault(target.attr, []).append(binding)
            else:
                self.expression(target.value)
                self.body.foreign.append((target, binding))
        elif isinstance(target, ast.Subscript):
            self.expression(target.value)
            self.expression(target.slice)

    # -- expressions --------------------------------------------------------------------------------------------------

    def expression(self, node: ast.expr) -> None:
        kind = type(node)
        if kind is ast.Constant or kind is ast.Name:
            return
        if isinstance(node, ast.Attribute):
            self.expression(node.value)
            if isinstance(node.ctx, ast.Load):
                self.body.reads.append(self.place(node))
        elif isinstance(node, ast.Call):
            self.call(node)
        elif isinstance(node, ast.BoolOp):
            self.expression(node.values[0])
            self.unsure(node.values[1:])
        elif isinstance(node, ast.IfExp):
            self.test(node.test)
            self.unsure([node.body, node.orelse])
        elif isinstance(node, ast.Lambda):
            self.unsure([*node.args.defaults, *(part for part in node.args.kw_defaults if part is not None)])
            self.body.inner.append(read_body(self.body.module, node, self.body, method=False))
        elif isinstance(node, _COMPREHENSIONS):
            self.comprehension(node)
        elif isinstance(node, ast.NamedExpr):
            self.expression(node.value)
            self.target(node.target, "=", node.value, (), node)
        else:
            if isinstance(node, (ast.Yield, ast.YieldFrom)):
                self.body.yields = True
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):
                    self.expression(child)
                elif isinstance(child, ast.keyword):
                    self.expression(child.value)

    def test(self, node: ast.expr) -> None:
        """What a branch stands on: any function of an object may answer what kind of object it is."""
        self.expression(node)
        for part in ast.walk(node):
            if isinstance(part, ast.Call):
                given = (*part.args, *(keyword.value for keyword in part.keywords))
                self.body.asked.update(
                    ast.unparse(argument) for argument in given if isinstance(argument, (ast.Name, ast.Attribute))
                )

    def call(self, node: ast.Call) -> None:
        self.expression(node.func)
        for argument in node.args:
            self.expression(argument.value if isinstance(argument, ast.Starred) else argument)
        for keyword in node.keywords:
            self.expression(keyword.value)
        self.body.calls.append(self.place(node))
        if isinstance(node.func, ast.Name) and node.func.id in _QUESTIONS and node.args:
            self.body.asked.add(ast.unparse(node.args[0]))
            name = node.args[1] if len(node.args) > 1 else None
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                self.body.asked_names.add(name.value)

    def comprehension(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> None:
        """Its names are bound in the function's own table: a name that is used twice then has two bindings."""
        self.expression(node.generators[0].iter)
        sure, looped = self.sure, self.looped
        self.sure, self.looped = False, (sure or looped) and not isinstance(node, ast.GeneratorExp)
        for position, generator in enumerate(node.generators):
            if position:
                self.expression(generator.iter)
            self.target(generator.target, "for", generator.iter, (), node)
            for condition in generator.ifs:
                self.expression(condition)
                self.looped = False
        parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        for part in parts:
            self.expression(part)
        self.sure, self.looped = sure, looped

    def unsure(self, nodes: Iterable[ast.expr]) -> None:
        sure, looped = self.sure, self.looped
        self.sure = self.looped = False
        for node in nodes:
            self.expression(node)
        self.sure, self.looped = sure, looped

    def place(self, node: ast.expr) -> Place:
        return Place(node, self.sure, self.caught, self.looped)


def _handled(handler: ast.ExceptHandler) -> tuple[str, ...]:
    if handler.type is None:
        return ("*",)
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return tuple(ast.unparse(kind) if isinstance(kind, (ast.Name, ast.Attribute)) else "?" for kind in kinds)


def _raises_again(handler: ast.ExceptHandler) -> bool:
    """Whether a handler certainly ends in the exception that it caught."""
    last = handler.body[-1]
    if not isinstance(last, ast.Raise) or _leaves(handler.body):
        return False
    return last.exc is None or (isinstance(last.exc, ast.Name) and last.exc.id == handler.name)


def _suppressed(manager: ast.expr) -> tuple[str, ...]:
    """What ``contextlib.suppress`` swallows; other managers of the tree let exceptions through."""
    if isinstance(manager, ast.Call) and ast.unparse(manager.func).rpartition(".")[2] in ("suppress", "raises"):
        return tuple(ast.unparse(argument) for argument in manager.args) or ("?",)
    return ()


def _leaves(block: Iterable[ast.stmt]) -> bool:
    """Whether the block may go on elsewhere than behind itself without an exception."""
    return any(_jumps(node, (ast.Return, ast.Break, ast.Continue)) for node in block)


def _returns(block: Iterable[ast.stmt]) -> bool:
    return any(_jumps(node, (ast.Return,)) for node in block)


def _jumps(node: ast.AST, kinds: tuple[type[ast.stmt], ...]) -> bool:
    if isinstance(node, kinds):
        return True
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.expr)):
        return False
    if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
        kinds = (ast.Return,)
    return any(_jumps(child, kinds) for child in ast.iter_child_nodes(node))
