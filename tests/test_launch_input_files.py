"""Launch files: YAML of every kind, and which program of vLLM a command runs behind whatever runs it."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from preflight.errors import UsageError
from preflight.launch.command import find_commands
from preflight.launch.documents import DocumentError, load_plain, read_documents
from preflight.launch.errors import LaunchError
from preflight.launch.programs import Program, Script, programs_of
from preflight.launch.request import LaunchRequest
from preflight.launch.sources.found import FoundCommand
from preflight.launch.unresolved import is_open
from preflight.launch.words import Word


def _words(program: Program) -> list[str]:
    return list(map(str, program.arguments))


def _found(folder: Path, name: str, text: str, *environment: str):
    (folder / name).write_text(text, encoding="utf-8")
    return find_commands(LaunchRequest(file=name, folder=folder, environment=environment))


# -- programs -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "module", "arguments"),
    [
        ("vllm serve M --x", None, "serve M --x"),
        ("/opt/venv/bin/vllm serve M", None, "serve M"),
        ("A=1 B=2 vllm serve M", None, "serve M"),
        ("env -u X A=1 vllm serve M", None, "serve M"),
        ("exec nohup vllm serve M", None, "serve M"),
        ("sudo -E -u me vllm serve M", None, "serve M"),
        ("numactl -N 0 --membind=0 vllm serve M", None, "serve M"),
        ("timeout -s KILL 10 vllm serve M", None, "serve M"),
        ("taskset -c 0-7 vllm serve M", None, "serve M"),
        ("uv run --with x vllm serve M", None, "serve M"),
        ("nsys profile -o out --trace=cuda vllm serve M", None, "serve M"),
        ("python -m vllm.entrypoints.openai.api_server --model M", "vllm.entrypoints.openai.api_server", "--model M"),
        ("python3.12 -u -X dev -m vllm.entrypoints.openai.api_server", "vllm.entrypoints.openai.api_server", ""),
        ("/usr/bin/python3 /opt/x/vllm/entrypoints/api.py --model M", "vllm.entrypoints.api", "--model M"),
        ("python /opt/venv/bin/vllm serve M", None, "serve M"),
        ("torchrun --nproc-per-node 8 -m vllm.entrypoints.api --model M", "vllm.entrypoints.api", "--model M"),
        ("accelerate launch --num_processes 2 -m vllm.x", "vllm.x", ""),
        ("docker run --rm -it --gpus all -v /a:/b vllm/vllm-openai:v0.16.0 --model M", None, "--model M"),
    ],
)  # fmt: skip
def test_the_program_behind_its_wrappers(line, module, arguments):
    (program,) = programs_of(FoundCommand(tuple(map(Word, shlex.split(line)))))
    assert isinstance(program, Program)
    assert (program.module, _words(program)) == (module, arguments.split())


@pytest.mark.parametrize(
    "line", ["ls -l", "python train.py --model M", "python -m http.server", "echo vllm serve M", "env", ""]
)
def test_other_programs_are_none_of_vllm(line):
    assert list(programs_of(FoundCommand(tuple(map(Word, shlex.split(line)))))) == []


def test_scripts_are_to_be_read():
    (script,) = programs_of(FoundCommand((Word("bash"), Word("-lc"), Word("exec vllm serve M"))))
    assert isinstance(script, Script)
    assert script.text == "exec vllm serve M"
    (script,) = programs_of(FoundCommand((Word("./start.sh"), Word("a"))))
    assert (script.file, script.arguments) == ("./start.sh", ("a",))


# -- requests -------------------------------------------------------------------------------------------------------


def test_the_options_make_a_launch():
    commands = find_commands(LaunchRequest(model="M", tensor_parallel_size="8", speculative_config="{}"))
    assert _words(commands.programs[0]) == ["serve", "M", "--speculative-config", "{}", "--tensor-parallel-size", "8"]


def test_the_options_go_behind_the_words_of_a_command():
    commands = find_commands(
        LaunchRequest(words=("vllm", "serve", "M", "-tp", "2"), model="/x", tensor_parallel_size="8")
    )
    assert _words(commands.programs[0]) == ["serve", "M", "-tp", "2", "--tensor-parallel-size", "8"]
    commands = find_commands(LaunchRequest(words=("vllm", "serve", "-tp", "2"), model="/x"))
    assert _words(commands.programs[0]) == ["serve", "/x", "-tp", "2"]


def test_flags_alone_are_those_of_serve():
    commands = find_commands(LaunchRequest(words=("--tensor-parallel-size", "8")))
    assert commands.bare
    assert _words(commands.programs[0]) == ["serve", "--tensor-parallel-size", "8"]


def test_what_does_not_fit_together_is_refused():
    with pytest.raises(UsageError):
        find_commands(LaunchRequest(words=("vllm",), file="x.sh"))
    with pytest.raises(UsageError):
        find_commands(LaunchRequest(model="M", environment=("NOVALUE",)))


def test_a_script_that_is_named_behind_the_dashes_is_read(tmp_path):
    (tmp_path / "start.sh").write_text('#!/bin/sh\nexec vllm serve "$1" --port 1\n')
    commands = find_commands(LaunchRequest(words=("bash", "start.sh", "M"), folder=tmp_path))
    assert _words(commands.programs[0]) == ["serve", "M", "--port", "1"]
    commands = find_commands(LaunchRequest(words=("bash", "gone.sh"), folder=tmp_path))
    assert (commands.programs, len(commands.doubts)) == ((), 1)


def test_scripts_that_call_each_other_end(tmp_path):
    (tmp_path / "a.sh").write_text("bash b.sh\nvllm serve M\n")
    (tmp_path / "b.sh").write_text("bash a.sh\n")
    assert find_commands(LaunchRequest(file="a.sh", folder=tmp_path)).programs


# -- files ----------------------------------------------------------------------------------------------------------


def test_a_shell_script_with_two_servers(tmp_path):
    text = "export VLLM_X=1\nvllm serve A --port 1 &\nCUDA_VISIBLE_DEVICES=1 vllm serve B \\\n  --port 2\nwait\n"
    commands = _found(tmp_path, "launch.sh", text)
    assert [_words(p) for p in commands.programs] == [["serve", "A", "--port", "1"], ["serve", "B", "--port", "2"]]
    assert commands.programs[1].arguments[2].origin.line == 4
    assert {item.name for item in commands.programs[1].environment} == {"VLLM_X", "CUDA_VISIBLE_DEVICES"}


def test_a_compose_file(tmp_path):
    text = """
