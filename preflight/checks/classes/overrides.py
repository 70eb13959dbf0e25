"""Methods of an interface that are written so that those who call them by the interface cannot: another kind of member,
other parameters, or a result that is not what the interface says."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from preflight.checks.classes.ids import OVERRIDE, WRONG_RESULT
from preflight.checks.classes.signatures import what_is_wrong
from preflight.checks.inference.callees import shape_of
from preflight.checks.inference.values import FunctionOf, Plain
from preflight.model import Fault, Span, Step
from preflight.program import CallShape, Signature
from preflight.program.facts import (
    KIND_KEYWORD_ONLY,
    KIND_POSITIONAL_ONLY,
    KIND_POSITIONAL_OR_KEYWORD,
    FunctionFacts,
)

if TYPE_CHECKING:
    from preflight.checks.classes.survey import Survey
    from preflight.checks.inference.objects import Method
    from preflight.program import Class, Member, Program


#: a call that closes more brackets than this, or is longer, is not read
_MOST_BRACKETS = 20
_LONGEST_CALL = 4000
#: the dotted name, or call without arguments, before a dot
_RECEIVER = re.compile(rb"[\w.]*\w(?:\(\))?$")


@dataclass(frozen=True, slots=True)
class Caller:
    """A call of the tree to a method of this name: what it passes, and where."""

    shape: CallShape
    path: str
    line: int
    text: str


def check_overrides(survey: Survey) -> Iterator[Fault]:
    """The methods by which the classes to check implement an interface."""
    protocols = survey.protocols
    for cls in survey.classes():
        if cls.facts is None or protocols.is_interface(cls):
            continue
        for interface in protocols.claimed(cls):
            if interface.is_protocol:
                for name, wanted in protocols.methods(interface).items():
                    own = cls.own(name)
                    if own is not None and own.certain:
                        yield from overriding(survey, cls, interface, wanted, own)


def overriding(
    survey: Survey, cls: Class, interface: Class, wanted: Member, own: Member, required: bool = False
) -> Iterator[Fault]:
    """What is wrong with one member that implements ``wanted``."""
    if not isinstance(own.facts, FunctionFacts) or not isinstance(wanted.facts, FunctionFacts):
        return
    fault = _kind(survey, cls, interface, wanted, own, required)
    fault = fault or _parameters(survey, cls, interface, wanted, own, required)
    if fault is not None:
        yield fault
        return
    fault = _result(survey, cls, interface, wanted, own, required)
    if fault is not None:
        yield fault


def _kind(survey: Survey, cls: Class, interface: Class, wanted: Member, own: Member, required: bool) -> Fault | None:
    """A property where the interface has a method, or a method of the class where it has one of the object."""
    if own.kind == wanted.kind:
        return None
    if own.kind == "property" and wanted.kind in ("method", "classmethod", "staticmethod"):
        what = (
            f"makes `{own.name}` a property, and {interface.name} has a method: what reads it gets no function to call"
        )
        help = "take the decorator away"
    elif own.kind == "classmethod" and wanted.kind == "method":
        lacking = _instance_attribute(survey, cls, own)
        if lacking is None:
            return None
        what = f"makes `{own.name}` a classmethod, and a class has no `{lacking}`: only its objects have"
        help = "take the decorator away and name the first parameter `self`"
    elif own.kind == "method" and wanted.kind in ("classmethod", "staticmethod"):
        what = f"makes `{own.name}` a method of objects, and {interface.name} has a {wanted.kind}, called on the class"
        help = f"decorate it with `@{wanted.kind}`"
    else:
        return None
    return _fault(survey, cls, interface, wanted, own, what, help, required)


def _instance_attribute(survey: Survey, cls: Class, own: Member) -> str | None:
    """An attribute that a class method reads on the class and that only objects have."""
    assert isinstance(own.facts, FunctionFacts)
    method = survey.inference.objects.method(own.owner, own.facts)
    for place in method.body.reads if method is not None else ():
        node = place.node
        if (
            method is not None
            and isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == method.body.parameters[0]
            and cls.has(node.attr) is False
            and survey.inference.objects.setters(cls, node.attr)
        ):
            return node.attr
    return None


def _parameters(
    survey: Survey, cls: Class, interface: Class, wanted: Member, own: Member, required: bool
) -> Fault | None:
    """Parameters that cannot take what callers pass: those of the interface, then those that the tree's code passes."""
    signature = survey.program.member_signature(own)
    asked = survey.program.member_signature(wanted)
    if signature is None or asked is None or not signature.exact or not asked.exact:
        return None
    taken = signature if own.kind == "staticmethod" else signature.bound()
    base = asked if wanted.kind == "staticmethod" else asked.bound()
    help = f"write it as `def {own.name}{asked}`"
    if own.kind == "method" and not signature.parameters:
        return _fault(survey, cls, interface, wanted, own, f"`{own.name}` has no `self`", help, required)
    of_library = any(base.opaque and base.own(own.name) is not None for base in cls.mro)
    if of_library or not survey.protocols.alone(interface, own.name) or _same(taken, base):
        return None
    # the own file calls the same name on what it hands on to: that tells about the other class
    callers = [caller for caller in survey.callers(own.name) if caller.path != own.span.path]
    for caller in callers:
        problem = taken.bind(caller.shape)
        if problem is not None and base.bind(caller.shape) is None:
            what = f"`{own.name}` cannot take what {caller.path}:{caller.line} passes: it {what_is_wrong(problem)}"
            return _fault(survey, cls, interface, wanted, own, what, help, required, caller)
    problem = taken.bind(_least(base))
    if problem is not None and not callers:
        what = f"`{own.name}` cannot take the parameters of {interface.name}.{own.name}: it {what_is_wrong(problem)}"
        return _fault(survey, cls, interface, wanted, own, what, help, required)
    return None


