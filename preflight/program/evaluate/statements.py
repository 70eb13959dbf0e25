"""Statements of functions."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from preflight.program.classes import Class
from preflight.program.conditions import Truth
from preflight.program.evaluate.values import LARGEST, Frame, Function, Instance, Raised, Undecidable, Unknown, Value
from preflight.program.facts import ClassFacts, FunctionFacts, Import
from preflight.program.syntax_nodes import dotted

if TYPE_CHECKING:
    from preflight.program.evaluate.evaluator import Evaluator


class _Return(Exception):
    def __init__(self, value: Value) -> None:
        self.value = value


class _Break(Exception):
    pass


class _Continue(Exception):
    pass


class Statements:
    """Runs the statements of functions for one evaluator."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator

    def run_function(self, node: ast.FunctionDef, frame: Frame) -> Value:
        """Run a function's body; its value is what it returns."""
        try:
            self.block(node.body, frame)
        except _Return as returned:
            return returned.value
        return None

    def block(self, statements: Sequence[ast.stmt], frame: Frame) -> None:
        """Run statements in order."""
        for node in statements:
            self.statement(node, frame)

    def statement(self, node: ast.stmt, frame: Frame) -> None:
        """Run one statement."""
        self._evaluator.tick()
        value = self._evaluator.expressions.value
        if isinstance(node, ast.Expr):
            if not isinstance(node.value, ast.Constant):
                value(node.value, frame)
        elif isinstance(node, ast.Return):
            raise _Return(value(node.value, frame) if node.value is not None else None)
        elif isinstance(node, ast.Assign):
            made = value(node.value, frame)
            for target in node.targets:
                self.assign(target, made, frame)
        elif isinstance(node, ast.AnnAssign):
            if node.value is not None:
                self.assign(node.target, value(node.value, frame), frame)
        elif isinstance(node, ast.AugAssign):
            self._augmented(node, frame)
        elif isinstance(node, ast.If):
            self._if(node, frame)
        elif isinstance(node, ast.For):
            self._for(node, frame)
        elif isinstance(node, ast.While):
            self._while(node, frame)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            self._function(node, frame)
        elif isinstance(node, ast.ClassDef):
            frame.names[node.name] = self._class(node, frame)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            self._import(node, frame)
        elif isinstance(node, ast.Raise):
            self._raise(node, frame)
        elif isinstance(node, ast.Assert):
            test = value(node.test, frame)
            if self._evaluator.truth(test) is Truth.NO:
                raise Raised("AssertionError", "", frame.module.path, node.lineno)
        elif isinstance(node, ast.Try):
            self._try(node, frame)
        elif isinstance(node, ast.With):
            for item in node.items:
                made = value(item.context_expr, frame)
                if item.optional_vars is not None:
                    self.assign(item.optional_vars, Unknown("what a context manager gives"), frame)
                del made
            self.block(node.body, frame)
        elif isinstance(node, ast.Global):
            frame.global_names = frame.global_names | frozenset(node.names)
        elif isinstance(node, ast.Break):
            raise _Break
        elif isinstance(node, ast.Continue):
            raise _Continue
        elif isinstance(node, ast.Delete):
            raise Undecidable("a del is not followed")
        elif not isinstance(node, (ast.Pass, ast.Nonlocal)):
            raise Undecidable(f"the statement {type(node).__name__} is not followed")

    # -- assignments ------------------------------------------------------------------------------------------------

    def assign(self, target: ast.expr, value: Value, frame: Frame) -> None:
        """``target = value``."""
        if isinstance(target, ast.Name):
            if target.id in frame.global_names:
                raise Undecidable(f"the global {target.id} is set")
            frame.names[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(target, value, frame)
        elif isinstance(target, ast.Attribute):
            owner = self._evaluator.expressions.value(target.value, frame)
            self._evaluator.attributes.set(owner, target.attr, value)
        elif isinstance(target, ast.Subscript):
            owner = self._evaluator.expressions.value(target.value, frame)
            key = self._evaluator.expressions.value(target.slice, frame)
            if isinstance(owner, (dict, list)) and not isinstance(key, Unknown):
                owner[key] = value
            elif isinstance(owner, Instance):
                method = self._evaluator.attributes.of_instance(owner, "__setitem__")
                self._evaluator.calls.call(method, [key, value], {}, "[]=")
            elif not isinstance(owner, Unknown):
                raise Undecidable("an item is set on what is not known")
        else:
            raise Undecidable(f"an assignment to {type(target).__name__} is not followed")

    def _unpack(self, target: ast.Tuple | ast.List, value: Value, frame: Frame) -> None:
        if isinstance(value, Unknown):
            for element in target.elts:
                self.assign(element.value if isinstance(element, ast.Starred) else element, value, frame)
            return
        values = list(self._evaluator.expressions.iterate(value))
        starred = [index for index, element in enumerate(target.elts) if isinstance(element, ast.Starred)]
        if starred:
            first, after = starred[0], len(target.elts) - starred[0] - 1
            middle = values[first : len(values) - after]
            values = [*values[:first], middle, *values[len(values) - after :]]
        if len(values) != len(target.elts):
            raise Raised("ValueError", "the number of values to unpack is wrong", frame.module.path, target.lineno)
        for element, part in zip(target.elts, values, strict=True):
            self.assign(element.value if isinstance(element, ast.Starred) else element, part, frame)

    def _augmented(self, node: ast.AugAssign, frame: Frame) -> None:
        target = node.target
        before = self._evaluator.expressions.value(target, frame)
        change = self._evaluator.expressions.value(node.value, frame)
        if isinstance(before, list) and isinstance(node.op, ast.Add):
            if len(before) > LARGEST:
                raise Undecidable("so large a value is not worked out")
            before.extend(list(self._evaluator.expressions.iterate(change)))  # `x += x` ends, as in Python
            return
        self.assign(target, self._evaluator.expressions.operate(type(node.op), before, change), frame)

    # -- control flow -----------------------------------------------------------------------------------------------

    def _if(self, node: ast.If, frame: Frame) -> None:
        test = self._evaluator.expressions.value(node.test, frame)
        if self._evaluator.truth(test) is Truth.MAYBE and _only_says(node.body) and _only_says(node.orelse):
            return  # whether it logs or not makes no difference
        taken = self._evaluator.decide(test, f"the condition in line {node.lineno} of {frame.module.name}")
        self.block(node.body if taken else node.orelse, frame)

    def _for(self, node: ast.For, frame: Frame) -> None:
        for element in self._evaluator.expressions.iterate(self._evaluator.expressions.value(node.iter, frame)):
            self.assign(node.target, element, frame)
            try:
                self.block(node.body, frame)
            except _Break:
                return
            except _Continue:
                continue
        self.block(node.orelse, frame)

    def _while(self, node: ast.While, frame: Frame) -> None:
        value = self._evaluator.expressions.value
        while self._evaluator.decide(value(node.test, frame), f"the condition in line {node.lineno}"):
            try:
                self.block(node.body, frame)
            except _Break:
                return
            except _Continue:
                continue
        self.block(node.orelse, frame)

    def _raise(self, node: ast.Raise, frame: Frame) -> None:
        if node.exc is None:
            raise Undecidable("an exception is raised again")
        raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        name = dotted(raised)
        message = ""
        if isinstance(node.exc, ast.Call) and node.exc.args:
            text = self._evaluator.expressions.value(node.exc.args[0], frame)
            message = text if isinstance(text, str) else ""
        raise Raised((name or "Exception").rpartition(".")[2], message, frame.module.path, node.lineno)

    def _try(self, node: ast.Try, frame: Frame) -> None:
        try:
            self.block(node.body, frame)
        except Raised as raised:
            handler = next((h for h in node.handlers if _catches(h, raised.name)), None)
            if handler is None:
                self.block(node.finalbody, frame)
                raise
            if handler.name is not None:
                frame.names[handler.name] = Unknown("an exception")
            self.block(handler.body, frame)
        else:
            self.block(node.orelse, frame)
        self.block(node.finalbody, frame)

    # -- definitions --------------------------------------------------------------------------------------------------

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, frame: Frame) -> None:
        facts = _inner(frame, node.lineno, FunctionFacts)
        parameters, defaults = self._evaluator.expressions.parameters(node.args, frame)
        if facts is not None:
            parameters = facts.parameters
        qualname = facts.qualname if facts is not None else node.name
        value: Value = Function(frame.module, node.name, qualname, parameters, facts, node, frame, None, defaults)
        for decorator in reversed(node.decorator_list):
            made = self._evaluator.expressions.value(decorator, frame)
            value = self._evaluator.calls.call(made, [value], {}, "a decorator")
        frame.names[node.name] = value

    def _class(self, node: ast.ClassDef, frame: Frame) -> Value:
        facts = _inner(frame, node.lineno, ClassFacts)
        if facts is None:
            raise Undecidable(f"the class {node.name} is made in a way that is not followed")
        cls = Class(self._evaluator.program, frame.module.name, facts.qualname, facts, frame.module.path)
        cls.closure = frame
        return cls.replaced_by()

    def _import(self, node: ast.Import | ast.ImportFrom, frame: Frame) -> None:
        for alias in node.names:
            aliased = alias.asname is not None
            if isinstance(node, ast.Import):
                bound = alias.asname or alias.name.partition(".")[0]
                item = Import(0, alias.name, None, bound, aliased, node.lineno, 1, node.lineno, 1, node.lineno, ())
            else:
                bound = alias.asname or alias.name
                name = alias.name
                item = Import(
                    node.level, node.module or "", name, bound, aliased, node.lineno, 1, node.lineno, 1, node.lineno, ()
                )
            frame.names.update(self._evaluator.imported(frame.module, item))


