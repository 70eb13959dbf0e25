"""The way in: which function ``vllm`` is in a tree, and where the syntax trees of its modules come from."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from preflight.program import ModuleKind
from preflight.tree.distinfo import distributions
from preflight.tree.reading import read_bytes

if TYPE_CHECKING:
    from preflight.program import Program
    from preflight.tree import Tree

#: what the console script has been since 0.7; asked only where the tree has no metadata (a source checkout)
CONSOLE_SCRIPT = ("vllm.entrypoints.cli.main", "main")
_LINE = re.compile(r"vllm\s*=\s*([\w.]+)\s*:\s*(\w+)")
_LIMIT = 1 << 20


def console_script(tree: Tree) -> tuple[str, str]:
    """The module and the function that the command ``vllm`` calls, from the entry points of the tree's metadata."""
    for distribution in distributions(tree.root, "vllm"):
        try:
            text = read_bytes(distribution.folder / "entry_points.txt", _LIMIT).decode("utf-8", "replace")
        except OSError:
            continue
        section = ""
        for line in text.splitlines():
            if line.startswith("["):
                section = line.strip()
            elif section == "[console_scripts]" and (found := _LINE.fullmatch(line.strip())):
                return found.group(1), found.group(2)
    return CONSOLE_SCRIPT


class ProgramSource:
    """The modules of the tree, overlays included, as the reading of launch code asks for them."""

    def __init__(self, program: Program) -> None:
        self._program = program

    def find(self, name: str) -> tuple[str, bool] | None:
        """The tree-relative path of a module and whether it is a package; None for one that is not of the tree."""
        spec = self._program.module(name).spec
        if spec.kind is not ModuleKind.SOURCE or not spec.in_tree or spec.path is None:
            return None
        return spec.path, spec.is_package

    def syntax(self, path: str) -> ast.Module | None:
        """The syntax tree of a file; None for one that has none."""
        module = self._program.module_at(path)
        tree = self._program.syntax_tree(module) if module is not None else None
        return tree if isinstance(tree, ast.Module) else None
