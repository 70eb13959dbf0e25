"""Statements that are right by themselves and stand where they may not: outside a function, outside a loop."""

from __future__ import annotations

from collections.abc import Iterator

from preflight.syntax.diagnose.model import Candidate
from preflight.syntax.fixes import Patch, insert
from preflight.syntax.scene import Scene, Statement
from preflight.syntax.tokens import Kind

_IN_FUNCTION = ("return", "yield", "await")


def outside_function(scene: Scene) -> Iterator[Candidate]:
    """``return``, ``yield``, ``await`` outside a function."""
    at = scene.statement_at(scene.line)
    if at is None or scene.error.stage == "parse":
        return
    statement = scene.statements[at]
    parents = scene.parents(at)
    function = next((parent for parent in parents if parent.defines or parent.word == "class"), None)
    inside = function is not None and function.defines
    for token in statement.tokens:
        if token.kind is not Kind.KEYWORD or token.text not in (*_IN_FUNCTION, "async"):
            continue
        if not inside:
            word = token.text
            yield Candidate(
                "outside-function",
                token.start,
                token.end,
                f"`{word}` stands outside a function",
                (Patch(statement.start, statement.end, "if 1:" if statement.is_header else "pass"),),
                why=_left_function(scene, at),
                help="give the line the indent of its function, or take it away",
                rank=79,
            )
            return
        if token.text in ("await", "async") and function is not None and function.word != "async":
            yield Candidate(
                "outside-async",
                token.start,
                token.end,
                f"`{token.text}` stands in a function that is not `async`",
                (insert(function.start, "async "),),
                why=f"the function on line {scene.number(function.start)} is a plain `def`",
                help="make the function `async def`, or call without `await`",
                rank=79,
            )
            return


def _left_function(scene: Scene, at: int) -> str | None:
    """Where the function that the statement seems to belong to was left."""
    width = scene.statements[at].width
    for position in range(at, -1, -1):
        statement = scene.statements[position]
        if statement.defines and statement.width <= width:
            end = scene.block_end(position)
            if end <= at:
                left = scene.statements[end]
                lines = (
                    f"the function of line {scene.number(statement.start)} ends before line {scene.number(left.start)}"
                )
                return f"{lines}, whose indent is no deeper than that of its `def`"
    return None


def outside_loop(scene: Scene) -> Iterator[Candidate]:
    """``break`` and ``continue`` outside a loop."""
    at = scene.statement_at(scene.line)
    if at is None or scene.error.stage == "parse":
        return
    statement = scene.statements[at]
    for token in statement.tokens:
        if token.text in ("break", "continue"):
            for parent in scene.parents(at):
                if parent.word in ("for", "while") or (parent.word == "async" and parent.tokens[1].text == "for"):
                    return
                if parent.defines or parent.word == "class":
                    break
            yield Candidate(
                "outside-loop",
                token.start,
                token.end,
                f"`{token.text}` stands outside a loop",
                (Patch(token.start, token.end, "pass"),),
                help="give the line the indent of its loop, or take it away",
                rank=79,
            )
            return


def scope_words(scene: Scene) -> Iterator[Candidate]:
    """``nonlocal`` and ``global`` that contradict the function they stand in."""
    statement = scene.here()
    if statement is None or scene.error.stage == "parse" or statement.word not in ("nonlocal", "global"):
        return
    at = scene.statement_at(scene.line)
    assert at is not None
    functions = [parent for parent in scene.parents(at) if parent.defines]
    if statement.word == "nonlocal" and not functions:
        message, help = "`nonlocal` stands outside a function", "take the line away"
    elif statement.word == "nonlocal" and len(functions) == 1:
        message, help = (
            f"`nonlocal {statement.tokens[1].text if len(statement.tokens) > 1 else ''}` finds no outer function",
            "write `global` for a name of the module, or `self.` for an attribute",
        )
    else:
        message, help = (
            f"`{statement.word}` contradicts its function: {scene.error.message}",
            "move it above the first use",
        )
    yield Candidate(
        "scope-declaration",
        statement.start,
        statement.end,
        message,
        (Patch(statement.start, statement.end, "pass"),),
        help=help,
        rank=79,
    )


def compiler_refusal(scene: Scene) -> Iterator[Candidate]:
    """Whatever else the grammar accepts and the compiler refuses: its own words are exact there."""
    statement = scene.here()
    if statement is None or scene.error.stage == "parse":
        return
    yield Candidate(
        "compiler-refuses",
        max(scene.offset, statement.start),
        statement.end if statement.end > scene.offset else scene.offset,
        f"{scene.python} refuses it: {scene.error.message}",
        (Patch(statement.start, statement.end, _harmless(statement)),),
        why="the line can be read, but not compiled",
        rank=20,
    )


def _harmless(statement: Statement) -> str:
    if statement.defines:
        return "def _():"
    return "if 1:" if statement.is_header else "pass"
