"""The command line: the only place that knows argv, the environment, standard streams and exit codes."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from preflight.cli.exits import EXIT_CLEAR, EXIT_FAULT, EXIT_INTERRUPTED, EXIT_USAGE
from preflight.cli.failure import report_to_people
from preflight.cli.output import OutputError, discard

__all__ = ["command", "main"]


def command() -> NoReturn:
    """The process of one command: ``main``, and the end of the process.

    What a check makes lives until its end. To look through it for garbage, and to take it apart object by object before
    the process goes, costs as much as a third of the check; so neither is done. A command that goes on for hours turns
    the collector on again.
    """
    gc.disable()
    code = main()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            continue  # nobody reads it any more
    os._exit(code)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    ``argv``: the words after the program's name; default ``sys.argv[1:]``. Returns the exit code of the contract: 0
    clear,
    1 something reaches ``--fail-on``, 2 the request cannot be carried out, 3 a fault of preflight, 130 interrupted.
    Nothing is raised.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    _open_streams()
    code = _run(words)
    try:
        sys.stdout.flush()
    except OSError:  # a command that writes by itself, and a reader that has gone
        discard(sys.stdout)
    return code


def _open_streams() -> None:
    """A stream that the caller closed (``>&-``) is None; what would be written to it goes nowhere."""
    if sys.stdout is None:
        sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115 - it lives as long as the process
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115


def _run(words: list[str]) -> int:
    from preflight.errors import PreflightError
    from preflight.room import with_room

    try:
        from preflight.cli.parser import parse

        arguments = parse(words)
        return with_room(lambda: arguments.run(arguments))
    except BrokenPipeError:
        return EXIT_CLEAR
    except KeyboardInterrupt:
        return _end(words, EXIT_INTERRUPTED, "interrupted", None)
    except OutputError as error:
        report_to_people(error.message, error.help)
        return EXIT_USAGE
    except PreflightError as error:
        return _end(words, EXIT_USAGE, error.message, error.help)
    except RecursionError as error:
        return _fault(words, error)
    except Exception as error:  # the one place where a fault of ours becomes exit code 3
        return _fault(words, error)


def _end(words: list[str], code: int, message: str, help: str | None) -> int:
    from preflight.cli.failure import report_failure

    report_failure(words, message, help)
    return code


def _fault(words: list[str], error: BaseException) -> int:
    from preflight.cli.failure import report_fault

    report_fault(words, error)
    return EXIT_FAULT
