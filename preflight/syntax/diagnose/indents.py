"""Indents that a patch tool or an editor has moved."""

from __future__ import annotations

from collections.abc import Iterator

from preflight.syntax.diagnose.model import Candidate
from preflight.syntax.diagnose.release import all_hunks
from preflight.syntax.fixes import Patch, insert
from preflight.syntax.scene import Scene, Statement
from preflight.syntax.tokens import CLOSERS, Kind

_WHY = "the indent says which block a line belongs to"


def moved_against_release(scene: Scene) -> Iterator[Candidate]:
    """Lines that the release has too, but with another indent."""
    for hunk in all_hunks(scene):
        if hunk.first > scene.line + 2 or hunk.last < scene.line - 200:
            continue
        released: dict[str, list[str]] = {}
        for line in hunk.released:
            released.setdefault(line.strip(), []).append(line[: len(line) - len(line.lstrip())])
        repair: list[Patch] = []
        for number in range(hunk.first, hunk.last + 1):
            line = scene.index.line(number)
            body = line.strip()
            indents = released.get(body)
            if not body or not indents:
                continue
            indent = indents.pop(0)
            was = line[: len(line) - len(line.lstrip())]
            if was != indent:
                start = scene.index.starts[number - 1]
                repair.append(Patch(start, start + len(was), indent))
        if repair:
            start = repair[0].start
            first = scene.index.place(start)[0]
            lines = f"{len(repair)} lines have" if len(repair) > 1 else "the line has"
            yield Candidate(
                "indent-moved",
                start,
                scene.index.ends[first - 1],
                f"{lines} another indent than in the release",
                tuple(repair),
                why=_WHY,
                help="give it the indent of the release",
                sure=True,
                rank=88,
            )


def tabs(scene: Scene) -> Iterator[Candidate]:
    """Tabs in the indents of a file that is indented with spaces."""
    around = scene.around(before=6, after=3)
    with_tabs = [s for s in around if "\t" in s.indent]
    if not with_tabs or all("\t" in s.indent or not s.indent for s in scene.statements):
        return
    first_near = min(with_tabs, key=lambda s: abs(s.first_line - scene.line))
    # the run of tab-indented lines that the nearest one belongs to, so that one slip is one finding
    low = high = first_near.first_line
    while low > 1 and "\t" in _indent_of(scene, low - 1):
        low -= 1
    while high < len(scene.index) and "\t" in _indent_of(scene, high + 1):
        high += 1
    lines = [number for number in range(low, high + 1) if scene.index.line(number).strip()]
    start = scene.index.starts[lines[0] - 1]
    words = "these lines are indented with tabs" if len(lines) > 1 else "the line is indented with a tab"
    for width in (4, 8, 2):
        yield Candidate(
            "indent-tabs",
            start,
            start + len(_indent_of(scene, lines[0])),
            f"{words}, the lines around with spaces",
            tuple(
                Patch(
                    scene.index.starts[number - 1],
                    scene.index.starts[number - 1] + len(_indent_of(scene, number)),
                    _indent_of(scene, number).expandtabs(width),
                )
                for number in lines
            ),
            why="Python refuses a file in which the meaning of an indent depends on the width of a tab",
            help="write the indents with spaces",
            sure=True,
            rank=86 if width == 4 else 84,
        )


def unexpected_indent(scene: Scene) -> Iterator[Candidate]:
    """Lines that are indented deeper than the block they stand in, or to a depth that no block has."""
    for position in scene.near(before=1, after=0):
        statement = scene.statements[position]
        if position == 0:
            if statement.indent:
                yield from _shifted(scene, 0, "", "unexpected", 66)
            continue
        above = scene.statements[position - 1]
        if (
            above.word == "@"
            and statement.width != above.width
            and (statement.defines or statement.word in ("class", "@"))
        ):
            yield _moved(scene, position, above.indent, 70)
            yield _moved(scene, position - 1, statement.indent, 69)
        if statement.width > above.width and not above.is_header:
            yield from _shifted(scene, position, above.indent, "unexpected", 66)
            for parent in scene.parents(position - 1):
                yield from _shifted(scene, position, parent.indent, "unexpected", 56)
            # the line above is the one that was moved if the lines below stand together, or if its own depth is odd
            likely = (_peers(scene, position) > 1 or above.width % 4 or _ends_elsewhere(scene, above)) and (
                statement.width % 4 == 0
            )
            yield _moved(scene, position - 1, statement.indent, 67 if likely else 62)
        levels = _levels(scene, position)
        if statement.width < above.width and statement.indent not in levels:
            ordered = sorted(levels, key=lambda indent: (abs(len(indent) - len(statement.indent)), -len(indent)))
            for rank, indent in enumerate(ordered[:4]):
                yield from _shifted(scene, position, indent, "mismatch", 66 - rank)
            yield from _odd_one_above(scene, position)


