"""What every launch runs of the plug-ins: followed from their entry points, through what certainly runs.

vLLM imports the module of an entry point and calls what it names; a platform plug-in gives back the name of a class,
whose module is imported then. Where the tree catches what these steps raise, the launch goes on without the plug-in.
The first call counts: a flag of the module that keeps it from running twice is as the module sets it.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from preflight.program.conditions import Truth, parse_expression
from preflight.program.facts import Call, FunctionFacts, Hole, Import
from preflight.program.modules import absolute_name
from preflight.program.plugin_loading import plugin_loading
from preflight.program.syntax_nodes import TRY, dotted, has_yield
from preflight.program.version_gates import UNKNOWN, ModuleRef, VersionGates
from preflight.tree.kinds import SCRIPTS_GROUP, STARTUP_GROUP

if TYPE_CHECKING:
    from preflight.program.modules import Module
    from preflight.program.program import Program
    from preflight.tree.kinds import EntryPoint

_DEEPEST = 30
_MOST_CALLS = 2000
#: the script that a launch is: a plug-in that brings one of this name is entered through it
_SCRIPT = "vllm"


@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """One step of the way into a plug-in. ``caught``: what it raises is caught, and the launch goes on without the
    plug-in. ``before`` are the steps of the same entry point that have to succeed first. ``loaded`` are the modules
    that it certainly imports, if nothing has raised before, and ``lines`` those of functions that it certainly comes
    to, as (module, line). ``variable`` is one that would keep vLLM from this entry point. ``raised`` is the first
    ``raise`` that a call of it certainly comes to and that nothing of the plug-in catches, with its module."""

    point: EntryPoint
    caught: bool
    before: tuple[Stage, ...] = ()
    variable: str | None = None
    loaded: set[str] = field(default_factory=set)
    lines: set[tuple[str, int]] = field(default_factory=set)
    raised: list[tuple[str, ast.Raise]] = field(default_factory=list)

    def follows_one_with(self, name: str) -> bool:
        """Whether a step before this one imports the module."""
        return any(name in stage.loaded for stage in self.before)


class PluginRun:
    """The start of the plug-ins, step by step."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._gates = VersionGates(program, program.environment, first_call=True)
        self._entered: set[tuple[str, int, str]] = set()
        self._depth = 0
        self._sure = VersionGates(program, program.environment, sure=True)
        #: so many decorators, ``with``, ``finally`` and tests around may keep an exception away or from going on
        self._held = 0
        #: whether the function may have returned before, by a test that is answered as it mostly is
        self._left = False
        self._stage: Stage
        self.stages: list[Stage] = []

    @property
    def loaded(self) -> frozenset[str]:
        """The modules that every launch comes to."""
        return frozenset(name for stage in self.stages for name in stage.loaded)

    def enter(self, point: EntryPoint) -> None:
        """Follow an entry point as vLLM, the console or Python itself does."""
        if point.group == STARTUP_GROUP:
            # ``site`` prints what a line of a ``.pth`` file or ``sitecustomize`` raises, and Python starts without it
            self._begin(point, caught=True)
            self.load(point.module)
        elif point.group == SCRIPTS_GROUP:
            if point.name == _SCRIPT:
                first = self._begin(point, caught=False)
                self.load(point.module)
                self._begin(point, caught=False, before=(first,))
                self._call_point(point)
        else:
            entering = plugin_loading(self._program).groups.get(point.group)
            if entering is None or not entering.takes(point, self._program.environment):
                return
            first = self._begin(point, entering.load_caught, variable=entering.allowed)
            self.load(point.module)
            second = self._begin(point, entering.call_caught, (first,), entering.allowed)
            result = self._call_point(point)
            if entering.names_class and isinstance(result, str):
                self._begin(point, False, (first, second), entering.allowed)
                self.load(result.rpartition(".")[0])

    def _begin(
        self, point: EntryPoint, caught: bool, before: tuple[Stage, ...] = (), variable: str | None = None
    ) -> Stage:
        self._stage = Stage(point, caught, before, variable)
        self._entered.clear()
        self.stages.append(self._stage)
        return self._stage

    def _call_point(self, point: EntryPoint) -> object:
        module = self._program.module(point.module)
        if not point.attribute or not module.has_source:
            return None
        only = self._program.resolver.dotted(module, point.attribute).only
        if only is None or not isinstance(only.facts, FunctionFacts) or not self._is_plugin(only.module):
            return None
        return self._call(self._program.module(only.module), only.facts, {})

    def load(self, name: str) -> None:
        """``import name``: the packages above it first."""
        parts = name.split(".")
        for count in range(1, len(parts) + 1):
            self._load(".".join(parts[:count]))

    def _is_plugin(self, name: str) -> bool:
        return self._program.finder.is_plugin(name)

    def _load(self, name: str) -> None:
        if name in self._stage.loaded or not self._is_plugin(name) or self._depth > _DEEPEST * 4:
            return
        module = self._program.module(name)
        if not module.has_source:
            return
        self._stage.loaded.add(name)
        self._depth += 1
        self._held += 1  # that importing it fails is asked of the module
        namespace = self._program.resolver.namespace(module)
        for item, certain in namespace.imports if namespace is not None else ():
            target = module.absolute(item)
            if target is not None and (certain or self._is_raised_again(module, item)):
                self.load(target)
                if item.name not in (None, "*"):
                    self._load(f"{target}.{item.name}")
        for effect, certain in namespace.effects if namespace is not None else ():
            if certain and isinstance(effect, Call):
                node = parse_expression(effect.value.text)
                if isinstance(node, ast.Call):
                    self._statement_call(module, node, {})
        self._depth -= 1
        self._held -= 1

    def _is_raised_again(self, module: Module, item: Import) -> bool:
        """Whether an import stands in a ``try`` whose handler is only for a vLLM that is not there, and in nothing
        else: ``except ModuleNotFoundError as error: if error.name != "vllm": raise``."""
        if [guard.kind for guard in item.guards] != ["try"]:
            return False
        tree = self._program.syntax_tree(module)
        for node in tree.body if not isinstance(tree, Hole) else ():
            if isinstance(node, ast.Try) and node.lineno == item.guards[0].line:
                return all(_raises_again(handler) for handler in node.handlers)
        return False

    # -- functions ----------------------------------------------------------------------------------------------------

    def _call(self, module: Module, facts: FunctionFacts, names: dict[str, object]) -> object:
        """Run a function; the text that it returns, if it does."""
        key = (module.name, facts.line, repr(sorted((name, str(value)) for name, value in names.items())))
        if key in self._entered or len(self._entered) > _MOST_CALLS:
            return None
        self._entered.add(key)
        function = self._gates.function(module, facts)
        if function is None or self._depth > _DEEPEST or has_yield(function):
            return None
        self._depth += 1
        left, self._left = self._left, False
        self._held += bool(function.decorator_list) + left
        try:
            return self._body(module, function.body, names)[1]
        finally:
            self._depth -= 1
            self._held -= bool(function.decorator_list) + left
            self._left = left

    def _body(self, module: Module, body: Sequence[ast.stmt], names: dict[str, object]) -> tuple[bool, object]:
        """Run statements; whether the end is certainly reached, and what is returned."""
        for statement in body:
            self._comes_to(module, statement)
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                self._imports(module, statement, names)
            elif isinstance(statement, ast.Return):
                value = statement.value
                if isinstance(value, ast.Call):
                    self._statement_call(module, value, names)
                return False, value.value if isinstance(value, ast.Constant) else None
            elif isinstance(statement, ast.If):
                _forget(names, statement.test)
                answer = self._gates.holds(module, statement.test, names)
                if answer is Truth.MAYBE:
                    if _may_leave(statement):
                        return False, None
                    _forget(names, statement)
                    continue
                chosen = statement.body if answer is Truth.YES else statement.orelse
                guessed = self._sure.holds(module, statement.test, names) is not answer
                self._held += guessed
                reached, value = self._body(module, chosen, names)
                self._held -= guessed
                self._left = self._left or (guessed and _may_leave(statement))
                if not reached:
                    return False, value
            elif isinstance(statement, (ast.With, *TRY)):
                _forget(names, statement)
                if isinstance(statement, TRY) and statement.handlers:
                    if _may_leave(statement):
                        return False, None
                    continue  # what fails in it may be caught
                self._held += 1
                reached, value = self._body(module, statement.body, names)
                self._held -= 1
                if not reached:
                    return False, value
            elif isinstance(statement, ast.Raise):
                if not self._held and not self._left and not self._stage.raised:
                    self._stage.raised.append((module.name, statement))
                return False, None
            else:
                if isinstance(statement, (ast.Expr, ast.Assign)) and isinstance(statement.value, ast.Call):
                    self._statement_call(module, statement.value, names)
                if isinstance(statement, (ast.For, ast.While, ast.Match)) and _may_leave(statement):
                    return False, None
                self._binds(module, statement, names)
        return True, None

    def _binds(self, module: Module, statement: ast.stmt, names: dict[str, object]) -> None:
        """Note what a statement binds, which hides what the module has by that name."""
        known = dict(names)
        _forget(names, statement)
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
            if isinstance(target, ast.Name):
                self._sure.put(names, target.id, module, statement.value, known)

    def _comes_to(self, module: Module, statement: ast.stmt) -> None:
        """Note the lines that run whenever a statement is come to: all of a plain one, the head of a compound one."""
        last = statement.end_lineno or statement.lineno
        if isinstance(statement, (*TRY, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            last = statement.lineno
        elif isinstance(statement, (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith)):
            last = max(statement.lineno, statement.body[0].lineno - 1)
        elif isinstance(statement, ast.Match):
            last = statement.subject.end_lineno or statement.lineno
        self._stage.lines.update((module.name, line) for line in range(statement.lineno, last + 1))

    def _imports(self, module: Module, node: ast.Import | ast.ImportFrom, names: dict[str, object]) -> None:
        for alias in node.names:
            if isinstance(node, ast.Import):
                self.load(alias.name)
                whole = alias.name if alias.asname else alias.name.partition(".")[0]
                names[alias.asname or whole] = ModuleRef(whole)
                continue
            target = absolute_name(module.package, node.level, node.module or "")
            if target is None:
                continue
            self.load(target)
            self._load(f"{target}.{alias.name}")
            names[alias.asname or alias.name] = ModuleRef(f"{target}.{alias.name}")

    def _statement_call(self, module: Module, node: ast.Call, names: dict[str, object]) -> None:
        """A call that stands alone: it is entered if it is a function of the plug-in."""
        name = dotted(node.func)
        if name is None:
            return
        head, _, rest = name.partition(".")
        known = names.get(head)
        if isinstance(known, ModuleRef):
            whole = f"{known.name}.{rest}" if rest else known.name
            owner, _, last = whole.rpartition(".")
            found = self._program.resolve(owner, last) if self._is_plugin(owner) else None
        elif head in names:
            return
        else:
            found = self._program.resolver.dotted(module, name)
        only = found.only if found is not None else None
        if only is None or not isinstance(only.facts, FunctionFacts) or not self._is_plugin(only.module):
            return
        target = self._program.module(only.module)
        function = self._gates.function(target, only.facts)
        if function is not None and "." not in only.facts.qualname:
            bound = self._gates.bind(function, target, module, node, names)
            sure = self._sure.bind(function, target, module, node, names)
            guessed = any(value is UNKNOWN and bound[one] is not UNKNOWN for one, value in sure.items())
            self._held += guessed
            self._call(target, only.facts, bound)
            self._held -= guessed


def _raises_again(handler: ast.ExceptHandler) -> bool:
    first = handler.body[0]
    if isinstance(first, ast.If) and ast.unparse(first.test) == f"{handler.name}.name != 'vllm'":
        first = first.body[0]
    return isinstance(first, ast.Raise) and first.exc is None


def _forget(names: dict[str, object], node: ast.AST) -> None:
    """Take what code may bind, or take away, for not known."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load):
            names[part.id] = UNKNOWN
        elif isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.MatchAs, ast.MatchStar)):
            names.update({part.name: UNKNOWN} if part.name is not None else {})


def _may_leave(statement: ast.stmt) -> bool:
    return any(isinstance(node, (ast.Return, ast.Raise)) for node in ast.walk(statement))


def start_of_plugins(program: Program) -> PluginRun | None:
    """What every launch runs of the plug-ins; None where nothing says how a plug-in is entered, so that who loads its
    modules is not known."""
    points = [point for point in program.tree.entry_points if _is_of_vllm(point)]
    points = [point for point in points if program.finder.is_plugin(point.module)]
    if not points:
        return None
    run = PluginRun(program)
    for point in points:
        run.enter(point)
    return run


def _is_of_vllm(point: EntryPoint) -> bool:
    """Whether an entry point says how the code is entered in a launch of vLLM, be it not in every one."""
    return point.group.startswith("vllm.") or (point.group == SCRIPTS_GROUP and _SCRIPT in point.name)
