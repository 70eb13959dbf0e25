"""Marks in the words of a launch for what its file does not tell: a variable that it does not set, a command's output.

A mark is text between two private characters, so that it survives whatever the launch code does with a word, and can be
found again in what comes out.
"""

from __future__ import annotations

import re

_OPEN, _CLOSE = "\ue000", "\ue001"
_MARK = re.compile(f"{_OPEN}([^{_OPEN}{_CLOSE}]*){_CLOSE}")


def mark(what: str) -> str:
    """The mark for ``what`` (``$PORT``, ``$(hostname)``)."""
    return f"{_OPEN}{what}{_CLOSE}"


def marks_in(text: str) -> tuple[str, ...]:
    """What is not told in ``text``, in order."""
    return tuple(_MARK.findall(text)) if _OPEN in text else ()


def is_open(text: str) -> bool:
    """True if a part of ``text`` is not known."""
    return _OPEN in text


def readable(text: str) -> str:
    """``text`` as a message shows it: marks as they stood in the file."""
    return _MARK.sub(lambda found: found.group(1), text)
