"""Signals by number: what a process that was ended by one is said to have died of."""

from __future__ import annotations

import signal


def signal_name(number: int) -> str:
    """``SIGKILL`` for 9; ``signal 99`` for one that has no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def signal_failure(number: int) -> tuple[str | None, str]:
    """(the word for it, a description). No word for signals by which somebody asked for the end."""
    name = signal_name(number)
    words = {
        "SIGKILL": "Killed",
        "SIGSEGV": "Segmentation fault",
        "SIGABRT": "Aborted",
        "SIGBUS": "Bus error",
        "SIGILL": "Illegal instruction",
    }
    hint = ", as the kernel does when memory runs out" if name == "SIGKILL" else ""
    return words.get(name), f"{name}{hint}"
