"""Keywords that a call hands to ``**kwargs`` by mistake: what takes them has a parameter that is spelt almost alike."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from preflight.checks.classes.ids import SWALLOWED
from preflight.checks.inference.callees import callees
from preflight.checks.inference.values import Env
from preflight.checks.reach import class_facts, function_facts
from preflight.model import Fault, Severity, Step
from preflight.program.facts import KIND_VAR_KEYWORD

if TYPE_CHECKING:
    from preflight.checks.classes.survey import Survey
    from preflight.checks.inference.callees import Callee
    from preflight.program import Module


def check_swallowed(survey: Survey) -> Iterator[Fault]:
    """The keywords that calls in patched files pass, and that no parameter of the tree is called by."""
    for module in survey.reach.modules:
        if survey.patched(module.path):
            yield from _in_module(survey, module)


def _in_module(survey: Survey, module: Module) -> Iterator[Fault]:
    words = Counter(re.findall(rb"\w+", survey.program.texts.of(module)))
    owners = {facts.qualname for facts in class_facts(module.facts.body)}
    for env in _scopes(survey, module, owners):
        assert env.body is not None
        for place in env.body.calls:
            node = place.node
            if not isinstance(node, ast.Call) or place.survives("TypeError"):
                continue
            for keyword in node.keywords:
                if keyword.arg is None or words[keyword.arg.encode()] != 1:
                    continue
                found = callees(survey.inference, node, env)
                near = [_meant(survey, callee, keyword.arg) for callee in found.found]
                if found.unknown is not None or not near or not all(near):
                    continue
                # a name that the tree has anywhere else is somebody's parameter
                if {other.name for other in survey.program.texts.modules_with(keyword.arg)} <= {module.name}:
                    yield _fault(survey, module, node, keyword, found.found[0], near[0] or "")


def _scopes(survey: Survey, module: Module, owners: set[str]) -> Iterator[Env]:
    for facts in function_facts(module.facts.body):
        body = survey.code.body(module, facts)
        for inner in body.all() if body is not None else ():
            yield Env(module, inner)
    for cls in survey.classes_in(module):
        for member in cls.methods().values() if cls.qualname in owners else ():
            method = survey.inference.objects.winner(cls, member.name)
            for inner in method.body.all() if method is not None and method.module is module else ():
                yield Env(module, inner, cls, cls)


def _meant(survey: Survey, callee: Callee, name: str) -> str | None:
    """The parameter that a keyword comes near, of a function that takes the keyword as one of any name."""
    signature = callee.signature
    if not signature.takes_any_keyword or signature.parameter(name) is not None:
        return None
    named = [parameter.name for parameter in signature.parameters if parameter.kind != KIND_VAR_KEYWORD]
    return next(iter(survey.program.near(name, named, 1)), None)


def _fault(survey: Survey, module: Module, node: ast.Call, keyword: ast.keyword, callee: Callee, near: str) -> Fault:
    rest = next(p.name for p in callee.signature.parameters if p.kind == KIND_VAR_KEYWORD)
    return survey.fault(
        SWALLOWED,
        survey.code.keyword_span(module, keyword),
        f"the call `{ast.unparse(node.func)}(...)` passes `{keyword.arg}`, which nothing in this tree has a parameter "
        f"for: {callee.name} takes it by `**{rest}`",
        why="what `**` takes is handed on or dropped: the call fails further down, or the value is without effect",
        help=f"did you mean `{near}`?",
        severity=Severity.WARNING,
        trail=[Step(callee.span.path, callee.span.line or 1, callee.name, "what is called")],
    )
