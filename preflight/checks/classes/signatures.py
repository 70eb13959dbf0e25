"""Calls that cannot bind to the function of the tree that they call, and overrides that cannot take what is passed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from preflight.checks.bound import statements
from preflight.checks.classes.ids import CANNOT_BIND, OVERRIDE
from preflight.checks.inference.callees import Callee, callees, is_asked, shape_of
from preflight.checks.inference.values import Env
from preflight.checks.plugins import endings_of
from preflight.checks.reach import classes_of, function_facts
from preflight.checks.subjects import FAILS
from preflight.model import Fault, Severity, Span, Step
from preflight.program import BindProblem
from preflight.program.facts import ClassFacts, FunctionFacts

if TYPE_CHECKING:
    from preflight.checks.classes.survey import Survey
    from preflight.checks.inference.bodies import Body, Place
    from preflight.checks.inference.objects import Method
    from preflight.program import Class, Module


def check_calls(survey: Survey) -> Iterator[Fault]:
    """The calls that the files to check make, and those that others make to what these files define."""
    return _unlike(_faults(survey))


def check_methods(survey: Survey, classes: Iterable[Class]) -> Iterator[Fault]:
    """The calls that objects of these classes can run."""
    return _unlike(
        fault
        for cls in classes
        for method in survey.inference.objects.methods(cls)
        if survey.inference.in_tree(method.owner) and survey.inference.objects.differs(cls, method)
        for fault in _in_method(survey, cls, method)
    )


def _unlike(faults: Iterable[Fault]) -> Iterator[Fault]:
    """One fault for each place."""
    seen: set[tuple[str, int | None, int | None]] = set()
    for fault in faults:
        key = (fault.span.path, fault.span.line, fault.span.column)
        if key not in seen:
            seen.add(key)
            yield fault


def _faults(survey: Survey) -> Iterator[Fault]:
    for module in survey.reach.modules:
        yield from _in_module(survey, module, own=True)
    names = {
        item.name
        for module in survey.reach.modules
        for item in statements(module.facts.body)
        if isinstance(item, (ClassFacts, FunctionFacts))
    }
    called = re.compile(rb"\b(?<!class )(?:" + b"|".join(re.escape(name.encode()) for name in names) + rb")\s*\(")
    for module in survey.reach.dependents if names else ():
        if called.search(survey.program.texts.of(module)):
            yield from _in_module(survey, module, own=False)
    yield from check_methods(survey, survey.classes())


def _in_module(survey: Survey, module: Module, own: bool) -> Iterator[Fault]:
    """Calls in the functions of a module, and those that importing it makes."""
    for facts in function_facts(module.facts.body):
        body = survey.code.body(module, facts)
        if body is not None:
            for inner in body.all():
                yield from _in_body(survey, inner, Env(module, inner), runs=None, own=own)
    top = survey.code.top(module)
    if top is not None:
        yield from _in_body(survey, top, Env(module), runs="import", own=own)
    if not own:
        # methods of classes that derive from nothing of the files to check
        for cls in classes_of(survey.program, module):
            for member in cls.methods().values():
                method = survey.inference.objects.winner(cls, member.name)
                if method is not None and method.owner is cls:
                    yield from _in_method(survey, cls, method, own=False)


def _in_method(survey: Survey, cls: Class, method: Method, own: bool = True) -> Iterator[Fault]:
    runs = "construction" if survey.inference.objects.certainly_constructs(cls, method) else None
    for body in method.body.all():
        env = Env(method.module, body, cls, method.owner)
        yield from _in_body(survey, body, env, runs if body is method.body else None, own)


def _in_body(survey: Survey, body: Body, env: Env, runs: str | None, own: bool) -> Iterator[Fault]:
    """The calls of one body. ``runs``: what is certain to run it; ``own``: whether its file is one to check, else only
    calls to what such a file defines count."""
    for place in body.calls:
        node = place.node
        assert isinstance(node, ast.Call)
        if place.survives("TypeError"):
            continue
        found = callees(survey.inference, node, env)
        if found.unknown is not None or not found.found:
            continue
        shape = shape_of(node)
        problems = [problem for callee in found.found if (problem := callee.signature.bind(shape)) is not None]
        if len(problems) != len(found.found) or is_asked(node, body) or _set_from_outside(survey, node):
            continue
        callee, problem = found.found[0], problems[0]
        if not own and callee.span.path not in {module.path for module in survey.reach.modules}:
            continue
        if env.cls is not None and _decided_by_subclasses(survey, env.cls, node, callee):
            continue
        yield _fault(survey, env, place, callee, problem, runs)


def _set_from_outside(survey: Survey, node: ast.Call) -> bool:
    """Whether other code puts something else in the place of the method that is called."""
    return isinstance(node.func, ast.Attribute) and survey.attributes.foreign(node.func.attr) is not None


def _decided_by_subclasses(survey: Survey, cls: Class, node: ast.Call, callee: Callee) -> bool:
    """Whether what ``self`` leads to is for subclasses to say: no object is made of the class itself."""
    head: ast.expr = node.func
    name = None
    while isinstance(head, (ast.Attribute, ast.Call, ast.Subscript)):
        name = head.attr if isinstance(head, ast.Attribute) else name
        head = head.func if isinstance(head, ast.Call) else head.value
    if isinstance(head, ast.Name) and head.id not in ("self", "cls", "super"):
        return False
    if callee.cls is None or not survey.abstract(cls):
        return False
    # what no subclass defines or sets is what the class itself has
    return name is None or any(
        other.own(name) is not None or name in survey.inference.objects.storing(other)
        for derived in survey.subclasses(cls)
        for other in derived.mro
        if other not in cls.mro and not other.opaque
    )


def _every_launch(survey: Survey, cls: Class | None) -> bool:
    return cls is not None and survey.needed.by_every_launch(cls)


def _fault(survey: Survey, env: Env, place: Place, callee: Callee, problem: BindProblem, runs: str | None) -> Fault:
    node = place.node
    assert isinstance(node, ast.Call)
    call = survey.code.span(env.module, node.func)
    passed = _passed(survey, env, node, problem) or call
    signature = f"{callee.name}{callee.signature}"
    # importing a file runs its own statements for every launch that loads it
    certain = place.sure and (runs == "import" or (runs is not None and _every_launch(survey, env.cls)))
    ending = FAILS
    if place.sure and runs in ("import", None) and survey.program.finder.is_plugin(env.module.name):
        line = node.lineno if runs is None else None
        ending = endings_of(survey.program).of(survey.context.launch, env.module.name, line)
        certain = ending.fails
        runs = "start" if certain and runs is None else runs
    severity = survey.severity(certain, call.path, callee.span.path, env.cls.path if env.cls is not None else None)
    wanted = f"it is defined as `{signature}` in {callee.span.path}:{callee.span.line}"
    near = ""
    if problem.kind == "unexpected":
        near = survey.near(problem.names[0], [parameter.name for parameter in callee.signature.parameters])
    called = ast.unparse(node.func)
    if len(called) > 60:
        called = called[:57] + "..."
    if _is_override(survey, env, callee) and callee.span.path != call.path:
        assert callee.cls is not None and callee.owner is not None
        return survey.fault(
            OVERRIDE,
            callee.span,
            f"{callee.name} cannot take what {env.owner.name if env.owner else env.module.name} passes to it: it "
            f"{what_is_wrong(problem)}",
            why=f"{call.path}:{call.line} calls it as `{_shown(node)}`" + _on(env, callee),
            help=_help(near, "give it the parameters that are passed, or `**kwargs`"),
            severity=severity,
            trail=_trail(env, call, callee),
        )
    span = passed
    if callee.span.path in survey.reach.patched and call.path not in survey.reach.patched:
        span = callee.span
    consequence = {
        "import": "importing the file runs this call",
        "construction": f"making a {env.cls.name if env.cls else ''} runs this call",
        "start": "the plug-in's entry point runs this call",
        None: "it raises TypeError where it runs",
    }[runs if place.sure else None]
    return survey.fault(
        CANNOT_BIND,
        span,
        f"the call `{called}(...)` {'in ' + call.path + ' ' if span is not passed else ''}cannot bind: "
        f"{callee.name} {what_is_wrong(problem)}",
        why=ending.after(consequence + _on(env, callee)),
        help=_help(near, wanted),
        severity=severity,
        trail=_trail(env, call, callee),
    )


def _passed(survey: Survey, env: Env, node: ast.Call, problem: BindProblem) -> Span | None:
    """Where a call passes the keyword that is too much."""
    for keyword in node.keywords if problem.kind == "unexpected" else ():
        if keyword.arg in problem.names:
            return survey.code.keyword_span(env.module, keyword)
    return None


def what_is_wrong(problem: BindProblem) -> str:
    """The problem as the rest of a sentence about the function."""
    return f"is {problem.message}" if problem.kind == "missing" else problem.message


def _is_override(survey: Survey, env: Env, callee: Callee) -> bool:
    """Whether code of one class calls, on its own object, a method that a subclass has in its own way."""
    return (
        env.cls is not None
        and env.owner is not None
        and callee.cls is env.cls
        and callee.owner is not None
        and callee.owner is not env.owner
        and env.owner in callee.owner.mro
    )


def _on(env: Env, callee: Callee) -> str:
    if env.cls is not None and env.owner is not env.cls:
        return f" (on a {env.cls.name}, which inherits the call from {env.owner.name if env.owner else '?'})"
    return ""


def _help(near: str, rest: str) -> str:
    return f"{near} {rest}" if near else rest


def _shown(node: ast.Call) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 100 else text[:97] + "..."


def _trail(env: Env, call: Span, callee: Callee) -> list[Step]:
    function = env.body.node.name if env.body is not None and not isinstance(env.body.node, ast.Lambda) else "<module>"
    owner = f"{env.owner.name}." if env.owner is not None else ""
    steps = [Step(call.path, call.line or 1, owner + function, "the call")]
    if callee.span.line is not None:
        steps.append(Step(callee.span.path, callee.span.line, callee.name, "what is called"))
    return steps


__all__ = ["CANNOT_BIND", "OVERRIDE", "Severity", "check_calls"]
