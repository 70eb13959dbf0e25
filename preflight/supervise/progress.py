"""The one line at the foot of a terminal that says how far the launch is."""

from __future__ import annotations

from typing import TextIO


class ProgressLine:
    """Draws over itself. On anything but a terminal it draws nothing."""

    def __init__(self, stream: TextIO, shown: bool, width: int) -> None:
        self._stream = stream
        self._shown = shown
        self._width = width
        self._drawn = ""
        self.at_line_start = True  #: the output above ends with a line end; otherwise drawing would run into it

    def draw(self, text: str) -> None:
        """Show ``text``, if it is another one than before."""
        text = f"preflight: {text}"[: self._width - 1]
        if self._shown and self.at_line_start and text != self._drawn:
            self._stream.write(f"\r\x1b[K{text}")
            self._stream.flush()
            self._drawn = text

    def clear(self) -> None:
        """Take the line away, so that something else can be written there."""
        if self._drawn:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._drawn = ""


def duration(seconds: float) -> str:
    """``7 s``, ``12:05``, ``1:02:03``."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    hours, rest = divmod(whole, 3600)
    minutes = f"{rest // 60:02d}:{rest % 60:02d}"
    return f"{hours}:{minutes}" if hours else minutes
