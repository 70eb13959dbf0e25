"""Interfaces that are claimed and not implemented, implemented and not claimed, and classes that Python cannot make."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from preflight.checks.classes.ids import MEMBER_MISSING, MRO_CONFLICT, NOT_CLAIMED
from preflight.checks.classes.protocols import Asked, Protocols, is_abstract
from preflight.model import Fault, Severity, Span, Step
from preflight.program.facts import ClassFacts, FunctionFacts

if TYPE_CHECKING:
    from preflight.checks.classes.survey import Survey
    from preflight.program import Base, Class


#: so many methods of an interface are no accident
_ENOUGH_MEMBERS = 2


def check_orders(survey: Survey) -> Iterator[Fault]:
    """Classes whose statement raises: their bases have no common order, or a decorator refuses them. A base that
    nothing binds is a name like others, and what is said of names is said there."""
    for cls in survey.classes():
        if cls.facts is not None and cls.mro_error is not None:
            yield _conflict(survey, cls)
        elif cls.facts is not None and cls.creation_error is not None and not cls.lacks_base:
            yield _refused(survey, cls, cls.facts)


def _conflict(survey: Survey, cls: Class) -> Fault:
    assert cls.facts is not None
    base, other = _culprits(cls)
    span = cls.span
    help = "order the bases so that a class stands before its own bases"
    if base is not None and other is not None:
        span = Span(cls.path or cls.module, base.line, base.column, base.line, base.column + len(base.text))
        help = f"{other.text} derives from {base.text}: put {other.text} before it, or leave {base.text} out"
        if base.text == other.text:
            help = f"leave one {base.text} out"
    paths = [inner.path for inner in cls.mro if not inner.opaque]
    return survey.fault(
        MRO_CONFLICT,
        span,
        f"Python cannot make the class {cls.name}: {cls.mro_error}",
        why="the class statement raises TypeError, so importing the file fails",
        help=help,
        severity=survey.severity(True, *paths),
    )


def _refused(survey: Survey, cls: Class, facts: ClassFacts) -> Fault:
    paths = [inner.path for inner in cls.mro if not inner.opaque]
    names = ", ".join(f"`@{decorator.text.partition('(')[0]}`" for decorator in facts.decorators)
    error = (cls.creation_error or "").rstrip(": ")
    return survey.fault(
        MRO_CONFLICT,
        cls.span,
        f"Python cannot make the class {cls.name}: {names or 'a base'} raises {error}",
        why="the class statement runs this code, so importing the file fails",
        help=f"give {cls.name} what {names or 'the base'} asks of a class",
        severity=survey.severity(True, *paths),
    )


def _culprits(cls: Class) -> tuple[Base | None, Base | None]:
    """A base that stands before one that derives from it."""
    bases = cls.bases
    for index, base in enumerate(bases):
        for other in bases[index + 1 :]:
            if base.cls is not None and other.cls is not None and base.cls in other.cls.mro:
                return base, other
    return None, None


def check_members(survey: Survey) -> Iterator[Fault]:
    """Members of a claimed interface that have no body."""
    protocols = survey.protocols
    own = {module.name for module in survey.reach.modules}
    for cls in survey.classes():
        if cls.facts is None or protocols.is_interface(cls) or cls.mro_error is not None:
            continue
        for interface in protocols.claimed(cls):
            if cls.module not in own and interface.module not in own:
                continue  # what it inherits is looked at where it is defined
            missing = [asked for asked in protocols.missing(cls, interface) if not _told_of_a_base(survey, cls, asked)]
            if missing and not survey.abstract(cls):
                yield from missing_members(survey, cls, missing)


def _told_of_a_base(survey: Survey, cls: Class, asked: Asked) -> bool:
    """Whether a base in a file to check has the interface and leaves the member out as well."""
    own = {module.name for module in survey.reach.modules}
    return cls.own(asked.name) is None and any(
        base.module in own and asked.interface in base.mro and not survey.protocols.is_interface(base)
        and survey.protocols.implements(base, asked) is False
        for base in cls.mro[1:]
    )  # fmt: skip


def missing_members(survey: Survey, cls: Class, missing: list[Asked], required: bool = False) -> Iterator[Fault]:
    """The findings for the members of an interface that a class leaves without a body, one for each place."""
    places: dict[tuple[int | None, int | None], list[Asked]] = {}
    for asked in missing:
        span, _ = _where(survey, cls, asked)
        places.setdefault((span.line, span.column), []).append(asked)
    for together in places.values():
        yield _missing_member(survey, cls, together, required)


def _missing_member(survey: Survey, cls: Class, together: list[Asked], required: bool) -> Fault:
    asked = together[0]
    assert cls.facts is not None
    span, note = _where(survey, cls, asked)
    found = cls.own(asked.name)
    state = "leaves it without a body" if found is not None else "does not define it"
    if found is not None and cls.gives_none(asked.name):
        state = "sets it to None"
    names = f"`{asked.name}`"
    if len(together) > 1:
        names = ", ".join(f"`{one.name}`" for one in together)
        state = state.replace(" it", " them")
    severity = survey.severity(required, cls.path, asked.interface.path)
    if required:
        severity = None
    elif is_abstract(asked.member):
        severity = survey.severity(_is_made(survey, cls), cls.path, asked.interface.path)
    consequence = (
        f"making a {cls.name} raises TypeError"
        if is_abstract(asked.member)
        else "a launch that uses the interface calls the body of the interface, which does nothing"
    )
    help = f"define {' and '.join(f'`def {one}`' for one in together)} in {cls.name}"
    for example, line in survey.protocols.examples(asked.interface, [one.name for one in together], cls)[:1]:
        help += f", as {example.name} does in {example.path}:{line}"
    near = survey.near(asked.name, [name for name in cls.own_names() if name not in _members(asked)])
    return survey.fault(
        MEMBER_MISSING,
        span,
        f"{cls.name} has the interface {asked.interface.name}, which asks for {names}, and {state}",
        why=f"{note}{consequence}",
        help=f"{near} {help}" if near else help,
        severity=severity,
        trail=[
            Step(one.member.span.path, one.member.line or 1, one.interface.name, f"asks for `{one}`")
            for one in together
        ],
    )


def _members(asked: Asked) -> set[str]:
    return set(asked.interface.own_names())


def _where(survey: Survey, cls: Class, asked: Asked) -> tuple[Span, str]:
    """The line to change: a method of the same or of a near name that stands elsewhere, or the claim itself."""
    assert cls.facts is not None
    own = cls.own(asked.name)
    path = cls.path or cls.module
    if own is not None and own.line is not None:
        return Span(path, own.line, own.column), ""
    for name, facts in _functions_inside(cls.facts):
        if name == asked.name:
            note = f"line {facts.line} defines it inside of another function; "
            return Span(path, facts.line, facts.column), note
    module = survey.program.module(cls.module)
    for item in module.facts.body:
        if isinstance(item, FunctionFacts) and item.name == asked.name:
            note = f"line {item.line} defines it outside of the class; "
            return Span(path, item.line, item.column), note
    near = survey.program.near(asked.name, [name for name in cls.own_names() if name not in _members(asked)])
    for name in near:
        member = cls.own(name)
        if member is not None and isinstance(member.facts, FunctionFacts):
            return Span(path, member.line, member.column), f"line {member.line} defines `{name}`; "
    return claim_of(cls, asked.interface), ""


def claim_of(cls: Class, interface: Class) -> Span:
    """The base by which a class has an interface, or the class statement."""
    for base in cls.bases:
        if base.cls is not None and interface in base.cls.mro:
            return Span(cls.path or cls.module, base.line, base.column, base.line, base.column + len(base.text))
    return cls.span


def _functions_inside(facts: ClassFacts | FunctionFacts) -> Iterator[tuple[str, FunctionFacts]]:
    """The functions that are defined inside of the functions of a class."""
    items = facts.body if isinstance(facts, ClassFacts) else facts.inner
    for item in items:
        if isinstance(item, FunctionFacts):
            if isinstance(facts, FunctionFacts):
                yield item.name, item
            yield from _functions_inside(item)


def _is_made(survey: Survey, cls: Class) -> bool:
    return survey.registered(cls)


def check_claims(survey: Survey) -> Iterator[Fault]:
    """Classes that have all that an interface asks for and do not claim it."""
    protocols = survey.protocols
    known: dict[str, set[Class]] = {}
    for module in survey.reach.modules:
        for cls in survey.classes_in(module):
            if cls.facts is None or protocols.is_interface(cls) or not cls.complete:
                continue
            for interface in _candidates(survey, protocols, module.name, known):
                if interface.is_protocol and interface not in cls.mro:
                    fault = _not_claimed(survey, cls, interface)
                    if fault is not None:
                        yield fault


def _candidates(survey: Survey, protocols: Protocols, module: str, known: dict[str, set[Class]]) -> list[Class]:
    """The interfaces that the classes of a module could have: those that stand beside the ones which they have."""
    if module not in known:
        known[module] = {
            sibling
            for cls in survey.classes_in(survey.program.module(module))
            for interface in protocols.claimed(cls)
            if interface.is_protocol
            for sibling in protocols.siblings(interface)
        }
    return sorted(known[module], key=lambda cls: cls.target)


def _not_claimed(survey: Survey, cls: Class, interface: Class) -> Fault | None:
    protocols = survey.protocols
    shared = [
        member
        for name, member in protocols.methods(interface).items()
        if (own := cls.own(name)) is not None
        and isinstance(own.facts, FunctionFacts)
        and protocols.alone(interface, name)
        and not _given_by_a_base(cls, name)
        and member.kind == own.kind
    ]
    names = [member.name for member in shared]
    asked = {one.name for one in protocols.asked(interface)}
    if len(shared) < _ENOUGH_MEMBERS or not asked <= set(names) or _is_structural(survey, cls, interface):
        return None
    if not all(_usual(survey, interface, name, cls) for name in names):
        return None
    methods = ", ".join(f"`{name}`" for name in names)
    return survey.fault(
        NOT_CLAIMED,
        cls.span,
        f"{cls.name} defines {methods} of {interface.name}, but does not have {interface.name} among its bases",
        why=f"isinstance with {interface.name} and its flag say no, so vLLM takes the class as one without it",
        help=f"add {interface.name} to the bases of {cls.name}, or move the method to the class that has them",
        severity=Severity.INFO if not survey.patched(cls.path) else None,
        trail=[Step(interface.path or interface.module, interface.facts.line, interface.name, "the interface")]
        if interface.facts is not None
        else (),
    )


def _given_by_a_base(cls: Class, name: str) -> bool:
    return any(base.own(name) is not None for base in cls.mro[1:])


def _is_structural(survey: Survey, cls: Class, interface: Class) -> bool:
    """Whether ``isinstance`` says yes to an object of the class although it does not name the interface."""
    names = {name for base in interface.mro if base.is_protocol for name in (*base.own_names(), *base.annotations())}
    return all(survey.attributes.has(cls, name) is not False for name in names if not name.startswith("__"))


def _usual(survey: Survey, interface: Class, name: str, besides: Class) -> bool:
    """Whether the classes of the tree that define the method have the interface, nearly all of them."""
    texts = survey.program.texts
    files = texts.matching(rf"\bdef {re.escape(name)}\(".encode(), name)
    word = interface.name.encode()
    if sum(1 for module in files if word in texts.of(module)) < len(files) / 2:
        return False  # most files that define it do not even name the interface
    having = lacking = 0
    for module in files:
        for cls in survey.classes_in(module):
            member = cls.own(name)
            if cls is besides or cls.is_protocol or member is None or not isinstance(member.facts, FunctionFacts):
                continue
            if interface in cls.mro:
                having += 1
            else:
                lacking += 1
    return having >= 2 and lacking <= having / 5
