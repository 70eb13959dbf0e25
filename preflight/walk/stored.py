"""Which attributes the methods of a class can set: what an object can have whose constructor was not walked."""

from __future__ import annotations

import ast
from collections.abc import Callable

from preflight.walk.values import Class, Host, Instance, Value

#: why such an object is loose
UNBUILT = "the constructor of this model is not walked"


class Partly(str):
    """Why something is loose that may hold more under some names only: these ``names``, and those that ``others`` says
    of any name (the strings only).
    """

    names: frozenset[str]
    others: Callable[[str], bool] | None

    def __new__(cls, reason: str, names: frozenset[str], others: Callable[[str], bool] | None = None) -> Partly:
        made = super().__new__(cls, reason)
        made.names = names
        made.others = others
        return made

    def hides(self, name: Host) -> bool:
        """Whether there may be more under ``name``."""
        return name in self.names or (self.others is not None and isinstance(name, str) and self.others(name))


class Gaps(str):
    """Why something is loose whose items are all known, but of some not whether they are there: ``items`` in order,
    each of those a ``Perhaps``.
    """

    items: tuple[Value, ...]

    def __new__(cls, reason: str, items: tuple[Value, ...]) -> Gaps:
        made = super().__new__(cls, reason)
        made.items = items
        return made


def hidden(loose: str | None, name: Host) -> str | None:
    """Why something that is ``loose`` may hold more than is known under ``name``; None where it surely does not."""
    return None if isinstance(loose, Partly) and not loose.hides(name) else loose


def both(left: str | None, right: str | None) -> str | None:
    """Why something is loose that is so for two reasons."""
    if isinstance(left, Partly) and isinstance(right, Partly):
        if left.others is None or right.others is None or left.others is right.others:
            return Partly(left, left.names | right.names, left.others or right.others)
        return str(left)
    if isinstance(left, Partly):
        return right or left
    return left or right


#: calls on ``self`` that bind an attribute whose name is an argument
_BINDERS = ("setattr", "register_buffer", "register_parameter", "add_module", "register_module")


def stored_names(cls: Class) -> frozenset[str] | None:
    """The attributes that methods along the MRO can set on an object; None where a name is computed or a class is not
    known.
    """
    found: set[str] = set()
    for base in cls.mro:
        if base.complete is not True:
            return None
        if base.node is None:
            continue
        own = base.notes.get("stored_names", False)
        if own is False:
            own = base.notes["stored_names"] = _own_names(base.node)
        if own is None:
            return None
        found |= own
    return frozenset(found)


def _own_names(node: ast.ClassDef) -> frozenset[str] | None:
    found: set[str] = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.Attribute) and isinstance(inner.ctx, ast.Store):
            found.add(inner.attr)
        elif isinstance(inner, ast.Call):
            name = (
                inner.func.attr
                if isinstance(inner.func, ast.Attribute)
                else inner.func.id
                if isinstance(inner.func, ast.Name)
                else ""
            )
            if name in _BINDERS:
                position = 1 if name == "setattr" else 0
                argument = inner.args[position] if len(inner.args) > position else None
                if not (isinstance(argument, ast.Constant) and isinstance(argument.value, str)):
                    return None
                found.add(argument.value)
    return frozenset(found)


def has_name(instance: Instance, name: str) -> bool:
    """Whether an unbuilt object may have an attribute that is not known of it."""
    names = stored_names(instance.cls)
    return names is None or name in names
