"""The arguments of the commands that run a part of what they have."""

from __future__ import annotations


def named_slice(argument: str) -> tuple[str, slice]:
    """``NAME``, which takes all, or ``NAME:start:stop:step``, of which each number may be left out."""
    name, _, bounds = argument.partition(":")
    return name, slice(*(int(part) if part else None for part in bounds.split(":"))) if bounds else slice(None)
