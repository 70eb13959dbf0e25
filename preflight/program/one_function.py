"""The syntax tree of one function, parsed by itself: of most files one or two functions are looked into, and parsing
the whole file takes ten times as long.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator

from preflight.program.facts import FunctionFacts
from preflight.program.source_text import SourceText

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


def cut_out(text: SourceText, facts: FunctionFacts) -> FunctionNode | None:
    """The function that ``facts`` tell of, its nodes at the lines and columns that they have in the whole file; None
    where its lines make no such function by themselves.

    ``text`` is the file that the facts were taken from. A ``def`` begins its line and a function ends with one, so its
    lines are Python by themselves, under an ``if`` where they are indented.
    """
    first = min([facts.line, *(decorator.line for decorator in facts.decorators)])
    if facts.column == 1:
        above = b"\n" * (first - 1)
    elif first > 1:
        above = b"\n" * (first - 2) + b"if 1:\n"
    else:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            body = ast.parse(above + b"\n".join(text.lines[first - 1 : facts.end_line])).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    while len(body) == 1 and isinstance(body[0], ast.If):
        body = body[0].body
    node = body[0] if len(body) == 1 else None
    return node if isinstance(node, FunctionNode) and (node.name, node.lineno) == (facts.name, facts.line) else None


def functions_in(tree: ast.Module) -> dict[tuple[int, str], FunctionNode]:
    """Every function of a file that a statement defines, by its line and name."""
    found: dict[tuple[int, str], FunctionNode] = {}
    waiting: list[ast.AST] = [tree]
    while waiting:
        for statement in _blocks(waiting.pop()):
            if isinstance(statement, FunctionNode):
                found[statement.lineno, statement.name] = statement
            waiting.append(statement)
    return found


def _blocks(node: ast.AST) -> Iterator[ast.stmt]:
    """The statements directly inside of a node, whatever block of it they are in."""
    for field in ("body", "orelse", "finalbody"):
        inner = getattr(node, field, None)
        if isinstance(inner, list):
            yield from (statement for statement in inner if isinstance(statement, ast.stmt))
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield from part.body
