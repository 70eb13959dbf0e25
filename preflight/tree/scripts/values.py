"""What a script has besides plain Python values."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any, TypeAlias

#: whatever a script may have
Value: TypeAlias = Any


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value that only running would tell."""

    reason: str


@dataclass(slots=True)
class Scope:
    """The names of a module or of a running function."""

    names: dict[str, Value] = field(default_factory=dict)
    outer: Scope | None = None
    shared: set[str] = field(default_factory=set)  #: declared ``global``

    def get(self, name: str) -> Value:
        """The value of a name; raises KeyError."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names and name not in scope.shared:
                return scope.names[name]
            scope = scope.outer
        raise KeyError(name)

    def put(self, name: str, value: Value) -> None:
        """Bind a name where it belongs."""
        if name in self.shared:
            scope = self
            while scope.outer is not None:
                scope = scope.outer
            scope.names[name] = value
        else:
            self.names[name] = value


@dataclass(frozen=True, slots=True)
class Function:
    """A function or lambda of the script."""

    node: ast.FunctionDef | ast.Lambda
    scope: Scope
    defaults: tuple[Value, ...]
    keyword_defaults: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Named:
    """A module or one of its members, by its import path: ``os.path``, ``vllm.config``, ``re.sub``."""

    name: str


@dataclass(frozen=True, slots=True)
class Bound:
    """A method that is not called yet."""

    owner: Value
    name: str


@dataclass(frozen=True, slots=True)
class ModuleOfTree:
    """The spec or the loader's view of a module: ``origin`` is its file."""

    name: str
    origin: str
    folders: tuple[str, ...]


@dataclass(slots=True, eq=False)
class Handle:
    """An open file."""

    path: str
    mode: str
    text: Value = None  #: what is still to be read
    parts: list[Value] = field(default_factory=list)  #: what was written


@dataclass(frozen=True, slots=True)
class RecordClass:
    """A class of the script that only has fields: a dataclass or a NamedTuple. ``defaults`` are those that it gives."""

    name: str
    fields: tuple[str, ...]
    defaults: dict[str, Value]


@dataclass(slots=True, eq=False)
class Record:
    """An object with fields: of a RecordClass, or what ``parse_args`` gives."""

    fields: dict[str, Value]


@dataclass(slots=True, eq=False)
class ArgumentParser:
    """An ``argparse.ArgumentParser``: what its options are where the script is run without any."""

    defaults: dict[str, Value] = field(default_factory=dict)

    def add(self, names: list[Value], keywords: dict[str, Value]) -> None:
        """``add_argument``."""
        texts = [name for name in names if isinstance(name, str)]
        named = next((name for name in texts if name.startswith("--")), texts[0] if texts else "")
        place = keywords.get("dest", named.lstrip("-").replace("-", "_"))
        positional = not named.startswith("-")
        action = keywords.get("action")
        if not isinstance(place, str):
            return
        if "default" in keywords:
            self.defaults[place] = keywords["default"]
        elif action in ("store_true", "store_false"):
            self.defaults[place] = action == "store_false"
        elif positional or keywords.get("required") is True or action is not None:
            self.defaults[place] = Unknown(f"the argument {named} is not known")
        else:
            self.defaults[place] = None


class Raised(Exception):
    """The script raises; ``name`` is the exception's class, ``line`` where it does."""

    def __init__(self, name: str, message: str, line: int) -> None:
        super().__init__(message)
        self.name = name
        self.message = message
        self.line = line


class Returned(Exception):
    """``return``."""

    def __init__(self, value: Value) -> None:
        super().__init__()
        self.value = value


class Left(Exception):
    """``break`` or ``continue``."""

    def __init__(self, again: bool) -> None:
        super().__init__()
        self.again = again


class Ended(Exception):
    """``sys.exit`` with a status of success."""
