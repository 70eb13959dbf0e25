"""Every example of every rule file, run as a user would run it: a miniature installed tree, and the command line."""

from __future__ import annotations

import json
import marshal
from collections.abc import Mapping
from importlib.util import MAGIC_NUMBER, cache_from_source
from pathlib import Path

import pytest
from minitree import make_tree, write

from preflight.cli import main
from preflight.rulebook import Example, Rule, Status, load_rulebook

RULES = tuple(rule for rule in load_rulebook().rules if rule.status is not Status.REMOVED)
EXAMPLES = [
    pytest.param(rule, example, id=f"{rule.code}-{example.title.replace(' ', '-')}")
    for rule in RULES
    for example in rule.examples
]


@pytest.mark.parametrize(("rule", "example"), EXAMPLES)
def test_example(
    rule: Rule, example: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = lay_out(example, tmp_path)
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    for path, text in example.workspace.items():
        write(workspace / path, text.encode())
    monkeypatch.chdir(workspace)

    # A preview rule runs only where it is selected; the others run all together, as suppressions need them to.
    selection = ["--select", f"PF,{rule.code}"] if rule.status is Status.PREVIEW else []
    main(["check", "--vllm-site-packages", str(tree), "--output-format", "json", *selection, *example.options])

    report = json.loads(capsys.readouterr().out)
    assert report["error"] is None
    found = sorted((finding["path"], finding["line"]) for finding in report["findings"] if finding["rule"] == rule.code)
    assert found == sorted((place.path, place.line) for place in example.expect)


def test_every_rule_is_tried() -> None:
    assert RULES
    assert {parameter.values[0].code for parameter in EXAMPLES} == {rule.code for rule in RULES}


def lay_out(example: Example, folder: Path) -> Path:
    """The miniature tree of an example, with its files as the patch left them."""
    patched: dict[str, str | bytes | None] = dict(encoded(example.files, example.encoding))
    patched.update(dict.fromkeys(example.missing))
    tree = make_tree(folder, example.release, patched, example.vllm, transformers=example.transformers)
    for path, text in example.bytecode.items():
        leave_bytecode(tree / path, text)
    return tree


def leave_bytecode(file: Path, source: str) -> None:
    """Put byte code of ``source`` beside a file, as if it were of that file."""
    code = compile(source, str(file), "exec", dont_inherit=True)
    status = file.stat()
    head = b"".join(number.to_bytes(4, "little") for number in (0, int(status.st_mtime), status.st_size))
    cached = Path(cache_from_source(str(file)))
    cached.parent.mkdir(exist_ok=True)
    cached.write_bytes(MAGIC_NUMBER + head + marshal.dumps(code))


def encoded(files: Mapping[str, str], encoding: str) -> dict[str, bytes]:
    return {path: text.encode(encoding) for path, text in files.items()}
