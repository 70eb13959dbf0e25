"""Arguments, parameters and the commas between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from preflight.syntax.diagnose.model import Candidate
from preflight.syntax.fixes import Patch, insert
from preflight.syntax.scene import Scene, Statement, depths, ends_operand, gaps
from preflight.syntax.tokens import CLOSERS, OPENERS, Kind, Token

#: Brackets nested deeper than this were not written by a person.
_MAX_DEPTH = 40


@dataclass(frozen=True, slots=True)
class Item:
    """What stands between two commas of one pair of brackets."""

    tokens: tuple[Token, ...]

    @property
    def start(self) -> int:
        return self.tokens[0].start

    @property
    def end(self) -> int:
        return self.tokens[-1].end

    @property
    def name(self) -> str | None:
        """The name of a keyword argument, or of a parameter."""
        tokens = self.tokens
        if tokens[0].text in ("*", "**") and len(tokens) > 1:
            tokens = tokens[1:]
        return tokens[0].text if tokens[0].kind is Kind.NAME else None

    @property
    def is_keyword(self) -> bool:
        return len(self.tokens) > 1 and self.tokens[0].kind is Kind.NAME and self.tokens[1].text == "="

    @property
    def has_default(self) -> bool:
        depth = 0
        for token in self.tokens:
            depth += (token.text in OPENERS) - (token.text in CLOSERS)
            if token.text == "=" and depth == 0:
                return True
        return False


@dataclass(frozen=True, slots=True)
class Group:
    """A pair of brackets, the token before it, and its items."""

    before: Token | None
    opener: Token
    items: tuple[Item, ...]

    @property
    def is_call(self) -> bool:
        return self.opener.text == "(" and self.before is not None and ends_operand(self.before)


def groups(statement: Statement) -> list[Group]:
    """Every pair of brackets of a statement with what stands in it."""
    tokens = statement.tokens
    found: list[Group] = []
    stack: list[tuple[int, list[Item], int]] = []
    for at, token in enumerate(tokens):
        if token.kind is not Kind.OP:
            continue
        if token.text in OPENERS:
            if len(stack) > _MAX_DEPTH:
                return []
            stack.append((at, [], at + 1))
        elif token.text == "," and stack:
            opened, items, start = stack[-1]
            if at > start:
                items.append(Item(tokens[start:at]))
            stack[-1] = (opened, items, at + 1)
        elif token.text in CLOSERS and stack:
            opened, items, start = stack.pop()
            if at > start:
                items.append(Item(tokens[start:at]))
            found.append(Group(tokens[opened - 1] if opened else None, tokens[opened], tuple(items)))
    return found


def comma(scene: Scene) -> Iterator[Candidate]:
    """Two items with no comma between them."""
    for statement in scene.around(before=1, after=0):
        tokens = statement.tokens
        around = depths(tokens)
        places = [at for at in gaps(tokens) if around[at] is not None or statement.word in ("from", "import", "global")]
        places += [
            at
            for at in range(1, len(tokens))
            if tokens[at].text in ("*", "**", "(", "[")
            and around[at] is not None
            and (ends_operand(tokens[at - 1]))
            and scene.index.place(tokens[at - 1].end)[0] != scene.index.place(tokens[at].start)[0]
        ]
        places.sort(key=lambda at: abs(tokens[at].start - scene.offset))
        for at in places[:8]:
            yield _comma_between(scene, tokens, [at], around[at])
        real = [at for at in places if around[at] is not None and tokens[at].text not in ("*", "**", "(", "[")]
        if 1 < len(real) <= 12:
            yield _comma_between(scene, tokens, sorted(real), around[real[0]])


def _comma_between(scene: Scene, tokens: tuple[Token, ...], places: list[int], around: Token | None) -> Candidate:
    first = places[0]
    before, after = tokens[first - 1], tokens[first]
    within = f" in the {around.text!r} of line {scene.number(around.start)}" if around is not None else ""
    return Candidate(
        "comma-missing",
        before.end,
        before.end,
        f"a comma is missing between {_short(before)} and {_short(after)}",
        tuple(insert(tokens[at - 1].end, ",") for at in places),
        why=f"two items stand side by side{within}",
        help="put ',' between them",
        sure=around is None or scene.index.place(before.end)[0] != scene.index.place(after.start)[0],
        rank=66,
    )


def keyword_repeated(scene: Scene) -> Iterator[Candidate]:
    """A keyword argument given twice in one call."""
    for statement in scene.around(before=1, after=0):
        for group in groups(statement):
            seen: dict[str, Item] = {}
            for at, item in enumerate(group.items):
                if not item.is_keyword or item.name is None:
                    continue
                first = seen.setdefault(item.name, item)
                if first is item:
                    continue
                same = _text(scene, first) == _text(scene, item)
                repair = (
                    (Patch(group.items[at - 1].end, item.end),)
                    if same
                    else (Patch(item.start, item.start + len(item.name), f"{item.name}_2"),)
                )
                yield Candidate(
                    "keyword-repeated",
                    item.start,
                    item.end,
                    f"the keyword argument {item.name!r} is given twice",
                    repair,
                    why=f"it is given on line {scene.number(first.start)} already",
                    help="take one of the two away",
                    sure=same,
                    rank=78,
                )


def positional_after_keyword(scene: Scene) -> Iterator[Candidate]:
    """A positional argument behind a keyword argument."""
    for statement in scene.around(before=1, after=0):
        for group in groups(statement):
            if not group.is_call or (statement.defines and group.opener is _first_opener(statement)):
                continue
            keyword: Item | None = None
            for item in group.items:
                if item.is_keyword or item.tokens[0].text == "**":
                    keyword = keyword or item
                elif keyword is not None and item.tokens[0].text != "*":
                    after_mapping = any(i.tokens[0].text == "**" for i in group.items if i.start < item.start)
                    stars = "**" if after_mapping else "*"
                    bracketed = (insert(item.start, f"{stars}("), insert(item.end, ")"))
                    given = _text(scene, keyword)
                    yield Candidate(
                        "positional-after-keyword",
                        item.start,
                        item.end,
                        f"a positional argument stands behind the keyword argument `{given[:60]}`",
                        bracketed,
                        why="arguments without a name come before those with one",
                        help="give it its name, or move it before the keyword arguments",
                        rank=78,
                    )
                    break


def parameters(scene: Scene) -> Iterator[Candidate]:
    """A parameter list with a name twice, or with a default before a parameter that has none."""
    for statement in scene.around(before=1, after=0):
        if not statement.defines:
            continue
        opener = _first_opener(statement)
        group = next((group for group in groups(statement) if group.opener is opener), None)
        if group is None:
            continue
        yield from _duplicates(scene, group)
        default: Item | None = None
        for item in group.items:
            if item.tokens[0].text in ("*", "**"):
                break
            if item.has_default:
                default = default or item
            elif default is not None and item.name is not None:
                yield Candidate(
                    "default-order",
                    item.start,
                    item.end,
                    f"the parameter {item.name!r} has no default, but stands behind {default.name!r}, which has one",
                    (insert(item.end, " = None"),),
                    why="a caller could not leave out the one without giving the other",
                    help=f"move it before {default.name!r}, give it a default, or put a `*` before it",
                    rank=78,
                )
                break


def _duplicates(scene: Scene, group: Group) -> Iterator[Candidate]:
    seen: dict[str, Item] = {}
    for at, item in enumerate(group.items):
        if item.name is None:
            continue
        first = seen.setdefault(item.name, item)
        if first is item:
            continue
        same = _text(scene, first) == _text(scene, item)
        repair = (
            (Patch(group.items[at - 1].end, item.end),)
            if same
            else (Patch(item.tokens[0].start, item.tokens[0].end, f"{item.tokens[0].text}_2"),)
        )
        yield Candidate(
            "parameter-repeated",
            item.start,
            item.end,
            f"the parameter {item.name!r} stands twice in the list",
            repair,
            why=f"it stands on line {scene.number(first.start)} already",
            help="take one of the two away",
            sure=same,
            rank=78,
        )


def bare_generator(scene: Scene) -> Iterator[Candidate]:
    """``f(x for x in y, 1)`` and ``[a, b for a, b in c]``: parentheses are missing."""
    for statement in scene.around(before=1, after=0):
        for group in groups(statement):
            for at, item in enumerate(group.items):
                loop = _loop_at(item)
                if loop is None:
                    continue
                if group.is_call and len(group.items) > 1 and not item.is_keyword:
                    yield Candidate(
                        "generator-bare",
                        item.start,
                        item.end,
                        "a generator that is not the only argument needs parentheses of its own",
                        (insert(item.start, "("), insert(item.end, ")")),
                        help="put it in parentheses",
                        sure=True,
                        rank=73,
                    )
                if at and not group.is_call and group.opener.text in "[(":
                    first = group.items[0].start
                    yield Candidate(
                        "tuple-bare",
                        first,
                        item.tokens[loop - 1].end,
                        "the tuple that the comprehension makes needs parentheses",
                        (insert(first, "("), insert(item.tokens[loop - 1].end, ")")),
                        help="put it in parentheses",
                        sure=True,
                        rank=73,
                    )


def _loop_at(item: Item) -> int | None:
    depth = 0
    for at, token in enumerate(item.tokens):
        depth += (token.text in OPENERS) - (token.text in CLOSERS)
        if token.text == "for" and depth == 0 and at:
            return at
    return None


def _first_opener(statement: Statement) -> Token | None:
    """The bracket that opens a ``def``'s parameter list (a list of type parameters may stand before it)."""
    depth = 0
    for token in statement.tokens:
        if token.text == "(" and depth == 0:
            return token
        depth += (token.text in OPENERS) - (token.text in CLOSERS)
    return None


def _text(scene: Scene, item: Item) -> str:
    return " ".join(scene.text[item.start : item.end].split())


def _short(token: Token) -> str:
    return f"{token.text[:40]!r}" if token.kind is not Kind.STRING else token.text[:40]
