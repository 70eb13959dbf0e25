"""The model registry: entries that lead nowhere, classes that the engine cannot run, models that no entry leads to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from preflight.checks.classes.ids import BROKEN, NOT_REGISTERED
from preflight.checks.classes.neighbours import ENOUGH, neighbours
from preflight.checks.classes.registered import check_registered, entry_step
from preflight.model import Fault, FileState, Severity, Span, Step
from preflight.program import Class
from preflight.program.facts import FunctionFacts

if TYPE_CHECKING:
    from preflight.checks.classes.survey import Survey
    from preflight.program import Member, Module, Resolution, Signature
    from preflight.program.registry import RegistryEntry


#: the flags of a model's info that say as what kind of model a class can be run
_KINDS = re.compile(r"is_\w+_model")


def check_registry(survey: Survey) -> Iterator[Fault]:
    """The entries that lead into files to check, or stand in one."""
    registry = survey.registry
    home = survey.program.module(registry.module).path if registry.module is not None else None
    looked_at = {module.name for module in survey.reach.modules}
    for entry in registry.entries.values():
        if (
            entry.module in looked_at
            or home in {module.path for module in survey.reach.modules}
            or _is_gone(survey, entry)
        ):
            yield from _entry(survey, entry)
    yield from _unregistered(survey)


def _is_gone(survey: Survey, entry: RegistryEntry) -> bool:
    """Whether the patch took the file of the entry away."""
    base = entry.module.replace(".", "/")
    return any(
        file.state is FileState.MISSING and file.path in (f"{base}.py", f"{base}/__init__.py")
        for file in survey.context.tree.facts.patched
    )


def _entry(survey: Survey, entry: RegistryEntry) -> Iterator[Fault]:
    module = survey.program.module(entry.module)
    found = survey.program.registry_reader.model_class(entry)
    if isinstance(found, Class):
        if survey.patched(*(base.path for base in found.mro)):
            yield from _not_runnable(survey, entry, found)
            yield from check_registered(survey, entry, found)
        return
    missing = found.missing
    if missing is None or module.hole is not None or not missing.module.startswith(entry.module):
        return
    yield _nowhere(survey, entry, found, module.path)


def _nowhere(survey: Survey, entry: RegistryEntry, found: Resolution, path: str | None) -> Fault:
    missing = found.missing
    assert missing is not None
    if missing.name is None:
        parent, _, last = entry.module.rpartition(".")
        near = survey.near(last, survey.program.finder.submodules(parent))
        what = f"the module {entry.module}, which is not there"
        help = "correct the module in the registry, or put the file back"
    else:
        classes = [cls.name for cls in survey.classes_in(survey.program.module(entry.module))]
        near = survey.near(entry.name, classes)
        what = f"{entry.name} of {entry.module}, which has no such class"
        help = f"define {entry.name} there, or correct the entry"
    base = entry.module.replace(".", "/")
    severity = survey.severity(True, entry.span.path, path, f"{base}.py", f"{base}/__init__.py")
    steps = [Step(path, 1, entry.module, "the module that the entry names")] if path is not None else []
    return survey.fault(
        BROKEN,
        entry.span,
        f"the registry leads {entry.architecture} to {what}",
        why=f"a launch of {entry.architecture} ends in {missing.as_exception().partition(':')[0]}",
        help=f"{near} {help}" if near else help,
        severity=severity,
        trail=steps,
    )


# -- what the engine asks of a class ----------------------------------------------------------------------------------


def _not_runnable(survey: Survey, entry: RegistryEntry, cls: Class) -> Iterator[Fault]:
    """A class that is no kind of model for the tree's own predicates, where its neighbours in the registry are."""
    if _kinds(survey, cls) != frozenset({False}) or cls.facts is None:
        return
    beside = [_kinds(survey, other) for other in neighbours(survey, entry, cls)]
    known = [kinds for kinds in beside if kinds is not None]
    if len(known) < ENOUGH or not all(True in kinds for kinds in known):
        return
    reasons = list(_lacks(survey, cls))
    if not reasons:
        return
    span, what, signature = reasons[0]
    yield survey.fault(
        BROKEN,
        span,
        f"{cls.name}, to which the registry leads {entry.architecture}, {what}",
        why="the tree's own checks then take it for no model that generates or pools: the engine refuses to run it",
        help=f"the tree asks for `def {signature}`",
        severity=survey.severity(True, *(base.path for base in cls.mro)),
        trail=[entry_step(entry)],
    )


