"""Opens the tree that a request asks for: finds it, compares it with its reference, lays the overlays over it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from preflight.errors import UsageError
from preflight.model import PatchedFile, TreeFacts, Undecided
from preflight.tree.checkout import checkout_version
from preflight.tree.distinfo import distributions
from preflight.tree.environment import Site, interpreter_of, package_folders, sites_of
from preflight.tree.interpreters import on_path, prefixes_of_python
from preflight.tree.kinds import TreeKind, TreeRequest
from preflight.tree.locate import PACKAGE, Location, locate
from preflight.tree.patched import Comparison, compare
from preflight.tree.paths import absolute, same_place
from preflight.tree.record import Record, read_record
from preflight.tree.reference import RecordReference, Reference
from preflight.tree.scan import Listing, scan
from preflight.tree.tree import Tree


def open_tree(request: TreeRequest, environ: Mapping[str, str]) -> Tree:
    """The tree that ``request`` asks for. Raises TreeError, FetchError or UsageError, each with the way out."""
    python = _given_python(request.python, environ)
    if request.vllm is not None and request.site_packages is None and not request.use_environment:
        raise UsageError("A released tree is not supported yet.")
    location = locate(request.site_packages, environ)
    return _opened(request, location, _surroundings(location, python, environ), environ)


@dataclass(frozen=True, slots=True)
class _Surroundings:
    """The environment around a tree. ``sure``: it is the one that will run it, not just one that is active."""

    interpreter: Path | None = None
    site: Site | None = None
    packages: tuple[Path, ...] = ()
    sure: bool = False


def _opened(request: TreeRequest, location: Location, around: _Surroundings, environ: Mapping[str, str]) -> Tree:
    root = location.root
    listing = scan(root, PACKAGE)
    record = _own_record(location)
    comparison, reference = _compared(request, location, listing, record)
    packages = tuple(folder for folder in around.packages if not same_place(folder, root))
    places = (root, *packages)
    own = location.distribution
    version = own.version if own is not None and location.kind is TreeKind.INSTALLED else None
    facts = TreeFacts(
        site_packages=str(root),
        vllm=version or checkout_version(root, PACKAGE, environ) or (own.version if own is not None else None),
        transformers=_version_in(places, "transformers"),
        python=around.site.python if around.site is not None else None,
        patched=tuple(PatchedFile(path, state) for path, state in comparison.states.items()),
    )
    return Tree(
        root=root,
        kind=location.kind,
        facts=facts,
        packages=packages,
        whole_environment=around.sure and _version_in(places, "torch") is not None,
        interpreter=around.interpreter,
        python_range=own.requires_python if own is not None else None,
        notes=(*location.notes, *comparison.notes),
        undecided=comparison.undecided,
        compiled=record.compiled if record is not None else frozenset(),
        listing=frozenset(listing.files),
        reference=reference,
    )


def _own_record(location: Location) -> Record | None:
    """The RECORD of the installed vLLM, if it speaks of the files of this tree."""
    if location.kind is not TreeKind.INSTALLED or location.distribution is None:
        return None
    file = location.distribution.record
    return read_record(file) if os.path.lexists(file) else None


def _compared(
    request: TreeRequest, location: Location, listing: Listing, record: Record | None
) -> tuple[Comparison, Reference | None]:
    """The comparison with the reference that the request or the tree itself gives, if there is one."""
    root = location.root
    if record is not None and record.names_package(PACKAGE):
        comparison = compare(root, PACKAGE, listing, record, whole_tree=request.whole_tree)
        version = location.distribution.version if location.distribution is not None else None
        note = f"The files were compared with {record.file.parent.name}/{record.file.name}."
        reference = RecordReference(root, record, comparison.states, lambda: _cached_release(version))
        return replace(comparison, notes=(note, *comparison.notes)), reference
    why = "its dist-info has no RECORD" if record is None else "its RECORD has no hashes of them"
    if location.kind is not TreeKind.INSTALLED or location.distribution is None:
        why = "a source folder carries no hashes of its release"
    undecided = Undecided(
        "no-reference",
        f"Which files of {root} are patched is not known: {why}. Say what to compare with: --vllm VERSION (a release) "
        "or --base-ref REF (a git commit).",
        decisive=True,
    )
    return Comparison({}, (), (undecided,)), None


def _cached_release(version: str | None) -> Path | None:
    return None


def _surroundings(location: Location, python: Path | None, environ: Mapping[str, str]) -> _Surroundings:
    """The interpreter and the packages that go with a tree: of ``--python``, of the tree's environment, or, for a
    checkout, of the environment in it or the active one."""
    home = environ.get("HOME")
    if location.site is not None:
        site = location.site
        return _Surroundings(python or _interpreter(site), site, tuple(package_folders(site, home)), sure=True)
    if python is not None:
        site = _site_with_packages(prefixes_of_python(python))
        return _Surroundings(python, site, tuple(package_folders(site, home)) if site else (), sure=site is not None)
    inside = [location.root / ".venv", location.root.parent / ".venv"]
    if (site := _site_with_packages(inside)) is not None:
        return _Surroundings(_interpreter(site), site, tuple(package_folders(site, home)), sure=True)
    active = [Path(environ[name]) for name in ("VIRTUAL_ENV", "CONDA_PREFIX") if environ.get(name)]
    if (site := _site_with_packages(active)) is not None:
        return _Surroundings(_interpreter(site), site, tuple(package_folders(site, home)))
    return _Surroundings()


def _site_with_packages(prefixes: list[Path]) -> Site | None:
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


def _given_python(value: str | None, environ: Mapping[str, str]) -> Path | None:
    """``--python``: a file, or the name of a program on PATH."""
    if value is None:
        return None
    help = "Name the interpreter that will run vLLM: --python /path/to/environment/bin/python."
    file = absolute(value)
    if "\0" in value or not value:
        raise UsageError(f"--python {value!r} is no file.", help)
    if os.sep not in value and not file.exists() and (found := on_path(value, environ)) is not None:
        return found
    if file.is_dir():
        raise UsageError(f"--python {value} is a folder, not an interpreter.", help)
    if not file.exists():
        raise UsageError(f"--python {value} does not exist.", help)
    if not os.access(file, os.X_OK):
        raise UsageError(f"--python {value} is not executable.", help)
    return file


def _version_in(folders: tuple[Path, ...], name: str) -> str | None:
    for folder in folders:
        for found in distributions(folder, name):
            return found.version
    return None
