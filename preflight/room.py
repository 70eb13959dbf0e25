"""Room for the frames of deep calls.

CPython keeps the frames of a thread in chunks of 16 KiB, and gives a chunk back as soon as its last frame returns. A
loop whose calls stand at the end of one asks the system for memory at each call, and takes several times as long;
whether it does is a matter of luck. A frame that is larger than a chunk gets one of its own, whose size is a power of
two, with room for all that it calls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

#: so many values the frame has room for: a chunk of 8 MiB is asked for, of which nothing is touched for them
_VALUES = 600_000


def with_room(work: Callable[[], T]) -> T:
    """The result of ``work``, called from a frame that leaves some three MiB for the frames of its calls."""
    return work()


with_room.__code__ = with_room.__code__.replace(co_stacksize=_VALUES)
