"""One run's view of the configs, made once and shared by the checks of config reads."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from preflight.checks.changes import change_of
from preflight.checks.configs.expressions import Configs
from preflight.checks.configs.known import ConfigClasses
from preflight.checks.configs.models import ModelConfigs
from preflight.checks.inference.code import Code
from preflight.checks.inference.inference import Inference

if TYPE_CHECKING:
    from preflight.checks.context import Context
    from preflight.checks.inference.values import Env
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
        self.patched = frozenset(file.path for file in context.tree.facts.patched)

    def new_lines(self, path: str) -> frozenset[int] | None:
        """The lines of a file that the release's has not; None where nobody knows which those are."""
        data = self.context.sources.get(path).data
        count = len(data.splitlines())
        released = self.context.tree.pristine(path)
        if released is not None:
            return frozenset(range(1, count + 1)) - change_of(data, released).kept
        return frozenset(range(1, count + 1)) if self.context.tree.is_new(path) else None

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


def function_name(env: Env) -> str:
    """The function of a scope, as a report names it."""
    node = env.body.node if env.body is not None else None
    own = node.name if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else "<lambda>"
    return f"{env.owner.name}.{own}" if env.owner is not None else own
