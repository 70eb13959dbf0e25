"""C3, the order in which Python looks through base classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def linearize(head: T, bases: Sequence[T], orders: Sequence[Sequence[T]]) -> list[T] | None:
    """The MRO of ``head`` whose bases have the MROs ``orders``; None if there is no consistent one.

    Elements are compared by identity of meaning (``==``). Python additionally refuses a base that is listed twice;
    so does this.
    """
    if len(set(bases)) != len(bases):
        return None
    sequences = [list(order) for order in orders if order]
    if bases:
        sequences.append(list(bases))
    result = [head]
    while sequences:
        for sequence in sequences:
            candidate = sequence[0]
            if not any(candidate in other[1:] for other in sequences):
                break
        else:
            return None
        result.append(candidate)
        sequences = [rest for sequence in sequences if (rest := sequence[1:] if sequence[0] == candidate else sequence)]
    return result
