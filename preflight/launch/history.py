"""What other releases say of a flag: those that are in preflight's cache, looked up without a network."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from preflight.launch.entry import CONSOLE_SCRIPT
from preflight.launch.parsing import read_command
from preflight.tree.cache import cached_around, cached_release
from preflight.tree.reading import read_bytes

#: How many parsers are read on either side: each takes half a second, and searching a release for a name a tenth of it.
_MOST = 2
_LIMIT = 8 << 20


@dataclass(frozen=True, slots=True)
class FlagHistory:
    """The nearest older release that has a flag, and the nearest newer one; None where no release at hand has it."""

    older: str | None = None
    newer: str | None = None


class FolderSource:
    """The modules of a released tree in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, name: str) -> tuple[str, bool] | None:
        """As ``reading.modules.ModuleSource`` has it."""
        path = name.replace(".", "/")
        for candidate, is_package in ((f"{path}/__init__.py", True), (f"{path}.py", False)):
            if (self._folder / candidate).is_file():
                return candidate, is_package
        return None

    def syntax(self, path: str) -> ast.Module | None:
        """As ``reading.modules.ModuleSource`` has it."""
        try:
            return ast.parse(read_bytes(self._folder / path, _LIMIT))
        except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
            return None


def flag_histories(version: str | None, path: tuple[str, ...], flags: Iterable[str]) -> dict[str, FlagHistory]:
    """For each flag of the subcommand ``path``, the cached releases on either side of ``version`` that have it."""
    wanted = list(dict.fromkeys(flags))
    before, after = (_first_with(side, path, wanted) for side in cached_around("vllm", version))
    return {flag: FlagHistory(before.get(flag), after.get(flag)) for flag in wanted}


def _first_with(versions: list[str], path: tuple[str, ...], flags: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    parsers = 0
    for version in versions:
        missing = [flag for flag in flags if flag not in found]
        if not missing or parsers == _MOST:
            break
        folder = cached_release("vllm", version)
        if folder is None or not _names_one_of(folder, missing):
            continue
        parsers += 1
        options = _options(folder, path)
        found.update((flag, version) for flag in missing if flag in options)
    return found


def _names_one_of(folder: Path, flags: list[str]) -> bool:
    """False if no Python file of a released tree has one of the flags, as an option or as the name of a field."""
    names = [spelling.encode() for flag in flags for spelling in (flag, flag.lstrip("-").replace("-", "_"))]
    for at, _, files in os.walk(folder / "vllm"):
        for file in files:
            if file.endswith(".py"):
                try:
                    data = read_bytes(Path(at, file), _LIMIT)
                except OSError:
                    continue
                if any(name in data for name in names):
                    return True
    return False


def _options(folder: Path, path: tuple[str, ...]) -> frozenset[str]:
    """The options of a subcommand in a released tree; none if its parser cannot be read."""
    module, function = CONSOLE_SCRIPT
    parsed = read_command(
        FolderSource(folder),
        [*path, "MODEL"],
        module=module,
        function=function,
        program="vllm",
        environ={},
        lean=True,
    ).parsed
    return frozenset(parsed.parser.by_option()) if parsed.parser is not None else frozenset()
