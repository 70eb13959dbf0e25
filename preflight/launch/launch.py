"""A launch: the command of vLLM, its arguments through the tree's own parser, its model and its drafter."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from preflight.launch.checkpoint import ModelFiles, read_model
from preflight.launch.command import MAX_BYTES, Commands, find_commands, names_model
from preflight.launch.documents import DocumentError, read_documents
from preflight.launch.documents import Mapping as YamlMapping
from preflight.launch.entry import ProgramSource, console_script
from preflight.launch.errors import LaunchError
from preflight.launch.exported import is_known
from preflight.launch.files import exists, read_text
from preflight.launch.hub import locate
from preflight.launch.parsing import Parsed, read_command
from preflight.launch.programs import Program
from preflight.launch.request import LaunchRequest
from preflight.launch.unresolved import is_open, marks_in, readable
from preflight.launch.words import COMMAND_LINE, Origin, Word
from preflight.model import Undecided

if TYPE_CHECKING:
    from preflight.launch.sources.found import Assignment
    from preflight.program import Program as TreeProgram
    from preflight.tree import Tree

#: The arguments that everything else hangs on. They are vLLM's public interface: the positional argument of ``serve``
#: goes before ``--model``, as the command's own code has it.
MODEL_DESTINATIONS = ("model_tag", "model")
SPECULATIVE_CONFIG = "speculative_config"
DRAFTER_MODEL = "spec_model"


@dataclass(frozen=True, slots=True)
class Drafter:
    """The drafter of a launch: the ``settings`` of ``--speculative-config``, and its model's ``files`` if at hand."""

    settings: Mapping[str, Any]
    name: str | None = None
    files: ModelFiles | None = None


@dataclass(frozen=True, slots=True)
class Launch:
    """One command of vLLM, read.

    ``arguments`` are its words behind the program, each with its place; ``environment`` are the variables that the
    launch sets (a value that its file does not tell is left out); ``parsed`` is what the tree's parser makes of them.
    ``named_model`` is the model as the command names it (None: not named, or not known).
    ``config_keys`` are the places of the keys of vLLM's ``--config`` file. ``inherited`` are the variables that it has
    before it sets any: they are among those of ``environment``.
    """

    program: Program
    arguments: tuple[Word, ...]
    environment: Mapping[str, str]
    open_environment: tuple[str, ...]
    parsed: Parsed
    named_model: str | None = None
    model: ModelFiles | None = None
    drafter: Drafter | None = None
    config_keys: Mapping[str, Origin] = ()  # type: ignore[assignment]
    undecided: tuple[Undecided, ...] = ()
    bare: bool = False
    others: tuple[Launch, ...] = ()
    inherited: tuple[Assignment, ...] = ()

    @property
    def runs_vllm(self) -> bool:
        """False for words that name no program and that the tree's parser does not know as a command either."""
        if not self.bare or self.arguments[:1] == (Word("serve"),):
            return True
        return self.parsed.match is not None and not _is_no_command(self.parsed)

    def origin_of_variable(self, name: str) -> Origin:
        """Where an environment variable of the launch is set."""
        found = (item.origin for item in (*self.program.environment, *self.inherited) if item.name == name)
        return next(found, COMMAND_LINE)

    def value(self, destination: str) -> Any:  # noqa: ANN401 - any value of the reading
        """The value of an argument: as given, else the parser's default, else None."""
        values = self.parsed.values
        return values[destination] if destination in values else self.parsed.defaults.get(destination)


def read_launch(request: LaunchRequest, environ: Mapping[str, str], tree: Tree, program: TreeProgram) -> Launch | None:
    """Read a launch; None if the request gives none, or none that is of vLLM.

    ``environ`` is preflight's own environment: it is asked only for the place of the hub's cache. Raises LaunchError
    and UsageError for files and options that cannot be used.
    """
    if not request:
        return None
    commands = find_commands(request)
    if not commands.programs:
        return None
    source = ProgramSource(program)
    launches = []
    for number, command in enumerate(commands.programs):
        at_model = request.model if number == 0 and names_model(command) else None
        launches.append(_read(command, commands, request, environ, tree, program, source, at_model))
    main = next(
        (n for n, launch in enumerate(launches) if launch.parsed.match and launch.parsed.match.path[:1] == ("serve",)),
        0,
    )
    others = tuple(launch for n, launch in enumerate(launches) if n != main)
    undecided = [*launches[main].undecided, *(_doubt(doubt.message, doubt.origin) for doubt in commands.doubts)]
    if others:
        places = ", ".join(str(other.arguments[0].origin) for other in others if other.arguments)
        undecided.append(
            Undecided(
                "launch-several-commands",
                f"the launch runs {len(launches)} commands of vLLM: the flags of all are checked, the model and the "
                f"drafter only of the one at {launches[main].arguments[0].origin}, not of those at {places}",
                *_place(launches[main].arguments[0].origin),
            )
        )
    return replace(launches[main], others=others, undecided=tuple(undecided))


