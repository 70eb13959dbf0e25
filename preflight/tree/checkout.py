"""The version of a source folder, as its build or its git tags left it there. vLLM is not run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from preflight.errors import TreeError
from preflight.tree.distinfo import read_distribution
from preflight.tree.reading import read_bytes

_SMALL = 1 << 20


def checkout_version(root: Path, package: str, environ: Mapping[str, str]) -> str | None:
    """The version in ``_version.py`` (setuptools-scm writes it), else in ``PKG-INFO`` (of a build or an sdist), else
    after the nearest version tag of git; None without any."""
    written = (
        _written(root / package / "_version.py")
        or read_distribution(root / f"{package}.egg-info").version
        or read_distribution(root).version
    )
    if written is not None:
        return written
    from preflight.tree.git import repository_of

    try:
        repository = repository_of(root, environ)
        return repository.describe() if repository is not None else None
    except TreeError:  # without git the version is not known, and nothing else is lost
        return None


def _written(file: Path) -> str | None:
    """The text that ``__version__`` or ``version`` is given at the top of ``file``."""
    import ast

    try:
        module = ast.parse(read_bytes(file, _SMALL))
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return None
    for node in module.body:
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Constant):
            continue
        names = {target.id for target in node.targets if isinstance(target, ast.Name)}
        if names & {"__version__", "version"} and isinstance(node.value.value, str):
            return node.value.value
    return None
