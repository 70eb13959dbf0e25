"""One parsed rule file -> Rule, strictly: an unknown key, a missing one or a wrong type ends in RuleFileError.

The file format is fixed by the contract; docs/writing-rules.md tells it to the people who write rules.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from preflight.model import Severity
from preflight.rulebook.rule import Example, Expected, Rule, Status
from preflight.rulebook.table import Table

CODE = re.compile(r"[A-Z]{2,8}[1-9][0-9]{2}")
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_RELEASE = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+")
_LONGEST_SUMMARY = 160
_ENCODINGS = ("utf-8", "latin-1", "utf-16")
_DEFAULT_VLLM = "0.16.0"


def read_rule(document: Mapping[str, Any], file: Path, text: str) -> Rule:
    """Make a Rule of ``document``, the parsed content of ``file``; ``text`` is the same unparsed, for line numbers.

    Raises RuleFileError for whatever the format does not allow. The specifiers of ``[applies]`` are not looked into,
    see ``check_specifiers``.
    """
    table = Table(document, file, text, ())
    code = table.text("code", pattern=CODE, hint="two to eight capital letters and three digits, like `PF101`")
    name = table.text(
        "name", pattern=NAME, hint="lower-case words joined by `-` that say the fault, like `syntax-error`"
    )
    if file.name != f"{code}-{name}.toml":
        raise table.error(
            "name", f"the file is called `{file.name}`", f"rename it to `{code}-{name}.toml`, or correct code and name"
        )
    status = Status(table.text("status", among=[status.value for status in Status]))
    removed = status is Status.REMOVED
    summary = table.text("summary")
    if "\n" in summary or len(summary) > _LONGEST_SUMMARY:
        raise table.error(
            "summary", "it is no single line", f"say the fault in one line of at most {_LONGEST_SUMMARY} characters"
        )
    explain = table.table("explain")
    examples = tuple(map(_example, table.tables("example")))
    if not examples and not removed:
        raise table.error("example", "there is none", "add [[example]] tables: one that fails and one that is clear")
    if not removed and len({example.fails for example in examples}) < 2:
        raise table.error("example", "all have the same verdict", "give at least one that fails and one that is clear")
    applies = table.table("applies", required=False)
    rule = Rule(
        code=code,
        name=name,
        severity=Severity(table.text("severity", among=[severity.value for severity in Severity])),
        since=table.text("since", pattern=_RELEASE, hint="the release of preflight that first had it, like `0.1.0`"),
        status=status,
        check=table.text("check", required=not removed, pattern=NAME, hint="the id of a check, like `syntax-error`"),
        summary=summary,
        what=explain.text("what").strip(),
        why=explain.text("why").strip(),
        fix=explain.text("fix").strip(),
        applies={key: applies.text(key) for key in ("vllm", "transformers", "python") if key in applies.content},
        parameters=dict(table.table("parameters", required=False).all()),
        examples=examples,
        file=file,
    )
    for read in (explain, applies, table):
        read.finish()
    return rule


def check_specifiers(rule: Rule, text: str) -> None:
    """Raises RuleFileError when a value of ``[applies]`` is no PEP 440 specifier."""
    if not rule.applies:
        return
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    for key, specifier in rule.applies.items():
        try:
            SpecifierSet(specifier)
        except InvalidSpecifier:
            table = Table({}, rule.file, text, ("applies",))
            raise table.error(
                key, f"`{specifier}` is no version specifier", 'write it like ">=0.8,<0.20" (PEP 440)'
            ) from None


def _example(table: Table) -> Example:
    fails = table.text("verdict", among=["fails", "clear"]) == "fails"
    expect = tuple(_expected(entry) for entry in table.tables("expect"))
    if fails and not expect:
        raise table.error(
            "expect", "an example that fails does not say where", 'add expect = [{ path = "vllm/x.py", line = 3 }]'
        )
    if expect and not fails:
        raise table.error(
            "expect", "an example that is clear expects findings", "take `expect` away, or make the verdict `fails`"
        )
    example = Example(
        title=table.text("title"),
        fails=fails,
        expect=expect,
        options=tuple(table.texts("options")),
        release=table.files("release"),
        files=table.files("files"),
        missing=tuple(table.texts("missing")),
        workspace=table.files("workspace"),
        bytecode=table.files("bytecode"),
        encoding=table.text("encoding", required=False, among=_ENCODINGS) or "utf-8",
        vllm=table.text("vllm", required=False) or _DEFAULT_VLLM,
        transformers=table.text("transformers", required=False) or None,
    )
    for path in example.missing:
        if path not in example.release:
            raise table.error("missing", f"`{path}` is not a file of the release", "name it in [example.release] too")
    if not (example.release or example.files or example.workspace):
        raise table.error("files", "the example has no file at all", "add [example.files]")
    table.finish()
    return example


def _expected(table: Table) -> Expected:
    expected = Expected(table.path("path"), table.line("line"))
    table.finish()
    return expected
