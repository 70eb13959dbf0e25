"""Editable installs: from an environment's site folder to the source folder that its vLLM is imported from.

The knowledge is PEP 610 (``direct_url.json``), ``.pth`` files, and setuptools' ``__editable__*`` finder modules, whose
``MAPPING`` of packages to folders is read as a literal. Nothing of them is run.
"""

from __future__ import annotations

import os
from pathlib import Path

from preflight.tree.distinfo import Distribution
from preflight.tree.environment import pth_folders
from preflight.tree.paths import is_file, names_in, same_place
from preflight.tree.reading import read_bytes

_SMALL = 8 << 20


def editable_source(site: Path, package: str, distribution: Distribution | None) -> Path | None:
    """The folder that holds ``package/`` for an editable install in ``site``; None if there is none that exists."""
    candidates = [*_finder_folders(site, package), *pth_folders(site)]
    if distribution is not None and (source := direct_url(distribution)) is not None:
        candidates += [source, source / "src"]
    for folder in candidates:
        if is_file(folder / package / "__init__.py") and not same_place(folder, site):
            return folder
    return None


def direct_url(distribution: Distribution) -> Path | None:
    """The folder that ``direct_url.json`` names for an install from a local folder."""
    import json
    from urllib.parse import unquote, urlsplit

    try:
        value = json.loads(read_bytes(distribution.folder / "direct_url.json", _SMALL))
        url = urlsplit(value["url"])
        if url.scheme != "file" or "dir_info" not in value:
            return None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    path = unquote(url.path)
    if os.name == "nt":
        path = path.lstrip("/")
    return Path(path) if path and "\0" not in path else None


def _finder_folders(site: Path, package: str) -> list[Path]:
    """The folders of ``MAPPING`` in the finder modules whose name says editable, of which ``package`` is one."""
    found = []
    for name in names_in(site):
        if name.startswith("__editable__") and name.endswith(".py"):
            folder = _mapping(site / name).get(package)
            if isinstance(folder, str) and Path(folder).name == package:
                found.append(Path(folder).parent)
    return found


def _mapping(file: Path) -> dict[object, object]:
    """The literal that ``MAPPING`` is given in a finder module; empty if there is none."""
    import ast

    try:
        module = ast.parse(read_bytes(file, _SMALL))
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return {}
    for node in module.body:
        if isinstance(node, ast.AnnAssign):
            target, value = node.target, node.value
        elif isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, value = node.targets[0], node.value
        else:
            continue
        if isinstance(target, ast.Name) and target.id == "MAPPING" and value is not None:
            try:
                literal = ast.literal_eval(value)
            except (ValueError, TypeError, RecursionError):
                return {}
            return literal if isinstance(literal, dict) else {}
    return {}
