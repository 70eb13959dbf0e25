"""Import lists that a patch has broken."""

from __future__ import annotations

from collections.abc import Iterator

from preflight.syntax.diagnose.model import Candidate, Patch
from preflight.syntax.scene import Scene, Statement
from preflight.syntax.tokens import Kind, Token


def split_import_list(scene: Scene) -> Iterator[Candidate]:
    """``from x import A,`` on one line and more names on the next ones, without parentheses around them."""
    for position in scene.near(before=3, after=0):
        statement = scene.statements[position]
        names_at = _plain_import(statement)
        if names_at is None:
            continue
        names = list(statement.tokens[names_at:])
        last = position
        for follower in scene.statements[position + 1 :]:
            if not (names[-1].text == "," or len(follower.indent) > len(statement.indent)) or not _names(
                follower.tokens
            ):
                break
            if names[-1].text != ",":
                names.append(Token(Kind.OP, ",", names[-1].end, names[-1].end))
            names += follower.tokens
            last += 1
        listed = _names(tuple(names))
        if listed is None or (last == position and names[-1].text != ","):
            continue
        yield _parenthesised(scene, position, last, names_at, listed)


def _parenthesised(scene: Scene, position: int, last: int, names_at: int, listed: list[str]) -> Candidate:
    first, final = scene.statements[position], scene.statements[last]
    start, end = first.tokens[names_at].start, final.end
    covered = scene.text[start:end]
    newline = scene.index.line_end(first.first_line) or "\n"
    minimal = [Patch(start, start, "("), Patch(end, end, ")")]
    for one, after in zip(scene.statements[position:last], scene.statements[position + 1 : last + 1], strict=True):
        if one.tokens[-1].text != "," and after.tokens[0].text != ",":
            minimal.append(Patch(one.end, one.end, ","))
    repair = tuple(minimal)
    fix = repair
    if "#" not in covered:
        inner = "".join(f"{first.indent}    {name},{newline}" for name in listed)
        fix = (Patch(start, end, f"({newline}{inner}{first.indent})"),)
    if position == last:
        message = "the import list ends in a comma, without parentheses around it"
        help = "remove the comma, or put the names in parentheses"
        repair = fix = (Patch(first.end - 1, first.end, ""),)
        start, end = first.end - 1, first.end
    else:
        words = f"{first.first_line} to {final.last_line}"
        message = f"the import list is split over lines {words} without parentheses around it"
        help = "put the names in parentheses"
        start, end = first.start, final.end
    return Candidate(
        "import-list-split",
        start,
        end,
        message,
        repair,
        why="Python ends an import at the end of its line; only within parentheses the names go on over several lines",
        help=help,
        fix=fix,
        rank=90,
    )


def _plain_import(statement: Statement) -> int | None:
    """Where the names of a ``from x import`` without parentheses begin."""
    tokens = statement.tokens
    if tokens[0].text != "from":
        return None
    for at, token in enumerate(tokens):
        if token.text == "import" and 1 < at < len(tokens) - 1 and tokens[at + 1].text not in ("(", "*"):
            return at + 1
    return None


def _names(tokens: tuple[Token, ...]) -> list[str] | None:
    """The entries of a list of names (``A``, ``A as B``) between commas; None if it is anything else."""
    entries: list[str] = []
    entry: list[str] = []
    for token in (*tokens, None):
        if token is None or token.text == ",":
            if entry:
                if not (len(entry) == 1 or (len(entry) == 3 and entry[1] == "as")):
                    return None
                entries.append(" ".join(entry))
            entry = []
        elif token.kind is Kind.NAME or token.text == "as":
            entry.append(token.text)
        else:
            return None
    return entries or None
