"""What a name turns out to be: the vocabulary of answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from preflight.model import Span
from preflight.program.conditions import Truth
from preflight.program.facts import Assign, ClassFacts, FunctionFacts, Import

#: a value of the evaluator (``evaluate.values``): constants and containers are themselves, so it has no type of its own
Value = Any


class Kind(Enum):
    """What a definition defines."""

    CLASS = "class"
    FUNCTION = "function"
    MODULE = "module"
    VALUE = "value"  #: anything else that is assigned
    OPAQUE = "opaque"  #: it exists, but its source is not at hand


@dataclass(frozen=True, slots=True)
class Definition:
    """One thing that a name may stand for. ``module`` and ``name`` say where it is defined (for a MODULE, ``module`` is
    its own import path and ``name`` is ""); ``path`` and ``line`` are None where there is no source."""

    kind: Kind
    module: str
    name: str
    path: str | None = None
    line: int | None = None
    column: int | None = None
    # the place says which definition it is; the facts are too large to be compared
    facts: ClassFacts | FunctionFacts | Assign | Import | None = field(default=None, compare=False, repr=False)

    @property
    def target(self) -> str:
        """The import path of the thing: "vllm.config.VllmConfig"."""
        return f"{self.module}.{self.name}" if self.name else self.module

    @property
    def span(self) -> Span:
        return Span(self.path or self.module, self.line, self.column)


@dataclass(frozen=True, slots=True)
class Missing:
    """Why a name cannot be had: a module that is not there, or a name that a module lacks.

    ``name`` is None for a module that is absent. ``via`` are the modules and names that were passed on the way, as
    "module:name", outermost first.
    """

    module: str
    name: str | None
    reason: str
    via: tuple[str, ...] = ()

    def as_exception(self) -> str:
        """The exception as Python words it, without what differs from machine to machine."""
        if self.name is None:
            return f"ModuleNotFoundError: No module named {self.module!r}"
        return f"ImportError: cannot import name {self.name!r} from {self.module!r}"


@dataclass(frozen=True, slots=True)
class Resolution:
    """What a name in a module stands for.

    ``definitions`` are the possible meanings; with ``unknown`` there may be others, for that reason. ``missing`` is set
    when the name is certainly not there. ``may_be_unbound``: on some way through the module it gets no value.
    """

    definitions: tuple[Definition, ...] = ()
    missing: Missing | None = None
    unknown: str | None = None
    may_be_unbound: bool = False
    #: the value itself, where running a module's ``__getattr__`` gave one that has no definition of its own
    value: Value = field(default=None, compare=False)

    @property
    def exists(self) -> Truth:
        """Whether importing the name succeeds, as far as the name goes."""
        if self.missing is not None:
            return Truth.NO
        if self.may_be_unbound:
            return Truth.MAYBE
        if self.unknown is not None and all(found.kind is Kind.OPAQUE for found in self.definitions):
            return Truth.MAYBE  # nothing that is known says that the name is there
        return Truth.YES if self.definitions else Truth.MAYBE

    @property
    def only(self) -> Definition | None:
        """The meaning, if there is certainly just this one."""
        if len(self.definitions) == 1 and self.unknown is None and not self.may_be_unbound:
            return self.definitions[0]
        return None
