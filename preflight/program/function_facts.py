"""The facts of functions: parameters, bodies without content, and what their statements do to ``self``."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from preflight.program.facts import (
    KIND_KEYWORD_ONLY,
    KIND_POSITIONAL_ONLY,
    KIND_POSITIONAL_OR_KEYWORD,
    KIND_VAR_KEYWORD,
    KIND_VAR_POSITIONAL,
    ClassFacts,
    FunctionFacts,
    Guard,
    Import,
    Parameter,
    Store,
)
from preflight.program.syntax_nodes import FUNCTIONS, TRY, dotted

if TYPE_CHECKING:
    from preflight.program.extract import Extractor


class _Scope:
    """What is collected while the statements of one function are walked."""

    __slots__ = ("depth", "globals", "imports", "init_calls", "inner", "qualname", "self_calls", "self_name", "stores")

    def __init__(self, qualname: str, self_name: str | None) -> None:
        self.qualname = qualname
        self.self_name = self_name
        self.stores: list[Store] = []
        self.self_calls: list[str] = []
        self.init_calls: list[str] = []
        self.imports: list[Import] = []
        self.globals: list[str] = []
        self.inner: list[FunctionFacts | ClassFacts] = []
        self.depth = 0  # how many conditions the statement stands under


class FunctionExtractor:
    """Walks the statements of functions for the extractor of their file."""

    def __init__(self, outer: Extractor) -> None:
        self._outer = outer
        self._text = outer.text

    def function(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef,
        guards: tuple[Guard, ...],
        prefix: str,
        in_class: bool,
    ) -> FunctionFacts:
        qualname = prefix + node.name
        parameters = self.parameters(node.args)
        decorators = tuple(self._text.expression(decorator) for decorator in node.decorator_list)
        static = any(decorator.text in ("staticmethod", "classmethod") for decorator in decorators)
        self_name = parameters[0].name if in_class and not static and parameters else None
        scope = _Scope(qualname, self_name)
        self.function_block(node.body, (*guards, Guard("function", node.lineno, None, (), qualname)), scope)
        self._outer.imports.extend(scope.imports)
        self._outer.globals.extend(scope.globals)
        return FunctionFacts(
            node.name,
            qualname,
            node.lineno,
            self._text.column(node.lineno, node.col_offset),
            node.end_lineno or node.lineno,
            isinstance(node, ast.AsyncFunctionDef),
            parameters,
            self._text.maybe(node.returns),
            decorators,
            _stub(node.body),
            tuple(scope.stores),
            tuple(dict.fromkeys(scope.self_calls)),
            tuple(dict.fromkeys(scope.init_calls)),
            tuple(scope.imports),
            tuple(dict.fromkeys(scope.globals)),
            tuple(scope.inner),
        )

    def parameters(self, arguments: ast.arguments) -> tuple[Parameter, ...]:
        found: list[Parameter] = []
        positional = [*arguments.posonlyargs, *arguments.args]
        defaults: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults))
        defaults.extend(arguments.defaults)
        for index, (argument, default) in enumerate(zip(positional, defaults, strict=True)):
            only = index < len(arguments.posonlyargs)
            found.append(
                self.parameter(argument, KIND_POSITIONAL_ONLY if only else KIND_POSITIONAL_OR_KEYWORD, default)
            )
        if arguments.vararg is not None:
            found.append(self.parameter(arguments.vararg, KIND_VAR_POSITIONAL, None))
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
            found.append(self.parameter(argument, KIND_KEYWORD_ONLY, default))
        if arguments.kwarg is not None:
            found.append(self.parameter(arguments.kwarg, KIND_VAR_KEYWORD, None))
        return tuple(found)

    def parameter(self, argument: ast.arg, kind: int, default: ast.expr | None) -> Parameter:
        column = self._text.column(argument.lineno, argument.col_offset)
        return Parameter(
            argument.arg,
            kind,
            self._text.maybe(default),
            self._text.maybe(argument.annotation),
            argument.lineno,
            column,
        )

    # -- the statements of a function -----------------------------------------------------------------------------

    def function_block(self, statements: Sequence[ast.stmt], guards: tuple[Guard, ...], scope: _Scope) -> None:
        for node in statements:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                scope.imports.extend(self._outer.import_statement(node, guards))
            elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Delete)):
                self.store_statement(node, scope)
            elif isinstance(node, ast.Expr):
                self.call_statement(node.value, scope)
            elif isinstance(node, ast.Global):
                scope.globals.extend(node.names)
            elif isinstance(node, ast.If):
                test = self._text.expression(node.test)
                scope.depth += 1
                self.function_block(node.body, (*guards, Guard("if", node.lineno, test)), scope)
                self.function_block(node.orelse, (*guards, Guard("else", node.lineno, test)), scope)
                scope.depth -= 1
            elif isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
                scope.depth += 1
                if not isinstance(node, ast.While):
                    self.store_target(node.target, "=", scope)
                inside = (*guards, Guard("loop", node.lineno))
                self.function_block(node.body, inside, scope)
                self.function_block(node.orelse, inside, scope)
                scope.depth -= 1
            elif isinstance(node, (ast.With, ast.AsyncWith)):
                for item in node.items:
                    if item.optional_vars is not None:
                        self.store_target(item.optional_vars, "=", scope)
                self.function_block(node.body, (*guards, Guard("with", node.lineno)), scope)
            elif isinstance(node, TRY):
                self.function_try(node, guards, scope)
            elif isinstance(node, ast.Match):
                scope.depth += 1
                for case in node.cases:
                    self.function_block(case.body, (*guards, Guard("match", node.lineno)), scope)
                scope.depth -= 1
            elif isinstance(node, FUNCTIONS):
                prefix = scope.qualname + ".<locals>."
                inner = self.function(node, guards, prefix, in_class=False)
                scope.inner.append(inner)
            elif isinstance(node, ast.ClassDef):
                scope.inner.append(self._outer.class_statement(node, guards, scope.qualname + ".<locals>."))

    def function_try(self, node: ast.Try, guards: tuple[Guard, ...], scope: _Scope) -> None:
        caught_by = [self._outer.caught(handler) for handler in node.handlers]
        caught = tuple(dict.fromkeys(name for names in caught_by for name in names))
        scope.depth += 1
        self.function_block(node.body, (*guards, Guard("try", node.lineno, None, caught)), scope)
        for handler, names in zip(node.handlers, caught_by, strict=True):
            self.function_block(handler.body, (*guards, Guard("except", handler.lineno, None, names)), scope)
        self.function_block(node.orelse, guards, scope)
        scope.depth -= 1
        self.function_block(node.finalbody, (*guards, Guard("finally", node.lineno)), scope)

    def store_statement(self, node: ast.stmt, scope: _Scope) -> None:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self.store_target(target, "=", scope)
            self.call_statement(node.value, scope)
        elif isinstance(node, ast.AnnAssign):
            self.store_target(node.target, ":" if node.value is None else "=", scope)
            if node.value is not None:
                self.call_statement(node.value, scope)
        elif isinstance(node, ast.AugAssign):
            self.store_target(node.target, "+=", scope)
        elif isinstance(node, ast.Delete):
            for target in node.targets:
                self.store_target(target, "del", scope)

    def store_target(self, target: ast.expr, kind: str, scope: _Scope) -> None:
        if isinstance(target, ast.Attribute):
            if isinstance(target.value, ast.Name) and target.value.id == scope.self_name:
                column = self._text.column(target.lineno, target.col_offset)
                scope.stores.append(Store(target.attr, target.lineno, column, scope.depth == 0, kind))
        elif isinstance(target, (ast.Tuple, ast.List)):
            for element in target.elts:
                self.store_target(element, kind, scope)
        elif isinstance(target, ast.Starred):
            self.store_target(target.value, kind, scope)

    def call_statement(self, node: ast.expr, scope: _Scope) -> None:
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            return
        owner, attribute = node.func.value, node.func.attr
        if isinstance(owner, ast.Name) and owner.id == scope.self_name:
            scope.self_calls.append(attribute)
        elif attribute == "__init__":
            if isinstance(owner, ast.Call) and dotted(owner.func) == "super":
                scope.init_calls.append("super")
            else:
                scope.init_calls.append(dotted(owner) or self._text.expression(owner).text)


def _is_string(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _stub(body: Sequence[ast.stmt]) -> str | None:
    """What a body without content is made of, None for a real one."""
    rest = list(body)
    docstring = False
    if rest and _is_string(rest[0]):
        docstring = True
        rest = rest[1:]
    if not rest:
        return "docstring"
    if len(rest) > 1:
        return None
    only = rest[0]
    if isinstance(only, ast.Pass):
        return "pass"
    if isinstance(only, ast.Expr) and isinstance(only.value, ast.Constant):
        return "..." if only.value.value is Ellipsis else ("docstring" if docstring else None)
    if isinstance(only, ast.Raise) and only.exc is not None:
        raised = only.exc.func if isinstance(only.exc, ast.Call) else only.exc
        if dotted(raised) == "NotImplementedError":
            return "raise NotImplementedError"
    return None
