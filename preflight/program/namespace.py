"""The names of a module or class body after it has run: for each name, every statement that may have bound it.

The body's statements are followed in order. A test that is decided takes one arm, an open one takes both and joins
them; a ``try`` around imports is decided where the imports are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from preflight.program.conditions import Truth
from preflight.program.facts import (
    Assign,
    Branches,
    Call,
    ClassFacts,
    Delete,
    Expression,
    FunctionFacts,
    If,
    Import,
    Item,
    Raise,
    SetAttribute,
    Try,
    With,
)


@dataclass(frozen=True, slots=True)
class StarName:
    """A name that a star import brings: it is ``name`` of ``module``."""

    module: str
    name: str
    statement: Import


#: what may have bound a name; None: it may be unbound
Binding = Import | Assign | FunctionFacts | ClassFacts | StarName | None

_IMPORT_ERRORS = frozenset({"ImportError", "ModuleNotFoundError"})
_ANY_ERRORS = frozenset({"*", "Exception", "BaseException"})

#: context managers that let every exception pass
_PLAIN_MANAGERS = frozenset({"catch_warnings", "nullcontext", "open", "redirect_stderr", "redirect_stdout"})

State = dict[str, tuple[Binding, ...]]


@dataclass(slots=True)
class Namespace:
    """``names``: the possible bindings of each name at the end of the body, in source order.

    ``open_stars``: star imports whose names are not all known, with the reason. ``effects``: assignments to attributes
    and calls in the order they run, with True where they certainly run. ``finishes`` is False where the body always
    raises, and ``raises`` is the statement then.
    """

    names: Mapping[str, tuple[Binding, ...]]
    open_stars: tuple[tuple[Import, str], ...] = ()
    effects: tuple[tuple[SetAttribute | Call | Assign, bool], ...] = ()
    raises: Raise | None = None
    #: every import that runs, with True where it certainly does, and the names of errors that are caught around it
    imports: tuple[tuple[Import, bool], ...] = ()
    #: the lines of ``del name`` statements that may have run, the last one of each name
    deleted: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Questions:
    """What the flow has to ask the rest of the program."""

    #: does this test hold?
    test: Callable[[Expression], Truth]
    #: does this import succeed?
    succeeds: Callable[[Import], Truth]
    #: the names that a star import brings: (module, names), or the reason why they are not all known
    star: Callable[[Import], tuple[str, Iterable[str], str | None]]


def line_of(binding: Binding) -> int:
    """The line of the statement that binds."""
    if binding is None:
        return 0
    return binding.statement.line if isinstance(binding, StarName) else binding.line


class _Reached(Exception):
    """The statement that the flow was to stop at."""

    def __init__(self, state: State) -> None:
        self.state = state


def names_before(body: Sequence[Item], questions: Questions, line: int) -> Mapping[str, tuple[Binding, ...]]:
    """The possible bindings of each name when the statement at ``line`` begins to run."""
    try:
        state = _Flow(questions, until=line).block(body, {})
    except _Reached as reached:
        return reached.state
    return state or {}


def run_body(body: Sequence[Item], questions: Questions) -> Namespace:
    """Follow the statements of ``body``."""
    flow = _Flow(questions)
    state = flow.block(body, {})
    return Namespace(
        state if state is not None else flow.last,
        tuple(flow.open_stars),
        tuple(flow.effects),
        flow.raised if state is None else None,
        tuple(flow.imports),
        flow.deleted,
    )


@dataclass(slots=True)
class _Flow:
    questions: Questions
    open_stars: list[tuple[Import, str]] = field(default_factory=list)
    effects: list[tuple[SetAttribute | Call | Assign, bool]] = field(default_factory=list)
    imports: list[tuple[Import, bool]] = field(default_factory=list)
    deleted: dict[str, int] = field(default_factory=dict)
    raised: Raise | None = None
    last: State = field(default_factory=dict)
    doubts: int = 0  # how many open conditions the statement stands under
    until: int | None = None  # the line of the statement to stop at

    def block(self, items: Sequence[Item], state: State) -> State | None:
        """The state behind the items; None if they always raise. ``state`` is changed."""
        current: State | None = state
        for item in items:
            if current is None:
                return None
            current = self.item(item, current)
        return current

    def item(self, item: Item, state: State) -> State | None:
        kind = type(item)
        if self.until is not None and first_line(item) >= self.until:
            raise _Reached(state)
        if kind is Import:
            self.import_item(item, state)
        elif kind is FunctionFacts:
            state[item.name] = (item,)
        elif kind is ClassFacts:
            self.imports.extend((inner, self.doubts == 0) for inner in item.body if isinstance(inner, Import))
            state[item.name] = (item,)
        elif kind is Assign:
            if item.kind == ":":
                return state
            if item.kind in ("=", ":=", "for", "with", "match", "type"):
                state[item.name] = (item,)
                if item.name == "__all__":
                    self.effects.append((item, self.doubts == 0))
            else:
                state[item.name] = (*(b for b in state.get(item.name, ()) if b is not None), item)
                self.effects.append((item, self.doubts == 0))
        elif kind is If:
            return self.if_item(item, state)
        elif kind is Try:
            return self.try_item(item, state)
        elif kind is Delete:
            state[item.name] = (None,)
            self.deleted[item.name] = item.line
        elif kind is SetAttribute or kind is Call:
            self.effects.append((item, self.doubts == 0))
        elif kind is Raise:
            self.raised, self.last = item, state
            return None
        elif kind is With:
            return self.with_item(item, state)
        elif kind is Branches:
            self.doubts += 1
            arms = [self.block(arm, dict(state)) for arm in item.arms]
            self.doubts -= 1
            return _join([state, *arms])
        return state

    def import_item(self, item: Import, state: State) -> None:
        self.imports.append((item, self.doubts == 0))
        if item.name != "*":
            state[item.bound] = (item,)
            return
        module, names, reason = self.questions.star(item)
        for name in names:
            state[name] = (StarName(module, name, item),)
        if reason is not None:
            self.open_stars.append((item, reason))

    def if_item(self, item: If, state: State) -> State | None:
        answer = self.questions.test(item.test)
        if answer is Truth.YES:
            return self.block(item.body, state)
        if answer is Truth.NO:
            return self.block(item.orelse, state)
        self.doubts += 1
        body = self.block(item.body, dict(state))
        orelse = self.block(item.orelse, state)
        self.doubts -= 1
        return _join([body, orelse])

    def with_item(self, item: With, state: State) -> State:
        """A manager may swallow what is raised in its body: ``suppress`` is there for that, others are not known."""
        before = dict(state)
        managers = {context.text.partition("(")[0].rpartition(".")[2] for context in item.contexts}
        doubtful = not managers <= _PLAIN_MANAGERS
        self.doubts += doubtful
        after = self.block(item.body, state)
        self.doubts -= doubtful
        if after is None:
            return before
        return (_join([before, after]) or before) if "suppress" in managers else after

    def try_item(self, item: Try, state: State) -> State | None:
        if not item.handlers:
            after = self.block(item.body, state)
            if after is not None:
                after = self.block(item.orelse, after)
            return None if after is None else self.block(item.final, after)
        succeeds, failing = self.body_succeeds(item)
        before = dict(state)
        outcomes: list[State | None] = []
        if succeeds is not Truth.NO:
            # what no handler catches, fails: the body's imports stand as if they stood outside
            open_body = succeeds is Truth.MAYBE and any(_catches_import(handler.caught) for handler in item.handlers)
            self.doubts += open_body
            body = self.block(item.body, dict(state))
            if body is not None:
                body = self.block(item.orelse, body)
            outcomes.append(body)
            self.doubts -= open_body
        if succeeds is not Truth.YES or outcomes == [None]:
            self.doubts += succeeds is not Truth.NO
            reached = self.reached(item, before, failing)
            handlers = item.handlers
            if succeeds is Truth.NO:
                handlers = tuple(
                    h
                    for h in handlers
                    if not _IMPORT_ERRORS.isdisjoint(h.caught) or not _ANY_ERRORS.isdisjoint(h.caught)
                )[:1]
            outcomes.extend(self.block(handler.body, dict(reached)) for handler in handlers)
            self.doubts -= succeeds is not Truth.NO
        joined = _join(outcomes)
        return None if joined is None else self.block(item.final, joined)

    def body_succeeds(self, item: Try) -> tuple[Truth, int]:
        """Whether the body of a ``try`` runs to its end, and the index of the item that certainly fails."""
        caught = {name.rpartition(".")[2] for handler in item.handlers for name in handler.caught}
        any_error = not _ANY_ERRORS.isdisjoint(caught)
        only_imports = caught <= _IMPORT_ERRORS
        if not any_error and _IMPORT_ERRORS.isdisjoint(caught):
            return Truth.MAYBE, -1
        answer = Truth.YES
        for index, inner in enumerate(item.body):
            if isinstance(inner, Import):
                found = self.questions.succeeds(inner)
                if found is Truth.NO:
                    return (Truth.NO, index) if answer is Truth.YES else (Truth.MAYBE, -1)
                if found is Truth.MAYBE:
                    answer = Truth.MAYBE
            elif isinstance(inner, (FunctionFacts, ClassFacts)):
                if inner.decorators and any_error:
                    answer = Truth.MAYBE
            elif isinstance(inner, Assign):
                if not only_imports and not _is_harmless(inner):
                    answer = Truth.MAYBE
            elif isinstance(inner, (Call, SetAttribute)):
                if not only_imports:
                    answer = Truth.MAYBE
            else:
                answer = Truth.MAYBE
        return answer, -1

    def reached(self, item: Try, before: State, failing: int) -> State:
        """The state that a handler starts from: somewhere in the body, or at the import that fails."""
        state = dict(before)
        for inner in item.body[: failing if failing >= 0 else None]:
            if isinstance(inner, Import) and inner.name != "*":
                bound = inner.bound
            elif isinstance(inner, (FunctionFacts, ClassFacts, Assign)):
                bound = inner.name
            else:
                continue
            earlier = state.get(bound, (None,))
            state[bound] = (inner,) if failing >= 0 else _merge([earlier, (inner,)])
        return state


def first_line(item: Item) -> int:
    """The line where a statement begins, its decorators included."""
    if isinstance(item, ClassFacts):
        return item.first_line
    if isinstance(item, FunctionFacts):
        return item.decorators[0].line if item.decorators else item.line
    if isinstance(item, Call):
        return item.value.line
    if isinstance(item, Import):
        return item.statement_line
    return item.line


def _catches_import(caught: Iterable[str]) -> bool:
    return any(name.rpartition(".")[2] in (_IMPORT_ERRORS | _ANY_ERRORS) for name in caught)


def _is_harmless(item: Assign) -> bool:
    if item.value is None:
        return item.kind in (":", "type")
    text = item.value.text
    return text in ("True", "False", "None") or text.isdigit() or text[:1] in "'\""


def _join(states: Iterable[State | None]) -> State | None:
    alive = [state for state in states if state is not None]
    if not alive:
        return None
    if len(alive) == 1:
        return alive[0]
    joined: State = {}
    for name in dict.fromkeys(name for state in alive for name in state):
        found = [state.get(name, (None,)) for state in alive]
        first = found[0]
        joined[name] = first if all(other is first for other in found) else _merge(found)
    return joined


def _merge(found: Sequence[tuple[Binding, ...]]) -> tuple[Binding, ...]:
    merged: list[Binding] = []
    for bindings in found:
        for binding in bindings:
            if not any(binding is known for known in merged):
                merged.append(binding)
    return tuple(merged)
