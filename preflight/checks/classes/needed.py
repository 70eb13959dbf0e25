"""Which classes every launch that loads a file makes objects of.

Without a launch, an error must hold for all of them. A file of models is loaded for each of its registered classes, so
a class of it is needed if each of those makes one on its way, under no condition. What is only named under a condition,
by another registered class or by another file, may be left alone by a launch.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from preflight.checks.classes.survey import Survey
    from preflight.program import Class

#: below these, what is there may not run
_CONDITIONS = (ast.If, ast.IfExp, ast.BoolOp, ast.While, ast.Match, ast.ExceptHandler)


class Needed:
    """Answers for one survey; what a file's registered classes need is found once."""

    def __init__(self, survey: Survey) -> None:
        self._survey = survey
        self._of_module: dict[str, frozenset[Class]] = {}

    def by_every_launch(self, cls: Class) -> bool:
        """Whether each registered class of the class's file makes a ``cls``; False where the file has none."""
        if cls.module not in self._of_module:
            self._of_module[cls.module] = self._needed(cls.module)
        return cls in self._of_module[cls.module]

    def _needed(self, name: str) -> frozenset[Class]:
        survey = self._survey
        classes = {cls.name: cls for cls in survey.classes_in(survey.program.module(name))}
        registered = [cls for cls in classes.values() if survey.registered(cls)]
        sets = [self._reached(cls, classes) for cls in registered]
        return frozenset.intersection(*sets) if sets else frozenset()

    def _reached(self, first: Class, classes: dict[str, Class]) -> frozenset[Class]:
        """The classes of the same file that making a ``first`` leads to, ``first`` and its bases among them."""
        found: set[Class] = set()
        waiting = [first]
        while waiting:
            cls = waiting.pop()
            if cls not in found:
                found.add(cls)
                waiting.extend(base for base in cls.mro[1:] if classes.get(base.name) is base)
                waiting.extend(classes[name] for name in self._named(cls, classes))
        return frozenset(found)

    def _named(self, cls: Class, classes: dict[str, Class]) -> Iterator[str]:
        """The classes of the file that the construction of a ``cls`` names under no condition."""
        functions = {
            facts.name: body.node
            for facts in self._functions(cls.module)
            if (body := self._survey.code.body(self._survey.program.module(cls.module), facts)) is not None
        }
        waiting: list[ast.AST] = [method.body.node for method in self._survey.inference.objects.construction(cls)]
        seen: set[int] = set()
        while waiting:
            node = waiting.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            for name in _names(node):
                if name in classes:
                    yield name
                elif name in functions:
                    waiting.append(functions[name])

    def _functions(self, module: str) -> Iterable:  # type: ignore[type-arg]
        from preflight.checks.reach import function_facts

        return function_facts(self._survey.program.module(module).facts.body)


def _names(node: ast.AST) -> Iterator[str]:
    """The names that a function loads under no condition; those of a loop's body count, since layers are made there."""
    if isinstance(node, _CONDITIONS):
        first = node.values[0] if isinstance(node, ast.BoolOp) else getattr(node, "test", None)
        if first is not None:  # the question itself is always asked
            yield from _names(first)
        return
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield node.id
    for child in ast.iter_child_nodes(node):
        if not (isinstance(node, ast.arg) or (isinstance(node, ast.FunctionDef) and child is node.returns)):
            yield from _names(child)
