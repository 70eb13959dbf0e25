"""``preflight triage LOG``: the options, and the command as a plain function."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, BinaryIO, TextIO

if TYPE_CHECKING:
    from preflight.rulebook import Rulebook
    from preflight.triage.reader import LogReader
    from preflight.triage.report import TreeQuestion

EXIT_NOTHING = 0
EXIT_FAILURE = 1
EXIT_INTERRUPTED = 130
#: After the last sign of a failure, the cascade behind it comes within seconds.
_SETTLE = 3.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's own options."""
    parser.add_argument("log", metavar="LOG", help="a log file, also gzip; - for standard input")
    parser.add_argument(
        "--follow",
        action="store_true",
        help="wait for more while the log grows, until the launch has failed or serves",
    )
    parser.add_argument(
        "--vllm-site-packages",
        nargs="?",
        const="",
        default=None,
        metavar="DIR",
        help="the tree that ran: tells whether the file of the root cause is patched; without DIR: the active one",
    )
    parser.add_argument("--vllm", metavar="VERSION", default=None, help="a released vLLM as that tree")
    parser.add_argument("--output-format", choices=("text", "json"), default="text", help="default: text")


def run(
    arguments: argparse.Namespace,
    *,
    stdin: BinaryIO,
    stdout: TextIO,
    environ: Mapping[str, str],
    rules: Callable[[], Rulebook],
    colour: bool = False,
    width: int = 100,
) -> int:
    """Read the log and tell its root cause on ``stdout``.

    ``rules`` loads the rulebook; it is called only if the root cause is one that some rule could decide. Returns 0
    when no failure was found, 1 when one was, 130 when ``--follow`` was interrupted (what was read until then is
    told). Raises LogUnreadable, and TreeError, FetchError or UsageError for a tree that was named.
    """
    from preflight.triage.patterns import load_patterns
    from preflight.triage.reader import LogReader
    from preflight.triage.report import answer
    from preflight.triage.source import Log

    question = _tree(arguments, environ)
    patterns = load_patterns()
    reader = LogReader(patterns)
    log = Log(arguments.log, stdin, arguments.follow)
    interrupted = False
    try:
        for block in log.blocks(lambda silence: _enough(reader, silence)):
            reader.feed(block)
    except KeyboardInterrupt:
        if not arguments.follow:
            raise
        interrupted = True
    finally:
        log.close()
    triage = answer(reader.finish(), patterns, rules, question, tuple(log.notes))
    if arguments.output_format == "json":
        from preflight.triage.data import render_json

        stdout.write(render_json(triage))
    else:
        from preflight.triage.text import render_text

        stdout.write(render_text(triage, colour=colour, width=width))
    if interrupted:
        return EXIT_INTERRUPTED
    return EXIT_FAILURE if triage.failed else EXIT_NOTHING


def _enough(reader: LogReader, silence: float) -> bool:
    """Whether a log that is followed has told how the launch went."""
    launch = reader.current
    if launch is None or silence < _SETTLE:
        return False
    return launch.serving_line is not None or reader.failing()


def _tree(arguments: argparse.Namespace, environ: Mapping[str, str]) -> TreeQuestion:
    from preflight.triage.report import TreeQuestion

    site, version = arguments.vllm_site_packages, arguments.vllm
    if site is None and version is None:
        return TreeQuestion()
    from preflight.tree import TreeRequest, open_tree

    request = TreeRequest(site_packages=site or None, use_environment=site == "", vllm=version)
    words = ("--vllm-site-packages", *((site,) if site else ())) if site is not None else ()
    more = ("--vllm", version) if version is not None else ()
    return TreeQuestion(open_tree(request, environ), (*words, *more))
