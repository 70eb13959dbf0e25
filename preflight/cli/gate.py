"""The commands that stand before a launch: ``gate`` becomes the command, ``launch`` runs and watches it."""

from __future__ import annotations

import argparse
import gc
import os
import shutil
import sys

from preflight.cli.check import finish, launch_words, reported
from preflight.cli.exits import EXIT_CLEAR
from preflight.cli.settings import load_settings
from preflight.errors import UsageError


def run_gate_command(arguments: argparse.Namespace) -> int:
    """Check; start the command only if nothing reaches ``--fail-on``.

    When clear, prints one line on standard error and replaces this process by the command (same environment,
    signals and exit code), so it returns only when the check fails (1) or with ``--dry-run``. Raises UsageError when
    no command is given or it does not exist.
    """
    words = launch_words(arguments)
    if words is None:
        raise UsageError("gate has no command to become", "write it behind `--`: `preflight gate -- vllm serve MODEL`")
    program = shutil.which(words[0])
    if program is None and not arguments.dry_run:
        raise _no_program(words[0])
    code = judge(arguments)
    if code != EXIT_CLEAR:
        return code
    if program is None:
        raise _no_program(words[0])  # a dry run may check beforehand what another machine will start
    if arguments.dry_run:
        print(f"preflight: would start {program}", file=sys.stderr)
        return EXIT_CLEAR
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(program, list(words))
    raise AssertionError("execv does not return")


def _no_program(word: str) -> UsageError:
    where = "is no program that can be run" if "/" in word else "is not on PATH"
    return UsageError(f"the command `{word}` {where}", "write its full path, or activate its environment")


def run_launch_command(arguments: argparse.Namespace) -> int:
    """Check, run the command with its output kept and shown, and tell its root cause if it dies.

    Returns what ``preflight.supervise`` says: the command's own exit code, or 1 when the check refuses it.
    """
    from preflight.cli.rules import installed_rules
    from preflight.cli.terminal import shows_progress, terminal_of
    from preflight.supervise.command import run

    terminal = terminal_of(sys.stderr)
    return run(
        arguments,
        command=launch_words(arguments) or (),
        gate=lambda _: _judge_and_collect(arguments),
        stdout=sys.stdout,
        stderr=sys.stderr,
        environ=os.environ,
        rules=installed_rules,
        colour=terminal.colour,
        width=terminal.width,
        progress=shows_progress(),
    )


def _judge_and_collect(arguments: argparse.Namespace) -> int:
    """``judge`` in a process that then watches a server for as long as it runs."""
    code = judge(arguments)
    gc.enable()
    return code


def judge(arguments: argparse.Namespace) -> int:
    """Check the launch: the report and 1 when it would fail, one line on standard error and 0 when it is clear."""
    from preflight.render.verdict import verdict_sentence
    from preflight.run import reaches

    settings = load_settings()
    report = reported(arguments, settings)
    if reaches(report, arguments.fail_on or settings.fail_on):
        return finish(arguments, settings, report)
    if arguments.output is not None:
        finish(arguments, settings, report)
    if not arguments.quiet:
        print(verdict_sentence(report), file=sys.stderr)
    return EXIT_CLEAR
