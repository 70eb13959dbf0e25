"""The config reads that a patch brought in and that no config class bears out.

What a release reads itself is none of this: its authors know what the ``config.json`` of their models has.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from preflight.checks.configs.ids import UNDECLARED
from preflight.checks.configs.setting import is_set
from preflight.checks.configs.view import View, function_name
from preflight.checks.inference.scopes import scopes_of
from preflight.checks.reach import classes_of
from preflight.model import Fault, Severity, Step
from preflight.program.texts import whole_word

if TYPE_CHECKING:
    from preflight.checks.inference.bodies import Body, Place
    from preflight.checks.inference.values import Env
    from preflight.program import Class, Module

#: what stands before an attribute of a config, or of anything else by this name
_RECEIVER = rb"(?:config\w*|\b%s)(?:\(\))?\."


@dataclass(frozen=True, slots=True)
class Read:
    """One attribute that code reads of a config. ``classes``: what the config is an object of."""

    module: Module
    place: Place
    node: ast.Attribute
    env: Env
    classes: tuple[Class, ...]

    @property
    def name(self) -> str:
        return self.node.attr

    @property
    def function(self) -> str:
        return function_name(self.env)


def check_reads(view: View, module: Module, lines: frozenset[int]) -> Iterator[Fault]:
    """The attributes that new lines of a module read of a config, and that it has only by its config.json."""
    found = reads_in(view, module, scopes_of(view.inference, module, lines), lines)
    yield from faults_of(view, (read for read in found if is_undeclared(view, read)))


def faults_of(view: View, reads: Iterable[Read]) -> Iterator[Fault]:
    """One finding for each attribute that is read in vain, wherever it is."""
    undeclared: dict[tuple[str, tuple[Class, ...]], list[Read]] = {}
    for read in reads:
        undeclared.setdefault((read.name, read.classes), []).append(read)
    for same in undeclared.values():
        yield _undeclared(view, same)


def reads_in(view: View, module: Module, scopes: Iterable[tuple[Body, Env]], lines: frozenset[int]) -> Iterator[Read]:
    """The attributes of configs that new lines read, and the release's file nowhere."""
    for body, env in scopes:
        for place in body.reads:
            node = place.node
            if not isinstance(node, ast.Attribute) or node.end_lineno not in lines or place.survives("AttributeError"):
                continue
            owner = re.search(r"\w*$", ast.unparse(node.value).removesuffix("()"))
            before = _RECEIVER % (owner[0].encode() if owner is not None else b"")
            if node.attr.startswith("__") or view.released_has(module.path or "", node.attr, before):
                continue
            classes = view.configs.of(node.value, env)
            if classes:
                yield Read(module, place, node, env, classes)


def is_undeclared(view: View, read: Read) -> bool:
    """Whether none of the classes that the config may be of has the attribute, and no code sets or asks for it."""
    name, classes = read.name, view.classes
    if not all(classes.of_model(cls) or is_engines(view, read, cls) for cls in read.classes):
        return False
    if not all(classes.lacks_everywhere(cls, name) for cls in read.classes):
        return False
    if _is_asked_for(view, read):
        return False
    if any(classes.is_base(cls) for cls in read.classes):
        known = is_set(view.texts, name) or not classes.library or classes.anywhere(name)
        return not known and not _is_known_in_tree(view, name)
    return not is_set(view.texts, name, aside=view.others(read.module))


def is_engines(view: View, read: Read, cls: Class) -> bool:
    """Whether a class is one of the engine's configs, and the expression has its name (``lora_config``): of another
    name an annotation may be wrong, and nobody notices."""
    spelt = ast.unparse(read.node.value).rpartition(".")[2]
    return spelt.replace("_", "") == cls.name.lower() and view.classes.of_engine(cls)


def _is_asked_for(view: View, read: Read) -> bool:
    """Whether the file itself asks if the attribute is there: ``hasattr(config, "name")`` and the like."""
    text = view.context.sources.get(read.module.path or "").text or ""
    return f'"{read.name}"' in text or f"'{read.name}'" in text


def _is_known_in_tree(view: View, name: str) -> bool:
    """Whether the tree as released has the name anywhere, or a class of configs in a patched file."""
    word = whole_word(name)
    for module in view.texts.modules_with(name):
        path = module.path or ""
        if path not in view.patched:
            return True
        released = view.context.tree.pristine(path)
        if released is not None and word.search(released):
            return True
        if any(
            view.classes.of_model(cls) and not view.classes.is_base(cls) and not view.classes.lacks(cls, name)
            for cls in classes_of(view.program, module)
        ):
            return True
    return False


def _undeclared(view: View, reads: list[Read]) -> Fault:
    read = reads[0]
    span = view.code.span(read.module, read.node)
    named = [cls for cls in read.classes if not view.classes.is_base(cls)]
    names = " and ".join(cls.name for cls in read.classes)
    has = "has" if len(read.classes) == 1 else "have"
    if named and all(view.classes.of_engine(cls) for cls in read.classes):
        message = f"{names} {has} no attribute `{read.name}`: {read.function} raises AttributeError when it comes here"
        why = None
    elif named:
        message = f"{names} {has} no `{read.name}`: with a config.json that has no key of this name, this read fails"
        why = "a config takes every key of its config.json as an attribute, and its class gives it no other one of it"
    else:
        message = (
            f"no config class of this tree and its transformers has `{read.name}`: with a config.json that has no key "
            "of this name, this read fails"
        )
        why = None
    known = {name for cls in named for name in view.classes.declared(cls)}
    near = view.program.near(read.name, known, 1) if named else view.classes.near(read.name)
    hint = f"did you mean `{near[0]}`? " if near else ""
    steps = [Step(cls.path or "", cls.span.line or 1, cls.name, "has no such name") for cls in named if cls.path]
    others = sorted({other.node.lineno for other in reads} - {read.node.lineno})
    if others:
        more = f"it is also read in line {', '.join(map(str, others[:5]))}"
        why = f"{why}; {more}" if why else more
    return Fault(
        UNDECLARED,
        span,
        message,
        why=why,
        help=f'{hint}read what this config has, or use `getattr(config, "{read.name}", default)`',
        trail=tuple(steps),
        excerpt=view.code.excerpt(span),
        severity=Severity.WARNING,
    )
