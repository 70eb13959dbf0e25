"""Defaults of ``getattr`` that hide that a config has the value under another name, or inside of another one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from preflight.checks.configs.ids import HIDDEN
from preflight.checks.configs.setting import is_set
from preflight.checks.configs.view import function_name
from preflight.checks.inference.scopes import scopes_of
from preflight.model import Fault, Severity, Step

if TYPE_CHECKING:
    from preflight.checks.configs.view import View
    from preflight.program import Class, Module

#: what stands before a name that the release's own file asks for
_QUOTE = rb"[\"']"
#: words of annotations that name no class
_CLASSES = re.compile(r"(?<![\w.])[A-Z]\w*")


def check_defaults(view: View, module: Module, lines: frozenset[int]) -> Iterator[Fault]:
    """The ``getattr`` with a default that new lines ask of a config for a name that its class has no more."""
    seen: set[str] = set()
    for body, env in scopes_of(view.inference, module, lines):
        for place in body.calls:
            node = place.node
            name = _asked(node)
            if name is None or node.end_lineno not in lines or name in seen or name.startswith("__"):
                continue
            assert isinstance(node, ast.Call)
            if view.released_has(module.path or "", name, _QUOTE):
                continue
            classes = view.configs.of(node.args[0], env) or ()
            if not classes or not all(_is_one_models(view, cls) for cls in classes):
                continue
            if any(name in view.classes.declared(cls) for cls in classes) or is_set(
                view.texts, name, keys=False, aside=view.others(module)
            ):
                continue
            found = [_instead(view, cls, name) for cls in classes]
            if all(found):
                seen.add(name)
                yield _fault(view, module, node, function_name(env), classes[0], name, found[0] or "")


def _asked(node: ast.expr) -> str | None:
    """The name that a ``getattr`` with a default asks for."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "getattr"):
        return None
    if len(node.args) != 3 or not isinstance(node.args[1], ast.Constant):
        return None
    return node.args[1].value if isinstance(node.args[1].value, str) else None


def _is_one_models(view: View, cls: Class) -> bool:
    classes = view.classes
    return classes.of_model(cls) and not classes.is_base(cls) and classes.closed(cls)


def _instead(view: View, cls: Class, name: str) -> str | None:
    """What the class has in the place of a name: one that is spelt almost alike, or one whose values have the name."""
    for other in sorted(view.classes.declared(cls)):
        if other != name and _spelling(other) == _spelling(name):
            return f"`{other}`"
    for base in cls.mro:
        for other, assign in base.annotations().items() if not base.opaque else ():
            if assign.annotation is not None and _has_key(view, base, assign.annotation.text, name):
                return f'`{other}["{name}"]`'
    return None


def _spelling(name: str) -> tuple[str, ...]:
    """What is left of a name when its words may stand in another order, and in the plural."""
    return tuple(sorted(word.removesuffix("s") for word in name.split("_")))


def _has_key(view: View, owner: Class, annotation: str, name: str) -> bool:
    """Whether an annotation names a class of dictionaries that have the key."""
    module = view.program.module(owner.module)
    for word in _CLASSES.findall(annotation):
        only = view.program.resolve_in(module, word).only
        cls = view.program.class_of(only) if only is not None else None
        if cls is not None and not cls.opaque and name in cls.annotations() and _is_dictionary(cls):
            return True
    return False


def _is_dictionary(cls: Class) -> bool:
    return any(expression.text.rpartition(".")[2] == "TypedDict" for expression in cls.facts.bases if cls.facts)


def _fault(view: View, module: Module, node: ast.Call, function: str, cls: Class, name: str, instead: str) -> Fault:
    span = view.code.span(module, node)
    default = ast.unparse(node.args[2])
    return Fault(
        HIDDEN,
        span,
        f"{cls.name} has {instead} and no `{name}`: {function} takes the default {default} with every config.json",
        why="a config class keeps a value under its own name, whatever the config.json calls it",
        help=f"read {instead}",
        trail=(Step(cls.path or "", cls.span.line or 1, cls.name, "has no such name"),),
        excerpt=view.code.excerpt(span),
        severity=Severity.WARNING,
    )
