"""A miniature vLLM with a command line of its own: in small, what the real one has, in other words."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from preflight.launch.launch import Launch, read_launch
from preflight.launch.request import LaunchRequest
from preflight.program import Program
from tests.programs import program_of

PARSER = """
import json
import sys
from argparse import ArgumentParser, ArgumentTypeError, BooleanOptionalAction
import yaml


class FlexibleArgumentParser(ArgumentParser):
    def error(self, message):
        if "--task" in message:
            message += " Hint: use --runner instead."
        super().error(message)

    def add_argument(self, *args, **kwargs):
        deprecated = kwargs.pop("deprecated", False)
        action = super().add_argument(*args, **kwargs)
        return action

    def parse_args(self, args=None, namespace=None):
        args = sys.argv[1:] if args is None else args
        if args and args[0] == "serve" and "--model" in args:
            raise ValueError("give the model as the first word")
        if "--config" in args:
            at = args.index("--config")
            args = [*args[:2], *self.of_file(args[at + 1]), *args[2:at], *args[at + 2:]]
        words, nested = [], {}
        rest = iter(args)
        for word in rest:
            if word.startswith("--") and "." in word.split("=")[0]:
                name, _, key = word.partition(".")
                nested.setdefault(name, {})[key] = json.loads(next(rest))
            elif word.startswith("--"):
                name, equals, value = word.partition("=")
                words.append(name.replace("_", "-") + equals + value)
            else:
                words.append(word)
        for name, value in nested.items():
            words += [name, json.dumps(value)]
        return super().parse_args(words, namespace)

    def of_file(self, path):
        with open(path) as file:
            found = yaml.safe_load(file)
        words = []
        for key, value in found.items():
            if value is True:
                words.append("--" + key)
            elif isinstance(value, dict):
                words += ["--" + key, json.dumps(value)]
            elif value is not False:
                words += ["--" + key, str(value)]
        return words


def human(text):
    return int(text[:-1]) * 1000 if text.endswith("k") else int(text)


def optional(kind):
    def convert(text):
        if text == "None":
            return None
        try:
            return kind(text)
        except ValueError as error:
            raise ArgumentTypeError(f"{text} cannot be converted") from error

    return convert
"""

CONFIG = """
import enum
from dataclasses import field
from typing import Any, Literal
from pydantic import ConfigDict, Field, field_validator
from pydantic.dataclasses import dataclass


def config(cls):
    return dataclass(cls, config=ConfigDict(extra="forbid"))


DType = Literal["auto", "half", "float32"]


class Mode(enum.IntEnum):
    OFF = 0
    FULL = 2


@config
class PassConfig:
    fuse: bool = False
    level: int = 1


@config
class CompilationConfig:
    mode: Mode | None = None
    sizes: list[int] | None = None
    passes: PassConfig = field(default_factory=PassConfig)
    name: str = "x"
    ratio: float = Field(default=0.5, gt=0, le=1)
    kind: Literal["a", "b"] = "a"
    extra: dict[str, Any] = field(default_factory=dict)

    @field_validator("mode", mode="before")
    @classmethod
    def by_name(cls, value):
        return Mode[value] if isinstance(value, str) else value

    @field_validator("name")
    @classmethod
    def not_empty(cls, value):
        if not value:
            raise ValueError("name is empty")
        return value


@config
class EngineConfig:
    model: str = "tiny"
    dtype: DType | str = "auto"
    max_model_len: int | None = None
    tensor_parallel_size: int = 1
    seed: int = 0
    enforce_eager: bool = False
    block_size: Literal[8, 16] | None = None
    names: list[str] | None = None
    hf_overrides: dict[str, Any] = field(default_factory=dict)
    compilation_config: CompilationConfig = field(default_factory=CompilationConfig)
    speculative_config: dict[str, Any] | None = None
    revision: str | None = None
