"""Classes: bases, C3 order, what is known of their attributes, and why it may not be all.

A class of the program is one class statement (or one opaque class, named by the import path under which it was met).
What Python does when it makes the class is followed: ``__mro_entries__`` of subscripted generics, Generic and Protocol,
NamedTuple and TypedDict, decorators, and assignments to the class at the module's level.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from preflight.model import Span
from preflight.program.definitions import Value
from preflight.program.facts import Assign, ClassFacts, Expression, FunctionFacts, Import
from preflight.program.fields import Fields, dataclass_fields, named_tuple_fields
from preflight.program.known import CLASS_ATTRIBUTES, KNOWN_CLASSES, METACLASS_ATTRIBUTES, TYPING_MODULES, KnownClass
from preflight.program.linearize import linearize
from preflight.program.members import Base, Doubt, Member, flattened, function_kind
from preflight.program.namespace import Binding, Namespace, run_body
from preflight.program.signatures import Signature

if TYPE_CHECKING:
    from preflight.program.evaluate.values import Frame
    from preflight.program.program import Program


#: stands for an answer that nobody has asked for
_NOT_ASKED = object()


class Class:
    """One class. Equal only to itself: a program has one object for each class statement that runs once."""

    def __init__(
        self, program: Program, module: str, qualname: str, facts: ClassFacts | None, path: str | None
    ) -> None:
        self._program = program
        self.module = module
        self.qualname = qualname
        self.facts = facts
        self.path = path
        self.display_name = qualname.rpartition(".")[2]
        #: attributes that decorators and other code set on the class, as values of the evaluator
        self.changed: dict[str, Value] = {}
        #: attributes that code which cannot be followed may set, with the reason
        self.unsettled: dict[str, str] = {}
        #: the scope of the function that the class statement stands in
        self.closure: Frame | None = None
        #: the options of ``@dataclass`` that are on; None for a class that is no dataclass
        self.dataclass_options: Mapping[str, Value] | None = None
        #: why decorators leave the class unknown
        self.decorator_doubts: list[Doubt] = []
        self._creation_error: str | None = None
        self._lacks_base = False
        self._prepared = facts is None
        self._result: Value = self
        self._bases: tuple[Base, ...] | None = None
        self._order: tuple[Class, ...] | None = None
        self._order_error: str | None = None
        self._namespace: Namespace | None = None
        self._members: dict[str, Member | None] = {}
        self._doubts: tuple[Doubt, ...] | None = None
        self._fields: Value = _NOT_ASKED
        self._linearizing = False
        self._basing = False

    def __repr__(self) -> str:
        return f"Class({self.target!r})"

    @property
    def name(self) -> str:
        return self.qualname.rpartition(".")[2]

    @property
    def target(self) -> str:
        """Its import path, for an opaque class the one under which it was met."""
        return f"{self.module}.{self.qualname}"

    @property
    def defined(self) -> str:
        """``module.qualname`` as the class itself gives it, as far as that is known."""
        known = self.known
        return f"{known.defined}.{self.name}" if known is not None else self.target

    @property
    def opaque(self) -> bool:
        return self.facts is None

    @property
    def known(self) -> KnownClass | None:
        """What is written down about an opaque class."""
        return KNOWN_CLASSES.get(self.target) if self.facts is None else None

    @property
    def is_builtin(self) -> bool:
        """Whether Python itself has it, so that nothing about it is open."""
        return self.module == "builtins" or self.is_typing("Protocol", "Generic", "NamedTuple", "TypedDict")

    @property
    def span(self) -> Span:
        facts = self.facts
        return Span(self.path or self.module, facts.line if facts else None, facts.column if facts else None)

    def is_typing(self, *names: str) -> bool:
        """Whether it is one of these names of ``typing``."""
        return self.module in TYPING_MODULES and self.qualname in names

    # -- making -----------------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Let the decorators run. Code that runs meanwhile sees the class as it is so far, as in Python."""
        if not self._prepared:
            self._prepared = True
            self._linearize()  # a class statement that fails by its bases never gets to its decorators
            made = self._order_error is None and not self._lacks_base
            self._result = self._program.decorate(self) if made else self

    @property
    def creation_error(self) -> str | None:
        """What a base, a decorator or ``__init_subclass__`` raises for the class: then its module fails to import."""
        self.prepare()
        assert self.bases is not None  # naming the bases is part of making the class
        return self._creation_error

    @property
    def lacks_base(self) -> bool:
        """Whether what making the class raises is the NameError of a base that nothing binds."""
        return self.creation_error is not None and self._lacks_base

    def fails_with(self, error: str) -> None:
        """Note what making the class raises."""
        self._creation_error = error

    def fails_for_base(self, name: str) -> None:
        """Note that nothing binds the name of a base, at which the class statement raises before all else."""
        self.fails_with(f"NameError: name {name!r} is not defined")
        self._lacks_base = True

    def replaced_by(self) -> Value:
        """What the name of the class stands for behind its decorators: itself, but for a decorator that replaces it."""
        self.prepare()
        return self._result

    def set_bases(self, bases: tuple[Base, ...]) -> None:
        """``cls.__bases__ = ...``."""
        self._bases, self._order, self._order_error, self._doubts = bases, None, None, None
        self._members.clear()

    # -- bases ------------------------------------------------------------------------------------------------------

    @property
    def bases(self) -> tuple[Base, ...]:
        """The bases as Python sees them (after ``__mro_entries__`` and decorators), without an implied ``object``."""
        self.prepare()
        if self._bases is None:
            if self._basing:
                return ()  # a class among its own bases: the order says so
            self._basing = True
            found = self._program.classes.bases(self)
            self._basing = False
            if self._bases is None:
                self._bases = found
        return self._bases or ()

    @property
    def mro(self) -> tuple[Class, ...]:
        """The classes in C3 order, itself first and object last, as far as bases are known."""
        self.prepare()
        self._linearize()
        return self._order or (self,)

    @property
    def mro_error(self) -> str | None:
        """Why Python would refuse the class statement, None if it would not (or nobody can tell)."""
        self.prepare()
        self._linearize()
        return self._order_error

    def _linearize(self) -> None:
        if self._order is not None:
            return
        if self._linearizing:
            self._order_error = f"{self.target} is a base of itself"
            return
        self._linearizing = True
        known = [base.cls for base in self.bases if base.cls is not None]
        root = self._program.object_class
        if not known and self is not root:
            known = [root]
        order = linearize(self, known, [cls.mro for cls in known])
        if order is None:
            twice = next((cls for index, cls in enumerate(known) if cls in known[:index]), None)
            names = ", ".join(cls.name for cls in known)
            self._order_error = (
                f"duplicate base class {twice.name}"
                if twice is not None
                else f"no consistent method resolution order (MRO) for bases {names}"
            )
            order = list(dict.fromkeys([self, *(inner for cls in known for inner in cls.mro)]))
        self._order = tuple(order)
        self._linearizing = False

    @property
    def doubts(self) -> tuple[Doubt, ...]:
        """Why the class is not known in full; empty for a complete class."""
        if self._doubts is None:
            order = self.mro
            found = [doubt for cls in order for doubt in self._program.classes.doubts(cls)]
            self._doubts = tuple(dict.fromkeys(found))
        return self._doubts

    @property
    def complete(self) -> bool:
        """Whether what it lacks is known to be missing."""
        return not self.doubts and all(cls.mro_error is None for cls in self.mro)

    def is_subclass(self, other: Class) -> bool | None:
        """Whether ``other`` is in its MRO: True, False, or None where a base is not known."""
        if other in self.mro:
            return True
        if other.opaque and any(cls.opaque and cls.name == other.name for cls in self.mro):
            return None  # one class may be met under two import paths
        for cls in self.mro:
            if any(base.cls is None for base in cls.bases):
                return None
            if cls.opaque and cls.known is None and not cls.is_builtin:
                return None
        return False

    # -- kinds of classes -------------------------------------------------------------------------------------------

    @property
    def is_protocol(self) -> bool:
        """Whether Protocol is one of its own bases (typing sets ``_is_protocol`` by just that)."""
        return any(base.cls is not None and base.cls.is_typing("Protocol") for base in self.bases)

    @property
    def runtime_checkable(self) -> bool:
        """Whether it is decorated so that isinstance works on it."""
        return any(
            found.name in ("runtime_checkable", "runtime") and found.module in TYPING_MODULES
            for found in self._program.decorator_targets(self)
        )

    @property
    def is_enum(self) -> bool:
        """Whether it is an enumeration."""
        return any(cls.module == "enum" and cls.name in ("Enum", "IntEnum", "StrEnum", "Flag") for cls in self.mro[1:])

    @property
    def is_named_tuple(self) -> bool:
        """Whether its own statement names ``NamedTuple`` as a base."""
        return any(base.text.rpartition(".")[2] == "NamedTuple" for base in self.bases)

    def enum_members(self) -> tuple[str, ...]:
        """The names of an enumeration's members."""
        found: list[str] = []
        for cls in reversed(self.mro):
            if cls.facts is not None and cls.module != "enum":
                for name, bindings in cls.namespace.names.items():
                    if not name.startswith("_") and all(isinstance(binding, Assign) for binding in bindings):
                        found.append(name)
        return tuple(found)

    def dataclass_fields(self) -> Fields | None:
        """The fields of a dataclass, those of its bases included; None for a class that is none."""
        if self._fields is _NOT_ASKED:
            for cls in self.mro:
                cls.prepare()
            self._fields = dataclass_fields(self)
        return self._fields

    def named_tuple_fields(self) -> Fields | None:
        """The fields of a named tuple; None for a class that is none."""
        return named_tuple_fields(self)

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
        """The member in the namespace of the class itself, None if there is none."""
        self.prepare()
        if name in self.changed:
            return Member(name, "value", self, getattr(self.changed[name], "facts", None), None, None)
        if name in self.unsettled:
            return Member(name, "value", self, None, None, None, certain=False)
        try:
            return self._members[name]
        except KeyError:
            found = self._members[name] = self._own(name)
            return found

    def _own(self, name: str) -> Member | None:
        if self.facts is None:
            return self._opaque_member(name)
        later = self._program.classes.assigned_later(self).get(name)
        if later is not None:
            return Member(name, "value", self, later, later.line, later.column)
        bindings = self.namespace.names.get(name)
        if bindings:
            return self._bound(name, bindings)
        if name == "__init__" and self.dataclass_options is not None:
            fields = dataclass_fields(self)
            if fields is not None:
                return Member(name, "method", self, None, self.facts.line, None, True, fields.signature().unbound())
        return None

    def _opaque_member(self, name: str) -> Member | None:
        known = self.known
        if known is not None and name in known.methods:
            signature = dict(known.signatures).get(name)
            made = Signature(signature) if signature is not None else None
            return Member(name, "method", self, None, None, None, True, made)
        if known is not None and name in known.values:
            return Member(name, "value", self, None, None, None)
        if self.module == "builtins":
            import builtins

            real = getattr(builtins, self.qualname, None)
            # what every class has is answered by CLASS_ATTRIBUTES, and object's own names say nothing
            if isinstance(real, type) and real is not object and name in vars(real):
                return Member(name, "method" if callable(vars(real)[name]) else "value", self, None, None, None)
        return None

    def _bound(self, name: str, bindings: tuple[Binding, ...]) -> Member | None:
        present = [binding for binding in bindings if binding is not None]
        if not present:
            return None
        binding = present[-1]
        certain = len(bindings) == 1
        if isinstance(binding, FunctionFacts):
            kind = function_kind(binding)
            if kind == "method" and name in ("__init_subclass__", "__class_getitem__"):
                kind = "classmethod"
            return Member(name, kind, self, binding, binding.line, binding.column, certain)
        if isinstance(binding, ClassFacts):
            return Member(name, "class", self, binding, binding.line, binding.column, certain)
        if isinstance(binding, (Assign, Import)):
            return Member(name, "value", self, binding, binding.line, binding.column, certain)
        return Member(name, "value", self, None, None, None, certain)

    def own_names(self) -> tuple[str, ...]:
        """All names in its own namespace."""
        self.prepare()
        if self.facts is None:
            known = self.known
            return tuple(sorted(known.methods | known.values)) if known is not None else ()
        names = [name for name, bindings in self.namespace.names.items() if bindings != (None,)]
        return tuple(dict.fromkeys([*names, *self._program.classes.assigned_later(self), *self.changed]))

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
        """Whether ``hasattr(cls, name)``: True, False, or None where the class is not known well enough."""
        found = self.lookup(name)
        if found is not None:
            return True if found.certain else None
        if name in CLASS_ATTRIBUTES or name in self.metaclass_attributes:
            return True
        return False if self.complete else None

    @property
    def metaclass_attributes(self) -> frozenset[str]:
        """The names that its metaclass gives it, where that is one of the standard library's."""
        found: frozenset[str] = frozenset()
        if self.is_enum:
            found |= METACLASS_ATTRIBUTES["EnumMeta"]
        for cls in self.mro:
            keywords = dict(cls.facts.keywords) if cls.facts is not None else {}
            metaclass = keywords["metaclass"].text.rpartition(".")[2] if "metaclass" in keywords else ""
            if cls.is_typing("Protocol") or metaclass == "ABCMeta":
                found |= METACLASS_ATTRIBUTES["ABCMeta"]
        return found

    def gives_none(self, name: str) -> bool:
        """Whether ``cls.name`` is a plain None: how a class says that it does not support a protocol's method."""
        found = self.lookup(name)
        facts = found.facts if found is not None else None
        if found is not None and name in found.owner.changed:
            return found.owner.changed[name] is None
        return isinstance(facts, Assign) and facts.value is not None and facts.value.text == "None"

    def annotations(self) -> dict[str, Assign]:
        """The names annotated in its own body (``__annotations__``), with or without a value, in order."""
        found: dict[str, Assign] = {}
        for item in flattened(self.facts.body if self.facts is not None else ()):
            if isinstance(item, Assign) and item.annotation is not None:
                found[item.name] = item
        return found

    def methods(self) -> dict[str, Member]:
        """The functions of its own body by name."""
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

    def assigned_by(self, name: str) -> Expression | None:
        """The expression that gives ``cls.name`` its value, where one assignment does."""
        found = self.lookup(name)
        return found.facts.value if found is not None and isinstance(found.facts, Assign) else None
