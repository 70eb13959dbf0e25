"""Finds the folder that holds ``vllm/``: in the folder that the user names, or in the active environment.

Nothing is imported and nothing is run: environments are told by their folders, scripts by their first line.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from preflight.errors import TreeError
from preflight.tree.distinfo import Distribution, distributions
from preflight.tree.editable import editable_source
from preflight.tree.environment import Site, is_site_folder, site_at, sites_of
from preflight.tree.interpreters import on_path, prefixes_of_python, prefixes_of_script
from preflight.tree.kinds import PACKAGE, TreeKind
from preflight.tree.paths import absolute, exists, is_file, is_folder, same_place
from preflight.tree.reading import read_bytes

_WAY_OUT = "Name the folder (--vllm-site-packages DIR), or take a release as the tree (--vllm VERSION)."


@dataclass(frozen=True, slots=True)
class Location:
    """A tree that was found. ``site`` is the environment's site folder (None for a checkout), ``distribution`` the
    vLLM that is recorded there, ``notes`` what a user should know about the choice."""

    root: Path
    kind: TreeKind
    site: Site | None
    distribution: Distribution | None
    notes: tuple[str, ...] = ()


def locate(folder: str | None, environ: Mapping[str, str]) -> Location:
    """The tree in ``folder``, or that of the active environment if it is None. Raises TreeError or UsageError."""
    if folder is None:
        return _active(environ)
    path = absolute(folder)
    try:
        if not exists(path):
            raise TreeError(f"{folder} does not exist.", _WAY_OUT)
        if not is_folder(path):
            raise TreeError(f"{folder} is a file; a folder that holds vllm/ is wanted.", _WAY_OUT)
        os.scandir(path).close()
    except OSError as error:
        raise TreeError(f"{folder} cannot be read: {error.strerror}.", _WAY_OUT) from None
    found = _at(path)
    if found is None:
        raise TreeError(
            f"No vLLM is in {folder}: it is no site-packages folder or source checkout that holds "
            f"{PACKAGE}/__init__.py, and no virtual environment that has vLLM installed.",
            _nested(path) or _WAY_OUT,
        )
    return found


def _at(path: Path) -> Location | None:
    """The tree in a folder of any of the kinds that are accepted."""
    direct = _root(path)
    if direct is not None:
        return direct
    if _is_package(path / "src" / PACKAGE):
        return Location(path / "src", TreeKind.CHECKOUT, None, None)
    environment = _in_environment(path)
    if environment is not None:
        return environment
    if path.name == PACKAGE and _is_package(path):
        return _root(path.parent)
    return None


def _root(path: Path) -> Location | None:
    """The tree if ``path`` itself is the folder that holds ``vllm/``, or a site folder with an editable install."""
    found = distributions(path, PACKAGE)
    if is_folder(path / PACKAGE) and (found or _is_package(path / PACKAGE)):
        if not found and not is_site_folder(path):
            return Location(path, TreeKind.CHECKOUT, None, None)
        chosen, notes = _choose(found)
        return Location(path, TreeKind.INSTALLED, site_at(path), chosen, notes)
    if not found and not is_site_folder(path):
        return None
    chosen, notes = _choose(found)
    source = editable_source(path, PACKAGE, chosen)
    if source is not None:
        return Location(source, TreeKind.EDITABLE, site_at(path), chosen, notes)
    if chosen is not None:
        raise TreeError(
            f"{chosen.folder} says that vLLM is installed, but {path / PACKAGE} is not there, and no editable install "
            "leads to a source folder that is.",
            f"Reinstall vLLM in this environment. {_WAY_OUT}",
        )
    return None


def _choose(found: list[Distribution]) -> tuple[Distribution | None, tuple[str, ...]]:
    """One of several dist-info folders: that whose RECORD names vllm/__init__.py, the newest folder of these."""
    if len(found) < 2:
        return (found[0] if found else None), ()
    naming = [d for d in found if _names_package(d.record)] or found
    chosen = max(naming, key=lambda d: (_mtime(d.folder), d.folder.name))
    others = ", ".join(d.folder.name for d in found if d is not chosen)
    note = f"{chosen.folder.parent} holds {chosen.folder.name} and {others}: the first was taken for the installed one."
    return chosen, (note,)


def _names_package(record: Path) -> bool:
    try:
        return f"\n{PACKAGE}/__init__.py,".encode() in b"\n" + read_bytes(record)
    except OSError:
        return False


def _mtime(folder: Path) -> float:
    try:
        os.scandir(folder).close()  # so that a witness of this run knows that it hangs on the folder's time
        return folder.stat().st_mtime
    except OSError:
        return 0.0


def _in_environment(prefix: Path) -> Location | None:
    """The tree of the environment at ``prefix``. Raises TreeError if several of its Pythons have one."""
    found: dict[str, Location] = {}
    for site in sites_of(prefix):
        location = _root(site.folder)
        if location is not None:
            found.setdefault(os.path.realpath(location.root), location)
    if len(found) > 1:
        raise TreeError(
            f"Several vLLM trees are in {prefix}: {', '.join(str(f.root) for f in found.values())}.",
            "Name the one that will be launched: --vllm-site-packages DIR.",
        )
    return next(iter(found.values()), None)


def _active(environ: Mapping[str, str]) -> Location:
    """The tree of the active environment. What ``vllm`` on PATH starts settles which one it is."""
    looked: list[str] = []
    named: list[Location] = []
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if value := environ.get(variable):
            looked.append(f"{variable} ({value})")
            found = _in_environment(Path(value)) if Path(value).is_absolute() and "\0" not in value else None
            if found is not None and all(not same_place(found.root, other.root) for other in named):
                named.append(found)
    started, script = _started(environ, looked)
    if started is not None and (not named or any(same_place(started.root, n.root) for n in named)):
        return started
    if len(named) == 1 and (started is None or script is None):
        return named[0]
    if named:
        several = [*named, *([started] if started is not None and script is not None else [])]
        what = f", and {script} on PATH starts the last one" if len(several) > len(named) else ""
        raise TreeError(
            f"Several vLLM trees could be meant: {', '.join(str(n.root) for n in several)}{what}.",
            "Name the one that will be launched: --vllm-site-packages DIR.",
        )
    where = "; ".join(looked)
    raise TreeError(f"No vLLM was found in the active environment; looked at: {where}.", _WAY_OUT)


def _started(environ: Mapping[str, str], looked: list[str]) -> tuple[Location | None, Path | None]:
    """The tree that ``vllm`` on PATH starts, with the script; else the tree of the first ``python3`` or ``python``."""
    script = on_path(PACKAGE, environ)
    looked.append(f"vllm on PATH ({script or 'none'})")
    if script is not None:
        for prefix in prefixes_of_script(script, environ):
            if (found := _in_environment(prefix)) is not None:
                return found, script
    for name in ("python", "python3"):
        python = on_path(name, environ)
        looked.append(f"{name} on PATH ({python or 'none'})")
        for prefix in prefixes_of_python(python) if python is not None else ():
            if (found := _in_environment(prefix)) is not None:
                return found, None
    return None, None


def _nested(path: Path) -> str | None:
    """A hint when an environment lies in the folder that was named, as ``.venv`` does in a project."""
    for name in (".venv", "venv", "env"):
        try:
            if _in_environment(path / name) is not None:
                return f"The environment in {path / name} has one: --vllm-site-packages {path / name}."
        except TreeError:
            return None
    return None


def _is_package(folder: Path) -> bool:
    return is_file(folder / "__init__.py")
