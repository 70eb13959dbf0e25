"""What stands behind a test of vLLM's version that does not hold in this release."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from preflight.program import Truth
from preflight.program.facts import Hole

if TYPE_CHECKING:
    from preflight.program import Program


def is_closed(program: Program, path: str, line: int | None) -> bool:
    """Whether a line stands behind a test that does not hold in this release."""
    module = program.module_at(path)
    tree = program.syntax_tree(module) if module is not None else None
    if module is None or line is None or tree is None or isinstance(tree, Hole):
        return False
    for node in ast.walk(tree):
        if isinstance(node, (ast.If, ast.IfExp)) and node.lineno <= line <= (node.end_lineno or line):
            answer = program.gates.holds(module, node.test)
            if answer is Truth.NO and _within(node.body, line):
                return True
            if answer is Truth.YES and _within(node.orelse, line):
                return True
    return False


def _within(body: list[ast.stmt] | ast.expr, line: int) -> bool:
    nodes = body if isinstance(body, list) else [body]
    return any(node.lineno <= line <= (node.end_lineno or node.lineno) for node in nodes)
