"""What the walk of a launch gives: its faults, where it stopped, the models that it came to; and how far to walk."""

from __future__ import annotations

from dataclasses import dataclass, field

from preflight.model import Step
from preflight.walk.first_pass import Asked
from preflight.walk.machine import Doubt
from preflight.walk.outcomes import Exit
from preflight.walk.values import Place, Value


@dataclass(frozen=True, slots=True)
class Found:
    """A fault: the exception that every way forward of ``stage`` ends in, and the assumptions the walk had made by
    then. ``others`` are the classes beside the one that lacks a method which have it.
    """

    stage: str
    exit: Exit
    assumed: tuple[str, ...]
    remarks: tuple[Step, ...] = ()
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Stopped:
    """A stage that the walk did not bring to its end for another reason than a fault; what is behind is not decided."""

    stage: str
    id: str
    reason: str
    place: Place | None
    decisive: bool = True


@dataclass(frozen=True, slots=True)
class Lacking:
    """An attribute that was demanded of the model's config and is not there: ``name`` of ``owner``, as far as ``path``
    leads.
    """

    path: str
    owner: Value
    name: str


@dataclass(frozen=True, slots=True)
class Described:
    """A model as the finished engine config has it: its architecture, if that is known, its own config, and the names
    of the classes that the registry may have chosen for it.
    """

    architecture: str | None
    config: Value | None
    served: tuple[str, ...] = ()


@dataclass(slots=True)
class Walk:
    """What the walk of a launch found. ``config`` is the finished VllmConfig, where it came to one.

    ``target`` and ``drafter`` are the models of it, and ``parallel`` the sizes of its groups (tp, pp, dp, ...).
    """

    found: list[Found] = field(default_factory=list)
    stopped: list[Stopped] = field(default_factory=list)
    doubts: list[Doubt] = field(default_factory=list)
    lacking: list[Lacking] = field(default_factory=list)
    assumed: dict[str, str] = field(default_factory=dict)
    config: Value | None = None
    target: Described | None = None
    drafter: Described | None = None
    parallel: dict[str, int] = field(default_factory=dict)
    model: Value | None = None
    runner: Value | None = None
    steps: int = 0

    def stop(self, stage: str, id: str, reason: str, place: Place | None, *, decisive: bool = True) -> None:
        """A stage is not brought to its end."""
        self.stopped.append(Stopped(stage, id, reason, place, decisive))


@dataclass(frozen=True, slots=True)
class Scope:
    """How far a launch is walked.

    ``runner``: on to the model runner, and the drafter if there is one, when the config asks more of the model than to
    run; ``construct``: through the constructors of the target and of the drafter; ``first_pass``: through the first run
    of the target, where something is asked of it; ``demanded``: attributes that the model's config must have.
    """

    runner: bool = True
    construct: bool = True
    first_pass: Asked | None = None
    demanded: tuple[str, ...] = ()


#: as far as a launch can be followed without its weights
WHOLE = Scope()
