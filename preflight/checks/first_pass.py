"""What a patch may have to do with the first run of a model, by the facts of its files."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING

from preflight.checks.replacing import replacing_in
from preflight.walk.first_pass import Asked

if TYPE_CHECKING:
    from preflight.checks.inference.attributes import Attributes
    from preflight.program import Program
    from preflight.tree import Tree


def asked_of(tree: Tree, load_program: Callable[[], Program]) -> Asked | None:
    """What is asked of the first run of a launch of this tree; None where nothing is patched: it runs as it did."""
    files = frozenset(file.path for file in tree.facts.patched if file.path.endswith(".py"))
    return asked_about(files, load_program) if files else None


def asked_about(files: frozenset[str], load_program: Callable[[], Program]) -> Asked:
    """What is asked where these files are not as released."""
    replacing = cache(lambda: replacing_in(_trees(load_program(), files)))
    return Asked(
        files,
        lambda modules: _concerns(load_program(), files, modules),
        lambda module, qualname, name: _lacks(load_program(), module, qualname, name),
        lambda node: replacing().may(node),
    )


def _trees(program: Program, files: frozenset[str]) -> Iterator[ast.AST]:
    for file in sorted(files):
        module = program.module_at(file)
        tree = program.syntax_tree(module) if module is not None else None
        if isinstance(tree, ast.Module):
            yield tree


def _concerns(program: Program, files: frozenset[str], modules: frozenset[str]) -> bool:
    """Whether one of these modules is in a patched file, or imports from one."""
    from preflight.checks.reach import imports_one_of

    patched = frozenset(module.name for file in files if (module := program.module_at(file)) is not None)
    return any(name in patched or imports_one_of(program.module(name), patched) for name in sorted(modules))


def _lacks(program: Program, module: str, qualname: str, name: str) -> bool:
    """Whether neither the class nor any other code of the tree gives an object of it the attribute."""
    from preflight.program import Class

    cls = program.find_class(module, qualname)
    if not isinstance(cls, Class):
        return False
    attributes = program.derived(_attributes)
    return attributes.has(cls, name) is False and attributes.foreign(name) is None


def _attributes(program: Program) -> Attributes:
    from preflight.checks.inference.attributes import Attributes
    from preflight.checks.inference.code import Code
    from preflight.checks.inference.inference import Inference
    from preflight.syntax.source import SourceStore

    return Attributes(Inference(program, Code(program, SourceStore(program.tree))))
