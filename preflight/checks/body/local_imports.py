"""Names that a function gets from one import of its own and from nothing else."""

from __future__ import annotations

import ast

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)

Found = tuple["ast.Import | ast.ImportFrom", ast.alias]


def local_imports(function: ast.AST) -> dict[str, Found]:
    """For each name that one import in the function binds and nothing else in it: the statement and the alias."""
    found: dict[str, Found] = {}
    others: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                if name in found or alias.name == "*":
                    others.add(name)
                found[name] = (node, alias)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
            others.add(node.id)
        elif isinstance(node, ast.arg):
            others.add(node.arg)
        elif isinstance(node, _SCOPES) and node is not function:
            others.add(node.name)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            others.update(node.names)
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
            others.add(node.name or "")
    return {name: one for name, one in found.items() if name not in others and "*" not in others}
