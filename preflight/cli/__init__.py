"""The command line: the only place that knows argv, the environment, standard streams and exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from preflight.cli.exits import EXIT_FAULT, EXIT_INTERRUPTED, EXIT_USAGE

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    ``argv``: the words after the program's name; default ``sys.argv[1:]``. Returns the exit code of the contract: 0
    clear,
    1 something reaches ``--fail-on``, 2 the request cannot be carried out, 3 a fault of preflight, 130 interrupted.
    Nothing is raised.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        code = _run(words)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # The reader of our output has gone (`| head`): what it read is all it wants, and Python must not complain at
        # exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_INTERRUPTED


def _run(words: list[str]) -> int:
    from preflight.errors import PreflightError

    try:
        from preflight.cli.parser import parse

        arguments = parse(words)
        return arguments.run(arguments)
    except BrokenPipeError:
        raise
    except KeyboardInterrupt:
        return _end(words, EXIT_INTERRUPTED, "interrupted", None)
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
