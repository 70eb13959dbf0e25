"""The model of a launch: where its files are, what they hold, and what the report says of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from preflight.launch.checkpoint import MAX_BYTES, ModelFiles, read_config, read_model
from preflight.launch.errors import LaunchError
from preflight.launch.facts import launch_facts
from preflight.launch.hub import locate
from preflight.launch.launch import read_launch
from preflight.launch.request import LaunchRequest
from preflight.program import Program
from tests.launch_tree import mini_program, read

_COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    return mini_program(tmp_path_factory.mktemp("mini"))


def _checkpoint(folder: Path, **config: object) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def _hub(root: Path, name: str, revision: str = "main", **config: object) -> Path:
    """A model in the layout of the hub's cache; returns the cache."""
    repository = root / f"models--{name.replace('/', '--')}"
    (repository / "refs").mkdir(parents=True, exist_ok=True)
    (repository / "refs" / revision).write_text(_COMMIT)
    (repository / "blobs").mkdir(exist_ok=True)
    (repository / "blobs" / "b1").write_text(json.dumps(config))
    snapshot = repository / "snapshots" / _COMMIT
    snapshot.mkdir(parents=True, exist_ok=True)
    (snapshot / "config.json").symlink_to("../../blobs/b1")
    return root


# -- where ----------------------------------------------------------------------------------------------------------


def test_a_folder_a_file_and_a_hub_id(tmp_path):
    folder = _checkpoint(tmp_path / "here", model_type="x")
    assert locate("here", None, {}, tmp_path, None).folder == folder
    found = locate("here/config.json", None, {}, tmp_path, None)
    assert (found.folder, found.file) == (folder, folder / "config.json")
    cache = _hub(tmp_path / "hub", "org/name", model_type="y")
    for environ, given in (({"HF_HUB_CACHE": str(cache)}, None), ({"HF_HOME": str(tmp_path)}, None), ({}, str(cache))):
        found = locate("org/name", None, environ, tmp_path, given)
        assert found.folder == cache / "models--org--name" / "snapshots" / _COMMIT
        assert read_config(found.folder / "config.json", "x")["model_type"] == "y"


def test_revisions_are_names_or_commits(tmp_path):
    cache = _hub(tmp_path / "hub", "name", revision="v1")
    environ = {"HF_HUB_CACHE": str(cache)}
    assert locate("name", None, environ, tmp_path, None).folder is None
    assert locate("name", "v1", environ, tmp_path, None).folder is not None
    assert locate("name", _COMMIT, environ, tmp_path, None).folder is not None
    assert locate("name", "../../../etc", environ, tmp_path, None).folder is None


@pytest.mark.parametrize(
    "name", ["org/gone", "/gone", "./gone", "s3://bucket/x", "a/b/c", "", "..", "n\0ull", "x" * 300, "~nobody/x"]
)
def test_what_is_not_here_has_a_reason(tmp_path, name):
    found = locate(name or "-", None, {"HF_HUB_CACHE": str(tmp_path)}, tmp_path / "empty", None)
    assert found.folder is None
    assert found.reason


# -- what -----------------------------------------------------------------------------------------------------------


def test_values_know_where_they_stand(tmp_path):
    folder = _checkpoint(tmp_path, architectures=["A", 3], text_config={"model_type": "x"}, heads=8)
    files = read_model("M", folder, None, {"heads": 6})
    assert isinstance(files, ModelFiles)
    assert files.architectures == ("A",)
    assert files.effective["heads"] == 6
    assert files.config["heads"] == 8
    assert files.origin("text_config", "model_type") == "config.json: text_config.model_type"
    assert files.origin("heads") == "--hf-overrides: heads"


def test_mistrals_own_format(tmp_path):
    (tmp_path / "params.json").write_text('{"dim": 4096}')
    files = read_model("M", tmp_path, None, {})
    assert isinstance(files, ModelFiles)
    assert (files.file, files.architectures) == ("params.json", ())


def test_a_folder_without_a_configuration_has_a_reason(tmp_path):
    assert "config.json" in read_model("M", tmp_path, None, {})
    assert isinstance(read_model("M", tmp_path, tmp_path / "model.gguf", {}), str)


@pytest.mark.parametrize(
    "data",
    [
        b"[1, 2]",
        b'"text"',
        b"3",
        b"",
        b'{"a": ',
        b'{"a": 1,}',
        b"\x80\x02}q\x00.",
        b"\xef\xbb\xbf{}",
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b"[" * 200_000,
        b'{"a": ' + b"1" * 5000 + b"}",
        b"{} {}",
    ],
    ids=range(12),
)
def test_a_file_that_is_no_configuration_ends_in_a_sentence_with_its_name(tmp_path, data):
    (tmp_path / "config.json").write_bytes(data)
    with pytest.raises(LaunchError) as caught:
        read_model("M", tmp_path, None, {})
    assert "M/config.json" in caught.value.message


def test_what_python_takes_is_taken(tmp_path):
    (tmp_path / "config.json").write_text('{"a": NaN, "b": Infinity, "c": 1, "c": 2, "d": "\\ud800"}')
    files = read_model("M", tmp_path, None, {})
    assert isinstance(files, ModelFiles)
    assert files.config["c"] == 2