def lost_header(scene: Scene) -> Iterator[Candidate]:
    """A block without the line that should open it."""
    for position in scene.near(before=0, after=0):
        statement = scene.statements[position]
        above = scene.statements[position - 1] if position else None
        if statement.width <= (above.width if above else 0) or (above is not None and above.is_header):
            continue
        newline = scene.index.line_end(statement.first_line) or "\n"
        start = scene.index.starts[statement.first_line - 1]
        for header in ("if 1:", "def _():", "class _:", "for _ in ():"):
            yield Candidate(
                "header-lost",
                start,
                statement.start,
                "the line is missing that should open the block that begins here",
                (insert(start, f"{above.indent if above else ''}{header}{newline}"),),
                why=_WHY,
                help="put the `if`, `for`, `def` or `class` back above it, or take its block away too",
                rank=61,
            )


def _ends_elsewhere(scene: Scene, statement: Statement) -> bool:
    """Whether a statement of several lines ends in a bracket on a line of its own that has another indent."""
    last = scene.index.line(statement.last_line)
    return (
        statement.last_line > statement.first_line
        and last.lstrip()[:1] in CLOSERS
        and _indent_of(scene, statement.last_line) != statement.indent
    )


def _odd_one_above(scene: Scene, position: int) -> Iterator[Candidate]:
    """A line above set a depth that the rest of its block does not have; the rest is where Python gives up."""
    statement = scene.statements[position]
    for earlier in range(position - 1, max(position - 400, -1), -1):
        one = scene.statements[earlier]
        before = scene.statements[earlier - 1] if earlier else None
        first_child = before is not None and before.is_header and before.width < statement.width < one.width
        if first_child or one.width < statement.width:
            yield _moved(scene, earlier, statement.indent, 68 if one.width % 4 else 64)
        if one.width < statement.width:
            break


def header_misfit(scene: Scene) -> Iterator[Candidate]:
    """A header that was moved: its block stands two levels deeper, or half a level."""
    for position in scene.near(before=10, after=1):
        statement = scene.statements[position]
        child = scene.statements[position + 1] if position + 1 < len(scene.statements) else None
        if child is None or not statement.is_header or not 0 < child.width - statement.width != 4:
            continue
        if child.width >= 4 and "\t" not in child.indent:
            yield _moved(scene, position, child.indent[:-4], 68)


def _moved(scene: Scene, position: int, indent: str, rank: int) -> Candidate:
    """One statement was moved by itself: the lines around it tell where it stood."""
    statement = scene.statements[position]
    start = scene.index.starts[statement.first_line - 1]
    less = len(statement.indent) < len(indent)
    how = "less" if less else "deeper"
    return Candidate(
        "indent-lost" if less else "indent-unexpected",
        start,
        statement.start,
        f"the line is indented {how} than the block it stands in ({_columns(statement.width)})",
        _indented(scene, position, position + 1, indent),
        why=_WHY,
        help="give it the indent of the lines around it",
        sure=abs(len(indent) - len(statement.indent)) == 1 and _says_something(statement),
        rank=rank,
    )


def body_missing(scene: Scene) -> Iterator[Candidate]:
    """A header without a block: its body is gone, or was moved to the header's own indent."""
    for position in scene.near(before=2, after=0):
        statement = scene.statements[position]
        if not statement.is_header:
            continue
        after = scene.statements[position + 1] if position + 1 < len(scene.statements) else None
        if after is not None and after.width > statement.width:
            continue
        name, header_line = _name(statement), scene.number(statement.start)
        moved = after is not None and after.width == statement.width and not _begins_anew(statement, after)
        yield Candidate(
            "body-missing",
            statement.start,
            statement.end,
            f"{name} has no body",
            (insert(statement.end, " pass"),),
            why="a block must follow the colon; a comment alone is none",
            help="write its body below it, or `pass`",
            rank=58 if moved else 68,
        )
        if (
            after is not None
            and moved
            and (statement.defines or statement.word == "class")
            and scene.block_end(position) == position + 1
            and _peers(scene, position + 1) > 1
        ):
            # one header that was moved is likelier than a whole body that was
            yield Candidate(
                "indent-unexpected",
                scene.index.starts[statement.first_line - 1],
                statement.start,
                f"the line is indented as deep as its body or deeper ({_columns(statement.width)})",
                _indented(scene, position, position + 1, after.indent[:-4]),
                why=_WHY,
                help="give it the indent of its block",
                rank=69,
            )
        if after is not None and after.first_line <= scene.line + 1:
            end = position + 1
            while end < len(scene.statements) and scene.statements[end].width >= after.width > 0:
                end += 1
            for last in (position + 2, end):
                repair = _indented(scene, position + 1, last, statement.indent + "    ")
                yield Candidate(
                    "body-not-indented",
                    after.start,
                    after.end,
                    f"the line is not indented, though it is the body of {name} on line {header_line}",
                    repair,
                    why=_WHY,
                    help="indent the body",
                    rank=68 if moved else 57,
                )


