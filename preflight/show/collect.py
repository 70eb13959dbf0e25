"""Gathers the effective state from the tree, the launch as the tree's parser reads it, and the walk of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from preflight.errors import PreflightError
from preflight.model import Undecided
from preflight.show.data import Assumed, ConfigValue, ShownModel, ShownModule, ShowReport

if TYPE_CHECKING:
    from preflight.launch.checkpoint import ModelFiles
    from preflight.launch.launch import Launch
    from preflight.program import Program
    from preflight.run import Request
    from preflight.tree import Tree
    from preflight.walk.result import Described, Walk
    from preflight.walk.values import Value

_MOST_LEVELS = 4
#: the origin of a value that no file and no flag gives
COMPUTED = "computed by the code on the way"


def collect(tree: Tree, request: Request, environ: Mapping[str, str]) -> ShowReport:
    """The state of ``tree`` and of the launch that ``request`` gives, if it gives one.

    ``environ`` is where the caches of preflight and of the model hub are looked up. Raises UsageError for a launch or
    an assumption that cannot be used.
    """
    from preflight.program import load_program

    program = load_program(tree, environ, request.options.use_cache)
    if not request.launch:
        return ShowReport(tree.facts, undecided=tree.undecided, notes=tree.notes)
    from preflight.launch.facts import launch_facts
    from preflight.launch.launch import read_launch

    launch = read_launch(request.launch, environ, tree, program)
    if launch is None or not launch.runs_vllm:
        question = Undecided("launch-not-vllm", "the launch runs no vLLM that can be seen: only the tree is shown")
        return ShowReport(tree.facts, undecided=(*tree.undecided, question), notes=tree.notes)
    walk, assumed, open_questions = _walked(launch, tree, program, request)
    drafter = launch.drafter.files if launch.drafter is not None else None
    return ShowReport(
        tree.facts,
        launch_facts(launch, program),
        _built(_model(program, launch.model, walk.target if walk is not None else None), walk),
        _model(program, drafter, walk.drafter if walk is not None else None),
        tuple(walk.parallel.items()) if walk is not None else (),
        assumed,
        (*tree.undecided, *launch.undecided, *open_questions),
        tree.notes,
    )


def _walked(
    launch: Launch, tree: Tree, program: Program, request: Request
) -> tuple[Walk | None, tuple[Assumed, ...], tuple[Undecided, ...]]:
    """The walk of the launch, what it assumed, and what it left open; None where it could not be begun."""
    from preflight.walk.following import follow

    followed = follow(launch, tree, program, request.options.assume)
    if isinstance(followed, Undecided):
        return None, (), (followed,)
    walk, found = followed.walk, followed.found
    stated = followed.assumptions.stated
    assumed = tuple(Assumed(text, key in stated) for key, text in sorted(walk.assumed.items()))
    ends = tuple(
        Undecided(
            "launch-ends",
            f"the launch ends here ({fault.message}): `preflight check` says why",
            fault.span.path,
            fault.span.line,
        )
        for fault in found
        if not isinstance(fault, Undecided)
    )
    return walk, assumed, (*ends, *(one for one in found if isinstance(one, Undecided)))


def _built(shown: ShownModel | None, walk: Walk | None) -> ShownModel | None:
    """The model with the modules that the walk of its constructor built."""
    if shown is None or walk is None:
        return shown
    from preflight.walk.built import modules_of

    return replace(
        shown,
        modules=tuple(
            ShownModule(
                module.name,
                module.cls,
                tuple((one.name, one.shape, one.buffer) for one in module.parameters),
                module.open,
            )
            for module in modules_of(walk.model)
        ),
    )


def _model(program: Program, files: ModelFiles | None, described: Described | None) -> ShownModel | None:
    if files is None and described is None:
        return None
    architecture = described.architecture if described is not None else None
    if architecture is None and files is not None and files.architectures:
        architecture = files.architectures[0]
    if described is not None and described.config is not None:
        config = tuple(_walked_config(described.config, "", 0))
    else:
        config = tuple(_raw_config(files.config, files.file, "", 0)) if files is not None else ()
    if architecture is None:
        return ShownModel(None, None, config=config)
    from preflight.interfaces import interfaces_report

    try:
        row = interfaces_report(program, [architecture]).rows[0]
    except PreflightError as error:
        return ShownModel(architecture, None, config=config, error=error.message)
    return ShownModel(
        architecture,
        f"{row.module}:{row.name}",
        row.mro,
        row.interfaces,
        tuple((flag.name, flag.value) for flag in row.flags),
        config,
        row.error,
    )


def _walked_config(value: Value, prefix: str, level: int) -> Iterator[ConfigValue]:
    """The attributes of a config object, nested configs with dotted names."""
    from preflight.walk.report import plain
    from preflight.walk.values import Const, Instance, Unknown

    if not isinstance(value, Instance):
        return
    kin = {cls for cls in value.cls.mro if cls.native is None}
    for key, item in sorted(value.content.items()):
        if key.startswith("_"):
            continue
        if isinstance(item, Instance):
            if level < _MOST_LEVELS and kin.intersection(item.cls.mro):  # a config in a config, and no other object
                yield from _walked_config(item, f"{prefix}{key}.", level + 1)
            continue
        if isinstance(item, Unknown):
            yield ConfigValue(prefix + key, None, f"not known: {item.reason}")
            continue
        shown = plain(item)
        if shown is None and not (isinstance(item, Const) and item.value is None):
            continue
        yield ConfigValue(prefix + key, shown, item.origin or COMPUTED)


def _raw_config(config: Mapping[str, Any], file: str, prefix: str, level: int) -> Iterator[ConfigValue]:
    """What the file itself says, where no walk came to the config."""
    for key, item in sorted(config.items()):
        if isinstance(item, dict) and item and level < _MOST_LEVELS:
            yield from _raw_config(item, file, f"{prefix}{key}.", level + 1)
        else:
            yield ConfigValue(prefix + key, item, f"{file}: {prefix}{key}")
