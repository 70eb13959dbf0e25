"""Faults of the walk that code beside the tree may keep from happening: the walk follows vLLM's own code only."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from preflight.checks.monkey.collect import SETS, patches_beside
from preflight.checks.released import plugin_paths
from preflight.model import Fault, Undecided
from preflight.program import Class

if TYPE_CHECKING:
    from preflight.checks.context import Context
    from preflight.launch.launch import Launch
    from preflight.program import Program

_LOOKS_UP = re.compile(rb"\bimport_module\(|\bsys\.modules\b|\b__import__\(|\bresolve_obj_by_qualname\(")
_REGISTERS = re.compile(rb"\bregister_model\(|\bregister_")


def as_patched(context: Context, faults: Iterable[Fault | Undecided]) -> Iterator[Fault | Undecided]:
    """The faults, those made open questions that pass through a module which code beside the tree patches."""
    paths = plugin_paths(context)
    if not paths:
        yield from faults
        return
    program = context.load_program()
    patched = _patched_modules(context, program, paths)
    model = _model_modules(program, context.launch)
    registers = any(_REGISTERS.search(file.data) for file in context.tree.outside if file.path in paths)
    for fault in faults:
        if isinstance(fault, Undecided):
            yield fault
            continue
        touched = {fault.span.path, *(step.path for step in fault.trail)}
        modules = {module.name for path in touched if (module := program.module_at(path)) is not None} | model
        found = sorted(modules & patched.keys())
        if found:
            yield _open(fault, f"{patched[found[0]]} sets attributes in {found[0]}, through which it passes")
        elif registers and model:
            yield _open(fault, "code beside the tree registers models, and may put another in the place of this one")
        else:
            yield fault


def _open(fault: Fault, reason: str) -> Undecided:
    return Undecided(
        "walk-patched-beside",
        f"{fault.message}: this is so in vLLM's own code; {reason}",
        fault.span.path,
        fault.span.line,
        decisive=True,
    )


def _patched_modules(context: Context, program: Program, paths: list[str]) -> dict[str, str]:
    """The modules of vLLM in which files beside the tree set attributes: module -> file. A file that looks modules up
    by text, and sets attributes, may do so in any that it names."""
    found: dict[str, str] = {}
    for patch in patches_beside(context, program):
        found.setdefault(patch.owner.module, patch.span.path)
    for file in context.tree.outside:
        if file.path in paths and SETS.search(file.data) and _LOOKS_UP.search(file.data):
            for name in re.findall(rb"\bvllm(?:\.\w+)+", file.data):
                parts = name.decode().split(".")
                for count in range(2, len(parts) + 1):
                    found.setdefault(".".join(parts[:count]), file.path)
    return found


def _model_modules(program: Program, launch: Launch | None) -> set[str]:
    """The modules that define the launch's model class and what it derives from."""
    from preflight.launch.facts import launch_facts

    named = launch_facts(launch, program).model_class if launch is not None else None
    module, _, name = (named or "").partition(":")
    cls = program.find_class(module, name) if name else None
    return {base.module for base in cls.mro if program.finder.is_own(base.module)} if isinstance(cls, Class) else set()
