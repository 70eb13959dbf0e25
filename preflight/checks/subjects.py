"""The patched Python files of a run as modules, and what the release says of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING

from preflight.checks.body.study import studies_of
from preflight.checks.changes import Change, change_of, names_of
from preflight.checks.released import released_tree
from preflight.model import FileState, Severity
from preflight.program.facts import Hole

if TYPE_CHECKING:
    from preflight.checks.body.study import AttributeProblem, ImportProblem, NameProblem, Study
    from preflight.checks.context import Context
    from preflight.model import PatchedFile
    from preflight.program import Missing, Module, Program
    from preflight.program.facts import Import, ModuleFacts


#: so many patched files are looked at without their release's
_ONE_BY_ONE = 60


class Standing(Enum):
    """How a file stands to the release that the tree was compared with."""

    PATCHED = "patched"  #: it is not as the release has it, or nothing is known to compare it with
    OUTSIDE = "outside"  #: it is a file of a patch repository and no file of the tree


@dataclass(frozen=True, slots=True)
class Ending:
    """What a launch comes to where a piece of code raises. ``fails``: it ends there. ``without``: something catches the
    exception, and the launch goes on without the code; a sentence's end that says so."""

    fails: bool
    without: str | None = None

    @property
    def severity(self) -> Severity:
        """How much it matters."""
        return Severity.ERROR if self.fails else Severity.WARNING

    def after(self, message: str) -> str:
        """The message, with what the launch goes on without."""
        return f"{message}; {self.without}" if self.without is not None else message


FAILS = Ending(True)
#: whether a launch runs the code at all is not known
OPEN = Ending(False)


@dataclass(frozen=True, slots=True)
class Subject:
    """One file to check."""

    path: str
    module: Module
    standing: Standing


