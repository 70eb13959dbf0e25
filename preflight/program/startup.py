"""What ``.pth`` files do when Python starts (the standard library's ``site``): they add folders to the search path, and
may run a line of code.

No line is run. Its common forms are read: setuptools' finders of editable installs, namespace packages, a folder of a
package that is put on the path. A line of any other form may add modules that no folder shows.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

#: lines that add no module: setuptools' distutils, virtualenv's patch, coverage, and namespace packages, whose folders
#: are found as they are
_HARMLESS = ("_distutils_hack", "import _virtualenv", "coverage.process_startup", "module_from_spec", "init_cov_core")
_PACKAGE_FOLDER = re.compile(r"\b(\w+)\.__path__\[0\]\s*((?:,\s*['\"][\w.-]+['\"]\s*)+)\)")
_EDITABLE = re.compile(r"import (__editable__\w+)")


@dataclass(frozen=True, slots=True)
class Startup:
    """``folders`` is the search path; ``finders`` are the texts of editable installs' finders by the file that runs
    them, ``unread`` the ``.pth`` files of which it is not known what they add."""

    folders: tuple[str, ...]
    finders: dict[str, str]
    unread: tuple[str, ...]

    def may_add(self, name: str) -> str | None:
        """The ``.pth`` file that may make the top-level module ``name`` importable."""
        for file, text in self.finders.items():
            if not text or re.search(rf"['\"]{re.escape(name)}['\".]", text):
                return file
        return self.unread[0] if self.unread else None


def startup_of(folders: Iterable[Path]) -> Startup:
    """Read the ``.pth`` files of the folders."""
    search = [str(folder) for folder in folders]
    finders: dict[str, str] = {}
    unread: list[str] = []
    for folder in map(Path, tuple(search)):
        for file in _pth_files(folder):
            for line in _text(file).splitlines():
                added = _added(folder, file, line.strip(), finders)
                if added is None:
                    unread.append(file.name)
                elif added:
                    search.append(added)
    return Startup(tuple(dict.fromkeys(search)), finders, tuple(dict.fromkeys(unread)))


def _pth_files(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.suffix == ".pth" and not path.name.startswith("."))
    except OSError:
        return []


def _added(folder: Path, file: Path, line: str, finders: dict[str, str]) -> str | None:
    """The folder that a line puts on the search path, "" for none, None where that is not known."""
    if not line or line.startswith("#") or "\0" in line:
        return ""
    if not line.startswith(("import ", "import\t")):
        added = os.path.normpath(folder / line)
        if Path(added).is_dir():
            return added
        return None if Path(added).exists() else ""  # what is no folder may be an archive of modules
    if any(words in line for words in _HARMLESS):
        return ""
    editable = _EDITABLE.search(line)
    if editable is not None:
        finders[file.name] = _text(folder / f"{editable[1]}.py")
        return ""
    package = _PACKAGE_FOLDER.search(line)
    if package is None:
        return None
    added = str(folder.joinpath(package[1], *re.findall(r"['\"]([\w.-]+)['\"]", package[2])))
    return added if Path(added).is_dir() else None


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8", "replace")
    except OSError:
        return ""
