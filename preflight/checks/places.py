"""Places of syntax tree nodes in the lines of their file: columns in characters, excerpts."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from preflight.model import Excerpt
from preflight.syntax.excerpt import excerpt


def column_of(lines: Sequence[str], node: ast.expr | ast.stmt | ast.keyword, *, end: bool = False) -> int | None:
    """The column, from 1 and in characters, at which a node begins or ends; None if the line is not there."""
    line = node.end_lineno if end else node.lineno
    offset = node.end_col_offset if end else node.col_offset
    if line is None or offset is None or not 0 < line <= len(lines):
        return None
    text = lines[line - 1]
    if text.isascii():
        return offset + 1
    return len(text.encode("utf-8", "surrogatepass")[:offset].decode("utf-8", "replace")) + 1


def shown_at(path: str, lines: Sequence[str], node: ast.expr | ast.stmt) -> Excerpt:
    """The lines around a node."""
    return excerpt(path, lines, node.lineno, node.end_lineno or node.lineno)
