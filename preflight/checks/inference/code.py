"""The bodies of functions by their facts, and the places of syntax nodes as a report counts them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from preflight.checks.inference.bodies import Body, read_body, read_top
from preflight.checks.places import column_of
from preflight.model import Excerpt, Span

if TYPE_CHECKING:
    from preflight.program import Module, Program
    from preflight.program.facts import FunctionFacts, Hole
    from preflight.syntax.source import Source, SourceStore


class Code:
    """Reads function bodies of one program, each once."""

    def __init__(self, program: Program, sources: SourceStore) -> None:
        self._program = program
        self._sources = sources
        self._trees: dict[str, ast.Module | Hole] = {}
        self._bodies: dict[tuple[str, int, str, bool], Body | None] = {}

    def body(self, module: Module, facts: FunctionFacts, method: bool = False) -> Body | None:
        """The body of a function or method; None if its file cannot be read as Python. ``method``: it is one although
        it is not written in a class."""
        key = (module.name, facts.line, facts.name, method)
        if key not in self._bodies:
            node = self._program.function_node(module, facts)
            static = any(decorator.text == "staticmethod" for decorator in facts.decorators)
            around = facts.qualname.rpartition(".")[0]
            bound = method or (around != "" and not around.endswith("<locals>") and not static)
            self._bodies[key] = read_body(module, node, None, bound) if node is not None else None
        return self._bodies[key]

    def forget(self) -> None:
        """Let go of all bodies; a body and those inside of it refer to each other, which keeps both."""
        for body in self._bodies.values():
            if body is not None:
                body.inner.clear()
        self._bodies.clear()
        self._trees.clear()

    def top(self, module: Module) -> Body | None:
        """What importing a module runs; None if its file cannot be read as Python."""
        tree = self._tree(module)
        return read_top(module, tree) if isinstance(tree, ast.Module) else None

    def _tree(self, module: Module) -> ast.Module | Hole:
        """The syntax tree of a module, kept until everything is let go of: the program keeps a few only."""
        if module.name not in self._trees:
            self._trees[module.name] = self._program.syntax_tree(module)
        return self._trees[module.name]

    # -- places -------------------------------------------------------------------------------------------------------

    def source(self, path: str) -> Source:
        """The text of a file of the tree."""
        return self._sources.get(path)

    def span(self, module: Module, node: ast.expr) -> Span:
        """Where a node stands, in characters."""
        path = module.path or module.name
        lines = self.source(path).lines
        return Span(path, node.lineno, column_of(lines, node), node.end_lineno, column_of(lines, node, end=True))

    def keyword_span(self, module: Module, keyword: ast.keyword) -> Span:
        """Where a call passes a keyword: from its name to the end of its value."""
        value = self.span(module, keyword.value)
        column = column_of(self.source(value.path).lines, keyword)
        return Span(value.path, keyword.lineno, column, value.end_line, value.end_column)

    def excerpt(self, span: Span) -> Excerpt | None:
        """The lines around a place."""
        from preflight.syntax.excerpt import excerpt

        if span.line is None:
            return None
        lines = self.source(span.path).lines
        return excerpt(span.path, lines, span.line, span.line) if lines else None
