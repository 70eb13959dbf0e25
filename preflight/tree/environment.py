"""The layout of Python environments, read from their folders and files; no interpreter is run.

The knowledge is that of the standard library's ``site`` and ``sysconfig`` (``lib/pythonX.Y/site-packages``, ``lib64``,
Debian's ``dist-packages``, Windows' ``Lib/site-packages``), of PEP 405 (``pyvenv.cfg``) and of ``.pth`` files.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from preflight.tree.paths import is_file, is_folder, names_in
from preflight.tree.reading import read_bytes

_FOLDERS = ("site-packages", "dist-packages")
_SMALL = 1 << 20


@dataclass(frozen=True, slots=True)
class Site:
    """A folder where distributions are installed, its environment, and that environment's Python (``3.12``)."""

    folder: Path
    prefix: Path | None
    python: str | None


def sites_of(prefix: Path) -> list[Site]:
    """The existing site folders of an environment, each once (``lib64`` is often a link to ``lib``)."""
    config = pyvenv_config(prefix)
    found: list[Site] = []
    seen: set[str] = set()

    def add(folder: Path, python: str | None) -> None:
        real = os.path.realpath(folder)
        if is_folder(folder) and real not in seen:
            seen.add(real)
            found.append(Site(folder, prefix, python))

    for lib in ("lib", "lib64", "local/lib"):
        versions = [name for name in names_in(prefix / lib) if re.fullmatch(r"python3\.\d+t?", name)]
        for name in sorted(versions, key=lambda n: int(re.sub(r"\D", "", n[8:]))):
            for kind in _FOLDERS:
                add(prefix / lib / name / kind, name[6:].rstrip("t"))
    add(prefix / "lib" / "python3" / "dist-packages", None)
    add(prefix / "Lib" / "site-packages", config_version(config))
    return found


def site_at(folder: Path) -> Site:
    """What is known of a folder that is taken for a site folder, from where it lies."""
    parent = folder.parent
    if folder.name in _FOLDERS and (match := re.fullmatch(r"python(3\.\d+)t?", parent.name)):
        prefix = parent.parent.parent
        return Site(folder, prefix, match[1])
    if folder.name in _FOLDERS and parent.name == "python3":
        return Site(folder, parent.parent.parent, None)
    if folder.name == "site-packages" and parent.name == "Lib":
        return Site(folder, parent.parent, config_version(pyvenv_config(parent.parent)))
    return Site(folder, None, None)


def is_site_folder(folder: Path) -> bool:
    """True if ``folder`` is where distributions are installed, by its name or by what is in it."""
    return folder.name in _FOLDERS or any(name.endswith(".dist-info") for name in names_in(folder))


def pyvenv_config(prefix: Path) -> dict[str, str]:
    """The settings of ``pyvenv.cfg``, keys in lower case; empty if there is none."""
    try:
        text = read_bytes(prefix / "pyvenv.cfg", _SMALL).decode("utf-8", "replace")
    except OSError:
        return {}
    pairs = (line.partition("=") for line in text.splitlines())
    return {key.strip().lower(): value.strip() for key, equals, value in pairs if equals}


def config_version(config: dict[str, str]) -> str | None:
    """``3.12`` out of ``version = 3.12.1`` (venv) or ``version_info = 3.12.1.final.0`` (virtualenv, uv)."""
    for key in ("version", "version_info"):
        if match := re.match(r"(3\.\d+)", config.get(key, "")):
            return match[1]
    return None


def interpreter_of(prefix: Path, python: str | None) -> Path | None:
    """The environment's own interpreter, if it is there and may be run."""
    names = [f"bin/python{python}"] if python else []
    for name in (*names, "bin/python3", "bin/python", "Scripts/python.exe", "python.exe"):
        file = prefix / name
        if is_file(file) and os.access(file, os.X_OK):
            return file
    return None


def package_folders(site: Site, home: str | None) -> list[Path]:
    """All folders where this environment's imports are found, ``site`` first: its other site folders, those of its
    base (``include-system-site-packages``) or of the user (``home``), and the folders that ``.pth`` files add."""
    found = [site.folder]
    if site.prefix is not None:
        config = pyvenv_config(site.prefix)
        found += _of_version(site.prefix, site.python)
        if not config and home and site.python:
            found += [s.folder for s in sites_of(Path(home, ".local")) if s.python == site.python]
        if not config and site.prefix.name == "local":
            found += _of_version(site.prefix.parent, site.python)  # Debian: /usr/local beside /usr
        if config.get("include-system-site-packages", "").lower() == "true" and (base := config.get("home")):
            found += _of_version(Path(base).parent, site.python)
    for folder in tuple(found):
        found += pth_folders(folder)
    unique: dict[str, Path] = {}
    for folder in found:
        unique.setdefault(os.path.realpath(folder), folder)
    return list(unique.values())


def pth_folders(site: Path) -> list[Path]:
    """The existing folders that the ``.pth`` files of ``site`` add. Their ``import`` lines are not run."""
    found = []
    for name in names_in(site):
        if not name.endswith(".pth") or name.startswith("."):
            continue
        try:
            text = read_bytes(site / name, _SMALL).decode("utf-8", "replace")
        except OSError:
            continue
        for line in text.splitlines():
            line = line.strip()
            if not line or line.startswith(("#", "import ", "import\t")) or "\0" in line:
                continue
            folder = Path(os.path.normpath(site / line))
            if is_folder(folder):
                found.append(folder)
    return found


def _of_version(prefix: Path, python: str | None) -> list[Path]:
    return [s.folder for s in sites_of(prefix) if python is None or s.python in (python, None)]
