"""What the tests of `preflight triage` stand on: the command on bytes, and a rulebook of all rules that are named."""

from __future__ import annotations

import argparse
import io
import json
import sys
from pathlib import Path
from typing import Any

from preflight.model import Severity
from preflight.rulebook.book import Rulebook
from preflight.rulebook.rule import Rule, Status
from preflight.run import load_rules
from preflight.triage.command import add_arguments, run

LOGS = Path(__file__).parent / "fixtures" / "logs"


def truths() -> list[dict[str, Any]]:
    """The entries of tests/fixtures/logs/truth.toml."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    return tomllib.loads((LOGS / "truth.toml").read_text())["log"]


def no_rules() -> Rulebook:
    return Rulebook(())


def rule(code: str, name: str, status: Status = Status.STABLE) -> Rule:
    check = "" if status is Status.REMOVED else name
    return Rule(
        code, name, Severity.ERROR, "0.1.0", status, check, "s", "w", "w", "f", {}, {}, (), Path(f"{code}-{name}.toml")
    )


def all_rules() -> Rulebook:
    """The rules of this preflight."""
    return load_rules()


def triage(log: str | Path | bytes, *options: str, rules=all_rules, environ=None) -> tuple[int, str]:
    """`preflight triage LOG`; bytes are given on standard input. Returns (exit code, standard output)."""
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    stdin = io.BytesIO(log if isinstance(log, bytes) else b"")
    arguments = parser.parse_args(["-" if isinstance(log, bytes) else str(log), *options])
    out = io.StringIO()
    code = run(arguments, stdin=stdin, stdout=out, environ=environ or {}, rules=rules)
    return code, out.getvalue()


def answer(log: str | Path | bytes, *options: str, **more) -> dict[str, Any]:
    """The JSON of `preflight triage LOG`."""
    _, text = triage(log, "--output-format", "json", *options, **more)
    return json.loads(text)


def root(log: str | Path | bytes, *options: str, **more) -> dict[str, Any]:
    """The root cause in it, which must be there."""
    found = answer(log, *options, **more)["root_cause"]
    assert found is not None
    return found


def lines(*texts: str) -> bytes:
    return "".join(f"{text}\n" for text in texts).encode()
