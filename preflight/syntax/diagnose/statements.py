"""Statements that lack a part, have one too many, or stand without the one they belong to."""

from __future__ import annotations

from collections.abc import Iterator

from preflight.syntax.diagnose.model import Candidate
from preflight.syntax.fixes import Patch, insert
from preflight.syntax.scene import HEADERS, Scene, Statement, depths, ends_operand, gaps
from preflight.syntax.tokens import ASSIGNMENTS, Kind, Token, words

#: So many places where two operands stand side by side are looked at.
_MAX_GAPS = 12
_CONDITIONS = words("if elif while assert")
#: What a branch can belong to.
_OWNERS = {
    "else": words("if elif for while try except async"),
    "elif": words("if elif"),
    "except": words("try except"),
    "finally": words("try except else"),
    "case": words("case match"),
}
_SIMPLE_STARTS = words("return raise import from del pass break continue global nonlocal assert yield await")
_COMPOUND_STARTS = words("if for while try with def class")
_OTHER_LANGUAGES = {
    "elseif": "elif",
    "elsif": "elif",
    "elsf": "elif",
    "function": "def",
    "fun": "def",
    "catch": "except",
}


def colon(scene: Scene) -> Iterator[Candidate]:
    """A header without its colon, or with something else in its place."""
    for position in scene.near(before=2, after=0):
        statement = scene.statements[position]
        tokens = statement.tokens
        if statement.word not in HEADERS:
            continue
        colon_there = any(t.text == ":" and around is None for t, around in zip(tokens, depths(tokens), strict=True))
        if colon_there and "lambda" not in [t.text for t in tokens]:
            continue
        block = position + 1 < len(scene.statements) and scene.statements[position + 1].width > statement.width
        yield Candidate(
            "colon-missing",
            statement.end,
            statement.end,
            f"the colon is missing at the end of the `{_kind(statement)}` line",
            (insert(statement.end, ":"),),
            why="a block follows, and the colon announces it",
            help="put ':' at the end of the line",
            sure=block,
            rank=75 if block else 45,
        )
        if tokens[-1].text in (";", ",", ".", "=", "{", "then"):
            yield Candidate(
                "colon-missing",
                tokens[-1].start,
                tokens[-1].end,
                f"{tokens[-1].text!r} stands where the `{_kind(statement)}` line needs its colon",
                (Patch(tokens[-1].start, tokens[-1].end, ":"),),
                help="write ':' there",
                sure=True,
                rank=76,
            )
        for at in gaps(tokens)[:_MAX_GAPS]:
            yield Candidate(
                "colon-missing",
                tokens[at - 1].end,
                tokens[at - 1].end,
                f"the colon of the `{_kind(statement)}` is missing behind {tokens[at - 1].text!r}",
                (insert(tokens[at - 1].end, ":"),),
                help="put ':' there",
                rank=56,
            )
        for at in range(1, len(tokens)):
            if tokens[at].text in _SIMPLE_STARTS and ends_operand(tokens[at - 1]):
                yield Candidate(
                    "colon-missing",
                    tokens[at - 1].end,
                    tokens[at - 1].end,
                    f"the colon of the `{_kind(statement)}` is missing behind {tokens[at - 1].text!r}",
                    (insert(tokens[at - 1].end, ":"),),
                    help="put ':' there",
                    sure=True,
                    rank=66,
                )


def doubled(scene: Scene) -> Iterator[Candidate]:
    """The same sign, word or name twice, where once is meant."""
    for statement in scene.around(before=1, after=1):
        tokens = statement.tokens
        around = depths(tokens)
        for at in range(1, len(tokens)):
            before, token = tokens[at - 1], tokens[at]
            if before.text != token.text:
                continue
            if token.text == ",":
                cause, what = "comma-doubled", "the comma stands twice"
            elif token.kind in (Kind.KEYWORD, Kind.NAME):
                cause, what = "word-doubled", f"the word {token.text!r} stands twice"
            elif token.text in (":", ".", "=", "==", "->", "@"):
                cause, what = "sign-doubled", f"the sign {token.text!r} stands twice"
            else:
                continue
            yield Candidate(
                cause,
                token.start,
                token.end,
                what,
                (Patch(before.end, token.end),),
                help="take one of the two away",
                sure=token.kind is Kind.KEYWORD
                or (token.text in (",", ":", ".", "->") and around[at] is around[at - 1]),
                rank=74,
            )


