"""The cyclic collector of Python, set aside while objects are made by the million of which none is garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Run a block without the collector: syntax trees and what a walk makes live until the end of their work, and to
    go through them again and again costs more than to read them. It is on again afterwards if it was before."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
