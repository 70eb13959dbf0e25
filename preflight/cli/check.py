"""``preflight check``: open the tree, run the checks, repair if asked, print the report."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from preflight.cli.exits import EXIT_CLEAR, EXIT_FINDINGS
from preflight.cli.output import write_report, write_text
from preflight.cli.parser import ENVIRONMENT
from preflight.cli.settings import Settings, load_settings
from preflight.cli.terminal import shows_progress, terminal_of
from preflight.errors import PreflightError, UsageError

if TYPE_CHECKING:
    from preflight.model import Report
    from preflight.run import Request
    from preflight.syntax.cst import CstParser
    from preflight.tree import Tree, TreeRequest


def run_check_command(arguments: argparse.Namespace) -> int:
    """Carry out ``preflight check``; returns 0 or 1. Raises PreflightError for what cannot be carried out."""
    if arguments.fix and arguments.diff:
        raise UsageError("--fix writes the fixes and --diff only prints them", "give one of the two")
    if arguments.diff and arguments.output_format != "text" and arguments.output is None:
        raise UsageError(
            f"--diff and --output-format {arguments.output_format} both write to standard output",
            "write the report to a file with -o FILE, or take the edits from its `fix` fields",
        )
    settings = load_settings()
    if _names_several(arguments, settings):
        return _check_several(arguments, settings)
    if not arguments.fix and not arguments.diff:
        return finish(arguments, settings, reported(arguments, settings))
    with started_cst() as cst:
        tree, report = checked(arguments, settings, cst)
        if arguments.fix and _repair(tree, report):
            tree, report = checked(arguments, settings, cst)
    if arguments.diff:
        from preflight.cli.repair import diff_of

        write_text(sys.stdout, diff_of(tree, report))
    return finish(arguments, settings, report)


def reported(arguments: argparse.Namespace, settings: Settings) -> Report:
    """The report on the tree that the arguments and the settings name: the one of an earlier run that asked the same,
    if all it hangs on is as it was, or else a new one. Raises like ``checked``.
    """
    from preflight.kept import KeptReports

    question = repr((tree_request(arguments, settings), check_request(arguments, settings), settings))
    kept = KeptReports(question, os.environ, keep=not arguments.no_cache)
    if (report := kept.find()) is not None:
        return report
    with kept.watched() as made, started_cst() as cst:
        _, report = checked(arguments, settings, cst)
        made.append(report)
    return report


def _names_several(arguments: argparse.Namespace, settings: Settings) -> bool:
    """True if the configuration alone says what the tree is, and names more than one release."""
    return arguments.vllm_site_packages is None and arguments.vllm is None and len(settings.vllm) > 1


def _check_several(arguments: argparse.Namespace, settings: Settings) -> int:
    from preflight.cli.releases import check_releases
    from preflight.render.several import render_several

    if arguments.fix or arguments.diff:
        raise UsageError(
            f"{settings.file} names {len(settings.vllm)} releases, and a fix is made for one", "name it: --vllm VERSION"
        )
    return _finish(arguments, settings, check_releases(arguments, settings), render_several)


def started_cst() -> CstParser:
    """libcst, at work on its own import: that takes as long as all that comes before it is needed."""
    from preflight.syntax.cst import CstParser

    cst = CstParser()
    cst.start()
    return cst


def checked(
    arguments: argparse.Namespace, settings: Settings, cst: CstParser, opened: Callable[[Tree], object] | None = None
) -> tuple[Tree, Report]:
    """Open the tree that the arguments and the settings name, and check it; ``opened`` is told of it before."""
    from preflight.run import run_checks
    from preflight.tree import open_tree

    try:
        tree = open_tree(tree_request(arguments, settings), os.environ)
        if opened is not None:
            opened(tree)
        return tree, run_checks(tree, check_request(arguments, settings), os.environ, cst)
    except PreflightError as error:
        if settings.file is not None and _is_configured(error, arguments, settings):
            raise type(error)(f"{settings.file}: {error.message}", error.help) from error
        raise


def _is_configured(error: PreflightError, arguments: argparse.Namespace, settings: Settings) -> bool:
    """True if the error speaks of a value that the configuration gave and no option."""
    values: dict[str, tuple[str, ...]] = {
        "overlay": settings.overlay,
        "select": settings.select,
        "ignore": settings.ignore,
        "python": (settings.python,) if settings.python else (),
    }
    if arguments.vllm_site_packages is None and arguments.vllm is None:
        values["vllm_site_packages"] = (settings.vllm_site_packages,) if settings.vllm_site_packages else ()
        values["vllm"] = settings.vllm
    return any(
        value in error.message
        for key, given in values.items()
        if getattr(arguments, key) in (None, [])
        for value in given
    )


def finish(arguments: argparse.Namespace, settings: Settings, report: Report) -> int:
    """Write the report where it was asked for; returns the exit code."""
    from preflight.render import render

    return _finish(arguments, settings, (report,), lambda reports, format, **look: render(reports[0], format, **look))


def _finish(
    arguments: argparse.Namespace, settings: Settings, reports: Sequence[Report], rendered: Callable[..., str]
) -> int:
    from preflight.run import reaches

    fail_on = arguments.fail_on or settings.fail_on
    failed = any(reaches(report, fail_on) for report in reports)
    if failed or not arguments.quiet or arguments.output is not None:
        # --diff has standard output to itself.
        stream = sys.stderr if arguments.diff else sys.stdout
        terminal = terminal_of(stream)
        text = rendered(
            reports,
            arguments.output_format,
            colour=terminal.colour and arguments.output is None,
            width=terminal.width,
            verbose=arguments.verbose,
        )
        write_report(arguments.output, text, stream)
    return EXIT_FINDINGS if failed else EXIT_CLEAR


def tree_request(arguments: argparse.Namespace, settings: Settings) -> TreeRequest:
    """Which tree: the command line before the configuration, the configuration before the active environment."""
    from preflight.tree import TreeRequest

    site_packages, vllm = arguments.vllm_site_packages, arguments.vllm
    if site_packages is None and vllm is None:
        if len(settings.vllm) > 1:
            raise UsageError(
                f"{settings.file} names {len(settings.vllm)} releases ({', '.join(settings.vllm)}), and this command "
                "is about one tree",
                "name it: --vllm VERSION, or --vllm-site-packages DIR",
            )
        site_packages, vllm = settings.vllm_site_packages, next(iter(settings.vllm), None)
    if site_packages == "":
        raise UsageError(
            "--vllm-site-packages is given an empty name", "name the folder, or give the option without one"
        )
    if vllm == "":
        raise UsageError("--vllm names no version", "write `--vllm 0.16.0`")
    return TreeRequest(
        site_packages=None if site_packages == ENVIRONMENT else site_packages,
        use_environment=site_packages == ENVIRONMENT or (site_packages is None and vllm is None),
        vllm=vllm,
        overlays=tuple(arguments.overlay) if arguments.overlay is not None else settings.overlay,
        overlay_option="PATCH" if "patches" in arguments else "--overlay",
        paths=tuple(arguments.paths),
        python=arguments.python or settings.python,
        staged=arguments.staged,
        base_ref=arguments.base_ref,
        use_cache=not arguments.no_cache,
        whole_tree=getattr(arguments, "all", False),
        progress=shows_progress(),
    )


def check_request(arguments: argparse.Namespace, settings: Settings) -> Request:
    """What to check it for."""
    from preflight.checks.context import CheckOptions
    from preflight.launch.request import LaunchRequest
    from preflight.run import Request

    return Request(
        options=CheckOptions(
            whole_tree=arguments.all,
            require=_words(arguments.require, settings.require),
            use_cache=not arguments.no_cache,
            assume=tuple(arguments.assume or ()),
            require_config=tuple(arguments.require_config or ()),
        ),
        launch=LaunchRequest(
            words=launch_words(arguments),
            file=arguments.launch_file,
            model=arguments.model,
            speculative_config=arguments.speculative_config,
            tensor_parallel_size=arguments.tensor_parallel_size,
            pipeline_parallel_size=arguments.pipeline_parallel_size,
            environment=tuple(arguments.env or ()),
            inherited=tuple(sorted(os.environ.items())) if arguments.becomes else (),
            folder=Path.cwd(),
        ),
        select=_words(arguments.select, settings.select),
        ignore=_words(arguments.ignore, settings.ignore),
        extra_rules=settings.rules,
    )


def launch_words(arguments: argparse.Namespace) -> tuple[str, ...] | None:
    """The command behind ``--``; None when there is no ``--``, an error when nothing stands behind it."""
    if arguments.launch is None:
        return None
    if not arguments.launch:
        raise UsageError("nothing stands behind `--`", "write the launch there: `-- vllm serve MODEL --flags`")
    return tuple(arguments.launch)


def _words(given: list[str] | None, configured: tuple[str, ...]) -> tuple[str, ...]:
    if given is None:
        return configured
    return tuple(word.strip() for text in given for word in text.split(",") if word.strip())


def _repair(tree: Tree, report: Report) -> bool:
    from preflight.cli.repair import write_fixes

    written, refused = write_fixes(tree, report)
    for file in written:
        print(f"preflight: fixed {file}", file=sys.stderr)
    for sentence in refused:
        print(f"preflight: not fixed: {sentence}", file=sys.stderr)
    return bool(written)
