"""The tree as it was released: what was wrong there before the patch is not the patch's doing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from preflight.model import FileState

if TYPE_CHECKING:
    from preflight.checks.context import Context
    from preflight.tree import Tree


def released_tree(tree: Tree) -> Tree | None:
    """``tree`` without its patch and what was given beside it; None where the release's files are not known."""
    changes: dict[str, bytes | None] = {}
    for file in tree.facts.patched:
        data = tree.pristine(file.path)
        if data is None and (file.state in (FileState.MODIFIED, FileState.MISSING) or tree.reference is None):
            return None
        changes[file.path] = data
    return replace(tree.with_overlay(changes), outside=(), entry_points=())


def changed_paths(context: Context) -> list[str]:
    """The Python files of a run in which there may be something new: not those of the release, nor those that differ
    from it in blank lines and lines of comment only. With ``--all`` every one, if nobody knows which those are."""
    paths = [path for path in context.paths if path.endswith(".py") and context.tree.exists(path)]
    paths += plugin_paths(context)
    if looks_at_all(context):
        return paths
    patched = {file.path for file in context.tree.facts.patched}.union(plugin_paths(context))
    known = context.tree.reference is not None
    return [path for path in paths if (path in patched or not known) and not _has_released_code(context, path)]


def plugin_paths(context: Context) -> list[str]:
    """The files of a run that use vLLM without being part of it: packages and single files that speak of it."""
    return [file.path for file in context.tree.outside if file.path in context.paths and b"vllm" in file.data]


def looks_at_all(context: Context) -> bool:
    """Whether every file is to be looked at: ``--all``, of a tree that there is nothing to compare with."""
    return context.options.whole_tree and context.tree.reference is None


def _has_released_code(context: Context, path: str) -> bool:
    before = context.tree.pristine(path)
    return before is not None and _code_lines(before) == _code_lines(context.sources.get(path).data)


def _code_lines(data: bytes) -> list[bytes]:
    stripped = [line.rstrip() for line in data.splitlines()]
    return [line for line in stripped if line and not line.lstrip().startswith(b"#")]
