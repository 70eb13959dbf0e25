"""The words of this room that the rest of it is built on; they import nothing of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

#: The package that is checked, and the distribution that brings it.
PACKAGE = "vllm"
#: The folder beside the package where ``preflight apply`` keeps originals, and the file that is there only while a
#: tree is written to: who finds it may see some files of a patch and not the others.
STORE = ".preflight"
JOURNAL = "journal.json"
#: The group of entry points that become commands, and the one that modules are given which Python itself imports when
#: it starts (module ``site``), in every process.
SCRIPTS_GROUP = "console_scripts"
STARTUP_GROUP = "vllm.preflight-startup"


class TreeKind(str, Enum):
    """Where a tree comes from."""

    INSTALLED = "installed"  #: a site-packages folder that holds ``vllm/``
    EDITABLE = "editable"  #: the source folder that an environment's editable install leads to
    CHECKOUT = "checkout"  #: a source folder, named by the user
    RELEASED = "released"  #: a release's sources out of preflight's cache


@dataclass(frozen=True, slots=True)
class TreeRequest:
    """The tree that the user asked for, as the command line says it.

    ``site_packages`` is the folder of ``--vllm-site-packages``; ``use_environment`` says that the option was given
    without a folder. ``vllm`` alone asks for a released tree; beside a folder or an environment it names the reference
    that the files are compared with. ``paths`` are the PATH arguments, ``overlays`` those of ``--overlay``, in order.
    """

    site_packages: str | None = None
    use_environment: bool = False
    vllm: str | None = None
    overlays: tuple[str, ...] = ()
    overlay_option: str = "--overlay"  #: how the user gave them, for sentences
    paths: tuple[str, ...] = ()
    python: str | None = None
    staged: bool = False
    base_ref: str | None = None
    use_cache: bool = True  #: --no-cache: what is kept is verified anew, byte by byte
    whole_tree: bool = False  #: --all: compiled modules of any size are hashed too
    progress: bool = False  #: a progress bar is welcome (standard error is a terminal)


@dataclass(frozen=True, slots=True)
class OutsideFile:
    """A Python file of a patch repository that mirrors no path of the tree: code that uses the tree.

    ``path`` is relative to the repository (or to the working folder), ``location`` is the file itself (empty if the
    content is git's index's), ``data`` its content as it was read.
    """

    path: str
    location: str
    data: bytes


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """``group`` as in ``entry_points.txt``, ``module`` and ``attribute`` of what is loaded."""

    group: str
    name: str
    module: str
    attribute: str


def counted(number: int, noun: str) -> str:
    """``1 diff``, ``2 diffs``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


class SourceUnreadable(Exception):
    """A file of the tree is there, or was, and its content cannot be had. Checks turn this into a finding."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason
