"""A model's info: what the tree's own predicates say of a class, by running them on the class model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from preflight.program.classes import Class
from preflight.program.definitions import Value
from preflight.program.entry_points import EAGLE3_PREDICATE, MODEL_INFO, MODEL_INFO_MAKER
from preflight.program.evaluate.values import EnumMember, Instance, Opaque, Raised, Unknown

if TYPE_CHECKING:
    from preflight.program.program import Program


@dataclass(frozen=True, slots=True)
class Flag:
    """One field of a model's info. ``value`` is None with a ``reason`` where it is not known."""

    name: str
    value: bool | str | int | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """All flags of a class, in the order of the tree's own dataclass, and whether EAGLE-3 can be used with it.

    ``error`` is what the tree's own code raises for the class.
    """

    flags: tuple[Flag, ...]
    eagle3: Flag
    error: str | None = None


class ModelInfos:
    """Asks the predicates of one program."""

    def __init__(self, program: Program) -> None:
        self._program = program

    @cached_property
    def _info_class(self) -> Class | None:
        definition = self._program.registry_reader.definition()
        found = self._program.find_class(definition.module, MODEL_INFO) if definition is not None else None
        return found if isinstance(found, Class) else None

    @cached_property
    def _predicate(self) -> Value:
        predicate: Value = None
        for symbol in self._program.symbols(EAGLE3_PREDICATE):  # searches the whole tree
            predicate = self._program.evaluator.of_definition(symbol)
        return predicate

    def info(self, cls: Class) -> ModelInfo:
        """The info of a class, as ``_ModelInfo.from_model_cls`` would make it, and whether it supports EAGLE-3."""
        with self._asking():
            eagle3 = self._eagle3(cls)
            flags, error = self._flags(cls)
        return ModelInfo(flags, eagle3, error)

    def flags(self, cls: Class) -> tuple[tuple[Flag, ...], str | None]:
        """The fields of the info alone, and the error that the tree's own function ends in, if it does."""
        with self._asking():
            return self._flags(cls)

    @contextmanager
    def _asking(self) -> Iterator[None]:
        calls = self._program.evaluator.calls
        calls.known = {}  # predicates only look at the class, and many of them ask one another
        try:
            yield
        finally:
            calls.known = None

    def _flags(self, cls: Class) -> tuple[tuple[Flag, ...], str | None]:
        names = self.field_names()
        if self._info_class is None:
            return (), None
        evaluator = self._program.evaluator
        maker = self._info_class

        def run() -> Value:
            function = evaluator.attributes.get(maker, MODEL_INFO_MAKER)
            return evaluator.calls.call(function, [cls], {}, MODEL_INFO_MAKER)

        try:
            made = evaluator.ask(run)
        except Raised as raised:
            where = f" ({raised.path}:{raised.line})" if raised.path else ""
            return tuple(Flag(name, None, str(raised)) for name in names), f"{raised}{where}"
        if not isinstance(made, Instance):
            reason = made.reason if isinstance(made, Unknown) else f"{MODEL_INFO_MAKER} makes no {MODEL_INFO}"
            return tuple(Flag(name, None, reason) for name in names), None
        return tuple(_flag(name, made.attributes.get(name)) for name in names), None

    def field_names(self) -> tuple[str, ...]:
        """The fields of the tree's model info, in order."""
        fields = self._info_class.dataclass_fields() if self._info_class is not None else None
        return tuple(field.name for field in fields.fields) if fields is not None else ()

    def _eagle3(self, cls: Class) -> Flag:
        if self._predicate is None:
            return Flag("eagle3", None, f"the tree has no {EAGLE3_PREDICATE}")
        evaluator = self._program.evaluator
        try:
            value = evaluator.ask(lambda: evaluator.calls.call(self._predicate, [cls], {}, EAGLE3_PREDICATE))
        except Raised as raised:
            return Flag("eagle3", None, str(raised))
        return _flag("eagle3", value)


def _flag(name: str, value: Value) -> Flag:
    """A field as a report gives it: what is no plain value is given as its text."""
    if isinstance(value, Unknown):
        return Flag(name, None, value.reason)
    if isinstance(value, Opaque):
        return Flag(name, None, f"{value.path} is outside of the tree")
    if value is None or isinstance(value, (bool, str, int)):
        return Flag(name, value)
    return Flag(name, _text(value))


def _text(value: Value) -> str:
    """``str(value)`` as Python gives it, for the values that an info can hold."""
    if isinstance(value, EnumMember):
        return f"{value.cls.name}.{value.name}"
    if isinstance(value, (tuple, list, set, frozenset)):
        plain = all(isinstance(element, (str, int, float, bool, type(None))) for element in value)
        return str(value) if plain else "(...)"
    return str(value)
