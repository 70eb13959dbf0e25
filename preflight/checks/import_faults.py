"""How much an import that cannot be had matters, and the finding that says so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from preflight.checks.body.study import ImportProblem, Study, belongs_elsewhere
from preflight.checks.context import Context
from preflight.checks.elsewhere import is_set_elsewhere
from preflight.checks.imports import MODULE_MISSING, NAME_MISSING
from preflight.checks.subjects import OPEN, Ending, Standing, Subject, Subjects
from preflight.checks.way_out import way_out
from preflight.model import Fault, Severity, Span, Step
from preflight.program import Missing, Program, Truth
from preflight.program.facts import Import
from preflight.syntax.excerpt import excerpt


@dataclass(frozen=True, slots=True)
class Weighed:
    """A problem, and what a launch comes to that meets it."""

    problem: ImportProblem
    ending: Ending

    @property
    def severity(self) -> Severity:
        """How much it matters."""
        return self.ending.severity


def weigh(program: Program, subjects: Subjects, subject: Subject, study: Study) -> list[Weighed]:
    """The problems of a file that are worth a finding."""
    found: dict[tuple[int, int], Weighed] = {}
    for problem in study.imports:
        weighed = _weighed(program, subjects, subject, problem)
        place = (problem.item.line, problem.item.column)
        # A function that the module calls is met twice: while it is imported, and by itself.
        if weighed is not None and (place not in found or weighed.severity is Severity.ERROR):
            found[place] = weighed
    return sorted(found.values(), key=lambda one: (one.problem.item.line, one.problem.item.column))


def _weighed(program: Program, subjects: Subjects, subject: Subject, problem: ImportProblem) -> Weighed | None:
    moment, missing = problem.moment, problem.missing
    caught = problem.caught
    if caught is Truth.YES or moment.handler:
        return None
    own = subjects.of_tree(missing)
    if own and is_set_elsewhere(program, missing):
        return None
    if subject.standing is Standing.OUTSIDE and not own:
        return None
    if not subjects.caused(missing) and not subjects.is_new(subject, problem.item):
        return None  # the release has the same fault, and what it launches does not come here
    if not moment.certain or caught is not Truth.NO:
        # A condition may ask for the very package or version that has the name.
        return None if moment.conditions and not own else Weighed(problem, OPEN)
    return Weighed(problem, OPEN if problem.assumed else subjects.ending(subject, problem))


def faults(
    context: Context, program: Program, subjects: Subjects, subject: Subject, weighed: Iterable[Weighed]
) -> Iterator[Fault]:
    """One finding for each name that is missing, one for the names that a statement asks of a missing module of vLLM,
    and one for all of a package that is not installed."""
    groups: dict[tuple[object, ...], list[Weighed]] = {}
    for one in weighed:
        item, missing = one.problem.item, one.problem.missing
        if missing.name is not None:
            key: tuple[object, ...] = (item.line, item.column)
        elif subjects.of_tree(missing):
            key = (item.statement_line, missing.module)
        else:
            key = (missing.module,)
        groups.setdefault(key, []).append(one)
    for group in groups.values():
        first = min(group, key=lambda one: one.severity is not Severity.ERROR)
        wanted = [one.problem.item.name for one in group if one.problem.missing.name is None]
        yield fault(context, program, subject, first, [name for name in wanted if name not in (None, "*")])


def fault(
    context: Context, program: Program, subject: Subject, weighed: Weighed, wanted: Sequence[str | None] = ()
) -> Fault:
    """The finding for one import; ``wanted`` are the names that are asked of a module that is not there."""
    problem = weighed.problem
    item, missing = problem.item, problem.missing
    lines = context.sources.get(subject.path).lines
    if subject.module.absolute(item) is None:
        found = _too_far(program, subject)
    else:
        names = [name for name in wanted if name]
        found = way_out(context, program, missing, problem.error.__name__, names)
    return Fault(
        NAME_MISSING if missing.name is not None else MODULE_MISSING,
        Span(subject.path, item.line, item.column, item.end_line, item.end_column),
        weighed.ending.after(f"{lack(subject, problem)}{consequence(problem)}"),
        why=_why(context, program, problem),
        help=found,
        trail=_trail(program, subject, problem),
        excerpt=excerpt(subject.path, lines, item.line, item.end_line),
        severity=weighed.severity,
    )


def _too_far(program: Program, subject: Subject) -> str:
    """What to do about a relative import that climbs out of its package."""
    package = subject.module.package
    if not package or (subject.standing is Standing.OUTSIDE and not program.finder.is_plugin(subject.module.name)):
        return "This file is in no package: write the import by its whole path"
    most = package.count(".") + 1
    return f"In {package} an import has {most} {'dot' if most == 1 else 'dots'} at most: write it by its whole path"


def lack(subject: Subject, problem: ImportProblem) -> str:
    """What is not there, as the beginning of a sentence."""
    item, missing = problem.item, problem.missing
    if missing.name is None:
        return f"there is no module {missing.module}"
    target = subject.module.absolute(item)
    if target is None:
        dots = "." * item.level
        return f"the relative import of {dots}{item.module} climbs out of its package"
    if missing.module == target and missing.name == item.name:
        return f"{target} has no {missing.name!r}"
    if item.name == "*":
        return f"{target} lists {missing.name!r} in __all__ and does not define it"
    return f"{target} takes {item.name!r} from {missing.module}, which has no {missing.name!r}"


def consequence(problem: ImportProblem) -> str:
    """When it fails, as the end of a sentence."""
    if problem.function:
        return f": {problem.function} raises {problem.error.__name__} when it comes here"
    if problem.moment.certain:
        return f": importing this file raises {problem.error.__name__}"
    return f": importing this file raises {problem.error.__name__} if this line runs"


def raised(missing: Missing) -> str:
    """The exception's name."""
    return "ImportError" if missing.name is not None else "ModuleNotFoundError"


