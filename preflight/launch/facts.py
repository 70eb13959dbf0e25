"""A launch as a report names it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from preflight.launch.checkpoint import ModelFiles
from preflight.launch.exported import exported
from preflight.launch.launch import Launch
from preflight.model import LaunchFacts

if TYPE_CHECKING:
    from preflight.program import Program


def launch_facts(launch: Launch, program: Program | None = None) -> LaunchFacts:
    """What the report says of a launch; ``program`` is asked for the class of the architecture."""
    drafter: dict[str, Any] | None = None
    if launch.drafter is not None:
        files = launch.drafter.files
        drafter = {
            "model": launch.drafter.name,
            "architecture": _architecture(files),
            "model_class": model_class(files, program),
            **{key: exported(value) for key, value in launch.drafter.settings.items() if key != "model"},
        }
    return LaunchFacts(
        launch.named_model,
        _architecture(launch.model),
        model_class(launch.model, program),
        {name: exported(value) for name, value in sorted(launch.parsed.values.items())},
        drafter,
    )


def _architecture(files: ModelFiles | None) -> str | None:
    return files.architectures[0] if files is not None and files.architectures else None


def model_class(files: ModelFiles | None, program: Program | None) -> str | None:
    """The class that the tree's registry has for the first architecture, as ``module:Class``; None if it has none.

    What vLLM makes of the architecture before (renames, fall-backs) is not looked at here.
    """
    architecture = _architecture(files)
    if architecture is None or program is None:
        return None
    entry = program.registry_reader.registry().entries.get(architecture)
    if entry is None:
        return None
    return f"{entry.module}:{entry.name}" if entry.module and entry.name else None
