"""The calls of the tree that look a function up in its module when they run, and so find what was put in its place."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from preflight.checks.classes.overrides import Caller
from preflight.checks.inference.callees import shape_of
from preflight.checks.inference.scopes import spans
from preflight.checks.monkey.collect import Imported, MonkeyPatch, meaning, note_imports, resolved
from preflight.program import Kind
from preflight.program.facts import Hole
from preflight.program.syntax_nodes import FUNCTIONS, dotted

if TYPE_CHECKING:
    from preflight.program import Module, Program

#: so many modules are read for the calls of one name
_MOST_MODULES = 60
_CATCHES = frozenset({"TypeError", "Exception", "BaseException"})


def lookups_of(program: Program, patch: MonkeyPatch) -> Iterator[Caller]:
    """The calls of ``module.name`` that ask the module for it: those in the module itself, those that write it with its
    module, and those behind an import in the function that calls."""
    modules = program.texts.matching(rf"(?<!def )\b{patch.attribute}\(".encode(), patch.attribute)
    for module in modules if len(modules) <= _MOST_MODULES else ():
        lines = program.texts.lines_with(module, rf"\b{patch.attribute}\(".encode())
        tree = program.syntax_tree(module)
        if not isinstance(tree, Hole):
            finder = _Finder(program, module, patch, lines)
            finder.visit(tree)
            yield from finder.found


class _Finder(ast.NodeVisitor):
    def __init__(self, program: Program, module: Module, patch: MonkeyPatch, lines: frozenset[int]) -> None:
        self._program = program
        self._module = module
        self._patch = patch
        self._lines = lines
        self._scopes: list[tuple[frozenset[str], Imported]] = []
        self._caught = 0
        self.found: list[Caller] = []

    def visit(self, node: ast.AST) -> None:
        """Leave out the statements that have none of the lines which call by the name."""
        if not isinstance(node, ast.stmt) or spans(node, self._lines):
            super().visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._function(node)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._function(node)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> None:
        imported: Imported = {}
        bound = {arg.arg for arg in ast.walk(node.args) if isinstance(arg, ast.arg)}
        for part in ast.walk(node):
            if isinstance(part, (ast.Import, ast.ImportFrom)):
                note_imports(self._module, part, imported)
            elif isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load):
                bound.add(part.id)
            elif (isinstance(part, (*FUNCTIONS, ast.ClassDef)) and part is not node) or (
                isinstance(part, ast.ExceptHandler) and part.name is not None
            ):
                bound.add(part.name)
        caught, self._caught = self._caught, 0  # it runs where it is called
        self._scopes.append((frozenset(bound), imported))
        self.generic_visit(node)
        self._scopes.pop()
        self._caught = caught

    def visit_Try(self, node: ast.Try) -> None:
        catches = any(
            one.type is None or _CATCHES & {dotted(part) for part in ast.walk(one.type) if isinstance(part, ast.expr)}
            for one in node.handlers
        )
        self._caught += catches
        for statement in node.body:
            self.visit(statement)
        self._caught -= catches
        for part in (*node.handlers, *node.orelse, *node.finalbody):
            self.visit(part)

    visit_TryStar = visit_Try

    def visit_Call(self, node: ast.Call) -> None:
        text = dotted(node.func)
        if text is not None and not self._caught and self._scopes and self._asks(text):
            self.found.append(
                Caller(shape_of(node), self._module.path or self._module.name, node.lineno, f"{text}(...)")
            )
        self.generic_visit(node)

    def _asks(self, text: str) -> bool:
        """Whether a dotted name is what was patched, looked up when the function runs."""
        owner, _, name = text.rpartition(".")
        head = text.partition(".")[0]
        scope = next((one for one in reversed(self._scopes) if head in one[0] or head in one[1]), None)
        if scope is not None and head in scope[0]:
            return False
        imported = scope[1] if scope is not None else {}
        if not owner:
            if head in imported:
                return imported[head] == (self._patch.owner.module, self._patch.attribute)
            return head == self._patch.attribute and self._module.name == self._patch.owner.module
        if name != self._patch.attribute:
            return False
        found = meaning(resolved(self._program, self._module, owner, imported))
        return found is not None and found.kind is Kind.MODULE and found.module == self._patch.owner.module
