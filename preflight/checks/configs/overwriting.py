"""Config values that a model's code overwrites, although other classes read them from the same config."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from preflight.checks.configs.ids import OVERWRITTEN
from preflight.checks.configs.view import function_name
from preflight.checks.inference.callees import is_module
from preflight.checks.inference.scopes import scopes_of
from preflight.checks.inference.values import ClassItself
from preflight.checks.reach import classes_of
from preflight.model import Fault, Severity, Step

if TYPE_CHECKING:
    from preflight.checks.configs.view import View
    from preflight.checks.inference.bodies import Body
    from preflight.checks.inference.values import Env
    from preflight.model import Span
    from preflight.program import Class, Module


def check_overwriting(view: View, module: Module, lines: frozenset[int]) -> Iterator[Fault]:
    """The values of a model's config that new lines of a layer or model overwrite."""
    seen: set[str] = set()
    for body, env in scopes_of(view.inference, module, lines):
        if env.cls is None or not any(is_module(base) for base in env.cls.mro):
            continue
        for target, binding in body.foreign:
            name = target.attr
            if target.lineno not in lines or name in seen or binding.kind == "del":
                continue
            classes = view.configs.of(target.value, env) or ()
            if not classes or not all(_gives(view, cls, name) for cls in classes):
                continue
            reader = _reader(view, env, body, name)
            if reader is not None:
                seen.add(name)
                yield _fault(view, module, target, env, *reader)


def _gives(view: View, cls: Class, name: str) -> bool:
    """Whether the config has the value of itself."""
    if not view.classes.of_model(cls):
        return False
    return view.classes.anywhere(name) if view.classes.is_base(cls) else name in view.classes.declared(cls)


def _reader(view: View, env: Env, body: Body, name: str) -> tuple[Class, Span] | None:
    """Another class that reads the value: one of the same file, or one of which the function makes an object."""
    made = [
        found.cls
        for place in body.calls
        if isinstance(place.node, ast.Call)
        and isinstance(found := view.inference.infer(place.node.func, env).only, ClassItself)
        and view.inference.in_tree(found.cls)
    ]
    for cls in dict.fromkeys((*made, *classes_of(view.program, env.module))):
        if cls is env.cls or view.classes.of_model(cls):
            continue
        module = view.program.module(cls.module)
        for other, scope in scopes_of(view.inference, module, None):
            if scope.cls is not cls:
                continue
            for place in other.reads:
                node = place.node
                if isinstance(node, ast.Attribute) and node.attr == name:
                    read = view.configs.of(node.value, scope) or ()
                    if any(view.classes.of_model(one) for one in read):
                        return cls, view.code.span(module, node)
    return None


def _fault(view: View, module: Module, target: ast.Attribute, env: Env, reader: Class, read: Span) -> Fault:
    span = view.code.span(module, target)
    return Fault(
        OVERWRITTEN,
        span,
        f"{function_name(env)} overwrites `{ast.unparse(target)}`, which {reader.name} reads as well",
        why="a config is one object that all parts of a model share: what one of them sets, all others get, without a "
        "word, and what the config.json says is lost",
        help="keep the value on the object itself, or overwrite it in a copy of the config",
        trail=(Step(read.path, read.line or 1, reader.name, "reads the value"),),
        excerpt=view.code.excerpt(span),
        severity=Severity.WARNING,
    )
