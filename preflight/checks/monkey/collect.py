"""Finds the monkey patches of code beside the tree: ``module.Name = ...``, ``Class.method = ...``, ``setattr``."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from preflight.checks.released import plugin_paths
from preflight.checks.subjects import Subjects
from preflight.model import Span
from preflight.program import Definition, Kind, Resolution, Truth
from preflight.program.modules import absolute_name
from preflight.program.syntax_nodes import dotted

if TYPE_CHECKING:
    from preflight.checks.context import Context
    from preflight.program import Module, Program

#: the names that imports in functions bind: to a module, or to a name of one
Imported = dict[str, tuple[str, str | None]]
#: an attribute of something else than the own object gets a value
SETS = re.compile(rb"^[ \t]*(?!self\.|cls\.)[A-Za-z_][\w.]*\.\w+[ \t]*=(?!=)|\bsetattr\(", re.MULTILINE)
#: the same wherever it stands, and more
_ANY = re.compile(rb"(?<!\bself)(?<!\bcls)\.\w+[ \t]*=(?!=)|\bsetattr\b")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
#: so many helpers deep a patch is followed
_DEEPEST = 3


@dataclass(frozen=True, slots=True)
class MonkeyPatch:
    """``owner.attribute`` (a module or a class of vLLM) gets another value. ``function``: the one that does it, None
    where importing ``module`` does; ``value`` is what it gets, and ``made`` the function of the file that it names,
    ``inside`` of another function or not."""

    module: Module
    owner: Definition
    attribute: str
    value: ast.expr
    function: FunctionNode | None
    imported: Imported
    node: ast.AST
    made: FunctionNode | None = None
    inside: bool = False

    @property
    def span(self) -> Span:
        """Its place."""
        line = getattr(self.node, "lineno", 1)
        return Span(self.module.path or self.module.name, line, getattr(self.node, "col_offset", 0) + 1)

    @property
    def target(self) -> str:
        """What is replaced, by its import path."""
        return f"{self.owner.target}.{self.attribute}"


def patches_beside(context: Context, program: Program) -> Sequence[MonkeyPatch]:
    """The patches that the code beside the tree makes, those left out that stand behind a test which does not hold."""
    known = program.derived(_of_files)
    key = tuple(context.paths)
    if key not in known:
        known[key] = tuple(_patches(context, program))
    return known[key]


def _of_files(_: Program) -> dict[tuple[str, ...], tuple[MonkeyPatch, ...]]:
    """What was found, by the files of a run: several checks ask for it."""
    return {}


def _patches(context: Context, program: Program) -> Iterator[MonkeyPatch]:
    data = {file.path: file.data for file in context.tree.outside}
    paths = frozenset(path for path in plugin_paths(context) if _ANY.search(data[path]))
    for subject in Subjects(context, program):
        tree = program.syntax_tree(subject.module) if subject.path in paths else None
        if isinstance(tree, ast.Module):
            yield from _Finder(program, subject.module, tree).block(tree.body, None, {})


@dataclass(frozen=True, slots=True)
class _Names:
    """What a function binds: its variables, parameters among them, and the functions and classes written in it."""

    variables: frozenset[str]
    written: dict[str, list[FunctionNode | ast.ClassDef]]


class _Finder:
    def __init__(self, program: Program, module: Module, tree: ast.Module) -> None:
        self._program = program
        self._module = module
        self._entered = 0
        self._functions: dict[str, list[FunctionNode]] = {}
        self._names: dict[FunctionNode, _Names] = {}
        #: what the helper that is being followed was given: its parameters, with the function that gave the values
        self._given: dict[str, tuple[ast.expr, FunctionNode | None]] = {}
        for node in tree.body:
            if isinstance(node, ast.FunctionDef):
                self._functions.setdefault(node.name, []).append(node)

    def block(self, body: list[ast.stmt], function: FunctionNode | None, imported: Imported) -> Iterator[MonkeyPatch]:
        for statement in body:
            if isinstance(statement, _FUNCTIONS):
                yield from self.block(statement.body, statement, dict(imported))
            elif isinstance(statement, ast.ClassDef):
                for member in statement.body:
                    if isinstance(member, _FUNCTIONS):
                        yield from self.block(member.body, member, dict(imported))
            elif isinstance(statement, (ast.Import, ast.ImportFrom)):
                if function is not None:
                    note_imports(self._module, statement, imported)
            elif isinstance(statement, ast.If):
                if is_main(statement.test):  # it does not hold where the module is imported, and is what a script runs
                    inside = dict(imported)
                    for part in statement.body:
                        if isinstance(part, (ast.Import, ast.ImportFrom)):
                            note_imports(self._module, part, inside)
                    yield from self.block(statement.body, function, inside)
                    continue
                answer = self._program.resolver.test(self._module, statement.test)
                if answer is not Truth.NO:
                    yield from self.block(statement.body, function, imported)
                if answer is not Truth.YES:
                    yield from self.block(statement.orelse, function, imported)
            elif isinstance(statement, ast.Try):
                for part in (statement.body, *[one.body for one in statement.handlers], statement.orelse):
                    yield from self.block(part, function, imported)
                yield from self.block(statement.finalbody, function, imported)
            elif isinstance(statement, (ast.With, ast.For, ast.While)):
                yield from self.block(statement.body, function, imported)
            elif isinstance(statement, ast.Assign):
                for target in statement.targets:
                    if isinstance(target, ast.Attribute):
                        yield from self._patch(target.value, target.attr, statement.value, function, imported, target)
            elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
                call = statement.value
                if isinstance(call.func, ast.Name) and call.func.id == "setattr" and len(call.args) == 3:
                    owner, name, value = call.args
                    name, _ = self._given_for(name, function)
                    if isinstance(name, ast.Constant) and isinstance(name.value, str):
                        yield from self._patch(owner, name.value, value, function, imported, call)
                else:
                    yield from self._called(call, function, imported)

    def _given_for(self, value: ast.expr, function: FunctionNode | None) -> tuple[ast.expr, FunctionNode | None]:
        """What a parameter of the helper that is followed was given, and the function that gave it."""
        return self._given.get(value.id, (value, function)) if isinstance(value, ast.Name) else (value, function)

    def _called(self, call: ast.Call, function: FunctionNode | None, imported: Imported) -> Iterator[MonkeyPatch]:
        """The patches that a helper of the module makes to a module or class of vLLM that it is given."""
        target = self._helper(call, function)
        if target is None or self._entered >= _DEEPEST:
            return
        parameters = [one.arg for one in (*target.args.posonlyargs, *target.args.args)]
        given: dict[str, ast.expr] = dict(zip(parameters, call.args, strict=False))
        given.update({one.arg: one.value for one in call.keywords if one.arg is not None})
        bound: Imported = {}
        handed: dict[str, tuple[ast.expr, FunctionNode | None]] = {}
        for name, value in given.items():
            if _is_set(target, name):
                continue
            text = dotted(value)
            if text is None or self._is_local(function, text.partition(".")[0], imported):
                handed[name] = self._given_for(value, function)
                continue
            handed[name] = (value, function)
            found = meaning(resolved(self._program, self._module, text, imported))
            if found is not None and self._program.finder.is_own(found.module):
                if found.kind is Kind.MODULE:
                    bound[name] = (found.module, None)
                elif found.kind is Kind.CLASS and "." not in found.name:
                    bound[name] = (found.module, found.name)
        if bound:
            before, self._given = self._given, handed
            self._entered += 1
            yield from self.block(target.body, target, bound)
            self._entered -= 1
            self._given = before

    def _helper(self, call: ast.Call, function: FunctionNode | None) -> ast.FunctionDef | None:
        """The function of the module, or one written in the same function, that a call runs."""
        if not isinstance(call.func, ast.Name):
            return None
        inner = self._of(function).written.get(call.func.id, []) if function is not None else []
        targets = inner or self._functions.get(call.func.id, [])
        return targets[0] if len(targets) == 1 and isinstance(targets[0], ast.FunctionDef) else None

    def _patch(
        self,
        owner: ast.expr,
        attribute: str,
        value: ast.expr,
        function: FunctionNode | None,
        imported: Imported,
        node: ast.AST,
    ) -> Iterator[MonkeyPatch]:
        text = dotted(owner)
        if text is None or self._is_local(function, text.partition(".")[0], imported):
            return
        found = meaning(resolved(self._program, self._module, text, imported))
        if found is None or found.kind not in (Kind.MODULE, Kind.CLASS):
            return
        if self._program.finder.is_own(found.module):
            value, giver = self._given_for(value, function)
            written, inside = self._written(value, giver)
            yield MonkeyPatch(self._module, found, attribute, value, function, dict(imported), node, written, inside)

    def _written(self, value: ast.expr, function: FunctionNode | None) -> tuple[FunctionNode | None, bool]:
        """The function of the file that a value names, if it is one only, and whether the name is bound by a statement
        in the function at hand, which may run more than once."""
        if not isinstance(value, ast.Name):
            return None, False
        inner = self._of(function).written.get(value.id, []) if function is not None else []
        found = inner or self._functions.get(value.id, [])
        only = found[0] if len(found) == 1 else None
        return only if isinstance(only, _FUNCTIONS) else None, bool(inner)

    def _of(self, function: FunctionNode) -> _Names:
        if function not in self._names:
            arguments = function.args
            variables = {one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
            written: dict[str, list[FunctionNode | ast.ClassDef]] = {}
            for part in ast.walk(function):
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                    variables.add(part.id)
                elif isinstance(part, (*_FUNCTIONS, ast.ClassDef)) and part is not function:
                    written.setdefault(part.name, []).append(part)
            self._names[function] = _Names(frozenset(variables), written)
        return self._names[function]

    def _is_local(self, function: FunctionNode | None, name: str, imported: Imported) -> bool:
        """Whether a name is a variable of the function, and no import of it."""
        return function is not None and name not in imported and name in self._of(function).variables


def is_main(test: ast.expr) -> bool:
    """``__name__ == "__main__"``"""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq):
        return False
    sides = (test.left, test.comparators[0])
    return {getattr(one, "id", getattr(one, "value", None)) for one in sides} == {"__name__", "__main__"}


def note_imports(module: Module, node: ast.Import | ast.ImportFrom, imported: Imported) -> None:
    """Add the names that an import statement of ``module`` binds to ``imported``."""
    for alias in node.names:
        if isinstance(node, ast.Import):
            whole = alias.name if alias.asname else alias.name.partition(".")[0]
            imported[alias.asname or whole] = (whole, None)
        elif alias.name != "*":
            owner = absolute_name(module.package, node.level, node.module or "")
            if owner is not None:
                imported[alias.asname or alias.name] = (owner, alias.name)


def imports_in(module: Module, block: ast.AST) -> Imported:
    """The names that import statements of ``module`` bind, wherever they stand in a block."""
    imported: Imported = {}
    for node in ast.walk(block):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            note_imports(module, node, imported)
    return imported


def resolved(program: Program, module: Module, text: str, imported: Imported) -> Resolution:
    """A dotted name as code of ``module`` sees it, with the imports of the function that it stands in."""
    head, _, rest = text.partition(".")
    if head not in imported:
        return program.resolve_in(module, text)
    owner, name = imported[head]
    found = (
        program.resolve(owner, name) if name is not None else Resolution((program.resolver.module_definition(owner),))
    )
    for part in rest.split(".") if rest else ():
        found = program.resolver.join([program.resolver.member(one, part) for one in found.definitions], found)
    return found


def meaning(found: Resolution) -> Definition | None:
    """What a name stands for where it is read, so that it is bound there."""
    return found.definitions[0] if len(found.definitions) == 1 and found.unknown is None else None


def _is_set(function: ast.FunctionDef, name: str) -> bool:
    """Whether a function gives its parameter another value."""
    return any(
        isinstance(part, ast.Name) and part.id == name and not isinstance(part.ctx, ast.Load)
        for part in ast.walk(function)
    )
