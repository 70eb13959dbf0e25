"""argv -> parsed arguments. One function a command declares its options; the commands themselves are imported when
run."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from preflight import __version__
from preflight.errors import UsageError

FORMATS = ("text", "short", "json", "sarif", "github", "junit")
#: What ``--vllm-site-packages`` means without a folder; no path can be spelt like this.
ENVIRONMENT = "\0"
FAIL_ON = ("error", "warning", "undecided")

TREE_HELP = (
    "The tree is the vLLM that will run: --vllm-site-packages DIR names it, --vllm VERSION takes a released one "
    "from the package index, and without either it is the one of the active environment."
)


class _Parser(argparse.ArgumentParser):
    """argparse that raises instead of exiting, so that every failure leaves through one door."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message[:1].lower()}{message[1:]}", f"see `{self.prog} --help`")


def parse(words: Sequence[str]) -> argparse.Namespace:
    """Parse a whole command line.

    ``words``: argv without the program's name. Returns a namespace whose ``run`` carries the command out. Raises
    UsageError
    for what cannot be understood; ``--help`` and ``--version`` print and raise SystemExit(0), as everywhere.
    """
    own, launch = _split_launch(words)
    parser = build_parser()
    arguments, rest = parser.parse_known_args(own)
    if arguments.command is None:
        parser.print_help()
        raise UsageError("no command was given", "the main one is `preflight check`; see `preflight --help`")
    if launch is not None and not arguments.takes_launch:
        raise UsageError(
            f"`preflight {arguments.command}` takes no command after `--`, and got `{' '.join(launch)}`",
            f"see `preflight {arguments.command} --help`",
        )
    _place_rest(arguments, rest)
    _refuse_empty(arguments)
    arguments.launch = launch
    return arguments


def _refuse_empty(arguments: argparse.Namespace) -> None:
    """An option with an empty value is mostly a variable that is not set: as if not given, it would be passed over."""
    for name, value in vars(arguments).items():
        values = value if isinstance(value, list) else [value]
        if any(isinstance(one, str) and not one.strip() for one in values):
            option = {"launch_file": "--launch", "paths": "PATH", "names": "NAME"}.get(
                name, f"--{name.replace('_', '-')}"
            )
            raise UsageError(f"{option} is given an empty value", f"leave {option} out, or give it a value")
    for pair in getattr(arguments, "env", None) or ():
        name, equals, _ = pair.partition("=")
        if not equals or not name.isidentifier():
            raise UsageError(f"--env is given `{pair}`, which sets no variable", "write --env NAME=VALUE")