def test_a_huge_file_a_folder_and_a_loop_are_not_read(tmp_path):
    big = tmp_path / "config.json"
    with big.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    for path in (big, tmp_path / "loop.json", tmp_path / "folder.json"):
        (tmp_path / "folder.json").mkdir(exist_ok=True)
        if not (tmp_path / "loop.json").is_symlink():
            (tmp_path / "loop.json").symlink_to("loop.json")
        with pytest.raises(LaunchError):
            read_config(path, path.name)


# -- the launch -----------------------------------------------------------------------------------------------------


def test_the_report_names_model_flags_and_drafter(program, tmp_path):
    _checkpoint(tmp_path / "target", architectures=["KimiK25ForConditionalGeneration"], nan=float("nan"))
    _checkpoint(tmp_path / "draft", architectures=["LlamaForCausalLMEagle3"])
    words = ("serve", "target", "-tp", "8", "--speculative-config", '{"method": "eagle3", "model": "draft", "n": 5}')
    launch = read(program, *words, "--hf-overrides", '{"x": 1}', folder=tmp_path)
    facts = launch_facts(launch, program)
    assert (facts.model, facts.architecture) == ("target", "KimiK25ForConditionalGeneration")
    assert facts.flags["tensor_parallel_size"] == 8
    assert facts.drafter == {
        "model": "draft", "architecture": "LlamaForCausalLMEagle3", "model_class": None, "method": "eagle3", "n": 5,
    }  # fmt: skip
    assert launch.model.origin("x") == "--hf-overrides: x"
    assert launch.undecided == ()
    json.dumps(facts.flags, allow_nan=False)


def test_a_model_that_is_not_here_is_undecided_and_a_broken_one_an_error(program, tmp_path):
    launch = read(program, "serve", "org/gone", folder=tmp_path)
    assert launch.named_model == "org/gone"
    assert [(question.id, question.decisive) for question in launch.undecided] == [("model-not-here", True)]
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "config.json").write_text("[]")
    with pytest.raises(LaunchError):
        read(program, "serve", "broken", folder=tmp_path)


def test_the_option_says_where_the_files_of_the_named_model_are(program, tmp_path):
    _checkpoint(tmp_path / "elsewhere", architectures=["A"])
    launch = read(program, "serve", "org/name", folder=tmp_path, model="elsewhere")
    assert launch.named_model == "org/name"
    assert launch.model.architectures == ("A",)


def test_the_launchs_own_cache_and_revision_are_used(program, tmp_path):
    cache = _hub(tmp_path / "home" / "hub", "org/name", revision="v2", architectures=["B"])
    launch = read(
        program, "serve", "org/name", "--revision", "v2", folder=tmp_path, environment=(f"HF_HOME={cache.parent}",)
    )
    assert launch.model.architectures == ("B",)


def test_ngram_needs_no_drafter(program, tmp_path):
    _checkpoint(tmp_path / "m")
    launch = read(program, "serve", "m", "--speculative-config", '{"method": "ngram"}', folder=tmp_path)
    assert (launch.drafter.name, launch.drafter.files, launch.undecided) == (None, None, ())
    launch = read(program, "serve", "m", "--speculative-config", '{"model": "org/gone"}', folder=tmp_path)
    assert [question.id for question in launch.undecided] == ["drafter-not-here"]


def test_words_that_the_file_does_not_tell_refuse_nothing(program, tmp_path):
    (tmp_path / "s.sh").write_text(
        'vllm serve m --port $PORT --block-size="$SIZE" $EXTRA --hf-overrides "{\\"a\\": $A}"\n'
    )
    _checkpoint(tmp_path / "m")
    launch = read(program, file="s.sh", folder=tmp_path)
    assert {question.id for question in launch.undecided} == {"launch-word-unresolved"}
    assert {question.line for question in launch.undecided} == {1}
    assert [refusal.kind for refusal in launch.parsed.match.refusals] == ["word-surplus"]
    assert launch.parsed.invalid == []


def test_several_commands_are_all_read(program, tmp_path):
    _checkpoint(tmp_path / "m")
    (tmp_path / "s.sh").write_text("vllm bench latency --input x\nvllm serve m &\nvllm serve m --port x\n")
    launch = read(program, file="s.sh", folder=tmp_path)
    assert launch.parsed.match.path == ("serve",)
    assert [other.parsed.match.path for other in launch.others] == [("bench", "latency"), ("serve",)]
    assert [len(other.parsed.invalid) for other in launch.others] == [0, 1]
    assert "launch-several-commands" in {question.id for question in launch.undecided}


def test_no_launch_and_a_launch_of_something_else(program):
    assert read_launch(LaunchRequest(), {}, program.tree, program) is None
    launch = read_launch(LaunchRequest(words=("python", "train.py")), {}, program.tree, program)
    assert launch.bare
    assert [refusal.kind for refusal in launch.parsed.match.refusals] == ["unknown-command"]
    assert launch.undecided == ()
