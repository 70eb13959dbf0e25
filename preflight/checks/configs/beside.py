"""Reads of the engine's configs in code beside the tree: what a release took out of one, a plug-in still asks for.

Of a file only those functions are looked at that read a name which no config of the engine under that name has.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from preflight.checks.configs.reads import Read, faults_of, is_engines, is_undeclared, reads_in
from preflight.checks.gated import is_closed
from preflight.checks.inference.bodies import read_body
from preflight.checks.inference.scopes import scopes_of
from preflight.checks.inference.values import Env
from preflight.checks.monkey.collect import patches_beside
from preflight.program import Class, Kind
from preflight.program.texts import whole_word

if TYPE_CHECKING:
    from preflight.checks.configs.view import View
    from preflight.checks.inference.bodies import Body
    from preflight.model import Fault
    from preflight.program import Module

#: an attribute of something that is called a config
_READS = re.compile(rb"\b(\w*config)\s*\.\s*(?=([A-Za-z_]\w*))")
_CLASSES = re.compile(rb"(?m)^class\s+(\w+Config)\b")


def check_beside(view: View, paths: Sequence[str]) -> Iterator[Fault]:
    """What the files beside the tree read of the engine's configs, and these do not have."""
    data = {file.path: file.data for file in view.context.tree.outside if file.path in paths}
    engines = _engines(view) if any(_READS.search(text) for text in data.values()) else {}
    for path in paths:
        module = view.program.module_at(path)
        lines = frozenset(_lacking(view, engines, data[path])) if module is not None else frozenset()
        if module is None or not lines:
            continue
        scopes = [*scopes_of(view.inference, module, lines), *_replacing(view, module)]
        reads = {read.node: read for read in reads_in(view, module, scopes, lines)}
        lacking = [read for read in reads.values() if _is_lacking(view, read, data.values())]
        yield from faults_of(view, sorted(lacking, key=lambda read: read.node.lineno))


def _engines(view: View) -> dict[str, list[Class]]:
    """The configs of the engine, by the names that hold one (``loraconfig``)."""
    found: dict[str, list[Class]] = {}
    for module in view.texts.matching(_CLASSES.pattern, "class"):
        for name in _CLASSES.findall(view.texts.of(module)):
            cls = view.program.find_class(module.name, name.decode())
            if isinstance(cls, Class) and view.classes.of_engine(cls):
                found.setdefault(cls.name.lower(), []).append(cls)
    return found


def _lacking(view: View, engines: dict[str, list[Class]], data: bytes) -> Iterator[int]:
    """The lines that read what none of the configs has that their words may mean."""
    for number, line in enumerate(data.splitlines(), 1):
        for owner, name in _READS.findall(line):
            classes = engines.get(owner.decode().replace("_", "").lower(), [])
            if classes and all(view.classes.lacks(cls, name.decode()) for cls in classes):
                yield number


def _replacing(view: View, module: Module) -> Iterator[tuple[Body, Env]]:
    """The functions of a module that are put in the place of methods of vLLM: they run on objects of its class."""
    for patch in patches_beside(view.context, view.program):
        if patch.module is module and patch.made is not None and patch.owner.kind is Kind.CLASS:
            cls = view.program.class_of(patch.owner)
            body = read_body(module, patch.made, None, method=True)
            for inner in body.all() if cls is not None else ():
                yield inner, Env(module, inner, cls)


def _is_lacking(view: View, read: Read, beside: Iterable[bytes]) -> bool:
    """Whether a read certainly finds nothing in this release, as far as any file gives the config more."""
    if not all(is_engines(view, read, cls) for cls in read.classes) or not is_undeclared(view, read):
        return False
    word = re.escape(read.name.encode())
    given = re.compile(
        rb"\.\s*"
        + word
        + rb"\s*(?::[^=\n]+)?=(?!=)|(?m:^)\s+"
        + word
        + rb"\s*[:=](?!=)|[\"']"
        + word
        + rb"[\"']|\bdef "
        + word
    )
    named = whole_word(read.name)
    if any(named.search(text) and given.search(text) for text in beside):
        return False
    return not is_closed(view.program, read.module.path or "", read.node.lineno)