def _shifted(scene: Scene, position: int, indent: str, kind: str, rank: int) -> Iterator[Candidate]:
    """The statement moved so that it has this indent: with all that stands at least as deep below it, or by itself."""
    statement = scene.statements[position]
    start = scene.index.starts[statement.first_line - 1]
    above = scene.statements[position - 1] if position else None
    if kind == "unexpected":
        cause, message = "indent-unexpected", "the line is indented deeper than the block it stands in"
        help = (
            f"give it the indent of line {scene.number(above.start)}, unless a header is missing above it"
            if above
            else "take the indent away"
        )
    else:
        cause, message = "indent-mismatch", "the indent of the line is that of no block around it"
        help = "give it the indent of its block"
    end = position + 1
    while end < len(scene.statements) and scene.statements[end].width >= statement.width:
        end += 1
    for last in sorted({position + 1, scene.block_end(position), end}):
        yield Candidate(
            cause,
            start,
            statement.start,
            f"{message} ({_columns(statement.width)})",
            _indented(scene, position, last, indent),
            why=_WHY,
            help=help,
            sure=abs(len(indent) - len(statement.indent)) == 1
            and last <= scene.block_end(position)
            and _says_something(statement),
            rank=rank,
        )


def _indented(scene: Scene, first: int, end: int, indent: str) -> tuple[Patch, ...]:
    """Statements ``first`` up to ``end``, moved so that the first of them has this indent. Only whole lines move."""
    was = scene.statements[first].indent
    repair: list[Patch] = []
    for statement in scene.statements[first:end]:
        for number in range(statement.first_line, statement.last_line + 1):
            line = scene.index.line(number)
            if number > statement.first_line and not line.startswith(was):
                continue
            start = scene.index.starts[number - 1]
            if line.startswith(was) and line.strip():
                repair.append(Patch(start, start + len(was), indent))
    return tuple(repair)


def _levels(scene: Scene, position: int) -> set[str]:
    """The indents that the statement could go back to."""
    above = scene.statements[position - 1]
    return {above.indent, *(parent.indent for parent in scene.parents(position - 1))}


def _peers(scene: Scene, position: int) -> int:
    """How many statements stand together at the indent of this one."""
    end = position
    while end < len(scene.statements) and scene.statements[end].width == scene.statements[position].width:
        end += 1
    return end - position


def _says_something(statement: Statement) -> bool:
    """Whether the statement is more than a value, which would be the rest of something that is gone."""
    first = statement.tokens[0]
    texts = [token.text for token in statement.tokens]
    return first.kind is Kind.KEYWORD or "=" in texts or (first.kind is Kind.NAME and texts[-1] == ")")


def _begins_anew(header: Statement, after: Statement) -> bool:
    """Whether a statement at the header's own indent can hardly be its body: the next definition, the next branch."""
    if after.word in ("else", "elif", "except", "finally", "case"):
        return True
    return (header.defines or header.word == "class") and (after.defines or after.word in ("class", "@"))


def _name(statement: Statement) -> str:
    tokens = statement.tokens
    if statement.word in ("def", "class") and len(tokens) > 1:
        return f"`{statement.word} {tokens[1].text}`"
    if statement.defines and len(tokens) > 2:
        return f"`async def {tokens[2].text}`"
    return f"this `{statement.word}`"


def _indent_of(scene: Scene, number: int) -> str:
    line = scene.index.line(number)
    return line[: len(line) - len(line.lstrip())]


def _columns(width: int) -> str:
    return f"{width} columns" if width != 1 else "1 column"
