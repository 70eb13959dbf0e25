"""``preflight triage``: the root cause in a launch log."""

from __future__ import annotations

import argparse
import gc
import io
import os
import sys

from preflight.cli.output import write_text
from preflight.cli.rules import installed_rules
from preflight.cli.terminal import terminal_of


def run_triage_command(arguments: argparse.Namespace) -> int:
    """Returns 0 when no failure was found, 1 when one was. Raises PreflightError for a log that cannot be read."""
    from preflight.triage.command import run

    gc.enable()  # a log may be followed for hours
    terminal = terminal_of(sys.stdout)
    answer = io.StringIO()
    code = run(
        arguments,
        stdin=sys.stdin.buffer,
        stdout=answer,
        environ=os.environ,
        rules=installed_rules,
        colour=terminal.colour,
        width=terminal.width,
    )
    write_text(sys.stdout, answer.getvalue())
    return code
