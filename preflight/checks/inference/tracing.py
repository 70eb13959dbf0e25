"""What a small method does when it is called on an object of a class: what it sets, on whom, and where it must fail.

Statements are followed in order, tests of ``hasattr`` and ``isinstance`` are decided by the classes, and methods of the
objects that it reaches are entered. It is made for the methods of interfaces, which hand something on and return.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from preflight.checks.inference.values import (
    Alternatives,
    ClassItself,
    Env,
    FunctionOf,
    joined,
    unknown,
)
from preflight.program import Truth

if TYPE_CHECKING:
    from preflight.checks.inference.attributes import Attributes
    from preflight.checks.inference.inference import Inference
    from preflight.checks.inference.objects import Method
    from preflight.program import Class, Module

#: how many methods are entered one within the other
MAX_DEPTH = 6


@dataclass(frozen=True, slots=True)
class SetOn:
    """An attribute that is set on an object of ``cls``; ``chain`` are the objects that it was reached through, the one
    that was asked first, and ``receiver`` how the code calls it. ``given``: its value comes from a parameter."""

    cls: Class
    name: str
    node: ast.Attribute
    module: Module
    chain: tuple[Class, ...]
    receiver: str
    given: bool


@dataclass(frozen=True, slots=True)
class Fails:
    """An assertion that cannot hold."""

    node: ast.Assert
    module: Module
    owner: Class


@dataclass(slots=True)
class Effects:
    """What a method does; ``complete`` is False if it does things that were not followed. ``entered`` are the methods
    of other objects that it hands on to, each with the class of the object."""

    entered: list[tuple[Class, str]] = field(default_factory=list)
    sets: list[SetOn] = field(default_factory=list)
    fails: list[Fails] = field(default_factory=list)
    complete: bool = True


class _Stop(Exception):
    """The method returns or raises here."""


class Tracing:
    """Follows methods of one program."""

    def __init__(self, inference: Inference, attributes: Attributes) -> None:
        self._inference = inference
        self._attributes = attributes

    def effects(self, cls: Class, name: str) -> Effects:
        """What ``object.name(...)`` does for an object of ``cls``."""
        effects = Effects()
        method = self._inference.objects.winner(cls, name)
        if method is None:
            effects.complete = False
        else:
            _Run(self, effects, method, cls, (cls,)).run()
        return effects


class _Run:
    """One call of a method."""

    def __init__(
        self, tracing: Tracing, effects: Effects, method: Method, cls: Class, chain: tuple[Class, ...]
    ) -> None:
        self.inference = tracing._inference
        self.attributes = tracing._attributes
        self.tracing = tracing
        self.effects = effects
        self.method = method
        self.cls = cls
        self.chain = chain
        self.names: dict[str, Alternatives] = {}
        self.env = Env(method.module, method.body, cls, method.owner)

    def run(self) -> None:
        node = self.method.body.node
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            try:
                self.block(node.body)
            except _Stop:
                return

    # -- statements ---------------------------------------------------------------------------------------------------

    def block(self, statements: Iterable[ast.stmt]) -> None:
        for node in statements:
            self.statement(node)

    def statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Expr):
            self.value(node.value)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            self.assign(node)
        elif isinstance(node, ast.Return):
            if node.value is not None:
                self.value(node.value)
            raise _Stop
        elif isinstance(node, ast.Raise):
            raise _Stop
        elif isinstance(node, ast.Assert):
            if self.truth(node.test) is Truth.NO:
                self.effects.fails.append(Fails(node, self.method.module, self.method.owner))
                raise _Stop
        elif isinstance(node, ast.If):
            self.branch(node)
        elif isinstance(node, (ast.Import, ast.ImportFrom, ast.Pass, ast.Global)):
            return
        else:
            self.not_followed(node)

    def assign(self, node: ast.Assign | ast.AnnAssign) -> None:
        if node.value is None:
            return
        value = self.value(node.value)
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if isinstance(target, ast.Name):
                self.names[target.id] = value
            elif isinstance(target, ast.Attribute):
                self.store(target, node.value)
            else:
                self.not_followed(node)

    def store(self, target: ast.Attribute, value: ast.expr | None) -> None:
        found = self.value(target.value).classes()
        if found is None:
            self.effects.complete = False
            return
        for cls in found:
            chain = self.chain if cls is self.cls else (*self.chain, cls)
            receiver = ast.unparse(target.value)
            given = value is not None and any(
                isinstance(part, ast.Name) and part.id in self.method.body.parameters[1:] for part in ast.walk(value)
            )
            self.effects.sets.append(SetOn(cls, target.attr, target, self.method.module, chain, receiver, given))

    def branch(self, node: ast.If) -> None:
        answer = self.truth(node.test)
        if answer is not Truth.MAYBE:
            self.block(node.body if answer is Truth.YES else node.orelse)
            return
        before = dict(self.names)
        ends: list[dict[str, Alternatives]] = []
        for arm in (node.body, node.orelse):
            self.names = dict(before)
            try:
                self.block(arm)
                ends.append(self.names)
            except _Stop:
                continue
        if not ends:
            raise _Stop
        nothing = unknown("it is set on some ways only")
        names = {name for end in ends for name in end}
        self.names = {name: joined([end.get(name, nothing) for end in ends]) for name in names}

    def not_followed(self, node: ast.stmt) -> None:
        """A loop, a ``try`` and the like: nothing is known of what it sets."""
        self.effects.complete = False
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                self.names[part.id] = unknown("it is set in a statement that is not followed")
            elif isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store):
                self.store(part, None)

    # -- expressions --------------------------------------------------------------------------------------------------

    def value(self, node: ast.expr) -> Alternatives:
        if isinstance(node, ast.Name) and node.id in self.names:
            return self.names[node.id]
        if isinstance(node, ast.Attribute):
            return self.inference.attribute_of(self.value(node.value), node.attr)
        if isinstance(node, ast.Call):
            return self.call(node)
        return self.inference.infer(node, self.env)

    def call(self, node: ast.Call) -> Alternatives:
        for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
            if isinstance(argument, ast.Call):
                self.value(argument)
        if isinstance(node.func, ast.Name) and node.func.id == "getattr" and len(node.args) >= 2:
            return self.getattr(node)
        if not isinstance(node.func, ast.Attribute):
            return self.inference.infer(node, self.env)
        found = self.inference.attribute_of(self.value(node.func.value), node.func.attr)
        results: list[Alternatives] = []
        for kind in found.kinds:
            if isinstance(kind, FunctionOf) and kind.receiver is not None:
                self.enter(kind)
                results.append(self.inference.result(kind))
            else:
                results.append(self.inference.infer(node, self.env))
        if found.unknown is not None:
            self.effects.complete = False
            results.append(unknown(found.unknown))
        return joined(results)

    def enter(self, function: FunctionOf) -> None:
        assert function.receiver is not None
        if function.receiver is not self.cls:
            self.effects.entered.append((function.receiver, function.facts.name))
        if not function.bound or len(self.chain) > MAX_DEPTH or not self.inference.in_tree(function.receiver):
            self.effects.complete = False
            return
        method = self.inference.objects.winner(function.receiver, function.facts.name)
        if method is None or method.key == self.method.key:
            self.effects.complete = False
            return
        chain = self.chain if function.receiver is self.cls else (*self.chain, function.receiver)
        _Run(self.tracing, self.effects, method, function.receiver, chain).run()

    def getattr(self, node: ast.Call) -> Alternatives:
        name = node.args[1]
        if not (isinstance(name, ast.Constant) and isinstance(name.value, str)):
            return unknown("getattr with a computed name")
        value = self.value(node.args[0])
        has = self.has(value, name.value)
        if has is Truth.NO and len(node.args) == 3:
            return self.value(node.args[2])
        found = self.inference.attribute_of(value, name.value)
        return found if has is Truth.YES or len(node.args) == 2 else joined([found, self.value(node.args[2])])

    # -- tests --------------------------------------------------------------------------------------------------------

    def truth(self, node: ast.expr) -> Truth:
        """Whether a test holds, where the classes of the objects say it."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inner = self.truth(node.operand)
            return {Truth.YES: Truth.NO, Truth.NO: Truth.YES}.get(inner, Truth.MAYBE)
        if isinstance(node, ast.BoolOp):
            answers = {self.truth(value) for value in node.values}
            deciding, other = (Truth.NO, Truth.YES) if isinstance(node.op, ast.And) else (Truth.YES, Truth.NO)
            if deciding in answers:
                return deciding
            return other if answers == {other} else Truth.MAYBE
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 2:
            if node.func.id == "hasattr":
                name = node.args[1]
                if isinstance(name, ast.Constant) and isinstance(name.value, str):
                    return self.has(self.value(node.args[0]), name.value)
            elif node.func.id == "isinstance":
                return self.is_instance(node)
        return Truth.MAYBE

    def has(self, value: Alternatives, name: str) -> Truth:
        """Whether ``hasattr(value, name)``."""
        found = value.classes()
        if found is None:
            return Truth.MAYBE
        answers = {self.attributes.has(cls, name) for cls in found}
        return {frozenset({True}): Truth.YES, frozenset({False}): Truth.NO}.get(frozenset(answers), Truth.MAYBE)

    def is_instance(self, node: ast.Call) -> Truth:
        found = self.value(node.args[0]).classes()
        asked = self.inference.infer(node.args[1], self.env).only
        if found is None or not isinstance(asked, ClassItself) or asked.cls.is_protocol:
            return Truth.MAYBE
        answers = {cls.is_subclass(asked.cls) for cls in found}
        return {frozenset({True}): Truth.YES, frozenset({False}): Truth.NO}.get(frozenset(answers), Truth.MAYBE)
