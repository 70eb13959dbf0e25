"""New files under the tree that nothing imports: most often a release has moved what they were a copy of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from preflight.checks.effects.ids import UNUSED
from preflight.checks.reach import class_facts
from preflight.checks.strays import is_unnamed
from preflight.checks.whereabouts import places_of
from preflight.model import Fault, Span
from preflight.program.facts import ClassFacts

if TYPE_CHECKING:
    from preflight.checks.context import Context
    from preflight.program import Module, Program


def unused_files(context: Context, added: list[str]) -> Iterator[Fault]:
    """A fault for each of these new files that no code names."""
    program = context.load_program()
    for path in added:
        module = program.module_at(path)
        if module is None or module.hole is not None or _is_script(program, module):
            continue
        if is_unnamed(context, path):
            yield _fault(program, module, path)


def _is_script(program: Program, module: Module) -> bool:
    data = program.loader.data(module.spec)
    return isinstance(data, bytes) and b"__main__" in data


def _fault(program: Program, module: Module, path: str) -> Fault:
    moved = _moved(program, module)
    if moved is not None:
        name, place = moved
        message = f"nothing of this tree imports this new file; the release has its {name} in {place}"
        help = f"make the change there: {place}"
    else:
        message = "nothing of this tree imports this new file"
        help = "import it where it is needed, or register what it defines"
    return Fault(
        UNUSED,
        Span(path),
        message,
        why="the release has no file of this name, so the tree that is launched runs without it",
        help=help,
    )


def _moved(program: Program, module: Module) -> tuple[str, str] | None:
    """A class of the file that the release defines in another one."""
    for facts in class_facts(module.facts.body):
        assert isinstance(facts, ClassFacts)
        others = [place for place in places_of(program, facts.name) if place.module != module.name]
        if len(others) == 1 and others[0].path is not None and program.finder.is_own(others[0].module):
            return facts.name, others[0].path
    return None
