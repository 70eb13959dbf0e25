"""The objects between the one that an interface is asked of and the model inside: whether they hand on its answer."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from preflight.checks.classes.ids import NOT_RETURNED
from preflight.checks.classes.returning import FORWARD, chain_trail, graded, is_name, is_plain_builtin, outputs, shown
from preflight.model import Fault, Span

if TYPE_CHECKING:
    from preflight.checks.classes.survey import Survey
    from preflight.checks.inference.bodies import Body
    from preflight.checks.inference.objects import Method
    from preflight.checks.inference.tracing import SetOn
    from preflight.program import Class


class Wrapper:
    """The ``forward`` of an object that holds the model, or another wrapper of it."""

    def __init__(self, survey: Survey, holder: Class, held: Class, found: SetOn, required: bool) -> None:
        self.survey = survey
        self.holder = holder
        self.held = held
        self.found = found
        self.required = required

    def problem(self) -> Fault | None:
        """Where the wrapper drops what the inner model returns, None if it hands it on or nobody can tell."""
        method = self.survey.inference.objects.winner(self.holder, FORWARD)
        if method is None or not self.survey.inference.in_tree(method.owner):
            return None
        env = self.survey.inference.env_of(method, self.holder)
        for place in method.body.calls:
            node = place.node
            assert isinstance(node, ast.Call)
            held = self.survey.inference.infer(node.func, env).classes()
            if held is not None and any(cls is self.held for cls in held):
                bad = self.dropped(method.body, node)
                if bad is not None:
                    return self.fault(method, bad[0], bad[1])
        return None

    def dropped(self, body: Body, call: ast.Call) -> tuple[ast.AST, str] | None:
        """The place where the result of the call loses its second part, and what happens there."""
        for node in ast.walk(body.node):
            if isinstance(node, ast.Subscript) and node.value is call:
                return node, "takes one part out of it"
            if isinstance(node, ast.Call) and any(argument is call for argument in node.args):
                return node, f"hands it to `{shown(node.func)}`"
            if isinstance(node, ast.Assign) and node.value is call and len(node.targets) == 1:
                return self.bound(body, node.targets[0], node)
        return None

    def bound(self, body: Body, target: ast.expr, node: ast.Assign) -> tuple[ast.AST, str] | None:
        if isinstance(target, (ast.Tuple, ast.List)):
            names = [element.id for element in target.elts if isinstance(element, ast.Name)]
            handed = [out for out in outputs(body) if out.parts is not None]
            if any(sum(any(is_name(part, name) for part in out.parts or ()) for name in names) > 1 for out in handed):
                return None
            return node, "takes it apart and returns one part of it"
        if not isinstance(target, ast.Name) or target.id in body.asked:
            return None
        return self.used(body, target.id, node)

    def used(self, body: Body, name: str, after: ast.Assign) -> tuple[ast.AST, str] | None:
        """What is done with a name that holds the result."""
        for node in ast.walk(body.node):
            line = getattr(node, "lineno", 0)
            if line <= (after.end_lineno or after.lineno):
                continue
            if isinstance(node, ast.Subscript) and is_name(node.value, name) and isinstance(node.ctx, ast.Load):
                return node, "takes one part out of it"
            given = isinstance(node, ast.Call) and any(is_name(argument, name) for argument in node.args)
            if isinstance(node, ast.Call) and given and not is_plain_builtin(node.func):
                return node, f"hands it to `{shown(node.func)}`"
            if isinstance(node, ast.BinOp) and (is_name(node.left, name) or is_name(node.right, name)):
                return node, "computes with it"
            if isinstance(node, ast.Assign) and is_name(node.value, name) and isinstance(node.targets[0], ast.Tuple):
                return self.bound(body, node.targets[0], node)
        return None

    def fault(self, method: Method, node: ast.AST, what: str) -> Fault:
        survey = self.survey
        path = method.module.path or method.module.name
        span = Span(path, getattr(node, "lineno", 1), getattr(node, "col_offset", 0) + 1)
        return survey.fault(
            NOT_RETURNED,
            span,
            f"{method.owner.name}.{FORWARD} does not hand on what its {self.held.name} returns: it {what}",
            why=f"once `{self.found.name}` is set, the {self.held.name} returns its output together with hidden states",
            help="return the whole result of the inner model, or take both parts and return both",
            severity=graded(survey, self.required, path, self.holder.path, self.held.path),
            trail=chain_trail(self.found),
        )