def stray_comma(scene: Scene) -> Iterator[Candidate]:
    """A comma with nothing before it."""
    for statement in scene.around(before=1, after=1):
        for at, token in enumerate(statement.tokens):
            before = statement.tokens[at - 1] if at else None
            if token.text == "," and (before is None or before.text in ("(", "[", "{", "=", ":")):
                yield Candidate(
                    "comma-stray",
                    token.start,
                    token.end,
                    "the comma separates nothing",
                    (scene.removal(token.start, token.end),),
                    help="take it away, or put in what should stand before it",
                    sure=before is not None and before.text in ("(", "[", "{"),
                    rank=70,
                )


def single_equals(scene: Scene) -> Iterator[Candidate]:
    """``=`` in a condition."""
    for statement in scene.around(before=1, after=0):
        tokens = statement.tokens
        around = depths(tokens)
        conditional = statement.word in _CONDITIONS
        for at, token in enumerate(tokens):
            if token.text != "=" or not at:
                continue
            inner = around[at]
            if (conditional and (inner is None or inner.text in "([")) or _within_test(tokens, at):
                yield Candidate(
                    "equals-in-condition",
                    token.start,
                    token.end,
                    "'=' assigns; a comparison is written '=='",
                    (Patch(token.start, token.end, "=="),),
                    why="a condition cannot hold an assignment",
                    help="write '=='",
                    sure=True,
                    rank=72,
                )


def _within_test(tokens: tuple[Token, ...], at: int) -> bool:
    """Whether the token stands in the condition of a conditional expression or comprehension, or behind and/or/not."""
    for token in reversed(tokens[:at]):
        if token.text in ("if", "and", "or", "not"):
            return True
        if token.text in (",", "(", "[", "{", ":", "=", "lambda", "else"):
            return False
    return False


def orphan_branch(scene: Scene) -> Iterator[Candidate]:
    """``else``, ``elif``, ``except``, ``finally`` without the statement that they belong to."""
    for position in scene.near(before=1, after=0):
        statement = scene.statements[position]
        owners = _OWNERS.get(statement.word)
        if owners is None:
            continue
        owner = _previous_at(scene, position, statement.width)
        if owner is not None and owner.word in owners:
            continue
        message = f"this `{statement.word}` belongs to no statement above it"
        help = "give it the indent of its statement, or put that statement back"
        for above in reversed(scene.statements[:position]):
            if above.word in owners and above.width != statement.width and above.is_header:
                end = scene.block_end(position)
                moved = scene.statements[position:end]
                repair = []
                for one in moved:
                    for number in range(one.first_line, one.last_line + 1):
                        start = scene.index.starts[number - 1]
                        if scene.index.line(number).startswith(statement.indent):
                            repair.append(Patch(start, start + len(statement.indent), above.indent))
                yield Candidate(
                    "branch-without-statement",
                    statement.start,
                    statement.end,
                    message,
                    tuple(repair),
                    why=f"the nearest `{above.word}` that it could belong to is on line {scene.number(above.start)},"
                    " with another indent",
                    help=help,
                    rank=69 if above.width % 4 == 0 else 60,
                )
                break
        yield Candidate(
            "branch-without-statement",
            statement.start,
            statement.end,
            message,
            (Patch(statement.start, statement.end, "if 1:"),),
            help=help,
            rank=64,
        )


