"""Modules: a name of a module is walked when it is first asked for, together with all top-level statements that bind or
change it.

Nothing else of a module's body is run, so a walk touches a few dozen modules and not a thousand. What a module's body
does happens once and outside of every branch: it is not undone when an arm that first asked for a name is rolled back.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from preflight.walk.frames import Frame, scan
from preflight.walk.joining import join
from preflight.walk.outcomes import Exit, Raised
from preflight.walk.repeats import same_item
from preflight.walk.state import OLDEST
from preflight.walk.values import Const, External, ModuleValue, Perhaps, Value

if TYPE_CHECKING:
    from preflight.walk.machine import Machine


@dataclass(frozen=True, slots=True)
class SourceModule:
    """A module whose source is at hand: its path as reports name it, and its syntax tree."""

    path: str
    tree: ast.Module
    package: bool


class World(Protocol):
    """Where modules come from."""

    def find(self, name: str) -> SourceModule | str | None:
        """The module; a reason when it is there but cannot be walked; None when it is not there."""
        ...

    def walked(self, name: str) -> bool:
        """Whether the source of this module is to be walked, rather than answered from library knowledge."""
        ...

    def installed(self, head: str) -> bool | None:
        """Whether the package ``head`` is there; None where that is not known."""
        ...

    def lacks(self, module: str, name: str) -> bool:
        """Whether a module surely has no such name, in whatever order its statements run."""
        ...

    def home(self, module: str, name: str) -> tuple[str, str] | None:
        """The module and name that ``from module import name`` leads to, where ``module`` loads its names lazily."""
        ...

    def stores(self, name: str) -> frozenset[str] | None:
        """The attributes that the library's class or function may set on objects it is given; None where that is not
        known.
        """
        ...


@dataclass(slots=True)
class Body:
    """A module's top level, by the names it binds and changes."""

    source: SourceModule
    frame: Frame
    binding: dict[str, list[int]] = field(default_factory=dict)
    changing: dict[str, list[int]] = field(default_factory=dict)
    stars: list[int] = field(default_factory=list)
    done: set[int] = field(default_factory=set)
    #: statements that are being run now, innermost last
    running: list[int] = field(default_factory=list)
    #: names of imports of several names that were bound one by one
    imported: set[tuple[int, str]] = field(default_factory=set)
    #: names of which every statement was run
    settled: set[str] = field(default_factory=set)
    #: what the statements bound; an arm that ends in a state from before brings the globals of then back
    bound: dict[str, Value] = field(default_factory=dict)
    #: statements that raised when they were run, with what they raised
    failed: dict[int, tuple[Exit, ...]] = field(default_factory=dict)


_PLAIN = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)


def _index(body: Body) -> None:
    """Which statements bind which names, and which others mention them at the top level."""
    for index, statement in enumerate(body.source.tree.body):
        if isinstance(statement, ast.ImportFrom) and any(alias.name == "*" for alias in statement.names):
            body.stars.append(index)
            continue
        for name in scan([statement]).bound:
            body.binding.setdefault(name, []).append(index)
        if not isinstance(statement, _PLAIN) and not _is_docstring(statement):
            for name in _mentioned(statement):
                body.changing.setdefault(name, []).append(index)


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _mentioned(statement: ast.stmt) -> set[str]:
    """The names that a statement may change at once: targets of attribute and item assignments, receivers and arguments
    of calls.
    """
    found: set[str] = set()
    if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Delete)):
        targets = statement.targets if isinstance(statement, (ast.Assign, ast.Delete)) else [statement.target]
        for target in targets:
            if isinstance(target, (ast.Attribute, ast.Subscript)):
                found.update(node.id for node in ast.walk(target) if isinstance(node, ast.Name))
        return found
    todo: list[ast.AST] = [statement]
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            continue
        if isinstance(node, ast.Name):
            found.add(node.id)
        todo += ast.iter_child_nodes(node)
    return found


def _methods(node: ast.ClassDef) -> Iterator[str]:
    return (one.name for one in node.body if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)))


