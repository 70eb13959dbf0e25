"""The fields of dataclasses and named tuples, and the constructor that Python generates from them."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from preflight.program.conditions import parse_expression
from preflight.program.facts import KIND_KEYWORD_ONLY, KIND_POSITIONAL_OR_KEYWORD, Assign, Expression, Parameter
from preflight.program.signatures import Signature
from preflight.program.syntax_nodes import dotted

if TYPE_CHECKING:
    from preflight.program.classes import Class


@dataclass(frozen=True, slots=True)
class Field:
    """One field. ``default`` and ``factory`` are None where it must be given; ``init`` False: no parameter."""

    name: str
    owner: Class
    facts: Assign
    default: Expression | None
    factory: Expression | None
    init: bool
    kw_only: bool

    @property
    def required(self) -> bool:
        return self.default is None and self.factory is None


@dataclass(frozen=True, slots=True)
class Fields:
    """All fields that the constructor of ``owner`` takes, in its order."""

    owner: Class
    fields: tuple[Field, ...]

    def signature(self) -> Signature:
        """The parameters that a caller sees, without ``self``."""
        parameters: list[Parameter] = []
        for kind, wanted in ((KIND_POSITIONAL_OR_KEYWORD, False), (KIND_KEYWORD_ONLY, True)):
            for field in self.fields:
                if field.init and field.kw_only is wanted:
                    facts = field.facts
                    default = field.default or field.factory
                    parameters.append(Parameter(field.name, kind, default, facts.annotation, facts.line, facts.column))
        return Signature(tuple(parameters))


def dataclass_fields(cls: Class) -> Fields | None:
    """The fields of a dataclass, those of its bases first; None if no class on its MRO is one."""
    owner = next((base for base in cls.mro if base.dataclass_options is not None), None)
    if owner is None:
        return None
    found: dict[str, Field] = {}
    for base in reversed(owner.mro):
        if base.dataclass_options is None:
            continue
        kw_only = "kw_only" in base.dataclass_options
        for name, facts in base.annotations().items():
            text = facts.annotation.text if facts.annotation is not None else ""
            head = text.strip("\"'").partition("[")[0].rpartition(".")[2]
            if head == "ClassVar":
                continue
            if head == "KW_ONLY":
                kw_only = True
                continue
            found[name] = _field(name, base, facts, kw_only)
    return Fields(owner, tuple(found.values()))


def named_tuple_fields(cls: Class) -> Fields | None:
    """The fields of a ``typing.NamedTuple`` class; annotations of its subclasses are no fields."""
    for base in cls.mro:
        if base.facts is not None and base.is_named_tuple:
            fields = tuple(
                Field(name, base, facts, facts.value, None, True, False) for name, facts in base.annotations().items()
            )
            return Fields(base, fields)
    return None


def _field(name: str, owner: Class, facts: Assign, kw_only: bool) -> Field:
    node = parse_expression(facts.value.text) if facts.value is not None else None
    if not (isinstance(node, ast.Call) and (dotted(node.func) or "").rpartition(".")[2] in ("field", "Field")):
        return Field(name, owner, facts, facts.value, None, True, kw_only)
    assert facts.value is not None
    line, column = facts.value.line, facts.value.column
    options = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg is not None}
    default = options.get("default")
    if default is None and node.args and (dotted(node.func) or "").endswith("Field"):
        default = node.args[0]  # pydantic.Field takes its default first, and ``...`` for none
        if isinstance(default, ast.Constant) and default.value is Ellipsis:
            default = None
    factory = options.get("default_factory")
    if None in (keyword.arg for keyword in node.keywords):
        default = default or ast.Constant(None)  # what ``**`` hands on may well be a default
    init = options.get("init")
    only = options.get("kw_only")
    return Field(
        name,
        owner,
        facts,
        Expression(ast.unparse(default), line, column) if default is not None else None,
        Expression(ast.unparse(factory), line, column) if factory is not None else None,
        not (isinstance(init, ast.Constant) and init.value is False),
        only.value is True if isinstance(only, ast.Constant) else kw_only,
    )
