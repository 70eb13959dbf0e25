"""What an object of a class carries: the methods that are in effect for it, and what sets its attributes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from preflight.checks.inference.bodies import Binding, Body
from preflight.program.facts import FunctionFacts

if TYPE_CHECKING:
    from preflight.checks.inference.code import Code
    from preflight.program import Class, Module, Program

#: the methods that Python itself calls while an object is made
_CONSTRUCTORS = ("__new__", "__init__", "__post_init__")


@dataclass(frozen=True, slots=True, eq=False)
class Method:
    """A function of a class, with its body. ``module`` is where it is written: a decorator of the class may have put
    it there."""

    owner: Class
    facts: FunctionFacts
    body: Body
    module: Module

    @property
    def key(self) -> tuple[Class, str, str, int]:
        """What tells it from others; what a decorator puts into a class may stand in the very line of another file."""
        return self.owner, self.module.name, self.facts.name, self.facts.line


@dataclass(frozen=True, slots=True, eq=False)
class Setter:
    """A statement that sets an attribute of ``self``. ``initial``: construction of the object runs it."""

    method: Method
    binding: Binding
    initial: bool


class Objects:
    """Answers for the classes of one program."""

    def __init__(self, program: Program, code: Code) -> None:
        self._program = program
        self._code = code
        self._methods: dict[Class, tuple[Method, ...]] = {}
        self._construction: dict[Class, tuple[Method, ...]] = {}
        self._changed: dict[tuple[Class, Class], frozenset[str]] = {}
        self._stores: dict[Class, dict[str, list[FunctionFacts]]] = {}
        self._setters: dict[Class, dict[str, list[Setter]]] = {}
        self._certain: dict[Class, frozenset[tuple[Class, str, str, int]]] = {}

    def forget(self) -> None:
        """Let go of the bodies."""
        self._methods.clear()
        self._construction.clear()
        self._setters.clear()

    def method(self, owner: Class, facts: FunctionFacts) -> Method | None:
        """The method with its body; None where the source is not at hand."""
        module = self._program.module(owner.module)
        body = self._code.body(module, facts)
        return Method(owner, facts, body, module) if body is not None else None

    def winner(self, cls: Class, name: str, after: Class | None = None) -> Method | None:
        """The function that ``object.name`` calls; ``after``: that ``super()`` in ``after`` finds. A function that a
        decorator has put over another is left aside: it hands on to the one that the class statement has."""
        found = self._runs(cls, name, after)
        return found[-1] if found else None

    def _runs(self, cls: Class, name: str, after: Class | None = None) -> list[Method]:
        """The functions that ``object.name()`` may run: where a decorator of the class puts a function in the place of
        another, the new one calls the old one (that is what such decorators are for)."""
        order = cls.mro
        if after is not None:
            order = order[order.index(after) + 1 :] if after in order else ()
        found: list[Method | None] = []
        for base in order:
            if not base.opaque and not self._program.module(base.module).spec.in_tree:
                break  # what a library does with its own objects is not read
            facts: object = None
            if name in base.changed:
                found.append(self.put_there(base, name))
                facts = next(iter(base.namespace.names.get(name, ())), None)
            else:
                member = base.own(name)
                if member is not None:
                    found.append(self.method(base, member.facts) if isinstance(member.facts, FunctionFacts) else None)
                    break
            if isinstance(facts, FunctionFacts):
                found.append(self.method(base, facts))
                break
        return [method for method in found if method is not None]

    def put_there(self, cls: Class, name: str) -> Method | None:
        """The function that a decorator has set on a class."""
        from preflight.program.evaluate.values import Function

        made = cls.changed[name]
        if not isinstance(made, Function) or made.facts is None:
            return None
        body = self._code.body(made.module, made.facts, method=True)
        return Method(cls, made.facts, body, made.module) if body is not None else None

    def construction(self, cls: Class) -> tuple[Method, ...]:
        """The functions that run while an object is made: ``__new__`` and ``__init__`` with all that they call on it,
        as far as the source is at hand."""
        if cls not in self._construction:
            self._construction[cls] = self._closure(cls, _CONSTRUCTORS, everything=False)
        return self._construction[cls]

    def reached(self, cls: Class, name: str) -> tuple[Method, ...]:
        """The functions that ``object.name()`` may run on the object itself."""
        return self._closure(cls, (name,), everything=False)

    def certainly_constructs(self, cls: Class, method: Method) -> bool:
        """Whether every construction of a ``cls`` runs the method, or raises before."""
        if cls not in self._certain:
            found: set[tuple[Class, str, str, int]] = set()
            waiting = self._runs(cls, "__init__")
            while waiting:
                reached = waiting.pop()
                if reached.key not in found:
                    found.add(reached.key)
                    for name, after in self._called(cls, reached, sure=True):
                        waiting.extend(self._runs(cls, name, after))
            self._certain[cls] = frozenset(found)
        return method.key in self._certain[cls]

    def methods(self, cls: Class) -> tuple[Method, ...]:
        """The functions that an object of ``cls`` can run: what its names lead to, and what those reach by
        ``super()`` or by the name of a base."""
        if cls not in self._methods:
            own = [base for base in cls.mro if not base.opaque]
            names = dict.fromkeys(name for base in own for name in base.own_names())
            self._methods[cls] = self._closure(cls, tuple(names), everything=True)
        return self._methods[cls]

    def _closure(self, cls: Class, names: tuple[str, ...], everything: bool) -> tuple[Method, ...]:
        found: dict[tuple[Class, str, str, int], Method] = {}
        waiting = [method for name in names for method in self._runs(cls, name)]
        while waiting:
            method = waiting.pop()
            if method.key in found:
                continue
            found[method.key] = method
            for name, after in self._called(cls, method):
                # on the whole object only what super() and explicit bases reach is not there already
                if after is not None or not everything:
                    waiting.extend(self._runs(cls, name, after))
            waiting.extend(self._explicit(cls, method))
        return tuple(found.values())

    def _called(self, cls: Class, method: Method, sure: bool = False) -> Iterator[tuple[str, Class | None]]:
        """The methods that a function takes from its object: (name, the class behind which ``super()`` looks).
        ``sure``: only those that it certainly calls."""
        for body in (method.body,) if sure else method.body.all():
            for place in body.calls if sure else body.reads:
                node = place.node.func if isinstance(place.node, ast.Call) else place.node
                if not isinstance(node, ast.Attribute) or (sure and not place.sure):
                    continue
                if isinstance(node.value, ast.Name) and node.value.id == method.body.self_name:
                    yield node.attr, None
                elif is_super(node.value):
                    yield node.attr, self._super_owner(node.value, method)

    def _super_owner(self, node: ast.expr, method: Method) -> Class:
        """The class that ``super(X, self)`` names, else the one that the method is written in."""
        if isinstance(node, ast.Call) and node.args:
            named = self._named(node.args[0], method)
            if named is not None:
                return named
        return method.owner

    def _explicit(self, cls: Class, method: Method) -> Iterator[Method]:
        """Functions called as ``Base.name(self, ...)``."""
        for body in method.body.all():
            for place in body.calls:
                node = place.node
                if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                    continue
                given = [*node.args[:1], *(keyword.value for keyword in node.keywords)]
                if not any(isinstance(part, ast.Name) and part.id == method.body.self_name for part in given):
                    continue
                base = self._named(node.func.value, method)
                if base is not None and base in cls.mro:
                    yield from self._runs(base, node.func.attr)

    def _named(self, node: ast.expr, method: Method) -> Class | None:
        from preflight.program.extract import dotted

        name = dotted(node)
        if name is None or name.partition(".")[0] in method.body.names:
            return None
        found = self._program.resolve_in(method.module, name).only
        return self._program.class_of(found) if found is not None else None

    def differs(self, cls: Class, method: Method) -> bool:
        """Whether a method may do something else on an object of ``cls`` than on one of the class that defines it: it
        uses a name that classes of ``cls`` which its own class does not know define or set."""
        if method.owner is cls:
            return True
        key = (cls, method.owner)
        if key not in self._changed:
            self._changed[key] = self._changed_names(cls, method.owner)
        return not self._changed[key].isdisjoint(method.body.own_names())

    def _changed_names(self, cls: Class, owner: Class) -> frozenset[str]:
        known = set(owner.mro)
        names: set[str] = set()
        for base in cls.mro:
            if base not in known:
                names.update(base.own_names())
                names.update(self.storing(base))
        values = [
            (name, uses)
            for method in self.methods(cls)
            for body in method.body.all()
            for name, bindings in body.stores.items()
            if (uses := _used_names(bindings, body.self_name))
        ]
        before = -1
        while len(names) != before:  # what is made of something that differs, differs
            before = len(names)
            names.update(name for name, uses in values if not names.isdisjoint(uses))
        return frozenset(names)

    def setters(self, cls: Class, attribute: str) -> list[Setter]:
        """What sets ``self.attribute`` on an object of ``cls``, in the functions that are in effect for it."""
        known = self._setters.get(cls)
        if known is None:
            known = self._setters[cls] = {}
            initial = {method.key for method in self.construction(cls)}
            for method in self.methods(cls):
                for body in method.body.all():
                    for name, bindings in body.stores.items():
                        made = [Setter(method, binding, method.key in initial) for binding in bindings]
                        known.setdefault(name, []).extend(made)
        return known.get(attribute, [])

    def plain_setters(self, cls: Class, attribute: str) -> list[Setter]:
        """The same by way of the facts, which spare reading bodies: statements of nested functions are left out."""
        if cls in self._setters:
            return self.setters(cls, attribute)
        found: list[Setter] = []
        for base in cls.mro:
            for facts in self.storing(base).get(attribute, ()):
                winner = self.winner(cls, facts.name)
                if winner is None or winner.owner is not base or winner.facts is not facts:
                    return self.setters(cls, attribute)  # who calls what it overrides has to be known
                initial = facts.name in _CONSTRUCTORS or facts.name in self._called_first(cls)
                found.extend(Setter(winner, binding, initial) for binding in winner.body.stores.get(attribute, ()))
        return found

    def storing(self, base: Class) -> dict[str, list[FunctionFacts]]:
        """The functions of one class by the attributes that they set on their object."""
        known = self._stores.get(base)
        if known is None:
            known = self._stores[base] = {}
            for bindings in base.namespace.names.values() if base.facts is not None else ():
                for facts in bindings:
                    for store in facts.stores if isinstance(facts, FunctionFacts) else ():
                        if store.kind != "del" and facts not in known.setdefault(store.attribute, []):
                            known[store.attribute].append(facts)
        return known

    def _called_first(self, cls: Class) -> tuple[str, ...]:
        """The methods that ``__init__`` calls as statements."""
        made = self.winner(cls, "__init__")
        return made.facts.self_calls if made is not None else ()


def _used_names(bindings: list[Binding], self_name: str | None) -> set[str]:
    """The attributes of the object itself that the values of assignments use."""
    return {
        part.attr
        for binding in bindings
        if binding.value is not None
        for part in ast.walk(binding.value)
        if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id == self_name
    }


def is_super(node: ast.expr) -> bool:
    """Whether an expression is a call of ``super``."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"
