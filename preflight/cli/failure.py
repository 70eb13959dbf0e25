"""The end of a run that has no verdict: the same report in the format that was asked for, whatever went wrong."""

from __future__ import annotations

import sys
from collections.abc import Sequence

#: The formats whose readers are machines: they get a whole report on standard output even when the run failed.
MACHINE_FORMATS = frozenset({"json", "sarif", "junit"})


def requested_format(words: Sequence[str]) -> str:
    """The ``--output-format`` among ``words``, found without the parser, which may be what failed."""
    chosen = "text"
    for index, word in enumerate(words):
        if word == "--":
            break
        if word == "--output-format" and index + 1 < len(words):
            chosen = words[index + 1]
        elif word.startswith("--output-format="):
            chosen = word.partition("=")[2]
    return chosen


def report_failure(words: Sequence[str], message: str, help: str | None) -> None:
    """Say that the request could not be carried out: on standard error for people, as a report for machines."""
    format = requested_format(words)
    if format in MACHINE_FORMATS:
        from preflight.cli.output import OutputError, write_text
        from preflight.model import Report, RunError, Verdict
        from preflight.render import render

        report = Report(verdict=Verdict.NOT_CHECKED, error=RunError(message, help))
        try:
            write_text(sys.stdout, render(report, format))
        except OutputError as error:
            report_to_people(error.message, error.help)
        return
    report_to_people(message, help)


def report_to_people(message: str, help: str | None) -> None:
    """Say on standard error why a run ended."""
    lines = [f"preflight: error: {message}"]
    if help:
        lines.append(f"  help: {help}")
    print("\n".join(lines), file=sys.stderr)


def report_fault(words: Sequence[str], error: BaseException) -> None:
    """Say that preflight itself failed, with all that a report of the fault needs."""
    import platform
    import traceback

    from preflight import __version__

    report_failure(
        words,
        f"a fault of preflight itself: {type(error).__name__}: {error}",
        "please file the report that stands on standard error; the tree was not judged",
    )
    print(f"--- preflight {__version__}, Python {platform.python_version()} on {platform.system()}", file=sys.stderr)
    print(f"--- command: preflight {' '.join(words)}", file=sys.stderr)
    traceback.print_exception(type(error), error, error.__traceback__, limit=-30, file=sys.stderr)
