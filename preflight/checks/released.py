"""The tree as it was released: what was wrong there before the patch is not the patch's doing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from preflight.model import FileState

if TYPE_CHECKING:
    from preflight.checks.context import Context
    from preflight.tree import Tree


def released_tree(tree: Tree) -> Tree | None:
    """``tree`` without its patch; None where the release's files are not known."""
    changes: dict[str, bytes | None] = {}
    for file in tree.facts.patched:
        data = tree.pristine(file.path)
        if data is None and (file.state in (FileState.MODIFIED, FileState.MISSING) or tree.reference is None):
            return None
        changes[file.path] = data
    return tree.with_overlay(changes)


def changed_paths(context: Context) -> list[str]:
    """The Python files of a run in which there may be something new: not those that differ from the release's in blank
    lines and lines of comment only. With ``--all`` every one."""
    paths = [path for path in context.paths if path.endswith(".py") and context.tree.exists(path)]
    return paths if context.options.whole_tree else [path for path in paths if not _has_released_code(context, path)]


def _has_released_code(context: Context, path: str) -> bool:
    before = context.tree.pristine(path)
    return before is not None and _code_lines(before) == _code_lines(context.sources.get(path).data)


def _code_lines(data: bytes) -> list[bytes]:
    stripped = [line.rstrip() for line in data.splitlines()]
    return [line for line in stripped if line and not line.lstrip().startswith(b"#")]
