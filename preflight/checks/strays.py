"""New files of a tree that nothing in it leads to: what is wrong with them stops no launch that can be seen."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from preflight.program.texts import whole_word

if TYPE_CHECKING:
    from collections.abc import Iterator

    from preflight.checks.context import Context
    from preflight.program import Module, Program

#: what a package says that takes whatever modules its folder holds: it asks for the modules, or lists the folder and
#: imports by a name that it makes
_MODULES = re.compile(rb"\b(?:iter_modules|walk_packages)\b")
_LISTS = re.compile(rb"\b(?:listdir|scandir|glob|rglob|iterdir)\b")
_IMPORTS = re.compile(
    rb"\b(?:__import__|spec_from_\w+|module_from_spec|exec_module|load_module|SourceFileLoader|runpy|run_path|run_module"
    rb"|exec|\w*import_(?:from_)?(?:module|path|file|string|class)\w*)\b"
)


def is_stray(context: Context, path: str) -> bool:
    """Whether a file is new, and nothing that can be seen names it."""
    return context.tree.is_new(path) and is_unnamed(context, path)


def is_unnamed(context: Context, path: str) -> bool:
    """Whether no import statement and no text of the tree, of the files beside it or of the launch names a module."""
    program = context.load_program()
    name = program.finder.name_of(path)
    if name is None or path.endswith(("/__init__.py", "/__main__.py")):
        return False
    last = name.rpartition(".")[2]
    if _is_in_launch(context, last) or _is_outside(context, last) or _is_named(program, name, path):
        return False
    return not any(_takes_all(program.texts.of(module)) for module in _around(program, name))


def _takes_all(text: bytes) -> bool:
    """Whether a module may import whatever lies in a folder."""
    return bool(_MODULES.search(text) or (_LISTS.search(text) and _IMPORTS.search(text)))


def _is_in_launch(context: Context, last: str) -> bool:
    """Whether the launch itself names the module: ``--worker-cls vllm.mine.Worker``."""
    if context.launch is None:
        return False
    texts = (*context.launch.arguments, *context.launch.environment.values())
    return any(re.search(rf"(?<!\w){re.escape(last)}(?!\w)", text) for text in texts)


def _is_outside(context: Context, last: str) -> bool:
    """Whether code of the patch that is no file of the tree, such as a plug-in, has the module's name."""
    word = whole_word(last)
    return any(word.search(file.data) for file in context.tree.outside)


def _is_named(program: Program, name: str, path: str) -> bool:
    """Whether another file of the tree imports the module, or has its name in a text."""
    last = name.rpartition(".")[2]
    text = re.compile(rb"[\"'][\w.:/-]*(?<!\w)" + re.escape(last.encode()) + rb"(?!\w)[\w.:/-]*[\"']")
    for module in program.texts.modules_with(last):
        if module.path == path:
            continue
        if module.hole is not None or text.search(program.texts.of(module)) or _imports(module, name):
            return True
    return False


def _imports(module: Module, name: str) -> bool:
    """Whether an import statement of the module, wherever it stands, names ``name``."""
    parent, _, last = name.rpartition(".")
    for item in module.facts.imports:
        found = module.absolute(item)
        if found == name or (found == parent and item.name in (last, "*")):
            return True
    return False


def _around(program: Program, name: str) -> Iterator[Module]:
    """The modules beside one, and the packages above it; a package beside it looks into its own folder."""
    package = name.rpartition(".")[0]
    for other in sorted(program.finder.submodules(package)):
        module = program.module(f"{package}.{other}")
        if not module.spec.is_package:
            yield module
    while package:
        yield program.module(package)
        package = package.rpartition(".")[0]
