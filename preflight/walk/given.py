"""The arguments of a launch as the tree's parser has read them, for the code behind the parser to be walked with.

The parser itself is read where the flags are checked (``preflight.launch.parsing``); walking it again would say the
same more slowly. Where a value is none that both can hold, the parser is walked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from preflight.launch.reading.values import Function, Instance, Unknown
from preflight.launch.unresolved import is_open

if TYPE_CHECKING:
    from preflight.launch.launch import Launch
    from preflight.walk.values import Host


@dataclass(frozen=True, slots=True)
class Given:
    """The values by destination: ``known`` with the origin of each, ``objects`` whose default is an object of the tree,
    ``unknown`` with the reason of each.
    """

    known: Mapping[str, tuple[Host, str]] = field(default_factory=dict)
    objects: tuple[str, ...] = ()
    unknown: Mapping[str, str] = field(default_factory=dict)


def given_of(launch: Launch) -> Given | None:
    """What the parser gives the engine; None where the parser has to be walked to know it."""
    parsed = launch.parsed
    names, match = parsed.namespace, parsed.match
    if names is None or match is None or parsed.trouble is not None or parsed.raised is not None:
        return None
    if any(not argument.certain for argument in match.parser.arguments):
        return None
    flags = {argument.dest: argument.name for argument in match.parser.arguments}
    spelt = {found.argument.dest: found.option or "command line" for found in match.occurrences}
    refused = {invalid.argument.dest for invalid in parsed.invalid}
    known: dict[str, tuple[Host, str]] = {}
    objects: list[str] = []
    unknown: dict[str, str] = {}
    for name, value in names.items():
        is_given = name in spelt and name not in refused
        if name in refused:
            value = parsed.defaults.get(name)
        if _is_plain(value):
            known[name] = value, spelt[name] if is_given else f"default of {flags.get(name, name)}"
        elif is_given:
            return None
        elif isinstance(value, Instance):
            objects.append(name)
        elif not isinstance(value, Function):  # what a subcommand is to do
            unknown[name] = value.reason if isinstance(value, Unknown) else f"the default of {flags.get(name, name)}"
    return Given(known, tuple(objects), unknown)


def _is_plain(value: Host) -> bool:
    """Whether a value of the reading means the same to the walk."""
    if isinstance(value, str):
        return type(value) is str and not is_open(value)
    if isinstance(value, (list, tuple, set, frozenset)):
        return all(_is_plain(item) for item in value)
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(item) for key, item in value.items())
    return value is None or isinstance(value, (bool, int, float))
