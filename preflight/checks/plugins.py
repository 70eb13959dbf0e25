"""What becomes of a launch where a plug-in raises: it ends, or the tree catches it and goes on without the plug-in."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from preflight.checks.body.study import studies_of
from preflight.checks.elsewhere import is_set_beside, is_set_elsewhere
from preflight.checks.subjects import FAILS, OPEN, Ending
from preflight.program import Truth
from preflight.program.facts import Hole
from preflight.tree.kinds import SCRIPTS_GROUP, STARTUP_GROUP

if TYPE_CHECKING:
    from preflight.checks.body.study import AttributeProblem, ImportProblem, NameProblem
    from preflight.launch.launch import Launch
    from preflight.program import Program
    from preflight.program.plugin_run import Stage


class Endings:
    """The answers for one program."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._broken: dict[Stage, bool] = {}

    def of(self, launch: Launch | None, name: str, line: int | None) -> Ending:
        """The ending where importing the module ``name`` fails, or where ``line`` of a function of it raises."""
        run = self._program.plugin_run
        if run is None:
            return FAILS if line is None else OPEN
        stages = [stage for stage in run.stages if self._comes_to(stage, name, line)]
        if any(not stage.caught and not _is_passed_by(stage, launch) for stage in stages):
            return FAILS
        caught = [stage for stage in stages if stage.caught]
        return Ending(False, _sentence(caught[0])) if caught else OPEN

    def raising(self, launch: Launch | None) -> Iterator[tuple[Stage, str, ast.Raise]]:
        """The steps that end the launch at a ``raise`` of the plug-in: the step, the module and the statement."""
        run = self._program.plugin_run
        seen: set[tuple[str, int]] = set()
        for stage in run.stages if run is not None else ():
            for name, node in stage.raised:
                place = (name, node.lineno)
                if place in seen or stage.point.group == SCRIPTS_GROUP or stage.caught or _is_passed_by(stage, launch):
                    continue
                if self._comes_to(stage, *place):
                    seen.add(place)
                    yield stage, name, node

    def _comes_to(self, stage: Stage, name: str, line: int | None) -> bool:
        """Whether a step runs the code, and no step before it has failed, there or elsewhere."""
        if stage.follows_one_with(name) if line is None else any((name, line) in one.lines for one in stage.before):
            return False
        runs = name in stage.loaded if line is None else (name, line) in stage.lines
        return runs and not any(self._is_broken(one) for one in stage.before)

    def _is_broken(self, stage: Stage) -> bool:
        """Whether a step certainly fails."""
        if stage not in self._broken:
            self._broken[stage] = any(self._fails(stage, name) for name in stage.loaded)
        return self._broken[stage]

    def _fails(self, stage: Stage, name: str) -> bool:
        module = self._program.module(name)
        if isinstance(self._program.syntax_tree(module), Hole):
            return True
        study = studies_of(self._program).of(module)
        if any(_raises(stage, name, problem) for problem in study.names):
            return True
        return any(
            _raises(stage, name, problem)
            and not problem.assumed
            and not is_set_elsewhere(self._program, problem.missing)
            and not is_set_beside(self._program.tree, problem.missing)
            for problem in (*study.imports, *study.attributes)
        )


def endings_of(program: Program) -> Endings:
    """The answers that all checks of a run share."""
    return program.derived(Endings)


def _raises(stage: Stage, name: str, problem: ImportProblem | NameProblem | AttributeProblem) -> bool:
    """Whether a step certainly comes to what a module lacks, and nothing in the plug-in catches that."""
    if not problem.moment.certain or problem.moment.handler or problem.caught is not Truth.NO:
        return False
    return not problem.function or (name, problem.line) in stage.lines


def _is_passed_by(stage: Stage, launch: Launch | None) -> bool:
    """Whether this launch may not take such a step: it is another program, or sets a variable to what is not known."""
    if launch is None:
        return False
    if stage.point.group == SCRIPTS_GROUP:
        return launch.program.module is not None or launch.program.image is not None
    return stage.variable in launch.open_environment


def _sentence(stage: Stage) -> str:
    if stage.point.group == STARTUP_GROUP:
        return "Python prints that and starts without it"
    return f"vLLM catches that and starts WITHOUT the plug-in {stage.point.name!r} ({stage.point.group})"
