"""Imports that a patch has broken."""

from __future__ import annotations

from collections.abc import Iterator

from preflight.syntax.diagnose.model import Candidate
from preflight.syntax.fixes import Patch, insert
from preflight.syntax.scene import Scene, Statement
from preflight.syntax.tokens import Kind, Token

_WHY_SPLIT = "Python ends an import at the end of its line; only within parentheses the names go on over several lines"


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
            goes_on = names[-1].text == "," or len(follower.indent) > len(statement.indent) or follower.word == ","
            if not goes_on or _entries(follower.tokens) is None:
                break
            if names[-1].text != ",":
                names.append(Token(Kind.OP, ",", names[-1].end, names[-1].end))
            names += follower.tokens
            last += 1
        listed = _entries(tuple(names))
        if listed is None:
            continue
        if last > position:
            yield _parenthesised(scene, statement, scene.statements[last], names_at, listed, position, last)
        elif names[-1].text == ",":
            comma = names[-1]
            yield Candidate(
                "import-trailing-comma",
                comma.start,
                comma.end,
                "the import list ends in a comma, without parentheses around it",
                (Patch(comma.start, comma.end),),
                why=_WHY_SPLIT,
                help="remove the comma, or put the names in parentheses",
                sure=True,
                rank=80,
            )


def _parenthesised(
    scene: Scene, first: Statement, final: Statement, names_at: int, listed: list[str], position: int, last: int
) -> Candidate:
    start, end = first.tokens[names_at].start, final.end
    newline = scene.index.line_end(first.first_line) or "\n"
    if "#" in scene.text[start:end]:
        # comments stay where they are: only the parentheses and the missing commas are put in
        repair = [insert(start, "("), insert(end, ")")]
        for one, after in zip(scene.statements[position:last], scene.statements[position + 1 : last + 1], strict=True):
            if one.last != "," and after.word != ",":
                repair.append(insert(one.end, ","))
    else:
        inner = "".join(f"{first.indent}    {name},{newline}" for name in listed)
        repair = [Patch(start, end, f"({newline}{inner}{first.indent})")]
    lines = f"{scene.number(first.start)} to {scene.number(final.end)}"
    return Candidate(
        "import-list-split",
        first.start,
        final.end,
        f"the import list is split over lines {lines} without parentheses around it",
        tuple(repair),
        why=_WHY_SPLIT,
        help="put the names in parentheses",
        sure=True,
        rank=90,
    )


def name_after_parenthesis(scene: Scene) -> Iterator[Candidate]:
    """``from x import (A, B)`` and a further name behind the closing parenthesis or on the lines after it."""
    for position in scene.near(before=2, after=0):
        statement = scene.statements[position]
        if statement.word != "from" or "import" not in [token.text for token in statement.tokens]:
            continue
        close = next((token for token in statement.tokens if token.text == ")"), None)
        if close is None:
            continue
        at = statement.tokens.index(close)
        extra = list(statement.tokens[at + 1 :])
        end = statement.end
        for follower in scene.statements[position + 1 :]:
            if _entries(follower.tokens) is None or not (len(follower.indent) > len(statement.indent) or extra):
                break
            extra += follower.tokens
            end = follower.end
        entries = _entries(tuple(extra))
        if not entries:
            continue
        comma = "" if statement.tokens[at - 1].text == "," else ","
        before = statement.tokens[at - 1].end
        yield Candidate(
            "import-name-after-parenthesis",
            extra[0].start if extra[0].text != "," else extra[min(1, len(extra) - 1)].start,
            end,
            f"{entries[0]!r} stands behind the closing parenthesis of the import list",
            (insert(before, f"{comma} {', '.join(entries)}"), Patch(close.end, end)),
            why="the import ends with its parenthesis; what follows is read as a statement of its own",
            help="move the name into the parentheses",
            sure=True,
            rank=85,
        )


