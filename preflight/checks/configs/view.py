"""One run's view of the configs, made once and shared by the checks of config reads."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from preflight.checks.bound import statements
from preflight.checks.changes import change_of
from preflight.checks.configs.expressions import Configs
from preflight.checks.configs.known import ConfigClasses
from preflight.checks.configs.models import ModelConfigs
from preflight.checks.inference.code import Code
from preflight.checks.inference.inference import Inference
from preflight.checks.inference.values import Env
from preflight.checks.reach import classes_of, function_facts
from preflight.model import FileState
from preflight.program.facts import FunctionFacts

if TYPE_CHECKING:
    from preflight.checks.context import Context
    from preflight.checks.inference.bodies import Body
    from preflight.program import Module, Program

#: an attribute of a config, by the usual names of one
_READ = re.compile(rb"(?<![\w#])(?:\w+\.)*(?:\w*_)?config\.[a-z]\w*(?!\w|\()")


class View:
    """What the checks of one run share."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.program: Program = context.load_program()
        self.texts = self.program.texts
        self.code = Code(self.program, context.sources)
        self.inference = Inference(self.program, self.code)
        self.classes = ConfigClasses(self.program, self.texts)
        models = ModelConfigs(self.program, self.texts, self.classes)
        self.configs = Configs(self.program, self.inference, self.classes, models)
        self._states = {file.path: file.state for file in context.tree.facts.patched}
        self.patched = frozenset(self._states)

    def new_lines(self, path: str) -> frozenset[int] | None:
        """The lines of a file that the release's has not; None where nobody knows which those are."""
        data = self.context.sources.get(path).data
        count = len(data.splitlines())
        released = self.context.tree.pristine(path)
        if released is not None:
            return frozenset(range(1, count + 1)) - change_of(data, released).kept
        new = self._states.get(path) in (FileState.ADDED, FileState.OVERLAY)
        return frozenset(range(1, count + 1)) if new and self.context.tree.reference is not None else None

    def reads_a_config(self, path: str, lines: frozenset[int] | None) -> bool:
        """Whether a file reads an attribute of something called a config, in some of its lines."""
        text = self.context.sources.get(path).data.splitlines()
        return any(_READ.search(line) for number, line in enumerate(text, 1) if lines is None or number in lines)

    def released_has(self, path: str, name: str, before: bytes) -> bool:
        """Whether the release's own file has a name behind what a pattern finds."""
        released = self.context.tree.pristine(path)
        return released is not None and re.search(before + name.encode() + rb"(?!\w)", released) is not None

    def others(self, module: Module) -> frozenset[str]:
        """The modules of other models: what they do to their own config is nothing to the one of this module."""
        entries = self.program.registry_reader.registry().entries.values()
        return frozenset(entry.module for entry in entries) - {module.name}

    def bodies(self, module: Module, lines: frozenset[int] | None) -> Iterator[tuple[Body, Env]]:
        """The functions of a module, all or those that have one of these lines, with their scopes: those of classes as
        methods."""
        for facts in function_facts(module.facts.body):
            body = self.code.body(module, facts) if _has(facts, lines) else None
            for inner in body.all() if body is not None else ():
                yield inner, Env(module, inner)
        for cls in classes_of(self.program, module):
            # those of the class statement: what a decorator has put over them is written elsewhere
            for facts in statements(cls.facts.body) if cls.facts is not None else ():
                if not isinstance(facts, FunctionFacts) or not _has(facts, lines):
                    continue
                method = self.inference.objects.method(cls, facts)
                for inner in method.body.all() if method is not None else ():
                    yield inner, Env(module, inner, cls, cls)


def function_name(env: Env) -> str:
    """The function of a scope, as a report names it."""
    node = env.body.node if env.body is not None else None
    own = node.name if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else "<lambda>"
    return f"{env.owner.name}.{own}" if env.owner is not None else own


def _has(facts: FunctionFacts, lines: frozenset[int] | None) -> bool:
    return lines is None or any(number in lines for number in range(facts.line, facts.end_line + 1))
