"""The tree's own parser, read from its code: its arguments, how it rewrites words, what its types make of values."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.launch.errors import LaunchError
from preflight.launch.exported import exported
from preflight.launch.reading.values import Unknown
from preflight.program import Program
from tests.launch_tree import FILES, mini_program, read, refusals


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    return mini_program(tmp_path_factory.mktemp("mini"))


def _options(launch) -> set[str]:
    return set(launch.parsed.parser.by_option())


def test_the_flags_are_those_of_the_code_and_its_dataclasses(program):
    launch = read(program, "serve", "M")
    assert _options(launch) == {
        "-h", "--help", "--port", "--headless", "--workers", "--config", "--middleware", "--model", "--dtype",
        "--max-model-len", "-tp", "--tensor-parallel-size", "--seed", "--enforce-eager", "--no-enforce-eager",
        "--block-size", "--names", "--hf-overrides", "--compilation-config", "--speculative-config", "--revision",
        "--old-thing", "--strict-env", "--no-strict-env",
    }  # fmt: skip
    assert launch.parsed.parser.gaps == []
    assert not refusals(launch)
    assert launch.parsed.raised is None
    assert launch.parsed.trouble is None


def test_values_are_typed_as_the_code_types_them(program):
    launch = read(
        program, "serve", "M", "--max_model_len", "4k", "-tp", "2", "--no-enforce-eager", "--names", "a", "b",
        "--block-size", "16", "--middleware", "x", "--middleware=y", "--hf-overrides.a", "[1]", "--revision", "None",
        "--compilation-config", '{"mode": "FULL", "sizes": ["3"], "passes": {"fuse": "yes"}}',
    )  # fmt: skip
    assert not refusals(launch)
    values = {name: exported(value) for name, value in launch.parsed.values.items()}
    assert values == {
        "subparser": "serve", "model_tag": "M", "max_model_len": 4000, "tensor_parallel_size": 2,
        "enforce_eager": False, "names": ["a", "b"], "block_size": 16, "middleware": ["x", "y"],
        "hf_overrides": {"a": [1]}, "revision": None,
        "compilation_config": {"mode": 2, "sizes": [3], "passes": {"fuse": True}},
    }  # fmt: skip
    assert launch.value("port") == 8000


@pytest.mark.parametrize(
    ("words", "refused"),
    [
        (["--nosuch", "3"], ["unknown-flag --nosuch 3"]),
        (["--tensor-parallel", "3"], []),
        (["--max-model", "3"], []),
        (["--m", "3"], ["ambiguous-flag --m"]),
        (["--port", "x"], ["invalid --port x"]),
        (["--port", "1.5"], ["invalid --port 1.5"]),
        (["--max-model-len", "1x"], ["invalid --max-model-len 1x"]),
        (["--block-size", "3"], ["invalid --block-size 3"]),
        (["--dtype", "anything"], []),
        (["--enforce-eager=true"], ["value-surplus --enforce-eager=true"]),
        (["--port"], ["value-missing --port"]),
        (["surplus"], ["word-surplus surplus"]),
        (["--hf-overrides", "{x"], ["invalid --hf-overrides {x"]),
        (["--num-prompts", "3"], ["unknown-flag --num-prompts 3"]),
        (["--compilation-config", "3"], ["invalid --compilation-config 3"]),
        (["--compilation-config", '{"mode": 9}'], ['invalid --compilation-config {"mode": 9}']),
        (["--compilation-config", '{"mode": "HALF"}'], []),  # a KeyError in the validator: nobody says what that is
        (["--compilation-config", '{"nosuch": 1}'], ['invalid --compilation-config {"nosuch": 1}']),
        (["--compilation-config", '{"sizes": [1, "x"]}'], ['invalid --compilation-config {"sizes": [1, "x"]}']),
        (["--compilation-config", '{"passes": {"fuse": 3}}'], ['invalid --compilation-config {"passes": {"fuse": 3}}']),
        (["--compilation-config", '{"name": ""}'], ['invalid --compilation-config {"name": ""}']),
        (["--compilation-config", '{"name": 3}'], ['invalid --compilation-config {"name": 3}']),
        (["--compilation-config", '{"ratio": 1.5}'], ['invalid --compilation-config {"ratio": 1.5}']),
        (["--compilation-config", '{"ratio": "0.1", "kind": "b", "extra": {"x": []}}'], []),
        (["--compilation-config", '{"kind": "c"}'], ['invalid --compilation-config {"kind": "c"}']),
    ],
)  # fmt: skip
def test_what_argparse_or_the_types_refuse_is_refused(program, words, refused):
    assert refusals(read(program, "serve", "M", *words)) == refused


def test_every_command_has_the_parser_of_its_own(program):
    launch = read(program, "bench", "latency", "--num-prompts", "3", "--port", "4", "--input", "x")
    assert launch.parsed.match.path == ("bench", "latency")
    assert refusals(launch) == ["unknown-flag --port 4"]
    assert refusals(read(program, "bench", "latency")) == ["required-missing"]
    assert refusals(read(program, "srve", "M")) == ["unknown-command srve"]


def test_a_module_is_run_as_main(program):
    from preflight.launch.launch import read_launch
    from preflight.launch.request import LaunchRequest

    words = ("python3", "-m", "vllm.entrypoints.openai.api_server", "--model", "M", "--only-here", "3", "--port", "1")
    launch = read_launch(LaunchRequest(words=words), {}, program.tree, program)
    assert launch.parsed.values["model"] == "M"
    assert refusals(launch) == ["unknown-flag --port 1"]


@pytest.mark.parametrize(
    ("words", "environment", "kind", "place"),
    [
        (["--model", "M"], (), ValueError, "vllm/utils/argparse_utils.py"),
        (["M", "--headless", "--port", "1"], (), TypeError, "vllm/entrypoints/cli/serve.py"),
        (["M", "--workers", "0"], (), ValueError, "vllm/entrypoints/cli/serve.py"),
        (["M"], ("VLLM_USE_V1=0",), AssertionError, "vllm/entrypoints/cli/serve.py"),
        (["M", "--workers", "0", "--headless"], (), None, ""),
    ],
)
def test_what_the_command_itself_raises_before_the_engine_starts(program, words, environment, kind, place):
    raised = read(program, "serve", *words, environment=environment).parsed.raised
    if kind is None:
        assert raised is None
    else:
        assert isinstance(raised.error, kind)
        assert raised.deliberate
        assert raised.path == place


def test_the_config_file_is_merged_by_the_tree_and_its_keys_have_lines(program, tmp_path):
    (tmp_path / "serve.yaml").write_text("port: 80\nnosuch: 3\nenforce-eager: true\nhf-overrides:\n  a: 1\n")
    launch = read(program, "serve", "M", "--config", "serve.yaml", "--port", "81", folder=tmp_path)
    assert refusals(launch) == ["unknown-flag --nosuch 3"]
    assert launch.parsed.values["port"] == 81
    assert launch.parsed.values["hf_overrides"] == {"a": 1}
    assert (launch.config_keys["--nosuch"].path, launch.config_keys["--nosuch"].line) == ("serve.yaml", 2)


def test_a_config_file_that_is_not_here_leaves_the_flags_undecided(program, tmp_path):
    launch = read(program, "serve", "M", "--config", "/elsewhere/serve.yaml", folder=tmp_path)
    assert launch.parsed.match is None
    assert [(question.id, question.decisive) for question in launch.undecided] == [("launch-not-read", True)]


@pytest.mark.parametrize("text", [None, "port: [\n", "a: 1\n---\n- b: {\n"])
def test_a_config_file_that_is_wrong_where_the_command_is_typed_is_an_error(program, tmp_path, text):
    if text is not None:
        (tmp_path / "serve.yaml").write_text(text)
    with pytest.raises(LaunchError) as caught:
        read(program, "serve", "M", "--config", "serve.yaml", folder=tmp_path)
    assert "serve.yaml" in caught.value.message


@pytest.mark.parametrize("name", ["./gone", "../gone", "empty", "./empty"])
def test_a_model_that_is_no_checkpoint_of_this_machine_is_an_error(program, tmp_path, name):
    (tmp_path / "empty").mkdir()
    with pytest.raises(LaunchError) as caught:
        read(program, "serve", name, folder=tmp_path)
    assert name in caught.value.message


@pytest.mark.parametrize("name", ["gone", "org/gone", "/gone/of/another/machine"])
def test_a_model_of_another_machine_stays_open(program, tmp_path, name):
    launch = read(program, "serve", name, folder=tmp_path)
    assert "model-not-here" in [question.id for question in launch.undecided]


def test_the_platform_adds_its_flags(tmp_path, program):
    assert "--rocm-only" not in _options(read(program, "serve", "M"))
    assert "--rocm-only" in _options(read(mini_program(tmp_path, accelerator="rocm"), "serve", "M"))


def _with_serve(tmp_path: Path, old: str, new: str) -> Program:
    text = FILES["vllm/entrypoints/cli/serve.py"]
    assert old in text
    return mini_program(tmp_path, {"vllm/entrypoints/cli/serve.py": text.replace(old, new)})


def test_code_that_cannot_be_read_leaves_a_gap_in_the_parser(tmp_path):
    new = "import torch\n        torch.extend(parser)\n        return add_arguments(parser)"
    launch = read(_with_serve(tmp_path, "return add_arguments(parser)", new), "serve", "M", "--nosuch")
    assert launch.parsed.parser.gaps
    assert refusals(launch) == ["unknown-flag --nosuch"]


def test_flags_of_names_that_are_not_known_leave_a_gap(tmp_path):
    new = "for n in __import__('x').y():\n            parser.add_argument(n)\n        return add_arguments(parser)"
    assert read(_with_serve(tmp_path, "return add_arguments(parser)", new), "serve", "M").parsed.parser.gaps


def test_a_flag_under_a_condition_that_is_not_known_may_be_there(tmp_path):
    new = "if __import__('x').y():\n            parser.add_argument('--maybe')\n        return add_arguments(parser)"
    launch = read(_with_serve(tmp_path, "return add_arguments(parser)", new), "serve", "M", "--maybe", "3", "--nosuch")
    assert refusals(launch) == ["unknown-flag --nosuch"]
    assert [a.name for a in launch.parsed.parser.arguments if not a.certain] == ["--maybe"]
    assert launch.parsed.parser.gaps == []


def test_a_flag_that_is_added_twice_ends_the_launch(tmp_path):
    program = _with_serve(
        tmp_path,
        'parser.add_argument("--headless"',
        'parser.add_argument("--port")\n        parser.add_argument("--headless"',
    )
    raised = read(program, "serve", "M").parsed.raised
    assert type(raised.error).__name__ == "ArgumentError"
    assert raised.path == "vllm/entrypoints/cli/serve.py"


def test_choices_and_types_that_are_not_known_refuse_nothing(tmp_path):
    new = "import torch\n        parser.add_argument('--a', choices=torch.x())\n        parser.add_argument('--b', type=torch.y)\n        return add_arguments(parser)"
    launch = read(_with_serve(tmp_path, "return add_arguments(parser)", new), "serve", "M", "--a", "1", "--b", "2")
    assert not refusals(launch)
    assert launch.parsed.values["a"] == "1"
    assert isinstance(launch.parsed.values["b"], Unknown)


def test_actions_of_the_trees_own_are_run(tmp_path):
    new = """
        from argparse import Action
        class Pairs(Action):
            def __call__(self, parser, namespace, values, option_string=None):
                for value in values:
                    if "=" not in value:
                        parser.error(f"{value} is no pair")
                setattr(namespace, self.dest, dict(value.split("=", 1) for value in values))
        parser.add_argument("--pairs", nargs="+", action=Pairs)
        return add_arguments(parser)"""
    program = _with_serve(tmp_path, "return add_arguments(parser)", new)
    launch = read(program, "serve", "M", "--pairs", "a=1", "b=2=3")
    assert not refusals(launch)
    assert launch.parsed.values["pairs"] == {"a": "1", "b": "2=3"}
    assert refusals(read(program, "serve", "M", "--pairs", "a=1", "b")) == ["invalid --pairs a=1 b"]


def test_an_action_class_may_add_names(tmp_path):
    new = """
        from argparse import BooleanOptionalAction
        class Both(BooleanOptionalAction):
            def __init__(self, option_strings, dest, *args, **kwargs):
                super().__init__(option_strings, dest, *args, **kwargs)
                self.off = [o.replace("--enable-", "--disable-") for o in option_strings]
                self.option_strings = [*self.option_strings, *self.off]
            def __call__(self, parser, namespace, values, option_string=None):
                setattr(namespace, self.dest, option_string not in self.off and not option_string.startswith("--no-"))
        parser.register("action", BooleanOptionalAction, Both)
        parser.add_argument("--enable-x", action=BooleanOptionalAction)
        return add_arguments(parser)"""
    program = _with_serve(tmp_path, "return add_arguments(parser)", new)
    for word, value in (("--enable-x", True), ("--no-enable-x", False), ("--disable-x", False)):
        launch = read(program, "serve", "M", word)
        assert not refusals(launch)
        assert launch.parsed.values["enable_x"] is value


def test_a_tree_without_the_command_line_is_said_to_be_unreadable(tmp_path):
    from tests.programs import program_of

    launch = read(program_of(tmp_path, {"vllm/x.py": ""}), "serve", "M")
    assert launch.parsed.match is None
    assert [question.id for question in launch.undecided] == ["launch-not-read"]


def test_patched_parser_code_is_what_counts(tmp_path):
    text = FILES["vllm/engine/arg_utils.py"]
    program = mini_program(
        tmp_path, patched={"vllm/engine/arg_utils.py": text.replace('"--old-thing"', '"--patched-thing"')}
    )
    assert refusals(read(program, "serve", "M", "--patched-thing")) == []
    assert refusals(read(program, "serve", "M", "--old-thing")) == ["unknown-flag --old-thing"]


def test_nothing_of_the_tree_is_run(tmp_path):
    target = tmp_path / "touched"
    text = FILES["vllm/entrypoints/cli/main.py"] + f"\nopen({str(target)!r}, 'w').close()\n"
    text = text.replace(
        "def main():",
        f"def main():\n    import pathlib\n    pathlib.Path({str(target)!r}).touch()\n    open({str(target)!r}, 'w')",
    )
    read(mini_program(tmp_path / "tree", {"vllm/entrypoints/cli/main.py": text}), "serve", "M")
    assert not target.exists()
