"""``preflight show``: the effective state of the tree and the launch."""

from __future__ import annotations

import argparse
import os
import sys

from preflight.cli.check import check_request, tree_request
from preflight.cli.exits import EXIT_CLEAR
from preflight.cli.output import write_report
from preflight.cli.settings import load_settings
from preflight.cli.terminal import terminal_of


def run_show_command(arguments: argparse.Namespace) -> int:
    """Print the state; exit code 0. Raises PreflightError for a tree or a launch that cannot be read."""
    from preflight.show.collect import collect
    from preflight.show.rendering import render_show
    from preflight.tree import open_tree

    settings = load_settings()
    tree = open_tree(tree_request(arguments, settings), os.environ)
    report = collect(tree, check_request(arguments, settings), os.environ)
    width = terminal_of(sys.stdout).width
    text = render_show(report, arguments.output_format, width=width, verbose=arguments.verbose)
    write_report(arguments.output, text, sys.stdout)
    return EXIT_CLEAR
