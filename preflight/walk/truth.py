"""Three-valued truth: yes, no, maybe. An unknown is never falsy."""

from __future__ import annotations

from enum import Enum

from preflight.walk.values import FALSE, TRUE, Unknown, Value


class Truth(Enum):
    """The answer to a condition."""

    YES = "yes"
    NO = "no"
    MAYBE = "maybe"

    def __bool__(self) -> bool:
        raise TypeError("Truth has three values; compare with `is`")

    def negated(self) -> Truth:
        if self is Truth.YES:
            return Truth.NO
        return Truth.YES if self is Truth.NO else Truth.MAYBE


def known(value: bool) -> Truth:
    return Truth.YES if value else Truth.NO


def both(left: Truth, right: Truth) -> Truth:
    """Kleene's AND."""
    if left is Truth.NO or right is Truth.NO:
        return Truth.NO
    return Truth.YES if left is Truth.YES and right is Truth.YES else Truth.MAYBE


def either(left: Truth, right: Truth) -> Truth:
    """Kleene's OR."""
    return both(left.negated(), right.negated()).negated()


def unite(truths: list[Truth]) -> Truth:
    """The answer when one of these answers holds, and which one is not known."""
    first = truths[0]
    return first if all(truth is first for truth in truths) else Truth.MAYBE


def as_value(truth: Truth, reason: str) -> Value:
    """A bool of the walk with this truth."""
    if truth is Truth.MAYBE:
        return Unknown(reason)
    return TRUE if truth is Truth.YES else FALSE
