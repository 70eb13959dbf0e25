"""From a launch that was read to what a walk of it needs: the words, the files of its models, what is assumed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from preflight.launch.launch import MODEL_DESTINATIONS
from preflight.launch.unresolved import is_open
from preflight.model import Undecided
from preflight.walk.assumptions import Assumptions, with_stated, with_visible
from preflight.walk.files import FILE, FOLDER, PARTLY, Files
from preflight.walk.given import Given, given_of

if TYPE_CHECKING:
    from preflight.launch.checkpoint import ModelFiles
    from preflight.launch.launch import Launch
    from preflight.launch.matching import Occurrence
    from preflight.program import Program
    from preflight.tree import Tree

SERVE = "serve"
#: the modules behind ``python -m`` that do what ``vllm serve`` does
_SERVERS = re.compile(r"vllm\.entrypoints(\.\w+)*\.api_server")
_MOST_FILES, _MOST_LEVELS, _LARGEST = 20_000, 3, 256 * 1024
#: packages with extensions or services of their own, which vLLM asks for and next to nobody has
_NOT_COMMON = frozenset({"modelscope", "libtpu"})


@dataclass(frozen=True, slots=True)
class Prepared:
    """What ``walk_launch`` is given."""

    argv: tuple[str, ...]
    given: Given | None
    files: Files
    assumptions: Assumptions


def prepare(launch: Launch, tree: Tree, program: Program, stated: Sequence[str]) -> Prepared | Undecided:
    """Make a launch ready to be walked, or say why it cannot be. Raises UsageError for assumptions that mean
    nothing.
    """
    match = launch.parsed.match
    if match is None:
        return _not_walked("its flags could not be read")
    serves = match.path == (SERVE,) or (
        launch.program.module is not None and _SERVERS.fullmatch(launch.program.module) is not None
    )
    if not serves:
        return _not_walked("only what `vllm serve` does is walked")
    if any(is_open(word) for word in launch.arguments):
        return _not_walked("the launch file does not tell all of its words")
    if launch.model is None:
        return _not_walked("the model's config.json is not here to be read")
    files = Files()
    _add_model(files, _text(launch.value("hf_config_path")) or launch.named_model or launch.model.name, launch.model)
    if launch.drafter is not None and launch.drafter.files is not None and launch.drafter.name is not None:
        _add_model(files, launch.drafter.name, launch.drafter.files)
    assumptions = with_visible(with_stated(_known(launch, tree, program), stated))
    return Prepared(tuple(_words(launch)), given_of(launch), files, _installed(assumptions, program))


def _not_walked(reason: str) -> Undecided:
    return Undecided("launch-not-walked", f"what vLLM makes of the launch is not walked: {reason}", decisive=True)


def _text(value: Any) -> str | None:  # noqa: ANN401 - any value of the reading
    return value if isinstance(value, str) and value else None


# --- the words ---


def _words(launch: Launch) -> Iterator[str]:
    """The words that the parser takes; those that it refuses are told as faults of the flags, and left out here."""
    match = launch.parsed.match
    assert match is not None
    if not launch.parsed.refused:
        words = list(launch.parsed.words)
        yield from words[1:] if words[:1] == [SERVE] else words
        return
    refused = {invalid.position for invalid in launch.parsed.invalid}
    for occurrence in match.occurrences:
        if occurrence.position is None or occurrence.position not in refused:
            yield from _words_of(occurrence)


def _words_of(occurrence: Occurrence) -> Iterator[str]:
    values = occurrence.values if isinstance(occurrence.values, (list, tuple)) else [occurrence.values]
    texts = [value for value in values if isinstance(value, str)]
    if occurrence.option is None:
        if occurrence.argument.dest in MODEL_DESTINATIONS:
            yield from texts
    elif len(texts) == 1 and occurrence.option.startswith("--"):
        yield f"{occurrence.option}={texts[0]}"
    else:
        yield occurrence.option
        yield from texts


# --- the files ---


def _add_model(files: Files, name: str, model: ModelFiles) -> None:
    """Lay a model's files out under the name by which the launch calls it, as if that were their folder.

    A hub id keeps its name that way, which code asks for in places.
    """
    whole = model.folder / model.file == model.folder / "config.json" and not name.endswith(".json")
    files.add(name, FOLDER if whole else PARTLY)
    if whole:
        _list(files, model.folder, name, 0)
    shown = model.file if whole or model.file == "params.json" else "config.json"
    files.add_json(f"{name}/{shown}", dict(model.config))


def _list(files: Files, folder: Path, name: str, level: int) -> None:
    """The entries of a folder, and of those in it; one that is too deep or too large is known in part only."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        files.add(name, PARTLY)
        return
    for entry in entries:
        inner = f"{name}/{entry.name}"
        if len(files) > _MOST_FILES:
            files.add(name, PARTLY)
            return
        if _is_folder(entry):
            deep = level >= _MOST_LEVELS
            files.add(inner, PARTLY if deep else FOLDER)
            if not deep:
                _list(files, Path(entry.path), inner, level + 1)
            continue
        files.add(inner, FILE)
        if level == 0 and entry.name.endswith(".json"):
            data = _json(Path(entry.path))
            if data is not None:
                files.add_json(inner, data)
        elif level == 0 and entry.name.endswith(".py"):
            text = _python(Path(entry.path))
            if text is not None:
                files.add_code(inner, text)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _json(path: Path) -> Any:  # noqa: ANN401 - JSON
    """The content of a small JSON file; None where that is not to be had."""
    import json

    from preflight.launch.errors import LaunchError
    from preflight.launch.files import read_text

    try:
        return json.loads(read_text(path, path.name, _LARGEST, "JSON"))
    except (LaunchError, ValueError, RecursionError):
        return None


def _python(path: Path) -> str | None:
    """The text of a small Python file; None where that is not to be had."""
    from preflight.launch.errors import LaunchError
    from preflight.launch.files import read_text

    try:
        return read_text(path, path.name, _LARGEST, "Python")
    except LaunchError:
        return None


# --- the machine ---


def _known(launch: Launch, tree: Tree, program: Program) -> Assumptions:
    """What the tree and the launch themselves say of the machine."""
    versions = {
        name: version
        for name, version in (
            ("vllm", tree.facts.vllm),
            ("transformers", tree.facts.transformers),
            ("torch", _pinned(tree, "torch")),
        )
        if version is not None
    }
    return Assumptions(
        platform=program.platforms.accelerator,
        absent=_NOT_COMMON,
        variables=launch.environment,
        open_variables=launch.open_environment,
        versions=versions,
        python=(*program.platform.python, 0),
    )


def _pinned(tree: Tree, name: str) -> str | None:
    """The version of a package: the one that is installed, else the one that vLLM's metadata pins."""
    from preflight.tree.distinfo import distributions

    for folder in (tree.root, *tree.packages):
        for distribution in distributions(folder, name):
            if distribution.version is not None:
                return distribution.version
    for distribution in distributions(tree.root, "vllm"):
        for line in distribution.requires:
            found = re.match(rf"{name}\s*\(?==\s*([\w.+!-]+)", line)
            if found is not None and "extra" not in line:
                return found[1]
    return None


def _installed(assumptions: Assumptions, program: Program) -> Assumptions:
    """With the packages that are surely there, or surely not: in a whole environment what it holds decides.

    Elsewhere, what vLLM itself requires cannot be assumed away: an installation without it is none that a release was
    ever started from, and what its code does then is not what the user asks about.
    """
    required = program.requirements.required()
    return replace(assumptions, absent=assumptions.absent - required, present=assumptions.present | required)
