"""One launch, walked: made ready, followed, and what came of it, whatever the walk itself ran into."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from preflight.model import Fault, Undecided
from preflight.walk.preparation import prepare
from preflight.walk.report import faults
from preflight.walk.result import WHOLE, Scope, Walk
from preflight.walk.stages import CONFIG_UNKNOWN, walk_launch
from preflight.walk.world import ProgramWorld

if TYPE_CHECKING:
    from preflight.launch.launch import Launch
    from preflight.program import Program
    from preflight.tree import Tree
    from preflight.walk.assumptions import Assumptions

_WITHOUT_TRANSFORMERS = Undecided(
    "transformers-not-here",
    "what vLLM makes of config.json is not known: its config classes are those of transformers, which is not beside "
    "this tree; name the environment that will run with --vllm-site-packages, or a release with --vllm, which fetches "
    "them",
    decisive=True,
)


@dataclass(frozen=True, slots=True)
class Followed:
    """A walk that came to an end, what it stood on, and its faults and open questions."""

    walk: Walk
    assumptions: Assumptions
    found: tuple[Fault | Undecided, ...]


def follow(
    launch: Launch, tree: Tree, program: Program, assume: Sequence[str], scope: Scope = WHOLE
) -> Followed | Undecided:
    """Walk a launch, or say why that was not done: it cannot be begun, or the walk failed.

    ``assume`` are the texts of ``--assume``. Raises UsageError for assumptions that mean nothing.
    """
    prepared = prepare(launch, tree, program, assume)
    if isinstance(prepared, Undecided):
        return prepared
    world = ProgramWorld(program)
    try:
        walk = walk_launch(world, prepared.argv, prepared.files, prepared.assumptions, scope, given=prepared.given)
    except Exception as error:  # the walk stands in for code of any kind: its own faults must not end the run
        return Undecided(
            "walk-fault",
            f"what vLLM makes of the launch is not decided: the walk itself failed ({type(error).__name__}: {error})",
            decisive=True,
        )
    told = launch.parsed.refused or launch.parsed.raised is not None
    found = tuple(faults(walk, prepared.assumptions.defaults, told))
    if not world.installed("transformers") and any(stop.id == CONFIG_UNKNOWN for stop in walk.stopped):
        # whatever else stayed open comes of it
        found = (*(item for item in found if isinstance(item, Fault)), _WITHOUT_TRANSFORMERS)
    return Followed(walk, prepared.assumptions, found)
