"""Packages that replace themselves by an object which imports on demand (``sys.modules[__name__] = ...``).

Such a package declares its names twice: for the object, and under TYPE_CHECKING for readers like this one. The second
is read here. Its star imports lead to hundreds of files, so the lists of their ``__all__`` are searched as text first.
"""

from __future__ import annotations

import ast
import os
import re
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from preflight.program.conditions import Truth
from preflight.program.definitions import Missing, Resolution
from preflight.program.facts import FunctionFacts, Import
from preflight.program.namespace import Namespace, run_body
from preflight.program.syntax_nodes import dotted
from preflight.tree.paths import is_file
from preflight.tree.reading import read_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from preflight.program.modules import Module
    from preflight.program.program import Program

_ALL = re.compile(rb"__all__\s*(?::[^=\n]*)?\+?=\s*[\[(]([^\])]*)[\])]")
#: the methods by which a name is told to be derived from another
_ENDINGS = ("endswith", "startswith", "removesuffix", "removeprefix")
_NAME = re.compile(rb"[\"'](\w+)[\"']")


class LazyPackages:
    """Answers for the lazy packages of one program."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._declared: dict[str, tuple[Namespace, bool]] = {}
        self._exports: dict[str, dict[str, list[str]]] = {}
        self._endings: dict[str, tuple[str | None, ...]] = {}

    def attribute(self, module: Module, name: str) -> Resolution | None:
        """What ``module.name`` is; None if the package shows no such name and cannot be known in full."""
        namespace, stars = self._declarations(module)
        resolver = self._program.resolver
        bindings = [binding for binding in namespace.names.get(name, ()) if binding is not None]
        if bindings:
            found = resolver.join([resolver.binding(module, binding) for binding in bindings])
            if found.missing is None:
                return found
            return Resolution(unknown=f"{module.name} declares {name}, but {found.missing.reason}")
        if stars and module.spec.folders:
            exporting = self.exports(module.spec.folders[0]).get(name, ())
            found = resolver.join([resolver.attribute(owner, name) for owner in self._modules(module, exporting)])
            if found.definitions:
                return found
        return None

    def missing(self, module: Module, name: str) -> bool:
        """Whether no file of the package holds the name at all: then nothing can make it."""
        data = self._program.loader.data(module.spec)
        if not isinstance(data, bytes) or _holds(data, name):
            return False
        return not any(_holds(text, name) for one in module.spec.folders for _, text in _texts(one, _files(one)))

    def refusal(self, module: Module, name: str) -> Resolution:
        """The answer for a name that the package does not show."""
        if not self._may_derive(module, name) and self.missing(module, name):
            return Resolution(missing=Missing(module.name, name, f"{module.name} has no {name!r}"))
        return Resolution(unknown=f"{module.name} replaces itself by an object that may know {name}")

    def _may_derive(self, module: Module, name: str) -> bool:
        """Whether the object that stands for the package makes names out of others, and this may be one of them.

        Its ``__getattr__`` then asks how the name begins or ends ("...Fast" for "...").
        """
        endings = self._endings.get(module.name)
        if endings is None:
            endings = self._endings[module.name] = self._read_endings(module)
        return any(ending is None or name.endswith(ending) or name.startswith(ending) for ending in endings)

    def _read_endings(self, module: Module) -> tuple[str | None, ...]:
        """The beginnings and endings that are asked for; None among them if that cannot be read."""
        tree = self._program.syntax_tree(module)
        maker = _replacement(tree) if isinstance(tree, ast.Module) else None
        found = self._program.resolver.dotted(module, maker).only if maker is not None else None
        cls = self._program.class_of(found) if found is not None else None
        member = cls.lookup("__getattr__") if cls is not None and cls.facts is not None else None
        if member is None or not isinstance(member.facts, FunctionFacts):
            return (None,)
        node = self._program.function_node(self._program.module(member.owner.module), member.facts)
        if node is None:
            return (None,)
        endings: list[str | None] = []
        for part in ast.walk(node):
            function = part.func if isinstance(part, ast.Call) else None
            if isinstance(part, ast.Call) and isinstance(function, ast.Attribute) and function.attr in _ENDINGS:
                argument = part.args[0] if part.args else None
                text = argument.value if isinstance(argument, ast.Constant) else None
                endings.append(text if isinstance(text, str) else None)
        return tuple(endings)

    def _declarations(self, module: Module) -> tuple[Namespace, bool]:
        known = self._declared.get(module.name)
        if known is None:
            stars: list[Import] = []

            def star(item: Import) -> tuple[str, Iterable[str], str | None]:
                stars.append(item)
                return "", (), None

            questions = replace(
                self._program.resolver.questions(module),
                test=lambda test: (
                    Truth.YES if test.text.endswith("TYPE_CHECKING") else self._program.resolver.test(module, test)
                ),
                star=star,
                succeeds=lambda item: Truth.YES,
            )
            namespace = run_body(module.facts.body, questions)
            known = self._declared[module.name] = (namespace, bool(stars))
        return known

    # -- the lists of __all__ -----------------------------------------------------------------------------------------

    def exports(self, folder: str) -> dict[str, list[str]]:
        """Every name that an ``__all__`` under the folder lists, with the files that do, relative to the folder."""
        found = self._exports.get(folder)
        if found is None:
            files = _files(folder)
            signature = _signature(files)
            found = self._program.loader.kept(folder, signature)
            if found is None:
                found = {}
                for path, text in _texts(folder, files):
                    for names in _lists(text):
                        for name in _NAME.findall(names):
                            found.setdefault(name.decode(), []).append(path)
                self._program.loader.keep(folder, signature, found)
            self._exports[folder] = found
        return found

    def _modules(self, package: Module, files: Iterable[str]) -> list[str]:
        """The import paths of files which the package around them imports by a star."""
        found: list[str] = []
        for path in files:
            inner, _, last = path.rpartition("/")
            stem = last.removesuffix(".py")
            parent = ".".join(filter(None, [package.name, inner.replace("/", ".")]))
            data = self._program.loader.data(self._program.finder.find(parent))
            if isinstance(data, bytes) and f"from .{stem} import".encode() in data:
                found.append(f"{parent}.{stem}")
        return found


def _signature(files: Iterable[str]) -> str:
    import hashlib

    digest = hashlib.blake2b(digest_size=16)
    for path in files:
        with suppress(OSError):  # it has gone since
            status = os.stat(path)  # noqa: PTH116 - no Path for each of 2,000 files
            digest.update(f"{path}\0{status.st_size}\0{status.st_mtime_ns}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _texts(folder: str, files: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    for path in files:
        try:
            yield path[len(folder) :].strip(os.sep).replace(os.sep, "/"), read_bytes(path)
        except OSError:
            continue


def _files(folder: str) -> list[str]:
    """The Python files under a folder."""
    return sorted(
        path
        for at, _, names in os.walk(folder)
        for name in names
        if name.endswith(".py") and is_file(path := os.path.join(at, name))  # noqa: PTH118 - as above
    )


def _lists(text: bytes) -> Iterator[bytes]:
    """What stands in the lists of ``__all__``; a search for whole lines is slow in the text of a whole package."""
    at = text.find(b"__all__")
    while at >= 0:
        found = _ALL.match(text, at) if at == 0 or text[at - 1] == 10 else None
        if found is not None:
            yield found.group(1)
        at = text.find(b"__all__", at + 1)


def _replacement(tree: ast.Module) -> str | None:
    """What is called in ``sys.modules[__name__] = call(...)``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            for target in node.targets:
                if isinstance(target, ast.Subscript) and dotted(target.value) == "sys.modules":
                    return dotted(node.value.func)
    return None


def _holds(text: bytes, name: str) -> bool:
    """Whether the text has the name as a whole word."""
    word = name.encode()
    return word in text and re.search(rb"(?<!\w)" + re.escape(word) + rb"(?!\w)", text) is not None
