"""Which program of vLLM a command runs, behind whatever runs it: ``env``, ``exec``, ``bash -c``, ``python -m`` ..."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from preflight.launch.sources.found import Assignment, FoundCommand
from preflight.launch.words import Word

_PYTHON = re.compile(r"python[0-9.]*$")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ash"})
#: programs that run the command behind their own options; the options that take a word of their own
_WRAPPERS: dict[str, frozenset[str]] = {
    "exec": frozenset({"-a"}),
    "nohup": frozenset(),
    "setsid": frozenset(),
    "command": frozenset(),
    "time": frozenset({"-f", "-o"}),
    "sudo": frozenset({"-u", "-g", "-h", "-p", "-C", "-D", "-R", "-T", "--user", "--group"}),
    "nice": frozenset({"-n", "--adjustment"}),
    "ionice": frozenset({"-c", "-n"}),
    "timeout": frozenset({"-s", "-k", "--signal", "--kill-after"}),
    "stdbuf": frozenset({"-i", "-o", "-e"}),
    "numactl": frozenset({"-N", "-m", "-C", "-i", "-p", "--cpunodebind", "--membind", "--physcpubind", "--interleave"}),
    "taskset": frozenset(),
    "tini": frozenset({"-p"}),
    "dumb-init": frozenset(),
    "catchsegv": frozenset(),
    "uv": frozenset({"--python", "-p", "--with", "--project", "--directory", "--env-file", "--extra", "--group"}),
    "nsys": frozenset({"-o", "-t", "--trace", "--output", "--delay", "--duration", "--capture-range"}),
    "torchrun": frozenset({"--nproc_per_node", "--nproc-per-node", "--nnodes", "--node_rank", "--node-rank",
                           "--master_addr", "--master-addr", "--master_port", "--master-port", "--rdzv_endpoint"}),
    "accelerate": frozenset({"--num_processes", "--num_machines", "--config_file", "--main_process_port"}),
}  # fmt: skip
#: words that such a program has before the command itself
_SUBCOMMANDS = {"uv": ("run",), "nsys": ("profile", "launch"), "accelerate": ("launch",)}
#: the first word behind the options is no command but a value of the program's own
_OPERANDS = {"timeout": 1, "taskset": 1}
_MOST_LAYERS = 12


@dataclass(frozen=True, slots=True)
class Program:
    """A program of vLLM: its console script (``module`` None), or a module that Python runs as ``__main__``.

    ``name`` is what its messages call it. ``arguments`` are the words behind it. ``image``: only the flags are known,
    and what they belong to is the entry point of a container image.
    """

    arguments: tuple[Word, ...]
    environment: tuple[Assignment, ...]
    module: str | None = None
    name: str = "vllm"
    image: str | None = None
    line: int | None = None
    conditional: int | None = None


@dataclass(frozen=True, slots=True)
class Script:
    """A shell script that a command runs: ``text`` of ``sh -c``, or the ``file`` with its arguments."""

    environment: tuple[Assignment, ...]
    text: Word | None = None
    file: Word | None = None
    arguments: tuple[str, ...] = ()


def programs_of(command: FoundCommand) -> Iterator[Program | Script]:
    """The programs of vLLM in a command (none or one), or the script that has to be read for them."""
    words, environment = list(command.words), list(command.environment)
    for _ in range(_MOST_LAYERS):
        while words and (found := _ASSIGNMENT.fullmatch(words[0])):
            environment.append(Assignment(found.group(1), found.group(2), words[0].origin))
            words.pop(0)
        if not words:
            break
        name = PurePosixPath(words[0]).name
        if name in ("vllm", "vllm.exe"):
            yield Program(
                tuple(words[1:]), tuple(environment), line=words[0].origin.line, conditional=command.conditional
            )
            return
        if _PYTHON.match(name):
            program = _python(words, environment)
            if program is not None:
                yield replace(program, conditional=command.conditional)
            return
        if name in _SHELLS:
            script = _shell(words, environment)
            if script is not None:
                yield script
            return
        if name == "env":
            words = _behind_env(words, environment)
        elif name in ("docker", "podman", "nerdctl") and "run" in words:
            yield from _container(words, environment)
            return
        elif name in _WRAPPERS:
            words = _behind_wrapper(name, words)
        elif name.endswith(".sh"):
            yield Script(tuple(environment), file=words[0], arguments=tuple(words[1:]))
            return
        else:
            break
    if command.image is not None and _is_vllm_image(command.image):
        starts_with_flag = not command.words or command.words[0].startswith("-")
        if starts_with_flag or (words and words[0] == "serve"):
            line = command.words[0].origin.line if command.words else None
            yield Program(tuple(command.words), command.environment, image=command.image, line=line)


def _is_vllm_image(image: str) -> bool:
    return "vllm" in image.rpartition("/")[2] or "/vllm" in image


def _python(words: list[Word], environment: list[Assignment]) -> Program | None:
    rest = words[1:]
    while rest and rest[0].startswith("-") and rest[0] != "-":
        option = rest.pop(0)
        if option == "-m" and rest:
            module = rest[0]
            if module.split(".")[0] != "vllm":
                return None
            if module == "vllm":
                module = Word("vllm.__main__", module.origin)
            return Program(tuple(rest[1:]), tuple(environment), str(module), f"-m {rest[0]}", line=words[0].origin.line)
        if option in ("-c", "--"):
            return None
        if option in ("-X", "-W") and rest:
            rest.pop(0)
    if rest and "/vllm/" in f"/{rest[0]}" and rest[0].endswith(".py"):
        inside = f"/{rest[0]}".rpartition("/vllm/")[2].removesuffix(".py").removesuffix("/__init__")
        module = f"vllm.{inside.replace('/', '.')}"
        return Program(tuple(rest[1:]), tuple(environment), module, rest[0], line=words[0].origin.line)
    if rest and PurePosixPath(rest[0]).name == "vllm":  # the console script, given to its interpreter
        return Program(tuple(rest[1:]), tuple(environment), line=words[0].origin.line)
    return None


def _shell(words: list[Word], environment: list[Assignment]) -> Script | None:
    rest = words[1:]
    takes_text = False
    while rest and rest[0].startswith(("-", "+")):
        option = rest.pop(0)
        takes_text = takes_text or (not option.startswith("--") and "c" in option)
        if option in ("-o", "+o") and rest:
            rest.pop(0)
    if not rest:
        return None
    if takes_text:
        return Script(tuple(environment), text=rest[0], arguments=tuple(rest[2:]))
    return Script(tuple(environment), file=rest[0], arguments=tuple(rest[1:]))


def _behind_env(words: list[Word], environment: list[Assignment]) -> list[Word]:
    rest = words[1:]
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option in ("-u", "--unset", "-C", "--chdir") and rest:
            name = rest.pop(0)
            if option in ("-u", "--unset"):
                environment[:] = [item for item in environment if item.name != name]
        elif option in ("-i", "--ignore-environment", "-"):
            environment.clear()
    return rest


def _behind_wrapper(name: str, words: list[Word]) -> list[Word]:
    rest = words[1:]
    if rest and rest[0] in _SUBCOMMANDS.get(name, ()):
        rest = rest[1:]
    module_mode = False
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option == "--":
            break
        if name in ("torchrun", "accelerate") and option in ("-m", "--module"):
            module_mode = True
            break
        if option in _WRAPPERS[name] and rest:
            rest.pop(0)
    del rest[: _OPERANDS.get(name, 0)]
    if module_mode or name in ("torchrun", "accelerate"):
        python = Word("python", words[0].origin)
        return [python, *([Word("-m", words[0].origin)] if module_mode else []), *rest]
    return rest


def _container(words: Sequence[Word], environment: list[Assignment]) -> Iterator[Program | Script]:
    """``docker run [options] IMAGE [command]``: the image is the first word that is called like one of vLLM's."""
    own = list(environment)
    for at, word in enumerate(words):
        if word in ("-e", "--env") and at + 1 < len(words):
            found = _ASSIGNMENT.fullmatch(words[at + 1])
            if found:
                own.append(Assignment(found.group(1), found.group(2), words[at + 1].origin))
        is_value = (
            at
            and words[at - 1].startswith("-")
            and "=" not in words[at - 1]
            and words[at - 1] not in ("--rm", "-it", "-d")
        )
        looks = "vllm" in word and not word.startswith("-") and "=" not in word and not is_value
        if looks and words.index(word) > words.index("run"):
            yield from programs_of(FoundCommand(tuple(words[at + 1 :]), tuple(own), str(word)))
            return
