"""Rules as data: one TOML file a rule, read strictly, matched both ways with the checks."""

from preflight.rulebook.book import Rulebook
from preflight.rulebook.load import load_rulebook
from preflight.rulebook.rule import Example, Expected, Rule, Status

__all__ = ["Example", "Expected", "Rule", "Rulebook", "Status", "load_rulebook"]
