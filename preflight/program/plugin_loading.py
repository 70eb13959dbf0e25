"""How the tree enters plug-ins: which groups of entry points every launch loads, and what becomes of one that fails.

All of it is read from the tree's own code: the function that loads plug-ins, what it hands their entry points to, and
the ``try`` statements around the places where one is loaded and where it is called first. Releases differ there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from preflight.program.entry_points import CURRENT_PLATFORM, LOAD_PLUGINS
from preflight.program.facts import Expression, FunctionFacts, Hole
from preflight.program.syntax_nodes import dotted

if TYPE_CHECKING:
    from preflight.program.modules import Module
    from preflight.program.program import Program
    from preflight.tree.kinds import EntryPoint

_CAUGHT = frozenset({"Exception", "BaseException"})


@dataclass(frozen=True, slots=True)
class Entering:
    """A group that every launch loads. ``load_caught``: a plug-in whose loading raises is left out, and the launch goes
    on; ``call_caught``: the same of its first call. ``names_class``: what the call gives is the path of a class, which
    is imported. ``allowed`` is the variable that lists the plug-ins to load, ``variables`` are those that the way to
    the loader asks for."""

    group: str
    load_caught: bool
    call_caught: bool
    names_class: bool
    allowed: str | None
    variables: frozenset[str]

    def takes(self, point: EntryPoint, environment: dict[str, str]) -> bool:
        """Whether a launch with these variables certainly loads an entry point of this group."""
        if self.variables & environment.keys():
            return False
        listed = environment.get(self.allowed) if self.allowed is not None else None
        return listed is None or point.name in listed.split(",")


class PluginLoading:
    """The ways in of one program's tree."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self.groups: dict[str, Entering] = {}
        for module, function, names_class in self._ways():
            found = self._entering(module, function, names_class)
            if found is not None:
                self.groups.setdefault(found.group, found)

    def _ways(self) -> Iterator[tuple[Module, ast.FunctionDef, bool]]:
        """The function that loads general plug-ins, and those beside the place where the platform is made."""
        for definition in self._program.symbols(LOAD_PLUGINS):
            if isinstance(definition.facts, FunctionFacts):
                module = self._program.module(definition.module)
                for function in self._functions(module):
                    if function.name == LOAD_PLUGINS:
                        yield module, function, False
        for module in self._program.texts.matching(rf"['\"]{CURRENT_PLATFORM}['\"]".encode(), CURRENT_PLATFORM):
            functions = list(self._functions(module))
            if any(one.name == "__getattr__" and _names(one, CURRENT_PLATFORM) for one in functions):
                yield from ((module, function, True) for function in functions)

    def _functions(self, module: Module) -> Iterator[ast.FunctionDef]:
        tree = self._program.syntax_tree(module)
        if not isinstance(tree, Hole):
            yield from (node for node in tree.body if isinstance(node, ast.FunctionDef))

    def _entering(self, module: Module, function: ast.FunctionDef, names_class: bool) -> Entering | None:
        """What a function does with the plug-ins of a group; None for one that loads none."""
        for node in ast.walk(function):
            if not isinstance(node, ast.Call):
                continue
            loader = self._loader(module, node)
            given = node.args[0] if node.args else next((one.value for one in node.keywords), None)
            group = self._text(module, given) if loader is not None and given is not None else None
            if loader is None or group is None:
                continue
            load = next((one for one in _calls(loader) if _is_load(one)), None)
            call = next((one for one in _calls(function) if _root(one.func) in _made_of(function, node)), None)
            if load is None or call is None:
                return None
            return Entering(
                group,
                _is_caught(loader.body, load),
                _is_caught(function.body, call),
                names_class,
                _allowed(loader, load),
                frozenset(_asked_before(function, node)),
            )
        return None

    def _loader(self, module: Module, node: ast.Call) -> ast.FunctionDef | None:
        """The function of the tree that a call enters, if it loads entry points."""
        name = dotted(node.func)
        only = self._program.resolve_in(module, name).only if name is not None else None
        if only is None or not isinstance(only.facts, FunctionFacts) or not self._program.finder.is_own(only.module):
            return None
        target = self._program.module(only.module)
        for function in self._functions(target):
            if function.name == only.name and any(_is_load(one) for one in _calls(function)):
                return function
        return None

    def _text(self, module: Module, node: ast.expr) -> str | None:
        value = self._program.evaluate(module, Expression(ast.unparse(node), node.lineno, node.col_offset + 1))
        return value if isinstance(value, str) else None


