"""New files under the tree that nothing imports: most often a release has moved what they were a copy of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from preflight.checks.effects.ids import UNUSED
from preflight.checks.reach import class_facts
from preflight.checks.whereabouts import places_of
from preflight.model import Fault, Span
from preflight.program.facts import ClassFacts

if TYPE_CHECKING:
    from preflight.checks.context import Context
    from preflight.program import Module, Program

#: what a package says that imports its modules without naming them
_LISTS = re.compile(rb"pkgutil|iter_modules|walk_packages|listdir|\.glob\(|import_module|iterdir|scandir")


def unused_files(context: Context, added: list[str]) -> Iterator[Fault]:
    """A fault for each of these new files that no code names."""
    program = context.load_program()
    for path in added:
        module = program.module_at(path)
        if module is None or module.spec.is_package or module.hole is not None or _is_script(program, module):
            continue
        if not _is_named(context, program, module):
            yield _fault(context, program, module, path)


def _is_script(program: Program, module: Module) -> bool:
    data = program.loader.data(module.spec)
    return module.name.endswith("__main__") or (isinstance(data, bytes) and b"__main__" in data)


def _is_named(context: Context, program: Program, module: Module) -> bool:
    """Whether any code imports the module, names it in text, or imports all there is in its package."""
    parent, _, last = module.name.rpartition(".")
    quoted = rb"['\"](?:[\w./]*[./])?" + re.escape(last.encode()) + rb"(?:\.py)?(?:[.:][\w.]*)?['\"]"
    if any(other.name != module.name for other in program.texts.matching(quoted, last)):
        return True
    for other in program.texts.modules_with(last):
        if other.name == module.name:
            continue
        if other.hole is not None:
            return True
        for item in other.facts.imports:
            target = other.absolute(item)
            if target == module.name or (target == parent and item.name in (last, "*")):
                return True
    package = program.module(parent)
    data = program.loader.data(package.spec) if package.has_source else b""
    if isinstance(data, bytes) and _LISTS.search(data):
        return True
    word = re.compile(rb"(?<!\w)" + re.escape(last.encode()) + rb"(?!\w)")
    if any(word.search(file.data) for file in context.tree.outside):
        return True
    return context.launch is not None and any(last in argument for argument in context.launch.arguments)


def _fault(context: Context, program: Program, module: Module, path: str) -> Fault:
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
