"""The machine of one walk: its state, its budget, and one way from each operation to the code that does it."""

from __future__ import annotations

import ast
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NoReturn

from preflight.model import Step
from preflight.walk import (
    assigning,
    attributes,
    branching,
    calls,
    classes,
    equality,
    expressions,
    iteration,
    naming,
    statements,
    subscripts,
    texts,
    tries,
)
from preflight.walk.frames import Frame, line_of
from preflight.walk.native import Natives
from preflight.walk.origins import assumed_in
from preflight.walk.outcomes import Exit, GaveUp, Outcome, Raise, Raised, Spot
from preflight.walk.repeats import Repeats
from preflight.walk.returning import gives_value
from preflight.walk.state import Pending, State
from preflight.walk.stored import Partly, both
from preflight.walk.values import (
    Class,
    Const,
    Function,
    Instance,
    Map,
    ModuleValue,
    OneOf,
    Perhaps,
    Place,
    Seq,
    SetValue,
    Store,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from preflight.walk.course import Course
    from preflight.walk.library.registry import Library
    from preflight.walk.modules import Modules


@dataclass(slots=True)
class Limits:
    """What a walk may cost."""

    steps: int = 1_500_000  #: pieces of code
    seconds: float = 20.0  #: of the processor, which only a walk gone astray ever needs
    branch_steps: int = (
        40_000  #: pieces of code in one arm of a condition that is not known, before it enters no more calls
    )
    depth: int = 90  #: calls inside calls
    rounds: int = 5_000  #: rounds of one loop
    waiting: int = 80  #: possible raises that a ``try`` keeps apart, with the state each leaves
    size: int = 1_000_000  #: items of one list, characters of one string


@dataclass(slots=True)
class Doubt:
    """A question the walk could not answer, counted by its id and place."""

    id: str
    reason: str
    place: Place | None
    count: int = 1


@dataclass(slots=True)
class Machine:
    """One walk. Entry points are run with ``preflight.walk.entry``."""

    modules: Modules
    library: Library
    limits: Limits = field(default_factory=Limits)
    state: State = field(default_factory=State)
    natives: Natives = field(default_factory=Natives)
    repeats: Repeats = field(default_factory=Repeats)
    frames: list[Frame] = field(default_factory=list)
    steps: int = 0
    #: containers whose text is being made: one that holds itself has none
    texting: list[Value] = field(default_factory=list)
    #: the step count at which the innermost arm of an unknown condition has spent its budget
    arm_ends: list[int] = field(default_factory=list)
    doubts: dict[tuple[str, str, int], Doubt] = field(default_factory=dict)
    possible: list[Exit] = field(default_factory=list)
    assumed: dict[str, str] = field(default_factory=dict)
    #: places that a fault may come from: a name that only a library has, where the tree has one like it
    remarks: dict[tuple[str, str], Step] = field(default_factory=dict)
    #: faults that were found already and are walked past, to find those behind them: (path, line, what)
    past: set[Spot] = field(default_factory=set)
    #: the stage that is walked, which decides what becomes of its faults
    course: Course | None = None
    #: the open ``try`` statements that end in an exception whatever is raised inside, with the number of frames there
    passing: list[tuple[int, ast.Try]] = field(default_factory=list)
    #: the function that a statement of an open frame calls, until it is entered
    heading: Function | None = None
    #: functions that call themselves with what is not known, while it is found out what they change
    descending: list[Function] = field(default_factory=list)
    #: whether functions give a value, for those that were on the way of an exception
    giving: dict[Function, bool] = field(default_factory=dict)
    end: float = field(init=False)
    last: int = field(init=False)

    def __post_init__(self) -> None:
        self.allow()

    def allow(self, steps: int | None = None) -> None:
        """The budget counts from here: that of the limits, or fewer ``steps``."""
        self.end = time.thread_time() + self.limits.seconds
        self.last = self.steps + min(self.limits.steps, steps if steps is not None else self.limits.steps)

    # --- budget and places ---

    def step(self) -> None:
        """One more piece of code is walked."""
        self.steps = steps = self.steps + 1
        if steps > self.last or not steps & 1023:
            self.check()

    def check(self) -> None:
        """Raises GaveUp where the budget is spent."""
        if self.steps > self.last:
            raise GaveUp("walk-budget", f"the walk was ended after {self.limits.steps} steps", self.place())
        if time.thread_time() > self.end:
            raise GaveUp("walk-time", f"the walk was ended after {self.limits.seconds:g} seconds", self.place())

    def spent(self) -> bool:
        """Whether the innermost arm of an unknown condition has used up its steps."""
        return bool(self.arm_ends) and self.steps > self.arm_ends[-1]

    @property
    def frame(self) -> Frame:
        return self.frames[-1]

    def place(self, node: ast.AST | None = None) -> Place:
        """Where the walk is, or where ``node`` of the current frame stands."""
        if not self.frames:
            return Place("", 0)
        frame = self.frames[-1]
        return place_of(frame.path, node if node is not None else frame.node)

    def doubt(self, id: str, reason: str) -> None:
        """Note a question that could not be answered."""
        place = self.place()
        key = (id, place.path, place.line)
        known = self.doubts.get(key)
        if known is None:
            self.doubts[key] = Doubt(id, reason, place)
        else:
            known.count += 1

    def assume(self, key: str, sentence: str) -> None:
        """Note an assumption that the walk rests on."""
        self.assumed.setdefault(key, sentence)

    def unknown(self, reason: str, *, cls: Class | None = None, truthy: bool | None = None) -> Unknown:
        return Unknown(reason, self.place(), truthy=truthy, cls=cls)

    def weigh(self, origin: str) -> None:
        """A value of this origin decides how the code at hand goes on."""
        found = assumed_in(origin)
        if found and self.frames:
            self.frames[-1].weighed |= found

    def is_past(self, what: str) -> bool:
        """Whether the fault ``what`` (``raise``, or a missing attribute's name) at this place was found before."""
        return bool(self.past) and (self.frame.path, self.frame.line, what) in self.past

    # --- making values ---

    def tuple(self, items: list[Value]) -> Seq:
        return Seq(self.natives.tuple, items, self.state.fresh())

    def list(self, items: list[Value]) -> Seq:
        return Seq(self.natives.list, items, self.state.fresh())

    def dict(self, pairs: list[tuple[Value, Value]]) -> Map:
        """A dict; a key that is not known makes it loose."""
        made = Map(self.natives.dict, {}, self.state.fresh())
        for key, value in pairs:
            subscripts.store_item(self, made, key, value)
        return made

    def strings(self, pairs: dict[str, Value]) -> Map:
        """A dict with these string keys."""
        return Map(self.natives.dict, {key: (Const(key), value) for key, value in pairs.items()}, self.state.fresh())

    def set(self, items: list[Value], kind: Class | None = None) -> Value:
        made = SetValue(kind if kind is not None else self.natives.set, {}, self.state.fresh())
        for item in items:
            subscripts.add_element(self, made, item)
        return made

    def instance(self, cls: Class, payload: Value | None = None) -> Instance:
        return Instance(cls, self.state.fresh(), payload)

    # --- raising ---

    def fail(
        self,
        name: str,
        message: str,
        *,
        values: tuple[tuple[str, Value], ...] = (),
        missing: tuple[Value, str] | None = None,
        unbound: tuple[str, str] | None = None,
        callee: Place | None = None,
    ) -> NoReturn:
        """The walked program raises the built-in exception ``name`` here."""
        cls = self.natives.exception(name)
        error = self.instance(cls)
        error.content["args"] = self.tuple([Const(message)])
        raise Raised((self.exit(error, message, values=values, missing=missing, unbound=unbound, callee=callee),))

    def exit(
        self,
        error: Value,
        message: str | None,
        *,
        values: tuple[tuple[str, Value], ...] = (),
        missing: tuple[Value, str] | None = None,
        unbound: tuple[str, str] | None = None,
        callee: Place | None = None,
    ) -> Exit:
        """An exception on its way out from here."""
        cls = error.cls if isinstance(error, (Instance, Unknown)) else None
        deep = len(self.frames)
        around = [
            (deep - level, frame, condition)
            for level, frame in enumerate(self.frames, 1)
            for condition in frame.conditions
        ]
        # with the values as they are now; of what a handler may catch, the last are enough
        conditions = tuple(
            replace(condition, values=branching.named_values(frame, condition.test), calls=calls)
            for calls, frame, condition in (around[-2:] if self.state.tries else around)
        )
        weighed: frozenset[str] = frozenset()
        for frame in reversed(self.frames):
            weighed |= frame.weighed
            if frame.kind != "comprehension":
                break
        return Exit(
            error,
            cls,
            message,
            self.place(),
            self.way(),
            conditions,
            values,
            missing,
            unbound,
            self._waiting(),
            weighed,
            callee,
        )

    def _waiting(self) -> frozenset[tuple[str, str]]:
        """The functions on the way that wait for a value of what they called."""
        found = set()
        for caller, called in zip(self.frames, self.frames[1:], strict=False):
            if called.function is None:
                continue
            gives = self.giving.get(called.function)
            if gives is None:
                gives = self.giving[called.function] = gives_value(called.function)
            if gives:
                found.add((caller.path, caller.name))
        return frozenset(found)

    def way(self) -> tuple[tuple[str, ast.AST, str], ...]:
        """The calls on the way here, outermost first, as an exit keeps them."""
        return tuple(
            [
                (frame.module.file, frame.node, frame.name)
                for frame in self.frames
                if frame.kind != "comprehension" and frame.node is not None
            ]
        )

    def note_possible(self, exits: tuple[Exit, ...]) -> None:
        if len(self.possible) < 200:
            self.possible += exits

    def may_raise(self, reason: str) -> None:
        """Something that is not known happens here; a ``try`` around it may have to catch what it raises."""
        if self.state.tries and len(self.state.pendings) < self.limits.waiting:
            exit = Exit(self.unknown(reason), None, None, self.place(), self.way())
            self.pend(Raise((exit,)))

    def pend(self, outcome: Outcome) -> None:
        """``outcome`` may happen here, with the present state; the walk goes on as if it did not."""
        state = self.state
        segment = state.segments[-1] if state.segments else None
        if segment is None or segment.saved or not state.pendings or state.pendings[-1].segment is not segment:
            segment = state.open()
        state.pendings.append(Pending(outcome, {}, segment))

    # --- unknowns that spread ---

    def escape(
        self, values: list[Value], reason: str, *, deep: bool = False, names: frozenset[str] | None = None
    ) -> None:
        """``values`` are given to code that is not walked and may change them.

        A library changes containers, and adds to objects, but knows no attribute of a class of the tree: what they hold
        stays known; ``names`` are the attributes it may add, where they are known. Code of the tree that is not entered
        may change everything it can reach (``deep``).
        """
        seen: set[int] = set()
        todo = list(values)
        while todo:
            value = todo.pop()
            if isinstance(value, OneOf):
                todo += value.options
            if not isinstance(value, Store) or id(value) in seen:
                continue
            seen.add(id(value))
            if isinstance(value, Seq):
                todo += value.content
                if value.kind is not self.natives.tuple:
                    self.loosen(value, reason, clear=True)
            elif isinstance(value, Map):
                todo += [entry for _key, entry in value.content.values()]
                self.loosen(value, reason, clear=True)
            elif isinstance(value, SetValue):
                if value.kind is not self.natives.frozenset:
                    self.loosen(value, reason, clear=True)
            elif (
                isinstance(value, Instance)
                and not value.cls.notes.get("singleton")
                and "members" not in value.cls.notes
            ):
                if deep:
                    todo += [item.value if isinstance(item, Perhaps) else item for item in value.content.values()]
                lent = reason if names is None else Partly(reason, names)
                self.loosen(value, reason if deep else both(lent, value.loose) or reason, clear=deep)
            elif isinstance(value, Frame) and deep:
                todo += value.content.values()
                self.loosen(value, reason, clear=True)
            elif isinstance(value, Function) and deep and value.closure.kind == "function":
                todo.append(value.closure)

    def forget_globals(self, module: ModuleValue, names: set[str], reason: str) -> None:
        """Code of ``module`` that declares ``names`` global is not walked: what they hold is not known."""
        for name in names:
            self.modules.bind(self, module, name, self.unknown(reason))

    def loosen(self, store: Store, reason: str, *, clear: bool) -> None:
        """``store`` may hold more than is known; with ``clear`` nothing of what it held is sure."""
        self.state.touch(store)
        store.loose = reason
        if clear:
            store.content = [] if isinstance(store.content, list) else {}

    # --- the one way to each operation: functions of other modules, which a walk asks for millions of times ---

    evaluate = expressions.evaluate
    execute = statements.execute
    store = naming.store
    enter = statements.enter
    leave = statements.leave
    get = attributes.get
    find = attributes.find
    assign = assigning.assign
    class_of = classes.class_of
    is_instance = classes.is_instance
    catches = tries.matches
    truth = equality.truth
    equal = equality.equal
    iterate = iteration.iterate
    items = iteration.items
    text = texts.text
    host = iteration.host
    value = iteration.value

    def call(self, callee: Value, arguments: list[Value], keywords: dict[str, Value] | None = None) -> Value:
        return calls.call(self, callee, arguments, keywords or {})


def place_of(path: str, node: ast.AST | None) -> Place:
    """The place of a node, columns counted in characters of the line as ``ast`` gives them in bytes for ASCII lines."""
    if node is None or not hasattr(node, "lineno"):
        return Place(path, line_of(node))
    line = line_of(node)
    if line != node.lineno:
        return Place(path, line)
    end = node.end_col_offset
    return Place(path, line, node.col_offset + 1, node.end_lineno, end + 1 if end is not None else None)
