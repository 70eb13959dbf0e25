"""``preflight launch -- vllm serve MODEL ...``: the options, and the command as a plain function."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TextIO

from preflight.errors import PreflightError, UsageError

if TYPE_CHECKING:
    from preflight.rulebook import Rulebook
    from preflight.supervise.health import Address
    from preflight.supervise.progress import ProgressLine
    from preflight.supervise.running import End
    from preflight.triage.reader import LogReader

#: As ``timeout(1)`` has it.
EXIT_TIMED_OUT = 124


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's own options; the gate's are the caller's."""
    parser.add_argument(
        "--log",
        metavar="FILE",
        default=None,
        help="keep the output in FILE, appended to what is there; default: ./preflight-launch-TIME.log",
    )
    parser.add_argument(
        "--ready-timeout",
        metavar="SECONDS",
        type=_seconds,
        default=None,
        help="end the launch when it does not serve after so long (exit code 124); default: wait as long as it takes",
    )
    parser.add_argument(
        "--health-url",
        metavar="URL",
        default=None,
        help="what to ask whether it serves; default: /health at the host and port of the command's flags",
    )


def run(
    arguments: argparse.Namespace,
    *,
    command: Sequence[str],
    gate: Callable[[Sequence[str]], int],
    stdout: TextIO,
    stderr: TextIO,
    environ: Mapping[str, str],
    rules: Callable[[], Rulebook],
    colour: bool = False,
    width: int = 100,
    progress: bool = False,
) -> int:
    """Gate, run ``command``, and tell its root cause on ``stderr`` when it dies.

    ``gate`` is given the command and answers with an exit code; anything but 0 is returned at once. The command's
    output is shown on ``stdout`` and kept in a log file. Returns the command's own exit code, 128 and the number for a
    signal, 124 when it was not ready in time. ``progress``: ``stderr`` is a terminal, on which a line tells how far the
    launch is. Raises UsageError and PreflightError for what cannot be started or written.
    """
    if not command:
        raise UsageError("launch has no command to run", "write it behind `--`: `preflight launch -- vllm serve MODEL`")
    import shlex
    import shutil

    if shutil.which(command[0], path=environ.get("PATH")) is None:
        raise UsageError(
            f"the command `{command[0]}` is not on PATH", "write its full path, or activate its environment"
        )
    _refuse_unwritable(arguments.log)
    if arguments.health_url is not None:
        _named_address(arguments.health_url)
    refused = gate(command)
    if refused:
        return refused

    from preflight.supervise.child import Child, exit_code
    from preflight.supervise.health import Watch
    from preflight.supervise.progress import ProgressLine
    from preflight.supervise.running import Running
    from preflight.triage.advice import redacted
    from preflight.triage.patterns import load_patterns
    from preflight.triage.reader import LogReader

    def say(sentence: str) -> None:
        stderr.write(f"preflight: {sentence}\n")
        stderr.flush()

    address = _address(arguments.health_url, command, say)
    log, path = _opened_log(arguments.log)
    reader = LogReader(load_patterns(), _lines_of(path))
    line = ProgressLine(stderr, progress, width)
    with log, Child(command, environ) as child:
        watch = Watch(address) if address is not None else None
        running = Running(child, reader, log, _shower(stdout, line), say, watch, line, arguments.ready_timeout)
        try:
            # Lines of ours tell a later reader of the log where one launch ends and the next begins.
            running.keep(f"# preflight launch: {shlex.join(redacted(command))}\n".encode("utf-8", "backslashreplace"))
            say(f"started, the log is {path}")
            end = running.until_the_end()
        finally:
            if watch is not None:
                watch.stop()
        running.keep(f"{'' if line.at_line_start else chr(10)}# preflight launch: the command {_ended(end)}\n".encode())
    code = EXIT_TIMED_OUT if end.timed_out else exit_code(end.status)
    if child.received and not end.timed_out:
        launch = reader.current
        stage = f", in: {launch.stage.name}" if launch is not None and not end.ready else ""
        say(f"ended by {child.received[0].name}{stage}; the log is {path}")
    elif code != 0:
        say(f"the command {_ended(end)}; the log is {path}")
        if not running.reader_failed:
            _tell(reader, stderr, rules, colour, width)
    return code


