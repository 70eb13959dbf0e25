"""How a script beside the tree starts vLLM, and which of its patches the processes of vLLM then have not."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from preflight.checks.monkey.collect import Imported, MonkeyPatch, imports_in, is_main, meaning, resolved
from preflight.program import Kind
from preflight.program.entry_points import ENGINE, ENGINE_INTERFACE, ENGINE_STARTERS, SEPARATE_ENGINE, START_METHOD
from preflight.program.facts import FunctionFacts
from preflight.program.syntax_nodes import FUNCTIONS, dotted
from preflight.program.texts import whole_word
from preflight.tree.kinds import SCRIPTS_GROUP

if TYPE_CHECKING:
    from preflight.checks.context import Context
    from preflight.checks.monkey.words import Words
    from preflight.program import Definition, Module, Program

SPAWN = "spawn"
_PROGRAM = "program"
#: what keeps an engine in its caller's process, or starts it in another way, wherever a script speaks of it
_OTHERWISE = re.compile(
    rb"external_launcher|\bforkserver\b|['\"]fork['\"]|set_start_method|" + SEPARATE_ENGINE.encode()
)
_RUNNER = re.compile(r"subprocess\.(run|call|check_call|check_output|Popen)|os\.(system|popen|exec\w+|spawn\w+)")
_SERVER = re.compile(r"(?:^|[\s/])vllm\s+serve\b|(?:^|\s)-m\s+vllm\.entrypoints\.\w")


@dataclass(frozen=True, slots=True)
class Way:
    """How the patches of a script are lost: the ``line`` that starts what has them not, by ``method``. ``certain``: no
    variable of the environment changes that."""

    method: str
    line: int
    note: str
    certain: bool


class Script:
    """One file beside the tree, as a program that is run."""

    def __init__(self, context: Context, program: Program, module: Module, words: Words) -> None:
        self._context = context
        self._program = program
        self._module = module
        tree = program.syntax_tree(module)
        self._tree = tree if isinstance(tree, ast.Module) else ast.Module([], [])
        self._data = next((file.data for file in context.tree.outside if file.path == module.path), b"")
        self._words = words
        points = [one for one in context.tree.entry_points if one.module == module.name]
        self._is_entered = any(one.group != SCRIPTS_GROUP for one in points)
        self._guards = [node for node in self._tree.body if isinstance(node, ast.If) and is_main(node.test)]
        self._functions = {node.name: node for node in self._tree.body if isinstance(node, FUNCTIONS)}
        self._main: set[str] = set() if self._is_entered else self._own_functions({one.attribute for one in points})
        self._way = None if self._is_entered else self._spawned() or self._run()

    def way_past(self, patch: MonkeyPatch) -> Way | None:
        """How the processes of vLLM come to be without a patch of this script; None where they may have it."""
        if self._way is None:
            return None
        if self._way.method == _PROGRAM and patch.function is None:
            return self._way
        line = patch.span.line or 0
        return self._way if any(node.lineno <= line <= (node.end_lineno or 0) for node in self._blocks()) else None

    def _own_functions(self, entered: set[str]) -> set[str]:
        """The functions that run only where the script is run itself: behind its guard, or as a command."""
        uses: dict[str, list[ast.Name]] = {name: [] for name in self._functions}
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Name) and node.id in uses:
                uses[node.id].append(node)
        others = self._speaking_of_me()
        found = {name for name in self._functions if name in entered or uses[name]}
        while True:
            own = {
                name
                for name in found
                if all(self._is_behind(node.lineno, found) for node in uses[name])
                and not any(whole_word(name).search(data) for data in others)
            }
            if own == found:
                return found
            found = own

    def _speaking_of_me(self) -> list[bytes]:
        """The other files beside the tree that name this one."""
        stem = (self._module.path or "").rpartition("/")[2].removesuffix(".py")
        return [data for data in self._words.texts_with(stem) if data is not self._data]

    def _is_behind(self, line: int, names: set[str]) -> bool:
        blocks = [*self._guards, *(self._functions[name] for name in names)]
        return any(node.lineno <= line <= (node.end_lineno or 0) for node in blocks)

    def _blocks(self) -> list[ast.stmt]:
        return [*self._guards, *(self._functions[name] for name in sorted(self._main))]

    def _calls(self) -> Iterator[tuple[ast.Call, Imported]]:
        """The calls of what runs only where the script itself is run."""
        for block in self._blocks():
            imported = imports_in(self._module, block)
            yield from ((node, imported) for node in ast.walk(block) if isinstance(node, ast.Call))

    # -- in processes that are spawned ----------------------------------------------------------------------------

    def _spawned(self) -> Way | None:
        """The call that starts an engine, where its process is certainly spawned."""
        if (
            _OTHERWISE.search(self._data)
            or sum(1 for one in self._program.symbols(ENGINE) if one.kind is Kind.CLASS) > 1
        ):
            return None
        launch = self._context.launch
        given = launch.environment if launch is not None else {}
        if given.get(SEPARATE_ENGINE) is not None or given.get(START_METHOD, SPAWN) != SPAWN:
            return None
        told = self._told()
        if told is None:
            return None
        certain = told or START_METHOD in given
        for call, imported in self._calls():
            name = dotted(call.func)
            found = meaning(resolved(self._program, self._module, name, imported)) if name is not None else None
            if found is None or not self._program.finder.is_own(found.module):
                continue
            starts = found.name.partition(".")[0] in ENGINE_STARTERS and _is_separate(found.name, call)
            if (starts and certain) or self._sets_spawn(found):
                return Way(SPAWN, call.lineno, f"starts the engine in a process of its own, by {SPAWN}", certain)
        return None

    def _told(self) -> bool | None:
        """Whether the script itself says that processes are spawned; None where it may say something else."""
        spoken = len(re.findall(START_METHOD.encode(), self._data))
        said = 0
        for block in (self._tree.body, *(getattr(one, "body", []) for one in self._blocks())):
            said += sum(1 for statement in block if _says_spawn(statement))
        return None if spoken != said else said > 0

    def _sets_spawn(self, found: Definition) -> bool:
        """Whether a function of the tree calls one that has processes spawned where the variable is not set."""
        function = self._function(found)
        if function is None:
            return False
        module = self._program.module(found.module)
        imported = imports_in(module, function)
        for node in ast.walk(function):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            called = meaning(resolved(self._program, module, node.func.id, imported))
            target = self._function(called) if called is not None else None
            if target is not None and any(_says_spawn(part) for part in ast.walk(target)):
                return True
        return False

    def _function(self, found: Definition) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        if not isinstance(found.facts, FunctionFacts) or not self._program.finder.is_own(found.module):
            return None
        tree = self._program.syntax_tree(self._program.module(found.module))
        for node in tree.body if isinstance(tree, ast.Module) else ():
            if isinstance(node, FUNCTIONS) and node.name == found.name:
                return node
        return None

    # -- in another program ---------------------------------------------------------------------------------------

    def _run(self) -> Way | None:
        """The call that starts vLLM as a program, where the script does nothing else with vLLM."""
        if self._speaking_of_me():
            return None
        if any(whole_word(name).search(self._data) for name in (*ENGINE_STARTERS, ENGINE)):
            return None  # it may have an engine in its own process as well
        for node in ast.walk(self._tree):
            runs = isinstance(node, ast.Call) and _RUNNER.fullmatch(dotted(node.func) or "")
            if runs and _SERVER.search(" ".join(_texts(node.args))):
                return Way(_PROGRAM, node.lineno, "starts vLLM as a program of its own", True)
        return None


def _is_separate(name: str, call: ast.Call) -> bool:
    """Whether the engine of a call is in a process of its own, as far as its arguments say."""
    if name != ENGINE_INTERFACE:
        return True
    return all(word.arg is not None for word in call.keywords)


def _says_spawn(node: ast.AST) -> bool:
    """``os.environ[...] = "spawn"`` or ``os.environ.setdefault(..., "spawn")``"""
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Subscript):
        owner, words = node.targets[0].value, (node.targets[0].slice, node.value)
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute):
        owner, words = node.value.func.value, tuple(node.value.args)
        if node.value.func.attr != "setdefault":
            return False
    else:
        return False
    values = [getattr(word, "value", None) for word in words]
    return (dotted(owner) or "").endswith("environ") and values == [START_METHOD, SPAWN]


def _texts(nodes: list[ast.expr]) -> Iterator[str]:
    """The words of a command, in the order of the source."""
    for node in nodes:
        if isinstance(node, (ast.List, ast.Tuple)):
            yield from _texts(node.elts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            yield from _texts(node.values)
        elif isinstance(node, ast.BinOp):
            yield from _texts([node.left, node.right])
        else:
            yield "?"
