"""Code that a checkpoint brings along: its modules are walked like those of the tree, and executed never.

transformers copies them into a package ``transformers_modules`` with one subpackage a checkpoint, and imports them from
there; here that package is made of the files of the checkpoint's folder.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from preflight.walk import operands
from preflight.walk.modules import SourceModule
from preflight.walk.outcomes import Raised
from preflight.walk.values import NONE, Class, Const, ModuleValue, Value

if TYPE_CHECKING:
    from preflight.walk.machine import Machine
    from preflight.walk.modules import World
    from preflight.walk.world import Files

PACKAGE = "transformers_modules"


class WithRemote:
    """A world that also holds the modules of checkpoints."""

    def __init__(self, world: World, files: Files) -> None:
        self._world = world
        self._files = files

    def find(self, name: str) -> SourceModule | str | None:
        """The module of a checkpoint, or of the world."""
        head, _, rest = name.partition(".")
        if head != PACKAGE:
            return self._world.find(name)
        package, _, file = rest.partition(".")
        folders = self._files.folders_with_code()
        if not file:
            is_known = not package or package in map(package_of, folders)
            return SourceModule(f"{name.replace('.', '/')}/__init__.py", ast.Module([], []), True) if is_known else None
        for folder in folders:
            text = self._files.code.get(f"{folder}/{file}.py")
            if package_of(folder) == package and text is not None:
                try:
                    return SourceModule(f"{file}.py", ast.parse(text), False)
                except (SyntaxError, ValueError, RecursionError, MemoryError):
                    return f"{file}.py of the checkpoint cannot be read"
        return None

    def walked(self, name: str) -> bool:
        """The modules of a checkpoint are walked."""
        return name.partition(".")[0] == PACKAGE or self._world.walked(name)

    def installed(self, head: str) -> bool | None:
        """As the world says."""
        return True if head == PACKAGE else self._world.installed(head)

    def home(self, module: str, name: str) -> tuple[str, str] | None:
        """As the world says."""
        return self._world.home(module, name)

    def lacks(self, module: str, name: str) -> bool:
        """As the world says."""
        return self._world.lacks(module, name)

    def stores(self, name: str) -> frozenset[str] | None:
        """As the world says."""
        return self._world.stores(name)


def package_of(folder: str) -> str:
    """The name of a checkpoint's package."""
    return "".join(character if character.isalnum() else "_" for character in folder)


def load_class(machine: Machine, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    """``get_class_from_dynamic_module("module.Class", folder)``: the class out of the checkpoint's own code.

    What is not here, or is not walked to a class, is not known.
    """
    given = dict(zip(("class_reference", "pretrained_model_name_or_path"), arguments, strict=False)) | keywords
    reference = operands.payload(given.get("class_reference", NONE))
    folder = operands.payload(given.get("pretrained_model_name_or_path", NONE))
    if isinstance(reference, Const) and isinstance(folder, Const):
        file, _, name = str(reference.value).rpartition(".")
        if f"{folder.value}/{file}.py" in machine.library.files.code:
            module = machine.modules.module(machine, f"{PACKAGE}.{package_of(str(folder.value))}.{file}")
            try:
                found = machine.find(module, name) if isinstance(module, ModuleValue) else None
            except Raised:  # its top level wants what only an environment with its packages has
                found = None
            if isinstance(found, Class):
                return found
        machine.may_raise("the code of a checkpoint")
        return machine.unknown(f"the class {reference.value} of the checkpoint's own code")
    machine.may_raise("the code of a checkpoint")
    return machine.unknown("a class of the checkpoint's own code")
