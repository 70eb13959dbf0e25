"""The check of a launch, as its user runs it: what is assumed, what is demanded, and what stays open."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from minilaunch import ENGINE, check_launch, engine

from preflight.errors import UsageError
from preflight.walk.assumptions import Assumptions, with_stated

PLATFORM = "vllm/platforms/cuda.py"
ASKS_THE_MACHINE = {
    "vllm/platforms/__init__.py": "current_platform = None\n",
    "vllm/platforms/interface.py": "class Platform:\n    @classmethod\n    def device_count(cls):\n        return 0\n",
    PLATFORM: "from vllm.platforms.interface import Platform\n\n\nclass CudaPlatform(Platform):\n    pass\n",
}
TOO_FEW = engine(
    "from vllm.platforms import current_platform",
    "count = current_platform.device_count()",
    "if self.tensor_parallel_size > count:",
    '    raise ValueError(f"{count} GPUs are too few")',
)


def ids(report: dict[str, Any]) -> list[str]:
    return [question["id"] for question in report["undecided"]]


def found(report: dict[str, Any]) -> list[tuple[str, str]]:
    return [(finding["rule"], finding["severity"]) for finding in report["findings"] if "PF4" < finding["rule"] < "PF7"]


@pytest.mark.parametrize(
    ("stated", "wanted"),
    [
        ([], [("PF601", "warning")]),
        (["--assume", "gpu-count=8"], [("PF601", "error")]),
        (["--assume", "gpu-count=16"], []),
        (["--assume", "capability=9.0,gpu-count=16"], []),
    ],
)
def test_a_fault_under_a_default_alone_is_a_warning(
    stated: list[str], wanted: list[tuple[str, str]], tmp_path: Path, capsys: Any
) -> None:
    patch = {**ASKS_THE_MACHINE, ENGINE: TOO_FEW}
    _code, report = check_launch(tmp_path, capsys, "--tensor-parallel-size", "16", *stated, patch=patch)
    assert found(report) == wanted
    for finding in report["findings"]:
        assert finding["rule"] != "PF601" or "gpu-count=8" in finding["help"] or finding["severity"] == "error"


@pytest.mark.parametrize(
    ("visible", "stated", "wanted"),
    [
        ("0,1", [], "error"),
        ("0,1,2,3", [], None),
        ("0,1,2,3", ["--assume", "gpu-count=2"], "error"),
        ("0,1", ["--assume", "gpu-count=8"], "error"),
        # what these show is not told by the list alone: it is as if the launch did not say it
        ("GPU-8932f937,GPU-1932f937", [], None),
        ("0,0", [], None),
        ("", [], None),
    ],
)
def test_a_launch_sees_no_more_gpus_than_it_is_shown(
    visible: str, stated: list[str], wanted: str | None, tmp_path: Path, capsys: Any
) -> None:
    words = (
        "env",
        f"CUDA_VISIBLE_DEVICES={visible}",
        "vllm",
        "serve",
        str(tmp_path / "toy"),
        "--tensor-parallel-size",
        "4",
    )
    patch = {**ASKS_THE_MACHINE, ENGINE: TOO_FEW}
    _code, report = check_launch(tmp_path, capsys, *stated, "--", *words, patch=patch)
    assert found(report) == ([("PF601", wanted)] if wanted is not None else [])


@pytest.mark.parametrize(
    ("body", "words", "part"),
    [
        (
            ("kinds = ['llama', 'qwen']", "if model.hf_config.kind not in kinds:", "    raise ValueError('no')"),
            (),
            "`kinds` has llama, qwen, and not toy (config.json: kind)",
        ),
        (
            ("if 8 % self.tensor_parallel_size:", "    raise ValueError('no')"),
            ("--tensor-parallel-size", "3"),
            "give --tensor-parallel-size a value that divides 8: 1, 2, 4 or 8",
        ),
        (
            ("heads = model.hf_config.num_attention_heads", "assert heads % self.tensor_parallel_size == 0"),
            ("--tensor-parallel-size", "3"),
            "a value that divides 8 (config.json: num_attention_heads): 1, 2, 4 or 8",
        ),
        (
            ("groups = self.tensor_parallel_size + 4", "assert model.hf_config.num_attention_heads % groups == 0"),
            ("--tensor-parallel-size", "3"),
            "change --tensor-parallel-size (config.json: num_attention_heads is 8)",
        ),
        (("import nowhere.inside",), ("--assume", "no-package=nowhere"), "install nowhere"),
        (("raise ValueError(\"'fo8' is none of 'fp8', 'int4'\")",), (), None),
        (("raise ValueError(\"'fp8_e4m' is none of 'fp8', 'fp8_e4m3', 'int4'\")",), (), "did you mean fp8_e4m3?"),
    ],
    ids=["list", "flag", "divisor", "computed", "package", "unlike", "alike"],
)
def test_the_way_out(
    body: tuple[str, ...], words: tuple[str, ...], part: str | None, tmp_path: Path, capsys: Any
) -> None:
    config = {"architectures": ["ToyForCausalLM"], "num_attention_heads": 8, "media_token_id": 7, "kind": "toy"}
    _code, report = check_launch(tmp_path, capsys, *words, patch={ENGINE: engine(*body)}, config=config)
    (finding,) = report["findings"]
    assert finding["severity"] == "error"
    assert (part in finding["help"]) if part is not None else finding["help"] is None


@pytest.mark.parametrize(
    "text", ["gpu-count", "gpus=3", "gpu-count=many", "gpu-count=1.5", "capability=9", "package=", "platform=a b", ""]
)
def test_assumptions_that_mean_nothing_are_refused(text: str, tmp_path: Path, capsys: Any) -> None:
    with pytest.raises(UsageError):
        with_stated(Assumptions(), [text])
    code, report = check_launch(tmp_path, capsys, "--assume", text)
    assert (code, report["verdict"]) == (2, "not-checked")


def test_stated_assumptions_are_no_defaults() -> None:
    made = with_stated(Assumptions(), ["gpu-count=2,capability=8.6", "no-package=flash-attn,package=ray"])
    assert (made.gpu_count, made.capability) == (2, (8, 6))
    assert made.absent == {"flash_attn"}
    assert made.present == {"ray"}
    assert made.defaults == {"gpu-memory", "cpu-memory"}


@pytest.mark.parametrize(
    ("name", "there"),
    [("num_attention_heads", True), ("media_token_id", True), ("image_token_index", False), ("a.b", False)],
)
def test_demanded_attributes(name: str, there: bool, tmp_path: Path, capsys: Any) -> None:
    code, report = check_launch(tmp_path, capsys, "--require-config", name)
    assert (code, found(report)) == ((0, []) if there else (1, [("PF402", "error")]))


def test_a_launch_whose_model_is_not_here_is_undecided(tmp_path: Path, capsys: Any) -> None:
    _code, report = check_launch(tmp_path, capsys, "--", "vllm", "serve", "nobody/nothing")
    assert report["verdict"] == "undecided"
    assert "launch-not-walked" in ids(report)


@pytest.mark.parametrize(
    ("body", "id"),
    [
        (("n = 0", "while True: n += 1"), "walk-config-unknown"),
        (("import somewhere", "self.tensor_parallel_size = somewhere.asked()"), None),
        (("def deep(n): return deep(n + 1)", "deep(0)"), None),
        (("def spread(n): return spread(n + 1) + spread(n + 2) if n < 60 else 1", "spread(0)"), None),
    ],
    ids=["endless", "unknown", "deep", "spreading"],
)
def test_what_cannot_be_followed_ends_as_an_open_question(
    body: tuple[str, ...], id: str | None, tmp_path: Path, capsys: Any
) -> None:
    _code, report = check_launch(tmp_path, capsys, patch={ENGINE: engine(*body)})
    assert found(report) == []
    assert report["error"] is None
    assert report["undecided"]


def test_a_fault_of_the_walk_itself_is_an_open_question(
    tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_given: object) -> None:
        raise KeyError("a mistake of ours")

    monkeypatch.setattr("preflight.walk.stages._Launch.walk", fail)
    _code, report = check_launch(tmp_path, capsys)
    assert report["verdict"] == "undecided"
    assert "walk-fault" in ids(report)


@pytest.mark.parametrize(
    "config",
    [
        {"num_attention_heads": float("nan")},
        {"num_attention_heads": None, "architectures": {"a": [None]}},
        {"architectures": "x" * 100_000},
        {str(number): number for number in range(3000)},
        {},
    ],
    ids=["nan", "null", "long", "many", "empty"],
)
def test_odd_configs_are_handled(config: Any, tmp_path: Path, capsys: Any) -> None:
    _code, report = check_launch(tmp_path, capsys, config=config)
    assert report["error"] is None
    assert found(report) == []


def test_nothing_of_the_tree_is_imported(tmp_path: Path, capsys: Any) -> None:
    check_launch(tmp_path, capsys)
    assert not [name for name in sys.modules if name.partition(".")[0] in ("vllm", "torch", "transformers")]


def test_flags_that_are_refused_do_not_hide_what_is_behind_them(tmp_path: Path, capsys: Any) -> None:
    patch = {ENGINE: engine("model.hf_config.image_token_index")}
    _code, report = check_launch(
        tmp_path, capsys, "--", "vllm", "serve", str(tmp_path / "toy"), "--no-such-flag", patch=patch
    )
    assert {finding["rule"] for finding in report["findings"]} == {"PF501", "PF401"}


@pytest.mark.parametrize("name", ["toy", "./toy", "toy/", "../{parent}/toy", "{folder}/toy", "{folder}/./toy/"])
@pytest.mark.parametrize("file", ["config.json", "tokenizer.json"])
def test_a_folder_is_the_same_however_it_is_written(
    name: str, file: str, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    there = f"if os.path.isdir(self.model) and os.path.isfile(os.path.join(self.model, '{file}')):"
    patch = {ENGINE: engine("import os", there, "    raise ValueError('there')")}
    word = name.format(parent=tmp_path.name, folder=tmp_path)
    _code, report = check_launch(tmp_path, capsys, "--", "vllm", "serve", word, patch=patch)
    assert found(report) == ([("PF601", "error")] if file == "config.json" else [])
    assert not [id for id in ids(report) if id.startswith(("launch", "walk"))]


def test_a_tree_without_transformers_is_said_once(tmp_path: Path, capsys: Any) -> None:
    body = ("import transformers", "model.hf_config = transformers.AutoConfig.from_pretrained(self.model)")
    code, report = check_launch(tmp_path, capsys, patch={ENGINE: engine(*body)})
    assert (code, report["verdict"]) == (0, "undecided")
    assert [id for id in ids(report) if id.startswith(("walk", "model", "transformers"))] == ["transformers-not-here"]


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (("nowhere_bound(1)",), [("PF601", "error")]),
        # a statement of the module binds it: in what order those run is not asked
        (("late_bound(1)",), []),
        (("len(str(1))",), []),
    ],
)
def test_a_name_that_the_module_binds_nowhere_is_a_fault(
    body: tuple[str, ...], wanted: list[tuple[str, str]], tmp_path: Path, capsys: Any
) -> None:
    text = engine(*body) + "\n\nif globals().get('odd'):\n    late_bound = print\n"
    _code, report = check_launch(tmp_path, capsys, patch={ENGINE: text})
    assert found(report) == wanted
    helps = [finding["help"] for finding in report["findings"] if finding["rule"] == "PF601"]
    assert all(help is not None and "nowhere_bound" in help for help in helps)


LISTS = """

def first(name):
    if name not in ("fp8", "awq"):
        raise ValueError(f"unknown {name}")


def second(name):
    if name in ("fp8", "gptq"):
        return name
    else:
        raise ValueError(f"{name} cannot be had")
"""


@pytest.mark.parametrize(
    ("config", "body", "wanted"),
    [
        # the second list is asked for the name that the first one refused: only another name comes to it
        ({"kind": "fp9"}, ("first(model.hf_config.kind)", "second(model.hf_config.kind)"), ["first"]),
        ({"kind": "awq"}, ("first(model.hf_config.kind)", "second(model.hf_config.kind)"), ["second"]),
        ({"kind": "fp9", "other": "fp9"}, ("first(model.hf_config.kind)", "second(model.hf_config.other)"), None),
        ({"kind": "fp9", "other": "fp7"}, ("first(model.hf_config.kind)", "second(model.hf_config.other)"), None),
    ],
    ids=["same", "second only", "another key", "another name"],
)
def test_a_name_that_two_lists_refuse_is_one_fault(
    config: dict[str, Any], body: tuple[str, ...], wanted: list[str] | None, tmp_path: Path, capsys: Any
) -> None:
    text = engine(*body) + LISTS
    facts = {"architectures": ["ToyForCausalLM"], "num_attention_heads": 8, "media_token_id": 7, **config}
    _code, report = check_launch(tmp_path, capsys, patch={ENGINE: text}, config=facts)
    lines = text.splitlines()
    raised = {"first": "unknown {name}", "second": "cannot be had"}
    at = [next(n for n, line in enumerate(lines, 1) if raised[one] in line) for one in wanted or raised]
    assert found(report) == [("PF601", "error")] * len(at)
    assert [(finding["path"], finding["line"]) for finding in report["findings"]] == [(ENGINE, line) for line in at]


NO_FILE = "    raise ValueError('no file')"


@pytest.mark.parametrize(
    ("body", "asked"),
    [
        (("if not os.path.exists('/opt/x.so'):", NO_FILE), True),
        (("if os.path.isfile('/opt/x.so'):", "    pass", "else:", NO_FILE), True),
        (("if not Path('/opt/x.so').exists():", NO_FILE), True),
        (("assert os.path.isdir('/opt/x')",), True),
        # known files, and files that nobody names
        (("if not os.path.isfile(os.path.join(self.model, 'config.json')):", NO_FILE), False),
        (("if not os.path.exists(os.environ.get('ODD_FILE', '/opt/y')):", NO_FILE), True),
        (("if not os.path.exists(input()):", NO_FILE), False),
        # nothing is raised, or it is caught, or another condition decides first
        (("if not os.path.exists('/opt/x.so'):", "    print('no')"), False),
        (
            ("try:", "    if not os.path.exists('/opt/x.so'):", f"    {NO_FILE}", "except ValueError:", "    pass"),
            False,
        ),
        (("if input():", "    if not os.path.exists('/opt/x.so'):", f"    {NO_FILE}"), False),
    ],
)
def test_a_raise_that_hangs_on_a_file_is_left_open_and_said(
    body: tuple[str, ...], asked: bool, tmp_path: Path, capsys: Any
) -> None:
    text = engine("import os", "from pathlib import Path", *body)
    code, report = check_launch(tmp_path, capsys, patch={ENGINE: text})
    assert (code, report["verdict"], found(report)) == (0, "clear", [])
    told = [(one["path"], one["line"]) for one in report["undecided"] if one["id"] == "walk-file-asked"]
    line = text.splitlines().index(f"        {body[0]}") + 1
    assert told == ([(ENGINE, line)] if asked else [])


def test_an_installed_plugin_is_said_not_to_be_followed(tmp_path: Path, capsys: Any) -> None:
    loads = {
        "vllm/plugins/__init__.py": "def load_general_plugins():\n    pass\n",
        ENGINE: engine("from vllm.plugins import load_general_plugins", "load_general_plugins()"),
        "vllm_own-1.0.dist-info/entry_points.txt": "[vllm.general_plugins]\nown = vllm.plugins.own:register\n",
    }
    _code, report = check_launch(tmp_path / "without", capsys, patch=loads)
    assert "plugins-not-followed" not in ids(report)
    installed = {"mine-1.0.dist-info/entry_points.txt": "[vllm.general_plugins]\nmine = mine.entry:register\n"}
    _code, report = check_launch(tmp_path / "with", capsys, patch={**loads, **installed})
    assert "plugins-not-followed" in ids(report)
    assert report["verdict"] == "clear"