"""

ARGUMENTS = """
import functools
import json
from dataclasses import MISSING, fields, is_dataclass
from types import UnionType
from typing import Literal, Union, get_args, get_origin
from argparse import ArgumentTypeError, BooleanOptionalAction
from pydantic import TypeAdapter, ValidationError
from vllm.config import EngineConfig
from vllm.utils.argparse_utils import human, optional
from vllm.platforms import current_platform


def members(hint):
    if get_origin(hint) in (Union, UnionType):
        return set().union(*(members(part) for part in get_args(hint)))
    return {hint}


@functools.lru_cache(maxsize=None)
def keywords(cls):
    found = {}
    for one in fields(cls):
        kinds = members(one.type)
        default = one.default_factory() if one.default is MISSING else one.default
        known = found[one.name] = {"default": default}
        literal = next((kind for kind in kinds if get_origin(kind) is Literal), None)
        made = next((kind for kind in kinds if is_dataclass(kind)), None)
        if made is not None:

            def parse(text, made=made):
                try:
                    return TypeAdapter(made).validate_json(text)
                except ValidationError as error:
                    raise ArgumentTypeError(repr(error)) from error

            known["type"] = parse
        elif bool in kinds:
            known["action"] = BooleanOptionalAction
        elif literal is not None:
            known["type"] = type(get_args(literal)[0])
            known["metavar" if str in kinds else "choices"] = sorted(get_args(literal))
        elif any(get_origin(kind) is list for kind in kinds):
            known.update(type=str, nargs="+")
        elif any(get_origin(kind) is dict for kind in kinds):
            known["type"] = json.loads
        else:
            known["type"] = human if one.name == "max_model_len" else int if int in kinds else str
        if type(None) in kinds and bool not in kinds:
            known["type"] = optional(known["type"])
    return found


def add_arguments(parser):
    group = parser.add_argument_group(title="engine")
    for name, options in keywords(EngineConfig).items():
        flags = ["-tp"] if name == "tensor_parallel_size" else []
        group.add_argument(*flags, "--" + name.replace("_", "-"), **options)
    parser.add_argument("--old-thing", action="store_true", help="[DEPRECATED] Drop it.", deprecated=True)
    parser.add_argument("--strict-env", dest="fail_on_environ_validation", action=BooleanOptionalAction, default=False)
    current_platform.register(parser)
    return parser
"""

FILES: dict[str, str] = {
    "vllm/utils/argparse_utils.py": PARSER,
    "vllm/config.py": CONFIG,
    "vllm/engine/arg_utils.py": ARGUMENTS,
    "vllm/platforms/__init__.py": """
from vllm.platforms.interface import Platform

table = {"cuda": "vllm.platforms.cuda.CudaPlatform", "rocm": "vllm.platforms.rocm.RocmPlatform"}


def __getattr__(name):
    import nosuch

    return nosuch.find(table)
""",
    "vllm/platforms/interface.py": """
class Platform:
    device = ""

    @classmethod
    def register(cls, parser):
        pass
""",
    "vllm/platforms/cuda.py": """
from vllm.platforms.interface import Platform


class CudaPlatform(Platform):
    device = "cuda"
""",
    "vllm/platforms/rocm.py": """
from vllm.platforms.interface import Platform


class RocmPlatform(Platform):
    device = "hip"

    @classmethod
    def register(cls, parser):
        parser.add_argument("--rocm-only", action="store_true")
""",
    "vllm/envs.py": """
import os

environment_variables = {
    "VLLM_USE_V1": lambda: bool(int(os.getenv("VLLM_USE_V1", "1"))),
    "VLLM_PORT": lambda: os.getenv("VLLM_PORT"),
}


def __getattr__(name):
    if name in environment_variables:
        return environment_variables[name]()
    raise AttributeError(name)
""",
    "vllm/elsewhere.py": 'import os\n\nHIDDEN = os.environ.get("VLLM_NOT_IN_THE_TABLE")\n',
    "vllm/entrypoints/cli/main.py": """
import sys
from vllm.entrypoints.cli import bench, serve
from vllm.utils.argparse_utils import FlexibleArgumentParser


