"""The reference pages in docs/rules, made from the rule files: ``python -m preflight.rulebook.pages [--check]``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from preflight.rulebook.book import Rulebook
from preflight.rulebook.explain import shown_files, shown_lines, standing
from preflight.rulebook.load import load_rulebook, own_rules_folder
from preflight.rulebook.rule import Example, Rule, Status

#: Which rules a code's first digit gathers; the contract gives the digits their meaning.
FAMILIES = {
    "PF1": "A file by itself: syntax, encoding, residue",
    "PF2": "Names and imports",
    "PF3": "Classes: interfaces, signatures, registry",
    "PF4": "Config attributes",
    "PF5": "Flags and environment",
    "PF6": "The walk: a `raise`, an assertion or a type error that the launch must reach",
    "PF7": "A patch that has no effect or does not belong to this release",
    "PF8": "Checkpoint and drafter files",
    "PF9": "preflight's own housekeeping",
}
_INDEX = "README.md"
_MADE = "<!-- Made from rules/*.toml by `make docs`; edit those. -->"


def pages(rulebook: Rulebook) -> dict[str, str]:
    """File name -> text of the index and of one page a rule."""
    return {_INDEX: _index(rulebook), **{f"{rule.slug}.md": _page(rule) for rule in rulebook.rules}}


def stale(folder: Path, wanted: Mapping[str, str]) -> list[str]:
    """The names of pages in ``folder`` that are missing, differ from ``wanted``, or belong to no rule."""
    there = {file.name: file.read_text("utf-8") for file in folder.glob("*.md")} if folder.is_dir() else {}
    return sorted(name for name in {*there, *wanted} if there.get(name) != wanted.get(name))


def write(folder: Path, wanted: Mapping[str, str]) -> list[str]:
    """Bring ``folder`` to ``wanted``; returns the names of what was written or taken away."""
    names = stale(folder, wanted)
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        if name in wanted:
            (folder / name).write_text(wanted[name], "utf-8")
        else:
            (folder / name).unlink()
    return names


def main(argv: Sequence[str]) -> int:
    """Write the pages of the checkout, or with ``--check`` say which are stale. Returns the exit code."""
    folder = own_rules_folder().parent / "docs" / "rules"
    wanted = pages(load_rulebook())
    if list(argv) == ["--check"]:
        names = stale(folder, wanted)
        for name in names:
            print(f"{folder / name} is stale: run `make docs`", file=sys.stderr)
        return int(bool(names))
    if argv:
        print(f"pages: unknown argument `{argv[0]}`; the only one is --check", file=sys.stderr)
        return 2
    for name in write(folder, wanted):
        print(folder / name)
    return 0


def _index(rulebook: Rulebook) -> str:
    lines = ["# Rules", "", _MADE, "", "Each rule can be read at the terminal too: `preflight explain PF101`.", ""]
    for prefix, title in FAMILIES.items():
        rules = [rule for rule in rulebook.rules if rule.code.startswith(prefix)]
        if rules:
            lines += [f"## {prefix}xx: {title}", "", "| code | name | severity | the fault |", "|---|---|---|---|"]
            lines += [_row(rule) for rule in rules]
            lines.append("")
    return "\n".join(lines)


def _row(rule: Rule) -> str:
    status = "" if rule.status is Status.STABLE else f" ({rule.status.value})"
    summary = rule.summary.replace("|", "\\|")
    return f"| [{rule.code}]({rule.slug}.md) | `{rule.name}` | {rule.severity.value}{status} | {summary} |"


def _page(rule: Rule) -> str:
    lines = [f"# {rule.code}: {rule.name}", "", _MADE, "", rule.summary, "", standing(rule), ""]
    for title, text in (("What is checked", rule.what), ("Why it matters", rule.why), ("How to fix it", rule.fix)):
        lines += [f"## {title}", "", text, ""]
    if rule.examples:
        lines += ["## Examples", ""]
    for example in rule.examples:
        lines += _example(example)
    return "\n".join(lines)


def _example(example: Example) -> Iterator[str]:
    yield from (f"### {example.title}", "")
    options = f" With `{' '.join(example.options)}`." if example.options else ""
    if example.fails:
        places = ", ".join(
            f"`{place.path}`" + ("" if place.line is None else f" line {place.line}") for place in example.expect
        )
        yield from (f"Found at {places}.{options}", "")
    else:
        yield from (f"Clear.{options}", "")
    for file in shown_files(example):
        yield from (f"`{file.path}` ({file.note})" if file.note else f"`{file.path}`", "")
        if file.text:
            fence = "`" * max(3, _longest_run_of_backticks(file.text) + 1)
            yield from (f"{fence}{_language(file.path)}", *shown_lines(file.text), fence, "")


def _language(path: str) -> str:
    return {".py": "python", ".json": "json", ".toml": "toml", ".sh": "sh"}.get(Path(path).suffix, "text")


def _longest_run_of_backticks(text: str) -> int:
    longest = run = 0
    for char in text:
        run = run + 1 if char == "`" else 0
        longest = max(longest, run)
    return longest


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
