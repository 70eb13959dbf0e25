"""Cycles of imports that a patch closes, where a name is asked of a module that has not bound it yet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from preflight.checks.changes import frame_of, names_of
from preflight.checks.import_graph import ImportGraph
from preflight.checks.import_order import ImportRun, PartialImport
from preflight.checks.imports import CYCLE
from preflight.launch.entry import console_script
from preflight.model import Fault, Severity, Span, Step, Undecided
from preflight.program import Program
from preflight.program.facts import Branches, ClassFacts, If, Import, Item, Try, With
from preflight.syntax.excerpt import excerpt

if TYPE_CHECKING:
    from preflight.checks.context import Context
    from preflight.checks.subjects import Subjects

#: so many modules of a cycle are tried as the one that is imported first
_TRIED = 40

#: which import fails: the module, the name, and the module that it is asked of
Failure = tuple[str, str | None, str]


def check_cycles(context: Context, program: Program, subjects: Subjects) -> Iterator[Fault | Undecided]:
    """One finding for each import that fails because a module on its cycle is still running."""
    graph = ImportGraph(program)
    reported: set[Span] = set()
    for file in subjects.comparable:
        module = program.module_at(file.path) if file.path.endswith(".py") and context.tree.exists(file.path) else None
        if module is None:
            continue
        data, pristine = program.loader.data(module.spec), context.tree.pristine(file.path)
        if pristine is not None and isinstance(data, bytes) and frame_of(data) == frame_of(pristine):
            continue
        released = subjects.released_facts(file.path)
        if released is not None and _imports_alike(module.facts.body, released.body):
            continue
        if module.hole is not None:
            continue
        cycle = graph.cycle(module.name)
        if not cycle:
            continue
        for failure, severity in _judged(context, program, subjects, cycle):
            if severity is None:
                yield _open_question(program, failure)
                continue
            fault = _fault(context, program, subjects, failure, severity)
            if fault.span not in reported:
                reported.add(fault.span)
                yield fault


def _judged(
    context: Context, program: Program, subjects: Subjects, cycle: frozenset[str]
) -> Iterator[tuple[PartialImport, Severity | None]]:
    """What fails on a cycle: an error if it fails whichever module of the cycle is imported first, a warning if that
    depends on the order, None where the release may do the same and its files are not known."""
    start = console_script(context.tree)[0]
    first = _failures(program, [start])
    if first:
        before = _before(subjects, [start]) or {}
        yield from ((found, Severity.ERROR) for key, found in first.items() if key not in before)
        return
    run = ImportRun(program, True)
    run.load(start)
    orders = [[start, name] for name in sorted(cycle) if not run.is_loaded(name)]
    outcomes: list[tuple[list[str], dict[Failure, PartialImport]]] = []
    for order in orders[:_TRIED]:
        found = {key: failure for key, failure in _failures(program, order).items() if failure.module in cycle}
        outcomes.append((order, found))
    always = len(orders) <= _TRIED and all(found for _, found in outcomes)
    seen: set[Failure] = set()
    for order, found in outcomes:
        before = _before(subjects, order) if found else None
        for key, failure in found.items():
            if key in seen or (before is not None and key in before):
                continue
            seen.add(key)
            if always:
                yield failure, Severity.ERROR
            else:
                yield failure, Severity.WARNING if before is not None else None


def _open_question(program: Program, failure: PartialImport) -> Undecided:
    first = failure.chain[0][0]
    return Undecided(
        "import-order",
        f"where {first} is the first of its cycle to be imported, {failure.item.name!r} is not yet bound in "
        f"{failure.source} when it is asked for here; whether the release does the same is not known",
        program.module(failure.module).path,
        failure.item.line,
    )


def _failures(program: Program, names: Iterable[str]) -> dict[Failure, PartialImport]:
    """What certainly fails in a process that imports these modules in this order."""
    found: list[dict[Failure, PartialImport]] = []
    for eager in (False, True):
        run = ImportRun(program, eager)
        for name in names:
            run.load(name)
        found.append({_key(failure): failure for failure in run.failures})
        if not found[-1]:
            return {}
    return {key: failure for key, failure in found[0].items() if key in found[1]}


def _before(subjects: Subjects, names: Iterable[str]) -> Mapping[Failure, PartialImport] | None:
    """The same in the release, where its files are known."""
    released = subjects.released_program()
    return _failures(released, names) if released is not None else None


def _key(failure: PartialImport) -> Failure:
    return failure.module, failure.item.name, failure.source


def _imports_alike(items: Iterable[Item], released: Iterable[Item]) -> bool:
    """Whether importing a file does all that it did in the release, and at most binds more names: nothing there asks
    for those, and who asks for one now has another import than the release."""
    items = tuple(items)
    new = frozenset(names_of(items) - names_of(released))
    return _shape(items, new) == _shape(released, new)


def _shape(items: Iterable[Item], new: frozenset[str]) -> tuple[object, ...]:
    """What matters of a body for the order of imports and bindings, names that are ``new`` left out: two bodies of one
    shape behave alike."""
    found: list[object] = []
    for item in items:
        if isinstance(item, Import):
            found.append((item.level, item.module, item.name, item.bound))
        elif isinstance(item, ClassFacts):
            imports = tuple(inner[:4] for inner in item.body if isinstance(inner, Import))
            if imports or item.name not in new:
                found.append((item.name, imports))
        elif isinstance(item, If):
            found.append((item.test.text, _shape(item.body, new), _shape(item.orelse, new)))
        elif isinstance(item, Try):
            handlers = tuple((handler.caught, _shape(handler.body, new)) for handler in item.handlers)
            arms = (item.body, item.orelse, item.final)
            found.append((handlers, *(_shape(arm, new) for arm in arms)))
        elif isinstance(item, With):
            found.append(("with", _shape(item.body, new)))
        elif isinstance(item, Branches):
            found.append((item.kind, tuple(_shape(arm, new) for arm in item.arms)))
        elif hasattr(item, "name") and item.name not in new:
            found.append(item.name)
    return tuple(found)


def _fault(context: Context, program: Program, subjects: Subjects, failure: PartialImport, severity: Severity) -> Fault:
    # A module that has already run got its names from one that has not: then the whole chain is the cycle.
    start = next((index for index, (name, _) in enumerate(failure.chain) if name == failure.source), 0)
    loop = failure.chain[start:]
    module, item = _place(program, subjects, loop)
    path = program.module(module).path or module
    asking = program.module(failure.module).path
    steps = []
    for name, step in loop:
        target = program.module(name).absolute(step) or step.module
        steps.append(Step(program.module(name).path or name, step.line, "<module>", f"imports {target}"))
    entry = loop[0][0]
    if severity is Severity.ERROR:
        ends = "importing them fails"
    else:
        ends = f"importing {entry} fails where it is the first of them"
    return Fault(
        CYCLE,
        Span(path, item.line, item.column, item.end_line, item.end_column),
        f"this import closes a cycle: {asking} (line {failure.item.line}) takes {failure.item.name!r} from "
        f"{failure.source}, which has not bound it yet: {ends}",
        why=f"ImportError: cannot import name {failure.item.name!r} from partially initialized module "
        f"{failure.source!r}",
        help="Move the import into the function that needs it, or the name into a module that both can import",
        trail=tuple(steps),
        excerpt=excerpt(path, context.sources.get(path).lines, item.line, item.end_line),
        severity=severity,
    )


def _place(program: Program, subjects: Subjects, loop: tuple[tuple[str, Import], ...]) -> tuple[str, Import]:
    """The import to change: the last one of the cycle that stands in a patched file and is new there."""
    patched = [(name, item) for name, item in loop if program.module(name).path in subjects.patched]
    new = [(name, item) for name, item in patched if subjects.is_new_in(program.module(name).path or "", item)]
    return (new or patched or list(loop))[-1]
