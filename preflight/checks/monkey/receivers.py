"""The calls of the tree that certainly run a method of one class, although other classes have methods of that name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from preflight.checks.classes.overrides import Caller
from preflight.checks.inference.callees import Callee, callees, is_asked, shape_of
from preflight.checks.inference.code import Code
from preflight.checks.inference.inference import Inference
from preflight.checks.inference.scopes import scopes_of
from preflight.checks.reach import classes_of

if TYPE_CHECKING:
    from preflight.checks.context import Context
    from preflight.program import Class, Member, Program

#: so many modules are read for the calls of one name
_MOST_MODULES = 60


class Receivers:
    """Asks of calls whose objects they are called on; one for all patches of a run."""

    def __init__(self, context: Context, program: Program) -> None:
        self._program = program
        self._inference = Inference(program, Code(program, context.sources))
        self._defining: dict[str, tuple[Class, ...]] = {}

    def callers(self, cls: Class, old: Member) -> Iterator[Caller]:
        """The calls that run ``old`` on an object that has what is put into ``cls`` in its place."""
        modules = self._program.texts.matching(rf"\.{old.name}\(".encode(), old.name)
        for module in modules if len(modules) <= _MOST_MODULES else ():
            lines = self._program.texts.lines_with(module, rf"\.{old.name}\(".encode())
            for body, env in scopes_of(self._inference, module, lines):
                for place in body.calls:
                    node = place.node
                    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                        continue
                    if node.func.attr != old.name or place.survives("TypeError") or is_asked(node, body):
                        continue
                    found = callees(self._inference, node, env)
                    if found.unknown is None and found.found and all(self._runs(cls, old, one) for one in found.found):
                        text = f"{ast.unparse(node.func)}(...)"
                        yield Caller(shape_of(node), module.path or module.name, node.lineno, text)

    def _runs(self, cls: Class, old: Member, callee: Callee) -> bool:
        """Whether a callee is the old method, found behind ``cls``, and objects of no other class come there."""
        if callee.facts is not old.facts or callee.cls is None or callee.owner is None or cls not in callee.cls.mro:
            return False
        order = callee.cls.mro
        if order.index(cls) > order.index(callee.owner):
            return False
        return not any(callee.cls in other.mro[1:] for other in self._classes_with(old.name))

    def _classes_with(self, name: str) -> tuple[Class, ...]:
        """The classes of the tree that have a method of this name themselves."""
        if name not in self._defining:
            modules = self._program.texts.matching(rf"\bdef {name}\(".encode(), name)
            found = (cls for module in modules for cls in classes_of(self._program, module))
            self._defining[name] = tuple(cls for cls in found if cls.own(name) is not None)
        return self._defining[name]
