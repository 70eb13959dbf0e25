"""Attributes and methods that are read and that nothing gives: on the object itself, and on those that it holds."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from preflight.checks.classes.ids import DELEGATE, NEVER_SET
from preflight.checks.inference.values import InstanceOf, Plain, SuperOf
from preflight.model import Fault, Severity, Span, Step
from preflight.program.known import CLASS_ATTRIBUTES

if TYPE_CHECKING:
    from preflight.checks.classes.survey import Survey
    from preflight.checks.inference.attributes import ForeignStore
    from preflight.checks.inference.bodies import Body, Place
    from preflight.checks.inference.objects import Method
    from preflight.checks.inference.values import Env
    from preflight.program import Class


def check_attributes(survey: Survey, classes: Iterable[Class] | None = None) -> Iterator[Fault]:
    """What these classes read in vain; without ``classes`` those to check, and those that derive from them."""
    seen: set[tuple[str, int | None, str]] = set()
    for cls in survey.classes() if classes is None else classes:
        if survey.program.finder.is_outside(cls.module):
            continue  # it sets attributes on vLLM's objects, and vLLM on its: nobody sees all of that
        for fault in (*_own(survey, cls), *_held(survey, cls)):
            key = (fault.span.path, fault.span.line, fault.check)
            if key not in seen:
                seen.add(key)
                yield fault


# -- on the object itself ---------------------------------------------------------------------------------------------


def _own(survey: Survey, cls: Class) -> Iterator[Fault]:
    """Attributes of ``self`` that no code of the class sets."""
    attributes = survey.attributes
    if cls.is_protocol or attributes.open(cls):
        return
    methods = survey.inference.objects.methods(cls)
    asked = {name for method in methods for body in method.body.all() for name in body.asked_names}
    missing: dict[str, list[tuple[Method, Place]]] = {}
    for method in methods:
        for place in _self_reads(survey, method):
            assert isinstance(place.node, ast.Attribute)
            name = place.node.attr
            if name not in asked and not place.survives("AttributeError") and attributes.has(cls, name) is False:
                missing.setdefault(name, []).append((method, place))
    if not missing or cls.own("__new__") is not None or survey.abstract(cls):
        return
    for name, reads in missing.items():
        if _sure(survey, cls, reads) or all(_in_interface_method(survey, store) for store in attributes.stores(name)):
            yield _never_set(survey, cls, name, reads)


def _sure(survey: Survey, cls: Class, reads: list[tuple[Method, Place]]) -> list[tuple[Method, Place]]:
    """The reads that every construction of the class runs. Nobody but the object itself can have set an attribute of
    it then, unless it was handed out before."""
    objects = survey.inference.objects
    sure = [read for read in reads if read[1].sure and objects.certainly_constructs(cls, read[0])]
    return sure if sure and not _is_handed_out(survey, cls) else []


def _is_handed_out(survey: Survey, cls: Class) -> bool:
    """Whether a function that runs while an object is made gives the object itself to another function."""
    for method in survey.inference.objects.construction(cls):
        if method.module.name != method.owner.module:
            continue  # a decorator has put it there: it gives the object to the one that it stands for
        for body in method.body.all():
            for place in body.calls:
                node = place.node
                if not isinstance(node, ast.Call) or _only_asks(node.func):
                    continue
                given = (*node.args, *(keyword.value for keyword in node.keywords))
                if any(isinstance(part, ast.Name) and part.id == body.self_name for part in given):
                    return True
    return False


def _only_asks(func: ast.expr) -> bool:
    """Whether a function does nothing to what it is given, or is the constructor of a base."""
    if isinstance(func, ast.Name):
        return func.id in ("isinstance", "hasattr", "getattr", "type", "id", "super", "callable")
    return isinstance(func, ast.Attribute) and func.attr == "__init__"


def _self_reads(survey: Survey, method: Method) -> Iterator[Place]:
    """The attributes that a method reads on its own object."""
    if not survey.inference.in_tree(method.owner) or method.module.name != method.owner.module:
        return
    if any(decorator.text == "classmethod" for decorator in method.facts.decorators):
        return
    for body in method.body.all():
        for place in body.reads:
            told = place.sure or body.self_name not in body.asked
            if told and isinstance(place.node, ast.Attribute) and _is_self(place.node.value, body):
                yield place


def _is_self(node: ast.expr, body: Body) -> bool:
    return isinstance(node, ast.Name) and node.id == body.self_name


def _in_interface_method(survey: Survey, store: ForeignStore) -> bool:
    """Whether the attribute is set in a method that an interface of the tree declares: that runs only in launches
    which use the interface."""
    module = survey.program.module_at(store.path)
    for cls in survey.classes_in(module) if module is not None else ():
        for member in cls.methods().values():
            if member.line is not None and member.line <= store.line <= getattr(member.facts, "end_line", 0):
                declaring = {
                    s for base in cls.mro if base.is_protocol for s in (base, *survey.protocols.siblings(base))
                }
                return any(interface.own(member.name) is not None for interface in declaring)
    return False


def _never_set(survey: Survey, cls: Class, name: str, reads: list[tuple[Method, Place]]) -> Fault:
    reads.sort(key=lambda read: (read[0].owner is not cls, read[0].module.path or "", read[1].node.lineno))
    sure = _sure(survey, cls, reads)
    method, place = (sure or reads)[0]
    assert isinstance(place.node, ast.Attribute)
    span = read_at = survey.code.span(method.module, place.node)
    fatal = bool(sure) and survey.needed.by_every_launch(cls)
    severity = survey.severity(fatal, cls.path, method.module.path)
    if not sure and not method.facts.name.startswith("__") and not survey.attributes.referred(method.facts.name):
        severity = survey.severity(False)  # no code of the tree runs that method
    setter = _setter_that_does_not_run(survey, cls, name)
    if not survey.patched(cls.path) and setter is not None:
        severity = Severity.INFO  # a class of the release that makes itself without its base: only its launches fail
    if not sure and not survey.patched(cls.path) and not survey.compared:
        severity = Severity.INFO  # the release may have it, in a method that does not run for this class
    called = _is_called(method, place)
    reader = f"{method.owner.name}.{method.facts.name} {'calls' if called else 'reads'}"
    message = f"{cls.name} has no {'method' if called else 'attribute'} `{name}`, which {reader}"
    misspelt = _misspelt_store(survey, cls, name)
    if misspelt is not None:
        span, other = misspelt
        message = f"{cls.name} sets `{other}`, which nothing reads, but {reader} `{name}`"
    near = survey.near(name, _known_names(survey, cls))
    if called:
        fix = f"define `{name}`, or call what there is"
    elif setter is not None:
        fix = f"call `super().__init__(...)`, or set `self.{name}` in `{cls.name}.__init__`"
    else:
        fix = f"set `self.{name}` in `{cls.name}.__init__`"
    return survey.fault(
        NEVER_SET,
        span,
        message,
        why="; ".join(_reasons(survey, cls, name, method, reads, read_at, span)) or None,
        help=f"{near} {fix}" if near else fix,
        severity=severity,
        trail=_trail(cls, method, read_at, span),
    )


def _reasons(
    survey: Survey,
    cls: Class,
    name: str,
    method: Method,
    reads: list[tuple[Method, Place]],
    read_at: Span,
    span: Span,
) -> Iterator[str]:
    """What a person has to know to believe it."""
    setter = _setter_that_does_not_run(survey, cls, name)
    if setter is not None:
        yield f"{setter.name} sets it, in a method that does not run for a {cls.name}"
    foreign = survey.attributes.foreign(name)
    if foreign and not _sure(survey, cls, reads):
        yield f"it is set from outside only, in {foreign.path}:{foreign.line}, which not every launch runs"
    if method.owner is not cls:
        yield f"{cls.name} inherits {method.owner.name}.{method.facts.name}, which reads it"
    if span is not read_at:
        yield f"it is read in {read_at.path}:{read_at.line}"
    others = sorted({place.node.lineno for other, place in reads if other.module is method.module} - {read_at.line})
    if others:
        yield f"it is also read in line {', '.join(map(str, others[:5]))}"


def _setter_that_does_not_run(survey: Survey, cls: Class, name: str) -> Class | None:
    """A base whose own methods set the attribute."""
    return next((base for base in cls.mro[1:] if survey.inference.objects.storing(base).get(name)), None)


def _is_called(method: Method, place: Place) -> bool:
    """Whether what is read is called at once."""
    return any(
        isinstance(call.node, ast.Call) and call.node.func is place.node
        for body in method.body.all()
        for call in body.calls
    )


def _known_names(survey: Survey, cls: Class) -> set[str]:
    """The names that an object of the class has."""
    found = {name for base in cls.mro for name in base.own_names()}
    for method in survey.inference.objects.methods(cls):
        for body in method.body.all():
            found.update(body.stores)
    return found


def _misspelt_store(survey: Survey, cls: Class, name: str) -> tuple[Span, str] | None:
    """A similar attribute that construction sets and no other file knows, where others know the name that is read:
    then the line that sets it is the one to change."""
    stores = {
        other: (method, binding)
        for method in survey.inference.objects.construction(cls)
        for body in method.body.all()
        for other, bindings in body.stores.items()
        for binding in bindings
    }
    read = {
        place.node.attr
        for method in survey.inference.objects.methods(cls)
        for place in _self_reads(survey, method)
        if isinstance(place.node, ast.Attribute)
    }
    for other in survey.program.near(name, [other for other in stores if other not in read]):
        method, binding = stores[other]
        known_elsewhere = _files(survey, name) > 1 and _files(survey, other) == 1
        if method.owner is cls and isinstance(binding.node, ast.Attribute) and known_elsewhere:
            return survey.code.span(method.module, binding.node), other
    return None


def _files(survey: Survey, name: str) -> int:
    """How many files of the tree hold the word; 2 stands for more."""
    return sum(1 for _, _ in zip(survey.program.texts.each_with(name), range(2), strict=False))


def _trail(cls: Class, method: Method, read_at: Span, span: Span) -> list[Step]:
    reader = Step(read_at.path, read_at.line or 1, f"{method.owner.name}.{method.facts.name}", "reads it")
    if cls.facts is not None and cls is not method.owner:
        return [Step(cls.path or cls.module, cls.facts.line, cls.name, "the class of the object"), reader]
    return [reader] if span is not read_at else []


# -- on what it holds -------------------------------------------------------------------------------------------------


def _held(survey: Survey, cls: Class) -> Iterator[Fault]:
    """Attributes of other objects, whose class is known by how they are made."""
    for method in survey.inference.objects.methods(cls):
        if not survey.inference.in_tree(method.owner) or method.module.name != method.owner.module:
            continue
        if not survey.inference.objects.differs(cls, method):
            continue  # it is looked at where it is defined
        for body in method.body.all():
            env = survey.inference.env_of(method, cls, body)
            for place in body.reads:
                held = _lacking(survey, place, body, env)
                if held is not None and not survey.abstract(cls):
                    yield _delegate(survey, cls, method, place, held)


def _lacking(survey: Survey, place: Place, body: Body, env: Env) -> Class | None:
    """The class of the object in ``object.name`` if it certainly lacks the name."""
    node = place.node
    if not isinstance(node, ast.Attribute) or place.survives("AttributeError") or _is_self(node.value, body):
        return None
    if node.attr.startswith("__") or node.attr in body.asked_names:
        return None
    value = survey.inference.infer(node.value, env)
    if value.unknown is not None:
        return None
    lacking: Class | None = None
    for kind in value.kinds:
        if isinstance(kind, Plain) and kind.value is None:
            continue
        if not isinstance(kind, (SuperOf, InstanceOf)) or not _lacks(survey, kind, node.attr):
            return None
        lacking = kind.cls
    if lacking is None or ast.unparse(node.value) in body.asked or survey.attributes.foreign(node.attr):
        return None
    return lacking


def _lacks(survey: Survey, kind: SuperOf | InstanceOf, name: str) -> bool:
    """Whether an object, or what ``super()`` gives, certainly lacks the name."""
    if isinstance(kind, InstanceOf):
        return survey.inference.in_tree(kind.cls) and survey.attributes.has(kind.cls, name) is False
    if survey.attributes.open(kind.cls) or kind.owner not in kind.cls.mro or name in CLASS_ATTRIBUTES:
        return False
    return all(base.own(name) is None for base in kind.cls.mro[kind.cls.mro.index(kind.owner) + 1 :])


def _delegate(survey: Survey, cls: Class, method: Method, place: Place, held: Class) -> Fault:
    node = place.node
    assert isinstance(node, ast.Attribute)
    span = survey.code.span(method.module, node)
    what = "method" if _is_called(method, place) else "attribute"
    certain = place.sure and survey.inference.objects.certainly_constructs(cls, method)
    certain = certain and survey.needed.by_every_launch(cls)
    owner = ast.unparse(node.value)
    where = method.owner.name + "." + method.facts.name
    trail = [Step(span.path, span.line or 1, where, f"reads `{owner}.{node.attr}`")]
    near = survey.near(node.attr, _known_names(survey, held))
    if held.facts is None or owner.startswith("super("):
        message = f"no base of {method.owner.name} has the {what} `{node.attr}` that {where} asks `{owner}` for"
        fix = "define it in a base, or leave the call out"
    else:
        message = f"`{owner}` is a {held.name}, which has no {what} `{node.attr}`"
        fix = f"define `{node.attr}` in {held.name} ({held.path}:{held.facts.line}), or use what it has"
        trail.append(Step(held.path or held.module, held.facts.line, held.name, "has no such name"))
    inherits = f", on a {cls.name}" if method.owner is not cls else ""
    return survey.fault(
        DELEGATE,
        span,
        message,
        why=f"{where} raises AttributeError where it reads it{inherits}",
        help=f"{near} {fix}" if near else fix,
        severity=survey.severity(certain, span.path, held.path, cls.path),
        trail=trail,
    )