def _read(
    command: Program,
    commands: Commands,
    request: LaunchRequest,
    environ: Mapping[str, str],
    tree: Tree,
    program: TreeProgram,
    source: ProgramSource,
    at_model: str | None,
) -> Launch:
    given = {item.name: item.value for item in (*commands.inherited, *command.environment, *commands.given)}
    known = {name: value for name, value in given.items() if not is_open(value)}
    opened = tuple(name for name, value in given.items() if is_open(value))
    module, function = (command.module, None) if command.module is not None else console_script(tree)

    def read(*, lean: bool) -> tuple[Parsed, _ConfigFiles]:
        files = _ConfigFiles(request, command.arguments)
        reading = read_command(
            source,
            list(command.arguments),
            module=module,
            function=function,
            program="vllm" if command.module is None else "__main__.py",
            environ=known,
            open_environ=opened,
            python=program.platform.python,
            platform=program.platforms.accelerator,
            open_text=files.open,
            lean=lean,
        )
        return reading.parsed, files

    # a patch may break the parser of any subcommand; the release's own are known to be made
    as_released = tree.reference is not None and not tree.facts.patched and not tree.outside
    parsed, files = read(lean=as_released)
    if as_released and (parsed.match is None or parsed.refused):
        parsed, files = read(lean=False)  # what is refused here another subcommand may have
    undecided = [*_unresolved(command.arguments), *_troubles(parsed, command, files)]
    undecided.extend(
        _doubt(f"{readable(item.value)} of the environment variable {item.name} is not told by the launch", item.origin)
        for item in command.environment
        if is_open(item.value)
    )
    launch = Launch(
        command,
        command.arguments,
        known,
        opened,
        parsed,
        config_keys=files.keys,
        bare=commands.bare,
        inherited=commands.inherited,
    )
    if parsed.match is None or (commands.bare and _is_no_command(parsed)):
        return replace(launch, undecided=tuple(undecided))
    cache_environ = {**environ, **known}
    name = _model_name(launch)
    model: ModelFiles | None = None
    if name is not None:
        overrides = launch.value("hf_overrides")
        revision = launch.value("revision")
        found = _files(
            at_model or _text(launch.value("hf_config_path")) or name,
            _text(revision),
            cache_environ,
            request,
            _text(launch.value("download_dir")),
            overrides if isinstance(overrides, dict) and is_known(overrides) else {},
        )
        if isinstance(found, ModelFiles):
            model = found
        else:
            undecided.append(
                Undecided("model-not-here", f"the model's configuration is not read: {found}", decisive=True)
            )
    drafter = _drafter(launch, cache_environ, request, undecided)
    return replace(launch, named_model=name, model=model, drafter=drafter, undecided=tuple(undecided))


def _is_no_command(parsed: Parsed) -> bool:
    return parsed.match is not None and any(r.kind == "unknown-command" for r in parsed.match.refusals)


def _troubles(parsed: Parsed, command: Program, files: _ConfigFiles) -> list[Undecided]:
    origin = command.arguments[0].origin if command.arguments else Origin()
    found = []
    if parsed.trouble is not None:
        why = parsed.trouble
        if files.missing:
            why = f"{files.missing[0]}, which the launch names with --config, is no file seen from {files.folder}"
        found.append(Undecided("launch-not-read", f"the flags are not checked: {why}", *_place(origin), decisive=True))
    if command.image is not None:
        found.append(
            Undecided(
                "launch-in-container",
                f"the words go to the entry point of the image {readable(command.image)}; they are checked as flags of "
                "`vllm serve` of the tree, and the image may hold another release",
                *_place(origin),
            )
        )
    return found


