"""Where a module is, by its import path: the tree with its overlays, the environment's other packages, the standard
library, compiled modules. It looks at names of files only; what a file says is the business of ``modules``.

The order is the one of Python's path finder: the standard library before site-packages, and within a folder a package
before an extension module before a source file before a namespace package.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from preflight.program.known import words
from preflight.program.startup import Startup, startup_of
from preflight.tree.kinds import SourceUnreadable

if TYPE_CHECKING:
    from preflight.tree import Tree

#: a namespace of modules that the standard library replaces itself by, and no file shows
_STDLIB_ALIASES = frozenset({"os.path"})

_EXTENSIONS = (".so", ".pyd")

#: modules of the standard library that some of the supported Pythons have and others have not ("What's New")
_STDLIB_OF_SOME = words(
    """aifc annotationlib asynchat asyncore audioop cgi cgitb chunk compression crypt distutils imghdr imp lib2to3
    mailcap msilib nis nntplib ossaudiodev pipes smtpd sndhdr spwd sunau telnetlib tomllib uu xdrlib"""
)
#: folders of a repository that are packages for its own use, and are imported by nothing that is installed
_NO_PACKAGES = words("test tests doc docs example examples benchmark benchmarks script scripts tool tools vllm")
#: what a package says that looks for its modules by itself
_SETS_PATH = re.compile(rb"\b__path__\s*(?:=|\+=|:|\.\w)|\bextend_path\b|\bmeta_path\b")


class ModuleKind(Enum):
    """What stands behind an import path."""

    SOURCE = "source"
    NAMESPACE = "namespace"  #: a folder without ``__init__.py``
    OPAQUE = "opaque"  #: it exists, but is compiled, or its source is not at hand
    ABSENT = "absent"  #: importing it raises ModuleNotFoundError
    UNKNOWN = "unknown"  #: nobody can say from here whether it is installed


@dataclass(frozen=True, slots=True)
class ModuleSpec:
    """Where a module is. ``path`` is tree-relative for a file of the tree, else absolute; None without a file.

    ``exact`` is False where the source at hand is another version's than the one that will run, so that a name which
    it lacks is not known to be missing. ``reason`` says why the module is absent or unknown.
    """

    name: str
    kind: ModuleKind
    path: str | None = None
    in_tree: bool = False
    is_package: bool = False
    folders: tuple[str, ...] = ()
    exact: bool = True
    reason: str = ""

    @property
    def found(self) -> bool:
        return self.kind in (ModuleKind.SOURCE, ModuleKind.NAMESPACE, ModuleKind.OPAQUE)


class Finder:
    """Finds modules over the layers of a tree. ``python`` is (major, minor) of the Python that will run vLLM."""

    def __init__(self, tree: Tree, python: tuple[int, int]) -> None:
        self._tree = tree
        self._python = python
        self._specs: dict[str, ModuleSpec] = {}
        self._listings: dict[str, frozenset[str]] = {}
        self._files = frozenset(tree.files())
        folders: set[str] = set()
        compiled: dict[str, str] = {}
        for path in (*self._files, *tree.compiled_modules()):
            head = path.rpartition("/")[0]
            while head and head not in folders:
                folders.add(head)
                head = head.rpartition("/")[0]
            if path.endswith(_EXTENSIONS):
                stem, _, name = path.rpartition("/")
                compiled.setdefault(f"{stem}/{name.partition('.')[0]}", path)
        self._folders = frozenset(folders)
        self._compiled = compiled
        self._tops = frozenset(folder for folder in folders if "/" not in folder)
        self._startup: Startup | None = None
        self._plugins = plugin_modules([file.path for file in tree.outside], _top_of(tree))
        self._plugin_names = {path: name for name, path in self._plugins.items()}
        # a file that is in no package is a script: nothing imports it, and in here it has a name that no module has
        alone = [
            file.path for file in tree.outside if file.path.endswith(".py") and file.path not in self._plugin_names
        ]
        self._scripts = {f"<{path}>": path for path in alone}
        self._plugin_names.update({path: name for name, path in self._scripts.items()})

    # -- the public questions -------------------------------------------------------------------------------------

    def find(self, name: str) -> ModuleSpec:
        """Where module ``name`` (absolute, dotted) is; always an answer."""
        spec = self._specs.get(name)
        if spec is None:
            spec = self._specs[name] = self._find(name)
        return spec

    def name_of(self, path: str) -> str | None:
        """The import path of a tree-relative Python file, None for a file that no import reaches."""
        if not path.endswith(".py"):
            return None
        if path in self._plugin_names:
            return self._plugin_names[path]
        parts = path[:-3].split("/")
        if parts[-1] == "__init__":
            parts.pop()
        if not parts or not all(part.isidentifier() for part in parts):
            return None
        return ".".join(parts)

    def is_own(self, name: str) -> bool:
        """Whether a module, if it is there, is one of vLLM itself."""
        return name.partition(".")[0] in self._tops

    def is_plugin(self, name: str) -> bool:
        """Whether a module is of a package that was given beside the tree, and uses it."""
        return name.partition(".")[0] in self._plugins

    def is_outside(self, name: str) -> bool:
        """The same, for a single file that is no module of a package too."""
        return name.startswith("<") or self.is_plugin(name)

    def tree_modules(self) -> list[str]:
        """The import paths of all Python files of the tree, sorted by path."""
        names = (self.name_of(path) for path in sorted(self._files))
        return [name for name in names if name is not None]

    def submodules(self, name: str) -> frozenset[str]:
        """The last names of what a package's folders hold as modules."""
        spec = self.find(name)
        found: set[str] = set()
        if name in self._plugins:
            return frozenset(one[len(name) + 1 :] for one in self._plugins if one.rpartition(".")[0] == name)
        if spec.in_tree and spec.folders:
            prefix = spec.folders[0] + "/"
            for path in (*self._files, *self._compiled.values()):
                if path.startswith(prefix):
                    head, separator, _ = path[len(prefix) :].partition("/")
                    if separator or head.endswith((".py", *_EXTENSIONS)):
                        found.add(head.partition(".")[0])
        else:
            for folder in spec.folders:
                for entry in self._listing(folder):
                    found.add(entry.partition(".")[0])
        return frozenset(entry for entry in found if entry.isidentifier() and entry != "__init__")

    # -- how --------------------------------------------------------------------------------------------------------

    def _find(self, name: str) -> ModuleSpec:
        if name in self._scripts:
            return ModuleSpec(name, ModuleKind.SOURCE, self._scripts[name], True)
        parent, _, last = name.rpartition(".")
        if name in self._plugins:
            path = self._plugins[name]
            return ModuleSpec(name, ModuleKind.SOURCE, path, True, path.endswith("/__init__.py"))
        if self.is_plugin(name):
            # what a build makes of it, such as a compiled module or a file with its version, is no source
            return ModuleSpec(name, ModuleKind.UNKNOWN, reason=f"a build of {name.partition('.')[0]} may bring it")
        if not all(part.isidentifier() for part in name.split(".")):
            return ModuleSpec(name, ModuleKind.ABSENT, reason=f"{name!r} is no import path")
        if parent:
            return self._find_in_package(name, self.find(parent), last)
        if name in self._tops:
            found = self._in_tree(name, name)
            if found is not None:
                return found
        if name in sys.stdlib_module_names or name in sys.builtin_module_names:
            return self._in_stdlib(name, name)
        return self._on_search_path(name)

    def _find_in_package(self, name: str, parent: ModuleSpec, last: str) -> ModuleSpec:
        if parent.kind is ModuleKind.ABSENT:
            return ModuleSpec(name, ModuleKind.ABSENT, reason=parent.reason)
        if parent.kind is ModuleKind.UNKNOWN:
            return ModuleSpec(name, ModuleKind.UNKNOWN, reason=parent.reason)
        if name in _STDLIB_ALIASES:
            return ModuleSpec(name, ModuleKind.OPAQUE)
        if parent.kind is ModuleKind.OPAQUE:
            # A compiled package may register submodules of its own, and a package that is opaque as a whole has some.
            return ModuleSpec(name, ModuleKind.UNKNOWN, reason=f"the source of {parent.name} is not at hand")
        if not parent.folders and not self._sets_path(parent):
            return ModuleSpec(name, ModuleKind.ABSENT, reason=f"{parent.name} is not a package")
        if parent.in_tree and parent.folders:
            found = self._in_tree(name, f"{parent.folders[0]}/{last}")
        else:
            found = self._in_folders(name, last, parent.folders, parent.exact)
        if found is not None:
            return found
        if not parent.exact:
            return ModuleSpec(name, ModuleKind.UNKNOWN, reason=f"{parent.name} is of another version than the one used")
        if self._sets_path(parent):
            return ModuleSpec(name, ModuleKind.UNKNOWN, reason=f"{parent.name} says itself where its modules are")
        return ModuleSpec(name, ModuleKind.ABSENT, reason=f"{parent.name} has no module {last!r}")

    def _in_tree(self, name: str, base: str) -> ModuleSpec | None:
        package = f"{base}/__init__.py"
        if package in self._files:
            return ModuleSpec(name, ModuleKind.SOURCE, package, True, True, (base,))
        if base in self._compiled:
            return ModuleSpec(name, ModuleKind.OPAQUE, self._compiled[base], True)
        if f"{base}.py" in self._files:
            return ModuleSpec(name, ModuleKind.SOURCE, f"{base}.py", True)
        if base in self._folders:
            return ModuleSpec(name, ModuleKind.NAMESPACE, None, True, True, (base,))
        return None

    def _in_stdlib(self, name: str, last: str) -> ModuleSpec:
        import sysconfig

        folder = sysconfig.get_paths()["stdlib"]
        near = self._python[0] == sys.version_info[0] and abs(self._python[1] - sys.version_info[1]) <= 2
        if near:
            exact = self._python == sys.version_info[:2]
            found = self._in_folders(name, last, (folder,), exact)
            if found is not None and found.kind is ModuleKind.SOURCE:
                return found
        return ModuleSpec(name, ModuleKind.OPAQUE)

    def _on_search_path(self, name: str) -> ModuleSpec:
        found = self._in_folders(name, name, self._search_path(), True)
        if found is not None:
            return found
        if name in _STDLIB_OF_SOME:
            return ModuleSpec(name, ModuleKind.OPAQUE)
        if self._tree.whole_environment:
            file = self._startup.may_add(name) if self._startup is not None else None
            if file is not None:
                return ModuleSpec(name, ModuleKind.UNKNOWN, reason=f"{file} may add {name} when Python starts")
            return ModuleSpec(name, ModuleKind.ABSENT, reason=f"{name} is not installed")
        return ModuleSpec(name, ModuleKind.UNKNOWN, reason=f"whether {name} is installed is not known")

    def _in_folders(self, name: str, last: str, folders: tuple[str, ...], exact: bool) -> ModuleSpec | None:
        portions: list[str] = []
        for folder in folders:
            entries = self._listing(folder)
            inside = f"{folder}/{last}"
            within = self._listing(inside) if last in entries else frozenset()
            if within and (compiled := _compiled(within, "__init__")) is not None:
                return ModuleSpec(name, ModuleKind.OPAQUE, f"{inside}/{compiled}", False, True, (inside,), exact)
            if "__init__.py" in within:
                return ModuleSpec(name, ModuleKind.SOURCE, f"{inside}/__init__.py", False, True, (inside,), exact)
            if "__init__.pyc" in within:
                return ModuleSpec(name, ModuleKind.OPAQUE, f"{inside}/__init__.pyc", False, True, (inside,), exact)
            if (compiled := _compiled(entries, last)) is not None:
                return ModuleSpec(name, ModuleKind.OPAQUE, f"{folder}/{compiled}", exact=exact)
            if f"{last}.py" in entries:
                return ModuleSpec(name, ModuleKind.SOURCE, f"{inside}.py", exact=exact)
            if f"{last}.pyc" in entries:  # without its source it stands where that would
                return ModuleSpec(name, ModuleKind.OPAQUE, f"{inside}.pyc", exact=exact)
            if last in entries and Path(inside).is_dir():
                portions.append(inside)
        if portions:
            return ModuleSpec(name, ModuleKind.NAMESPACE, None, False, True, tuple(portions), exact)
        return None

    def _sets_path(self, package: ModuleSpec) -> bool:
        """Whether a package changes its ``__path__`` or brings a finder: its modules may then lie in other folders."""
        if package.kind is not ModuleKind.SOURCE or package.path is None:
            return False
        try:
            data = self._tree.read(package.path) if package.in_tree else Path(package.path).read_bytes()
        except (OSError, SourceUnreadable):
            return True
        return _SETS_PATH.search(data) is not None

    def _listing(self, folder: str) -> frozenset[str]:
        found = self._listings.get(folder)
        if found is None:
            try:
                found = frozenset(entry.name for entry in Path(folder).iterdir())
            except OSError:
                found = frozenset()
            self._listings[folder] = found
        return found

    def _search_path(self) -> tuple[str, ...]:
        """The tree's own folder, then the folders of other packages, then what ``.pth`` files of them add."""
        if self._startup is None:
            self._startup = startup_of([self._tree.root, *self._tree.packages])
        return self._startup.folders


