"""The tables of rules/triage: strict, whole, and reachable by the words that the reader looks for."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from preflight.errors import RuleFileError
from preflight.rulebook.load import own_rules_folder
from preflight.triage.patterns import Patterns, load_patterns
from preflight.triage.reader import WORDS
from tests.triage_reading import answer, lines

PATTERNS = load_patterns()


def loaded(folder: Path, file: str, old: str, new: str) -> Patterns:
    shutil.copytree(own_rules_folder() / "triage", folder / "triage")
    path = folder / "triage" / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    return load_patterns(folder / "triage")


@pytest.mark.parametrize(
    ("file", "old", "new", "problem"),
    [
        ("noise.toml", "why = ", "because = ", r"noise\.toml:\d+: .*why"),
        ("noise.toml", "[[noise]]", "[[noice]]", "noice"),
        ("noise.toml", "[[noise]]", "[[noise]", "TOML"),
        ("tracebacks.toml", 'verdict = "handled"', 'verdict = "harmless"', "harmless"),
        ("tracebacks.toml", '\nkind = "echo"', '\nkind = "eco"', "eco"),
        ("tracebacks.toml", '"RuntimeError"', '"Runtime(Error"', "no regular expression"),
        ("endings.toml", 'weight = "certain"', 'weight = "sure"', "sure"),
        ("endings.toml", "{pid} ({name})", "{pid} ({who})", "nothing fills"),
        ("endings.toml", "{pid} ({name})", "{pid} ({name", "braces"),
        ("endings.toml", '"Shutting down$"', '"Shutting (down$"', "no regular expression"),
        ("stages.toml", "functions = []", "function = []", "function"),
        ("causes.toml", 'stages = ["flags"]', 'stages = ["flag"]', "no stage"),
        ("causes.toml", 'nature = "memory"', 'nature = "memory"\nrules = ["PF101"]', "TOML|undecidable"),
        ("causes.toml", 'rules = ["syntax-error"]', 'rules = ["syntax-error"]\nnature = "fate"', "undecidable"),
        ("causes.toml", "`{what}`: it was renamed", "`{which}`: it was renamed", "nothing fills"),
    ],
)
def test_what_is_wrong_in_a_table_is_refused_with_its_place(
    tmp_path: Path, file: str, old: str, new: str, problem: str
) -> None:
    with pytest.raises(RuleFileError, match=problem) as caught:
        loaded(tmp_path, file, old, new)
    assert file in caught.value.message


def test_a_missing_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RuleFileError, match=r"noise\.toml"):
        load_patterns(tmp_path)


def test_the_tables_are_those_of_the_installation() -> None:
    assert (own_rules_folder() / "triage" / "causes.toml").is_file()


def test_every_cause_has_an_id_of_its_own() -> None:
    ids = [cause.id for cause in PATTERNS.causes]
    assert len(set(ids)) == len(ids)


def _expressions() -> list[str]:
    markers = [marker for stage in PATTERNS.stages for marker in stage.markers]
    plain = [noise.contains for noise in PATTERNS.noise] + [ending.contains for ending in PATTERNS.endings]
    plain += [entry.contains for entry in PATTERNS.handled]
    return [*plain, *(re.sub(r"\\([^\w])", r"\1", text) for text in (*markers, *PATTERNS.waiting, *PATTERNS.shutdown))]


@pytest.mark.parametrize("text", _expressions())
def test_every_line_that_a_table_knows_has_a_word_that_is_looked_for(text: str) -> None:
    assert any(word in text for word in WORDS)


def test_every_line_that_a_table_knows_is_no_dull_line() -> None:
    """Each ending, in an INFO line or in none, behind any prefix, is seen where the level allows it."""
    line = "No available shared memory broadcast block found in 60 seconds."
    log = [f"(EngineCore pid=1) INFO 11-29 10:0{minute}:00 [shm_broadcast.py:1] {line}" for minute in range(5)]
    assert answer(lines(*log))["root_cause"]["exception"] == "Hang"


@pytest.mark.parametrize("word", WORDS)
def test_no_word_stands_in_another(word: str) -> None:
    assert [other for other in WORDS if word in other] == [word]


def test_stages_are_told_by_what_runs_only_in_them() -> None:
    functions = [name for stage in PATTERNS.stages for name in stage.functions]
    assert len(set(functions)) == len(functions)
