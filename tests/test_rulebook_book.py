"""The rulebook: rules and checks match both ways, selectors choose, the cache changes nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_rulebook_files import NAME, RULE

from preflight.errors import RuleFileError, UsageError
from preflight.model import Severity, TreeFacts
from preflight.rulebook import Rule, Rulebook, Status, load_rulebook
from preflight.rulebook import load as loading

OWN = load_rulebook()
CHECKS = frozenset(rule.check for rule in OWN.rules if rule.status is not Status.REMOVED)


def rule(code: str, name: str, status: Status = Status.STABLE, applies: dict[str, str] | None = None) -> Rule:
    return Rule(
        code,
        name,
        Severity.ERROR,
        "0.1.0",
        status,
        name,
        "s",
        "w",
        "y",
        "f",
        applies or {},
        {},
        (),
        Path(f"{code}.toml"),
    )


BOOK = Rulebook(
    (
        rule("PF101", "syntax-error"),
        rule("PF102", "undecodable-source"),
        rule("PF111", "conflict-marker", applies={"vllm": ">=0.12"}),
        rule("PF201", "import-name-missing"),
        rule("PF202", "new-thing", Status.PREVIEW),
        rule("PF301", "old-thing", Status.REMOVED),
    )
)


def selected(select: tuple[str, ...] = (), ignore: tuple[str, ...] = (), facts: TreeFacts | None = None) -> list[str]:
    return [rule.code for rule in BOOK.select(select, ignore, facts)]


@pytest.mark.parametrize(
    ("select", "ignore", "expected"),
    [
        ((), (), ["PF101", "PF102", "PF111", "PF201"]),
        (("PF1",), (), ["PF101", "PF102", "PF111"]),
        (("PF10",), (), ["PF101", "PF102"]),
        (("PF",), (), ["PF101", "PF102", "PF111", "PF201", "PF202"]),
        (("PF101,import-name-missing",), (), ["PF101", "PF201"]),
        (("PF202",), (), ["PF202"]),
        (("PF2",), ("new-thing",), ["PF201"]),
        ((), ("PF1",), ["PF201"]),
        ((), ("PF101", "PF2"), ["PF102", "PF111"]),
        (("PF1",), ("PF10",), ["PF111"]),
        (("syntax-error",), ("PF1",), ["PF101"]),
        (("PF101",), ("syntax-error",), None),
        (("PF1",), ("PF1",), None),
        ((), ("PF301",), ["PF101", "PF102", "PF111", "PF201"]),
        (("PF3", "PF101"), (), None),
    ],
)
def test_selectors(select: tuple[str, ...], ignore: tuple[str, ...], expected: list[str] | None) -> None:
    if expected is None:
        with pytest.raises(UsageError):
            selected(select, ignore)
    else:
        assert selected(select, ignore) == expected


@pytest.mark.parametrize(
    ("word", "near"), [("PF103", "PF101"), ("syntax-eror", "syntax-error"), ("pf101", "PF101"), ("PF9", ""), ("XY", "")]
)
def test_a_selector_that_hits_nothing(word: str, near: str) -> None:
    for lists in (((word,), ()), ((), (word,))):
        with pytest.raises(UsageError) as caught:
            selected(*lists)
        assert f"`{word}`" in caught.value.message
        assert near in (caught.value.help or "")


@pytest.mark.parametrize("word", ["PF301", "old-thing"])
def test_a_tombstone_is_found_and_not_selected(word: str) -> None:
    assert BOOK.find(word) is BOOK.rules[-1]
    with pytest.raises(UsageError, match="removed"):
        selected((word,))


def test_rules_that_do_not_apply_are_left_out() -> None:
    assert "PF111" not in selected(facts=TreeFacts("/t", "0.8.5"))
    assert "PF111" in selected(facts=TreeFacts("/t", "0.12.0"))
    assert "PF111" in selected(facts=TreeFacts("/t", None))


@given(st.sampled_from(["PF101", "PF102", "PF111", "PF201", "PF202"]), st.integers(1, 5), st.integers(1, 5))
def test_of_select_and_ignore_the_longer_decides(code: str, one: int, other: int) -> None:
    try:
        running = selected((code[:one],), (code[:other],))
    except UsageError:  # nothing is left
        running = []
    assert (code in running) is (one > other)


def test_by_check_knows_no_tombstone() -> None:
    assert [rule.code for rule in BOOK.by_check("syntax-error")] == ["PF101"]
    assert BOOK.by_check("old-thing") == ()
    assert BOOK.find("nothing") is None


def test_our_own_rules_match_their_checks() -> None:
    assert load_rulebook(known_checks=CHECKS).rules == OWN.rules
    assert len({rule.code for rule in OWN.rules}) == len(OWN.rules)


def test_a_check_that_no_rule_names() -> None:
    with pytest.raises(RuleFileError, match="no rule names the check `orphan`"):
        load_rulebook(known_checks=CHECKS | {"orphan"})


def test_a_rule_whose_check_nobody_knows() -> None:
    with pytest.raises(RuleFileError, match="no check is called"):
        load_rulebook(known_checks=CHECKS - {OWN.rules[0].check})


def test_rules_of_a_patch_repository(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text(RULE)
    with pytest.raises(RuleFileError, match="no check is called `toy-check`"):
        load_rulebook([tmp_path], CHECKS)
    known = OWN.rules[0].check
    (tmp_path / NAME).write_text(RULE.replace("toy-check", known))
    with pytest.raises(RuleFileError, match="takes no parameters"):
        load_rulebook([tmp_path], CHECKS)
    book = load_rulebook([tmp_path], CHECKS, parametrised=frozenset({known}))
    assert [rule.code for rule in book.rules] == [*(rule.code for rule in OWN.rules), "ACME101"]


@pytest.mark.parametrize("code", ["PF101", "PF999"])
def test_our_prefix_is_ours(code: str, tmp_path: Path) -> None:
    (tmp_path / f"{code}-toy-fault.toml").write_text(RULE.replace("ACME101", code))
    with pytest.raises(RuleFileError, match="kept for preflight"):
        load_rulebook([tmp_path])


def test_codes_and_names_are_unique(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text(RULE)
    (tmp_path / "ACME102-toy-fault.toml").write_text(RULE.replace("ACME101", "ACME102"))
    with pytest.raises(RuleFileError, match="the name `toy-fault` is also that of"):
        load_rulebook([tmp_path])
    (tmp_path / "ACME102-toy-fault.toml").unlink()
    (tmp_path / "ACME101-other.toml").write_text(RULE.replace('"toy-fault"', '"other"'))
    with pytest.raises(RuleFileError, match="the code `ACME101` is also that of"):
        load_rulebook([tmp_path])


def test_the_same_folder_twice(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text(RULE)
    with pytest.raises(RuleFileError, match="is also that of"):
        load_rulebook([tmp_path, tmp_path])


def _cached(cache: Path) -> list[Path]:
    return sorted(cache.iterdir())


def test_the_cache_is_written_once_and_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "cache"
    first = load_rulebook(cache=cache)
    assert len(_cached(cache)) == 1

    def parse(*_: object) -> None:
        raise AssertionError("parsed although it was cached")

    monkeypatch.setattr(loading, "parse_text", parse)
    assert load_rulebook(cache=cache).rules == first.rules == OWN.rules


def test_a_changed_rule_file_is_read_anew(tmp_path: Path) -> None:
    cache, rules = tmp_path / "cache", tmp_path / "rules"
    rules.mkdir()
    for summary in ("A toy is broken.", "A toy is gone."):
        (rules / NAME).write_text(RULE.replace("A toy is broken.", summary))
        found = load_rulebook([rules], cache=cache).find("ACME101")
        assert found is not None
        assert found.summary == summary
    assert len(_cached(cache)) == 2


@pytest.mark.parametrize("damage", ["cut", "changed", "garbage", "empty", "deep", "folder"])
def test_a_broken_cache_is_ignored(damage: str, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    load_rulebook(cache=cache)
    (file,) = _cached(cache)
    data = file.read_bytes()
    if damage == "folder":
        file.unlink()
        file.mkdir()
    else:
        file.write_bytes(
            {
                "cut": data[: len(data) // 2],
                "changed": data.replace(b'"error"', b'"fatal"'),
                "garbage": b"\xff\x00" * 100,
                "empty": b"",
                "deep": data.partition(b"\n")[0] + b"\n" + b"[" * 100_000,
            }[damage]
        )
    assert load_rulebook(cache=cache).rules == OWN.rules


def test_a_broken_rule_is_never_cached(tmp_path: Path) -> None:
    cache, rules = tmp_path / "cache", tmp_path / "rules"
    rules.mkdir()
    (rules / NAME).write_text(RULE.replace(">=0.8,<1", "whenever"))
    for _ in range(2):
        with pytest.raises(RuleFileError, match="version specifier"):
            load_rulebook([rules], cache=cache)


def test_a_cache_that_cannot_be_written_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert load_rulebook(cache=tmp_path / "file").rules == OWN.rules
    assert load_rulebook(cache=tmp_path / "file" / "below").rules == OWN.rules


def test_the_cache_holds_plain_json(tmp_path: Path) -> None:
    load_rulebook(cache=tmp_path)
    (file,) = _cached(tmp_path)
    documents = json.loads(file.read_bytes().partition(b"\n")[2])
    assert documents.keys() == {rule.file.name for rule in OWN.rules}
