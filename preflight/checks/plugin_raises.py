"""What a plug-in raises itself when the launch calls it, in every launch."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from preflight.checks.context import Check, Context
from preflight.model import Fault, Span
from preflight.walk.ids import RAISES


def check_plugins(context: Context) -> Iterator[Fault]:
    """A ``raise`` that a call of an entry point certainly comes to, where the tree does not catch what the call raises:
    behind no test, or behind tests of vLLM's version that hold in this tree."""
    if not context.tree.entry_points:
        return
    from preflight.checks.places import column_of, shown_at
    from preflight.checks.plugins import endings_of

    program = context.load_program()
    for stage, name, node in endings_of(program).raising(context.launch):
        path = program.module(name).path
        if path is None:
            continue
        point = stage.point
        what = f"`{ast.unparse(node.exc)}`" if node.exc is not None else "RuntimeError: No active exception to reraise"
        keep = f", or name in {stage.variable} the plug-ins to load without it" if stage.variable else ""
        lines = context.sources.get(path).lines
        yield Fault(
            RAISES,
            Span(path, node.lineno, column_of(lines, node), node.end_lineno, column_of(lines, node, end=True)),
            f"the plug-in {point.name!r} ({point.group}) raises when vLLM calls its {point.attribute}: {what}",
            why="every launch calls it, and this vLLM does not catch what the call raises",
            help=f"return from {point.attribute} where there is nothing to do{keep}",
            excerpt=shown_at(path, lines, node),
        )


CHECKS = (Check(frozenset({RAISES}), check_plugins),)
