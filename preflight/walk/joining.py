"""What is known of a value or a content when it is one of two, which one is not known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from preflight.walk.stored import both
from preflight.walk.values import MOST_OPTIONS, Bound, Const, External, Host, OneOf, Perhaps, Seq, Unknown, Value

if TYPE_CHECKING:
    from preflight.walk.machine import Machine


def same(left: Value, right: Value) -> bool:
    """Whether two values are surely the same one, told apart by nothing."""
    if left is right:
        return True
    if isinstance(left, Const) and isinstance(right, Const):
        a, b = left.value, right.value
        if type(a) is not type(b):
            return False
        return a is b or (isinstance(a, (str, int, bytes)) and a == b) or (isinstance(a, float) and repr(a) == repr(b))
    if isinstance(left, Bound) and isinstance(right, Bound):
        return left.function is right.function and same(left.receiver, right.receiver)
    if isinstance(left, External) and isinstance(right, External):
        return left.name == right.name
    return isinstance(left, Perhaps) and isinstance(right, Perhaps) and same(left.value, right.value)


def join(machine: Machine, left: Value, right: Value, why: str) -> Value:
    """One value that stands for either."""
    if same(left, right):
        return left
    if isinstance(left, Perhaps) or isinstance(right, Perhaps):
        inner_left = left.value if isinstance(left, Perhaps) else left
        inner_right = right.value if isinstance(right, Perhaps) else right
        return Perhaps(join(machine, inner_left, inner_right, why))
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return _join_unknown(left, right)
    if isinstance(left, Seq) and isinstance(right, Seq) and _are_tuples(left, right):
        items = [join(machine, a, b, why) for a, b in zip(left.content, right.content, strict=True)]
        return machine.tuple(items)
    options: list[Value] = []
    for value in (left, right):
        for option in value.options if isinstance(value, OneOf) else (value,):
            if not any(same(option, other) for other in options):
                options.append(option)
    if len(options) == 1:
        return options[0]
    if len(options) > MOST_OPTIONS:
        machine.escape(options, why)
        return Unknown(why, truthy=_common_truth(options))
    return OneOf(tuple(options))


def _are_tuples(left: Seq, right: Seq) -> bool:
    return left.kind.name == right.kind.name == "tuple" and len(left.content) == len(right.content)


def _join_unknown(left: Value, right: Value) -> Value:
    unknown = left if isinstance(left, Unknown) else right
    assert isinstance(unknown, Unknown)
    other = right if unknown is left else left
    cls = unknown.cls if isinstance(other, Unknown) and other.cls is unknown.cls else None
    return Unknown(unknown.reason, unknown.place, truthy=_common_truth([left, right]), cls=cls)


def _common_truth(values: list[Value]) -> bool | None:
    truths = set()
    for value in values:
        if isinstance(value, Const):
            truths.add(bool(value.value))
        elif isinstance(value, Unknown):
            truths.add(value.truthy)
        else:
            return None
    return truths.pop() if len(truths) == 1 else None


def join_contents(
    machine: Machine, left: Host, left_loose: str | None, right: Host, right_loose: str | None, why: str
) -> tuple[Any, str | None]:
    """The content of a store, and why it is loose, after one of two arms."""
    loose = both(left_loose, right_loose)
    if isinstance(left, list):
        if len(left) != len(right):
            return [], loose or why
        return [join(machine, a, b, why) for a, b in zip(left, right, strict=True)], loose
    joined: dict[Any, Any] = left.copy()
    for key, entry, other in zip(left, left.values(), map(right.get, left), strict=True):
        if entry is other:
            continue
        if other is None:
            joined[key] = _perhaps(entry)
        elif isinstance(entry, tuple):
            joined[key] = (entry[0], join(machine, entry[1], other[1], why))
        else:
            joined[key] = join(machine, entry, other, why)
    for key, entry in right.items():
        if key not in left:
            joined[key] = _perhaps(entry)
    return joined, loose


def _perhaps(entry: Host) -> Host:
    if isinstance(entry, tuple):
        return (entry[0], _perhaps(entry[1]))
    return entry if isinstance(entry, Perhaps) else Perhaps(entry)
