"""Programs on PATH and the environments that they belong to, told by links and by a script's first lines."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from preflight.tree.paths import absolute, exists, is_file
from preflight.tree.reading import read_bytes

_SCRIPT = 16 << 20


def on_path(name: str, environ: Mapping[str, str]) -> Path | None:
    """The first executable called ``name`` on the PATH of ``environ``."""
    names = (f"{name}.exe", name) if os.name == "nt" else (name,)
    for folder in environ.get("PATH", "").split(os.pathsep):
        if not folder or "\0" in folder:
            continue
        for each in names:
            file = Path(folder, each)
            if is_file(file) and os.access(file, os.X_OK):
                return file
    return None


def prefixes_of_python(python: Path) -> list[Path]:
    """The folders that can be the environment of an interpreter: where it is, and where each of its links leads.

    The unresolved place comes first: the ``python`` of a virtual environment is a link to that of its base.
    """
    found: list[Path] = []
    file = absolute(python)
    for _ in range(40):  # as many links as a kernel follows
        for prefix in (file.parent.parent, file.parent):  # on Windows a base's python.exe is in its top folder
            if prefix not in found and (prefix == file.parent.parent or os.name == "nt"):
                found.append(prefix)
        try:
            target = os.readlink(file)  # noqa: PTH115 - joined as text
        except OSError:
            break
        file = Path(os.path.normpath(file.parent / target))
    return found


def prefixes_of_script(script: Path, environ: Mapping[str, str]) -> list[Path]:
    """The folders that can be the environment of a console script: its interpreter's, then where the script lies.

    The first is told by ``#!/path/python``, ``#!/usr/bin/env python3``, the two-line form for long paths
    (``'''exec' "/path/python" "$0" "$@"``), or the same inside a Windows launcher.
    """
    found: list[Path] = []
    try:
        head = read_bytes(script, _SCRIPT)
    except OSError:
        head = b""
    if not head.startswith(b"#!") and (place := head.rfind(b"#!")) >= 0:
        head = head[place:]
    lines = head[:4096].decode("utf-8", "replace").splitlines()[:3]
    if lines and lines[0].startswith("#!"):
        found += prefixes_of_python(python) if (python := _interpreter(lines, environ)) is not None else []
    for place in (script, Path(os.path.realpath(script))):
        if place.parent.parent not in found:
            found.append(place.parent.parent)
    return found


def _interpreter(lines: list[str], environ: Mapping[str, str]) -> Path | None:
    command = lines[0][2:].strip()
    if command.endswith("/sh") and len(lines) > 1 and (match := re.match(r"'''exec' (\"[^\"]+\"|\S+)", lines[1])):
        return Path(match[1].strip('"'))
    if "python" not in command:
        return None
    if os.path.basename(command.split()[0]) == "env":  # noqa: PTH119
        words = [word for word in command.split()[1:] if not word.startswith("-")]
        return on_path(words[0], environ) if words else None
    if command.startswith('"'):
        command = command[1:].partition('"')[0]
    path = Path(command)
    return path if exists(path) else Path(command.split()[0])
