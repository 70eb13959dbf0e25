"""Programs for tests: a miniature tree on disk, opened as preflight opens it."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path

from preflight.program import Class, FactsCache, Program
from preflight.tree import Tree, TreeRequest, open_tree
from tests.minitree import make_tree

#: laid into a miniature tree, these files make it a whole environment: what is not there is not installed
WHOLE_ENVIRONMENT = {
    "torch/__init__.py": "",
    "torch-2.9.1.dist-info/METADATA": "Metadata-Version: 2.1\nName: torch\nVersion: 2.9.1\n",
}


def tree_of(folder: Path, files: Mapping[str, str | bytes], **options) -> Tree:
    """A miniature installed tree of these files (text is dedented)."""
    release = {path: textwrap.dedent(text) if isinstance(text, str) else text for path, text in files.items()}
    site_packages = make_tree(folder, release, **options)
    return open_tree(TreeRequest(site_packages=str(site_packages)), {})


def program_of(
    folder: Path,
    files: Mapping[str, str | bytes],
    *,
    python: tuple[int, int] = (3, 12),
    accelerator: str | None = None,
    cache: Path | None = None,
    **options,
) -> Program:
    """The program of such a tree."""
    return Program(tree_of(folder, files, **options), FactsCache(cache), python, accelerator)


def class_of(program: Program, module: str, name: str) -> Class:
    """The class that a module's name certainly stands for."""
    found = program.find_class(module, name)
    assert isinstance(found, Class), found
    return found
