"""The faults that a launch's flags and variables are reported as."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from preflight.checks.flags import (
    DEPRECATED,
    INVALID,
    MISPLACED,
    REFUSED,
    REPEATED,
    UNKNOWN,
    VARIABLE,
    check_flags,
)
from preflight.launch.launch import read_launch
from preflight.launch.request import LaunchRequest
from preflight.model import Fault, Severity, Undecided
from preflight.program import Program
from tests.launch_tree import FILES, mini_program


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    return mini_program(tmp_path_factory.mktemp("mini"))


@pytest.fixture(autouse=True)
def no_other_releases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFLIGHT_CACHE", str(tmp_path / "cache"))


def _check(program: Program, *words: str, folder: Path = Path(), **options) -> list[Fault | Undecided]:
    request = LaunchRequest(words=words or None, folder=folder, **options)
    launch = read_launch(request, {"HF_HOME": "/nowhere"}, program.tree, program)
    context = SimpleNamespace(launch=launch, tree=program.tree, load_program=lambda: program)
    return list(check_flags(context))


def _faults(program: Program, *words: str, **options) -> list[tuple[str, str]]:
    """The check and the named value of each fault."""
    found = _check(program, *words, **options)
    assert all(isinstance(one, Fault) for one in found), found
    return [(one.check, one.values[0].name if one.values else "") for one in found]


def test_a_launch_of_good_flags_is_clear(program):
    words = (
        "vllm",
        "serve",
        "M",
        "--max_model_len=4k",
        "-tp",
        "2",
        "--names",
        "a",
        "b",
        "--compilation-config",
        '{"mode": 2}',
    )
    assert _check(program, *words) == []
    assert (
        _check(program, "vllm", "serve", "M", environment=("VLLM_PORT=1", "OTHER=2", "VLLM_NOT_IN_THE_TABLE=1")) == []
    )
    assert list(check_flags(SimpleNamespace(launch=None))) == []


@pytest.mark.parametrize(
    ("words", "faults"),
    [
        (["--nosuch", "3"], [(UNKNOWN, "--nosuch")]),
        (["--m", "3"], [(UNKNOWN, "--m")]),
        (["--num-prompts", "3"], [(MISPLACED, "--num-prompts")]),
        (["--port", "x"], [(INVALID, "--port")]),
        (["--port"], [(INVALID, "--port")]),
        (["--enforce-eager=1"], [(INVALID, "--enforce-eager")]),
        (["surplus"], [(MISPLACED, "surplus")]),
        (["--old-thing"], [(DEPRECATED, "--old-thing")]),
        (["--port", "1", "--port", "2"], [(REPEATED, "--port")]),
        (["--port", "1", "--port=1"], []),
        (["--enforce-eager", "--no-enforce-eager"], [(REPEATED, "--enforce-eager")]),
        (["--middleware", "a", "--middleware", "b"], []),
        (["--workers", "0"], [(REFUSED, "")]),
    ],
)
def test_each_fault_has_its_check(program, words, faults):
    assert _faults(program, "vllm", "serve", "M", *words) == faults


def test_a_subcommand_that_does_not_exist(program):
    (fault,) = _check(program, "vllm", "srve", "M")
    assert fault.check == MISPLACED
    assert "`serve`" in fault.help


def test_words_that_are_no_command_of_vllm_are_undecided(program):
    (question,) = _check(program, "python", "train.py", "--nosuch")
    assert isinstance(question, Undecided)
    assert question.id == "launch-not-vllm"


def test_the_place_is_the_trees_for_words_of_the_command_line(program):
    (unknown,) = _check(program, "vllm", "serve", "M", "--nosuch")
    assert unknown.span.path == "vllm/entrypoints/cli/serve.py"
    (invalid,) = _check(program, "vllm", "serve", "M", "--block-size", "3")
    lines = FILES["vllm/engine/arg_utils.py"].splitlines()
    assert invalid.span.path == "vllm/engine/arg_utils.py"
    assert "add_argument" in lines[invalid.span.line - 1]


def test_the_place_is_the_launch_files_for_its_words(program, tmp_path):
    (tmp_path / "s.sh").write_text("export VLLM_NOSUCH=1\nvllm serve M \\\n  --nosuch 3 \\\n  --port x\n")
    found = _check(program, file="s.sh", folder=tmp_path)
    assert [(one.check, one.span.path, one.span.line) for one in found] == [
        (UNKNOWN, "s.sh", 3), (INVALID, "s.sh", 4), (VARIABLE, "s.sh", 1),
    ]  # fmt: skip
    (tmp_path / "c.yaml").write_text("port: 80\nnosuch: 3\nblock-size: 3\n")
    found = _check(program, "vllm", "serve", "M", "--config", "c.yaml", folder=tmp_path)
    assert [(one.check, one.span.path, one.span.line) for one in found] == [
        (UNKNOWN, "c.yaml", 2),
        (INVALID, "c.yaml", 3),
    ]


def test_the_message_says_the_flag_the_value_and_the_choices(program):
    (fault,) = _check(program, "vllm", "serve", "M", "--block-size", "3")
    assert "--block-size 3" in fault.message
    assert "8, 16" in fault.message
    (fault,) = _check(program, "vllm", "serve", "M", "--prt", "3")
    assert "--prt" in fault.message
    assert "`--port`" in fault.help
    (fault,) = _check(program, "vllm", "serve", "M", "--task", "x")
    assert "use --runner instead" in fault.help


def test_a_parser_with_a_gap_leaves_flags_undecided(tmp_path):
    text = FILES["vllm/entrypoints/cli/serve.py"].replace(
        "return add_arguments(parser)",
        "import torch\n        torch.extend(parser)\n        return add_arguments(parser)",
    )
    program = mini_program(tmp_path, {"vllm/entrypoints/cli/serve.py": text})
    found = _check(program, "vllm", "serve", "M", "--nosuch", "--port", "x")
    assert [one.id if isinstance(one, Undecided) else one.check for one in found] == ["flag-not-decided", INVALID]


def test_words_that_the_file_does_not_tell_leave_flags_undecided(program, tmp_path):
    (tmp_path / "s.sh").write_text("vllm serve M $EXTRA --port $PORT --nosuch\n")
    found = _check(program, file="s.sh", folder=tmp_path)
    assert [one.id if isinstance(one, Undecided) else one.check for one in found] == ["flag-not-decided", UNKNOWN]


def test_a_value_that_could_not_be_checked_is_said(tmp_path):
    text = FILES["vllm/entrypoints/cli/serve.py"].replace(
        "return add_arguments(parser)",
        "import torch\n        parser.add_argument('--odd', type=torch.odd)\n        return add_arguments(parser)",
    )
    (question,) = _check(
        mini_program(tmp_path, {"vllm/entrypoints/cli/serve.py": text}), "vllm", "serve", "M", "--odd", "1"
    )
    assert question.id == "flag-value-not-checked"


def test_variables_that_nothing_reads(program):
    (fault,) = _check(program, "vllm", "serve", "M", environment=("VLLM_PROT=1",))
    assert (fault.check, fault.severity) == (VARIABLE, None)
    assert "`VLLM_PORT`" in fault.help
    (fault,) = _check(program, "vllm", "serve", "M", "--strict-env", environment=("VLLM_NOSUCH=1",))
    assert fault.severity is Severity.ERROR


def test_a_table_of_variables_that_cannot_be_read_is_said(tmp_path):
    changed = {"vllm/envs.py": "import nosuch\nenvironment_variables = nosuch.table()\nVLLM_USE_V1 = True\n"}
    found = _check(mini_program(tmp_path, changed), "vllm", "serve", "M", environment=("VLLM_NOSUCH=1",))
    assert [one.id for one in found] == ["environment-not-checked"]


def test_code_that_goes_wrong_without_raising_on_purpose_is_no_error(tmp_path):
    text = FILES["vllm/entrypoints/cli/serve.py"].replace(
        "if args.headless and", "args.nothing_of_the_kind\n        if args.headless and"
    )
    (question,) = _check(mini_program(tmp_path, {"vllm/entrypoints/cli/serve.py": text}), "vllm", "serve", "M")
    assert (question.id, question.decisive) == ("launch-not-read", True)
