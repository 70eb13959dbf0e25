"""Syntax that only later Pythons read, and from which version on (the "What's New" pages and the PEPs named).

Only what came after Python 3.9 is looked for: no supported vLLM runs on anything older.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from preflight.syntax.fixes import LineIndex
from preflight.syntax.scene import Statement, depths, ends_operand, split_statements
from preflight.syntax.tokens import Kind, Token, replacement_fields, scan


@dataclass(frozen=True, slots=True)
class Feature:
    """One use of newer syntax: its name for a person, the first Python that reads it, and its place.

    ``plain`` are replacements (start, end, text) that leave an older form, to look at the code around it;
    ``same_meaning`` says in words what they do, if the code then still means the same.
    """

    name: str
    since: tuple[int, int]
    start: int
    end: int
    plain: tuple[tuple[int, int, str], ...] = ()
    same_meaning: str | None = None

    @property
    def since_text(self) -> str:
        return f"{self.since[0]}.{self.since[1]}"


_SPACE = r"(?:[\s\\]|#[^\n]*)*"
#: what stands somewhere in every text that has syntax of a version; other versions leave no such sign
_SIGNS = {
    (3, 10): re.compile(r"^\s*match\b|:=", re.MULTILINE),
    (3, 11): re.compile(rf"\bexcept{_SPACE}\*|(?:[\[:]|[\[\]][^\[\]]*,){_SPACE}\*(?!\s*,|\*)"),
}


def may_need(text: str, versions: Iterable[tuple[int, int]]) -> bool:
    """Whether a text may hold syntax that came with one of these versions; quick, and mostly right where it is no."""
    return any(version not in _SIGNS or _SIGNS[version].search(text) is not None for version in versions)


def features_of(text: str) -> list[Feature]:
    """Every use of syntax that came after Python 3.9 in a text that some Python reads."""
    return list(features(text, split_statements(text, scan(text), LineIndex(text))))


def features(text: str, statements: Sequence[Statement]) -> Iterator[Feature]:
    """Every use of syntax that came after Python 3.9, in the order of the statements."""
    for position, statement in enumerate(statements):
        after = statements[position + 1] if position + 1 < len(statements) else None
        yield from _statement_features(statement, after)
        yield from _bracket_features(statement)
        yield from _string_features(text, statement)


def _statement_features(statement: Statement, after: Statement | None) -> Iterator[Feature]:
    tokens = statement.tokens
    texts = [token.text for token in tokens[:4]]
    first = tokens[0]
    if first.text == "match" and statement.is_header and after is not None and after.word == "case" and after.is_header:
        yield Feature("`match` (PEP 634)", (3, 10), first.start, first.end)
    if texts[:2] == ["except", "*"]:
        yield Feature(
            "`except*` (PEP 654)", (3, 11), first.start, tokens[1].end, ((tokens[1].start, tokens[1].end, " "),)
        )
    if first.text == "except" and texts[1:2] not in (["("], ["*"]):
        yield from _bare_except_list(tokens)
    if first.text == "type" and len(tokens) > 3 and tokens[1].kind is Kind.NAME and tokens[2].text in ("=", "["):
        yield Feature(
            "a `type` statement (PEP 695)", (3, 12), first.start, first.end, ((first.start, tokens[1].start, ""),)
        )
    if first.text == "lazy" and texts[1:2] in (["import"], ["from"]):
        yield Feature(
            "a `lazy` import (PEP 810)", (3, 15), first.start, first.end, ((first.start, tokens[1].start, ""),)
        )
    at = 1 + (first.text == "async") if statement.defines else 1
    named = statement.defines or first.text in ("class", "type")
    if named and len(tokens) > at + 1 and tokens[at].kind is Kind.NAME and tokens[at + 1].text == "[":
        yield from _type_parameters(tokens, at + 1, first.text != "type")


def _bare_except_list(tokens: tuple[Token, ...]) -> Iterator[Feature]:
    around = depths(tokens)
    top = [token for token, inner in zip(tokens, around, strict=True) if inner is None]
    colon = next((token for token in top if token.text == ":"), None)
    comma = next((token for token in top if token.text == ","), None)
    if colon is None or comma is None or comma.start > colon.start or any(token.text == "as" for token in top):
        return
    last = next(token for token in reversed(tokens) if token.end <= colon.start)
    yield Feature(
        "`except A, B` without parentheses (PEP 758)",
        (3, 14),
        tokens[1].start,
        last.end,
        ((tokens[1].start, tokens[1].start, "("), (last.end, last.end, ")")),
        "put the exceptions in parentheses",
    )


def _type_parameters(tokens: tuple[Token, ...], at: int, take_away: bool) -> Iterator[Feature]:
    depth = 0
    default = False
    for token in tokens[at:]:
        depth += (token.text in "([{") - (token.text in ")]}")
        default = default or (token.text == "=" and depth == 1)
        if depth == 0:
            plain = ((tokens[at].start, token.end, ""),)
            if default:
                yield Feature("a default of a type parameter (PEP 696)", (3, 13), tokens[at].start, token.end, plain)
            elif take_away:
                yield Feature("type parameters (PEP 695)", (3, 12), tokens[at].start, token.end, plain)
            return


def _bracket_features(statement: Statement) -> Iterator[Feature]:
    tokens = statement.tokens
    opened_by: dict[Token, Token | None] = {
        token: tokens[at - 1] if at else None for at, token in enumerate(tokens) if token.text in ("(", "[", "{")
    }
    around = depths(tokens)
    for at, token in enumerate(tokens):
        inner = around[at]
        if inner is None:
            continue
        owner = opened_by.get(inner)
        subscript = inner.text == "[" and owner is not None and ends_operand(owner)
        if token.text in ("*", "**") and tokens[at - 1].text in ("[", "(", "{", ","):
            if subscript and token.text == "*" and not _in_type_parameters(statement, inner):
                yield Feature(
                    "`*` in a subscript (PEP 646)", (3, 11), token.start, token.end, ((token.start, token.end, ""),)
                )
            elif (
                tokens[at - 1] is inner
                and _is_comprehension(tokens, around, at, inner)
                and not (inner.text == "(" and owner is not None and ends_operand(owner))
            ):
                yield Feature(
                    "unpacking in a comprehension (PEP 798)",
                    (3, 15),
                    token.start,
                    token.end,
                    ((token.start, token.end, ""),),
                )
        if token.text == "*" and tokens[at - 1].text == ":" and statement.defines and inner.text == "(":
            yield Feature(
                "`*args: *Ts` (PEP 646)", (3, 11), token.start, token.end, ((token.start, token.end, ""),)
            )  # fmt: skip
        if token.text == ":=" and (subscript or inner.text == "{") and _bare_walrus(tokens, at):
            yield Feature("a bare `:=` in a subscript or set", (3, 10), token.start, token.end)


def _in_type_parameters(statement: Statement, bracket: Token) -> bool:
    tokens = statement.tokens
    at = 1 + (tokens[0].text == "async")
    return (
        (statement.defines or tokens[0].text in ("class", "type"))
        and len(tokens) > at + 1
        and tokens[at + 1] is bracket
    )


def _is_comprehension(tokens: tuple[Token, ...], around: list[Token | None], at: int, inner: Token) -> bool:
    for token, bracket in zip(tokens[at:], around[at:], strict=True):
        if bracket is inner and token.text in (",", "]", "}", ")"):
            return False
        if bracket is inner and token.text == "for":
            return True
    return False


def _bare_walrus(tokens: tuple[Token, ...], at: int) -> bool:
    return at > 1 and tokens[at - 2].text in ("[", "{", ",")


def _string_features(text: str, statement: Statement) -> Iterator[Feature]:
    """t-strings, and f-strings whose replacement fields hold what Python 3.11 cannot read there."""
    f_strings = False
    for token in statement.tokens:
        prefix = token.text[: token.prefix_length].lower() if token.quote else ""
        if "t" in prefix:
            yield Feature(
                "a t-string (PEP 750)", (3, 14), token.start, token.start + 1,
                ((token.start, token.start + token.prefix_length, prefix.replace("t", "f")),),
            )  # fmt: skip
        f_strings = f_strings or "f" in prefix
    if not f_strings:
        return
    start, end = statement.start, statement.end
    for token in scan(text[start:end], nested_quotes=True):
        prefix = token.text[: token.prefix_length].lower() if token.quote else ""
        if "f" not in prefix:
            continue
        what = _newer_field(token)
        if what is not None:
            older = _older_form(token)
            at = start + token.start
            yield Feature(
                f"an f-string with {what} in its braces (PEP 701)", (3, 12), at, start + token.end,
                ((at, start + token.end, older or '""'),),
                "write other quotes inside the braces" if older else None,
            )  # fmt: skip


def _newer_field(token: Token) -> str | None:
    quote = token.quote
    for field in replacement_fields(token):
        if quote in field:
            return "its own quotes"
        if "\\" in field:
            return "a backslash"
        inner = scan(field, nested_quotes=True)
        if any(part.kind is Kind.COMMENT for part in inner):
            return "a comment"
        if len(quote) == 1 and any(part.kind is Kind.NEWLINE for part in inner):
            return "a line end"
    return None


def _older_form(token: Token) -> str | None:
    """The same string with other quotes in its braces, where that is all there is to it."""
    quote = token.quote
    other = "'" if quote == '"' else '"'
    fields = list(replacement_fields(token))
    if len(quote) == 3 or any(char in field for field in fields for char in (other, "\\", "\n", "#")):
        return None
    text = token.text
    for field in fields:
        text = text.replace(field, field.replace(quote, other))
    return text
