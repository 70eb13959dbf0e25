"""Classes: bases, C3 order, what is known of their attributes, and why it may not be all.

A class of the program is one class statement (or one opaque class, named by the import path under which it was met).
What Python does when it makes the class is followed: ``__mro_entries__`` of subscripted generics, Generic and Protocol,
NamedTuple and TypedDict, decorators, and assignments to the class at the module's level.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from preflight.model import Span
from preflight.program.conditions import parse_expression
from preflight.program.definitions import Definition, Kind
from preflight.program.extract import dotted
from preflight.program.facts import Assign, ClassFacts, Expression, FunctionFacts, If, Import, Item, SetAttribute, Try
from preflight.program.known import (
    CLASS_ATTRIBUTES,
    KNOWN_CLASSES,
    TRANSPARENT_DECORATORS,
    TYPING_ALIASES,
    TYPING_MODULES,
    KnownClass,
)
from preflight.program.linearize import linearize
from preflight.program.namespace import Binding, Namespace, run_body

if TYPE_CHECKING:
    from preflight.program.modules import Module
    from preflight.program.program import Program


@dataclass(frozen=True, slots=True)
class Member:
    """A name in the namespace of a class. ``kind``: "method", "classmethod", "staticmethod", "property", "class",
    "value", "annotation" (no value) or "inherited knowledge" of an opaque class."""

    name: str
    kind: str
    owner: Class
    facts: FunctionFacts | ClassFacts | Assign | Import | None
    line: int | None
    column: int | None
    certain: bool = True

    @property
    def span(self) -> Span:
        return Span(self.owner.path or self.owner.module, self.line, self.column)


@dataclass(frozen=True, slots=True)
class Base:
    """One base as written: the class it is, or why that is not known."""

    text: str
    line: int
    column: int
    cls: Class | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Doubt:
    """Why a class is not known in full."""

    reason: str
    path: str | None = None
    line: int | None = None


class Class:
    """One class. Equal only to itself: a program has one object for each class statement."""

    def __init__(
        self, program: Program, module: str, qualname: str, facts: ClassFacts | None, path: str | None
    ) -> None:
        self._program = program
        self.module = module
        self.qualname = qualname
        self.facts = facts
        self.path = path
        self._bases: tuple[Base, ...] | None = None
        self._order: tuple[Class, ...] | None = None
        self._order_error: str | None = None
        self._namespace: Namespace | None = None
        self._linearizing = False

    def __repr__(self) -> str:
        return f"Class({self.target!r})"

    @property
    def name(self) -> str:
        return self.qualname.rpartition(".")[2]

    @property
    def target(self) -> str:
        return f"{self.module}.{self.qualname}"

    @property
    def opaque(self) -> bool:
        return self.facts is None

    @property
    def known(self) -> KnownClass | None:
        """What is written down about an opaque class."""
        return KNOWN_CLASSES.get(self.target) if self.facts is None else None

    @property
    def span(self) -> Span:
        facts = self.facts
        return Span(self.path or self.module, facts.line if facts else None, facts.column if facts else None)

    def is_typing(self, *names: str) -> bool:
        """Whether it is one of these names of ``typing``."""
        return self.module in TYPING_MODULES and self.qualname in names

    # -- bases ------------------------------------------------------------------------------------------------------

    @property
    def bases(self) -> tuple[Base, ...]:
        """The bases as the class statement makes them (after ``__mro_entries__``), without an implied ``object``."""
        if self._bases is None:
            self._bases = self._program.bases_of(self)
        return self._bases

    @property
    def mro(self) -> tuple[Class, ...]:
        """The classes in C3 order, itself first and object last, as far as bases are known."""
        self._linearize()
        assert self._order is not None
        return self._order

    @property
    def mro_error(self) -> str | None:
        """Why Python would refuse the class statement, None if it would not (or nobody can tell)."""
        self._linearize()
        return self._order_error

    def _linearize(self) -> None:
        if self._order is not None:
            return
        if self._linearizing:
            self._order_error = f"{self.target} is a base of itself"
            self._order = (self,)
            return
        self._linearizing = True
        known = [base.cls for base in self.bases if base.cls is not None]
        root = self._program.object_class
        if not known and self is not root:
            known = [root]
        order = linearize(self, known, [cls.mro for cls in known])
        if self._order is None:
            if order is None:
                names = ", ".join(cls.name for cls in known)
                self._order_error = f"no consistent method resolution order (MRO) for bases {names}"
                order = list(dict.fromkeys([self, *(inner for cls in known for inner in cls.mro)]))
            self._order = tuple(order)
        self._linearizing = False

    @property
    def doubts(self) -> tuple[Doubt, ...]:
        """Why the class is not known in full; empty for a complete class."""
        found: list[Doubt] = []
        for cls in self.mro:
            found.extend(self._program.own_doubts(cls))
        return tuple(dict.fromkeys(found))

    @property
    def complete(self) -> bool:
        """Whether what it lacks is known to be missing."""
        return not self.doubts and self.mro_error is None

    # -- protocols --------------------------------------------------------------------------------------------------

    @property
    def is_protocol(self) -> bool:
        """Whether Protocol is one of its own bases (typing sets ``_is_protocol`` by just that)."""
        return any(base.cls is not None and base.cls.is_typing("Protocol") for base in self.bases)

    @property
    def runtime_checkable(self) -> bool:
        """Whether it is decorated so that isinstance works on it."""
        return any(
            found.target in ("typing.runtime_checkable", "typing_extensions.runtime_checkable", "typing.runtime")
            for found in self._program.decorator_targets(self)
        )

    # -- members ----------------------------------------------------------------------------------------------------

    @property
    def namespace(self) -> Namespace:
        """The names of its own body, conditions decided."""
        if self._namespace is None:
            body = self.facts.body if self.facts is not None else ()
            module = self._program.module(self.module)
            self._namespace = run_body(body, self._program.resolver.questions(module))
        return self._namespace

    def own(self, name: str) -> Member | None:
        """The member that the class itself defines, None if it does not."""
        if self.facts is None:
            known = self.known
            if known is not None and (name in known.methods or name in known.values):
                return Member(name, "method" if name in known.methods else "value", self, None, None, None)
            return None
        later = self._program.assigned_later(self).get(name)
        if later is not None:
            return Member(name, "value", self, Assign(name, "=", *later), later[1] and later[0].line, None)
        bindings = self.namespace.names.get(name)
        if not bindings:
            return None
        return self._member(name, bindings)

    def _member(self, name: str, bindings: tuple[Binding, ...]) -> Member | None:
        present = [binding for binding in bindings if binding is not None]
        if not present:
            return None
        binding = present[-1]
        certain = len(bindings) == 1
        if isinstance(binding, FunctionFacts):
            return Member(name, function_kind(binding), self, binding, binding.line, binding.column, certain)
        if isinstance(binding, ClassFacts):
            return Member(name, "class", self, binding, binding.line, binding.column, certain)
        if isinstance(binding, (Assign, Import)):
            return Member(name, "value", self, binding, binding.line, binding.column, certain)
        return Member(name, "value", self, None, None, None, certain)

    def own_names(self) -> tuple[str, ...]:
        """All names that it defines itself."""
        if self.facts is None:
            known = self.known
            return tuple(sorted(known.methods | known.values)) if known is not None else ()
        return tuple(dict.fromkeys([*self.namespace.names, *self._program.assigned_later(self)]))

    def lookup(self, name: str) -> Member | None:
        """The member that ``cls.name`` finds along the MRO, None if no class that is known defines it.

        Whether None means "missing" is ``complete``'s to say; what every class has from ``object`` is not looked up.
        """
        for cls in self.mro:
            found = cls.own(name)
            if found is not None:
                return found
        return None

    def has(self, name: str) -> bool | None:
        """Whether ``hasattr(cls, name)``: True, False, or None where the class is not complete."""
        found = self.lookup(name)
        if found is not None:
            return True if found.certain else None
        if name in CLASS_ATTRIBUTES:
            return True
        return False if self.complete else None

    def annotations(self) -> dict[str, Assign]:
        """The names annotated in its own body (``__annotations__``), with or without a value."""
        found: dict[str, Assign] = {}
        for item in _flat(self.facts.body if self.facts is not None else ()):
            if isinstance(item, Assign) and item.annotation is not None:
                found.setdefault(item.name, item)
        return found

    def methods(self) -> Mapping[str, Member]:
        """Its own functions by name."""
        members = (self.own(name) for name in self.own_names())
        return {m.name: m for m in members if m is not None and isinstance(m.facts, FunctionFacts)}

    def instance_attributes(self) -> dict[str, list[tuple[Class, FunctionFacts, int]]]:
        """Attributes that methods along the MRO set on ``self``: name to (class, method, line), MRO order."""
        found: dict[str, list[tuple[Class, FunctionFacts, int]]] = {}
        for cls in self.mro:
            for member in cls.methods().values():
                assert isinstance(member.facts, FunctionFacts)
                for store in member.facts.stores:
                    if store.kind != "del":
                        found.setdefault(store.attribute, []).append((cls, member.facts, store.line))
        return found

    def is_subclass(self, other: Class) -> bool | None:
        """Whether ``other`` is in its MRO: True, False, or None where a base is not known."""
        if other in self.mro:
            return True
        unknown = any(base.cls is None for cls in self.mro for base in cls.bases)
        return (
            None
            if unknown or any(cls.opaque and cls.known is None and not cls.is_builtin for cls in self.mro)
            else False
        )

    @property
    def is_builtin(self) -> bool:
        return self.module == "builtins" or self.is_typing("Protocol", "Generic")


def function_kind(facts: FunctionFacts) -> str:
    """How a function in a class body behaves, by its decorators."""
    for decorator in facts.decorators:
        name = decorator.text.partition("(")[0]
        last = name.rpartition(".")[2]
        if last in ("classmethod", "staticmethod"):
            return last
        if last in ("property", "cached_property") or last in ("setter", "getter", "deleter"):
            return "property"
    return "method"


def _flat(items: tuple[Item, ...]) -> Iterator[Item]:
    for item in items:
        yield item
        if isinstance(item, If):
            yield from _flat(item.body)
            yield from _flat(item.orelse)
        elif isinstance(item, Try):
            yield from _flat(item.body)


class ClassMaker:
    """Makes the classes of a program and answers what follows from how Python builds a class."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._made: dict[str, Class] = {}
        self._later: dict[str, dict[str, dict[str, tuple[Expression | None, Expression]]]] = {}

    def of(self, definition: Definition) -> Class | None:
        """The class that a definition defines; None for what is no class (an opaque name counts as one)."""
        if definition.module in TYPING_MODULES and definition.kind is not Kind.MODULE:
            return self.opaque(definition.module, definition.name)
        if definition.kind is Kind.CLASS and isinstance(definition.facts, ClassFacts):
            key = f"{definition.module}:{definition.name}:{definition.line}"
            found = self._made.get(key)
            if found is None:
                found = Class(self._program, definition.module, definition.name, definition.facts, definition.path)
                self._made[key] = found
            return found
        if definition.kind is Kind.CLASS or definition.kind is Kind.OPAQUE:
            return self.opaque(definition.module, definition.name)
        return None

    def opaque(self, module: str, name: str) -> Class:
        """A class that is known by its name only."""
        key = f"{module}:{name}"
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = Class(self._program, module, name, None, None)
        return found

    # -- bases ------------------------------------------------------------------------------------------------------

    def bases(self, cls: Class) -> tuple[Base, ...]:
        facts = cls.facts
        if facts is None:
            return self._opaque_bases(cls)
        module = self._program.module(cls.module)
        written = [self._base(module, cls, expression) for expression in facts.bases]
        if facts.type_parameters:
            generic = Base("Generic", facts.line, facts.column, self.opaque("typing", "Generic"))
            if not any(base.cls is not None and base.cls.is_typing("Protocol") for base, _ in written):
                written.append((generic, True))
        result: list[Base] = []
        for index, (base, subscripted) in enumerate(written):
            if base.cls is None:
                result.append(base)
                continue
            if base.cls.is_typing("Generic") and subscripted:
                # typing._GenericAlias.__mro_entries__: a later generic base brings Generic along
                later = written[index + 1 :]
                if any(other.cls is not None and other.cls.is_typing("Protocol") for other, _ in written) or any(
                    is_subscript for _, is_subscript in later
                ):
                    continue
            if base.cls.is_typing("NamedTuple"):
                result.append(Base(base.text, base.line, base.column, self.opaque("builtins", "tuple")))
                continue
            if base.cls.is_typing("TypedDict"):
                result.append(Base(base.text, base.line, base.column, self.opaque("builtins", "dict")))
                continue
            alias = TYPING_ALIASES.get(base.cls.name) if base.cls.module in TYPING_MODULES else None
            if alias is not None:
                owner, _, name = alias.rpartition(".")
                result.append(Base(base.text, base.line, base.column, self._named(owner, name)))
                if not any(is_subscript for _, is_subscript in written[index + 1 :]):
                    result.append(Base("Generic", base.line, base.column, self.opaque("typing", "Generic")))
                continue
            result.append(base)
        return tuple(result)

    def _named(self, module: str, name: str) -> Class:
        found = self._program.resolver.attribute(module, name).only
        cls = self.of(found) if found is not None else None
        return cls if cls is not None else self.opaque(module, name)

    def _opaque_bases(self, cls: Class) -> tuple[Base, ...]:
        if cls.is_typing("Protocol"):
            return (Base("Generic", 0, 0, self.opaque("typing", "Generic")),)
        if cls.module == "builtins" and cls.qualname != "object":
            import builtins

            real = getattr(builtins, cls.qualname, None)
            if isinstance(real, type):
                return tuple(Base(b.__name__, 0, 0, self.opaque("builtins", b.__name__)) for b in real.__bases__)
        return ()

    def _base(self, module: Module, cls: Class, expression: Expression) -> tuple[Base, bool]:
        """The class that a base expression is, and whether it is a subscripted generic."""
        place = (expression.text, expression.line, expression.column)
        node = parse_expression(expression.text)
        subscripted = isinstance(node, ast.Subscript)
        if isinstance(node, ast.Subscript):
            node = node.value
        name = dotted(node) if node is not None else None
        if name is None:
            return Base(*place, None, f"the base {expression.text} is computed"), False
        found = self._program.name_in_class(module, cls, name)
        classes = [made for definition in found.definitions if (made := self.of(definition)) is not None]
        if found.missing is not None:
            return Base(*place, None, found.missing.reason), subscripted
        if len(classes) == 1 and len(found.definitions) == 1:
            return Base(*place, classes[0]), subscripted
        if len(classes) > 1:
            names = " or ".join(made.target for made in classes)
            return Base(*place, None, f"the base {expression.text} is {names}"), subscripted
        reason = found.unknown or "it is no class statement"
        return Base(*place, None, f"what the base {expression.text} is, is not known: {reason}"), subscripted

    # -- doubts -----------------------------------------------------------------------------------------------------

    def doubts(self, cls: Class) -> list[Doubt]:
        """Why this one class (not its bases) is not known in full."""
        if cls.facts is None:
            if cls.known is not None or cls.is_builtin or cls.module in TYPING_MODULES:
                return []
            return [Doubt(f"the source of {cls.target} is not at hand")]
        found = [Doubt(base.reason, cls.path, base.line) for base in cls.bases if base.cls is None]
        for name, expression in cls.facts.keywords:
            if name == "metaclass" and expression.text.rpartition(".")[2] not in ("ABCMeta", "EnumMeta", "EnumType"):
                found.append(Doubt(f"its metaclass {expression.text} may add attributes", cls.path, expression.line))
        found.extend(self._program.decorator_doubts(cls))
        return found

    # -- what happens to a class after its statement -----------------------------------------------------------------

    def assigned_later(self, cls: Class) -> dict[str, tuple[Expression | None, Expression]]:
        """``Class.attribute = value`` statements in the body of the class's own module: name to (value, target)."""
        if "." in cls.qualname or cls.facts is None:
            return {}
        per_module = self._later.get(cls.module)
        if per_module is None:
            per_module = self._later[cls.module] = {}
            namespace = self._program.resolver.namespace(self._program.module(cls.module))
            for effect, _ in namespace.effects if namespace is not None else ():
                if isinstance(effect, SetAttribute) and effect.attribute != "[]":
                    per_module.setdefault(effect.target.text, {})[effect.attribute] = (effect.value, effect.target)
        return per_module.get(cls.name, {})


def is_transparent(target: str) -> bool:
    """Whether a decorator with this import path leaves names and signatures as they are."""
    return target in TRANSPARENT_DECORATORS
