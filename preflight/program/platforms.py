"""The platform that the tree runs on, as an object of the tree's own platform class.

Which accelerator it is stands in the compiled modules that the release's RECORD lists, and in the version suffix.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from preflight.program.classes import Class
from preflight.program.conditions import Truth
from preflight.program.definitions import Value
from preflight.program.evaluate.values import Frame, Instance, Raised, Unknown
from preflight.program.facts import Assign, ClassFacts
from preflight.program.known import words

if TYPE_CHECKING:
    from preflight.program.modules import Module
    from preflight.program.program import Program
    from preflight.tree import Tree

#: what a compiled module of a wheel is named after, and the platform that such a wheel is for
_COMPILED = (("_rocm_C", "rocm"), ("_xpu_C", "xpu"))
_SUFFIXES = words("cpu rocm xpu tpu")


def accelerator_of(tree: Tree) -> str:
    """The platform that a tree was built for: "cuda" unless its files or its version say otherwise."""
    version = tree.facts.vllm or ""
    local = version.partition("+")[2]
    for name in sorted(_SUFFIXES):
        if local.startswith(name):
            return name
    compiled = tree.compiled_modules()
    for module, name in _COMPILED:
        if any(path.rpartition("/")[2].startswith(f"{module}.") for path in compiled):
            return name
    return "cuda"


class Platforms:
    """Finds the platform object of one program."""

    def __init__(self, program: Program, accelerator: str) -> None:
        self._program = program
        self.accelerator = accelerator
        self._instances: dict[str, Value] = {}

    def current(self, package: Module) -> Value:
        """The object that stands for the platform, found among the modules of ``package``."""
        if package.name not in self._instances:
            self._instances[package.name] = Unknown("the platform is being found")
            self._instances[package.name] = self._find(package)
        return self._instances[package.name]

    def _find(self, package: Module) -> Value:
        names = sorted(self._program.finder.submodules(package.name), key=lambda name: (name != self.accelerator, name))
        wanted = f".{self.accelerator.upper()}"
        for name in names:
            module = self._program.module(f"{package.name}.{name}")
            for item in module.facts.body if module.has_source else ():
                if isinstance(item, ClassFacts) and _assigns(item, wanted):
                    found = self._program.find_class(module.name, item.name)
                    if isinstance(found, Class):
                        return Instance(found)
        return Unknown(f"no class of {package.name} is for the platform {self.accelerator}")

    def holds(self, package: Module, name: str, test: ast.expr) -> Truth:
        """Whether a test holds in which ``name`` is the platform object."""
        evaluator = self._program.evaluator
        platform = self.current(package)
        if isinstance(platform, Unknown):
            return Truth.MAYBE
        try:
            value = evaluator.ask(lambda: evaluator.expressions.value(test, Frame(package, {name: platform})))
        except Raised:
            return Truth.MAYBE
        return evaluator.truth(value)


def _assigns(facts: ClassFacts, ending: str) -> bool:
    """Whether the body of a class sets an attribute to a member of an enumeration with this name."""
    return any(
        isinstance(item, Assign) and item.value is not None and item.value.text.endswith(ending) for item in facts.body
    )
