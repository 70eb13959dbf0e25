"""The tree as it was released: what was wrong there before the patch is not the patch's doing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from preflight.model import FileState

if TYPE_CHECKING:
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
