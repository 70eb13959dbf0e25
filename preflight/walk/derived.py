"""Constants that were computed from the number of a round of a loop, and who looked at them.

The layers of a model differ by a number and by the names made of it. Such a constant knows what it was computed from,
so the same computation can be made for another number; and what the walk learned from it (its truth, a comparison, in
the worst case the value itself) is written down while a constructor is recorded (``preflight.walk.repeats``).
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from preflight.operators import COMPARISONS
from preflight.walk.values import Const, Host, Map, Perhaps, Seq, SetValue, Value

if TYPE_CHECKING:
    from preflight.walk.machine import Machine

#: a longer chain of computations is cut: its value is looked at, and goes on as a plain constant
_LONGEST = 30
_PLAIN = (int, float, str, type(None))

#: something that was looked at: the constant, what was asked of it, and the answer
Look = tuple["Derived", Callable[[Any], Any], Any]


class Looks:
    """Who records what is looked at, innermost last."""

    __slots__ = ("open",)

    def __init__(self) -> None:
        self.open: list[list[Look]] = []


class Derived(Const):
    """A constant that depends on the number of a round. ``compute`` makes it of ``sources``; a number has none."""

    __slots__ = ("born", "compute", "depth", "looks", "raw", "sources")

    def __init__(
        self,
        raw: Host,
        looks: Looks,
        born: int,
        compute: Callable[..., Any] | None = None,
        sources: tuple[Const, ...] = (),
    ) -> None:
        self.origin = None
        self.raw = raw
        self.looks = looks
        self.born = born
        self.compute = compute
        self.sources = sources
        self.depth = 1 + max((one.depth for one in sources if isinstance(one, Derived)), default=0)

    @property
    def value(self) -> Host:  # pyrefly: ignore[bad-override]
        """The constant as everyone sees it who knows nothing of rounds; whoever asks depends on it."""
        if self.looks.open:
            self.looks.open[-1].append((self, itself, self.raw))
        return self.raw

    def asked(self, test: Callable[[Any], Any]) -> Any:  # noqa: ANN401 - what the test says
        """What ``test`` says of the constant; whoever asks depends on no more than that."""
        answer = test(self.raw)
        if self.looks.open:
            self.looks.open[-1].append((self, test, answer))
        return answer


def itself(raw: Host) -> Host:
    """The test of those who look at the value."""
    return raw


def raw_of(value: Const) -> Host:
    """The constant, without looking at it."""
    return value.raw if isinstance(value, Derived) else value.value


def number(machine: Machine, raw: int) -> Const:
    """The number of a round."""
    return Derived(raw, machine.repeats.looks, machine.state.serial)


def derive(machine: Machine, raw: Host, compute: Callable[..., Any], sources: tuple[Const, ...]) -> Value:
    """The constant ``raw``, which ``compute`` makes of ``sources``."""
    made = Derived(raw, machine.repeats.looks, machine.state.serial, compute, sources)
    if made.depth > _LONGEST or not isinstance(raw, _PLAIN):
        return machine.value(made.value)
    return made


def apply(machine: Machine, compute: Callable[..., Any], sources: tuple[Const, ...]) -> Value:
    """What a pure function makes of constants of which one is derived. What it raises, it raises here."""
    try:
        raw = compute(*(raw_of(source) for source in sources))
    except Exception:
        for source in sources:
            if isinstance(source, Derived):
                source.asked(itself)
        raise
    if isinstance(raw, (list, tuple)) and all(isinstance(item, _PLAIN) for item in raw):
        whole = Derived(raw, machine.repeats.looks, machine.state.serial, compute, sources)
        whole.asked(len)
        items = [derive(machine, item, operator.itemgetter(index), (whole,)) for index, item in enumerate(raw)]
        return machine.list(items) if isinstance(raw, list) else machine.tuple(items)
    return derive(machine, raw, compute, sources)


def compare(machine: Machine, op: ast.cmpop, left: Value, right: Value) -> Value | None:
    """A comparison of which one side is derived; None where it is to be made as any other."""
    compute = COMPARISONS.get(type(op))
    if compute is not None:
        if not (isinstance(left, Const) and isinstance(right, Const)):
            return None
    elif isinstance(op, (ast.Is, ast.IsNot)):
        if not (isinstance(left, Const) and isinstance(right, Const)) or None not in (raw_of(left), raw_of(right)):
            return None
        compute = operator.is_ if isinstance(op, ast.Is) else operator.is_not
    elif isinstance(left, Const):
        inside = _membership(right)
        if inside is None:
            return None
        wanted = isinstance(op, ast.In)
        if isinstance(right, Const):
            compute = _within if wanted else _not_within
        else:
            return _applied(machine, lambda item: inside(item) is wanted, (left,))
    else:
        return None
    return _applied(machine, compute, (left, right))


def _applied(machine: Machine, compute: Callable[..., Any], sources: tuple[Const, ...]) -> Value | None:
    try:
        raw = compute(*(raw_of(source) for source in sources))
    except TypeError:
        return None
    return derive(machine, raw, compute, sources)


def _within(item: Host, container: Host) -> bool:
    return item in container


def _not_within(item: Host, container: Host) -> bool:
    return item not in container


def _membership(container: Value) -> Callable[[Any], bool] | None:
    """The test whether something is in ``container``, as it is when it is asked."""
    if isinstance(container, Const):
        return (lambda item: True) if isinstance(raw_of(container), (str, range)) else None
    if isinstance(container, (Map, SetValue)):
        if container.loose or any(
            isinstance(entry[1] if isinstance(entry, tuple) else entry, Perhaps) for entry in container.content.values()
        ):
            return None
        return lambda item: item in container.content
    if not isinstance(container, Seq) or container.loose:
        return None
    if any(not isinstance(item, Const) or isinstance(item, Derived) for item in container.content):
        return None
    known = [item.value for item in container.content if isinstance(item, Const)]
    return lambda item: item in known


def item_of(machine: Machine, items: list[Value], key: Derived) -> Value | None:
    """The item of a list at a derived place; None where it is to be read as any other."""
    raw = key.raw
    if type(raw) is not int or not -len(items) <= raw < len(items):
        return None
    found = items[raw]
    if isinstance(found, Const) and all(isinstance(item, Const) for item in items):
        raws = [raw_of(item) for item in items if isinstance(item, Const)]
        if not any(isinstance(item, Derived) for item in items):
            made = derive(machine, raw_of(found), raws.__getitem__, (key,))
            made.origin = found.origin
            return made
        return None
    kept = list(items)
    key.asked(lambda place: id(kept[place]))
    return found