def _inner(frame: Frame, line: int, kind: type) -> FunctionFacts | ClassFacts | None:
    """The facts of a function or class that the running function defines at ``line``."""
    scope: Frame | None = frame
    while scope is not None and scope.function is None:
        scope = scope.outer
    facts = scope.function.facts if scope is not None and scope.function is not None else None
    for inner in facts.inner if facts is not None else ():
        if isinstance(inner, kind) and inner.line == line:
            return inner
    return None


def _only_says(statements: Sequence[ast.stmt]) -> bool:
    """Whether the statements are calls of a logger's or warnings' methods, whose result nobody uses."""
    for node in statements:
        if isinstance(node, ast.Pass):
            continue
        if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
            return False
        name = dotted(node.value.func) or ""
        owner, _, method = name.rpartition(".")
        if not owner.endswith(("logger", "warnings", "logging")) and method not in _SAYING:
            return False
    return True


_SAYING = frozenset({"warning", "warning_once", "info", "info_once", "debug", "debug_once", "print"})


def _catches(handler: ast.ExceptHandler, name: str) -> bool:
    import builtins

    if handler.type is None:
        return True
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    raised = getattr(builtins, name, None)
    for kind in kinds:
        caught = (dotted(kind) or "").rpartition(".")[2]
        known = getattr(builtins, caught, None)
        if caught == name:
            return True
        if isinstance(raised, type) and isinstance(known, type) and issubclass(raised, known):
            return True
        if caught in ("Exception", "BaseException") and raised is None:
            return True
    return False
