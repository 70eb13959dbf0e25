"""The tree's model registry: which architecture leads to which class, as the tree's own code makes it."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from preflight.model import Span
from preflight.program.classes import Class
from preflight.program.definitions import Definition, Kind, Resolution
from preflight.program.entry_points import ENTRY_CLASS, ENTRY_MODULE, MODEL_INFO, MODEL_REGISTRY, REGISTRY_MODELS
from preflight.program.evaluate.values import Instance, Raised, Unknown

if TYPE_CHECKING:
    from preflight.program.modules import Module
    from preflight.program.program import Program

#: where the registry stands in every release so far; it is looked for elsewhere if it does not
_USUAL = "vllm.model_executor.models.registry"


@dataclass(frozen=True, slots=True)
class RegistryEntry:
    """One architecture: the module and class that it leads to, and the place of its line in the registry."""

    architecture: str
    module: str
    name: str
    span: Span


@dataclass(frozen=True, slots=True)
class Registry:
    """All entries by architecture, in the registry's order; or why there are none."""

    module: str | None
    entries: dict[str, RegistryEntry]
    reason: str = ""


class RegistryReader:
    """Reads the registry of one program."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._registry: Registry | None = None

    def registry(self) -> Registry:
        """The registry; the same object on every call."""
        if self._registry is None:
            self._registry = self._read()
        return self._registry

    def definition(self) -> Definition | None:
        """Where the registry is made: the module that defines it beside the model info.

        The place that it has had for long is looked at before the whole tree is searched for its name.
        """
        resolver = self._program.resolver
        usual = self._program.module(_USUAL)
        here = resolver.bound(usual, MODEL_REGISTRY) if resolver.bound(usual, MODEL_INFO) is not None else None
        for definition in here.definitions if here is not None else ():
            if definition.module == usual.name and definition.kind is Kind.VALUE:
                return definition
        found = [d for d in self._program.symbols(MODEL_REGISTRY) if d.kind is Kind.VALUE]
        for definition in found:
            module = self._program.module(definition.module)
            if resolver.bound(module, MODEL_INFO) is not None:
                return definition
        return found[0] if found else None

    def _read(self) -> Registry:
        definition = self.definition()
        if definition is None:
            return Registry(None, {}, f"the tree has no {MODEL_REGISTRY}")
        module = self._program.module(definition.module)
        evaluator = self._program.evaluator
        try:
            value = evaluator.ask(lambda: evaluator.global_name(MODEL_REGISTRY, module))
        except Raised as raised:
            return Registry(module.name, {}, f"making {MODEL_REGISTRY} raises {raised}")
        if isinstance(value, Unknown):
            return Registry(module.name, {}, f"{MODEL_REGISTRY} cannot be followed: {value.reason}")
        models = value.attributes.get(REGISTRY_MODELS) if isinstance(value, Instance) else None
        if not isinstance(models, dict):
            return Registry(module.name, {}, f"{MODEL_REGISTRY} has no {REGISTRY_MODELS!r} that can be followed")
        places = self._places(module)
        entries: dict[str, RegistryEntry] = {}
        for architecture, entry in models.items():
            attributes = entry.attributes if isinstance(entry, Instance) else {}
            target, name = attributes.get(ENTRY_MODULE), attributes.get(ENTRY_CLASS)
            if isinstance(architecture, str) and isinstance(target, str) and isinstance(name, str):
                span = places.get(architecture, Span(module.path or module.name, definition.line))
                entries[architecture] = RegistryEntry(architecture, target, name, span)
        return Registry(module.name, entries, "" if entries else f"{MODEL_REGISTRY} is empty")

    def _places(self, module: Module) -> dict[str, Span]:
        """Where the module's dicts have each key that is a text."""
        tree = self._program.syntax_tree(module)
        places: dict[str, Span] = {}
        if isinstance(tree, ast.Module):
            for statement in tree.body:
                value = getattr(statement, "value", None)
                for key in value.keys if isinstance(value, ast.Dict) else ():
                    if isinstance(key, ast.Constant) and isinstance(key.value, str):
                        end = key.end_col_offset
                        places[key.value] = Span(
                            module.path or module.name,
                            key.lineno,
                            key.col_offset + 1,
                            key.end_lineno,
                            end + 1 if end is not None else None,
                        )
        return places

    def model_class(self, entry: RegistryEntry) -> Class | Resolution:
        """The class that an entry leads to, or why there is not just one."""
        return self._program.find_class(entry.module, entry.name)
