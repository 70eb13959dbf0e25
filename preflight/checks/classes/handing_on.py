"""What an interface's setter asks an inner model for, and whether the answer comes back.

Some interfaces have a method that sets an attribute on an inner model: from then on its ``forward`` returns more than
before. What is to be seen is read off the code: on which object the attribute ends up, that this object's ``forward``
reads it, collects something and returns it beside its output, and that each wrapper on the way hands the whole on. The
measure is what the classes of the same tree do that have the same attribute.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from preflight.checks.classes.collecting import Collecting
from preflight.checks.classes.ids import NOT_RETURNED
from preflight.checks.classes.returning import FORWARD, as_in, chain_trail, graded, reads_own, shown
from preflight.checks.classes.wrapping import Wrapper
from preflight.checks.inference.tracing import Effects, SetOn
from preflight.model import Fault, Step

if TYPE_CHECKING:
    from preflight.checks.classes.survey import Survey
    from preflight.program import Class


def check_handing_on(survey: Survey) -> Iterator[Fault]:
    """The classes to check that claim an interface themselves."""
    protocols = survey.protocols
    for cls in survey.classes():
        if protocols.is_interface(cls) or cls.facts is None or not cls.complete:
            continue
        direct = {base.cls for base in cls.bases}
        for interface in protocols.claimed(cls):
            if interface in direct and interface.is_protocol:
                yield from handing_on(survey, cls, interface)


def handing_on(survey: Survey, cls: Class, interface: Class, required: bool = False) -> Iterator[Fault]:
    """What goes wrong when the setters of an interface are called on an object of ``cls``."""
    for name, member in survey.protocols.methods(interface).items():
        if member.kind != "method" or survey.protocols.takes_nothing(member):
            continue
        effects = survey.tracing.effects(cls, name)
        yield from _assertions(survey, cls, effects, name, required)
        for found in effects.sets:
            if found.given and found.cls is not cls:
                yield from _followed(survey, cls, interface, name, found, required)
            elif found.given:
                unread = _unread(survey, cls, interface, name, found, required)
                if unread is not None:
                    yield unread.fault


def _assertions(survey: Survey, cls: Class, effects: Effects, name: str, required: bool) -> Iterator[Fault]:
    assert cls.facts is not None
    for fails in effects.fails:
        at = survey.code.span(fails.module, fails.node.test)
        yield survey.fault(
            NOT_RETURNED,
            cls.span,
            f"{cls.name}.{name} fails: its assertion `{shown(fails.node.test)}` cannot hold for this class",
            why=f"{at.path}:{at.line} raises AssertionError in every launch that uses the interface",
            help=_message(fails.node) or "give the inner model what the assertion asks for",
            severity=graded(survey, required, cls.path, at.path),
            trail=[Step(at.path, at.line or 1, f"{fails.owner.name}.{name}", "the assertion")],
        )


def _message(node: ast.Assert) -> str | None:
    return node.msg.value if isinstance(node.msg, ast.Constant) and isinstance(node.msg.value, str) else None


def _followed(survey: Survey, cls: Class, interface: Class, name: str, found: SetOn, required: bool) -> Iterator[Fault]:
    unread = _unread(survey, cls, interface, name, found, required)
    if unread is not None and unread.misplaced:
        yield unread.fault
        return
    method = survey.inference.objects.winner(found.cls, FORWARD)
    problem = unread.fault if unread is not None else None
    if method is not None and survey.inference.in_tree(method.owner):
        problem = Collecting(survey, found, method, required).problem() or problem
    if problem is not None:
        yield problem
        return
    for holder, held in zip(found.chain, found.chain[1:], strict=False):
        fault = Wrapper(survey, holder, held, found, required).problem()
        if fault is not None:
            yield fault


@dataclass(frozen=True, slots=True)
class _Unread:
    """An attribute that is set in vain. ``misplaced``: its name or its object is wrong, as far as one can see."""

    fault: Fault
    misplaced: bool


def _unread(survey: Survey, cls: Class, interface: Class, name: str, found: SetOn, required: bool) -> _Unread | None:
    """The attribute is set on an object whose code never reads it."""
    methods = survey.inference.objects.methods(found.cls)
    if survey.attributes.open(found.cls):
        return None
    if any(reads_own(method.body, found.name) for method in methods) or survey.attributes.read_elsewhere(found.name):
        return None
    peers = [other for other in survey.readers(found.name) if other is not found.cls]
    span = survey.code.span(found.module, found.node)
    names = {
        place.node.attr
        for method in methods
        for place in method.body.reads
        if isinstance(place.node, ast.Attribute) and isinstance(place.node.value, ast.Name)
        if place.node.value.id == method.body.self_name
    }
    near = survey.near(found.name, names)
    inner = _inner_reader(survey, found)
    if inner is None and not near and not peers:
        return None  # nothing of the tree says that anybody was to read it
    if inner is not None:
        help = f"`{found.receiver}.{inner[0]}` is a {inner[1].name}, which reads it: set it there"
    else:
        help = f"let {found.cls.name}.{FORWARD} collect what the layers give and return it beside its output"
        if peers:
            help += as_in(survey, peers[0])
    fault = survey.fault(
        NOT_RETURNED,
        span,
        f"{cls.name}.{name} sets `{found.name}` on a {found.cls.name}, no method of which reads it",
        why=f"a launch that uses {interface.name} asks for hidden states that nobody collects",
        help=f"{near} {help}" if near else help,
        severity=graded(survey, required, span.path, found.cls.path, cls.path),
        trail=chain_trail(found),
    )
    return _Unread(fault, misplaced=bool(near) or inner is not None)


def _inner_reader(survey: Survey, found: SetOn) -> tuple[str, Class] | None:
    """An attribute of the object that holds an object whose code reads the attribute."""
    for method in survey.inference.objects.construction(found.cls):
        for name in method.body.stores:
            for inner in survey.inference.attribute(found.cls, name).classes() or ():
                if survey.inference.in_tree(inner) and any(
                    reads_own(other.body, found.name) for other in survey.inference.objects.methods(inner)
                ):
                    return name, inner
    return None
