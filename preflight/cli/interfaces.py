"""``preflight interfaces``: which model classes implement which interfaces."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from preflight.cli.check import tree_request
from preflight.cli.exits import EXIT_CLEAR
from preflight.cli.output import write_text
from preflight.cli.settings import load_settings
from preflight.cli.terminal import terminal_of

if TYPE_CHECKING:
    from preflight.interfaces import InterfacesReport
    from preflight.tree import TreeRequest


def run_interfaces_command(arguments: argparse.Namespace) -> int:
    """Print the table, or with ``--against VERSION`` what differs from that release; exit code 0.

    Raises UsageError for a name that the tree does not have.
    """
    from preflight.interfaces import compare, render_interfaces

    request = tree_request(arguments, load_settings())
    report = _report(arguments, request)
    changes = None
    if arguments.against is not None:
        other = replace(
            request, site_packages=None, use_environment=False, vllm=arguments.against, overlays=(), base_ref=None
        )
        changes = compare(_report(arguments, replace(other, staged=False)), report)
    width = terminal_of(sys.stdout).width
    write_text(sys.stdout, render_interfaces(report, arguments.output_format, changes=changes, width=width))
    return EXIT_CLEAR


def _report(arguments: argparse.Namespace, request: TreeRequest) -> InterfacesReport:
    from preflight.interfaces import interfaces_report
    from preflight.program import load_program
    from preflight.tree import open_tree

    tree = open_tree(request, os.environ)
    return interfaces_report(load_program(tree, os.environ, request.use_cache), arguments.names)