def _same(one: Signature, other: Signature) -> bool:
    """Whether two signatures take the same calls, parameter by parameter."""
    return [(p.name, p.kind, p.default is None) for p in one.parameters] == [
        (p.name, p.kind, p.default is None) for p in other.parameters
    ]


def _least(signature: Signature) -> CallShape:
    """The smallest call that the interface's own signature takes."""
    needed = [parameter for parameter in signature.parameters if parameter.default is None]
    positional = [p for p in needed if p.kind in (KIND_POSITIONAL_ONLY, KIND_POSITIONAL_OR_KEYWORD)]
    return CallShape(len(positional), tuple(p.name for p in needed if p.kind == KIND_KEYWORD_ONLY))


def _result(survey: Survey, cls: Class, interface: Class, wanted: Member, own: Member, required: bool) -> Fault | None:
    """A method that never returns what the interface says it returns."""
    assert isinstance(own.facts, FunctionFacts) and isinstance(wanted.facts, FunctionFacts)
    returns = wanted.facts.returns
    method = survey.inference.objects.method(own.owner, own.facts)
    if returns is None or method is None or own.facts.stub is not None or method.body.yields:
        return None
    env = survey.inference.env_of(method, cls)
    fault = _endless(survey, cls, interface, wanted, own, method, required)
    if (
        fault is not None
        or re.search(r"\bNone\b|\bAny\b|\bobject\b", returns.text)
        or own.facts.is_async
        or own.facts.decorators
    ):
        return fault
    values = [node.value for node, _ in method.body.returns if node.value is not None]
    node = method.body.node
    if not values:
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or _always_raises(node):
            return None
        what = f"`{own.name}` returns nothing, and {interface.name} says that it returns `{returns.text}`"
        return _fault(survey, cls, interface, wanted, own, what, "return the value", required, code=WRONG_RESULT)
    for value in values:
        kinds = survey.inference.infer(value, env)
        only = kinds.only
        span = survey.code.span(method.module, value)
        if isinstance(only, FunctionOf) and not isinstance(value, ast.Call):
            what = f"`{own.name}` returns the method `{ast.unparse(value)}` itself, and not what it gives"
            help = f"call it: `{ast.unparse(value)}()`"
            return _fault(survey, cls, interface, wanted, own, what, help, required, code=WRONG_RESULT, span=span)
        if isinstance(only, Plain) and returns.text.startswith(("tuple", "list", "dict", "set")):
            what = f"`{own.name}` returns `{ast.unparse(value)}`, and {interface.name} says `{returns.text}`"
            return _fault(
                survey, cls, interface, wanted, own, what, "return what callers take apart", required,
                code=WRONG_RESULT, span=span,
            )  # fmt: skip
    return None


