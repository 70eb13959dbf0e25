"""Whether a function is called for a value, or for what it does alone."""

from __future__ import annotations

import ast

from preflight.walk.values import Function


def gives_value(function: Function) -> bool:
    """Whether some ``return`` of the function gives a value."""
    node = function.node
    todo: list[ast.AST] = [] if isinstance(node, ast.Lambda) else list(node.body)
    while todo:
        part = todo.pop()
        if isinstance(part, ast.Return):
            if part.value is not None and not (isinstance(part.value, ast.Constant) and part.value.value is None):
                return True
        elif not isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            todo += ast.iter_child_nodes(part)
    return isinstance(node, ast.Lambda)
