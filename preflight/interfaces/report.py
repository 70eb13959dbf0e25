"""Asks the program for every registered class, or for those that were named."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from preflight.collector import uncollected
from preflight.errors import TreeError, UsageError
from preflight.interfaces.data import InterfacesReport, MemberOrigin, MissingMember, ModelRow
from preflight.model import Span
from preflight.program.classes import Class
from preflight.program.definitions import Kind, Resolution
from preflight.program.evaluate.protocols import EXCLUDED
from preflight.program.facts import Assign
from preflight.program.model_info import Flag
from preflight.program.registry import RegistryEntry
from preflight.program.requirements import Need

if TYPE_CHECKING:
    from preflight.program.program import Program


def interfaces_report(program: Program, names: Sequence[str] = ()) -> InterfacesReport:
    """The rows of all registered architectures, or of ``names``.

    A name is an architecture, a class of the tree (alone or with its module), or an interface, which stands for all
    registered classes that claim it. Raises UsageError for a name that the tree does not have, with the nearest names,
    and TreeError for a tree whose registry cannot be read.
    """
    with uncollected():
        return _Reporter(program).report(names)


class _Reporter:
    def __init__(self, program: Program) -> None:
        self._program = program
        self._registry = program.registry_reader.registry()

    def report(self, names: Sequence[str]) -> InterfacesReport:
        if not self._registry.entries and not names:
            raise TreeError(
                f"the model registry of this tree cannot be read: {self._registry.reason}",
                "name a class, as in `preflight interfaces MODULE:CLASS`",
            )
        entries = list(self._registry.entries.values()) if not names else self._named(names)
        modules = dict.fromkeys(entry.module for entry in entries)
        survey = self._program.importing.survey(modules)
        optional: dict[str, Need] = {}
        if not self._program.tree.whole_environment:
            everything = [entry.module for entry in self._registry.entries.values()]
            optional = self._program.requirements.optional(modules, everything)
        errors = {
            module: self._import_error(module, module in survey.failing, optional.get(module)) for module in modules
        }
        rows = tuple(self._row(entry, bool(names), errors[entry.module]) for entry in entries)
        return InterfacesReport(self._program.tree.facts, rows, bool(names), tuple(self._program.tree.notes))

    # -- names --------------------------------------------------------------------------------------------------------

    def _named(self, names: Sequence[str]) -> list[RegistryEntry]:
        found: dict[tuple[str, str], RegistryEntry] = {}
        for name in names:
            entries = self._entries(name)
            if not entries:
                self._refuse(name)
            for entry in entries:
                found.setdefault((entry.architecture, entry.module), entry)
        return list(found.values())

    def _entries(self, name: str) -> list[RegistryEntry]:
        if name in self._registry.entries:
            return [self._registry.entries[name]]
        module, _, last = name.replace(":", ".").rpartition(".")
        by_class = [
            entry for entry in self._registry.entries.values() if entry.name == last and module in ("", entry.module)
        ]
        if by_class:
            return by_class
        classes = self._classes(module, last)
        if classes and classes[0].is_protocol:
            return [entry for entry in self._registry.entries.values() if self._claims(entry, classes)]
        return [RegistryEntry(cls.name, cls.module, cls.qualname, cls.span) for cls in classes]

    def _classes(self, module: str, name: str) -> list[Class]:
        """Classes of the tree by name, interfaces first."""
        definitions = list(self._program.resolve(module, name).definitions) if module else self._program.symbols(name)
        made = [self._program.class_of(definition) for definition in definitions if definition.kind is Kind.CLASS]
        return sorted((cls for cls in made if cls is not None), key=lambda cls: not cls.is_protocol)

    def _claims(self, entry: RegistryEntry, interfaces: Iterable[Class]) -> bool:
        cls = self._program.registry_reader.model_class(entry)
        return isinstance(cls, Class) and any(interface in cls.mro for interface in interfaces)

    def _refuse(self, name: str) -> None:
        last = name.replace(":", ".").rpartition(".")[2]
        known = [*self._registry.entries, *(entry.name for entry in self._registry.entries.values())]
        for entry in list(self._registry.entries.values())[:40]:
            cls = self._program.registry_reader.model_class(entry)
            known.extend(base.name for base in cls.mro if base.is_protocol) if isinstance(cls, Class) else None
        near = self._program.near(last, dict.fromkeys(known))
        raise UsageError(
            f"the tree has no architecture, model class or interface {name!r}",
            f"did you mean {' or '.join(near)}?" if near else "`preflight interfaces` without a name lists all of them",
        )

    # -- rows ---------------------------------------------------------------------------------------------------------

    def _row(self, entry: RegistryEntry, detailed: bool, error: str | None) -> ModelRow:
        cls = self._program.registry_reader.model_class(entry)
        if not isinstance(cls, Class):
            flags = tuple(Flag(name, None, "the class is not known") for name in self._flag_names())
            return ModelRow(
                entry.architecture,
                entry.module,
                entry.name,
                flags,
                error=error or _class_error(entry, cls),
                doubts=(cls.unknown,) if cls.unknown else (),
                span=entry.span,
            )
        info = self._program.model_infos.info(cls)
        interfaces = [base for base in cls.mro if base.is_protocol and not base.opaque and base is not cls]
        return ModelRow(
            entry.architecture,
            entry.module,
            entry.name,
            (*info.flags, info.eagle3),
            tuple(base.defined for base in cls.mro),
            cls.complete,
            tuple(self._missing(cls, interfaces)),
            error or self._creation_error(cls) or info.error,
            tuple(doubt.reason for doubt in cls.doubts),
            cls.span,
            tuple(base.span if base.facts is not None else None for base in cls.mro),
            tuple(dict.fromkeys(base.name for base in interfaces)),
            tuple(self._members(cls, interfaces)) if detailed else None,
        )

    def _flag_names(self) -> tuple[str, ...]:
        return (*self._program.model_infos.field_names(), "eagle3")

    def _import_error(self, name: str, fails: bool, need: Need | None) -> str | None:
        failure = self._program.importing.failure(name) if fails else None
        if failure is not None:
            return f"{failure.message} ({failure.span.path}:{failure.span.line})"
        if need is None:
            return None
        path = self._program.module(need.importer).path
        return (
            f"ModuleNotFoundError: No module named {need.package!r} ({path}:{need.item.line}), unless it is installed: "
            "vLLM does not require it, and what is installed is not known"
        )

    def _creation_error(self, cls: Class) -> str | None:
        for base in cls.mro:
            if base.mro_error is not None:
                return f"TypeError: {base.mro_error} ({base.path}:{base.span.line})"
            if base.creation_error is not None:
                return f"{base.creation_error} ({base.path}:{base.span.line})"
        return None

    def _missing(self, cls: Class, interfaces: Iterable[Class]) -> Iterable[MissingMember]:
        """Methods of the interfaces whose body the class leaves to the interface, which has none."""
        seen: set[str] = set(cls.instance_attributes())
        for interface in interfaces:
            for name, member in interface.methods().items():
                if name in seen or name in EXCLUDED or member.stub is None:
                    continue
                seen.add(name)
                found = cls.lookup(name)
                if found is not None and found.stub is not None and found.owner.is_protocol:
                    signature = self._program.member_signature(found)
                    yield MissingMember(found.owner.name, name, str(signature or ""), found.span)

    def _members(self, cls: Class, interfaces: Iterable[Class]) -> Iterable[MemberOrigin]:
        stores = cls.instance_attributes()
        for interface in interfaces:
            for name in dict.fromkeys((*interface.own_names(), *interface.annotations())):
                if name in EXCLUDED:
                    continue
                found = cls.lookup(name)
                if found is not None and not (found.stub is not None and found.owner.is_protocol and name in stores):
                    owner = f"{found.owner.module}.{found.owner.qualname}"
                    span = found.span if found.line is not None else found.owner.span
                    yield MemberOrigin(interface.name, name, found.kind, owner, span)
                elif name in stores:
                    owner_class, _, line = stores[name][0]
                    span = Span(owner_class.path or owner_class.module, line)
                    yield MemberOrigin(interface.name, name, "instance attribute", owner_class.target, span)
                else:
                    facts: Assign | None = interface.annotations().get(name)
                    line = facts.line if facts is not None else None
                    span = Span(interface.path or interface.module, line)
                    yield MemberOrigin(interface.name, name, "annotation", interface.target, span)


def _class_error(entry: RegistryEntry, found: Resolution) -> str | None:
    if found.missing is None:
        return None
    if found.missing.module == entry.module and found.missing.name == entry.name:
        return f"AttributeError: module {entry.module!r} has no attribute {entry.name!r}"
    return found.missing.as_exception()
