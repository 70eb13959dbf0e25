"""What ``from module import *`` brings: ``__all__`` in the forms that can be read, else the public names."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from preflight.program.conditions import parse_expression
from preflight.program.definitions import Kind
from preflight.program.facts import Assign, Call, Expression
from preflight.program.finder import ModuleKind
from preflight.program.syntax_nodes import dotted

if TYPE_CHECKING:
    from preflight.program.modules import Module
    from preflight.program.namespace import Namespace
    from preflight.program.program import Program
    from preflight.program.resolver import Resolver


class Exports:
    """Answers for one program."""

    def __init__(self, program: Program, resolver: Resolver) -> None:
        self._program = program
        self._resolver = resolver

    def of(self, name: str) -> tuple[tuple[str, ...], str | None]:
        """The public names of a module as a star import takes them, and why they may not be all."""
        module = self._program.module(name)
        if not module.has_source:
            reason = module.spec.reason or f"the source of {name} is not at hand"
            return (), None if module.spec.kind in (ModuleKind.ABSENT, ModuleKind.NAMESPACE) else reason
        if module.exports is None:
            namespace = self._resolver.namespace(module)
            if namespace is None:
                return (), f"{name} is part of an import cycle"
            module.exports = self._exports(module, namespace)
        return module.exports

    def _exports(self, module: Module, namespace: Namespace) -> tuple[tuple[str, ...], str | None]:
        reason = self._resolver.openness(module, namespace)
        if "__all__" in namespace.names:
            listed, problem = self._dunder_all(module, namespace)
            return tuple(listed), problem
        return tuple(name for name in namespace.names if not name.startswith("_")), reason

    def dunder_all(self, module: Module) -> tuple[tuple[str, ...], str | None] | None:
        """What ``__all__`` lists, and why the list may be longer or shorter; None without ``__all__``."""
        namespace = self._resolver.namespace(module)
        if namespace is None or "__all__" not in namespace.names:
            return None
        listed, problem = self._dunder_all(module, namespace)
        return tuple(listed), problem

    def _dunder_all(self, module: Module, namespace: Namespace) -> tuple[list[str], str | None]:
        listed: list[str] = []
        problem: str | None = None
        for effect, certain in namespace.effects:
            value: Expression | None
            if isinstance(effect, Assign) and effect.name == "__all__":
                value = effect.value
                if effect.kind == "=" and certain:
                    listed, problem = [], None
            elif isinstance(effect, Call) and effect.value.text.startswith("__all__."):
                node = parse_expression(effect.value.text)
                if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
                    problem = "__all__ is changed by a call"
                    continue
                words = self._words(module, node.args[0])
                if (node.func.attr == "append" and words is not None) or (
                    node.func.attr == "extend" and words is not None
                ):
                    listed.extend(words)
                elif node.func.attr == "remove" and words is not None:
                    listed = [name for name in listed if name not in words]
                else:
                    problem = "__all__ is changed by a call"
                continue
            else:
                continue
            node = parse_expression(value.text) if value is not None else None
            words = self._words(module, node) if node is not None else None
            if words is None:
                problem = "__all__ is computed"
            else:
                listed.extend(words)
            if not certain:
                problem = problem or "__all__ depends on a condition"
        return list(dict.fromkeys(listed)), problem

    def _words(self, module: Module, node: ast.expr) -> list[str] | None:
        """The strings of an expression that makes a list of names."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return [node.value]
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            words: list[str] = []
            for element in node.elts:
                inner = element.value if isinstance(element, ast.Starred) else element
                found = self._words(module, inner)
                if found is None:
                    return None
                words.extend(found)
            return words
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            left, right = self._words(module, node.left), self._words(module, node.right)
            return None if left is None or right is None else left + right
        if isinstance(node, ast.Call) and dotted(node.func) in ("list", "tuple", "sorted") and len(node.args) == 1:
            return self._words(module, node.args[0])
        if isinstance(node, ast.Attribute):
            if node.attr == "__all__":
                owner = dotted(node.value)
                found = self._resolver.dotted(module, owner).only if owner is not None else None
                if found is not None and found.kind is Kind.MODULE:
                    names, problem = self.of(found.module)
                    return None if problem else list(names)
            elif node.attr == "__name__":
                owner = dotted(node.value)
                return [owner.rpartition(".")[2]] if owner else None
        return None
