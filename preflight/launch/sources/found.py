"""What the readers of launch files find."""

from __future__ import annotations

from dataclasses import dataclass

from preflight.launch.words import Origin, Word


@dataclass(frozen=True, slots=True)
class Assignment:
    """An environment variable of a launch. ``value`` may hold marks (see ``unresolved``)."""

    name: str
    value: str
    origin: Origin


@dataclass(frozen=True, slots=True)
class FoundCommand:
    """A command of a launch file, its words as the program will get them. ``image`` is the container's, if it has one.

    ``conditional`` is the line of the condition that it stands under.
    """

    words: tuple[Word, ...]
    environment: tuple[Assignment, ...] = ()
    image: str | None = None
    conditional: int | None = None

    @property
    def line(self) -> int | None:
        return self.words[0].origin.line if self.words else None


@dataclass(frozen=True, slots=True)
class Doubt:
    """Something in a launch file that cannot be told, and where."""

    message: str
    origin: Origin
