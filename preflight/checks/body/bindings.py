"""What single statements say by themselves: the names that they bind, what they catch, whether they end a loop."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from preflight.checks.body.scopes import captures, imported_name


class Bindings:
    """The names that statements bind in their own scope, anywhere in them; each statement is read once."""

    def __init__(self) -> None:
        self._known: dict[ast.AST, frozenset[str]] = {}

    def of_all(self, nodes: Iterable[ast.AST]) -> set[str]:
        """The names that any of the nodes binds."""
        return {name for node in nodes for name in self.of(node)}

    def of(self, node: ast.AST) -> frozenset[str]:
        """The names that a statement binds in its own scope, anywhere in it."""
        known = self._known.get(node)
        if known is None:
            found: set[str] = set()
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                found.add(node.name)
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                found.update(imported_name(alias, isinstance(node, ast.Import)) for alias in node.names)
            elif isinstance(node, ast.Name):
                if isinstance(node.ctx, ast.Store):
                    found.add(node.id)
            elif not isinstance(node, (ast.Lambda, ast.Constant)):
                if isinstance(node, ast.ExceptHandler) and node.name:
                    found.add(node.name)
                elif isinstance(node, ast.pattern):
                    found.update(captures(node))
                for child in ast.iter_child_nodes(node):
                    found |= self.of(child)
            known = frozenset(found)
            if isinstance(node, ast.stmt):
                self._known[node] = known
        return known


def dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "?"


def handled(handler: ast.ExceptHandler) -> tuple[str, ...]:
    if handler.type is None:
        return ("*",)
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return tuple(kind.id if isinstance(kind, ast.Name) else "?" for kind in kinds)


def suppressed(manager: ast.expr) -> tuple[str, ...]:
    """What a context manager may swallow: ``contextlib.suppress`` says it, of any other nobody knows."""
    if isinstance(manager, ast.Call) and dotted(manager.func).rpartition(".")[2] == "suppress":
        return tuple(argument.id if isinstance(argument, ast.Name) else "?" for argument in manager.args)
    return ("?",)


def breaks(statements: Iterable[ast.stmt]) -> bool:
    """Whether a ``break`` ends the loop that has these statements."""
    for node in statements:
        if isinstance(node, ast.Break):
            return True
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            if breaks(node.orelse):
                return True
            continue
        inner = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.ExceptHandler, ast.match_case)):
                inner.extend(child.body)
        if breaks(inner):
            return True
    return False


def leaves(statements: Iterable[ast.stmt]) -> bool:
    """True if one of the statements may leave their block by ``return``, ``break`` or ``continue``; an inner loop's or
    function's own count as well, since nothing hangs on telling them apart."""
    ends = (ast.Return, ast.Break, ast.Continue)
    return any(isinstance(inner, ends) for node in statements for inner in ast.walk(node))


def is_irrefutable(pattern: ast.pattern) -> bool:
    if isinstance(pattern, ast.MatchAs):
        return pattern.pattern is None or is_irrefutable(pattern.pattern)
    return isinstance(pattern, ast.MatchOr) and any(is_irrefutable(part) for part in pattern.patterns)
