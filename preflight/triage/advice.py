"""What a root cause means, and how to have it found before the next launch.

The table is ``rules/triage/causes.toml``. A rule is named only if this release has it; the table may be ahead of it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from preflight.triage.failure import Failure
from preflight.triage.launches import Launch
from preflight.triage.patterns import Cause, Patterns

if TYPE_CHECKING:
    from preflight.rulebook import Rule, Rulebook

_SECRET = re.compile(r"^--(?:.*[-_])?(?:key|token|password|secret)$", re.I)


@dataclass(frozen=True, slots=True)
class Advice:
    """``rule`` None: no rule of this release decides it, or, with ``nature`` set, no static check can. ``whole``
    tells whether ``command`` has all of the launch's flags; a word in capitals in it stands for what the log does not
    show."""

    cause: str | None
    meaning: str | None
    help: str | None
    nature: str | None
    rule: str | None
    rule_name: str | None
    command: str | None
    whole: bool


def advise(
    failure: Failure, launch: Launch, patterns: Patterns, rules: Callable[[], Rulebook], tree: Sequence[str]
) -> Advice:
    """Explain ``failure`` of ``launch``. ``tree`` are the words by which the user named a tree, if so."""
    cause, groups = _cause(failure, patterns)
    if cause is None:
        return Advice(None, None, None, None, None, None, None, False)
    rule = _first_existing(cause.rules, rules()) if cause.rules else None
    command, whole = _command(failure, launch, tree) if rule is not None else (None, False)
    return Advice(
        cause=cause.id,
        meaning=cause.meaning.format_map(groups),
        help=cause.help.format_map(groups),
        nature=cause.nature,
        rule=rule.code if rule is not None else None,
        rule_name=rule.name if rule is not None else None,
        command=command,
        whole=whole,
    )


def _cause(failure: Failure, patterns: Patterns) -> tuple[Cause | None, dict[str, str]]:
    """The first entry of the table that fits, and what its message's groups matched."""
    name = failure.exception or ""
    path = failure.place.path if failure.place is not None else ""
    for cause in patterns.causes:
        if cause.exception is not None and not cause.exception.search(name):
            continue
        if cause.path is not None and not cause.path.search(path):
            continue
        if cause.stages and failure.stage.name not in cause.stages:
            continue
        found = cause.message.search(failure.message) if cause.message is not None else None
        if cause.message is None or found is not None:
            groups = found.groupdict() if found is not None else {}
            return cause, {key: value or "" for key, value in groups.items()}
    return None, {}


def _first_existing(wanted: Sequence[str], rulebook: Rulebook) -> Rule | None:
    """By name, code or check; a tombstone has no check and decides nothing."""
    for word in wanted:
        named = rulebook.find(word)
        rule = named if named is not None and named.check else next(iter(rulebook.by_check(word)), None)
        if rule is not None:
            return rule
    return None


def _command(failure: Failure, launch: Launch, tree: Sequence[str]) -> tuple[str, bool]:
    """(the check to run before the next launch, whether it has all flags of this one)."""
    words = ["preflight", "check"]
    if tree:
        words += tree
    elif failure.place is not None and failure.place.in_tree and failure.place.site_packages:
        words += ["--vllm-site-packages", failure.place.site_packages]
    command, whole = _launch_words(failure, launch)
    return shlex.join([*words, "--", *command] if command else words), whole


def _launch_words(failure: Failure, launch: Launch) -> tuple[list[str], bool]:
    if launch.command is not None:
        try:
            return redacted(shlex.split(launch.command)), True
        except ValueError:
            pass
    if launch.arguments is not None and (words := _from_arguments(launch.arguments)):
        return redacted(words), launch.arguments.startswith("{")
    if failure.exception == "SystemExit":
        _, found, rest = failure.message.partition("unrecognized arguments: ")
        return ["vllm", "serve", "MODEL", *(redacted(rest.split()) if found else ["FLAGS"])], False
    return [], False


def _from_arguments(text: str) -> list[str] | None:
    """``{'model': 'M', 'enforce_eager': True}``, as vLLM logs its non-default arguments -> a command line."""
    import ast

    try:
        values = ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        values = None
    if not isinstance(values, dict):
        # Before 0.9 all arguments are logged, as argparse's Namespace, whose defaults are not known here.
        found = re.search(r"\bmodel(?:_tag)?='([^']{1,500})'", text)
        return ["vllm", "serve", found[1]] if found else None
    model = values.pop("model_tag", None) or values.get("model")
    values.pop("model", None)
    if not isinstance(model, str):
        return None
    words = ["vllm", "serve", model]
    for name, value in values.items():
        words += _flag(str(name), value)
    return words


def _flag(name: str, value: object) -> list[str]:
    flag = f"--{name.replace('_', '-')}"
    if value is True:
        return [flag]
    if value is False:
        return [f"--no-{flag[2:]}"]
    if value is None:
        return []
    if isinstance(value, dict):
        import json

        try:
            return [flag, json.dumps(value)]
        except (TypeError, ValueError):
            return [flag, str(value)]
    if isinstance(value, (list, tuple)):
        return [flag, *map(str, value)]
    return [flag, str(value)]


def redacted(words: Sequence[str]) -> list[str]:
    """A command line that may be shown: the values of flags that hold a secret are replaced by ``***``."""
    shown: list[str] = []
    hide = False
    for word in words:
        flag, equals, _ = word.partition("=")
        secret = _SECRET.match(flag) is not None
        if hide and not word.startswith("--"):
            shown.append("***")
            hide = True
            continue
        shown.append(f"{flag}=***" if secret and equals else word)
        hide = secret and not equals
    return shown
