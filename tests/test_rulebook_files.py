"""Rule files are read strictly: what is wrong with one ends in RuleFileError with the file, the line and a way out."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from preflight.errors import RuleFileError
from preflight.rulebook import Expected, Rule, Status, load_rulebook
from preflight.rulebook.table import MAX_BYTES

NAME = "ACME101-toy-fault.toml"
RULE = '''\
code = "ACME101"
name = "toy-fault"
severity = "error"
since = "0.1.0"
status = "stable"
check = "toy-check"
summary = "A toy is broken."

[applies]
vllm = ">=0.8,<1"

[parameters]
interface = "SupportsToy"

[explain]
what = """
check = "not a key"
Toys.
"""
why = "Children."
fix = "Glue."

[[example]]
title = "Broken"
verdict = "fails"
options = ["--require", "SupportsToy"]
expect = [{ path = "vllm/toy.py", line = 3 }, { path = "vllm/gone.py" }]
missing = ["vllm/gone.py"]
encoding = "latin-1"
vllm = "0.18.1"
transformers = "4.57.6"
[example.release]
"vllm/gone.py" = ""
[example.files]
"vllm/toy.py" = "x"
[example.workspace]
"checkpoint/config.json" = "{}"

[[example]]
title = "Whole"
verdict = "clear"
[example.files]
"vllm/toy.py" = "x"
'''


EXPECT = 'expect = [{ path = "vllm/toy.py", line = 3 }, { path = "vllm/gone.py" }]\n'


def load(folder: Path, text: str | bytes = RULE, name: str = NAME) -> Rule:
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    rule = load_rulebook([folder]).find("toy-fault")
    assert rule is not None
    return rule


def test_a_whole_rule(tmp_path: Path) -> None:
    rule = load(tmp_path)
    assert (rule.code, rule.name, rule.check, rule.since) == ("ACME101", "toy-fault", "toy-check", "0.1.0")
    assert (rule.severity.value, rule.status, rule.summary) == ("error", Status.STABLE, "A toy is broken.")
    assert (rule.what, rule.why, rule.fix) == ('check = "not a key"\nToys.', "Children.", "Glue.")
    assert rule.applies == {"vllm": ">=0.8,<1"}
    assert rule.parameters == {"interface": "SupportsToy"}
    assert rule.file == tmp_path / NAME
    fails, clear = rule.examples
    assert fails.expect == (Expected("vllm/toy.py", 3), Expected("vllm/gone.py", None))
    assert (fails.options, fails.missing) == (("--require", "SupportsToy"), ("vllm/gone.py",))
    assert (fails.encoding, fails.vllm, fails.transformers) == ("latin-1", "0.18.1", "4.57.6")
    assert (fails.release, fails.files) == ({"vllm/gone.py": ""}, {"vllm/toy.py": "x"})
    assert fails.workspace == {"checkpoint/config.json": "{}"}
    assert (clear.fails, clear.expect, clear.encoding, clear.transformers) == (False, (), "utf-8", None)
    assert rule.text().what == rule.what


#: What is replaced by what, and how the line begins that the error must name ("": it names only the file).
WRONG = {
    "misspelt key": ('since = "0.1.0"', 'sinse = "0.1.0"', ""),
    "unknown key": ('since = "0.1.0"', 'since = "0.1.0"\nowner = "me"', "owner"),
    "code of another shape": ('"ACME101"', '"acme-101"', "code"),
    "code that is no text": ('"ACME101"', "101", "code"),
    "name of another shape": ('"toy-fault"', '"Toy_Fault"', "name"),
    "code that the file does not have": ('"ACME101"', '"ACME102"', "name"),
    "severity": ('severity = "error"', 'severity = "fatal"', "severity"),
    "since": ('"0.1.0"', '"soon"', "since"),
    "status": ('"stable"', '"deprecated"', "status"),
    "no check": ('check = "toy-check"\n', "", ""),
    "summary of two lines": ('"A toy is broken."', '"A toy\\nis broken."', "summary"),
    "summary that is empty": ('"A toy is broken."', '" "', "summary"),
    "specifier": ('">=0.8,<1"', '"0.8 or later"', "vllm = "),
    "applies to what we know nothing of": ("vllm = ", "torch = ", "torch = "),
    "explain without why": ('why = "Children."\n', "", "[explain]"),
    "explain with more": ('why = "Children."', 'why = "Children."\nhow = "x"', "how"),
    "explain that is no table": ("[explain]", "[[explain]]", ""),
    "text that is a number": ('why = "Children."', "why = 5", "why"),
    "text that is a boolean": ('why = "Children."', "why = true", "why"),
    "no example": (RULE[RULE.index("[[example]]") :], "", ""),
    "examples that are a text": (RULE[RULE.index("[[example]]") :], "[example]\nx = 1", ""),
    "only examples that fail": (RULE[RULE.index('[[example]]\ntitle = "Whole"') :], "", ""),
    "verdict": ('verdict = "clear"', 'verdict = "todo"', "verdict"),
    "fails without expect": (EXPECT, "", "[[example]]"),
    "clear with expect": ('verdict = "clear"', 'verdict = "clear"\nexpect = [{ path = "vllm/toy.py" }]', "expect"),
    "expect without path": ('{ path = "vllm/gone.py" }', "{ line = 3 }", "expect"),
    "expect with a line of zero": ("line = 3", "line = 0", "expect"),
    "expect with more": ("line = 3", "line = 3, column = 4", "expect"),
    "expect of texts": ('{ path = "vllm/gone.py" }', '"vllm/gone.py"', "expect"),
    "options that are a text": ('["--require", "SupportsToy"]', '"--require"', "options"),
    "options of numbers": ('["--require", "SupportsToy"]', "[1]", "options"),
    "path that leaves the tree": ('"vllm/toy.py" = "x"', '"../toy.py" = "x"', '"../toy.py"'),
    "path that is absolute": ('"vllm/toy.py" = "x"', '"/toy.py" = "x"', '"/toy.py"'),
    "file that is no text": ('"vllm/toy.py" = "x"', '"vllm/toy.py" = 1', '"vllm/toy.py" = 1'),
    "missing file that was never there": ('missing = ["vllm/gone.py"]', 'missing = ["vllm/other.py"]', "missing"),
    "encoding": ('"latin-1"', '"klingon"', "encoding"),
    "unknown key of an example": ('title = "Whole"', 'title = "Whole"\nlaunch = "x"', "launch"),
    "example without files": (RULE[RULE.index('verdict = "clear"') :], 'verdict = "clear"', "[[example]]"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_the_format_does_not_allow(case: str, tmp_path: Path) -> None:
    old, new, begins = WRONG[case]
    assert old in RULE
    text = RULE.replace(old, new, 1)
    with pytest.raises(RuleFileError) as caught:
        load(tmp_path, text)
    assert caught.value.message.startswith(str(tmp_path / NAME))
    assert caught.value.help
    named = re.match(r":([0-9]+): ", caught.value.message.removeprefix(str(tmp_path / NAME)))
    if begins:
        assert named
        assert text.splitlines()[int(named[1]) - 1].startswith(begins)


@pytest.mark.parametrize("name", ["ACME101.toml", "toy-fault.toml", "ACME101-toy.toml", "acme101-toy-fault.toml"])
def test_a_file_that_is_not_called_like_its_rule(name: str, tmp_path: Path) -> None:
    with pytest.raises(RuleFileError, match="the file is called") as caught:
        load(tmp_path, name=name)
    assert NAME in (caught.value.help or "")


@pytest.mark.parametrize(
    "data",
    [
        RULE.encode()[: len(RULE) // 2],
        RULE.encode()[:-10],
        b"",
        b"\x7fELF\x02\x01\x00",
        b"\xff\xfe" + RULE.encode("utf-16-le"),
        RULE.encode() + b"\xe9",
        b"\xef\xbb\xbf" + RULE.encode(),
        RULE.replace("line = 3", f"line = {'9' * 5000}").encode(),
        b"x = " + b"[" * 20_000,
        b"# \n" * MAX_BYTES,
        b"code = 1\ncode = 2\n",
    ],
    ids=["half", "cut", "empty", "binary", "utf-16", "latin-1", "bom", "huge number", "deep", "huge", "twice"],
)
def test_a_file_that_is_no_rule_file(data: bytes, tmp_path: Path) -> None:
    with pytest.raises(RuleFileError) as caught:
        load(tmp_path, data)
    assert NAME in caught.value.message
    assert caught.value.help


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / NAME)
    with pytest.raises(RuleFileError, match="no regular file"):
        load_rulebook([tmp_path])


def test_a_folder_of_that_name(tmp_path: Path) -> None:
    (tmp_path / NAME).mkdir()
    with pytest.raises(RuleFileError, match="no regular file"):
        load_rulebook([tmp_path])


def test_a_link_that_leads_nowhere_or_to_itself(tmp_path: Path) -> None:
    (tmp_path / NAME).symlink_to(tmp_path / NAME)
    with pytest.raises(RuleFileError, match="cannot be read"):
        load_rulebook([tmp_path])


def test_a_rule_folder_that_is_not_there_or_empty(tmp_path: Path) -> None:
    with pytest.raises(RuleFileError, match="cannot be read"):
        load_rulebook([tmp_path / "none"])
    (tmp_path / "README.md").write_text("no rule")
    with pytest.raises(RuleFileError, match="no rule file"):
        load_rulebook([tmp_path])


def test_a_tombstone_needs_neither_check_nor_examples(tmp_path: Path) -> None:
    text = RULE[: RULE.index("[[example]]")].replace('"stable"', '"removed"').replace('check = "toy-check"\n', "")
    rule = load(tmp_path, text)
    assert (rule.status, rule.check, rule.examples) == (Status.REMOVED, "", ())


@pytest.mark.parametrize(
    ("vllm", "applies"),
    [
        ("0.8.0", True),
        ("0.7.9", False),
        ("1.0", False),
        ("0.16.0+cu129", True),
        ("0.16.1rc1.dev3+g1234abc", True),
        ("0.8.0rc1", False),
        (None, True),
        ("dev", True),
    ],
)
def test_releases_that_a_rule_applies_to(vllm: str | None, applies: bool, tmp_path: Path) -> None:
    assert load(tmp_path).applies_to(vllm, "4.57.6", "3.12") is applies