def main():
    parser = FlexibleArgumentParser(prog="vllm", description="all of it")
    parser.add_argument("-v", "--version", action="version", version="0")
    subparsers = parser.add_subparsers(required=False, dest="subparser")
    commands = {}
    for module in (serve, bench):
        for command in module.cmd_init():
            command.subparser_init(subparsers).set_defaults(dispatch_function=command.cmd)
            commands[command.name] = command
    args = parser.parse_args()
    if args.subparser in commands:
        commands[args.subparser].validate(args)
    if hasattr(args, "dispatch_function"):
        args.dispatch_function(args)


if __name__ == "__main__":
    main()
""",
    "vllm/entrypoints/cli/types.py": """
class Command:
    name: str

    def validate(self, args):
        pass
""",
    "vllm/entrypoints/cli/serve.py": """
from vllm import envs
from vllm.engine.arg_utils import add_arguments
from vllm.entrypoints.cli.types import Command


class Serve(Command):
    name = "serve"

    @staticmethod
    def cmd(args):
        if args.model_tag is not None:
            args.model = args.model_tag
        if args.workers == 0 and not args.headless:
            raise ValueError("--workers 0 needs --headless")
        run(args)

    def validate(self, args):
        if args.headless and args.port != 8000:
            raise TypeError(f"--headless opens no port, and {args.port} is given")
        assert envs.VLLM_USE_V1, "this release has no V0"

    def subparser_init(self, subparsers):
        parser = subparsers.add_parser(self.name, help="serve")
        parser.add_argument("model_tag", nargs="?", type=str)
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument("--headless", action="store_true")
        parser.add_argument("--workers", type=int, default=1)
        parser.add_argument("--config", type=str)
        parser.add_argument("--middleware", action="append", default=[])
        return add_arguments(parser)


def run(args):
    raise RuntimeError("nothing behind the handing over is looked at")


def cmd_init():
    return [Serve()]
""",
    "vllm/entrypoints/cli/bench.py": """
from vllm.entrypoints.cli.types import Command


class Kind:
    @classmethod
    def add(cls, parser):
        raise NotImplementedError


class Latency(Kind):
    name = "latency"

    @classmethod
    def add(cls, parser):
        parser.add_argument("--num-prompts", type=int, default=1)
        parser.add_argument("--input", required=True)


class Bench(Command):
    name = "bench"

    @staticmethod
    def cmd(args):
        pass

    def subparser_init(self, subparsers):
        parser = subparsers.add_parser(self.name)
        kinds = parser.add_subparsers(required=True, dest="kind")
        for kind in Kind.__subclasses__():
            kind.add(kinds.add_parser(kind.name))
        return parser


def cmd_init():
    return [Bench()]
""",
    "vllm/entrypoints/openai/api_server.py": """
from vllm.engine.arg_utils import add_arguments
from vllm.utils.argparse_utils import FlexibleArgumentParser

if __name__ == "__main__":
    parser = add_arguments(FlexibleArgumentParser(description="server"))
    parser.add_argument("--only-here", type=int)
    args = parser.parse_args()
""",
}


def mini_program(folder: Path, changes: Mapping[str, str] | None = None, **options: object) -> Program:
    """The program of the miniature vLLM, with ``changes`` to its files."""
    return program_of(folder, {**FILES, **(changes or {})}, **options)


def read(
    program: Program, *words: str, folder: Path = Path(), environ: Mapping[str, str] | None = None, **more
) -> Launch:
    """The launch of ``vllm`` with these words."""
    request = LaunchRequest(words=("vllm", *words) if words else None, folder=folder, **more)
    launch = read_launch(request, environ or {"HF_HOME": "/nowhere"}, program.tree, program)
    assert launch is not None
    return launch


def refusals(launch: Launch) -> list[str]:
    """What the parser refuses: the kind with the flag."""
    parsed = launch.parsed
    found = (
        [f"{refusal.kind} {' '.join(refusal.words)}".strip() for refusal in parsed.match.refusals]
        if parsed.match
        else []
    )
    return [*found, *(f"invalid {invalid.option} {invalid.text}" for invalid in parsed.invalid)]
