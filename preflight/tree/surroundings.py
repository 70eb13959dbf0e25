"""What is around a tree: the interpreter that will run vLLM, and the packages beside it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from preflight.errors import UsageError
from preflight.tree.distinfo import distributions
from preflight.tree.environment import Site, interpreter_of, package_folders, sites_of
from preflight.tree.interpreters import on_path, prefixes_of_python
from preflight.tree.paths import absolute, exists, is_folder


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The environment around a tree. ``sure``: it is the one that will run it, not just one that is active."""

    interpreter: Path | None = None
    site: Site | None = None
    packages: tuple[Path, ...] = ()
    sure: bool = False


def surroundings(site: Site | None, root: Path | None, python: Path | None, environ: Mapping[str, str]) -> Surroundings:
    """What goes with a tree: of its own environment (``site``); else of ``--python``; else, for a source folder
    ``root``, of the environment in it or the active one."""
    home = environ.get("HOME")
    if site is not None:
        return Surroundings(python or _interpreter(site), site, tuple(package_folders(site, home)), sure=True)
    if python is not None:
        site = _with_packages(prefixes_of_python(python))
        return Surroundings(python, site, tuple(package_folders(site, home)) if site else (), sure=site is not None)
    if root is None:
        return Surroundings()
    if (site := _with_packages([root / ".venv", root.parent / ".venv"])) is not None:
        return Surroundings(_interpreter(site), site, tuple(package_folders(site, home)), sure=True)
    active = [Path(environ[name]) for name in ("VIRTUAL_ENV", "CONDA_PREFIX") if environ.get(name)]
    if (site := _with_packages(active)) is not None:
        return Surroundings(_interpreter(site), site, tuple(package_folders(site, home)))
    return Surroundings()


def given_python(value: str | None, environ: Mapping[str, str]) -> Path | None:
    """``--python``: a file, or the name of a program on PATH. Raises UsageError if it is no program."""
    if value is None:
        return None
    help = "Name the interpreter that will run vLLM: --python /path/to/environment/bin/python."
    file = absolute(value)
    if os.sep not in value and not exists(file) and (found := on_path(value, environ)) is not None:
        return found
    if is_folder(file):
        raise UsageError(f"--python {value} is a folder, not an interpreter.", help)
    if not exists(file):
        raise UsageError(f"--python {value} does not exist.", help)
    if not os.access(file, os.X_OK):
        raise UsageError(f"--python {value} is not executable.", help)
    return file


def _with_packages(prefixes: list[Path]) -> Site | None:
    """The first site folder that holds what vLLM stands on."""
    for prefix in prefixes:
        for site in sites_of(prefix):
            if distributions(site.folder, "transformers") or distributions(site.folder, "torch"):
                return site
    return None


def _interpreter(site: Site) -> Path | None:
    if site.prefix is None:
        return None
    beside = [site.prefix.parent] if site.prefix.name == "local" else []  # Debian: /usr/local has none of its own
    for prefix in (site.prefix, *beside):
        if (found := interpreter_of(prefix, site.python)) is not None:
            return found
    return None
