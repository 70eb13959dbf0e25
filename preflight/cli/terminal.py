"""What the stream that we write to can show."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import TextIO


@dataclass(frozen=True, slots=True)
class Terminal:
    """``width`` in columns."""

    colour: bool
    width: int


def terminal_of(stream: TextIO) -> Terminal:
    """Whether ``stream`` takes colours, and how wide it is.

    NO_COLOR (no-color.org) forbids colours, FORCE_COLOR asks for them, else a terminal that is not "dumb" has them.
    """
    if os.environ.get("NO_COLOR"):
        colour = False
    elif os.environ.get("FORCE_COLOR"):
        colour = True
    else:
        colour = stream.isatty() and os.environ.get("TERM") != "dumb"
    width = 100
    if stream.isatty():
        import shutil

        width = shutil.get_terminal_size((100, 24)).columns
    return Terminal(colour, max(width, 40))


def shows_progress() -> bool:
    """Progress is shown on standard error, and only to a person."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
