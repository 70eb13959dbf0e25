"""The commands of vLLM that a launch consists of: from the words behind ``--``, the options, or a launch file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from preflight.errors import UsageError
from preflight.launch.documents import DocumentError, Mapping, read_documents
from preflight.launch.errors import LaunchError
from preflight.launch.files import exists, read_text
from preflight.launch.programs import Program, Script, programs_of
from preflight.launch.request import LaunchRequest
from preflight.launch.sources.found import Assignment, Doubt, FoundCommand
from preflight.launch.sources.manifests import compose_commands, is_compose, is_kubernetes, kubernetes_commands
from preflight.launch.sources.shell import read_script
from preflight.launch.words import COMMAND_LINE, INHERITED, Origin, Word

#: launch files are written by hand
MAX_BYTES = 4 * 1024 * 1024
_MOST_SCRIPTS = 5
_YAML = (".yaml", ".yml", ".json")


@dataclass(frozen=True, slots=True)
class Commands:
    """The programs of vLLM that the launch runs, in order, and what its file does not tell.

    ``bare``: the words name no program, and are taken for those behind ``vllm``. ``given`` is the environment of
    ``--env``, which goes before what the launch sets itself; ``inherited`` is what it has before.
    """

    programs: tuple[Program, ...]
    doubts: tuple[Doubt, ...]
    given: tuple[Assignment, ...]
    inherited: tuple[Assignment, ...] = ()
    bare: bool = False


def find_commands(request: LaunchRequest) -> Commands:
    """Find the commands of a launch. Raises UsageError and LaunchError."""
    own = tuple(_assignment(text) for text in request.environment)
    inherited = tuple(Assignment(name, value, INHERITED) for name, value in request.inherited)
    given = (*inherited, *own)
    commands = Commands((), (), own, inherited)
    doubts: list[Doubt] = []
    if request.words is not None and request.file is not None:
        raise UsageError(
            "the launch is given twice: behind `--` and by --launch", "give the command, or the file that holds it"
        )
    if request.file is not None:
        programs = tuple(_of_file(request.file, request.folder, given, doubts, 0))
        if not programs:
            raise LaunchError(
                f"{request.file} runs no command of vLLM that preflight can find"
                + "".join(f"; line {doubt.origin.line or 1}: {doubt.message}" for doubt in doubts[:1]),
                "a launch is `vllm serve ...`, `python -m vllm...`, or a container of a vLLM image; "
                "give the command itself behind `--`",
            )
        return replace(commands, programs=_with_options(programs, request), doubts=tuple(doubts))
    words = tuple(Word(word) for word in request.words or ())
    programs = tuple(_of_command(FoundCommand(words), request.folder, given, doubts, 0)) if words else ()
    if programs:
        return replace(commands, programs=_with_options(programs, request), doubts=tuple(doubts))
    if doubts:
        return replace(commands, doubts=tuple(doubts))
    arguments = words if words and not words[0].startswith("-") else (Word("serve"), *words)
    return replace(commands, programs=_with_options((Program(arguments, ()),), request), bare=bool(words))


def _assignment(text: str) -> Assignment:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"--env needs NAME=VALUE and got `{text}`", "write `--env VLLM_USE_V1=1`")
    return Assignment(name, value, COMMAND_LINE)


def _with_options(programs: tuple[Program, ...], request: LaunchRequest) -> tuple[Program, ...]:
    """The options of preflight's own command line as words of the (first) command; they stand last, so they win."""
    first, *rest = programs
    words = list(first.arguments)
    if request.model is not None and not names_model(first):
        if words[:1] == ["serve"]:
            words.insert(1, Word(request.model))
        else:
            words += [Word("--model"), Word(request.model)]
    for flag, value in (
        ("--speculative-config", request.speculative_config),
        ("--tensor-parallel-size", request.tensor_parallel_size),
        ("--pipeline-parallel-size", request.pipeline_parallel_size),
    ):
        if value is not None:
            words += [Word(flag), Word(value)]
    return (replace(first, arguments=tuple(words)), *rest)


