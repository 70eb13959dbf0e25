"""Which functions of the tree a call may run, and what it passes to them."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from preflight.checks.inference.values import (
    Alternatives,
    ClassItself,
    Env,
    FunctionOf,
    InstanceOf,
    Kind,
    SuperOf,
)
from preflight.model import Span
from preflight.program import CallShape, Class, Signature
from preflight.program.facts import (
    KIND_KEYWORD_ONLY,
    KIND_POSITIONAL_ONLY,
    KIND_VAR_KEYWORD,
    KIND_VAR_POSITIONAL,
    Expression,
    FunctionFacts,
)

if TYPE_CHECKING:
    from preflight.checks.inference.bodies import Body
    from preflight.checks.inference.inference import Inference
    from preflight.program.classes import Member

#: what calling a module does (``torch.nn.Module.__call__``): it calls this method with the same arguments
_MODULE_CALL, _MODULE_BODY = "__call__", "forward"


@dataclass(frozen=True, slots=True)
class Callee:
    """A function that a call runs: ``signature`` is what the call has to fill, ``name`` how a person calls it, ``span``
    where it is defined, ``owner`` the class that defines it, ``cls`` the class of the object or the class that is
    called, and ``method`` the name by which it was found there."""

    signature: Signature
    name: str
    span: Span
    owner: Class | None = None
    cls: Class | None = None
    method: str | None = None
    facts: FunctionFacts | None = None


@dataclass(frozen=True, slots=True)
class Callees:
    """All functions that a call may run. ``unknown``: there may be others, for that reason."""

    found: tuple[Callee, ...] = ()
    unknown: str | None = None


def shape_of(node: ast.Call) -> CallShape:
    """What a call passes."""
    positional = [argument for argument in node.args if not isinstance(argument, ast.Starred)]
    return CallShape(
        len(positional),
        tuple(keyword.arg for keyword in node.keywords if keyword.arg is not None),
        len(positional) != len(node.args),
        any(keyword.arg is None for keyword in node.keywords),
    )


def callees(inference: Inference, node: ast.Call, env: Env) -> Callees:
    """The functions that a call in ``env`` may run."""
    return _of(inference, inference.infer(node.func, env))


def is_asked(node: ast.Call, body: Body) -> bool:
    """Whether the function asks what kind of object it is that is called."""
    func = node.func
    texts = {ast.unparse(func)}
    if isinstance(func, ast.Attribute):
        texts.add(ast.unparse(func.value))
    return bool(texts & body.asked)


def _of(inference: Inference, value: Alternatives) -> Callees:
    found: list[Callee] = []
    reason = value.unknown
    for kind in value.kinds:
        callee = _callee(inference, kind)
        if isinstance(callee, str):
            reason = reason or callee
        else:
            found.append(callee)
    return Callees(tuple(found), reason)


def _callee(inference: Inference, kind: Kind) -> Callee | str:
    """The function that calling ``kind`` runs, or why it is not known."""
    program = inference.program
    if isinstance(kind, FunctionOf):
        if not kind.module.spec.in_tree:
            return "it is no function of the tree"
        signature = program.signature(kind.module, kind.facts)
        if not signature.exact:
            return signature.reason
        span = Span(kind.module.path or kind.module.name, kind.facts.line, kind.facts.column)
        name = f"{kind.owner.name}.{kind.facts.name}" if kind.owner is not None else kind.facts.name
        return Callee(
            signature.bound() if kind.bound else signature,
            name,
            span,
            kind.owner,
            kind.receiver,
            kind.facts.name,
            kind.facts,
        )
    if isinstance(kind, ClassItself):
        signature = program.constructor(kind.cls)
        member = kind.cls.lookup("__init__")
        if signature is None or not signature.exact or not inference.in_tree(kind.cls):
            return f"how {kind.cls.name} is made is not known"
        if member is not None and not inference.in_tree(member.owner):
            return f"{kind.cls.name} is made by what is outside of the tree"
        owner = member.owner if member is not None else kind.cls
        if "__init__" in owner.changed:
            signature = _handed_on(inference, owner, signature)
        span = _member_span(member) or kind.cls.span
        facts = member.facts if member is not None and isinstance(member.facts, FunctionFacts) else None
        return Callee(signature, f"{owner.name}.__init__", span, owner, kind.cls, "__init__", facts)
    if isinstance(kind, InstanceOf):
        return _call_of_object(inference, kind.cls)
    if isinstance(kind, SuperOf):
        return "super() is no function"
    return "it is no function of the tree"


def _handed_on(inference: Inference, cls: Class, signature: Signature) -> Signature:
    """What a constructor takes that a decorator has put over the one of the class statement: where it hands on what
    other keywords it is given (``old_init(self, **kwargs)``), these have to be the old one's."""
    rest = next((parameter for parameter in signature.parameters if parameter.kind == KIND_VAR_KEYWORD), None)
    body = inference.objects.put_there(cls, "__init__")
    old = next(iter(cls.namespace.names.get("__init__", ())), None)
    if rest is None or body is None or not isinstance(old, FunctionFacts) or old.decorators:
        return signature
    handing_on = [
        place
        for place in body.body.calls
        if place.sure
        and isinstance(place.node, ast.Call)
        and any(
            k.arg is None and isinstance(k.value, ast.Name) and k.value.id == rest.name for k in place.node.keywords
        )
    ]
    taken = [parameter for parameter in old.parameters[1:] if parameter.kind != KIND_POSITIONAL_ONLY]
    if len(handing_on) != 1 or any(parameter.kind == KIND_VAR_KEYWORD for parameter in taken):
        return signature
    named = {parameter.name for parameter in signature.parameters}
    nothing = Expression("...", 0, 0)  # what the old one has to be given, the new one may give it
    others = [
        parameter._replace(kind=KIND_KEYWORD_ONLY, default=nothing)
        for parameter in taken
        if parameter.name not in named and parameter.kind != KIND_VAR_POSITIONAL
    ]
    kept = [parameter for parameter in signature.parameters if parameter is not rest]
    return Signature((*kept, *others))


def _call_of_object(inference: Inference, cls: Class) -> Callee | str:
    """Calling an object: ``__call__``, which for a module is ``forward``."""
    member = cls.lookup(_MODULE_CALL)
    if member is None:
        return f"{cls.name} is not callable, or it is not known"
    name = _MODULE_CALL
    if member.owner.opaque or name in member.owner.changed:
        if not any(is_module(base) for base in cls.mro):
            return f"what {member.owner.name}.__call__ does is not known"
        member, name = cls.lookup(_MODULE_BODY), _MODULE_BODY
        if member is None or member.owner.opaque:
            return f"{cls.name} has no forward of its own"
    if not inference.in_tree(member.owner):
        return f"{name} of {cls.name} is outside of the tree"
    if member.kind != "method" or not member.certain or inference.objects.plain_setters(cls, name):
        return f"{name} of {cls.name} is no plain method"
    signature = inference.program.member_signature(member)
    if signature is None or not signature.exact:
        return signature.reason if signature is not None else f"what {cls.name}.{name} takes is not known"
    facts = member.facts if isinstance(member.facts, FunctionFacts) else None
    return Callee(signature.bound(), f"{member.owner.name}.{name}", member.span, member.owner, cls, name, facts)


def is_module(cls: Class) -> bool:
    """Whether a class is ``torch.nn.Module`` itself."""
    return cls.defined == "torch.nn.modules.module.Module" or f"{cls.module}.{cls.name}" == "torch.nn.Module"


def _member_span(member: Member | None) -> Span | None:
    return member.span if member is not None and member.line is not None else None
