"""From a file's name in a patch repository or a diff to the path of the tree that it stands for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from preflight.tree.kinds import PACKAGE


class Places:
    """The paths of a tree, to be found by longer or shorter names."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = frozenset(paths)
        self._folders: set[str] = set()
        self._by_name: dict[str, list[str]] = {}
        for path in self._paths:
            folder, _, name = path.rpartition("/")
            self._by_name.setdefault(name, []).append(path)
            while folder and folder not in self._folders:
                self._folders.add(folder)
                folder = folder.rpartition("/")[0]

    def mirrored(self, parts: Sequence[str]) -> str | None:
        """The existing path of the tree that ends a longer path, from a ``vllm`` folder on."""
        return next((path for path in _from_package(parts) if path in self._paths), None)

    def inside(self, parts: Sequence[str]) -> str | None:
        """The same for a file that need not exist: of the candidates, the one with most of its folders in the tree."""
        candidates = list(_from_package(parts))
        return max(candidates, key=lambda path: (self._depth(path), -len(path)), default=None)

    def has_folder(self, path: str) -> bool:
        """True if the folder that ``path`` is in holds files of the tree."""
        return path.rpartition("/")[0] in self._folders

    def named(self, name: str) -> str | None:
        """The path of the tree that has this bare name, if only one has."""
        found = self._by_name.get(name, [])
        return found[0] if len(found) == 1 else None

    def of_diff(self, names: Sequence[str]) -> str | None:
        """The path for the spellings of a file in a diff (``a/vllm/x.py``, ``vllm/x.py``, ``model_executor/x.py``)."""
        split = [[part for part in PurePosixPath(name).parts if part not in ("/", ".")] for name in names]
        split = [parts for parts in split if parts and ".." not in parts]
        for parts in split:
            if (path := self.mirrored(parts)) is not None:
                return path
        for parts in split:
            if (path := self.inside(parts)) is not None:
                return path
        for parts in split:  # a diff made inside the package's folder
            for start in (0, 1):
                path = "/".join((PACKAGE, *parts[start:]))
                if len(parts) - start > 1 and path in self._paths:
                    return path
        return next((path for parts in split if len(parts) == 1 and (path := self.named(parts[-1]))), None)

    def _depth(self, path: str) -> int:
        parts = path.split("/")[:-1]
        return sum("/".join(parts[:n]) in self._folders for n in range(1, len(parts) + 1))


def _from_package(parts: Sequence[str]) -> list[str]:
    """The tails of a path that begin with the package's folder, longest first."""
    return ["/".join(parts[i:]) for i, part in enumerate(parts[:-1]) if part == PACKAGE]
