"""The platform that the launch runs on, as an object of the tree's own class for it."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from preflight.launch.reading.modules import look_up
from preflight.launch.reading.values import Class, Instance, Object, Unknown

if TYPE_CHECKING:
    from preflight.launch.reading.run import Run

#: where vLLM keeps its platforms, and the name of the one in use
PACKAGE = "vllm.platforms"
CURRENT = f"{PACKAGE}.current_platform"


def current_platform(run: Run, name: str | None) -> Object:
    """An object of the class that the tree's table of platforms names for ``name`` (cuda, rocm, cpu, ...).

    Where that name is chosen when the module is loaded (CUDA with NVML or without), it is the class that both extend.
    """
    package = run.modules.get(PACKAGE)
    if name is None or package is None:
        return Unknown("the platform")
    pattern = re.compile(rf"{re.escape(PACKAGE)}\.({re.escape(name)})\.(\w+)")
    named = [
        match
        for node in ast.walk(package.tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and (match := pattern.fullmatch(node.value))
    ]
    module = run.modules.get(f"{PACKAGE}.{name}") if named else None
    if module is None:
        return Unknown(f"the platform {name}, which this tree does not have")
    definitions = [node for node in module.tree.body if isinstance(node, ast.ClassDef)]
    chosen = next((node for node in definitions if node.name == named[0][2]), None)
    if chosen is None:
        own = {node.name for node in definitions}
        chosen = next((node for node in definitions if _extends_outside(node, own)), None)
    cls = look_up(run, module, chosen.name) if chosen is not None else None
    return Instance(cls) if isinstance(cls, Class) else Unknown(f"the class of the platform {name}")


def _extends_outside(node: ast.ClassDef, own: set[str]) -> bool:
    """True for a class whose bases are all of other modules, and some of them is called a platform."""
    names = [base.id for base in node.bases if isinstance(base, ast.Name)]
    return any("Platform" in name for name in names) and not any(name in own for name in names)