def _compiled(entries: frozenset[str], name: str) -> str | None:
    """The file of the compiled module ``name`` among the names of a folder."""
    return next((entry for entry in entries if entry.endswith(_EXTENSIONS) and entry.partition(".")[0] == name), None)


def _top_of(tree: Tree) -> str:
    """The name of the package that the files beside a tree are given from the inside of; "" where they are not."""
    name = next((Path(file.location).parent.name for file in tree.outside if file.path == "__init__.py"), "")
    return name if all(point.module.partition(".")[0] == name for point in tree.entry_points) else ""


def plugin_modules(paths: Sequence[str], top: str = "") -> dict[str, str]:
    """The import paths of files that are given beside a tree, as far as they are in packages: name -> file. ``top`` is
    the name of the folder that the paths begin in, where that is a package."""
    folders = {path.rpartition("/")[0] for path in paths if path.rpartition("/")[2] == "__init__.py"}
    found: dict[str, str] = {}
    for path in paths:
        folder, _, name = path.rpartition("/")
        if not name.endswith(".py"):
            continue
        parts = [*folder.split("/")] if folder else []
        # a folder without ``__init__.py`` in a package is one as well (PEP 420); those above the first are none
        first = next((n for n in range(len(parts) + 1) if "/".join(parts[:n]) in folders and (n or top)), None)
        if first is None:
            continue
        parts = ([top] if first == 0 else []) + parts[max(first - 1, 0) :]
        parts += [] if name == "__init__.py" else [name[:-3]]
        known = parts[0] in _NO_PACKAGES or parts[0] in sys.stdlib_module_names
        if not known and all(part.isidentifier() for part in parts):
            found.setdefault(".".join(parts), path)
    return found
