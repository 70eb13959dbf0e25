"""What a ``forward`` returns, and how a finding about it is put."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from preflight.model import Severity, Step

if TYPE_CHECKING:
    from preflight.checks.classes.survey import Survey
    from preflight.checks.inference.bodies import Body
    from preflight.checks.inference.tracing import SetOn
    from preflight.program import Class


#: what calling a module runs (torch.nn.Module)
FORWARD = "forward"


@dataclass(frozen=True, slots=True)
class Output:
    """A ``return`` of a body: ``parts`` are the elements of a tuple, None for anything else."""

    node: ast.Return
    parts: tuple[ast.expr, ...] | None
    looped: bool


def outputs(body: Body) -> list[Output]:
    """The values that a body returns; a name that is bound to a tuple just once counts as the tuple."""
    found = []
    for node, looped in body.returns:
        value = node.value
        if isinstance(value, ast.Name):
            bindings = body.names.get(value.id, [])
            if len(bindings) == 1 and isinstance(bindings[0].value, ast.Tuple) and not bindings[0].index:
                value = bindings[0].value
        parts = tuple(value.elts) if isinstance(value, ast.Tuple) else None
        found.append(Output(node, parts, looped))
    return found


def reads_own(body: Body, name: str) -> bool:
    """Whether a body reads ``self.name``."""
    return any(
        isinstance(place.node, ast.Attribute)
        and place.node.attr == name
        and isinstance(place.node.value, ast.Name)
        and place.node.value.id == inner.self_name
        for inner in body.all()
        for place in inner.reads
    )


def as_in(survey: Survey, other: Class) -> str:
    method = survey.inference.objects.winner(other, FORWARD)
    if method is None:
        return ""
    return f", as {other.name} does in {method.module.path}:{method.facts.line}"


def graded(survey: Survey, required: bool, *paths: str | None) -> Severity | None:
    return None if required and survey.patched(*paths) else survey.severity(required, *paths)


def chain_trail(found: SetOn) -> list[Step]:
    steps = []
    for holder in found.chain:
        if holder.facts is not None:
            note = "is asked" if holder is found.chain[0] else "is reached"
            steps.append(Step(holder.path or holder.module, holder.facts.line, holder.name, note))
    return steps


def shown(node: ast.expr) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 80 else text[:77] + "..."


def is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def is_plain_builtin(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("len", "isinstance", "type", "print", "id", "tuple", "list")
