"""What the launch is known to have of files."""

from __future__ import annotations

from posixpath import dirname, normpath
from typing import Any

#: how the reason of an answer begins that is not known because a file of the machine is asked for
ASKED = "whether there is "
FILE, FOLDER, PARTLY, NOTHING = "file", "folder", "partly", "nothing"
#: what there may be at a path: anything, a file, a folder
THERE, FILES, FOLDERS = (FILE, FOLDER, PARTLY), (FILE,), (FOLDER, PARTLY)


class Files:
    """What is known of files, by path. A path may be written in any way (``./model``, ``model/``): it is the same file.

    A folder is known wholly (what is not listed in it is not there) or in part (only the listed files are known).
    Everything else is not known.
    """

    def __init__(self) -> None:
        self._kinds: dict[str, str] = {}
        self._data: dict[str, Any] = {}
        self._code: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._kinds)

    def add(self, path: str, kind: str) -> None:
        """There is a ``file``, a ``folder`` or a folder that is known ``partly``."""
        self._kinds[normpath(path)] = kind

    def add_json(self, path: str, data: Any) -> None:  # noqa: ANN401 - JSON
        """There is a file with this content."""
        self.add(path, FILE)
        self._data[normpath(path)] = data

    def add_code(self, path: str, text: str) -> None:
        """There is a Python file with this text."""
        self.add(path, FILE)
        self._code[normpath(path)] = text

    def folders_with_code(self) -> list[str]:
        """The folders that hold Python files."""
        return sorted({dirname(path) for path in self._code})

    def json(self, path: str) -> Any:  # noqa: ANN401 - JSON
        """The content of a JSON file; None where it is not known."""
        return self._data.get(normpath(path))

    def code(self, path: str) -> str | None:
        """The text of a Python file; None where it is not known."""
        return self._code.get(normpath(path))

    def inside(self, folder: str) -> list[str]:
        """The paths, from ``folder`` on, of everything that is known below it."""
        folder = normpath(folder)
        if folder == ".":
            return sorted(path for path in self._kinds if path != "." and not path.startswith(("/", "..")))
        return sorted(path[len(folder) + 1 :] for path in self._kinds if path.startswith(f"{folder}/"))

    def kind(self, path: str) -> str | None:
        """``file``, ``folder``, ``partly``, ``nothing``, or None where that is not known."""
        path = normpath(path)
        known = self._kinds.get(path)
        if known is not None:
            return known
        parent = self._kinds.get(dirname(path) or ".")
        # the small files beside a config.json would have been fetched, or copied, with it
        return NOTHING if parent == FOLDER or (parent == PARTLY and path.endswith(".json")) else None
