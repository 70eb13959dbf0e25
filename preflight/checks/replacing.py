"""Which modules of a model patched code may put others in the place of, behind their constructors: read off its text.

A layer that is wrapped when the weights are loaded is called as its wrapper takes it, and not as it takes it itself.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

#: the methods that put a module under a name, which is their first argument
_REGISTERING = frozenset({"register_module", "add_module"})


@dataclass(frozen=True, slots=True)
class Replacing:
    """``names``: the attributes that are set elsewhere than by a constructor on its own object. ``items``: whether
    items of what is held by attributes are. ``any_name``: whether attributes are set by names that are computed.
    """

    names: frozenset[str]
    items: bool
    any_name: bool

    def may(self, node: ast.AST) -> bool:
        """Whether something that a piece of code asks or calls may have been replaced."""
        asked = {inner.attr for inner in ast.walk(node) if isinstance(inner, ast.Attribute)}
        called = [inner.func for inner in ast.walk(node) if isinstance(inner, ast.Call)]
        plain = any(not isinstance(function, ast.Attribute) for function in called)
        return self.any_name or (self.items and plain) or not asked.isdisjoint(self.names)


def replacing_in(trees: Iterable[ast.AST]) -> Replacing:
    """What these files replace."""
    names: set[str] = set()
    items = any_name = False
    for tree in trees:
        for node, constructing in _with_constructors(tree, False):
            for name in _set_by(node, constructing):
                if name is None:
                    any_name = True
                elif name == "":
                    items = True
                else:
                    names.add(name)
    return Replacing(frozenset(names), items, any_name)


def _with_constructors(node: ast.AST, constructing: bool) -> Iterator[tuple[ast.AST, bool]]:
    """Every node, and whether it is of a constructor."""
    for child in ast.iter_child_nodes(node):
        inside = constructing
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            inside = child.name == "__init__"
        yield child, inside
        yield from _with_constructors(child, inside)


def _set_by(node: ast.AST, constructing: bool) -> Iterator[str | None]:
    """The attributes that a statement or call sets; "" for an item of one, None for one whose name is computed."""
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            for part in target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]:
                if isinstance(part, ast.Attribute) and not (constructing and _is_self(part.value)):
                    yield part.attr
                elif _is_item_of_modules(part, node.value):
                    yield ""
    elif isinstance(node, ast.Call):
        registers = isinstance(node.func, ast.Attribute) and node.func.attr in _REGISTERING
        if (isinstance(node.func, ast.Name) and node.func.id == "setattr" and len(node.args) > 1) or registers:
            owner = node.func.value if isinstance(node.func, ast.Attribute) else node.args[0]
            given = (node.args[0] if node.args else None) if registers else node.args[1]
            if not (constructing and _is_self(owner)):
                yield given.value if isinstance(given, ast.Constant) and isinstance(given.value, str) else None


def _is_item_of_modules(target: ast.expr, value: ast.expr | None) -> bool:
    """``self.layers[3] = Wrapped(...)``: modules are put one by one, and made by a call."""
    return (
        isinstance(target, ast.Subscript)
        and isinstance(target.value, ast.Attribute)
        and not isinstance(target.slice, (ast.Slice, ast.Tuple))
        and isinstance(value, ast.Call)
    )


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"
