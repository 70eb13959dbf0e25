"""Which files of a patch are diffs, and in which order they are applied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from preflight.errors import TreeError
from preflight.tree.diff import looks_like_diff, read_diff
from preflight.tree.gather import Given
from preflight.tree.kinds import PACKAGE
from preflight.tree.paths import names_in
from preflight.tree.placing import Places


def in_order(diffs: Sequence[Given], files: Sequence[Given]) -> list[Given]:
    """Diffs by name, or as a ``series`` file beside them (quilt's) says."""
    series = next((file for file in files if file.parts == ("series",)), None)
    if series is None:
        return sorted(diffs, key=lambda file: file.parts)
    by_name = {"/".join(file.parts): file for file in diffs}
    lines = (line.partition("#")[0].split() for line in series.data.decode("utf-8", "replace").splitlines())
    names = [words[0] for words in lines if words]
    for name in names:
        if name not in by_name:
            raise TreeError(f"{series.file} names {name}, which is not beside it.", "Correct the series file.")
    return [by_name[name] for name in names]


def unused(files: Sequence[Given], scripts: frozenset[str]) -> list[Given]:
    """The diffs that no script applies, named as a series file beside them names them."""
    return [replace(one, parts=one.parts[-1:]) for one in files if one.is_diff and one.name not in scripts]


def is_series(diffs: Sequence[Given], places: Places) -> bool:
    """Whether diffs of a repository are one patch of the tree: they stand in one folder and in an order, and each of
    them changes files of the tree. Others may be for several releases, or for other packages."""
    folders = {file.name.rpartition("/")[0] for file in diffs}
    numbered = all(file.file.name[:1].isdigit() for file in diffs)
    beside = [one for one in names_in(diffs[0].file.parent) if one == "series"]
    if len(folders) > 1 or not (len(diffs) == 1 or numbered or beside):
        return False
    for file in diffs:
        try:
            changed = read_diff(file.data, file.name)
        except TreeError:
            return False
        named = [name for one in changed for name in (one.old, one.new) if name is not None]
        if not any(PACKAGE in PurePosixPath(name).parts[:3] and places.of_diff([name]) for name in named):
            return False
    return True


def is_diff(file: Given) -> bool:
    """Whether a file is a diff, by its name or its text."""
    return file.is_diff or (file.file.suffix != ".py" and looks_like_diff(file.data))
