"""Rule files -> Rulebook: our own from the installed package or the checkout, others from a patch repository."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from preflight.errors import RuleFileError
from preflight.rulebook.book import Rulebook
from preflight.rulebook.near import did_you_mean
from preflight.rulebook.reader import check_specifiers, read_rule
from preflight.rulebook.rule import OUR_PREFIX, Rule, Status
from preflight.rulebook.store import Store
from preflight.rulebook.table import parse_text, read_text


def load_rulebook(
    extra: Sequence[Path] = (),
    known_checks: frozenset[str] | None = None,
    *,
    parametrised: frozenset[str] = frozenset(),
    cache: Path | None = None,
) -> Rulebook:
    """Read our own rules and those in the folders of ``extra``.

    ``known_checks``: the ids of all checks; every rule must name one of them, and every one must be named by a rule
    of ours (None: not compared, for those who only want the texts). ``parametrised``: the checks that take parameters,
    which are the only ones that rules in ``extra`` may name. ``cache``: a folder of the user's cache where the parsed
    form of the files is kept; parsing TOML is the slow part of loading. Raises RuleFileError.
    """
    store = Store(cache)
    own_folder = own_rules_folder()
    own = _read_folder(own_folder, store)
    theirs = [rule for folder in extra for rule in _read_folder(folder, store)]
    for rule in theirs:
        if rule.ours:
            raise _wrong(
                rule,
                f"the code `{rule.code}` begins with `{OUR_PREFIX}`, which is kept for preflight's own rules",
                "choose another prefix",
            )
    _refuse_doubles([*own, *theirs])
    if known_checks is not None:
        _match(own, theirs, known_checks, parametrised, own_folder)
    return Rulebook(tuple(sorted([*own, *theirs], key=lambda rule: (not rule.ours, rule.code))))


def own_rules_folder() -> Path:
    """Where our rule files are: inside the package when it was installed from a wheel, beside it in a checkout."""
    package = Path(__file__).parents[1]
    for folder in (package / "_rules", package.parent / "rules"):
        if folder.is_dir():
            return folder
    raise RuleFileError(
        f"the rule files are missing from {package / '_rules'}",
        "this installation is incomplete: install preflight anew",
    )


def _read_folder(folder: Path, store: Store) -> list[Rule]:
    texts = {file: read_text(file) for file in _files(folder)}
    if not texts:
        raise RuleFileError(
            f"{folder} holds no rule file",
            "rule files are called like `PF101-syntax-error.toml`; or take the folder out of `rules`",
        )
    known = store.load(folder, texts.values())
    documents = known if known is not None else {file.name: parse_text(file, text) for file, text in texts.items()}
    rules = [read_rule(documents[file.name], file, text) for file, text in texts.items()]
    if known is None:
        for rule in rules:
            check_specifiers(rule, texts[rule.file])
        store.save(folder, texts.values(), documents)
    return rules


def _files(folder: Path) -> list[Path]:
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".toml") and not name.startswith("."))  # noqa: PTH208
    except OSError as error:
        raise RuleFileError(
            f"the rule folder {folder} cannot be read: {error.strerror}", "correct `rules` in the configuration"
        ) from error
    return [folder / name for name in names]


def _refuse_doubles(rules: Iterable[Rule]) -> None:
    for attribute in ("code", "name"):
        seen: dict[str, Rule] = {}
        for rule in rules:
            word = getattr(rule, attribute)
            if word in seen:
                raise _wrong(
                    rule,
                    f"the {attribute} `{word}` is also that of {seen[word].file}",
                    f"give one of them another {attribute}",
                )
            seen[word] = rule


def _match(
    own: list[Rule], theirs: list[Rule], known: frozenset[str], parametrised: frozenset[str], folder: Path
) -> None:
    """Rules and checks, both ways: no rule without its check, no check without its rule."""
    alive = [rule for rule in own if rule.status is not Status.REMOVED]
    for rule in (*alive, *theirs):
        if rule.check not in known:
            raise _wrong(
                rule, f"no check is called `{rule.check}`", f"{did_you_mean(rule.check, known)}name a check that exists"
            )
    for rule in theirs:
        if rule.check not in parametrised:
            can = (
                f"the checks that do are {', '.join(sorted(parametrised))}"
                if parametrised
                else "none of this release does"
            )
            raise _wrong(
                rule, f"the check `{rule.check}` takes no parameters, so a second rule for it says nothing new", can
            )
    first: dict[str, Rule] = {}
    for rule in alive:
        other = first.setdefault(rule.check, rule)
        if other is not rule and not (rule.parameters and other.parameters):
            raise _wrong(
                rule,
                f"the check `{rule.check}` is already that of {other.file}",
                "give both [parameters], or one another check",
            )
    for check in sorted(known - first.keys()):
        raise RuleFileError(f"{folder}: no rule names the check `{check}`", "add its rule file")


def _wrong(rule: Rule, problem: str, way_out: str) -> RuleFileError:
    return RuleFileError(f"{rule.file}: {problem}", way_out)
