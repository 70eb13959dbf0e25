"""``preflight gate``: check, then become the command."""

from __future__ import annotations

import argparse
import os
import shutil
import sys

from preflight.cli.check import checked, finish, launch_words
from preflight.cli.exits import EXIT_CLEAR
from preflight.cli.settings import load_settings
from preflight.errors import UsageError


def run_gate_command(arguments: argparse.Namespace) -> int:
    """Check; start the command only if nothing reaches ``--fail-on``.

    When clear, prints one line on standard error and replaces this process by the command (same environment, signals
    and exit code), so it
    returns only when the check fails (1) or with ``--dry-run``. Raises UsageError when no command is given or it
    does not exist.
    """
    arguments.fix = arguments.diff = False
    words = launch_words(arguments)
    if words is None:
        raise UsageError("gate has no command to become", "write it behind `--`: `preflight gate -- vllm serve MODEL`")
    program = shutil.which(words[0])
    if program is None:
        raise UsageError(f"the command `{words[0]}` is not on PATH", "write its full path, or activate its environment")
    settings = load_settings()
    _, report = checked(arguments, settings)
    from preflight.run import reaches

    if reaches(report, arguments.fail_on or settings.fail_on):
        return finish(arguments, settings, report)
    from preflight.render.verdict import verdict_sentence

    if not arguments.quiet:
        print(verdict_sentence(report), file=sys.stderr)
    if arguments.dry_run:
        print(f"preflight: would start {program}", file=sys.stderr)
        return EXIT_CLEAR
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(program, list(words))
    raise AssertionError("execv does not return")
