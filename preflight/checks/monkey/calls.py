"""Whether the tree's calls bind to what a monkey patch puts in the place of a function, a method or a class."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

from preflight.checks.classes.overrides import Caller, callers_of
from preflight.checks.classes.signatures import what_is_wrong
from preflight.checks.monkey.collect import MonkeyPatch, meaning, resolved
from preflight.checks.monkey.ids import REPLACEMENT
from preflight.checks.monkey.lookups import lookups_of
from preflight.checks.reach import classes_of
from preflight.model import Fault, Severity, Span, Step
from preflight.program import Definition, Kind
from preflight.program.facts import FunctionFacts
from preflight.program.syntax_nodes import dotted

if TYPE_CHECKING:
    from preflight.checks.monkey.receivers import Receivers
    from preflight.program import Class, Program, Signature


def call_faults(program: Program, patch: MonkeyPatch, receivers: Receivers) -> Iterator[Fault]:
    """The calls that bind to what the release has, and not to what replaces it: one finding for each function."""
    new = replacement(program, patch)
    if new is None:
        return
    if patch.owner.kind is Kind.CLASS:
        cls = program.class_of(patch.owner)
        old = cls.lookup(patch.attribute) if cls is not None else None
        if cls is None or old is None or old.kind != "method" or not isinstance(new.facts, FunctionFacts):
            return
        taken, base = _signature(program, new), program.member_signature(old)
        if taken is not None and base is not None:
            by_name = callers_of(program, old.name) if _is_only(program, cls, old.name) else ()
            callers = chain(by_name, receivers.callers(cls, old))
            yield from _of_callable(patch, new, taken.bound(), base.bound(), callers)
        return
    original = program.resolve(patch.owner.module, patch.attribute).only
    if original is None:
        return
    if isinstance(new.facts, FunctionFacts) and isinstance(original.facts, FunctionFacts):
        taken, base = _signature(program, new), _signature(program, original)
        if taken is not None and base is not None:
            yield from _of_callable(patch, new, taken, base, lookups_of(program, patch))
    elif new.kind is Kind.CLASS and original.kind is Kind.CLASS:
        ours, theirs = program.class_of(new), program.class_of(original)
        if ours is not None and theirs is not None and ours is not theirs:
            yield from _of_class(program, patch, ours, theirs)


def replacement(program: Program, patch: MonkeyPatch) -> Definition | None:
    """The function or class that is put in the place, if it is one of the code beside the tree."""
    name = dotted(patch.value)
    if name is None:
        return None
    if patch.inside:
        return None  # made in the function that patches: it may be any of several
    found = meaning(resolved(program, patch.module, name, patch.imported))
    if found is None or found.kind not in (Kind.FUNCTION, Kind.CLASS) or program.finder.is_own(found.module):
        return None
    return found


def _signature(program: Program, found: Definition) -> Signature | None:
    if not isinstance(found.facts, FunctionFacts):
        return None
    module = program.module_at(found.path) if found.path is not None else None
    if module is None:
        module = program.module(found.module)
    if found.facts.decorators:
        return None
    signature = program.signature(module, found.facts)
    return signature if signature.exact else None


def _is_only(program: Program, cls: Class, name: str) -> bool:
    """Whether no class of the tree but those of one family has a method of this name: a call of it is then theirs."""
    for module in program.texts.matching(rf"\bdef {name}\(".encode(), name):
        for other in classes_of(program, module):
            if other.own(name) is not None and other not in cls.mro and cls not in other.mro:
                return False
    return True


def _of_callable(
    patch: MonkeyPatch, new: Definition, taken: Signature, base: Signature, callers: Iterable[Caller]
) -> Iterator[Fault]:
    for caller in callers:
        problem = taken.bind(caller.shape)
        if problem is not None and base.bind(caller.shape) is None:
            yield _fault(patch, new.span, f"{new.name} {what_is_wrong(problem)}", caller)
            return


def _of_class(program: Program, patch: MonkeyPatch, ours: Class, theirs: Class) -> Iterator[Fault]:
    """The methods of a class that stands in for another: those that it has in its own way."""
    for name, old in theirs.methods().items():
        own = ours.lookup(name)
        if own is None or not isinstance(own.facts, FunctionFacts) or own.owner is old.owner:
            continue
        if program.finder.is_own(own.owner.module) or old.kind != "method" or own.kind != "method":
            continue
        taken, base = program.member_signature(own), program.member_signature(old)
        if taken is None or base is None or not taken.exact or not base.exact or not _is_only(program, theirs, name):
            continue
        for caller in callers_of(program, name):
            problem = taken.bound().bind(caller.shape)
            if problem is not None and base.bound().bind(caller.shape) is None:
                yield _fault(patch, own.span, f"{ours.name}.{name} {what_is_wrong(problem)}", caller)
                break


def _fault(patch: MonkeyPatch, span: Span, what: str, caller: Caller) -> Fault:
    return Fault(
        REPLACEMENT,
        span,
        f"what replaces {patch.target} cannot take what {caller.path}:{caller.line} passes: {what}",
        why=f"`{caller.text}` binds to the release's own, and finds this in its place",
        help="give it the parameters of what it replaces in this release, or `*args, **kwargs`",
        trail=(
            Step(patch.span.path, patch.span.line or 1, "", f"replaces {patch.target}"),
            Step(caller.path, caller.line, "", f"calls `{caller.text}`"),
        ),
        severity=Severity.WARNING,
    )