def _registers(statement: ast.stmt, body: Body) -> bool:
    """Whether a statement calls a function of the same module, for what it does alone."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    return (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and not call.args
        and not call.keywords
        and call.func.id in body.binding
    )


class Modules:
    """The modules of one walk."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._known: dict[str, ModuleValue | External | None] = {}
        self._bodies: dict[str, Body] = {}
        self._arrived: set[str] = set()
        #: serials of what module bodies make: older than everything a walk makes
        self._early = -(10**15)

    # --- finding ---

    def module(self, machine: Machine, name: str) -> ModuleValue | External | None:
        """The module ``name``; an ``External`` when library knowledge answers for it; None when it is not there."""
        if name in self._known:
            return self._known[name]
        if not self.world.walked(name):
            made: ModuleValue | External | None = External(name)
        else:
            source = self.world.find(name)
            if source is None:
                made = None
            elif isinstance(source, str):
                made = External(name)
            else:
                made = ModuleValue(name, OLDEST)
                made.file = source.path
                frame = Frame("module", "<module>", made, None, scan([]), OLDEST)
                frame.content = made.content
                body = Body(source, frame)
                _index(body)
                self._bodies[name] = body
                made.content["__name__"] = Const(name)
                made.content["__file__"] = Const(source.path)
        self._known[name] = made
        return made

    def gap(self, module: ModuleValue) -> str | None:
        """Why a name that is not found in ``module`` may be there all the same."""
        return module.loose

    def frame_of(self, module: Value) -> Frame | None:
        """The frame of a module's body."""
        body = self._bodies.get(module.name) if isinstance(module, ModuleValue) else None
        return body.frame if body is not None else None

    def defers_annotations(self, module: ModuleValue) -> bool:
        """Whether a module keeps annotations as text."""
        return any(
            isinstance(statement, ast.ImportFrom)
            and statement.module == "__future__"
            and any(alias.name == "annotations" for alias in statement.names)
            for statement in self._bodies[module.name].source.tree.body[:5]
        )

    # --- running ---

    @contextmanager
    def outside(self, machine: Machine, frame: Frame) -> Iterator[None]:
        """Walk a piece of a module's body: no branch undoes it, and its objects are older than any arm."""
        state = machine.state
        saved = (state.segments, state.pendings, state.tries, state.passing, state.serial, machine.arm_ends)
        waiting = (state.suspended, state.lasting)
        state.suspended, state.lasting = [*state.suspended, *state.segments], {}
        state.segments, state.pendings, state.tries, state.passing, machine.arm_ends = [], [], 0, 0, []
        if state.serial > 0:
            state.serial = self._early
        frames = machine.frames
        machine.frames = [*frames, frame]
        try:
            yield
        finally:
            self._early = serial = state.serial
            state.segments, state.pendings, state.tries, state.passing, state.serial, machine.arm_ends = saved
            if state.serial < 0:
                state.serial = serial
            machine.frames = frames
            state.outlast()
            state.suspended, state.lasting = waiting

    def _run(self, machine: Machine, module: ModuleValue, body: Body, index: int, wanted: str | None) -> None:
        """Run one top-level statement, once. An import of several names binds only the one that is wanted."""
        if index in body.done:
            if index in body.failed:
                raise Raised(body.failed[index])
            return
        statement = body.source.tree.body[index]
        partial = None
        if isinstance(statement, (ast.Import, ast.ImportFrom)) and wanted is not None and len(statement.names) > 1:
            names = [
                alias
                for alias in statement.names
                if (alias.asname or alias.name.split(".")[0]) == wanted or alias.asname == wanted
            ]
            partial = type(statement)(
                **{**{name: getattr(statement, name) for name in statement._fields}, "names": names}
            )
            ast.copy_location(partial, statement)
            body.imported.add((index, wanted))
        else:
            body.done.add(index)
        try:
            body.running.append(index)
            with self.outside(machine, body.frame):
                previous = body.frame.node
                try:
                    machine.execute([partial or statement])
                finally:
                    body.frame.node = previous
        except Raised as raised:
            if partial is None:
                body.failed[index] = raised.exits
            raise
        finally:
            body.running.pop()

    # --- names ---

    def read(self, machine: Machine, module: ModuleValue, name: str) -> Value | None:
        """The global ``name`` of ``module``; None when it is not there."""
        body = self._bodies[module.name]
        if name in body.settled and name in module.content:
            return module.content[name]
        binding = body.binding.get(name)
        if binding is not None:
            every = (*binding, *body.changing.get(name, ()))
            # while a statement runs, those behind it have not run yet; only what is bound behind it alone was reached
            # in another order than Python's
            end = body.running[-1] if body.running else len(body.source.tree.body)
            due = every if binding[0] >= end else tuple(index for index in every if index < end)
            pending = [
                index
                for index in due
                if (index not in body.done and (index, name) not in body.imported)
                or (index in body.failed and name not in module.content)
            ]
            for index in sorted(set(pending)):
                self._run(machine, module, body, index, name)
            if len(due) == len(every):
                body.settled.add(name)
        found = module.content.get(name)
        if name in body.bound and (found is None or isinstance(found, Perhaps)):
            kept = body.bound[name]
            if isinstance(found, Perhaps):
                return join(machine, found.value, kept, f"whether {name} was set again is not known")
            found = module.content[name] = kept
        if found is not None:
            return found
        for index in body.stars:
            statement = body.source.tree.body[index]
            assert isinstance(statement, ast.ImportFrom)
            source = self.module(machine, self.absolute(module, statement))
            if isinstance(source, ModuleValue):
                value = self._exported(machine, source, name)
                if value is not None:
                    module.content[name] = value
                    return value
            elif source is not None:
                return Perhaps(machine.unknown(f"names come from {source.name} by a star import"))
        return None

    def _exported(self, machine: Machine, source: ModuleValue, name: str) -> Value | None:
        listed = self.read(machine, source, "__all__")
        if listed is None and name.startswith("_"):
            return None
        if listed is not None:
            items = machine.items(listed)
            if items is not None and not any(isinstance(item, Const) and item.value == name for item in items):
                return None
        return self.attribute(machine, source, name)

    def classes_with(self, module: str, method: str) -> list[str]:
        """The classes at the top level of a module that was walked whose own body has a method of this name."""
        body = self._bodies.get(module)
        tree = body.source.tree.body if body is not None else ()
        return [node.name for node in tree if isinstance(node, ast.ClassDef) and method in _methods(node)]

    def bind(self, machine: Machine, module: ModuleValue, name: str, value: Value) -> None:
        """``name = value`` at the top level of ``module``, from wherever."""
        if machine.state.suspended and not machine.state.segments:
            self._bodies[module.name].bound[name] = value
            # a name that a module's body binds, not an assignment of an arm: it stays bound
            for segment in machine.state.suspended:
                entry = segment.saved.get(id(module))
                if entry is not None:
                    entry[1][name] = value
        else:
            before = module.content.get(name)
            if before is None or not same_item(before, value):
                machine.repeats.start_anew()
            machine.state.touch(module)
        module.content[name] = value
        self._bodies[module.name].frame.content = module.content

    def attribute(self, machine: Machine, module: ModuleValue, name: str) -> Value | None:
        """``module.name``: a global, a submodule, or what the module's ``__getattr__`` gives."""
        override = machine.library.module_attribute(machine, module, name)
        if override is not None:
            return override
        found = self.read(machine, module, name)
        if found is not None:
            return found
        body = self._bodies[module.name]
        if body.source.package:
            inner = self.module(machine, f"{module.name}.{name}")
            if inner is not None and not (
                isinstance(inner, External)
                and self.world.walked(inner.name) is False
                and self.world.find(inner.name) is None
            ):
                return inner
        if name == "__dict__":
            return Perhaps(machine.unknown("the namespace of a module"))
        if name in ("__doc__", "__spec__", "__loader__", "__package__", "__path__"):
            return machine.unknown(f"{name} of a module")
        getter = self.read(machine, module, "__getattr__")
        if getter is not None:
            return machine.call(getter, [Const(name)])
        return Perhaps(machine.unknown(module.loose)) if module.loose else None

    # --- import statements ---

    def absolute(self, module: ModuleValue, node: ast.ImportFrom) -> str:
        """The absolute name of the module that a ``from`` import names."""
        if not node.level:
            return node.module or ""
        parts = module.name.split(".")
        body = self._bodies[module.name]
        drop = node.level - 1 if body.source.package else node.level
        parts = parts[: len(parts) - drop] if drop else parts
        return ".".join([*parts, *([node.module] if node.module else [])])

    def import_module(self, machine: Machine, name: str) -> Value:
        """``import name``."""
        machine.library.missing_package(machine, name)
        found = self.module(machine, name)
        if found is None:
            return self._absent(machine, name)
        self._arrive(machine, name)
        return found

    def _arrive(self, machine: Machine, name: str) -> None:
        """Packages fill registries when they are imported: the calls of their own functions at their top level, which
        bind no name that anybody would ask for.
        """
        while name and name not in self._arrived:
            self._arrived.add(name)
            body = self._bodies.get(name)
            module = self._known.get(name)
            if body is not None and body.source.package and isinstance(module, ModuleValue):
                for index, statement in enumerate(body.source.tree.body):
                    if _registers(statement, body):
                        self._run(machine, module, body, index, None)
            name = name.rpartition(".")[0]
            if name:
                self.module(machine, name)

    def _absent(self, machine: Machine, name: str) -> Value:
        machine.fail("ModuleNotFoundError", f"No module named '{name}'")

    def import_name(self, machine: Machine, node: ast.ImportFrom, name: str) -> Value:
        """What ``from module import name`` binds."""
        target = self.absolute(machine.frame.module, node)
        source = self.import_module(machine, target)
        if isinstance(source, ModuleValue):
            found = self.attribute(machine, source, name)
            if found is None:
                machine.frame.node = node
                machine.fail("ImportError", f"cannot import name '{name}' from '{target}' ({source.file})")
            if isinstance(found, Perhaps):
                machine.may_raise(f"{name} may be missing from {target}")
                return found.value
            return found
        if isinstance(source, External):
            return machine.library.external(machine, f"{source.name}.{name}")
        return source

    def import_star(self, machine: Machine, node: ast.ImportFrom) -> None:
        """A star import inside something else than the top level of a module."""
        machine.loosen(machine.frame.module, f"names come from a star import of {node.module}", clear=False)
