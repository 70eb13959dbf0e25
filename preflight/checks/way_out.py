"""What to do about an import that cannot be had: where the thing is, which release has it, or how to do without."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from preflight.checks.bound import bound_lines
from preflight.checks.whereabouts import hint

if TYPE_CHECKING:
    from pathlib import Path

    from preflight.checks.context import Context
    from preflight.program import Missing, Program

#: so many modules of a package are named
_SHOWN = 5


def way_out(
    context: Context, program: Program, missing: Missing, error: str = "ImportError", wanted: Iterable[str] = ()
) -> str:
    """A sentence that says how to go on. ``error`` is what the import raises, ``wanted`` are the names that are asked
    of a module that is not there."""
    found = hint(program, missing, wanted)
    if found is not None:
        return found
    guard = f"catch {error} where the code can do without it"
    top = missing.module.partition(".")[0]
    if not program.finder.is_own(missing.module):
        if missing.name is None and missing.module == top:
            return f"Install what brings {top} into the environment that runs vLLM, or {guard}"
        what = repr(missing.name) if missing.name is not None else missing.module
        return f"Take a version of {top} that has {what}, or {guard}"
    known = _releases(context, missing)
    if known:
        is_there = f"vLLM {' and '.join(known)} {'has' if len(known) == 1 else 'have'} it"
        return f"{is_there}: take the file that is made for vLLM {context.tree.facts.vllm}, or {guard}"
    beside = _beside(program, missing)
    if beside is not None:
        return f"{beside}; take the import out, or {guard}"
    lacks = "This tree has no such module" if missing.name is None else "No module of this tree defines it"
    return f"{lacks}: take the import out, or {guard}"


def _beside(program: Program, missing: Missing) -> str | None:
    """What the package of a missing module has in its place."""
    parent = missing.module.rpartition(".")[0]
    names = sorted(name for name in program.finder.submodules(parent) if not name.startswith("_")) if parent else []
    if missing.name is not None or not names or "." not in parent:
        return None
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{parent} has {', '.join(names[:_SHOWN])}{more}"


def _releases(context: Context, missing: Missing) -> list[str]:
    """The releases in preflight's cache that have the thing: the last before this one, and the first behind it."""
    from preflight.tree.cache import cached_around, cached_release

    found: list[str] = []
    for side in cached_around("vllm", context.tree.facts.vllm):
        for version in side:
            folder = cached_release("vllm", version)
            if folder is not None and _has(folder, missing):
                found.append(version)
                break
    return found


def _has(folder: Path, missing: Missing) -> bool:
    """Whether a release's file of the module is there and binds the name."""
    from preflight.program.extract import facts_of
    from preflight.tree.reading import read_bytes

    base = missing.module.replace(".", "/")
    for path in (f"{base}.py", f"{base}/__init__.py"):
        try:
            data = read_bytes(folder / path)
        except OSError:
            continue
        if missing.name is None:
            return True
        return missing.name.encode() in data and missing.name in bound_lines(facts_of(data)[0].body)
    return False
