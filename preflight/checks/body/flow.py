"""A body in the order in which Python runs it: which names may be bound, and what is certain to run.

The names that *may* be bound are followed, so a name outside of that set is unbound on every way that leads to the
place. A place is certain where no open condition, loop or handler stands before it. Both err to the side on which
nothing is reported. Functions are not entered, except one of the module that a statement of the module itself calls.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from preflight.checks.body.bindings import breaks, dotted, handled, is_irrefutable, leaves, suppressed
from preflight.checks.body.expressions import Expressions
from preflight.checks.body.moment import Visitor, catches
from preflight.checks.body.scopes import ScopeKind, Scopes, captures, imported_name, parameters, postponed
from preflight.checks.body.state import Catcher, Frame, joined
from preflight.program import Truth

#: names that the body of a class has before its first statement
_CLASS_NAMES = frozenset({"__module__", "__qualname__", "__firstlineno__", "__type_params__", "__static_attributes__"})
_EXITS = frozenset({"sys.exit", "exit", "quit", "os._exit", "os.abort"})


class Flow(Expressions):
    """Follows one file.

    ``evaluated``: annotations are evaluated where they stand, unless the file postpones them. ``known`` are the names
    that need no binding.
    """

    def __init__(
        self, tree: ast.Module, scopes: Scopes, visitor: Visitor, evaluated: bool, known: frozenset[str]
    ) -> None:
        super().__init__(scopes, visitor, known, evaluated and not postponed(tree))
        self._tree = tree
        self._failed: ast.AST | None = None  # the try or with that catches an import which has failed for certain
        self._error: type[Exception] = ImportError  # what that import has raised

    def module(self) -> None:
        """Run the body of the module. Raises RecursionError for absurdly nested code."""
        self.frame = Frame(self.scopes.module, set(), None)
        self.block(self._tree.body)

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Run the body of a function by itself; names of the module are all taken as bound."""
        self.whole = True
        self.frame = Frame(self.scopes.module, set(), None)
        self.enter(node, self.frame)

    def enter(self, node: ast.FunctionDef | ast.AsyncFunctionDef, outer: Frame) -> None:
        before = self.frame
        names = {parameter.arg for parameter in parameters(node.args)}
        self.frame = Frame(self.scopes.of[node], names, outer, doubt=len(self.conditions))
        self.block(node.body)
        self.frame = before
        if self._failed is not None:
            self.frame.possible = None

    # -- statements -----------------------------------------------------------------------------------------------

    def block(self, statements: Sequence[ast.stmt]) -> None:
        self.passed()
        for statement in statements:
            if self.frame.possible is None:
                return
            self.statement(statement)
            self.passed()

    def statement(self, node: ast.stmt) -> None:
        follow = _STATEMENTS.get(type(node).__name__)
        if follow is not None:
            follow(self, node)
        else:
            self.parts(node)

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            error = self.visitor.imports(node, alias, self.moment())
            if error is not None and self._is_caught(error):
                return
            if alias.name != "*":
                self.bind(imported_name(alias, isinstance(node, ast.Import)))
            elif isinstance(node, ast.ImportFrom):
                names = self.visitor.star(node)
                if names is None:
                    self.open = True
                self.starred.update(names or ())
                for name in names or ():
                    self.bind(name)

    def _is_caught(self, error: type[Exception]) -> bool:
        """An import fails here: whether something around it may catch that, and then nothing behind it runs."""
        for catcher in reversed(self.catchers):
            answers = {catches(name, error) for name in catcher.names}
            if answers <= {Truth.NO}:
                continue
            if Truth.YES in answers and catcher.depth == self._depth():
                self._failed, self._error = catcher.node, error
            self.frame.possible = None
            return True
        return False

    def _depth(self) -> int:
        return len(self.conditions) + self.handlers

    def _assign(self, node: ast.Assign) -> None:
        self.expression(node.value)
        for target in node.targets:
            self.expression(target)

    def _augmented(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            self.read(node.target)
        else:
            self.expression(node.target)
        self.expression(node.value)
        if isinstance(node.target, ast.Name):
            self.bind(node.target.id)

    def _annotated(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.expression(node.value)
        if not isinstance(node.target, ast.Name) or node.value is not None:
            self.expression(node.target)
        if self.evaluated and self.frame.scope.kind in (ScopeKind.MODULE, ScopeKind.CLASS):
            self.expression(node.annotation)

    def _delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.read(target)
                if self.frame.possible is not None and target.id not in self.frame.scope.globals:
                    self.frame.possible.discard(target.id)
            else:
                self.expression(target)

    def _return(self, node: ast.Return) -> None:
        if node.value is not None:
            self.expression(node.value)
        if len(self.conditions) > self.frame.doubt or self.handlers or self.catchers:
            # What stands behind is reached by another arm, or through a handler, if at all.
            self.frame.cut = True
        self.frame.possible = None

    def _raise(self, node: ast.Raise) -> None:
        self.parts(node)
        if self.catchers and self.conditions:
            self.frame.cut = True
        self.frame.possible = None

    def _jump(self, node: ast.stmt) -> None:
        self.frame.possible = None

    def _assert(self, node: ast.Assert) -> None:
        self.expression(node.test)
        if isinstance(node.test, ast.Constant) and not node.test.value:
            self.frame.possible = None
        elif node.msg is not None:
            self.under(node.test, node.msg)

    def _expression_statement(self, node: ast.Expr) -> None:
        self.expression(node.value)
        if isinstance(node.value, ast.Call) and dotted(node.value.func) in _EXITS:
            self.frame.possible = None

    def _if(self, node: ast.If) -> None:
        self.expression(node.test)
        answer = self.visitor.test(node.test)
        if answer is Truth.YES:
            self.block(node.body)
        elif answer is Truth.NO:
            self.block(node.orelse)
        else:
            before = self.copy()
            self.conditions.append(node.test)
            self.block(node.body)
            after = self.frame.possible
            self.frame.possible = before
            self.block(node.orelse)
            self.conditions.pop()
            self.join(after)

    def _for(self, node: ast.For | ast.AsyncFor) -> None:
        self.expression(node.iter)
        self._loop(node, node.iter, node.target)

    def _while(self, node: ast.While) -> None:
        self.widen(node)
        self.expression(node.test)
        self._loop(node, node.test, None)

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While, condition: ast.expr, target: ast.expr | None) -> None:
        self.widen(node)
        before = self.copy()
        self.conditions.append(condition)
        if target is not None:
            self.expression(target)
        self.block(node.body)
        self.conditions.pop()
        self.frame.possible = before
        endless = isinstance(node, ast.While) and self.visitor.test(node.test) is Truth.YES
        if endless and not breaks(node.body):
            self.frame.possible = None
            return
        if node.orelse:
            self.conditions.append(condition)
            self.block(node.orelse)
            self.conditions.pop()
            self.join(before if breaks(node.body) else None)

    def _with(self, node: ast.With | ast.AsyncWith) -> None:
        caught: list[str] = []
        for item in node.items:
            self.expression(item.context_expr)
            if item.optional_vars is not None:
                self.expression(item.optional_vars)
            caught.extend(suppressed(item.context_expr))
        before = self.copy()
        self._caught_body(node, tuple(caught))
        if self._failed is node:
            self._failed = None
        if self._failed is not None:
            return
        # The manager may end the body anywhere: what was bound before stays possible, and what the body binds is.
        self.join(None if before is None else before | self.bindings.of(node))

    def _match(self, node: ast.Match) -> None:
        self.expression(node.subject)
        before = self.copy()
        ends: list[set[str] | None] = []
        exhaustive = False
        self.conditions.append(node.subject)
        for case in node.cases:
            self.frame.possible = set(before) if before is not None else None
            self.parts(case.pattern)
            for name in captures(case.pattern):
                self.bind(name)
            if case.guard is not None:
                self.expression(case.guard)
            self.block(case.body)
            ends.append(self.frame.possible)
            exhaustive = exhaustive or (case.guard is None and is_irrefutable(case.pattern))
        self.conditions.pop()
        self.frame.possible = None if exhaustive else before
        for end in ends:
            self.join(end)

    def _try(self, node: ast.Try) -> None:
        names = tuple(name for handler in node.handlers for name in handled(handler))
        before = self.copy()
        # a `return` in `finally` drops whatever was raised, so nothing before it is certain to be seen
        dropped = leaves(node.finalbody)
        self.handlers += dropped
        self._caught_body(node, names)
        failed = self._failed is node
        if failed:
            self._failed = None
        if self.frame.possible is not None and node.orelse:
            # It is reached if nothing in the body was caught, and who knows.
            self.conditions.extend(node.handlers[:1])
            self.block(node.orelse)
            del self.conditions[len(self.conditions) - len(node.handlers[:1]) :]
        end = self.frame.possible
        start = None if before is None else before | self.bindings.of_all(node.body)
        for handler in node.handlers if self._failed is None else ():
            if failed and all(catches(name, self._error) is Truth.NO for name in handled(handler)):
                continue
            self.frame.possible = set(start) if start is not None else None
            self._handler(handler, certain=failed)
            end = joined(end, self.frame.possible)
            if failed:
                break
        self.handlers -= dropped
        self.frame.possible = end
        if node.finalbody:
            self._finally(node, start)

    def _caught_body(self, node: ast.Try | ast.With | ast.AsyncWith, names: tuple[str, ...]) -> None:
        """Run the body of a statement that catches ``names``."""
        self.catchers.append(Catcher(node, names, self._depth()))
        for statement in node.body:
            if self.frame.possible is None:
                break
            self.statement(statement)
            self.passed()
        self.catchers.pop()

    def _finally(self, node: ast.Try, start: set[str] | None) -> None:
        if self.frame.possible is not None:
            self.block(node.finalbody)
            return
        # It runs on the way out; what comes behind it does not.
        self.frame.possible = set(start or ()) | self.bindings.of_all(node.handlers)
        self.handlers += 1
        self.block(node.finalbody)
        self.handlers -= 1
        self.frame.possible = None

    def _handler(self, handler: ast.ExceptHandler, certain: bool) -> None:
        if handler.type is not None:
            self.handlers += not certain
            self.expression(handler.type)
            self.handlers -= not certain
        if handler.name:
            self.bind(handler.name)
        self.handlers += not certain
        self.block(handler.body)
        self.handlers -= not certain
        if handler.name and self.frame.possible is not None:
            self.frame.possible.discard(handler.name)

    def _function_statement(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for decorator in node.decorator_list:
            self.expression(decorator)
        self.defaults(node.args)
        around = self.types(node)
        if self.evaluated:
            for parameter in parameters(node.args):
                if parameter.annotation is not None:
                    self.expression(parameter.annotation)
            if node.returns is not None:
                self.expression(node.returns)
        self.frame = around
        self.bind(node.name)

    def _class_statement(self, node: ast.ClassDef) -> None:
        for decorator in node.decorator_list:
            self.expression(decorator)
        around = self.types(node)
        for base in node.bases:
            self.expression(base)
        for keyword in node.keywords:
            self.expression(keyword.value)
        self.frame = Frame(self.scopes.of[node], set(_CLASS_NAMES), self.frame, doubt=len(self.conditions))
        self.block(node.body)
        self.frame = around
        self.bind(node.name)

    def _type_alias(self, node: ast.AST) -> None:
        self.bind(node.name.id)  # type: ignore[attr-defined]


_STATEMENTS: dict[str, Callable[[Flow, Any], None]] = {
    "Import": Flow._import,
    "ImportFrom": Flow._import,
    "Assign": Flow._assign,
    "AugAssign": Flow._augmented,
    "AnnAssign": Flow._annotated,
    "Delete": Flow._delete,
    "Return": Flow._return,
    "Raise": Flow._raise,
    "Break": Flow._jump,
    "Continue": Flow._jump,
    "Assert": Flow._assert,
    "Expr": Flow._expression_statement,
    "If": Flow._if,
    "For": Flow._for,
    "AsyncFor": Flow._for,
    "While": Flow._while,
    "With": Flow._with,
    "AsyncWith": Flow._with,
    "Match": Flow._match,
    "Try": Flow._try,
    "TryStar": Flow._try,
    "FunctionDef": Flow._function_statement,
    "AsyncFunctionDef": Flow._function_statement,
    "ClassDef": Flow._class_statement,
    "TypeAlias": Flow._type_alias,
}
