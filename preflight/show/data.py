"""What ``preflight show`` has to say, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from preflight.model import LaunchFacts, TreeFacts, Undecided


@dataclass(frozen=True, slots=True)
class ConfigValue:
    """One value of a model's config. ``name`` is dotted for nested configs, ``origin`` says where the value is from."""

    name: str
    value: Any
    origin: str


@dataclass(frozen=True, slots=True)
class ShownModule:
    """A module of the built model: its dotted name, its class, its parameters, and the attributes that may be more.

    A parameter is a name, its shape where that is known, and whether it is a buffer.
    """

    name: str
    cls: str
    parameters: tuple[tuple[str, tuple[int, ...] | None, bool], ...] = ()
    open: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ShownModel:
    """The target or the drafter: its class in the tree, what that claims, and its config as vLLM will see it."""

    architecture: str | None
    cls: str | None  #: ``module:Class``, None where the registry has none
    mro: tuple[str, ...] = ()
    interfaces: tuple[str, ...] = ()
    flags: tuple[tuple[str, Any], ...] = ()
    config: tuple[ConfigValue, ...] = ()
    error: str | None = None  #: why the class cannot be had at run time
    modules: tuple[ShownModule, ...] = ()  #: of the model as it was built; none where it was not


@dataclass(frozen=True, slots=True)
class Assumed:
    """An assumption that the walk needed; ``stated`` by the user, or a default."""

    text: str
    stated: bool


@dataclass(frozen=True, slots=True)
class ShowReport:
    """The effective state. ``parallel`` are the sizes of the groups, by their short names."""

    tree: TreeFacts
    launch: LaunchFacts | None = None
    model: ShownModel | None = None
    drafter: ShownModel | None = None
    parallel: tuple[tuple[str, int], ...] = ()
    assumed: tuple[Assumed, ...] = ()
    undecided: tuple[Undecided, ...] = ()
    notes: tuple[str, ...] = ()
