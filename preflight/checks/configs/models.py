"""Which config a model of the registry is made with, as far as this tree and its transformers say it.

transformers keeps two tables by model type: the class of its config, and the architectures of its models. A config
class of the tree itself says its model type in an attribute.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from preflight.checks.reach import classes_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from preflight.checks.configs.known import ConfigClasses
    from preflight.program import Class, Program
    from preflight.program.texts import Texts

_LIBRARY = "transformers"
_TABLES = "transformers.models.auto"
#: a row of a table: the model type, and the name of a class
_ROW = re.compile(rb"\(\s*\"([\w.-]+)\",\s*\"(\w+)\",?\s*\)")
#: how transformers names its classes of configs
_CONFIG = "Config"


class ModelConfigs:
    """Answers for the model classes of one program."""

    def __init__(self, program: Program, texts: Texts, classes: ConfigClasses) -> None:
        self._program = program
        self._texts = texts
        self._classes = classes
        self._known: dict[Class, tuple[Class, ...] | None] = {}
        self._rows: dict[str, set[str]] | None = None

    def of(self, cls: Class) -> tuple[Class, ...] | None:
        """The configs of the architectures that the registry leads to a class for, or where it leads to none for the
        class, to those beside it in its file. None where the config of one is known to nobody but its checkpoint."""
        if cls not in self._known:
            entries = [
                entry
                for entry in self._program.registry_reader.registry().entries.values()
                if entry.module == cls.module
            ]
            own = [entry for entry in entries if entry.name == cls.qualname]
            self._known[cls] = self._find({entry.architecture for entry in own or entries})
        return self._known[cls]

    def _find(self, architectures: set[str]) -> tuple[Class, ...] | None:
        found: dict[Class, None] = {}
        for architecture in sorted(architectures):
            made = list(self._made_with(architecture))
            if not made:
                return None
            found.update(dict.fromkeys(made))
        return tuple(found) or None

    def _made_with(self, architecture: str) -> Iterator[Class]:
        for model_type, names in sorted(self._table().items()):
            if architecture not in names:
                continue
            yield from self._of_tree(model_type)
            for name in sorted(names):
                only = self._program.resolve(_LIBRARY, name).only if name.endswith(_CONFIG) else None
                cls = self._program.class_of(only) if only is not None else None
                if cls is not None and self._classes.of_model(cls):
                    yield cls

    def _of_tree(self, model_type: str) -> Iterator[Class]:
        """The classes of the tree for this model type."""
        stated = rb"\bmodel_type\b[^=\n]*=\s*[\"']" + re.escape(model_type.encode()) + rb"[\"']"
        for module in self._texts.matching(stated, "model_type"):
            for cls in classes_of(self._program, module):
                value = cls.assigned_by("model_type")
                if value is not None and value.text.strip("\"'") == model_type and self._classes.of_model(cls):
                    yield cls

    def _table(self) -> dict[str, set[str]]:
        """The names of classes by model type."""
        if self._rows is None:
            self._rows = {}
            finder = self._program.finder
            for name in sorted(finder.submodules(_TABLES)):
                data = self._program.loader.data(finder.find(f"{_TABLES}.{name}"))
                for model_type, found in _ROW.findall(data) if isinstance(data, bytes) else ():
                    self._rows.setdefault(model_type.decode(), set()).add(found.decode())
        return self._rows
