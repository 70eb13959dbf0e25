"""Runs a walk with room for deep calls: a tree walk spends several host frames on each call of the walked program."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TypeVar

from preflight.collector import uncollected
from preflight.room import with_room

T = TypeVar("T")

_STACK = 512 << 20
_RECURSION = 30_000


def run_deep(work: Callable[[], T]) -> T:
    """The result of ``work``, run in a thread with a large stack; what it raises is raised here."""
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        with uncollected():
            try:
                results.append(with_room(work))
            except BaseException as error:
                errors.append(error)

    recursion, stack = sys.getrecursionlimit(), threading.stack_size(_STACK)
    sys.setrecursionlimit(max(recursion, _RECURSION))
    try:
        thread = threading.Thread(target=run, name="walk")
        thread.start()
        thread.join()
    finally:
        sys.setrecursionlimit(recursion)
        threading.stack_size(stack)
    if errors:
        raise errors[0]
    return results[0]
