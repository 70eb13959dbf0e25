"""What people and machines are told of rules: ``preflight explain``, ``preflight rules``, the reference pages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_rulebook_files import RULE, load

from preflight.rulebook import Rule, Rulebook, Status, load_rulebook
from preflight.rulebook.explain import explain_json, explain_text, page_path, rules_table
from preflight.rulebook.pages import FAMILIES, main, pages, stale, write

OWN = load_rulebook()
DOCS = Path(__file__).parents[1] / "docs" / "rules"


@pytest.mark.parametrize("rule", OWN.rules, ids=lambda rule: rule.code)
def test_everything_of_a_rule_is_explained(rule: Rule) -> None:
    text = " ".join(explain_text(rule, colour=False, width=80).split())
    for part in (rule.code, rule.name, rule.summary, rule.what, rule.why, rule.fix, page_path(rule)):
        assert " ".join(part.split()) in text
    for example in rule.examples:
        assert example.title in text


def test_explained_text_keeps_the_width_and_sends_no_controls(tmp_path: Path) -> None:
    rule = load(tmp_path, RULE.replace('"vllm/toy.py" = "x"', '"vllm/toy.py" = "\\u001b[2J\\u202e\\tx"'))
    text = explain_text(rule, colour=False, width=60)
    assert text.replace("\n", "").isprintable()
    assert "\\x1b[2J" in text
    *filled, file = text.splitlines()
    assert file == f"Rule file: {rule.file}"
    assert all(len(line) <= 60 or "|" in line for line in filled)
    assert "\x1b[1m" in explain_text(rule, colour=True, width=60)


def test_the_line_that_is_found_is_marked(tmp_path: Path) -> None:
    rule = load(tmp_path, RULE.replace('"vllm/toy.py" = "x"', '"vllm/toy.py" = "one\\ntwo\\nthree"', 1))
    marked = [
        line.split() for line in explain_text(rule, colour=False, width=80).splitlines() if line.startswith("  >")
    ]
    assert marked == [[">", "3", "|", "three"]]


def test_lists_and_code_are_not_filled(tmp_path: Path) -> None:
    prose = 'why = """\nSome words\nin lines.\n\n- one\n- two\n\n    code  here\n\n```\nfenced  code\n```\n"""'
    text = explain_text(load(tmp_path, RULE.replace('why = "Children."', prose)), colour=False, width=80)
    for line in ("Some words in lines.", "- one", "- two", "    code  here", "fenced  code"):
        assert f"\n{line}\n" in text


def test_explained_to_machines(tmp_path: Path) -> None:
    data = json.loads(explain_json(load(tmp_path)))
    assert list(data) == ["format_version", "tool", "rule"]
    assert data["rule"]["code"] == "ACME101"
    assert data["rule"]["applies"] == {"vllm": ">=0.8,<1"}
    assert data["rule"]["why"] == "Children."
    assert data["rule"]["page"] is None
    assert json.loads(explain_json(OWN.rules[0]))["rule"]["page"] == page_path(OWN.rules[0])


def test_the_list_has_every_rule() -> None:
    lines = rules_table(OWN, "text").splitlines()
    assert [line.split()[0] for line in lines[1:]] == [rule.code for rule in OWN.rules]
    listed = json.loads(rules_table(OWN, "json"))["rules"]
    assert [entry["code"] for entry in listed] == [rule.code for rule in OWN.rules]


def test_a_tombstone_says_so(tmp_path: Path) -> None:
    rule = load(tmp_path, RULE.replace('"stable"', '"removed"'))
    assert rule.status is Status.REMOVED
    assert "removed" in explain_text(rule, colour=False, width=80)
    assert "removed" in rules_table(Rulebook((rule,)), "text")


def test_the_pages_are_not_stale() -> None:
    assert stale(DOCS, pages(OWN)) == [], "run `make docs`"


def test_every_code_belongs_to_a_family_of_the_contract() -> None:
    for rule in OWN.rules:
        assert rule.code[:3] in FAMILIES
        assert f"({rule.slug}.md)" in pages(OWN)["README.md"]


def test_pages_are_written_and_stale_ones_found(tmp_path: Path) -> None:
    wanted = pages(OWN)
    assert stale(tmp_path / "rules", wanted) == sorted(wanted)
    assert write(tmp_path / "rules", wanted) == sorted(wanted)
    assert stale(tmp_path / "rules", wanted) == []
    (tmp_path / "rules" / "PF000-gone.md").write_text("gone")
    (tmp_path / "rules" / "README.md").write_text("old")
    assert write(tmp_path / "rules", wanted) == ["PF000-gone.md", "README.md"]
    assert stale(tmp_path / "rules", wanted) == []


def test_the_page_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0
    assert main(["--chek"]) == 2
    assert "--chek" in capsys.readouterr().err


def test_code_with_backticks_gets_a_longer_fence(tmp_path: Path) -> None:
    rule = load(tmp_path, RULE.replace('"vllm/toy.py" = "x"', '"vllm/toy.py" = "```\\n\\u001b"'))
    page = pages(Rulebook((rule,)))["ACME101-toy-fault.md"]
    assert "````python\n```\n\\x1b\n````\n" in page
