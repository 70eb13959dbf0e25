"""The words of a launch, each with the place that it stands at."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a word comes from: a line of a file, or (``path`` None) the command line that preflight was given, or what
    a command ``inherited`` from its caller."""

    path: str | None = None
    line: int | None = None
    inherited: bool = False

    def __str__(self) -> str:
        if self.path is None:
            return "the environment of this command" if self.inherited else "command line"
        return self.path if self.line is None else f"{self.path}:{self.line}"


COMMAND_LINE = Origin()
INHERITED = Origin(inherited=True)


class Word(str):
    """A word that knows its place. It is text everywhere else."""

    __slots__ = ("origin",)

    origin: Origin

    def __new__(cls, text: str, origin: Origin = COMMAND_LINE) -> Word:
        word = super().__new__(cls, text)
        word.origin = origin
        return word


def origin_of(text: str, known: Iterable[str]) -> Origin | None:
    """The place of a word that the launch code has rewritten: of the word in ``known`` that it was made of."""
    if isinstance(text, Word):
        return text.origin
    name = text.split("=", 1)[0].replace("_", "-")
    for word in known:
        if isinstance(word, Word) and word.startswith("-"):
            head = word.split("=", 1)[0].split(".", 1)[0].replace("_", "-")
            if head == name or (name.startswith("--optim") and head.startswith("-O") and not head.startswith("--")):
                return word.origin
    return None
