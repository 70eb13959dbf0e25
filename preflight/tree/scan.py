"""Walks a package folder as Python's import system would see it: links are followed, loops are not."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from preflight.errors import TreeError

#: A released vLLM has about 5,000 files; links that multiply a tree must not multiply the time.
_LIMIT = 200_000
_LINKS = 500


@dataclass(frozen=True, slots=True)
class Listing:
    """What is under a package folder. All paths are relative to the folder above it, with ``/``."""

    files: tuple[str, ...]  #: every file, links to files included, also those that lead nowhere; sorted
    dead: tuple[str, ...]  #: of these, links that lead nowhere or in a circle
    loops: tuple[str, ...]  #: folders that link to a folder they are in
    closed: tuple[tuple[str, str], ...]  #: folders that cannot be listed, and the reason


def scan(root: Path, package: str) -> Listing:
    """Lists ``root/package``. ``__pycache__`` and names that are not text are nothing. Raises TreeError if endless."""
    files: list[str] = []
    dead: list[str] = []
    loops: list[str] = []
    closed: list[tuple[str, str]] = []
    # A folder, where it really is, and where the links were that led here: enough to tell a loop from a link.
    stack: list[tuple[str, str, tuple[str, ...]]] = [(package, os.path.realpath(root / package), ())]
    base = os.fspath(root)
    folders = links = 0
    while stack:
        folder, real, chain = stack.pop()
        folders += 1
        try:
            with os.scandir(os.path.join(base, folder)) as entries:  # noqa: PTH118 - one join a folder
                for entry in entries:
                    name = entry.name
                    if name == "__pycache__" or not name.isprintable():
                        continue
                    path = f"{folder}/{name}"
                    try:
                        is_folder = entry.is_dir()
                        is_link = entry.is_symlink()
                    except OSError:  # a link in a circle
                        files.append(path)
                        dead.append(path)
                        continue
                    if not is_folder:
                        files.append(path)
                        if is_link and not os.path.exists(entry.path):  # noqa: PTH110
                            dead.append(path)
                    elif not is_link:
                        stack.append((path, f"{real}{os.sep}{name}", chain))
                    else:
                        target = os.path.realpath(entry.path)
                        seen = (*chain, real)
                        if any(place == target or place.startswith(target.rstrip(os.sep) + os.sep) for place in seen):
                            loops.append(path)
                        else:
                            links += 1
                            stack.append((path, target, seen))
        except OSError as error:
            closed.append((folder, error.strerror or str(error)))
        if len(files) + folders > _LIMIT or links > _LINKS:
            what = f"{_LINKS} links to folders" if links > _LINKS else f"{_LIMIT:,} files"
            raise TreeError(
                f"{root / package} holds more than {what}, which no vLLM does.",
                "Name the folder that holds vLLM's own vllm/ package: --vllm-site-packages DIR.",
            )
    files.sort()
    return Listing(tuple(files), tuple(sorted(dead)), tuple(sorted(loops)), tuple(sorted(closed)))
