"""Expressions in the order in which Python evaluates them."""

from __future__ import annotations

import ast
from abc import abstractmethod

from preflight.checks.body.moment import Visitor
from preflight.checks.body.scopes import Scope, ScopeKind, Scopes, type_parameters
from preflight.checks.body.state import Frame, State
from preflight.program import Truth

#: how deep functions that a module calls in its body are followed
_MAX_CALLS = 3
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Expressions(State):
    """Evaluates names: reads them, binds those of ``:=``, and tells of dotted names."""

    def __init__(self, scopes: Scopes, visitor: Visitor, known: frozenset[str], evaluated: bool) -> None:
        super().__init__(scopes, visitor, known, evaluated)
        self._entered: set[ast.AST] = set()

    @abstractmethod
    def enter(self, node: ast.FunctionDef | ast.AsyncFunctionDef, outer: Frame) -> None:
        """Run the body of a function that is called here."""

    def parts(self, node: ast.AST) -> None:
        """Everything in a node that has no meaning of its own."""
        for child in ast.iter_child_nodes(node):
            self.expression(child)

    def expression(self, node: ast.AST) -> None:
        """Evaluate a node."""
        self.evaluate(node)
        if self.catchers and not isinstance(node, (ast.Name, ast.Constant)):
            self.passed()

    def evaluate(self, node: ast.AST) -> None:
        kind = type(node)
        if kind is ast.Name:
            assert isinstance(node, ast.Name)
            if isinstance(node.ctx, ast.Load):
                self.read(node)
            else:
                self.bind(node.id)
        elif kind is ast.Constant:
            return
        elif kind is ast.Attribute:
            assert isinstance(node, ast.Attribute)
            self._chain(node)
        elif kind is ast.Call:
            assert isinstance(node, ast.Call)
            self.parts(node)
            self._call(node)
        elif kind is ast.Lambda:
            assert isinstance(node, ast.Lambda)
            self.defaults(node.args)
        elif kind is ast.NamedExpr:
            assert isinstance(node, ast.NamedExpr)
            self.expression(node.value)
            self.bind(node.target.id)
        elif kind is ast.BoolOp:
            assert isinstance(node, ast.BoolOp)
            self._bool(node)
        elif kind is ast.IfExp:
            assert isinstance(node, ast.IfExp)
            self._if_expression(node)
        elif kind is ast.Compare:
            assert isinstance(node, ast.Compare)
            self.expression(node.left)
            self.expression(node.comparators[0])
            for comparator in node.comparators[1:]:
                self.under(node, comparator)
        elif kind in (ast.ListComp, ast.SetComp, ast.DictComp):
            self._comprehension(node)  # type: ignore[arg-type]
        elif kind is ast.GeneratorExp:
            # only its first iterable is evaluated here, the rest when somebody asks for its items
            self.expression(node.generators[0].iter)  # type: ignore[attr-defined]
        else:
            self.parts(node)

    def under(self, condition: ast.expr, node: ast.AST) -> None:
        self.conditions.append(condition)
        self.expression(node)
        self.conditions.pop()

    def _bool(self, node: ast.BoolOp) -> None:
        deciding = Truth.NO if isinstance(node.op, ast.And) else Truth.YES
        entered = 0
        for value in node.values:
            self.expression(value)
            answer = self.visitor.test(value)
            if answer is deciding:
                break
            if answer is Truth.MAYBE:
                self.conditions.append(value)
                entered += 1
        del self.conditions[len(self.conditions) - entered :]

    def _if_expression(self, node: ast.IfExp) -> None:
        self.expression(node.test)
        answer = self.visitor.test(node.test)
        for arm, never in ((node.body, Truth.NO), (node.orelse, Truth.YES)):
            if answer is Truth.MAYBE:
                self.under(node.test, arm)
            elif answer is not never:
                self.expression(arm)

    def _chain(self, node: ast.Attribute) -> None:
        root: ast.expr = node
        while isinstance(root, ast.Attribute):
            root = root.value
        self.expression(root)
        if isinstance(root, ast.Name) and isinstance(node.ctx, ast.Load):
            frame = self.find(root.id)
            bound = frame.possible is not None and root.id in frame.possible
            if frame.parent is None and (self.whole or bound):
                self.visitor.attribute(node, self.moment())
            elif frame.parent is not None and bound and isinstance(frame.scope.node, _FUNCTIONS):
                self.visitor.attribute(node, self.moment(), frame.scope.node)

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.DictComp) -> None:
        first = node.generators[0]
        self.expression(first.iter)
        around = self.frame
        scope = self.scopes.of[node]
        self.frame = Frame(scope, set(scope.bound), around, doubt=around.doubt)
        self.conditions.append(first.iter)
        for index, generator in enumerate(node.generators):
            if index:
                self.expression(generator.iter)
            for condition in generator.ifs:
                self.expression(condition)
        if isinstance(node, ast.DictComp):
            self.expression(node.key)
            self.expression(node.value)
        else:
            self.expression(node.elt)
        self.conditions.pop()
        self.frame = around

    def _call(self, node: ast.Call) -> None:
        """Enter a function of the module that the module itself calls: its body runs now."""
        if not isinstance(node.func, ast.Name) or len(self.calls) >= _MAX_CALLS:
            return
        function = self.scopes.functions.get(node.func.id)
        frame = self.find(node.func.id)
        if function is None or function in self._entered or frame.parent is not None or self.frame.possible is None:
            return
        if frame.possible is None or node.func.id not in frame.possible or function.decorator_list:
            return
        if any(isinstance(part, (ast.Yield, ast.YieldFrom)) for part in ast.walk(function)):
            return
        self._entered.add(function)
        self.calls.append(node)
        self.enter(function, frame)
        self.calls.pop()

    def types(self, node: ast.AST) -> Frame:
        """Enter the scope of type parameters, where there are some; the frame to go back to."""
        around = self.frame
        names = {parameter.name for parameter in type_parameters(node)}  # type: ignore[attr-defined]
        if names:
            scope = Scope(ScopeKind.TYPES, node, around.scope, set(names))
            self.frame = Frame(scope, names, around, doubt=around.doubt)
        return around

    def defaults(self, arguments: ast.arguments) -> None:
        for default in (*arguments.defaults, *arguments.kw_defaults):
            if default is not None:
                self.expression(default)