def _why(context: Context, program: Program, problem: ImportProblem) -> str:
    missing = problem.missing
    if problem.error is AttributeError:
        why = f"AttributeError: module {missing.module!r} has no attribute {missing.name!r}"
    else:
        why = missing.as_exception()
    if problem.assumed:
        top = missing.module.partition(".")[0]
        version = f" {context.tree.facts.transformers}" if top == "transformers" else ""
        why += f"; it is said of {top}{version}, which is at hand, and another version may be the one that runs"
    return why


def _trail(program: Program, subject: Subject, problem: ImportProblem) -> tuple[Step, ...]:
    """The calls that lead to the import, and the file that should have had the name."""
    steps = [
        Step(subject.path, call.lineno, "<module>", "which the module calls while it is imported")
        for call in problem.moment.calls
    ]
    steps.append(Step(subject.path, problem.item.line, problem.function or "<module>", "imports it"))
    spec = program.finder.find(problem.missing.module)
    if problem.missing.name is not None and spec.in_tree and spec.path is not None:
        steps.append(Step(spec.path, 1, "<module>", f"does not define {problem.missing.name!r}"))
    return tuple(steps)


def first_failure(program: Program, name: str) -> tuple[Import, Missing] | None:
    """The first import of a module of the tree that certainly runs and cannot be had, by the module's facts alone."""
    module = program.module(name)
    namespace = program.resolver.namespace(module) if module.has_source and module.spec.in_tree else None
    for item, certain in namespace.imports if namespace is not None else ():
        missing = program.resolver.imported(module, item).missing if certain and item.name != "*" else None
        if missing is not None:
            return item, missing
    return None


def dead_imports(context: Context, program: Program, subjects: Subjects, subject: Subject) -> Iterator[Fault]:
    """Imports that a patch has added of modules that are there and as released, and cannot be imported themselves."""
    items = subject.module.facts.imports
    # What the release's file imports as well, the release can import.
    seen = {subject.module.absolute(item) for item in items if not item.guards and not subjects.is_new(subject, item)}
    if not any(subjects.is_new(subject, item) and subject.module.absolute(item) not in seen for item in items):
        return
    namespace = program.resolver.namespace(subject.module)
    for item, certain in namespace.imports if namespace is not None else ():
        target = subject.module.absolute(item)
        if not certain or target is None or target in seen or _is_caught(item) or not subjects.is_new(subject, item):
            continue
        seen.add(target)
        path = program.module(target).path
        failure = first_failure(program, target) if path is not None and path not in subjects.patched else None
        if failure is None or path is None or subjects.caused(failure[1]):
            continue
        cause, missing = failure
        assumed = belongs_elsewhere(program, missing.module)
        yield Fault(
            MODULE_MISSING,
            Span(subject.path, item.line, item.column, item.end_line, item.end_column),
            f"{target} cannot be imported, so importing this file raises {raised(missing)}",
            why=f"{missing.as_exception()} ({path}, line {cause.line})",
            help=way_out(context, program, missing),
            trail=(
                Step(subject.path, item.line, "<module>", f"imports {target}"),
                Step(path, cause.line, "<module>", "imports what is not there"),
            ),
            excerpt=excerpt(subject.path, context.sources.get(subject.path).lines, item.line, item.end_line),
            severity=Severity.WARNING if assumed else Severity.ERROR,
        )


def _is_caught(item: Import) -> bool:
    return any(guard.kind in ("try", "except", "with") for guard in item.guards)
