"""Files that are as released and die all the same: a patched file no longer has what they import from it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from preflight.checks.body.study import AttributeProblem, ImportProblem, studies_of
from preflight.checks.bound import bound_lines
from preflight.checks.imports import MODULE_MISSING, NAME_MISSING
from preflight.checks.whereabouts import hint, near_name
from preflight.model import Fault, FileState, Severity, Span, Step
from preflight.program import Missing, Module, ModuleKind, Program, Truth
from preflight.syntax.excerpt import excerpt, pristine_excerpt

if TYPE_CHECKING:
    from preflight.checks.context import Context
    from preflight.checks.subjects import Subjects
    from preflight.model import Excerpt

#: so many files that use a removed name are read in full, which tells when they fail; the others are counted
_READ = 20
#: so many of them are listed
_LISTED = 8
_STRING = re.compile(rb"[\"']([A-Za-z_][A-Za-z0-9_]*)[\"']")


@dataclass(slots=True)
class Removed:
    """A name that a patched file no longer has (None: the module itself), and who misses it."""

    path: str
    module: str
    name: str | None
    users: list[tuple[Module, ImportProblem | AttributeProblem, Severity]] = field(default_factory=list)
    more: int = 0

    @property
    def severity(self) -> Severity:
        fatal = any(severity is Severity.ERROR for _, _, severity in self.users)
        return Severity.ERROR if fatal else Severity.WARNING


def check_removed(context: Context, program: Program, subjects: Subjects) -> Iterator[Fault]:
    """One finding for each name or module that a patched file took away from files that are as released."""
    for file in subjects.comparable:
        if file.state is FileState.ADDED and not subjects.replaces(file.path):
            continue
        name = program.finder.name_of(file.path)
        if name is None or (context.tree.selected is not None and file.path not in context.paths):
            continue
        spec = program.finder.find(name)
        if spec.kind is ModuleKind.ABSENT:
            gone = [Removed(file.path, name, None)]
        elif spec.path == file.path and program.module(name).hole is None:
            gone = [Removed(file.path, name, word) for word in _names_gone(context, program, subjects, file.path, name)]
        else:
            continue
        if gone:
            _find_users(program, subjects, gone)
        for one in gone:
            if one.users:
                yield _fault(context, program, subjects, one)


def _names_gone(context: Context, program: Program, subjects: Subjects, path: str, name: str) -> list[str]:
    """The names that the release's file has, and the file no longer.

    Where the release's file is not known, any name may be gone that some other file of the tree asks of this module.
    """
    released = subjects.released_facts(path)
    if released is not None:
        candidates = set(bound_lines(released.body))
        lazy = context.tree.pristine(path)
        if lazy is not None and "__getattr__" in candidates:
            candidates.update(word.decode() for word in _STRING.findall(lazy))
    else:
        candidates = set(_asked(program, name))
    # A name that is still bound is not gone, even if what binds it fails: that is said where it stands.
    candidates.difference_update(bound_lines(program.module(name).facts.body))
    return sorted(word for word in candidates if program.resolve(name, word).exists is Truth.NO)


def _asked(program: Program, name: str) -> Iterator[str]:
    """The names that other files import from a module."""
    parent, _, last = name.rpartition(".")
    for module in program.texts.modules_with(last):
        data = program.loader.data(module.spec)
        if not isinstance(data, bytes):
            continue
        near = b"from ." in data or f"from {parent} import".encode() in data
        if not near and name.encode() not in data:
            continue
        for item in module.facts.imports:
            if item.name not in (None, "*") and module.absolute(item) == name:
                yield item.name or ""


def _find_users(program: Program, subjects: Subjects, gone: list[Removed]) -> None:
    """Fill in who misses what."""
    home = gone[0].module
    word = home.rpartition(".")[2]
    if not any(_imports(module, home) for module in program.texts.modules_with(word)):
        return  # nobody imports the module at all, so nobody can hand its names on
    wanted = {_key(one): one for one in gone}
    words = {one.name or word for one in gone}
    for module in program.tree_modules():
        if module.path in subjects.patched or not _holds(program, module, words):
            continue
        hit = _hits(program, module, wanted)
        if not hit:
            continue
        if all(len(wanted[key].users) >= _READ for key in hit):
            for key in hit:
                wanted[key].more += 1
            continue
        _note_users(program, module, wanted)


def _imports(module: Module, home: str) -> bool:
    """Whether a module imports from ``home``, the module itself, or a module inside of it."""
    for item in module.facts.imports:
        target = module.absolute(item)
        if target is not None and (f"{target}.".startswith(f"{home}.") or f"{target}.{item.name}" == home):
            return True
    return False


def _key(one: Removed) -> tuple[str, str | None]:
    return (one.module, one.name)


def _holds(program: Program, module: Module, words: set[str]) -> bool:
    data = program.loader.data(module.spec)
    return isinstance(data, bytes) and any(
        word.encode() in data and re.search(rb"\b" + word.encode() + rb"\b", data) for word in words
    )


def _hits(
    program: Program, module: Module, wanted: dict[tuple[str, str | None], Removed]
) -> set[tuple[str, str | None]]:
    """Which of the wanted things the module asks for, by its imports, or may read as an attribute."""
    found: set[tuple[str, str | None]] = set()
    home = next(iter(wanted))[0]
    names = {name for _, name in wanted}
    for item in module.facts.imports:
        target = module.absolute(item)
        if target is None:
            continue
        whole = f"{target}.{item.name}" if item.name is not None else target
        if None in names:
            if target == home or target.startswith(home + ".") or whole == home:
                found.add((home, None))
        elif item.name in names:
            missing = program.resolver.imported(module, item).missing
            if missing is not None and missing.module == home:
                found.add((home, missing.name))
        elif whole == home or home.startswith(whole + "."):
            found.update((home, name) for name in names if name is not None and _reads(program, module, name))
    return found & wanted.keys()


def _reads(program: Program, module: Module, name: str) -> bool:
    """Whether the text reads ``.name`` of something."""
    data = program.loader.data(module.spec)
    return isinstance(data, bytes) and re.search(rb"\.[ \t]*" + name.encode() + rb"\b", data) is not None


def _note_users(program: Program, module: Module, wanted: dict[tuple[str, str | None], Removed]) -> None:
    study = studies_of(program).of(module)
    for problem in (*study.imports, *study.attributes):
        one = wanted.get((problem.missing.module, problem.missing.name))
        if one is None:
            # a module inside of a package that is gone
            one = next(
                (r for (home, name), r in wanted.items() if name is None and _inside(problem.missing, home)), None
            )
        severity = _severity(problem)
        if one is not None and severity is not None:
            one.users.append((module, problem, severity))


def _inside(missing: Missing, home: str) -> bool:
    if missing.name is None:
        return missing.module == home
    return f"{missing.module}.{missing.name}" == home


def _severity(problem: ImportProblem | AttributeProblem) -> Severity | None:
    moment, caught = problem.moment, problem.caught
    if caught is Truth.YES or moment.handler:
        return None
    return Severity.ERROR if moment.certain and caught is Truth.NO and not problem.function else Severity.WARNING


def _fault(context: Context, program: Program, subjects: Subjects, one: Removed) -> Fault:
    users = sorted(one.users, key=lambda user: (user[2] is not Severity.ERROR, user[0].path or "", _line(user[1])))
    module, problem, severity = users[0]
    path, line = module.path or module.name, _line(problem)
    others = len({user[0].name for user in users} - {module.name}) + one.more
    more = "" if not others else f" and {others} more {'file' if others == 1 else 'files'}"
    what = f"{path} (line {line}){more} {_verb(problem) if not others else _verb(problem)[:-1]}"
    ends = "importing it fails" if severity is Severity.ERROR else "it fails when it comes there"
    steps = (
        Step(user.path or user.name, _line(found), found.function or "<module>", f"{_verb(found)} it")
        for user, found, _ in users
    )
    trail = tuple(dict.fromkeys(steps))[:_LISTED]
    if one.name is None:
        moved = hint(program, Missing(one.module, None, ""))
        return Fault(
            MODULE_MISSING,
            Span(path, line, *_columns(problem)),
            f"{one.path} is gone, which {what}: {ends}",
            why=f"ModuleNotFoundError: No module named {one.module!r}",
            help=moved or "Put the file back, or change what imports it",
            trail=trail,
            excerpt=excerpt(path, context.sources.get(path).lines, line, line),
            severity=one.severity,
        )
    span, current, released = _place(context, subjects, one)
    return Fault(
        NAME_MISSING,
        span,
        f"{one.module} no longer has {one.name!r}, which {what}: {ends}",
        why=f"ImportError: cannot import name {one.name!r} from {one.module!r}",
        help=_renamed(program, subjects, one),
        trail=trail,
        excerpt=current,
        pristine=released,
        severity=one.severity,
    )


def _place(context: Context, subjects: Subjects, one: Removed) -> tuple[Span, Excerpt | None, Excerpt | None]:
    """Where in the patched file the name was, with the lines that are there now and those of the release."""
    from preflight.syntax.source import decode
    from preflight.tree.compare import hunks

    data = context.tree.pristine(one.path)
    facts = subjects.released_facts(one.path)
    lines = context.sources.get(one.path).lines
    if data is None or facts is None or one.name is None:
        return Span(one.path), None, None
    released = decode(one.path, data).lines
    defined = bound_lines(facts.body).get(one.name, 0)
    for begin, end, start, stop in hunks(lines, released):
        if start < defined <= stop:
            line = min(max(begin + 1, 1), max(len(lines), 1))
            last = max(line, min(end, line + 3))
            title = f"vllm {context.tree.facts.vllm or ''} as released".replace("  ", " ")
            return (
                Span(one.path, line),
                excerpt(one.path, lines, line, last),
                pristine_excerpt(one.path, lines, released, line, last, title),
            )
    return Span(one.path), None, None


def _renamed(program: Program, subjects: Subjects, one: Removed) -> str:
    facts = subjects.released_facts(one.path)
    before = set(bound_lines(facts.body)) if facts is not None else set()
    new = [name for name in program.names_of(one.module) if name not in before]
    near = near_name(program, one.name or "", new)
    if near is not None and facts is not None:
        return f"If {near!r} is its new name, keep the old one as well: {one.name} = {near}"
    moved = hint(program, Missing(one.module, one.name, ""))
    return moved or f"Keep {one.name!r} in {one.path}, or change what imports it"


def _verb(problem: ImportProblem | AttributeProblem) -> str:
    return "reads" if isinstance(problem, AttributeProblem) else "imports"


def _line(problem: ImportProblem | AttributeProblem) -> int:
    return problem.node.lineno if isinstance(problem, AttributeProblem) else problem.item.line


def _columns(problem: ImportProblem | AttributeProblem) -> tuple[int | None, int | None, int | None]:
    if isinstance(problem, AttributeProblem):
        return problem.node.col_offset + 1, problem.node.end_lineno, (problem.node.end_col_offset or 0) + 1
    return problem.item.column, problem.item.end_line, problem.item.end_column
