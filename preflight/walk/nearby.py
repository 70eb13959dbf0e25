"""Where a class defines a name that comes near to one it lacks: a rename is half done more often than not."""

from __future__ import annotations

import ast
import difflib

from preflight.model import Step
from preflight.walk.outcomes import Exit
from preflight.walk.values import Class, Instance

_CLOSE = 0.75
#: how alike a name must be to one that was only asked for; and so many such remarks are kept
_CLOSER, _MOST = 0.85, 20


def remark(remarks: dict[tuple[str, str], Step], cls: Class, name: str) -> None:
    """A class of the tree is asked for a name that it does not define: a definition of it may be misspelt."""
    key = (cls.qualname, name)
    if key not in remarks and len(remarks) < _MOST and not name.startswith("_"):
        near = defined_near(cls, name, _CLOSER)
        if near is not None:
            remarks[key] = near


def remarks_on(exit: Exit, remarks: dict[tuple[str, str], Step], *, classes_asked: bool) -> tuple[Step, ...]:
    """The remarks that an exception may come from. ``classes_asked``: it comes out of a stage that asks classes for
    what they can do, as the registry does; behind that, objects are asked for many things.
    """
    if exit.missing is not None and isinstance(exit.missing[0], (Instance, Class)):
        owner, name = exit.missing
        near = defined_near(owner.cls if isinstance(owner, Instance) else owner, name)
        if near is not None:
            return (near,)
    else:
        given = remarks.get(("", exit.message or ""))
        if given is not None:
            return (given,)
        if classes_asked:
            return tuple(step for (owner, _name), step in remarks.items() if owner)
    body = next((step for step in reversed(exit.trail) if step.function == "<module>"), None)
    if body is None:
        return ()
    # a class is refused while it is made, such as by its decorator, which asked it for what it has not
    made = [step for step in remarks.values() if step.path == body.path and step.line > body.line]
    return tuple(sorted(made, key=lambda step: step.line)[:1])


def defined_near(cls: Class, name: str, close: float = _CLOSE) -> Step | None:
    """The place where a class of the tree, or a base of it, defines the name that comes nearest to ``name``."""
    found = nearest_of_class(cls, name, close)
    if found is None:
        return None
    near, owner, path, line = found
    return Step(path, line, "", f"{owner} has `{near}`, and no `{name}`")


def nearest_of_class(cls: Class, name: str, close: float = _CLOSE) -> tuple[str, str, str, int] | None:
    """The name that comes nearest to ``name`` of those that a class of the tree and its bases define: with the class
    that does, its file and the line."""
    places: dict[str, tuple[str, int, str]] = {}
    for base in cls.mro:
        if base.node is not None and base.path:
            names = base.notes.get("names")
            if names is None:
                names = base.notes["names"] = _names(base.node)
            for found, line in names:
                places.setdefault(found, (base.path, line, base.name))
    places.pop(name, None)
    near = difflib.get_close_matches(name, list(places), 1, close)
    if not near:
        return None
    path, line, owner = places[near[0]]
    return near[0], owner, path, line


def _names(node: ast.ClassDef) -> list[tuple[str, int]]:
    """The methods and attributes of a class body, and what its methods set on their first argument."""
    found: list[tuple[str, int]] = []
    for statement in node.body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found.append((statement.name, statement.lineno))
            first = statement.args.args[0].arg if statement.args.args else None
            found += [
                (inner.attr, inner.lineno)
                for inner in ast.walk(statement)
                if isinstance(inner, ast.Attribute)
                and isinstance(inner.ctx, ast.Store)
                and isinstance(inner.value, ast.Name)
                and inner.value.id == first
            ]
        elif isinstance(statement, (ast.Assign, ast.AnnAssign)):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            found += [(target.id, target.lineno) for target in targets if isinstance(target, ast.Name)]
    return found