services:
  web: {image: nginx, command: [nginx]}
  engine:
    image: vllm/vllm-openai:${TAG:-v0.16.0}
    command:
      - --model
      - ${MODEL}
      - "--port=${PORT:-8000}"
      - $$literal
    environment:
      VLLM_USE_V1: 1
      HF_TOKEN:
  other:
    image: mine
    entrypoint: ["bash", "-c"]
    command: ["exec vllm serve B --name 'x y'"]
    environment: ["A=1", "B"]
"""
    commands = _found(tmp_path, "compose.yaml", text, "MODEL=/m")
    first, second = commands.programs
    assert _words(first) == ["serve", "--model", "/m", "--port=8000", "$literal"]
    assert first.arguments[2].origin.line == 8
    assert {item.name: is_open(item.value) for item in first.environment} == {"VLLM_USE_V1": False, "HF_TOKEN": True}
    assert _words(second) == ["serve", "B", "--name", "x y"]
    assert {item.name: is_open(item.value) for item in second.environment if item.name != "MODEL"} == {
        "A": False,
        "B": True,
    }


def test_kubernetes_manifests(tmp_path):
    text = """
apiVersion: v1
kind: Service
metadata: {name: s}
---
apiVersion: apps/v1
kind: Deployment
spec:
  template:
    spec:
      initContainers: [{name: i, command: [vllm, serve, NOT]}]
      containers:
        - name: engine
          image: vllm/vllm-openai:v0.16.0
          args: ["--model=$(MODEL)", "--port", "$(NOWHERE)"]
          env:
            - {name: MODEL, value: /m}
            - {name: TOKEN, valueFrom: {secretKeyRef: {name: a, key: b}}}
        - name: shell
          image: mine
          command: [/bin/sh, -c]
          args:
            - |
              set -e
              exec vllm serve B \\
                --port 2
