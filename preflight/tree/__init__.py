"""Where vLLM is, which of its files are patched, and what is laid over them."""

from preflight.tree.kinds import OutsideFile, SourceUnreadable, TreeKind, TreeRequest
from preflight.tree.opening import open_tree
from preflight.tree.tree import Tree

__all__ = ["OutsideFile", "SourceUnreadable", "Tree", "TreeKind", "TreeRequest", "open_tree"]
