"""Code that a checkpoint brings along: its modules are walked like those of the tree, and executed never.

transformers copies them into a package ``transformers_modules`` with one subpackage a checkpoint, and imports them from
there; here that package is made of the files of the checkpoint's folder.
"""

from __future__ import annotations

import ast
from posixpath import normpath
from typing import TYPE_CHECKING

from preflight.walk import operands
from preflight.walk.modules import SourceModule
from preflight.walk.outcomes import Raised
from preflight.walk.stored import Partly
from preflight.walk.values import NONE, Builtin, Class, Const, Instance, Map, ModuleValue, Value

if TYPE_CHECKING:
    from preflight.walk.files import Files
    from preflight.walk.machine import Machine
    from preflight.walk.modules import World

PACKAGE = "transformers_modules"
#: modules of this name hold a config class, named behind the colon, whose code is not here
WITHOUT_CODE = "preflight_without_code:"
_TEXT = "from transformers import PretrainedConfig\nclass {}(PretrainedConfig):\n    pass\n"


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
        if rest.startswith(WITHOUT_CODE):
            return SourceModule(f"{rest}.py", ast.parse(_TEXT.format(rest[len(WITHOUT_CODE) :])), False)
        if not file:
            is_known = not package or package in map(package_of, folders)
            return SourceModule(f"{name.replace('.', '/')}/__init__.py", ast.Module([], []), True) if is_known else None
        for folder in folders:
            text = self._files.code(f"{folder}/{file}.py")
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
    return "".join(character if character.isalnum() else "_" for character in normpath(folder))


def load_class(machine: Machine, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    """``get_class_from_dynamic_module("module.Class", folder)``: the class out of the checkpoint's own code.

    What is not here, or is not walked to a class, is not known; of a config, a class that only holds what config.json
    says takes its place.
    """
    given = dict(zip(("class_reference", "pretrained_model_name_or_path"), arguments, strict=False)) | keywords
    reference = operands.payload(given.get("class_reference", NONE))
    folder = operands.payload(given.get("pretrained_model_name_or_path", NONE))
    if isinstance(reference, Const) and isinstance(folder, Const):
        file, _, name = str(reference.value).rpartition(".")
        if machine.library.files.code(f"{folder.value}/{file}.py") is not None:
            module = machine.modules.module(machine, f"{PACKAGE}.{package_of(str(folder.value))}.{file}")
            try:
                found = machine.find(module, name) if isinstance(module, ModuleValue) else None
            except Raised:  # its top level wants what only an environment with its packages has
                found = None
            if isinstance(found, Class):
                return found
        machine.may_raise("the code of a checkpoint")
        reason = f"the class {reference.value} of the checkpoint's own code"
        bare = _config_without_code(machine, name, reason) if name.endswith("Config") else None
        return bare if bare is not None else machine.unknown(reason)
    machine.may_raise("the code of a checkpoint")
    return machine.unknown("a class of the checkpoint's own code")


def _config_without_code(machine: Machine, name: str, reason: str) -> Class | None:
    """A config class whose code is not here: its objects hold the plain values of config.json, as the constructor of
    every config keeps what it is given. They have no nested config that config.json does not have; of what else they
    may have nothing is known.
    """
    if not name.isidentifier():
        return None
    module = machine.modules.module(machine, f"{PACKAGE}.{WITHOUT_CODE}{name}")
    made = machine.find(module, name) if isinstance(module, ModuleValue) else None
    if not isinstance(made, Class):
        return None

    def text_config(machine: Machine, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        config = arguments[0]
        nested = isinstance(config, Instance) and any(_is_nested(key) for key in config.content)
        return machine.unknown(f"the text config of {reason}") if nested else config

    def construct(machine: Machine, cls: Class, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        open = {
            key: machine.unknown(f"{key} as {reason} makes it") if isinstance(value, Map) and _is_nested(key) else value
            for key, value in keywords.items()
        }
        config = machine.instance(cls)
        config.content.update(open)  # a config class sets what it takes before it calls that of its base
        machine.loosen(config, Partly(reason, frozenset(), _is_own), clear=False)
        init = machine.find(config, "__init__")
        if init is not None:
            machine.call(init, arguments, open)
        return config

    made.notes["construct"] = construct
    made.notes["lacks"] = _is_asked_by_base
    made.content["get_text_config"] = Builtin("get_text_config", text_config)
    return made


def _is_nested(key: str) -> bool:
    """Whether a key of config.json holds a config of its own, of which the constructor makes an object."""
    return key.endswith("_config") and key != "quantization_config"


def _is_own(name: str) -> bool:
    """Whether a config class may set the attribute beside what config.json says. What is private is its base's own."""
    return not name.startswith("_") and not _is_nested(name)


def _is_asked_by_base(machine: Machine, name: str) -> bool:
    """Whether the code of the base class asks for an attribute: it asks whether a newer class is at hand that has it,
    and does the same for one that has not.
    """
    frame = next((frame for frame in reversed(machine.frames) if not frame.name.startswith("__getattr")), None)
    return frame is not None and frame.module.name.partition(".")[0] == "transformers"
