"""Monkey patches that a script makes in its own process only, while what they change runs in others.

A process that ``multiprocessing`` starts by ``spawn`` is a new interpreter. It imports the script of its parent under
another name than ``__main__``: what stands at the module's level is done there too, and what stands behind
``if __name__ == "__main__":`` is not. A process that is forked has all that its parent had, and a program that a script
starts has nothing of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from preflight.checks.monkey.ids import PARENT_ONLY
from preflight.checks.monkey.processes import children_of
from preflight.checks.monkey.starting import SPAWN, Script, Way
from preflight.model import Fault, Step
from preflight.program import Kind
from preflight.program.entry_points import GENERAL_GROUP, LOAD_PLUGINS, START_METHOD

if TYPE_CHECKING:
    from preflight.checks.context import Context
    from preflight.checks.monkey.collect import MonkeyPatch
    from preflight.checks.monkey.words import Words
    from preflight.program import Program


def parent_only_faults(
    context: Context, program: Program, patches: Sequence[MonkeyPatch], words: Words
) -> Iterator[Fault]:
    """A fault for each script that patches what runs in other processes only, where none of them sees it. ``words``
    are those of all code beside the tree."""
    scripts: dict[str, Script] = {}
    lost: dict[str, tuple[Way, list[MonkeyPatch]]] = {}
    kept: set[str] = set()
    for patch in patches:
        script = scripts.get(patch.module.name)
        if script is None:
            script = scripts[patch.module.name] = Script(context, program, patch.module, words)
        way = script.way_past(patch)
        if way is None:
            kept.add(patch.target)
        else:
            lost.setdefault(patch.module.name, (way, []))[1].append(patch)
    for way, made in lost.values():
        without = [one for one in made if one.target not in kept and _is_childs(program, one)]
        if without:
            yield _fault(way, without)


def _is_childs(program: Program, patch: MonkeyPatch) -> bool:
    """Whether what is patched runs in the engine's and the workers' processes only."""
    children = children_of(program)
    if patch.owner.kind is Kind.CLASS:
        cls = program.class_of(patch.owner)
        member = cls.lookup(patch.attribute) if cls is not None else None
        return cls is not None and member is not None and member.kind == "method" and children.has_class(cls)
    only = program.resolve(patch.owner.module, patch.attribute).only
    if only is None or only.name != patch.attribute:
        return False
    cls = program.class_of(only)
    return children.has_class(cls) if cls is not None else only.kind is Kind.FUNCTION and children.has_name(only.name)


def _fault(way: Way, made: Sequence[MonkeyPatch]) -> Fault:
    first = made[0]
    more = f" (and {len(made) - 1} more)" if len(made) > 1 else ""
    if way.method == SPAWN:
        reason = (
            f"{START_METHOD} is {SPAWN!r} here" if way.certain else f"{START_METHOD} is {SPAWN!r} where nobody sets it"
        )
        why = f"{reason}: a new interpreter runs the engine, and does not do what this script does as `__main__`"
    else:
        why = "the program that it starts is a new interpreter, which has nothing of this script"
    module = first.module
    return Fault(
        PARENT_ONLY,
        first.span,
        f"{first.target}{more} is replaced in this script's own process, and is used in the engine's and the workers' "
        "only, which go on with the release's",
        why=why,
        help=f"make it in a function that an entry point of the group {GENERAL_GROUP!r} names: every process of vLLM "
        f"calls {LOAD_PLUGINS}()",
        trail=(
            *(Step(one.span.path, one.span.line or 1, "", f"replaces {one.target}") for one in made[1:6]),
            Step(module.path or module.name, way.line, "", way.note),
        ),
    )
