"""The built-in classes as the walk sees them: made on demand from the host's own, of which only names and bases are
read.
"""

from __future__ import annotations

import builtins
import types

from preflight.walk.values import Class


class Natives:
    """Host class -> class of the walk, one each."""

    def __init__(self) -> None:
        self._made: dict[type, Class] = {}
        self.object = self.of(object)
        self.type = self.of(type)
        self.tuple = self.of(tuple)
        self.list = self.of(list)
        self.dict = self.of(dict)
        self.set = self.of(set)
        self.frozenset = self.of(frozenset)
        self.str = self.of(str)
        self.int = self.of(int)
        self.bool = self.of(bool)
        self.float = self.of(float)
        self.function = self.of(types.FunctionType)

    def of(self, host: type) -> Class:
        """The class of the walk for a host class."""
        made = self._made.get(host)
        if made is None:
            bases = tuple(self.of(base) for base in host.__bases__)
            made = Class(host.__name__, bases, 0, module=host.__module__, native=host)
            made.mro = (made, *(self.of(base) for base in host.__mro__[1:]))
            self._made[host] = made
        return made

    def exception(self, name: str) -> Class:
        """A built-in exception by its name."""
        return self.of(getattr(builtins, name))

    def builtin(self, name: str) -> Class | None:
        """A built-in class by its name; None when the name is no class."""
        found = getattr(builtins, name, None)
        return self.of(found) if isinstance(found, type) else None