def plugin_loading(program: Program) -> PluginLoading:
    """The ways in of a program, read once."""
    return program.derived(PluginLoading)


def _calls(function: ast.FunctionDef) -> Iterator[ast.Call]:
    """The calls of a function, in the order of the source."""
    calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
    yield from sorted(calls, key=lambda node: (node.lineno, node.col_offset))


def _is_load(node: ast.Call) -> bool:
    """``plugin.load()``, as ``importlib.metadata`` has it."""
    return isinstance(node.func, ast.Attribute) and node.func.attr == "load" and not node.args and not node.keywords


def _root(node: ast.expr) -> str | None:
    """The variable that is called, or an item of which is; None for a method of it."""
    if isinstance(node, ast.Subscript):
        return _root(node.value)
    return node.id if isinstance(node, ast.Name) else None


def _made_of(function: ast.FunctionDef, loaded: ast.Call) -> frozenset[str]:
    """The variables of a function that hold what a call in it has given, or parts of that."""
    found: set[str] = set()
    grown = True
    while grown:
        grown = False
        for node in ast.walk(function):
            if isinstance(node, ast.Assign):
                value, targets = node.value, node.targets
            elif isinstance(node, (ast.For, ast.AsyncFor)):
                value, targets = node.iter, [node.target]
            else:
                continue
            if any(part is loaded or (isinstance(part, ast.Name) and part.id in found) for part in ast.walk(value)):
                names = {part.id for one in targets for part in ast.walk(one) if isinstance(part, ast.Name)}
                grown = grown or not names <= found
                found |= names
    return frozenset(found)


def _is_caught(body: Sequence[ast.stmt], wanted: ast.Call) -> bool:
    """Whether an exception of a call in these statements is caught and goes no further."""
    for node in (part for statement in body for part in ast.walk(statement)):
        if isinstance(node, ast.Try) and any(part is wanted for one in node.body for part in ast.walk(one)):
            for handler in node.handlers:
                if handler.type is None or _CAUGHT & {dotted(one) for one in ast.walk(handler.type)}:
                    if not any(isinstance(part, ast.Raise) for part in ast.walk(handler)):
                        return True
                    break
    return False


def _allowed(loader: ast.FunctionDef, load: ast.Call) -> str | None:
    """The variable of vLLM that a test before the load asks for: ``allowed = envs.NAME``, ``if not allowed ...``."""
    asked = {
        part.id
        for node in ast.walk(loader)
        if isinstance(node, ast.If) and any(part is load for one in node.body for part in ast.walk(one))
        for part in ast.walk(node.test)
        if isinstance(part, ast.Name)
    }
    for node in ast.walk(loader):
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Attribute):
            continue
        if any(isinstance(target, ast.Name) and target.id in asked for target in node.targets):
            return node.value.attr
    return None


def _asked_before(function: ast.FunctionDef, loaded: ast.Call) -> Iterator[str]:
    """The variables, all in capitals, that tests before a call ask for and may leave the function on."""
    for node in ast.walk(function):
        if not isinstance(node, ast.If) or node.lineno > loaded.lineno:
            continue
        if any(isinstance(part, (ast.Return, ast.Raise)) for part in ast.walk(node)):
            asked = [part.attr for part in ast.walk(node.test) if isinstance(part, ast.Attribute)]
            yield from (name for name in asked if name.isupper())


def _names(function: ast.FunctionDef, text: str) -> bool:
    return any(isinstance(node, ast.Constant) and node.value == text for node in ast.walk(function))
