"""A progress bar on standard error."""

from __future__ import annotations

import shutil
import sys
import time


class Progress:
    """Shows how much of ``total`` bytes is there. Does nothing unless ``shown``."""

    def __init__(self, title: str, total: int, *, shown: bool) -> None:
        self._title = title
        self._total = max(total, 1)
        self._shown = shown and total > 0
        self._done = 0
        self._drawn = 0.0

    def add(self, size: int) -> None:
        """``size`` more bytes are there."""
        self._done = min(self._done + size, self._total)
        if self._shown and (time.monotonic() - self._drawn > 0.1 or self._done == self._total):
            self._drawn = time.monotonic()
            self._draw()

    def close(self) -> None:
        """Takes the bar away."""
        if self._shown and self._drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def _draw(self) -> None:
        counts = f" {self._done / 1e6:.1f} of {self._total / 1e6:.1f} MB"
        room = shutil.get_terminal_size().columns - len(self._title) - len(counts) - 5
        width = max(0, min(40, room))
        full = width * self._done // self._total
        bar = f" [{'#' * full}{'.' * (width - full)}]" if width > 4 else ""
        sys.stderr.write(f"\r{self._title}{bar}{counts}\x1b[K")
        sys.stderr.flush()
