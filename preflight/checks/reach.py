"""Which modules and classes a run looks at: the patched files, and what depends on what they define."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from preflight.checks.bound import statements
from preflight.checks.foreign import is_foreign
from preflight.checks.released import changed_paths, looks_at_all, plugin_paths
from preflight.program.definitions import Definition, Kind
from preflight.program.facts import ClassFacts, FunctionFacts, Item

if TYPE_CHECKING:
    from preflight.checks.context import Context
    from preflight.program import Class, Module, Program
    from preflight.program.facts import Import


@dataclass(frozen=True, slots=True)
class Reach:
    """``modules`` are those of the files to check, ``dependents`` those that import from them (none where every
    file is to be checked itself). ``patched`` are the paths that are not as the release has them."""

    modules: tuple[Module, ...]
    dependents: tuple[Module, ...]
    patched: frozenset[str]


def reach_of(context: Context, program: Program) -> Reach:
    """What this run looks at: with a patched file whose code is the release's own there is nothing new to see."""
    return reach_from(context, program, changed_paths(context))


def reach_from(context: Context, program: Program, paths: Iterable[str]) -> Reach:
    """What a run that checks these files looks at."""
    modules: dict[str, Module] = {}
    beside = plugin_paths(context)
    for path in paths:
        # of a file that belongs to another release the imports have said all there is to say
        known = (context.tree.exists(path) or path in beside) and not is_foreign(program, path)
        module = program.module_at(path) if known else None
        if module is not None and module.hole is None:
            modules[module.name] = module
    patched = frozenset(file.path for file in context.tree.facts.patched).union(beside)
    dependents = () if looks_at_all(context) else tuple(_dependents(program, modules))
    return Reach(tuple(modules.values()), dependents, patched)


def _dependents(program: Program, modules: dict[str, Module]) -> Iterator[Module]:
    """Modules that import something of these, directly or through a package that hands it on."""
    seen: set[str] = set(modules)
    waiting = list(modules.values())
    while waiting:
        module = waiting.pop()
        parts = module.name.split(".")
        # vLLM's own modules name each other in many ways, and what is beside it by its whole path only
        word = parts[0] if program.finder.is_outside(module.name) else parts[-1]
        for other in program.texts.modules_with(word):
            if other.name in seen or other.hole is not None:
                continue
            imported = [item for item in other.facts.imports if _reads(other, item, (module.name,))]
            if not imported:
                continue
            seen.add(other.name)
            yield other
            if other.spec.is_package and any(not item.guards for item in imported):
                waiting.append(other)


def imports_from(module: Module, target: Module) -> bool:
    """Whether a module has an import statement, wherever it stands, that loads the module ``target``: one that reads
    from it, or if it is a package from what is inside of it."""
    inside = f"{target.name}."
    return any(
        _reads(module, item, (target.name,))
        or (target.spec.is_package and (module.absolute(item) or "").startswith(inside))
        for item in module.facts.imports
    )


def imports_one_of(module: Module, names: frozenset[str]) -> bool:
    """Whether an import statement of a module, wherever it stands, reads from one of these modules."""
    return any(_reads(module, item, names) for item in module.facts.imports)


def _reads(module: Module, item: Import, names: Container[str]) -> bool:
    """Whether an import statement reads from one of these modules."""
    found = module.absolute(item)
    return found is not None and (found in names or (item.name is not None and f"{found}.{item.name}" in names))


def classes_of(program: Program, module: Module) -> Iterator[Class]:
    """The classes that a module's statements define, those inside of classes included."""
    for facts in class_facts(module.facts.body):
        made = program.class_of(
            Definition(Kind.CLASS, module.name, facts.qualname, module.path, facts.line, facts.column, facts)
        )
        if made is not None:
            yield made


def class_facts(items: Iterable[Item]) -> Iterator[ClassFacts]:
    """The class statements of a body, in order."""
    for item in statements(items):
        if isinstance(item, ClassFacts):
            yield item
            yield from class_facts(item.body)


def function_facts(items: Iterable[Item]) -> Iterator[FunctionFacts]:
    """The functions of a body that are no methods."""
    for item in statements(items):
        if isinstance(item, FunctionFacts):
            yield item