def _address(url: str | None, command: Sequence[str], say: Callable[[str], None]) -> Address | None:
    """What to ask whether the launch serves; None: nobody can be asked, or somebody else would answer."""
    from preflight.supervise.health import address_of, answers

    address = address_of(command) if url is None else _named_address(url)
    if address is not None and answers(address):
        say(f"something answers at {address.url} already; whether this launch serves is told by its log alone")
        return None
    return address


def _named_address(url: str) -> Address:
    from preflight.supervise.health import address_in

    address = address_in(url)
    if address is None:
        raise UsageError(f"--health-url {url} is no http address", "write it like http://localhost:8000/health")
    return address


def _refuse_unwritable(log: str | None) -> None:
    """Refuse a named log that cannot be written before anything is checked; it is made only when a launch starts."""
    if log is None:
        return
    path = Path(log)
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise PreflightError(f"The log {log} cannot be written.", "Name another file with --log FILE.")


def _tell(reader: LogReader, stderr: TextIO, rules: Callable[[], Rulebook], colour: bool, width: int) -> None:
    from preflight.triage.patterns import load_patterns
    from preflight.triage.report import TreeQuestion, answer
    from preflight.triage.text import render_text

    triage = answer(reader.finish(), load_patterns(), rules, TreeQuestion())
    stderr.write("\n" + render_text(triage, colour=colour, width=width))
    stderr.flush()


def _ended(end: End) -> str:
    from preflight.supervise.progress import duration
    from preflight.triage.signals import signal_name

    after = f"after {duration(end.seconds)}"
    if end.timed_out:
        return f"was ended for not being ready in time, {after}"
    if end.status < 0:
        return f"was killed by signal {-end.status} ({signal_name(-end.status)}) {after}"
    return f"ended with exit code {end.status} {after}"


def _lines_of(path: Path) -> int:
    """How many lines the log has already: the report names lines of the file."""
    lines = 0
    if not path.is_file():  # a pipe would be waited for, a device never ends
        return lines
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            lines += block.count(b"\n")
    return lines


def _opened_log(given: str | None) -> tuple[BinaryIO, Path]:
    """The log file. One that is named is appended to; a default name is never one that is there already."""
    if given is not None:
        path = Path(given)
        try:
            return path.open("ab", buffering=0), path
        except OSError as error:
            raise PreflightError(
                f"The log {given} cannot be written: {error.strerror or error}.", "Name another file with --log FILE."
            ) from error
    import time

    stamp = time.strftime("%Y%m%d-%H%M%S")
    for suffix in ("", *(f"-{number}" for number in range(2, 100))):
        path = Path(f"preflight-launch-{stamp}{suffix}.log")
        try:
            return path.open("xb", buffering=0), path
        except FileExistsError:
            continue
        except OSError as error:
            raise PreflightError(
                f"The log {path} cannot be written in {Path.cwd()}: {error.strerror or error}.",
                "Name a file elsewhere with --log FILE.",
            ) from error
    raise PreflightError(f"There are too many logs of {stamp} already.", "Name a file with --log FILE.")


def _shower(stdout: TextIO, line: ProgressLine) -> Callable[[bytes], None]:
    """Writes the command's bytes to standard output as they are. A reader that has gone ends that, not the launch."""
    stdout.flush()
    descriptor: list[int] = [stdout.fileno()]

    def show(data: bytes) -> None:
        line.at_line_start = data.endswith(b"\n")
        view = memoryview(data)
        while view and descriptor:
            try:
                view = view[os.write(descriptor[0], view) :]
            except OSError:
                descriptor.clear()

    return show


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < 1e9:
        raise argparse.ArgumentTypeError(f"{text} is no number of seconds")
    return seconds
