"""All rules of a run: finding one, and choosing those that run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from preflight.errors import UsageError
from preflight.model import TreeFacts
from preflight.rulebook.near import did_you_mean
from preflight.rulebook.rule import Rule, Status

_PREFIX = re.compile(r"[A-Z]+[0-9]{0,2}")


@dataclass(frozen=True, slots=True)
class Rulebook:
    """Every rule, ours first, each part in the order of the codes. Tombstones are among them."""

    rules: tuple[Rule, ...]

    def by_check(self, check: str) -> tuple[Rule, ...]:
        """The rules that the check decides, tombstones left out; several only where each has its own parameters."""
        return tuple(rule for rule in self.rules if rule.check == check and rule.status is not Status.REMOVED)

    def find(self, code_or_name: str) -> Rule | None:
        """The rule, or tombstone, of this code or name."""
        return next((rule for rule in self.rules if code_or_name in (rule.code, rule.name)), None)

    def select(
        self, select: Sequence[str] = (), ignore: Sequence[str] = (), facts: TreeFacts | None = None
    ) -> tuple[Rule, ...]:
        """The rules that run.

        ``select`` and ``ignore`` hold codes, names and code prefixes (`PF1`), each word possibly a list with commas.
        With nothing selected all stable rules run; preview rules run only where they are selected. Between a `select`
        and an `ignore` that both hit a rule the longer one decides (`--select PF101 --ignore PF1` runs PF101), and of
        equals the `ignore`. ``facts``: rules that do not apply to the tree's versions are left out. Raises UsageError
        for a word that hits no rule, for selecting what was removed, and for words that leave no rule at all.
        """
        chosen = [_Selector.of(word, self.rules, "--select") for word in _words(select)]
        refused = [_Selector.of(word, self.rules, "--ignore") for word in _words(ignore)]
        left = []
        for rule in self.rules:
            if rule.status is Status.REMOVED:
                continue
            wanted = max((selector.strength(rule) for selector in chosen), default=int(rule.status is Status.STABLE))
            unwanted = max((selector.strength(rule) for selector in refused), default=0)
            if wanted > unwanted:
                left.append(rule)
        if not left and refused:  # "clear" would say that something was looked at
            raise UsageError(
                "--select and --ignore leave no rule to check", "leave one of them away: `preflight rules` lists all"
            )
        if facts is None:
            return tuple(left)
        return tuple(rule for rule in left if rule.applies_to(facts.vllm, facts.transformers, facts.python))


@dataclass(frozen=True, slots=True)
class _Selector:
    word: str

    @classmethod
    def of(cls, word: str, rules: Iterable[Rule], option: str) -> _Selector:
        selector = cls(word)
        hit = [rule for rule in rules if selector.strength(rule)]
        if not hit:
            raise UsageError(f"{option} names `{word}`, which is no rule, name or code prefix", _nearest(word, rules))
        if option == "--select" and all(rule.status is Status.REMOVED for rule in hit):
            raise UsageError(
                f"{option} names `{word}`, which was removed",
                f"`preflight explain {hit[0].code}` says why; take it out of the selection",
            )
        return selector

    def strength(self, rule: Rule) -> int:
        """0: does not hit the rule; else the more of the code is named, the stronger (1 means "nothing selected")."""
        if self.word in (rule.code, rule.name):
            return 100
        return 1 + len(self.word) if _PREFIX.fullmatch(self.word) and rule.code.startswith(self.word) else 0


def _words(selectors: Iterable[str]) -> list[str]:
    return [word.strip() for part in selectors for word in part.split(",") if word.strip()]


def _nearest(word: str, rules: Iterable[Rule]) -> str:
    known = [word for rule in rules if rule.status is not Status.REMOVED for word in (rule.code, rule.name)]
    return f"{did_you_mean(word, known, most=3)}`preflight rules` lists them all"