def _unresolved(words: tuple[Word, ...]) -> list[Undecided]:
    return [
        Undecided(
            "launch-word-unresolved",
            f"the launch file does not tell what {' and '.join(marks_in(word))} is in `{readable(word)}`",
            *_place(word.origin),
        )
        for word in words
        if is_open(word)
    ]


def _doubt(message: str, origin: Origin) -> Undecided:
    return Undecided("launch-file-unclear", message, *_place(origin))


def _place(origin: Origin) -> tuple[str | None, int | None]:
    return origin.path, origin.line


def _text(value: Any) -> str | None:  # noqa: ANN401
    return value if isinstance(value, str) and value and not is_open(value) else None


def _model_name(launch: Launch) -> str | None:
    for destination in MODEL_DESTINATIONS:
        name = _text(launch.parsed.values.get(destination))
        if name is not None:
            return name
    return None


def _files(
    name: str,
    revision: str | None,
    environ: Mapping[str, str],
    request: LaunchRequest,
    cache: str | None,
    overrides: Mapping[str, Any],
) -> ModelFiles | str:
    """A model's files, or the reason why they are not at hand.

    Raises LaunchError for a file that is none, for a folder of this machine that is no checkpoint, and for a path that
    can be meant on this machine only and leads nowhere.
    """
    location = locate(name, revision, environ, request.folder, cache)
    if location.folder is None:
        if name == request.model or _is_of_this_machine(name, request):
            raise LaunchError(location.reason, _CHECKPOINT)
        return location.reason
    found = read_model(name, location.folder, location.file, overrides)
    if isinstance(found, str) and exists(request.folder / Path(name).expanduser()) and location.file is None:
        raise LaunchError(found, _CHECKPOINT)
    return found


def _is_of_this_machine(path: str, request: LaunchRequest) -> bool:
    """Whether a path counts from the folder where the command was typed. One of a launch file may be of a container,
    and an absolute one of the machine that will serve.
    """
    return request.file is None and path.startswith(("./", "../"))


_CHECKPOINT = "name the folder that holds the checkpoint's config.json"


def _drafter(
    launch: Launch, environ: Mapping[str, str], request: LaunchRequest, undecided: list[Undecided]
) -> Drafter | None:
    settings = launch.value(SPECULATIVE_CONFIG)
    separate = _text(launch.value(DRAFTER_MODEL))
    if not isinstance(settings, dict) and separate is None:
        return None
    settings = settings if isinstance(settings, dict) else {}
    name = _text(settings.get("model")) or separate
    if name is None:
        return Drafter(settings)
    revision = _text(settings.get("revision"))
    found = _files(name, revision, environ, request, _text(launch.value("download_dir")), {})
    if isinstance(found, ModelFiles):
        return Drafter(settings, name, found)
    if exists(request.folder / name) or "/" in name:
        undecided.append(
            Undecided("drafter-not-here", f"the drafter's configuration is not read: {found}", decisive=True)
        )
    return Drafter(settings, name)


class _ConfigFiles:
    """vLLM's own ``--config`` files, read for the launch code, with the places of their keys."""

    def __init__(self, request: LaunchRequest, words: tuple[Word, ...]) -> None:
        self.folder = request.folder
        self._is_typed = request.file is None
        self._words = words
        self.keys: dict[str, Origin] = {}
        self.missing: list[str] = []

    def open(self, path: str) -> str | None:
        """The text of a file that is one of the launch's words; None for any other, or one that is not here.

        Raises LaunchError for one that is no YAML, and for one that is not where the command was typed.
        """
        if path not in self._words and f"--config={path}" not in self._words:
            return None
        if not exists(self.folder / path):
            if self._is_typed and not Path(path).is_absolute():
                raise LaunchError(f"there is no {path}, which --config names", "name a YAML file that is there")
            self.missing.append(path)
            return None
        text = read_text(self.folder / path, path, MAX_BYTES, "a file of flags")
        try:
            documents = read_documents(text)
        except DocumentError as error:
            at = f":{error.line}" if error.line is not None else ""
            raise LaunchError(
                f"{path}{at} is no YAML: {error}", "a --config file holds one `flag: value` a line"
            ) from None
        for document in documents:
            if isinstance(document, YamlMapping):
                for key, _ in document.entries:
                    self.keys[f"--{key.text}"] = Origin(os.fspath(path), key.line)
        return text
