"""What a check is given. Checks read files and the program through it, never by themselves, and never print."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from preflight.model import Fault, Note, Undecided

if TYPE_CHECKING:
    from preflight.launch.launch import Launch
    from preflight.program import Program
    from preflight.rulebook import Rulebook
    from preflight.syntax.cst import CstParser
    from preflight.syntax.source import SourceStore
    from preflight.tree import Tree
    from preflight.walk.following import Followed


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """What the user asked for, as far as checks need to know it."""

    whole_tree: bool = False  #: --all: every Python file of the tree, not only the patched set and what it reaches
    require: tuple[str, ...] = ()  #: --require INTERFACE[=CLASS]
    use_cache: bool = True  #: --no-cache turns it off
    assume: tuple[str, ...] = ()  #: --assume: what the machine has, as ``KEY=VALUE`` pairs
    require_config: tuple[str, ...] = ()  #: --require-config: attributes that the model's config must have


@dataclass(frozen=True, slots=True)
class Context:
    """One run's inputs: the tree with its overlays, the files in question, and what is known about them.

    ``paths`` are the files to check (tree-relative, sorted): the patched set, or with ``--all`` every file, Python or
    not, that exists. ``launch`` is the launch as the tree's own parser reads it, if one was given. ``load_program``
    builds the program model on its first call and returns the same one afterwards. ``follow`` walks the launch on its
    first call and returns the same outcome afterwards: None without a launch. It raises UsageError for assumptions that
    mean nothing.
    """

    tree: Tree
    sources: SourceStore
    cst: CstParser
    rules: Rulebook
    paths: tuple[str, ...]
    load_program: Callable[[], Program]
    options: CheckOptions = field(default_factory=CheckOptions)
    launch: Launch | None = None
    follow: Callable[[], Followed | Undecided | None] = lambda: None


@dataclass(frozen=True, slots=True)
class Check:
    """One family of checks: ``ids`` are the check ids that rule files name, ``run`` finds the faults of all of them."""

    ids: frozenset[str]
    run: Callable[[Context], Iterator[Fault | Undecided | Note]]
