"""Flags of models that vLLM would take from its own cache: what it wrote before the patch changed a base class.

vLLM asks what a model class supports in a process of its own, and keeps the answer in a file that is named after the
model and valid as long as the hash of the model's own file stays. A patch of a file that the model's class derives from
changes the answer and not the hash.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from preflight.checks.changes import change_of
from preflight.checks.effects.ids import CACHED
from preflight.checks.reach import classes_of
from preflight.checks.released import released_tree
from preflight.model import Fault, Span, Step
from preflight.program import Class

if TYPE_CHECKING:
    from preflight.checks.context import Context
    from preflight.program import Module, Program
    from preflight.program.registry import RegistryEntry

#: so many models are asked at most for each patched file
_MOST = 40
#: so many patched files are asked at most
_FILES = 25


def cached_flags(context: Context) -> Iterator[Fault]:
    """A fault for each patched file that changes flags of models in other, unchanged files."""
    patched = {file.path for file in context.tree.facts.patched if context.tree.pristine(file.path) is not None}
    files = sorted(path for path in patched & set(context.paths) if path.endswith(".py") and context.tree.exists(path))
    if not files or len(files) > _FILES:
        return  # so many are another release rather than a patch, and its models' files differ as well
    program = context.load_program()
    modules = [module for path in files if (module := program.module_at(path)) is not None and module.hole is None]
    bases = {module: found for module in modules if (found := _changed(context, program, module))}
    if not bases or not _has_cache(program):
        return
    tree = released_tree(context.tree)
    if tree is None:
        return
    before: Program | None = None
    entries = {(entry.module, entry.name): entry for entry in program.registry_reader.registry().entries.values()}
    for module, own in bases.items():
        changed: list[tuple[RegistryEntry, Class, str]] = []
        for cls in _models(program, own, entries, patched):
            before = before or program.beside(tree)
            difference = _difference(program, before, cls)
            if difference is not None:
                changed.append((entries[(cls.module, cls.qualname)], cls, difference))
        if changed:
            yield _fault(module, changed)


def _has_cache(program: Program) -> bool:
    """Whether the registry of this release keeps what it was told of a class by the hash of the model's file."""
    definition = program.registry_reader.definition()
    data = program.loader.data(program.module(definition.module).spec) if definition is not None else b""
    return isinstance(data, bytes) and b"modelinfo" in data and b"hash" in data and b"_load_modelinfo" in data


def _changed(context: Context, program: Program, module: Module) -> list[Class]:
    """The classes of a patched file whose statement is not line by line the release's; all of them where the patch took
    away something or may have changed what lines below it mean."""
    found = list(classes_of(program, module))
    data, released = program.loader.data(module.spec), context.tree.pristine(module.path or "")
    if not isinstance(data, bytes) or released is None:
        return found
    change = change_of(data, released)
    if change.removes or change.unclear:
        return found
    return [cls for cls in found if cls.facts is None or not change.keeps(cls.facts.first_line, cls.facts.end_line)]


def _models(
    program: Program, bases: list[Class], entries: dict[tuple[str, str], RegistryEntry], patched: set[str]
) -> Iterator[Class]:
    """Registered model classes in unchanged files that derive from one of ``bases``."""
    seen: set[Class] = set()
    for base in bases:
        for other in program.texts.modules_with(base.name):
            if other.path in patched or other.hole is not None:
                continue
            for cls in classes_of(program, other):
                if (cls.module, cls.qualname) in entries and cls not in seen and base in cls.mro and len(seen) < _MOST:
                    seen.add(cls)
                    yield cls


def _difference(program: Program, before: Program, cls: Class) -> str | None:
    """The flag that the patch changes, if it is known in both trees."""
    old = before.find_class(cls.module, cls.qualname)
    if not isinstance(old, Class):
        return None
    (were, error), (are, other_error) = before.model_infos.flags(old), program.model_infos.flags(cls)
    if error is not None or other_error is not None:
        return None
    by_name = {flag.name: flag for flag in were}
    for flag in are:
        known = by_name.get(flag.name)
        if known is not None and not known.reason and not flag.reason and known.value != flag.value:
            return f"{flag.name} (was {known.value}, is {flag.value})"
    return None


def _fault(module: Module, changed: list[tuple[RegistryEntry, Class, str]]) -> Fault:
    entry, _, difference = changed[0]
    more = f" and of {len(changed) - 1} more models" if len(changed) > 1 else ""
    derived = [cls for _, cls, _ in changed[:4]]
    return Fault(
        CACHED,
        Span(module.path or module.name),
        f"the patch changes {difference} of {entry.architecture}{more}, whose own file it leaves alone: where this "
        "model was started before, vLLM serves the old flags from its cache",
        why="vLLM keeps what a model class supports by the hash of the class's own file; the base class is in another",
        help="delete the folder `modelinfos` in vLLM's cache (VLLM_CACHE_ROOT) when the patch is put in",
        trail=tuple(
            Step(cls.path or cls.module, cls.span.line or 1, "", f"{cls.name} derives from it") for cls in derived
        ),
    )
