"""Statements with a part too few or too many, and words that stand side by side."""

from __future__ import annotations

from collections.abc import Iterator

from preflight.syntax.diagnose.model import Candidate
from preflight.syntax.fixes import Patch
from preflight.syntax.scene import HEADERS, Scene, Statement, depths, ends_operand, gaps
from preflight.syntax.tokens import ASSIGNMENTS, Kind, Token, words

#: So many places where two operands stand side by side are looked at.
MAX_GAPS = 12
_CONDITIONS = words("if elif while assert")
SIMPLE_STARTS = words("return raise import from del pass break continue global nonlocal assert yield await")
_COMPOUND_STARTS = words("if for while try with def class")


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
            if not (token.text in SIMPLE_STARTS | _COMPOUND_STARTS | {"@"} or _starts_statement(tokens[at:])):
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
        for at in sorted(gaps(tokens), key=lambda at: abs(tokens[at].start - scene.offset))[:MAX_GAPS]:
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
