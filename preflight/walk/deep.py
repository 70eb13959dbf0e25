"""Runs a walk with room for deep calls: a tree walk spends several host frames on each call of the walked program."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_STACK = 512 << 20
_RECURSION = 30_000


def run_deep(work: Callable[[], T]) -> T:
    """The result of ``work``, run in a thread with a large stack; what it raises is raised here."""
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        # a walk makes many small objects that live until its end: the cyclic collector would only look at them again
        collecting = gc.isenabled()
        gc.disable()
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)
        finally:
            if collecting:
                gc.enable()

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