"""
    first, second = _found(tmp_path, "k8s.yml", text).programs
    assert _words(first) == ["serve", "--model=/m", "--port", "$(NOWHERE)"]
    assert {item.name: is_open(item.value) for item in first.environment} == {"MODEL": False, "TOKEN": True}
    assert _words(second) == ["serve", "B", "--port", "2"]
    assert second.arguments[3].origin.line == 26


def test_a_file_of_vllms_own_flags(tmp_path):
    commands = _found(tmp_path, "serve.yaml", "model: M\nport: 8000\n")
    assert _words(commands.programs[0]) == ["serve", "--config", "serve.yaml"]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("x.sh", b"echo nothing of vllm\n"),
        ("x.sh", b"\xff\xfe\x00"),
        ("x.sh", b"a\0b"),
        ("x.yaml", b"a: [1, 2\nb: }"),
        ("x.yaml", b"{{ .Values.x }}: {{ y }}"),
        ("x.yaml", b"- 1\n- 2\n"),
        ("x.yaml", b""),
        ("x.yaml", b"a: &a [1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n" + b"".join(
            b"%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n" % (98 + i + 1, 98 + i + 1, *[98 + i] * 8) for i in range(9)
        )),
        ("x.yaml", b"a: &a\n  b: *a\n"),
        ("x.yaml", b"[" * 5000),
        ("x.yaml", b"!!python/object/apply:os.system ['true']"),
        ("x.yaml", b"? [1, 2]\n: 3\n"),
    ],
)  # fmt: skip
def test_files_that_are_no_launch_end_in_a_sentence(tmp_path, name, data):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(LaunchError) as caught:
        find_commands(LaunchRequest(file=name, folder=tmp_path))
    assert name in caught.value.message


def test_a_script_that_breaks_off_says_where(tmp_path):
    (tmp_path / "run.sh").write_text('set -e\nvllm serve "/models/m --port 8000\n')
    with pytest.raises(LaunchError) as caught:
        find_commands(LaunchRequest(file="run.sh", folder=tmp_path))
    assert "line 2: " in caught.value.message


@pytest.mark.parametrize("name", ["gone.sh", "folder", "loop.sh", "null\0byte"])
def test_files_that_are_not_there_end_in_a_sentence(tmp_path, name):
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop.sh").symlink_to("loop.sh")
    with pytest.raises(LaunchError):
        find_commands(LaunchRequest(file=name, folder=tmp_path))


def test_a_file_of_five_megabytes_is_not_read(tmp_path):
    (tmp_path / "x.sh").write_bytes(b"# x\n" * (5 << 18))
    with pytest.raises(LaunchError):
        find_commands(LaunchRequest(file="x.sh", folder=tmp_path))


_YAML_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(_YAML_VALUES)
def test_yaml_is_what_safe_load_makes_of_it(value):
    text = yaml.safe_dump(value)
    assert load_plain(text) == yaml.safe_load(text)


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="ab:-[]{}&*!|>'\"#%@,?\n \t~1.", max_size=40))
def test_yaml_is_refused_where_safe_load_refuses_it(text):
    try:
        expected = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError):
        with pytest.raises(DocumentError):
            load_plain(text)
        return
    except TypeError:  # a list or dict as a key
        expected = None
    try:
        assert load_plain(text) == expected
    except DocumentError:
        assert _has_odd_keys(text)


def _has_odd_keys(text: str) -> bool:
    """Keys that are no plain values are refused, though YAML has them."""
    return any(
        isinstance(node, yaml.MappingNode) and any(not isinstance(key, yaml.ScalarNode) for key, _ in node.value)
        for root in yaml.compose_all(text, Loader=yaml.SafeLoader)
        for node in _nodes(root)
    )


def _nodes(root):
    if root is not None:
        yield root
        for child in root.value if isinstance(root.value, list) else ():
            for one in child if isinstance(child, tuple) else (child,):
                yield from _nodes(one)


def test_values_know_their_lines():
    (document,) = read_documents("a:\n  - 1\n  - b: x\n")
    assert [key.line for key, _ in document.entries] == [1]
    assert document.get("a").items[1].get("b").line == 3