def names_model(program: Program) -> bool:
    """True if the command itself says which model."""
    words = program.arguments
    if any(word == "--model" or word.startswith("--model=") for word in words):
        return True
    return len(words) > 1 and words[0] == "serve" and not words[1].startswith("-")


# -- files ----------------------------------------------------------------------------------------------------------


def _of_file(
    name: str,
    folder: Path,
    given: tuple[Assignment, ...],
    doubts: list[Doubt],
    depth: int,
    arguments: tuple[str, ...] | None = None,
) -> Iterator[Program]:
    text = read_text(folder / name, name, MAX_BYTES, "a launch file")
    if name.lower().endswith(_YAML):
        yield from _of_documents(text, name, folder, given, doubts, depth)
        return
    if "\0" in text:
        raise LaunchError(f"{name} is no launch file: it holds null bytes")
    script = read_script(text, name, environment=given, arguments=arguments, sourced=partial(_sourced, folder))
    doubts.extend(script.doubts)
    for command in script.commands:
        yield from _of_command(command, folder, given, doubts, depth)


def _sourced(folder: Path, name: str) -> str | None:
    """The text of a file that a script sources; None if it is not here, or is none."""
    try:
        text = read_text(folder / name, name, MAX_BYTES, "a file that a launch sources")
    except LaunchError:
        return None
    return None if "\0" in text else text


def _of_documents(
    text: str, name: str, folder: Path, given: tuple[Assignment, ...], doubts: list[Doubt], depth: int
) -> Iterator[Program]:
    try:
        documents = read_documents(text)
    except DocumentError as error:
        where = f"{name}:{error.line}" if error.line is not None else name
        help = None
        if "{{" in text:
            help = "it is a template; give the manifest that it makes (`helm template`)"
        raise LaunchError(f"{where} cannot be read as YAML: {error}", help) from None
    for document in documents:
        commands: Iterator[FoundCommand] = iter(())
        if isinstance(document, Mapping) and is_compose(document):
            commands = compose_commands(document, name, given, doubts)
        elif isinstance(document, Mapping) and is_kubernetes(document):
            commands = kubernetes_commands(document, name, given)
        elif isinstance(document, Mapping) and len(documents) == 1:
            # the keys are flags: vLLM's own --config file
            origin = Origin(name)
            yield Program((Word("serve", origin), Word("--config", origin), Word(name, origin)), ())
        for command in commands:
            yield from _of_command(command, folder, given, doubts, depth)


def _of_command(
    command: FoundCommand, folder: Path, given: tuple[Assignment, ...], doubts: list[Doubt], depth: int
) -> Iterator[Program]:
    for found in programs_of(command):
        if isinstance(found, Program):
            yield _as_console(found) if found.image is not None else found
        elif depth < _MOST_SCRIPTS:
            yield from _of_script(found, folder, given, doubts, depth + 1)


def _of_script(
    script: Script, folder: Path, given: tuple[Assignment, ...], doubts: list[Doubt], depth: int
) -> Iterator[Program]:
    environment = (*given, *script.environment)
    if script.text is not None:
        origin = script.text.origin
        read = read_script(
            script.text,
            origin.path,
            first_line=origin.line or 1,
            environment=environment,
            arguments=script.arguments,
            sourced=partial(_sourced, folder),
        )
        doubts.extend(read.doubts)
        for command in read.commands:
            placed = command if origin.path is not None else _on_command_line(command)
            yield from _of_command(placed, folder, given, doubts, depth)
    elif script.file is not None:
        if exists(folder / script.file):
            yield from _of_file(str(script.file), folder, environment, doubts, depth, script.arguments)
        else:
            doubts.append(Doubt(f"the script {script.file} is not here to be read", script.file.origin))


def _on_command_line(command: FoundCommand) -> FoundCommand:
    return replace(command, words=tuple(Word(word) for word in command.words))


def _as_console(program: Program) -> Program:
    """The words behind the entry point of a container image: flags of ``vllm serve``, unless they say otherwise."""
    words = program.arguments
    if words and not words[0].startswith("-"):
        return program
    origin = words[0].origin if words else COMMAND_LINE
    return replace(program, arguments=(Word("serve", origin), *words))