def else_if(scene: Scene) -> Iterator[Candidate]:
    """``else if`` and the words that other languages have for Python's."""
    for statement in scene.around(before=1, after=0):
        tokens = statement.tokens
        if statement.word == "else" and len(tokens) > 1 and tokens[1].text == "if":
            yield Candidate(
                "other-language",
                tokens[0].start,
                tokens[1].end,
                "`else if` is written `elif` in Python",
                (Patch(tokens[0].start, tokens[1].end, "elif"),),
                help="write `elif`",
                sure=True,
                rank=77,
            )
        meant = _OTHER_LANGUAGES.get(statement.word)
        if meant is not None and len(tokens) > 1:
            yield Candidate(
                "other-language",
                tokens[0].start,
                tokens[0].end,
                f"`{statement.word}` is written `{meant}` in Python",
                (Patch(tokens[0].start, tokens[0].end, meant),),
                help=f"write `{meant}`",
                sure=True,
                rank=77,
            )
        for at, token in enumerate(tokens):
            plain = {"&": "and", "|": "or"}.get(token.text)
            if (
                plain
                and at + 1 < len(tokens)
                and tokens[at + 1].text == token.text
                and tokens[at + 1].start == token.end
            ):
                yield Candidate(
                    "other-language",
                    token.start,
                    tokens[at + 1].end,
                    f"`{token.text * 2}` is written `{plain}` in Python",
                    (Patch(token.start, tokens[at + 1].end, plain),),
                    help=f"write `{plain}`",
                    sure=True,
                    rank=77,
                )
            if token.text == "!" and at + 1 < len(tokens):
                yield Candidate(
                    "other-language",
                    token.start,
                    token.end,
                    "`!` is written `not` in Python",
                    (Patch(token.start, token.end, "not "),),
                    help="write `not`",
                    sure=True,
                    rank=70,
                )
            if (
                token.text in ("+", "-")
                and at + 1 < len(tokens)
                and tokens[at + 1].text == token.text == tokens[-1].text
            ):
                yield Candidate(
                    "other-language",
                    token.start,
                    tokens[-1].end,
                    f"Python has no `{token.text * 2}`",
                    (Patch(token.start, tokens[-1].end, f"{token.text}= 1"),),
                    help=f"write `{token.text}= 1`",
                    sure=True,
                    rank=70,
                )


def try_alone(scene: Scene) -> Iterator[Candidate]:
    """``try`` without ``except`` or ``finally``."""
    at = scene.statement_at(scene.line)
    if at is None:
        return
    for position in range(at, max(at - 400, -1), -1):
        statement = scene.statements[position]
        if statement.word != "try":
            continue
        end = scene.block_end(position)
        after = scene.statements[end] if end < len(scene.statements) else None
        if after is not None and after.width == statement.width and after.word in ("except", "finally"):
            continue
        yield Candidate(
            "try-alone",
            statement.start,
            statement.end,
            "this `try` has neither `except` nor `finally`",
            (Patch(statement.start, statement.start + 3, "if 1"),),
            help="put the `except` back behind its block, with the indent of the `try`",
            rank=67,
        )
        break


def decorator_alone(scene: Scene) -> Iterator[Candidate]:
    """Decorators with no function or class below them."""
    for position in scene.near(before=2, after=0):
        statement = scene.statements[position]
        after = scene.statements[position + 1] if position + 1 < len(scene.statements) else None
        if statement.word != "@" or (after is not None and (after.defines or after.word in ("class", "@"))):
            continue
        first = position
        while first and scene.statements[first - 1].word == "@":
            first -= 1
        run = scene.statements[first : position + 1]
        yield Candidate(
            "decorator-alone",
            statement.start,
            statement.end,
            "the decorator has no function or class below it",
            tuple(Patch(one.start, one.end, "pass") for one in run),
            why="what was inserted below it, or what was taken away, parted the two",
            help="put the function back right below it, or take the decorator away",
            rank=69,
        )


