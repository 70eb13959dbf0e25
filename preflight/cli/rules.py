"""``preflight rules`` and ``preflight explain``."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from preflight.cli.output import write_text
from preflight.cli.terminal import terminal_of
from preflight.errors import UsageError

if TYPE_CHECKING:
    from preflight.rulebook import Rulebook


def installed_rules() -> Rulebook:
    """The rules that hold here: ours and those that the configuration adds."""
    from preflight.cli.settings import load_settings
    from preflight.run import load_rules

    return load_rules(load_settings().rules)


def run_rules_command(arguments: argparse.Namespace) -> int:
    """Print the rule list; exit code 0."""
    from preflight.rulebook.explain import rules_table

    write_text(sys.stdout, rules_table(installed_rules(), arguments.output_format))
    return 0


def run_explain_command(arguments: argparse.Namespace) -> int:
    """Print one rule; exit code 0. Raises UsageError for a rule that does not exist."""
    from preflight.rulebook.explain import explain_json, explain_text
    from preflight.rulebook.near import did_you_mean

    rulebook = installed_rules()
    rule = rulebook.find(arguments.rule) or rulebook.find(arguments.rule.upper())
    if rule is None:
        known = [word for rule in rulebook.rules for word in (rule.code, rule.name)]
        raise UsageError(
            f"there is no rule `{arguments.rule}`",
            f"{did_you_mean(arguments.rule, known, 3)}`preflight rules` lists them all",
        )
    if arguments.output_format == "json":
        write_text(sys.stdout, explain_json(rule))
        return 0
    terminal = terminal_of(sys.stdout)
    write_text(sys.stdout, explain_text(rule, colour=terminal.colour, width=terminal.width))
    return 0
