"""Where a name or module that is not where it was looked for may be: under a near name, or where a release put it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from preflight.program import Definition, Kind

if TYPE_CHECKING:
    from preflight.program import Missing, Program

#: how many places a hint names
_SHOWN = 2


def hint(program: Program, missing: Missing, wanted: Iterable[str] = ()) -> str | None:
    """A sentence that says where the missing thing may be had; None if nothing like it is in the tree.

    ``wanted`` are the names that are to be had from a module that is not there.
    """
    if missing.name is None:
        return _module_hint(program, missing.module, tuple(wanted))
    near = program.near(missing.name, program.names_of(missing.module), 1)
    moved = _places(program, missing.name, missing.module)
    if near and not moved:
        return f"Did you mean {near[0]!r}? {missing.module} has that"
    if moved:
        return _moved(missing.name, moved)
    return None


def near_name(program: Program, name: str, candidates: Iterable[str]) -> str | None:
    """The candidate that a misspelt name may have meant."""
    found = program.near(name, candidates, 1)
    return found[0] if found else None


def places_of(program: Program, name: str) -> list[Definition]:
    """Where the tree defines a class, function or value of this name, nearest to the top first."""
    found = [definition for definition in program.symbols(name) if definition.kind is not Kind.OPAQUE]
    return sorted(
        found, key=lambda definition: (definition.kind is Kind.VALUE, definition.module.count("."), definition.module)
    )


def _places(program: Program, name: str, besides: str) -> list[Definition]:
    return [definition for definition in places_of(program, name) if definition.module != besides]


def _moved(name: str, places: list[Definition]) -> str:
    shown = " or ".join(f"{place.module} ({place.path}:{place.line})" for place in places[:_SHOWN])
    more = f", and {len(places) - _SHOWN} more modules" if len(places) > _SHOWN else ""
    return f"In this tree {name!r} is in {shown}{more}"


def _module_hint(program: Program, module: str, wanted: tuple[str, ...]) -> str | None:
    """Where the wanted names are, if that is told in few words; a module of the same name elsewhere, one of a near name
    beside it, or one that has a wanted name."""
    top = module.partition(".")[0]
    if not program.finder.find(top).in_tree:
        return None
    found = [(name, places) for name in wanted if (places := _places(program, name, module))]
    clear = next((one for one in found if len(one[1]) == 1), None)
    if clear is not None:
        return _moved(*clear)
    same = _same_ending(program, module)
    if same is not None:
        return f"In this tree there is {same}"
    parent, _, last = module.rpartition(".")
    near = program.near(last, sorted(program.finder.submodules(parent)), 1) if parent else []
    if near:
        return f"In this tree there is {parent}.{near[0]}"
    return _moved(*found[0]) if found else None


def _same_ending(program: Program, module: str) -> str | None:
    """The module whose import path shares the longest ending (of at least the last name) with ``module``; of several
    the one that is nearest to the top."""
    parts = module.split(".")
    best: tuple[tuple[int, int, int], str] | None = None
    for name in program.finder.tree_modules():
        other = name.split(".")
        if other[-1] != parts[-1]:
            continue
        shared = 1
        while shared < min(len(parts), len(other)) and parts[-1 - shared] == other[-1 - shared]:
            shared += 1
        start = 0
        while start < min(len(parts), len(other)) and parts[start] == other[start]:
            start += 1
        score = (shared, start, -len(other))
        if best is None or score > best[0]:
            best = (score, name)
    return best[1] if best is not None else None