def merged_lines(scene: Scene) -> Iterator[Candidate]:
    """Two statements on one line: the line end between them is gone."""
    for statement in scene.around(before=1, after=0):
        tokens = statement.tokens
        around = depths(tokens)
        newline = scene.index.line_end(statement.first_line) or "\n"
        for at in scene.near_positions(tokens):
            before, token = tokens[at - 1], tokens[at]
            if around[at] is not None or "\\" in scene.text[before.end : token.start]:
                continue
            if not _ends_statement(tokens[:at]):
                continue
            if not (token.text in _SIMPLE_STARTS | _COMPOUND_STARTS | {"@"} or _starts_statement(tokens[at:])):
                continue
            plain = token.kind is Kind.KEYWORD or token.text == "@" or _assigns(tokens[at:])
            between = scene.text[before.end : token.start]
            kept = [between] if len(between) > 1 and not between.strip(" ") else []
            for indent in [*kept, *_likely_indents(scene, statement, before)]:
                yield Candidate(
                    "lines-merged",
                    token.start,
                    token.end,
                    f"a line end is missing before {token.text!r}",
                    (Patch(before.end, token.start, newline + indent),),
                    why="two statements stand on one line",
                    help="put them on lines of their own",
                    sure=(indent is between or indent == statement.indent) and before.text != ":" and plain,
                    rank=67,
                )


def _assigns(tokens: tuple[Token, ...]) -> bool:
    """Whether there is an assignment outside any bracket."""
    return any(token.text in ASSIGNMENTS and inner is None for token, inner in zip(tokens, depths(tokens), strict=True))


def _ends_statement(tokens: tuple[Token, ...]) -> bool:
    """Whether these tokens can be a whole statement, so that the next one begins on a line of its own."""
    last = tokens[-1]
    if last.text in ("pass", "break", "continue", "return", ":"):
        return True
    if not ends_operand(last):
        return False
    texts = [token.text for token in tokens]
    return (
        _assigns(tokens)
        or texts[0] in ("return", "raise", "del", "global", "nonlocal", "assert", "import")
        or (texts[0] == "from" and "import" in texts)
        or (last.text in (")", "]") and not any(text in HEADERS for text in texts[:1]))
        or (len(tokens) == 1 and last.kind is Kind.STRING)
    )


def _starts_statement(tokens: tuple[Token, ...]) -> bool:
    """Whether these tokens are an assignment or a call by themselves."""
    if tokens[0].kind is not Kind.NAME or len(tokens) < 3:
        return False
    return _assigns(tokens) or (tokens[-1].text == ")" and gaps(tokens) == [])


def nothing_between(scene: Scene) -> Iterator[Candidate]:
    """Two operands side by side outside any bracket: what joins them is gone."""
    for statement in scene.around(before=1, after=0):
        tokens = statement.tokens
        around = depths(tokens)
        for at in sorted(gaps(tokens), key=lambda at: abs(tokens[at].start - scene.offset))[:_MAX_GAPS]:
            before, token = tokens[at - 1], tokens[at]
            assigned = at == 1 or not any(t.text in ASSIGNMENTS for t in tokens[:at])
            choices = (" = ", ", ") if assigned and around[at] is None else (", ", " = ")
            inner = around[at]
            if inner is not None and (statement.defines or inner.text == "{"):
                choices = (": ",)
            for joined in choices:
                yield Candidate(
                    "nothing-between",
                    before.start,
                    token.end,
                    f"nothing joins {before.text[:40]!r} and {token.text[:40]!r}",
                    (Patch(before.end, token.start, joined),),
                    why="two names or values stand side by side",
                    help="put in what is missing between them: an operator, '=', a comma or a line end",
                    rank=52,
                )


