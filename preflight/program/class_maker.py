"""Makes the classes of a program: what a base expression is, and what happens to a class after its statement."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from preflight.program.classes import Base, Class, Doubt
from preflight.program.conditions import parse_expression
from preflight.program.definitions import Definition, Kind, Value
from preflight.program.facts import Assign, ClassFacts, Expression, SetAttribute
from preflight.program.known import TYPING_ALIASES, TYPING_MODULES
from preflight.program.syntax_nodes import dotted

if TYPE_CHECKING:
    from preflight.program.modules import Module
    from preflight.program.program import Program

#: metaclasses of the standard library that add no attributes which classes of a tree are asked for
_PLAIN_METACLASSES = frozenset({"ABCMeta", "EnumMeta", "EnumType", "type", "_ProtocolMeta"})


#: how long a chain of bases may be: no released vLLM has one of more than ten
MAX_BASES = 40


class ClassMaker:
    """The classes of one program."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._made: dict[str, Class] = {}
        self._depth = 0
        self._typed_dicts: set[Class] = set()
        self._later: dict[str, dict[str, dict[str, Assign]]] = {}

    def of(self, definition: Definition) -> Class | None:
        """The class that a definition defines; None for what is no class (an opaque name counts as one)."""
        if definition.kind is Kind.MODULE:
            return None
        if definition.module in TYPING_MODULES:
            return self.opaque("typing", definition.name)
        if definition.kind is Kind.CLASS and isinstance(definition.facts, ClassFacts):
            return self._statement(definition.module, definition.facts, definition.path)
        if definition.kind in (Kind.CLASS, Kind.OPAQUE):
            return self.opaque(definition.module, definition.name)
        return None

    def of_value(self, value: Value) -> Class | None:
        """The class that a value of the evaluator is."""
        from preflight.program.evaluate.values import Opaque

        if isinstance(value, Class):
            return value
        if isinstance(value, Opaque):
            module, _, name = value.path.rpartition(".")
            return self.opaque("typing" if module in TYPING_MODULES else module, name)
        return None

    def nested(self, owner: Class, facts: ClassFacts) -> Class:
        """A class that is defined in the body of ``owner``."""
        return self._statement(owner.module, facts, owner.path)

    def opaque(self, module: str, name: str) -> Class:
        """A class that is known by its name only."""
        # ``from torch import nn`` and ``import torch.nn`` name the same class: only the path counts
        module, _, name = f"{module}.{name}".rpartition(".")
        key = f"{module}:{name}"
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = Class(self._program, module, name, None, None)
        return found

    def _statement(self, module: str, facts: ClassFacts, path: str | None) -> Class:
        key = f"{module}:{facts.qualname}:{facts.line}"
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = Class(self._program, module, facts.qualname, facts, path)
        return found

    # -- bases ------------------------------------------------------------------------------------------------------

    def bases(self, cls: Class) -> tuple[Base, ...]:
        """The bases of a class as Python sees them: ``types.resolve_bases`` over the class statement."""
        facts = cls.facts
        if facts is None:
            return self._opaque_bases(cls)
        module = self._program.module(cls.module)
        written = [self._base(module, cls, expression) for base in facts.bases for expression in _spread(base)]
        protocol = any(base.cls is not None and base.cls.is_typing("Protocol") for base, _ in written)
        if facts.type_parameters and not protocol:
            written.append((Base("Generic", facts.line, facts.column, self.opaque("typing", "Generic")), True))
        if any(base.cls is not None and self.is_typed_dict(base.cls) for base, _ in written):
            # typing._TypedDictMeta makes a plain dict of every typed dict, whatever it is derived from
            self._typed_dicts.add(cls)
            # and of whatever is generic among its bases the bare Generic
            generic = [base for base, _ in written if _is_generic(base)][:1]
            made = [Base(base.text, base.line, base.column, self.opaque("typing", "Generic")) for base in generic]
            return (*made, Base("TypedDict", facts.line, facts.column, self.opaque("builtins", "dict")))
        result: list[Base] = []
        for base, subscripted in written:
            # an alias that stands there twice is one object to ``bases.index``: the first of them
            first = next(index for index, (other, _) in enumerate(written) if other.text == base.text)
            later = written[first + 1 :]
            if base.cls is None:
                result.append(base)
            elif base.cls.is_typing("Generic") and subscripted:
                # typing._GenericAlias.__mro_entries__: another later generic base, or Protocol, brings Generic along
                others = [(other, subscript) for other, subscript in later if other.text != base.text]
                if not protocol and not any(_is_typing_alias(other, subscript) for other, subscript in others):
                    result.append(base)
            elif base.cls.module in TYPING_MODULES:
                brought = any(_is_typing_alias(other, subscript) or _is_generic(other) for other, subscript in later)
                result.extend(self._typing_bases(base, brought))
            else:
                result.append(base)
        return tuple(result)

    def is_typed_dict(self, cls: Class) -> bool:
        """Whether a class is TypedDict or was derived from it."""
        return cls.is_typing("TypedDict") or (bool(cls.bases) and cls in self._typed_dicts)

    def _typing_bases(self, base: Base, later_generic: bool) -> list[Base]:
        """What a name of ``typing`` becomes as a base."""
        assert base.cls is not None
        place = (base.text, base.line, base.column)
        if base.cls.name == "NamedTuple":
            return [Base(*place, self.opaque("builtins", "tuple"))]
        alias = TYPING_ALIASES.get(base.cls.name)
        if alias is None:
            return [base]
        owner, _, name = alias.rpartition(".")
        made = [Base(*place, self._named(owner, name))]
        if not later_generic:
            made.append(Base(*place, self.opaque("typing", "Generic")))
        return made

    def _named(self, module: str, name: str) -> Class:
        if module == "builtins":
            return self.opaque(module, name)
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
        if self._depth >= MAX_BASES:
            return Base(
                expression.text, expression.line, expression.column, None, "the chain of bases is too long"
            ), False
        self._depth += 1
        try:
            return self._resolved_base(module, cls, expression)
        finally:
            self._depth -= 1

    def _resolved_base(self, module: Module, cls: Class, expression: Expression) -> tuple[Base, bool]:
        place = (expression.text, expression.line, expression.column)
        node = parse_expression(expression.text)
        subscripted = isinstance(node, ast.Subscript)
        inner = node.value if isinstance(node, ast.Subscript) else node
        name = dotted(inner) if inner is not None else None
        if name is not None and cls.closure is None:
            found = self._program.name_in_class(module, cls, name)
            classes = [made for definition in found.definitions if (made := self.of(definition)) is not None]
            if found.missing is not None:
                missing = found.missing
                if missing.module == module.name and missing.name == name.partition(".")[0]:
                    cls.fails_for_base(missing.name)
                return Base(*place, None, missing.as_exception()), subscripted
            if len(classes) == 1 and len(found.definitions) == 1 and not found.may_be_unbound:
                replaced = classes[0].replaced_by()
                if replaced is classes[0]:
                    return Base(*place, classes[0]), subscripted
            if len(classes) > 1:
                names = " or ".join(made.target for made in classes)
                return Base(*place, None, f"the base {expression.text} is {names}"), subscripted
        text = expression.text if name is None else name
        value = self._program.evaluate(module, Expression(text, expression.line, expression.column), cls.closure)
        made = self.of_value(value)
        if made is not None:
            return Base(*place, made), subscripted
        reason = getattr(value, "reason", "it is no class")
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
            if name == "metaclass" and expression.text.rpartition(".")[2] not in _PLAIN_METACLASSES:
                found.append(Doubt(f"its metaclass {expression.text} may add attributes", cls.path, expression.line))
        found.extend(cls.decorator_doubts)
        return found

    # -- what happens to a class after its statement -----------------------------------------------------------------

    def assigned_later(self, cls: Class) -> dict[str, Assign]:
        """``Class.attribute = value`` statements in the body of the class's own module, by attribute."""
        if "." in cls.qualname or cls.facts is None:
            return {}
        per_module = self._later.get(cls.module)
        if per_module is None:
            per_module = self._later[cls.module] = {}
            namespace = self._program.resolver.namespace(self._program.module(cls.module))
            for effect, _ in namespace.effects if namespace is not None else ():
                if isinstance(effect, SetAttribute) and effect.attribute != "[]":
                    made = Assign(effect.attribute, "=", effect.value, None, effect.line, effect.column)
                    per_module.setdefault(effect.target.text, {})[effect.attribute] = made
        return per_module.get(cls.name, {})


def _is_generic(base: Base) -> bool:
    """Whether a base derives from ``typing.Generic``."""
    return base.cls is not None and any(cls.is_typing("Generic") for cls in base.cls.mro)


def _is_typing_alias(base: Base, subscripted: bool) -> bool:
    """Whether a base is an alias of ``typing`` (``List``, ``C[T]`` of a generic class) and not one of Python's own
    (``list[T]``), which knows nothing of Generic."""
    if base.cls is None:
        return False
    if base.cls.module in TYPING_MODULES:
        return subscripted or base.cls.name in TYPING_ALIASES
    return subscripted and _is_generic(base)


def _spread(base: Expression) -> tuple[Expression, ...]:
    """What a base of a class statement puts there: for ``*(A, B)`` several, for any other expression itself."""
    if not base.text.startswith("*"):
        return (base,)
    node = parse_expression(base.text[1:].strip())
    if not isinstance(node, (ast.Tuple, ast.List)) or any(isinstance(part, ast.Starred) for part in node.elts):
        return (base,)
    return tuple(Expression(ast.unparse(part), base.line, base.column) for part in node.elts)
