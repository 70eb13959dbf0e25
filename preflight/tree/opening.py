"""Opens the tree that a request asks for: finds it, compares it with its reference, lays the overlays over it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from preflight.model import PatchedFile, TreeFacts, Undecided
from preflight.tree.basis import basis, release_record
from preflight.tree.checkout import checkout_version
from preflight.tree.distinfo import distributions
from preflight.tree.kinds import JOURNAL, PACKAGE, STORE, TreeKind, TreeRequest
from preflight.tree.locate import Location, locate
from preflight.tree.patched import Comparison
from preflight.tree.paths import exists, same_place
from preflight.tree.reference import Basis, ReleaseReference
from preflight.tree.scan import Listing, scan
from preflight.tree.surroundings import Surroundings, given_python, surroundings
from preflight.tree.tree import Tree


def open_tree(request: TreeRequest, environ: Mapping[str, str]) -> Tree:
    """The tree that ``request`` asks for. Raises TreeError, FetchError or UsageError, each with the way out."""
    python = given_python(request.python, environ)
    if request.vllm is not None and request.site_packages is None and not request.use_environment:
        tree, by_git = _released(request, python, environ), False
    else:
        location = locate(request.site_packages, environ)
        listing = scan(location.root, PACKAGE)
        found = basis(request, location, listing, environ)
        around = surroundings(location.site, location.root, python, environ)
        tree, by_git = _tree(location, listing, found, around, environ), found.by_git
    return _laid_over(tree, request, by_git, environ)


def _laid_over(tree: Tree, request: TreeRequest, by_git: bool, environ: Mapping[str, str]) -> Tree:
    """The overlays and PATHs. The git options are about the tree's own repository if it has one and no PATH is
    elsewhere, else about the repository of the PATHs (which is that of the working folder if there are none)."""
    limited = (request.staged or request.base_ref is not None) and not by_git
    paths = request.paths
    if limited and not paths and not request.overlays:
        paths = (".",)
    if not paths and not request.overlays:
        return tree
    from preflight.tree.gather import Selection
    from preflight.tree.overlay import lay_over

    selection = Selection(request.staged, request.base_ref, environ) if limited else Selection(False, None, environ)
    return lay_over(tree, request.overlays, paths, selection, only_patched=by_git, option=request.overlay_option)


def _released(request: TreeRequest, python: Path | None, environ: Mapping[str, str]) -> Tree:
    """A release's sources out of the cache, with the transformers that goes with them if no environment is given."""
    from preflight.tree.release import fetch_release, fetch_requirement

    root = fetch_release(
        PACKAGE, request.vllm or "", progress=request.progress, verify=not request.use_cache, environ=environ
    )
    own = distributions(root, PACKAGE)[0]
    around = surroundings(None, None, python, environ)
    notes = [f"The tree is vLLM {own.version} as released: its Python sources only."]
    if not around.packages:
        fetched, note = fetch_requirement("transformers", own, progress=request.progress, environ=environ)
        around = replace(around, packages=(fetched,) if fetched is not None else ())
        notes.append(note)
    location = Location(root, TreeKind.RELEASED, None, own, tuple(notes))
    listing = scan(root, PACKAGE)
    record = release_record(root)
    absent = frozenset(path for path in record.entries if not path.endswith(".py")).difference(listing.files)
    found = Basis(Comparison({}, absent=absent), ReleaseReference(root), record)
    return _tree(location, listing, found, around, environ)


def _tree(location: Location, listing: Listing, found: Basis, around: Surroundings, environ: Mapping[str, str]) -> Tree:
    root = location.root
    packages = tuple(folder for folder in around.packages if not same_place(folder, root))
    places = (root, *packages)
    own = location.distribution
    version = own.version if own is not None else None
    if version is None or location.kind in (TreeKind.EDITABLE, TreeKind.CHECKOUT):
        version = checkout_version(root, PACKAGE, environ) or version
    facts = TreeFacts(
        site_packages=str(root),
        vllm=version,
        transformers=_version_in(places, "transformers"),
        python=around.site.python if around.site is not None else None,
        patched=tuple(PatchedFile(path, state) for path, state in found.comparison.states.items()),
    )
    return Tree(
        root=root,
        kind=location.kind,
        facts=facts,
        packages=packages,
        whole_environment=around.sure and _version_in(places, "torch") is not None,
        interpreter=around.interpreter,
        python_range=own.requires_python if own is not None else None,
        notes=(*location.notes, *found.comparison.notes),
        undecided=(*_half_written(root), *found.comparison.undecided),
        compiled=found.record.compiled if found.record is not None else frozenset(),
        listing=frozenset(listing.files),
        layer=found.layer,
        absent=found.comparison.absent,
        reference=found.reference,
    )


def _half_written(root: Path) -> tuple[Undecided, ...]:
    if not exists(root / STORE / JOURNAL):
        return ()
    return (
        Undecided(
            "apply-unfinished",
            f"An apply or restore of {root} is under way or was interrupted: some of its files may be written and "
            "others not. `preflight restore` ends it.",
            decisive=True,
        ),
    )


def _version_in(folders: tuple[Path, ...], name: str) -> str | None:
    for folder in folders:
        for found in distributions(folder, name):
            return found.version
    return None