def _endless(
    survey: Survey, cls: Class, interface: Class, wanted: Member, own: Member, method: Method, required: bool
) -> Fault | None:
    """A method that certainly calls itself on the same object."""
    for place in method.body.calls:
        called = place.node.func if isinstance(place.node, ast.Call) else None
        if (
            place.sure
            and isinstance(called, ast.Attribute)
            and called.attr == own.name
            and isinstance(called.value, ast.Name)
            and called.value.id == method.body.self_name
        ):
            what = f"`{own.name}` calls itself on the same object, without end"
            span = survey.code.span(method.module, called)
            help = "call it on the object that it is meant to hand on to"
            return _fault(survey, cls, interface, wanted, own, what, help, required, code=WRONG_RESULT, span=span)
    return None


def _always_raises(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return isinstance(node.body[-1], ast.Raise)


def _fault(
    survey: Survey,
    cls: Class,
    interface: Class,
    wanted: Member,
    own: Member,
    what: str,
    help: str,
    required: bool,
    caller: Caller | None = None,
    code: str = OVERRIDE,
    span: Span | None = None,
) -> Fault:
    place = span or own.span
    trail = [Step(wanted.span.path, wanted.line or 1, f"{interface.name}.{wanted.name}", "what the interface has")]
    if caller is not None:
        trail.append(Step(caller.path, caller.line, "", f"calls `{caller.text}`"))
    severity = survey.severity(False, place.path, interface.path)
    if required and survey.patched(place.path, interface.path):
        severity = None
    return survey.fault(
        code,
        place,
        f"{cls.name} {what}" if not what.startswith("`") else f"{cls.name}.{what[1:].replace('`', '', 1)}",
        why=f"a launch that uses {interface.name} fails there",
        help=help,
        severity=severity,
        trail=trail,
    )


def callers_of(program: Program, name: str) -> Iterator[Caller]:
    """The calls ``something.name(...)`` of the tree, but for those on ``self``, ``cls`` and ``super()``.

    They are looked for as text, and only the call itself is parsed: the files that hold them are large.
    """
    needle = f".{name}(".encode()
    for module in program.texts.modules_with(name):
        data = program.texts.of(module)
        at = data.find(needle)
        while at >= 0:
            end = at + len(needle)
            before = data[data.rfind(b"\n", 0, at) + 1 : at]
            receiver = _RECEIVER.search(before)
            if receiver is not None and receiver[0] not in (b"self", b"cls", b"super()") and b"#" not in before:
                node = _call_at(data[end : end + _LONGEST_CALL].decode("utf-8", "replace"))
                if node is not None:
                    line = data.count(b"\n", 0, at) + 1
                    shown = (receiver[0] + needle).decode("utf-8", "replace")
                    yield Caller(shape_of(node), module.path or module.name, line, f"{shown}...)")
            at = data.find(needle, end)


def _call_at(text: str) -> ast.Call | None:
    """The call whose arguments ``text`` begins with; None if they are no Python."""
    end = 0
    for _ in range(_MOST_BRACKETS):
        end = text.find(")", end) + 1
        if end == 0:
            return None
        try:
            parsed = ast.parse(f"f({text[:end]}", mode="eval").body
        except (SyntaxError, ValueError):
            continue
        return parsed if isinstance(parsed, ast.Call) else None
    return None