def misspelt(scene: Scene) -> Iterator[Candidate]:
    """A keyword with a letter too many, too few or wrong."""
    from difflib import get_close_matches
    from keyword import kwlist

    for statement in scene.around(before=1, after=0):
        for at in [0, *scene.near_positions(statement.tokens)]:
            token = statement.tokens[at]
            if token.kind is not Kind.NAME or len(token.text) < 2:
                continue
            known = [word for word in kwlist if word != token.text and abs(len(word) - len(token.text)) <= 1]
            close = [token.text.lower()] if token.text.lower() in kwlist else []
            close += [word for word in get_close_matches(token.text, known, 3, 0.6) if _one_slip(word, token.text)]
            for word in close:
                yield Candidate(
                    "keyword-misspelt",
                    token.start,
                    token.end,
                    f"{token.text!r} is no keyword of Python; `{word}` seems to be meant",
                    (Patch(token.start, token.end, word),),
                    help=f"write `{word}`",
                    sure_if_alone=at == 0 and len(token.text) > 2,
                    rank=63 if at == 0 else 57,
                )


def _one_slip(word: str, written: str) -> bool:
    """Whether one letter too many, too few, wrong, or two letters swapped make the one out of the other."""
    if len(word) == len(written):
        wrong = [at for at in range(len(word)) if word[at] != written[at]]
        return len(wrong) == 1 or (
            len(wrong) == 2
            and wrong[1] == wrong[0] + 1
            and (word[wrong[0]], word[wrong[1]]) == (written[wrong[1]], written[wrong[0]])
        )
    longer, shorter = (word, written) if len(word) > len(written) else (written, word)
    return any(longer[:at] + longer[at + 1 :] == shorter for at in range(len(longer)))


def arrow(scene: Scene) -> Iterator[Candidate]:
    """The ``->`` before what a function returns, gone or half gone."""
    for statement in scene.around(before=2, after=0):
        tokens = statement.tokens
        if not statement.defines:
            continue
        around = depths(tokens)
        close = [at for at, token in enumerate(tokens) if token.text == ")" and around[at] is None]
        if not close or close[0] + 1 >= len(tokens):
            continue
        at = close[0] + 1
        half = 0
        while at + half < len(tokens) and tokens[at + half].text in ("-", ">", "=", ">=", "->"):
            half += 1
        if (
            at + half < len(tokens)
            and tokens[at + half].text != ":"
            and scene.text[tokens[at].start : tokens[at + half - 1].end] != "->"
        ):
            yield Candidate(
                "arrow-missing",
                tokens[at].start,
                tokens[at + half - 1].end if half else tokens[at].end,
                "'->' is missing before the type that the function returns",
                (Patch(tokens[at - 1].end, tokens[at + half].start, " -> "),),
                help="write '->' between the parameters and the type",
                sure=True,
                rank=74,
            )


def _likely_indents(scene: Scene, statement: Statement, before: Token) -> list[str]:
    found = [statement.indent]
    if before.text == ":" or statement.word in HEADERS:
        found.insert(0, statement.indent + "    ")
    at = scene.statement_at(statement.first_line)
    if at is not None:
        found += [parent.indent for parent in scene.parents(at)]
    return found


def stray_semicolon(scene: Scene) -> Iterator[Candidate]:
    """A semicolon within an expression, where a comma is meant."""
    for statement in scene.around(before=1, after=1):
        for token, around in zip(statement.tokens, depths(statement.tokens), strict=True):
            if token.text == ";" and around is not None:
                yield Candidate(
                    "semicolon-for-comma",
                    token.start,
                    token.end,
                    f"';' stands within the {around.text!r} of line {scene.number(around.start)}",
                    (Patch(token.start, token.end, ","),),
                    help="write ','",
                    sure=True,
                    rank=66,
                )


def _kind(statement: Statement) -> str:
    return (
        "async " + statement.tokens[1].text
        if statement.word == "async" and len(statement.tokens) > 1
        else statement.word
    )


def _previous_at(scene: Scene, position: int, width: int) -> Statement | None:
    """The statement before this one that has the same indent, in the same block."""
    for statement in reversed(scene.statements[:position]):
        if statement.width == width:
            return statement
        if statement.width < width:
            return None
    return None