def _kinds(survey: Survey, cls: Class) -> frozenset[bool] | None:
    """The answers of the tree's predicates about the kinds of model; None if one is not known."""
    info = survey.program.model_infos.info(cls)
    values = [flag.value for flag in info.flags if _KINDS.fullmatch(flag.name)]
    if info.error is not None or not values or not all(isinstance(value, bool) for value in values):
        return None
    return frozenset(bool(value) for value in values)


def _lacks(survey: Survey, cls: Class) -> Iterator[tuple[Span, str, str]]:
    """The methods of the tree's model protocols that the class has not, or not with their parameters."""
    assert cls.facts is not None
    for flag in survey.program.model_infos.field_names():
        if not _KINDS.fullmatch(flag):
            continue
        for symbol in survey.program.symbols(flag):
            for protocol in survey.classes_in(survey.program.module(symbol.module)):
                if not protocol.is_protocol:
                    continue
                for name, wanted in protocol.methods().items():
                    asked = survey.program.member_signature(wanted)
                    if asked is None or (name.startswith("__") and name != "__init__"):
                        continue
                    found = cls.lookup(name)
                    if (found is None and survey.attributes.has(cls, name) is False) or _of_library(
                        survey, found, asked
                    ):
                        near = survey.program.near(name, cls.own_names(), 1)
                        own = cls.own(near[0]) if near else None
                        if own is not None and own.line is not None:
                            yield own.span, f"has no method `{name}`, but `{own.name}`", f"{name}{asked}"
                    elif found is not None and isinstance(found.facts, FunctionFacts) and found.owner is not protocol:
                        taken = survey.program.member_signature(found)
                        lost = [
                            parameter.name
                            for parameter in asked.bound().parameters
                            if parameter.default is None
                            and taken is not None
                            and taken.exact
                            and not taken.accepts_keyword(parameter.name)
                        ]
                        others = [p.name for p in taken.parameters] if taken is not None else []
                        if lost and survey.program.near(lost[0], others):
                            yield found.span, f"has a `{name}` that takes no `{lost[0]}`", f"{name}{asked}"


def _of_library(survey: Survey, found: Member, asked: Signature) -> bool:
    """Whether a method is a base's outside of the tree, and takes something else (``torch.nn.Module.forward``)."""
    taken = survey.program.member_signature(found) if found.owner.opaque else None
    if taken is None or not taken.exact:
        return False
    return not all(taken.accepts_keyword(parameter.name) for parameter in asked.bound().parameters)


# -- models that no entry leads to ------------------------------------------------------------------------------------


def _unregistered(survey: Survey) -> Iterator[Fault]:
    """Patched files beside the registered models that define a model which nothing leads to."""
    registry = survey.registry
    if not registry.entries:
        return
    packages = {entry.module.rpartition(".")[0] for entry in registry.entries.values()}
    registered = {entry.module for entry in registry.entries.values()}
    states = {file.path: file.state for file in survey.context.tree.facts.patched}
    for module in survey.reach.modules:
        if (
            not survey.patched(module.path)
            # a release has such files too: without it, only a file that is new is known not to be one of them
            or not (survey.compared or states.get(module.path or "") is FileState.ADDED)
            or module.name in registered
            or module.name.rpartition(".")[0] not in packages
            or _is_imported(survey, module)
        ):
            continue
        for cls in reversed(survey.classes_in(module)):  # a file's helpers stand before its model
            kinds = _kinds(survey, cls) if cls.facts is not None and cls.complete else None
            if kinds is None or True not in kinds or _is_used(survey, cls):
                continue
            near = survey.near(cls.name, [entry.architecture for entry in registry.entries.values()])
            home = survey.program.module(registry.module or "").path
            yield survey.fault(
                NOT_REGISTERED,
                cls.span,
                f"no entry of the registry leads to {cls.name}",
                why="a launch finds a model by the architecture in its config: this class is then never loaded",
                help=f"{near} add it to the tables in {home}".strip(),
                severity=Severity.WARNING,
            )
            break


def _is_imported(survey: Survey, module: Module) -> bool:
    """Whether another file of the tree imports the module, which is then one that others make use of."""
    name = module.name.rpartition(".")[2]
    importing = rf"(?:from|import)[ \t][^\n]*\b{re.escape(name)}\b".encode()
    return any(other.name != module.name for other in survey.program.texts.matching(importing, name))


def _is_used(survey: Survey, cls: Class) -> bool:
    """Whether other files of the tree name the class."""
    return any(module.name != cls.module for module in survey.program.texts.each_with(cls.name))