class _Once(argparse.Action):
    """Keeps one value and refuses a second, which would silently take the place of the first."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,  # noqa: ANN401 - as argparse has it
        option: str | None = None,
    ) -> None:
        if getattr(namespace, self.dest) is not None:
            parser.error(f"{option} is given twice: {getattr(namespace, self.dest)} and {values}")
        setattr(namespace, self.dest, values)


def _place_rest(arguments: argparse.Namespace, rest: list[str]) -> None:
    """argparse takes PATHs only in one place; those that stand between options are added here, all else is refused."""
    unknown = [word for word in rest if word.startswith("-")]
    words = {"check": "paths", "apply": "patches", "interfaces": "names"}.get(arguments.command)
    if not unknown and words is not None:
        setattr(arguments, words, [*getattr(arguments, words), *rest])
    elif rest:
        from preflight.rulebook.near import did_you_mean

        word = (unknown or rest)[0]
        options = [f"--{name.replace('_', '-')}" for name in vars(arguments)]
        raise UsageError(
            f"`preflight {arguments.command}` has no argument `{word}`",
            f"{did_you_mean(word.partition('=')[0], options)}see `preflight {arguments.command} --help`",
        )


def _split_launch(words: Sequence[str]) -> tuple[list[str], list[str] | None]:
    """What stands before the first ``--`` is ours, what stands behind it is the launch."""
    listed = list(words)
    if "--" not in listed:
        return listed, None
    at = listed.index("--")
    return listed[:at], listed[at + 1 :]


def build_parser() -> argparse.ArgumentParser:
    """The parser of all commands; ``preflight.cli`` and the documentation tests read it."""
    parser = _Parser(
        prog="preflight",
        description="nginx -t for vLLM: checks a patched vLLM tree before it is launched, without importing it.",
        epilog="Exit codes: 0 clear, 1 something reaches --fail-on, 2 the request cannot be carried out, "
        "3 a fault of preflight itself, 130 interrupted.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"preflight {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser)
    checking, writing = (_check, _gate, _launch, _show, _interfaces), (_apply, _restore, _install_hook)
    for declare in (*checking, *writing, _rules, _explain, _triage):
        declare(commands)
    return parser


Commands = Any  # argparse's _SubParsersAction, which has no public name


def _command(
    commands: Commands,
    name: str,
    help: str,
    run: Callable[[argparse.Namespace], int],
    *,
    launch: bool = False,
    **more: str,
) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(
        name, help=help, description=f"{help[:1].upper()}{help[1:]}.", allow_abbrev=False, **more
    )
    command.set_defaults(run=run, takes_launch=launch, becomes=False)
    return command


def _check(commands: Commands) -> None:
    def run(arguments: argparse.Namespace) -> int:
        from preflight.cli.check import run_check_command

        return run_check_command(arguments)

    command = _command(commands, "check", "check the tree; this is the main job", run, launch=True, epilog=TREE_HELP)
    command.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="files or folders of a patch repository; a file that mirrors a path of the tree is laid over it",
    )
    _tree_options(command)
    _check_options(command)
    _launch_options(command)
    _output_options(command)
    command.add_argument("--fix", action="store_true", help="write safe fixes into the files that were read")
    command.add_argument("--diff", action="store_true", help="print the safe fixes as a diff, write nothing")


def _gate(commands: Commands) -> None:
    def run(arguments: argparse.Namespace) -> int:
        from preflight.cli.gate import run_gate_command

        return run_gate_command(arguments)

    command = _command(
        commands,
        "gate",
        "check, then become COMMAND if nothing stands in its way",
        run,
        launch=True,
        usage="preflight gate [options] -- COMMAND ...",
        epilog=TREE_HELP,
    )
    _tree_options(command)
    _check_options(command)
    _launch_options(command)
    _output_options(command)
    command.add_argument("--dry-run", action="store_true", help="say what would be done, do not start COMMAND")
    command.set_defaults(paths=[], fix=False, diff=False, becomes=True)


def _launch(commands: Commands) -> None:
    from preflight.supervise.command import add_arguments

    def run(arguments: argparse.Namespace) -> int:
        from preflight.cli.gate import run_launch_command

        return run_launch_command(arguments)

    command = _command(
        commands,
        "launch",
        "check, then run COMMAND, wait until it serves, and tell the root cause if it dies",
        run,
        launch=True,
        usage="preflight launch [options] -- COMMAND ...",
        epilog=TREE_HELP,
    )
    add_arguments(command)
    _tree_options(command)
    _check_options(command)
    _launch_options(command)
    _output_options(command)
    command.set_defaults(paths=[], fix=False, diff=False, becomes=True)


def _apply(commands: Commands) -> None:
    def run(arguments: argparse.Namespace) -> int:
        from preflight.cli.apply import run_apply_command

        return run_apply_command(arguments)

    command = _command(
        commands,
        "apply",
        "check patches, then write all of them into the installed tree or none",
        run,
        launch=True,
        epilog="`preflight restore` takes back what was written.",
    )
    command.add_argument(
        "patches", nargs="+", metavar="PATCH", help="a folder of files, a diff, or a folder of diffs; in order"
    )
    command.add_argument("--check-only", action="store_true", help="check, write nothing")
    command.add_argument("--force", action="store_true", help="write even if something reaches --fail-on")
    _tree_options(command, written=True)
    _check_options(command)
    _launch_options(command)
    _output_options(command)
    command.set_defaults(paths=[], fix=False, diff=False)


def _restore(commands: Commands) -> None:
    def run(arguments: argparse.Namespace) -> int:
        from preflight.cli.apply import run_restore_command

        return run_restore_command(arguments)

    command = _command(commands, "restore", "put back what the tree had before `preflight apply`", run)
    command.add_argument("--force", action="store_true", help="also files that somebody changed after the apply")
    _site_packages_option(command.add_argument_group("the tree"))
    command.set_defaults(vllm=None, python=None, no_cache=False, paths=[], overlay=[], staged=False, base_ref=None)


def _install_hook(commands: Commands) -> None:
    def run(arguments: argparse.Namespace) -> int:
        from preflight.cli.hook import run_install_hook_command

        return run_install_hook_command(arguments)

    command = _command(
        commands,
        "install-hook",
        "write a git hook that checks what is staged before each commit",
        run,
        epilog="To be rid of it, remove the file that it names.",
    )
    command.add_argument(
        "--force", action="store_true", help="replace a hook of somebody else; it is kept beside the new one"
    )


def _show(commands: Commands) -> None:
    def run(arguments: argparse.Namespace) -> int:
        from preflight.cli.show import run_show_command

        return run_show_command(arguments)

    command = _command(
        commands,
        "show",
        "show the effective state: tree, patched files, model class, interfaces, config, parallel layout",
        run,
        launch=True,
        epilog=TREE_HELP,
    )
    _tree_options(command)
    _launch_options(command)
    command.add_argument("--output-format", choices=("text", "json"), default="text", help="default: text")
    command.add_argument("-o", "--output", metavar="FILE", help="write it to FILE")
    command.add_argument("--verbose", action="store_true", help="every value of the config")
    command.set_defaults(paths=[], all=False, select=None, ignore=None, require=None)


def _interfaces(commands: Commands) -> None:
    def run(arguments: argparse.Namespace) -> int:
        from preflight.cli.interfaces import run_interfaces_command

        return run_interfaces_command(arguments)

    command = _command(
        commands, "interfaces", "tell which model classes implement which interfaces", run, epilog=TREE_HELP
    )
    command.add_argument(
        "names", nargs="*", metavar="NAME", help="an architecture, a class or an interface: its details"
    )
    command.add_argument("--against", metavar="VERSION", help="only what differs from this released vLLM")
    _tree_options(command)
    command.add_argument("--output-format", choices=("text", "json"), default="text", help="default: text")
    command.set_defaults(paths=[])


def _triage(commands: Commands) -> None:
    from preflight.triage.command import add_arguments

    def run(arguments: argparse.Namespace) -> int:
        from preflight.cli.triage import run_triage_command

        return run_triage_command(arguments)

    add_arguments(_command(commands, "triage", "find the root cause in the log of a launch that died", run))


def _rules(commands: Commands) -> None:
    def run(arguments: argparse.Namespace) -> int:
        from preflight.cli.rules import run_rules_command

        return run_rules_command(arguments)

    command = _command(commands, "rules", "list the rules", run)
    command.add_argument("--output-format", choices=("text", "json"), default="text", help="default: text")


def _explain(commands: Commands) -> None:
    def run(arguments: argparse.Namespace) -> int:
        from preflight.cli.rules import run_explain_command

        return run_explain_command(arguments)

    command = _command(commands, "explain", "explain one rule: what, why, how to fix, examples", run)
    command.add_argument("rule", metavar="RULE", help="a code (PF101) or a name (syntax-error)")
    command.add_argument("--output-format", choices=("text", "json"), default="text", help="default: text")


def _tree_options(command: argparse.ArgumentParser, *, written: bool = False) -> None:
    """``written``: a command that writes takes the files that are there, and no overlays but its own."""
    group = command.add_argument_group("the tree")
    _site_packages_option(group)
    released = "a released vLLM; its Python sources are fetched and kept in the cache"
    reference = "the release that the tree is compared with; default: its own RECORD"
    group.add_argument("--vllm", metavar="VERSION", help=reference if written else released)
    group.add_argument(
        "--python", metavar="FILE", help="the interpreter that will run vLLM; default: the environment's own"
    )
    group.add_argument("--no-cache", action="store_true", help="neither use nor keep what earlier runs found")
    if written:
        command.set_defaults(staged=False, base_ref=None)
        return
    group.add_argument(
        "--overlay",
        action="append",
        default=None,
        metavar="PATH",
        help="a folder of files, a diff, or a folder of diffs, laid over the tree in memory; repeatable, in order",
    )
    group.add_argument("--staged", action="store_true", help="only what git has staged, with the staged content")
    group.add_argument("--base-ref", metavar="REF", help="only what differs from this git revision")


def _site_packages_option(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--vllm-site-packages",
        nargs="?",
        const=ENVIRONMENT,
        default=None,
        metavar="DIR",
        help="site-packages, a virtual environment or a source checkout; without DIR: the active environment's",
    )


def _check_options(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("what is checked")
    group.add_argument("--all", action="store_true", help="the whole tree, not only the patched set and its reach")
    group.add_argument(
        "--select", action="append", default=None, metavar="RULE", help="only these rules (code, name or prefix)"
    )
    group.add_argument(
        "--ignore", action="append", default=None, metavar="RULE", help="not these rules (code, name or prefix)"
    )
    group.add_argument(
        "--require",
        action="append",
        default=None,
        metavar="INTERFACE[=CLASS]",
        help="demand an interface of the patched model classes, or of the class or architecture named; repeatable",
    )
    group.add_argument("--fail-on", choices=FAIL_ON, default=None, help="what makes the exit code 1; default: error")


def _launch_options(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("the launch (its command stands behind `--`)")
    group.add_argument(
        "--launch",
        dest="launch_file",
        metavar="FILE",
        action=_Once,
        help="a shell script, compose file, Kubernetes manifest or vLLM --config file with the launch",
    )
    group.add_argument("--env", action="append", default=None, metavar="NAME=VALUE", help="a variable of the launch")
    group.add_argument(
        "--model", metavar="PATH", help="a checkpoint folder, a config.json, or a hub id in the local cache"
    )
    group.add_argument("--speculative-config", metavar="JSON", help="the same flag of the launch")
    group.add_argument("--tensor-parallel-size", metavar="N", help="the same flag of the launch")
    group.add_argument("--pipeline-parallel-size", metavar="N", help="the same flag of the launch")
    group.add_argument(
        "--assume",
        action="append",
        default=None,
        metavar="KEY=VALUE[,...]",
        help="what the machine has: gpu-count, gpu-memory (GiB), capability (9.0), cpu-memory (GiB), platform, "
        "package=NAME, no-package=NAME",
    )
    group.add_argument(
        "--require-config",
        action="append",
        default=None,
        metavar="NAME",
        help="an attribute that the model's config must have (text_config.num_hidden_layers); repeatable",
    )


def _output_options(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("the report")
    group.add_argument("--output-format", choices=FORMATS, default="text", help="default: text")
    group.add_argument("-o", "--output", metavar="FILE", help="write the report to FILE")
    group.add_argument("--verbose", action="store_true", help="whole trails and every note")
    group.add_argument("-q", "--quiet", action="store_true", help="print nothing when nothing reaches --fail-on")
