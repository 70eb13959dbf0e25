"""The model that an interface's setter sets an attribute on: whether it collects, and returns what it collected."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from preflight.checks.classes.ids import NOT_RETURNED
from preflight.checks.classes.returning import (
    FORWARD,
    Output,
    as_in,
    chain_trail,
    graded,
    is_name,
    is_plain_builtin,
    outputs,
    reads_own,
)
from preflight.checks.inference.callees import callees
from preflight.checks.inference.tracing import SetOn
from preflight.checks.inference.values import ClassItself, Env
from preflight.model import Fault, Span

if TYPE_CHECKING:
    from preflight.checks.classes.survey import Survey
    from preflight.checks.inference.objects import Method
    from preflight.program import Class


#: so many models that share a base tell what is usual
_ENOUGH = 12


class Collecting:
    """The ``forward`` of the model that the attribute is set on."""

    def __init__(self, survey: Survey, found: SetOn, method: Method, required: bool) -> None:
        self.survey = survey
        self.found = found
        self.method = method
        self.required = required
        self.body = method.body

    def problem(self) -> Fault | None:
        """What is wrong with it, None if nothing is to be seen."""
        outs = outputs(self.body)
        tuples = [out for out in outs if out.parts is not None and len(out.parts) >= 2]
        plain = [out for out in outs if out not in tuples and not self.is_made(out, self.method, self.found.cls)]
        if any(self.is_delegated(out) for out in outs):
            return None
        if not tuples:
            return self.never_returned(outs)
        pairs = all(len(out.parts or ()) == 2 for out in tuples)
        if not plain and pairs and self.peers_return_both():
            return self.fault(
                tuples[-1].node,
                "returns a tuple in every launch, also where nothing was asked for",
                "return the output alone unless something was collected",
            )
        return self.collected(tuples)

    def is_delegated(self, out: Output) -> bool:
        """Whether what is returned comes out of another call, which may return the tuple itself."""
        value = out.node.value
        if isinstance(value, ast.Name):
            bindings = self.body.names.get(value.id, [])
            value = bindings[-1].value if len(bindings) == 1 else None
        if not isinstance(value, ast.Call):
            return False
        found = callees(self.survey.inference, value, self.env())
        return any(callee.facts is not None and callee.facts.returns is None for callee in found.found) or any(
            callee.cls is not None and callee.method == FORWARD for callee in found.found
        )

    def is_made(self, out: Output, method: Method, cls: Class) -> bool:
        """Whether what is returned is an object made on the spot: something else than the output, for another rank."""
        if not isinstance(out.node.value, ast.Call):
            return False
        env = self.survey.inference.env_of(method, cls)
        return isinstance(self.survey.inference.infer(out.node.value.func, env).only, ClassItself)

    def env(self) -> Env:
        return self.survey.inference.env_of(self.method, self.found.cls)

    def never_returned(self, outs: list[Output]) -> Fault | None:
        if not outs or not self.peers_return_both():
            return None
        reached = self.survey.inference.objects.reached(self.found.cls, FORWARD)
        reads = any(reads_own(method.body, self.found.name) for method in reached)
        return self.fault(
            outs[-1].node,
            f"{'reads' if reads else 'does not read'} `{self.found.name}` and returns nothing beside its output",
            "collect what the layers give, and return it together with the output if there is any",
        )

    def peers_return_both(self) -> bool:
        """Whether the other models of the tree that read the attribute return a tuple in one launch and not in
        another, nearly all of them."""
        counted = both = 0
        for other in self.peers():
            method = self.survey.inference.objects.winner(other, FORWARD)
            reached = self.survey.inference.objects.reached(other, FORWARD)
            if method is None or not any(reads_own(one.body, self.found.name) for one in reached):
                continue
            outs = [out for out in outputs(method.body) if not self.is_made(out, method, other)]
            lengths = [len(out.parts) if out.parts is not None else 1 for out in outs]
            counted += 1
            both += any(length >= 2 for length in lengths) and 1 in lengths
        return counted >= 2 and both >= 0.8 * counted

    def peers(self) -> Iterator[Class]:
        """Other models whose code reads the attribute, in their own methods or in those of a base without a model."""
        for reader in self.survey.readers(self.found.name):
            runs = self.survey.inference.objects.winner(reader, FORWARD) is not None
            for other in (reader,) if runs else self.survey.subclasses(reader)[:_ENOUGH]:
                if other is not self.found.cls and other not in self.found.cls.mro and self.found.cls not in other.mro:
                    yield other

    def collected(self, tuples: list[Output]) -> Fault | None:
        """Whether one part of the tuple is a list that something is put into."""
        for out in tuples:
            assert out.parts is not None
            lists = [part.id for part in out.parts if isinstance(part, ast.Name) and self.is_list(part.id)]
            if not lists:
                continue
            if out.looped:
                return self.fault(
                    out.node, "returns inside of the loop over its layers", "return behind the loop, once it is through"
                )
            name = lists[0]
            if isinstance(out.parts[0], ast.Name) and out.parts[0].id == name and len(out.parts) == 2:
                return self.fault(
                    out.node,
                    f"returns what it collected (`{name}`) before its output",
                    "return the output first, as the caller takes the two apart in that order",
                )
            starts = [binding for binding in self.body.names[name] if isinstance(binding.value, ast.List)]
            if not self.grows(name):
                return self.fault(
                    starts[0].node,
                    f"returns `{name}`, into which nothing is put",
                    f"append to `{name}` where the index of the layer is in `self.{self.found.name}`",
                )
            if self.restarts(name):
                return self.fault(
                    starts[-1].node,
                    f"empties `{name}` in each turn of the loop that fills it",
                    f"make `{name}` once, before the loop",
                )
        return None

    def is_list(self, name: str) -> bool:
        return any(isinstance(binding.value, ast.List) for binding in self.body.names.get(name, ()))

    def grows(self, name: str) -> bool:
        """Whether anything may be put into the list: a method of it is called, it is handed to a call, or it is bound
        again."""
        bound_again = any(not isinstance(binding.value, ast.List) for binding in self.body.names[name])
        filled = any(isinstance(binding.value, ast.List) and binding.value.elts for binding in self.body.names[name])
        if bound_again or filled:
            return True
        for inner in self.body.all():
            for place in inner.calls:
                node = place.node
                assert isinstance(node, ast.Call)
                if isinstance(node.func, ast.Attribute) and is_name(node.func.value, name):
                    return True
                given = (*node.args, *(keyword.value for keyword in node.keywords))
                if any(is_name(argument, name) for argument in given) and not is_plain_builtin(node.func):
                    return True
        return any(isinstance(node, ast.AugAssign) and is_name(node.target, name) for node in self.walk())

    def restarts(self, name: str) -> bool:
        """Whether the loop that puts something into the list begins by emptying it."""
        for node in self.walk():
            if not isinstance(node, (ast.For, ast.While)):
                continue
            inside = [part for statement in node.body for part in ast.walk(statement)]
            empties = any(
                isinstance(part, (ast.Assign, ast.AnnAssign))
                and isinstance(part.value, ast.List)
                and any(is_name(t, name) for t in (part.targets if isinstance(part, ast.Assign) else [part.target]))
                for part in inside
            )
            fills = any(
                isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and is_name(part.func.value, name)
                for part in inside
            )
            if empties and fills:
                return True
        return False

    def walk(self) -> Iterator[ast.AST]:
        return ast.walk(self.body.node)

    def fault(self, node: ast.AST, what: str, help: str) -> Fault:
        survey = self.survey
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        path = self.method.module.path or self.method.module.name
        span = Span(path, line, column + 1)
        peers = [other for other in survey.readers(self.found.name) if other is not self.found.cls]
        if peers:
            help += as_in(survey, peers[0])
        asked = self.found.chain[0]
        return survey.fault(
            NOT_RETURNED,
            span,
            f"{self.method.owner.name}.{FORWARD} {what}",
            why=f"{asked.name} sets `{self.found.name}` on it; the launch then takes output and hidden states apart",
            help=help,
            severity=graded(survey, self.required, path, asked.path, self.found.cls.path),
            trail=chain_trail(self.found),
        )
