"""Monkey patches that take no effect: a name that nothing reads, or that others have bound before."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from preflight.checks.monkey.collect import MonkeyPatch
from preflight.checks.monkey.ids import BOUND_BEFORE, UNREAD
from preflight.model import Fault, Step
from preflight.program import Kind, Truth
from preflight.program.entry_points import GENERAL_GROUP, LOAD_PLUGINS
from preflight.program.facts import Import
from preflight.program.texts import whole_word

if TYPE_CHECKING:
    from preflight.checks.monkey.words import Words
    from preflight.program import Module, Program


def unread_fault(words: Words, program: Program, patch: MonkeyPatch) -> Fault | None:
    """A fault for a name that vLLM does not have and nothing asks for, ``words`` of the code beside it among it."""
    name = patch.attribute
    if name.startswith("__"):
        return None  # Python itself may read it
    if patch.owner.kind is Kind.MODULE:
        if program.resolve(patch.owner.module, name).exists is not Truth.NO:
            return None
    else:
        cls = program.class_of(patch.owner)
        if cls is None or cls.has(name) is not False:
            return None
    if program.texts.modules_with(name):
        return None
    text = re.escape(name.encode())
    put = re.compile(rb"\." + text + rb"\s*=(?!=)|\bsetattr\([^,\n]+,\s*['\"]" + text + rb"['\"]")
    word = whole_word(name)
    if any(len(word.findall(text)) > len(put.findall(text)) for text in words.texts_with(name)):
        return None
    kind = "module" if patch.owner.kind is Kind.MODULE else "class"
    known = program.names_of(patch.owner.module) if kind == "module" else _members(program, patch)
    near = program.near(name, known, 1)
    return Fault(
        UNREAD,
        patch.span,
        f"the {kind} {patch.owner.target} has no {name!r}, and nothing of this tree reads it: setting it has no effect",
        why="a release may have renamed or moved what was patched; Python sets a new name without a word",
        help=f"did you mean {near[0]!r}?" if near else "find what this release has in its place",
    )


def _members(program: Program, patch: MonkeyPatch) -> list[str]:
    cls = program.class_of(patch.owner)
    return [name for one in cls.mro for name in one.own_names()] if cls is not None else []


def bound_before_faults(program: Program, patches: Sequence[MonkeyPatch]) -> Iterator[Fault]:
    """A fault for each replaced name that modules which are loaded before the patch have taken with ``from ... import``
    and go on to use as it was."""
    replaced = {patch.target for patch in patches}
    plugins = _general_plugins(program)
    for patch in patches:
        if patch.owner.kind is not Kind.MODULE:
            continue
        if program.resolve(patch.owner.module, patch.attribute).exists is not Truth.YES:
            continue
        takers = [
            (module, item)
            for module, item in _takers(program, patch)
            if f"{module.name}.{item.bound}" not in replaced and _uses(program, module, item)
        ]
        if not takers:
            continue
        loaded = dict.fromkeys(loaded_before(program, patch), "this file itself does before")
        if patch.module.name.partition(".")[0] in plugins:
            loaded = {**program.derived(loaded_before_plugins), **loaded}
        keepers = [(module, item) for module, item in takers if module.name in loaded]
        if keepers:
            module, item = keepers[0]
            more = f" and {len(keepers) - 1} more" if len(keepers) > 1 else ""
            yield Fault(
                BOUND_BEFORE,
                patch.span,
                f"{module.path}:{item.line}{more} has bound {patch.attribute!r} before it is replaced here, and goes "
                "on with the release's own",
                why=f"`from {patch.owner.module} import {patch.attribute}` copies the name when {module.name} is "
                f"imported, which {loaded[module.name]}",
                help=f"replace it there too: `{module.name}.{item.bound} = ...`",
                trail=tuple(Step(one.path or one.name, at.line, "<module>", "binds it") for one, at in keepers[:4]),
            )


def _takers(program: Program, patch: MonkeyPatch) -> Iterator[tuple[Module, Import]]:
    """The modules of the tree that take the name from its module when they are imported."""
    for module in program.texts.modules_with(patch.attribute):
        if module.name == patch.owner.module or module.hole is not None:
            continue
        for item in module.facts.imports:
            if item.name == patch.attribute and not item.guards and module.absolute(item) == patch.owner.module:
                yield module, item


def _uses(program: Program, module: Module, item: Import) -> bool:
    """Whether a module reads the name, and does not only hand it on."""
    data = program.texts.of(module)
    return len(re.findall(rb"(?<![\w.])" + re.escape(item.bound.encode()) + rb"(?=\(|\.|\[)", data)) > 0


def loaded_before(program: Program, patch: MonkeyPatch) -> frozenset[str]:
    """The modules of vLLM that the patching file itself has certainly imported before it patches."""
    line = patch.span.line or 0
    namespace = program.resolver.namespace(patch.module)
    inside = patch.function is not None
    first = [
        (patch.module, item)
        for item, certain in (namespace.imports if namespace is not None else ())
        if certain and (inside or item.line < line)
    ]
    if patch.function is not None:
        own = range(patch.function.lineno, line)
        first += [
            (patch.module, item)
            for item in patch.module.facts.imports
            if item.line in own and [guard.kind for guard in item.guards] == ["function"]
        ]
    return _closure(program, first)


def _general_plugins(program: Program) -> frozenset[str]:
    """The packages beside the tree that vLLM itself loads as general plug-ins, and that nothing loads before it."""
    groups: dict[str, set[str]] = {}
    for point in program.tree.entry_points:
        groups.setdefault(point.module.partition(".")[0], set()).add(point.group)
    return frozenset(name for name, found in groups.items() if found == {GENERAL_GROUP})


def loaded_before_plugins(program: Program) -> dict[str, str]:
    """The modules of vLLM that are certainly imported where a process of it loads its plug-ins, with what does so.

    They are those that each of the modules which call the loader imports at its own start. A process may be a copy of
    one in which the plug-ins were loaded before, so it has to be all of them; the registry's own, which asks for one
    class, does not count.
    """
    registry = program.registry_reader.definition()
    found: dict[str, str] | None = None
    for module in program.texts.matching(rf"(?<!def )\b{LOAD_PLUGINS}\(\)".encode(), LOAD_PLUGINS):
        if registry is not None and module.name == registry.module:
            continue
        namespace = program.resolver.namespace(module)
        own = [(module, item) for item, certain in (namespace.imports if namespace is not None else ()) if certain]
        names = {*_closure(program, own), module.name}
        text = f"{module.path} does before it loads plug-ins"
        found = dict.fromkeys(names, text) if found is None else {name: found[name] for name in names & found.keys()}
    return found or {}


def _closure(program: Program, first: Iterable[tuple[Module, Import]]) -> frozenset[str]:
    found: set[str] = set()
    waiting: list[str] = []
    for module, item in first:
        waiting += _targets(program, module, item)
    known = program.derived(_imported)
    while waiting:
        name = waiting.pop()
        if name in found or not program.finder.is_own(name):
            continue
        module = program.module(name)
        if not module.has_source:
            continue
        found.add(name)
        if name not in known:
            namespace = program.resolver.namespace(module)
            items = [item for item, certain in (namespace.imports if namespace is not None else ()) if certain]
            known[name] = tuple({target: None for item in items for target in _targets(program, module, item)})
        waiting += known[name]
    return frozenset(found)


def _imported(_: Program) -> dict[str, tuple[str, ...]]:
    """What modules certainly import when they are imported themselves, each looked up once for all patches."""
    return {}


def _targets(program: Program, module: Module, item: Import) -> list[str]:
    target = module.absolute(item)
    if target is None:
        return []
    parts = target.split(".")
    names = [".".join(parts[:count]) for count in range(1, len(parts) + 1)]
    if item.name not in (None, "*") and program.finder.find(f"{target}.{item.name}").found:
        names.append(f"{target}.{item.name}")
    return names
