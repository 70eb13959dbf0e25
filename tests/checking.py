"""Runs of checks for tests: on a tree that is open already, without the command line."""

from __future__ import annotations

import os

from preflight.checks.context import CheckOptions, Context
from preflight.model import Report
from preflight.program import Program
from preflight.rulebook import load_rulebook
from preflight.run import Request, run_checks
from preflight.syntax.cst import CstParser
from preflight.syntax.source import SourceStore
from preflight.tree import Tree


def report_of(tree: Tree, options: CheckOptions | None = None) -> Report:
    """What all checks say of a tree."""
    with CstParser() as cst:
        return run_checks(tree, Request(options or CheckOptions()), os.environ, cst)


def context_of(tree: Tree, program: Program, paths: tuple[str, ...], options: CheckOptions) -> Context:
    """What a check is given."""
    return Context(tree, SourceStore(tree), CstParser(), load_rulebook(), paths, lambda: program, options)
