"""``--require INTERFACE[=CLASS]``: a class has to have an interface of the tree, launch or no launch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from preflight.checks.classes.attributes import check_attributes
from preflight.checks.classes.handing_on import handing_on
from preflight.checks.classes.ids import REQUIRED
from preflight.checks.classes.interfaces import missing_members
from preflight.checks.classes.overrides import overriding
from preflight.checks.classes.protocols import Asked
from preflight.checks.classes.signatures import check_methods
from preflight.errors import UsageError
from preflight.model import Fault, Severity, Step, Undecided, Value
from preflight.program import Class
from preflight.program.definitions import Kind

if TYPE_CHECKING:
    from preflight.checks.classes.survey import Survey


#: so many classes that do it right are looked at for the best example
_EXAMPLES = 4


def check_required(survey: Survey) -> Iterator[Fault | Undecided]:
    """What is demanded and not there. Raises UsageError for an interface or class that the tree does not have."""
    for words in survey.context.options.require:
        name, _, of = words.partition("=")
        interface = _interface(survey, name.strip(), words)
        classes = [_class(survey, of.strip(), words)] if of.strip() else list(_patched_models(survey))
        if not classes:
            yield Undecided(
                "nothing-to-require",
                f"--require {words} names no class, and no patched file has a class of the model registry; "
                f"write --require {name}=CLASS",
            )
        for cls in classes:
            yield from _demand(survey, cls, interface)


def _interface(survey: Survey, name: str, words: str) -> Class:
    found = [
        cls
        for symbol in (survey.program.symbols(name) if name.isidentifier() else ())
        if symbol.kind is Kind.CLASS and (cls := survey.program.class_of(symbol)) is not None
    ]
    found.sort(key=lambda cls: (not survey.protocols.is_interface(cls), cls.target))
    if not found:
        known = _interface_names(survey)
        near = survey.program.near(name, known) or known
        raise UsageError(
            f"--require {words}: this vLLM has no interface {name!r}", f"it has {', '.join(near[:8]) or 'none at all'}"
        )
    return found[0]


def _interface_names(survey: Survey) -> list[str]:
    """The interfaces that the registered models have beside them."""
    names: dict[str, None] = {}
    for entry in survey.registry.entries.values():
        cls = survey.program.registry_reader.model_class(entry)
        for interface in survey.protocols.claimed(cls) if isinstance(cls, Class) else ():
            names.update((sibling.name, None) for sibling in survey.protocols.siblings(interface))
        if names:
            break
    return sorted(names)


def _class(survey: Survey, name: str, words: str) -> Class:
    """The class of an architecture, or the class of this name."""
    entry = survey.registry.entries.get(name)
    if entry is not None:
        found = survey.program.registry_reader.model_class(entry)
        if isinstance(found, Class):
            return found
    for symbol in survey.program.symbols(name) if name.isidentifier() else ():
        cls = survey.program.class_of(symbol) if symbol.kind is Kind.CLASS else None
        if cls is not None:
            return cls
    known = [*survey.registry.entries, *(other.name for other in survey.registry.entries.values())]
    near = survey.program.near(name, dict.fromkeys(known))
    raise UsageError(
        f"--require {words}: this vLLM has no class and no architecture {name!r}",
        f"did you mean {' or '.join(near)}?" if near else "`preflight interfaces` lists what it has",
    )


def _patched_models(survey: Survey) -> Iterator[Class]:
    """The classes of the registry that stand in patched files."""
    for path in survey.context.paths:
        module = survey.program.module_at(path) if survey.patched(path) else None
        for cls in survey.classes_in(module) if module is not None else ():
            if survey.registered(cls):
                yield cls


def _demand(survey: Survey, cls: Class, interface: Class) -> Iterator[Fault | Undecided]:
    """What keeps the class from having the interface."""
    if cls.mro_error is not None:
        return  # said where the order of the bases is looked at
    has = cls.is_subclass(interface)
    if has is None:
        doubts = "; ".join(doubt.reason for doubt in cls.doubts[:2])
        yield Undecided(
            "required-interface",
            f"whether {cls.name} has {interface.name} is not known: {doubts}",
            cls.path,
            cls.facts.line if cls.facts is not None else None,
            decisive=True,
        )
        return
    if not has:
        yield _absent(survey, cls, interface)
        return
    for found in _of_its_members(survey, cls, interface):
        yield replace(found, severity=Severity.ERROR)


def _all_asked(survey: Survey, interface: Class) -> Iterator[Asked]:
    for base in interface.mro:
        if survey.protocols.is_interface(base):
            yield from survey.protocols.asked(base)


def _of_its_members(survey: Survey, cls: Class, interface: Class) -> Iterator[Fault]:
    """What is wrong with the members by which the class has the interface, and with what they hand on to."""
    interfaces = [base for base in interface.mro if survey.protocols.is_interface(base)]
    missing = [
        asked
        for asked in _all_asked(survey, interface)
        if survey.protocols.implements(cls, asked) is False and survey.protocols.needed(asked, besides=cls)
    ]
    yield from missing_members(survey, cls, missing, required=True)
    reached: dict[tuple[Class, str], None] = {}
    for base in interfaces:
        for name, wanted in survey.protocols.methods(base).items():
            reached[cls, name] = None
            reached.update(dict.fromkeys(survey.tracing.effects(cls, name).entered))
            own = cls.lookup(name)
            if own is not None and own.owner is not base and own.certain:
                yield from overriding(survey, cls, base, wanted, own, required=True)
        yield from handing_on(survey, cls, base, required=True)
    handed: dict[Class, list[str]] = {}
    for held, name in reached:
        if held is not cls:
            handed.setdefault(held, []).append(name)
    for held, names in handed.items():
        yield from _handed_to(survey, held, names, interfaces)
    yield from _inside(survey, reached)


def _handed_to(survey: Survey, held: Class, names: list[str], interfaces: list[Class]) -> Iterator[Fault]:
    """The members of the object that members hand on to: they have to do what the interface says as well."""
    lacking = [
        asked
        for base in interfaces
        for asked in survey.protocols.asked(base)
        if asked.name in names and held.lookup(asked.name) is not None
        if survey.protocols.implements(held, asked) is False
    ]
    yield from missing_members(survey, held, lacking, required=True)
    told = {asked.name for asked in lacking}
    for base in interfaces:
        for name, wanted in survey.protocols.methods(base).items():
            own = held.lookup(name)
            if name in names and name not in told and own is not None and own.certain and own.owner is not base:
                yield from overriding(survey, held, base, wanted, own, required=True)


def _inside(survey: Survey, reached: Iterable[tuple[Class, str]]) -> Iterator[Fault]:
    """What is wrong inside of the methods that run when a member is called."""
    lines: set[tuple[str | None, int]] = set()
    classes: dict[Class, None] = {}
    for cls, name in reached:
        classes[cls] = None
        for method in survey.inference.objects.reached(cls, name):
            lines.update((method.module.path, line) for line in range(method.facts.line, method.facts.end_line + 1))
    for fault in (*check_attributes(survey, classes), *check_methods(survey, classes)):
        if any((step.path, step.line) in lines for step in fault.trail) or (fault.span.path, fault.span.line) in lines:
            yield fault


def _absent(survey: Survey, cls: Class, interface: Class) -> Fault:
    """The class does not have the interface among its bases."""
    missing = [
        asked
        for asked in _all_asked(survey, interface)
        if survey.attributes.has(cls, asked.name) is not True and survey.protocols.needed(asked, besides=cls)
    ]
    names = [asked.name for asked in missing]
    base = f"add {interface.name} to the bases of {cls.name}"
    wanted = "; ".join(f"`def {asked}`" for asked in missing)
    help = f"{base} and define {wanted}" if missing else base
    examples = [
        (other, line, list(_reached(survey, other, interface)))
        for other, line in survey.protocols.examples(interface, names, cls)[:_EXAMPLES]
    ]
    # one whose inner model is known shows more
    examples.sort(key=lambda example: not example[2])
    steps = [
        Step(asked.member.span.path, asked.member.line or 1, f"{interface.name}.{asked.name}", f"asks for `{asked}`")
        for asked in missing
    ]
    for other, line, inside in examples[:1]:
        help += f", as {other.name} does in {other.path}:{line}"
        steps.append(Step(other.path or other.module, line, other.name, "does it right"))
        for inner in inside:
            line = inner.facts.line if inner.facts is not None else 1
            help += f", with what {inner.name} does in {inner.path}:{line}"
            steps.append(Step(inner.path or inner.module, line, inner.name, "does its part"))
    lacks = f": it lacks {', '.join(f'`{name}`' for name in names)}" if names else ""
    return survey.fault(
        REQUIRED,
        cls.span,
        f"{cls.name} does not have the interface {interface.name}{lacks}",
        why=f"--require asks for it; isinstance(model, {interface.name}) is false for this class",
        help=help,
        trail=steps,
        values=[Value(f"{interface.name}.{asked.name}", str(asked), str(asked.interface.path)) for asked in missing],
    )


def _reached(survey: Survey, cls: Class, interface: Class) -> Iterator[Class]:
    """The objects on which the methods of the interface set something when they are called on a ``cls``."""
    seen = {cls}
    for base in interface.mro:
        for name in survey.protocols.methods(base) if survey.protocols.is_interface(base) else ():
            for found in survey.tracing.effects(cls, name).sets:
                if found.given and found.cls not in seen and found.cls.facts is not None:
                    seen.add(found.cls)
                    yield found.cls