class Subjects:
    """The files of one run. Iterating gives those that exist, can be read as Python and are not as released: a fault
    that the release has itself kills no launch of it, and what a patch has done to other files is found from there."""

    def __init__(self, context: Context, program: Program) -> None:
        self._context = context
        self._program = program
        self._tree = context.tree
        self._imports: dict[str, frozenset[tuple[int, str, str | None]] | None] = {}
        self._facts: dict[str, ModuleFacts | None] = {}
        self._changes: dict[str, Change | None] = {}
        self._studies: dict[str, frozenset[tuple[str, str, bool]]] = {}
        self._released: Program | None = None

    @cached_property
    def patched(self) -> frozenset[str]:
        """The paths of files that are not as released, those that are gone included."""
        return frozenset(file.path for file in self._tree.facts.patched)

    @cached_property
    def compared(self) -> bool:
        """Whether there was anything to compare the tree with."""
        return not any(question.id == "no-reference" for question in self._tree.undecided)

    def __iter__(self) -> Iterator[Subject]:
        outside = {file.path for file in self._tree.outside}
        for path in self._context.paths:
            if not path.endswith(".py"):
                continue
            given = path in outside
            if not given and not ((path in self.patched or not self.compared) and self._tree.exists(path)):
                continue
            module = self._program.module_at(path)
            if module is not None and (given or not isinstance(self._program.syntax_tree(module), Hole)):
                yield Subject(path, module, Standing.OUTSIDE if given else Standing.PATCHED)

    def of_tree(self, missing: Missing) -> bool:
        """Whether what is missing would be vLLM's own."""
        return self._program.finder.is_own(missing.module)

    def ending(self, subject: Subject, problem: ImportProblem | NameProblem | AttributeProblem) -> Ending:
        """What a launch comes to where a file raises: one of the tree ends it as soon as it is imported; of a plug-in
        that says how it is entered, it is asked where that is, and which of its functions are called then."""
        if not problem.moment.certain:
            return OPEN
        line = problem.line if problem.function else None
        if subject.standing is not Standing.OUTSIDE or not self._program.finder.is_plugin(subject.module.name):
            return FAILS if line is None else OPEN
        from preflight.checks.plugins import endings_of

        return endings_of(self._program).of(self._context.launch, subject.module.name, line)

    def caused(self, missing: Missing) -> bool:
        """Whether a missing module or name is missing because of a patched file."""
        if not self.compared:
            return True
        spec = self._program.finder.find(missing.module)
        if spec.path is not None and spec.in_tree:
            return spec.path in self.patched
        base = missing.module.replace(".", "/")
        return f"{base}.py" in self.patched or f"{base}/__init__.py" in self.patched

    @cached_property
    def settled(self) -> bool:
        """Whether the patched files certainly have all that the release has in their place, so that what worked in the
        release and was not touched works still."""
        return self.compared and all(
            self._keeps_all(file) for file in self._tree.facts.patched if file.path.endswith(".py")
        )

    def _keeps_all(self, file: PatchedFile) -> bool:
        if not self._tree.exists(file.path):
            return False
        change = self.change(file.path)
        if change is not None:
            return not change.unclear and (not change.removes or self._binds_all(file.path))
        if file.state is not FileState.ADDED and self._tree.pristine(file.path) is None:
            return False
        return not self.replaces(file.path)

    def replaces(self, path: str) -> bool:
        """Whether a new file is a package where the release has a module, which is then found no longer."""
        package, _, last = path.rpartition("/")
        return last == "__init__.py" and (self._tree.exists(f"{package}.py") or f"{package}.py" in self.patched)

    def _binds_all(self, path: str) -> bool:
        """Whether a file binds every name that the release's file binds."""
        released, module = self.released_facts(path), self._program.module_at(path)
        if released is None or module is None or module.hole is not None:
            return False
        return names_of(released.body) <= names_of(module.facts.body)

    def change(self, path: str) -> Change | None:
        """What the patch has done to a file; None where the release's file is not known."""
        if path not in self._changes:
            released = self._tree.pristine(path)
            data = self._program.loader.data(self._program.finder.find(self._program.finder.name_of(path) or ""))
            if released is None or not isinstance(data, bytes):
                self._changes[path] = None
            else:
                self._changes[path] = change_of(data, released)
        return self._changes[path]

    def study(self, subject: Subject) -> Study:
        """What of a file cannot be had. Where nothing was taken away, what the patch did not touch is not looked up."""
        kept = self.change(subject.path) if self.settled and subject.standing is Standing.PATCHED else None
        return studies_of(self._program).of(subject.module, kept)

    def is_new(self, subject: Subject, item: Import) -> bool:
        """Whether the release's file does not have this import; True where the release's file is not known."""
        return self.is_new_in(subject.path, item)

    def is_new_in(self, path: str, item: Import) -> bool:
        """The same of a file by its path."""
        change = self.change(path) if path in self.patched else None
        if change is not None and change.keeps(item.statement_line, item.line):
            return False
        if path not in self._imports:
            facts = self.released_facts(path)
            self._imports[path] = (
                None if facts is None else frozenset((one.level, one.module, one.name) for one in facts.imports)
            )
        known = self._imports[path]
        return known is None or (item.level, item.module, item.name) not in known

    def released_facts(self, path: str) -> ModuleFacts | None:
        """What the release's file says, where it is known and can be read as Python."""
        if path not in self._facts:
            data = self._tree.pristine(path)
            facts = self._program.loader.facts_of(data) if data is not None else None
            self._facts[path] = facts if facts is not None and facts.hole is None else None
        return self._facts[path]

    @cached_property
    def comparable(self) -> tuple[PatchedFile, ...]:
        """The patched Python files of which it can be asked what they did to others: new ones, those whose release file
        is known, and of the rest so many as can be looked at one by one."""
        files = [file for file in self._tree.facts.patched if file.path.endswith(".py")]
        known = [file for file in files if file.state is FileState.ADDED or self._tree.pristine(file.path) is not None]
        return tuple(known if len(files) - len(known) > _ONE_BY_ONE else files)

    @property
    def unknown(self) -> int:
        """How many patched Python files are not among those."""
        return sum(file.path.endswith(".py") for file in self._tree.facts.patched) - len(self.comparable)

    def touches(self, subject: Subject, line: int) -> bool:
        """Whether a line of a file is new; True where the release's file is not known."""
        change = self.change(subject.path) if subject.standing is Standing.PATCHED else None
        return change is None or line not in change.kept

    def is_latent(self, subject: Subject, problem: NameProblem) -> bool:
        """Whether the release's own file reads the very name in the very function without a value for it."""
        data = self._tree.pristine(subject.path) if subject.standing is Standing.PATCHED else None
        if data is None:
            return False
        if subject.path not in self._studies:
            program = self.released_program() or self._program.beside(self._tree.with_overlay({subject.path: data}))
            module = program.module_at(subject.path)
            found = studies_of(program).of(module).names if module is not None else ()
            self._studies[subject.path] = frozenset(_key(one) for one in found)
        return _key(problem) in self._studies[subject.path]

    def released_program(self) -> Program | None:
        """The tree as released, as a program; None where the release's files are not known."""
        if self._released is None and self.compared:
            tree = released_tree(self._tree)
            self._released = self._program.beside(tree) if tree is not None else None
        return self._released


def _key(problem: NameProblem) -> tuple[str, str, bool]:
    return (problem.node.id, problem.function, problem.local)