def import_words(scene: Scene) -> Iterator[Candidate]:
    """``from x A``, ``from x import`` without names, ``import A from x``, and words of other languages."""
    for statement in scene.around(before=1, after=0):
        tokens = statement.tokens
        texts = [token.text for token in tokens]
        if statement.word == "from" and "import" not in texts and len(tokens) >= 3:
            at = _module_end(tokens, 1)
            if at < len(tokens):
                yield Candidate(
                    "import-word-missing",
                    tokens[at].start,
                    tokens[at].end,
                    f"the word `import` is missing before {tokens[at].text!r}",
                    (insert(tokens[at].start, "import "),),
                    help=f"write `from {scene.text[tokens[1].start : tokens[at - 1].end]} import ...`",
                    sure=tokens[at].kind is Kind.NAME,
                    rank=80,
                )
        if statement.word == "from" and texts[-1] == "import":
            yield Candidate(
                "import-names-missing",
                tokens[-1].start,
                tokens[-1].end,
                "the import names nothing",
                (Patch(statement.start, statement.end, "pass"),),
                help="name what is imported, or take the line away",
                rank=70,
            )
        if statement.word == "from" and len(texts) > 1 and texts[1] == "import":
            yield Candidate(
                "import-module-missing",
                tokens[1].start,
                tokens[1].end,
                "the import does not say from where",
                (insert(tokens[1].start, ". "),),
                help="name the module between `from` and `import`",
                rank=70,
            )
        if statement.word == "import" and "from" in texts:
            at = texts.index("from")
            names, module = scene.text[tokens[1].start : tokens[at - 1].end], scene.text[tokens[at].end : statement.end]
            yield Candidate(
                "import-order",
                statement.start,
                statement.end,
                "the import has its parts in the order of another language",
                (Patch(statement.start, statement.end, f"from {module.strip()} import {names}"),),
                help=f"write `from {module.strip()} import {names}`",
                sure=at == 2,
                rank=80,
            )


def star_in_function(scene: Scene) -> Iterator[Candidate]:
    """``from x import *`` inside a function or class."""
    statement = scene.here()
    if statement is None or statement.word != "from" or statement.last != "*" or not statement.indent:
        return
    yield Candidate(
        "import-star-inside",
        statement.start,
        statement.end,
        "`import *` stands inside a function or class",
        (Patch(statement.start, statement.end, "pass"),),
        why="Python allows it at the top of a module only",
        help="name what is imported, or move the import to the top of the file",
        rank=80,
    )


def future_import(scene: Scene) -> Iterator[Candidate]:
    """``from __future__ import`` behind other code, or of a feature that does not exist."""
    import __future__

    at = scene.statement_at(scene.line)
    if at is None:
        return
    statement = scene.statements[at]
    texts = [token.text for token in statement.tokens]
    if texts[:3] != ["from", "__future__", "import"]:
        return
    for token in statement.tokens[3:]:
        if token.kind is Kind.NAME and token.text not in __future__.all_feature_names:
            from difflib import get_close_matches

            close = get_close_matches(token.text, __future__.all_feature_names, 1)
            yield Candidate(
                "future-unknown",
                token.start,
                token.end,
                f"`__future__` has no feature {token.text!r}",
                (Patch(token.start, token.end, close[0] if close else "annotations"),),
                help=f"did you mean {close[0]!r}?" if close else "take the import away",
                sure=bool(close),
                rank=90,
            )
    above = [s for s in scene.statements[:at] if not _may_stand_above_future(s)]
    if above and not statement.indent:
        first = above[0]
        line_start = scene.index.starts[statement.first_line - 1]
        line_after = scene.index.offset(statement.last_line + 1, 1)
        whole = scene.text[line_start:line_after]
        yield Candidate(
            "future-late",
            statement.start,
            statement.end,
            f"`from __future__` stands behind the code of line {scene.number(first.start)}",
            (insert(scene.index.starts[first.first_line - 1], whole), Patch(line_start, line_after)),
            why="such an import must come before all other code of the file, but for the docstring and comments",
            help="put what was inserted above it below it",
            sure=True,
            rank=90,
        )


def _may_stand_above_future(statement: Statement) -> bool:
    is_docstring = all(token.kind is Kind.STRING for token in statement.tokens)
    return is_docstring or [token.text for token in statement.tokens[:2]] == ["from", "__future__"]


def _plain_import(statement: Statement) -> int | None:
    """Where the names of a ``from x import`` (or ``import``) without parentheses begin."""
    tokens = statement.tokens
    if tokens[0].text == "import" and len(tokens) > 1:
        return None
    if tokens[0].text != "from":
        return None
    for at, token in enumerate(tokens):
        if token.text == "import" and 1 < at < len(tokens) - 1 and tokens[at + 1].text not in ("(", "*"):
            return at + 1
    return None


def _module_end(tokens: tuple[Token, ...], at: int) -> int:
    """The position behind a dotted module name."""
    while at < len(tokens) and tokens[at].text in (".", "..."):
        at += 1
    while at < len(tokens) and tokens[at].kind is Kind.NAME:
        at += 1
        if at >= len(tokens) or tokens[at].text != ".":
            break
        at += 1
    return at


def _entries(tokens: tuple[Token, ...]) -> list[str] | None:
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
