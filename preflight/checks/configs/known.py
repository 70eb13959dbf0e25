"""What config classes declare, and what any code or config of the tree and its transformers calls by a name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from preflight.checks.reach import classes_of
from preflight.program.extract import dotted
from preflight.program.facts import Assign, FunctionFacts
from preflight.program.texts import whole_word

if TYPE_CHECKING:
    from collections.abc import Iterator

    from preflight.program import Class, Module, Program
    from preflight.program.texts import Texts

#: the base of every config that is read from a ``config.json``, under both of its names (transformers)
_BASES = frozenset({"PretrainedConfig", "PreTrainedConfig"})
#: where transformers keeps that base and the configs of its models
_HOME = "transformers"
_BASE_MODULE = "transformers.configuration_utils"
_MODELS = "transformers.models"
#: the class attributes that give other names to attributes, and the classes of nested configs (transformers)
_ALIASES, _NESTED = "attribute_map", "sub_configs"


class ConfigClasses:
    """Answers for the config classes of one program."""

    def __init__(self, program: Program, texts: Texts) -> None:
        self._program = program
        self._texts = texts
        self._words: dict[str, bool] = {}
        self._library: tuple[bytes, ...] | None = None
        self._bodies: dict[Class, bytes] = {}

    @staticmethod
    def is_base(cls: Class) -> bool:
        """Whether the class is the base of all configs, which says nothing of the model."""
        return cls.name in _BASES and cls.module.partition(".")[0] == _HOME

    def base(self) -> Class | None:
        """The base of all configs; None where the sources of transformers are not at hand."""
        for name in sorted(_BASES):
            only = self._program.resolve(_BASE_MODULE, name).only
            cls = self._program.class_of(only) if only is not None else None
            if cls is not None and self.is_base(cls):
                return cls
        return None

    def of_model(self, cls: Class) -> bool:
        """Whether objects of the class are made of a ``config.json``."""
        return any(self.is_base(base) for base in cls.mro)

    def of_engine(self, cls: Class) -> bool:
        """Whether the class is one of the engine's own configs: a class of the tree with this in its name, whose
        statement annotates what it has."""
        if cls.opaque or not cls.name.endswith("Config") or self.of_model(cls) or not self._in_tree(cls):
            return False
        return bool(cls.annotations()) and cls.lookup("__getattr__") is None

    def _in_tree(self, cls: Class) -> bool:
        return self._program.module(cls.module).spec.in_tree

    @property
    def library(self) -> bool:
        """Whether the sources of transformers are at hand."""
        return self._program.module(_BASE_MODULE).has_source

    # -- one class ----------------------------------------------------------------------------------------------------

    @staticmethod
    def closed(cls: Class) -> bool:
        """Whether the source of all classes that it derives from is at hand."""
        return all(
            (not base.opaque or base.is_builtin or base.module in ("typing", "abc"))
            and all(parent.cls is not None for parent in base.bases)
            for base in cls.mro
        )

    def lacks(self, cls: Class, name: str) -> bool:
        """Whether no statement of the class or its bases has the name, in whatever part of it."""
        if not self.closed(cls) or cls.has(name):
            return False
        word = whole_word(name)
        return not any(word.search(self._body(base)) for base in cls.mro if not base.opaque)

    def lacks_everywhere(self, cls: Class, name: str) -> bool:
        """The same of the class and of all classes of the tree that derive from it."""
        if not self.lacks(cls, name):
            return False
        derived = (
            other
            for module in (self._texts.modules_with(cls.name) if self.of_engine(cls) else ())
            for other in classes_of(self._program, module)
        )
        return all(self.lacks(other, name) for other in derived if cls in other.mro)

    def _body(self, cls: Class) -> bytes:
        """The source of a class statement."""
        if cls not in self._bodies:
            data = self._program.loader.data(self._program.module(cls.module).spec)
            lines = data.splitlines() if isinstance(data, bytes) else []
            facts = cls.facts
            self._bodies[cls] = b"\n".join(lines[facts.first_line - 1 : facts.end_line]) if facts is not None else b""
        return self._bodies[cls]

    def declared(self, cls: Class) -> set[str]:
        """The names that objects of the class have: its attributes, fields, parameters and aliases."""
        found: set[str] = set(cls.instance_attributes())
        for base in cls.mro:
            if base.opaque:
                continue
            found.update(base.own_names(), base.annotations())
            for member in base.methods().values():
                if member.name == "__init__" and isinstance(member.facts, FunctionFacts):
                    found.update(parameter.name for parameter in member.facts.parameters)
            found.update(name for name, _ in self._table(base, _ALIASES))
        return found

    def nested(self, cls: Class, name: str) -> tuple[Module, str] | None:
        """The class of a nested config, as the class statement names it, with the module that it is named in."""
        for base in cls.mro:
            for key, value in self._table(base, _NESTED) if not base.opaque else ():
                if key == name:
                    return self._program.module(base.module), value
        return None

    def _table(self, cls: Class, name: str) -> Iterator[tuple[str, str]]:
        """The items of a dictionary of names that a class statement has."""
        import ast

        from preflight.program import parse_expression

        member = cls.own(name)
        if member is None or not isinstance(member.facts, Assign) or member.facts.value is None:
            return
        node = parse_expression(member.facts.value.text)
        for key, value in zip(node.keys, node.values, strict=True) if isinstance(node, ast.Dict) else ():
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield key.value, dotted(value) or ""

    # -- all of them --------------------------------------------------------------------------------------------------

    def anywhere(self, name: str) -> bool:
        """Whether a config of transformers has the name, in whatever part of its source."""
        if name not in self._words:
            word = whole_word(name)
            self._words[name] = any(word.search(data) for data in self._sources())
        return self._words[name]

    def _sources(self) -> tuple[bytes, ...]:
        """The files of transformers that define configs, as text: some hundred, which nobody has to parse for this."""
        if self._library is None:
            finder = self._program.finder
            modules = [_BASE_MODULE]
            for package in sorted(finder.submodules(_MODELS)):
                modules += [
                    f"{_MODELS}.{package}.{name}"
                    for name in sorted(finder.submodules(f"{_MODELS}.{package}"))
                    if name.startswith("configuration_")
                ]
            found = [self._program.loader.data(finder.find(name)) for name in modules]
            self._library = tuple(data for data in found if isinstance(data, bytes))
        return self._library

    def near(self, name: str) -> list[str]:
        """Names of transformers' configs that come near."""
        words = {word for data in self._sources() for word in re.findall(rb"self\.(\w+) =|^    (\w+):", data)}
        return self._program.near(name, [part.decode() for pair in words for part in pair if part], 1)
