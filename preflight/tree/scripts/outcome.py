"""What following a patch script gives: the files that it writes, and what of it has no effect or stops it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum


class ScriptWhy(str, Enum):
    """What is wrong with a step of a patch script."""

    STOPS = "stops"  #: the script ends with an error here
    NO_ANCHOR = "no-anchor"  #: the text to replace is not in the file
    NO_FILE = "no-file"  #: the file to patch is not in the tree
    APPLIED = "applied-already"  #: the file has the replacement, and not the text to replace
    SEVERAL = "several"  #: the text to replace is there more than once


@dataclass(frozen=True, slots=True)
class ScriptFailure:
    """A step of a script that does not do what it says. ``line`` counts from 1 in ``script``.

    ``path`` is the file of the tree that is meant (None where the step is about no file), ``anchor`` the text that is
    looked for in it, ``lines`` where the tree has it, ``reason`` the error that a script which stops ends with.
    """

    script: str
    line: int
    why: ScriptWhy
    path: str | None = None
    anchor: str | None = None
    lines: tuple[int, ...] = ()
    reason: str = ""
    handled: bool = False  #: the script itself asks for the text, and goes on without it


@dataclass(frozen=True, slots=True)
class Made:
    """A line of a script, and the text that it put into a file."""

    line: int
    text: str


@dataclass(slots=True)
class Outcome:
    """All of one script. ``given_up``: why it could not be followed to its end, with the line; nothing that it wrote is
    then laid over the tree, for it is not all."""

    script: str
    writes: dict[str, bytes | None] = field(default_factory=dict)
    made: dict[str, list[Made]] = field(default_factory=dict)
    failures: list[ScriptFailure] = field(default_factory=list)
    given_up: tuple[str, int] | None = None

    @property
    def stopped(self) -> bool:
        """Whether the script ends with an error."""
        return any(failure.why is ScriptWhy.STOPS for failure in self.failures)


class GaveUp(Exception):
    """The script does something that cannot be followed without running it."""

    def __init__(self, reason: str, line: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line
