"""Shell scripts: the words that a program gets, held against bash itself, and what no script tells."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from preflight.launch.sources.found import Assignment
from preflight.launch.sources.shell import read_script
from preflight.launch.unresolved import is_open, marks_in
from preflight.launch.words import COMMAND_LINE

_BASH = shutil.which("bash") or "/bin/sh"
#: stands for the program in the script that bash runs: it prints its words, each behind a null byte's worth of rest
_PRELUDE = "vllm() { for w; do printf '%s\\036' \"$w\"; done; printf '\\035'; }\n"


def _by_bash(script: str, folder: Path) -> list[list[str]]:
    done = subprocess.run(
        [_BASH, "-c", _PRELUDE + script, "script", "first", "second one"],
        env={"PATH": "/usr/bin:/bin", "GIVEN": "from outside"},
        cwd=folder,
        capture_output=True,
        timeout=30,
    )
    output = done.stdout.decode()
    return [call.split("\036")[:-1] for call in output.split("\035")[:-1]]


def _by_us(script: str) -> list[list[str]]:
    read = read_script(
        script,
        "launch.sh",
        environment=(Assignment("GIVEN", "from outside", COMMAND_LINE),),
        arguments=("first", "second one"),
    )
    return [list(map(str, command.words[1:])) for command in read.commands if command.words[0] == "vllm"]


_SCRIPTS = {
    "continuation lines, quotes and comments": """
# a comment with 'quotes
vllm serve "a model" \\
   --port 80 \\
   --name 'it''s' --other "x\\"y \\$HOME `echo no`" # tail 'quote
vllm plain\\ word "" ''
""".replace("`echo no`", ""),
    "variables": """
MODEL=/models/x
PORT=${PORT:-8000}
NAME="two words"
EMPTY=
vllm serve $MODEL --port ${PORT} --name "$NAME" --bare $NAME $EMPTY "$EMPTY" ${UNSET-} x${MODEL}y"$NAME"z
MODEL+=/more
vllm $MODEL ${MODEL:+set} ${EMPTY:+set} ${EMPTY:-default words} "${EMPTY:-default words}" ${EMPTY-kept}
""",
    "arrays": """
ARGS=(--a 1 "b c"
  --d  # a comment
)
ARGS+=(--e "$GIVEN")
vllm serve "${ARGS[@]}" tail
vllm ${ARGS[@]}
EMPTY=()
vllm "${EMPTY[@]}" x
""",
    "here-documents": """
cat <<EOF > /dev/null
vllm not "this
EOF
cat <<-'END' > /dev/null
	vllm nor this
	END
vllm this
cat <<< "vllm not" > /dev/null
""",
    "redirections, pipes and the background": """
vllm a 2>&1 >/dev/stdout | cat
vllm b &> /dev/stdout
vllm c > /dev/stdout 2> /dev/null &
wait
(vllm d); { vllm e; }
! vllm f && true || vllm g
""",
    "arguments": 'vllm "$1" "$2" $2 "$@" "$#x"\nset -- other\nvllm "$@"\n'.replace(' "$#x"', ""),
    "special quotes": "vllm $'a\\tb\\'c' \"a\\\nb\" 'x\ny' -- --x=\"y z\" a=b\n",
    "assignments before a command stay with it": "A=2\nA=3 vllm $A\nexport B=4 C=5\nvllm $B$C\n",
    "conditions": "if true; then\n  vllm a\nfi\nfor i in 1; do vllm b; done\ncase x in x) vllm c;; esac\n",
    "tests": "[[ a == a ]] && vllm d\n[ -n x ] && vllm e\n",
    "functions": "start() {\n  vllm inside\n}\nstart\n",
    "lines joined inside a name": "MODEL=m\nvllm $MO\\\nDEL $\\\nMODEL\\\n.x\n",
    "unusual spacing": "vllm\ta   b;vllm c;;\n".replace(";;", ";") + "vllm d # x\n\n\n  vllm e\r\n".replace("\r", ""),
    "braces that are not expansions": 'vllm {a} {"k":1} \'{"k": [1, 2]}\' "{\\"k\\": 1}" }\n',
}


@pytest.mark.parametrize("name", _SCRIPTS)
def test_the_words_are_those_that_bash_gives(name: str, tmp_path: Path):
    assert _by_us(_SCRIPTS[name]) == _by_bash(_SCRIPTS[name], tmp_path)


_PIECES = st.sampled_from(
    [
        *("a", "b c", "$V", "${V}", '"$V"', '"x $W y"', "'$V'", "\\ ", "\\\n", '"${W:-d e}"', "${E:-f g}", "${A[@]}"),
        *('"${A[@]}"', '"${A[*]}"', "--x=", "1", '"\\""', "'{\"k\": 1}'", "$'t\\n'", "#", "=", '""', "$E", "'", '"'),
    ]
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    words=st.lists(st.lists(_PIECES, min_size=1, max_size=4).map("".join), max_size=5),
    v=st.sampled_from(("1", "p q", "")),
)
def test_any_command_has_the_words_that_bash_gives(words, v, tmp_path):
    script = f"V='{v}'\nW=\"w  z\"\nE=\nA=(1 '2 3' \"$V\")\nvllm {' '.join(words)}\n"
    read = read_script(script, "launch.sh")
    if read.doubts or any(is_open(word) for command in read.commands for word in command.words):
        return  # a quote that is never closed, or `$V` before a letter: another variable
    assert _by_us(script) == _by_bash(script, tmp_path)


def test_lines_are_those_of_the_words():
    script = '# one\nvllm serve \\\n  M \\\n  --port "8\n0" \\\n  --x\n'
    (command,) = read_script(script, "launch.sh").commands
    assert [(str(word), word.origin.line) for word in command.words] == [
        ("vllm", 2), ("serve", 2), ("M", 3), ("--port", 4), ("8\n0", 4), ("--x", 6),
    ]  # fmt: skip


def test_what_the_script_does_not_tell_is_marked():
    script = """
HOST=$(hostname)
for GPU in 0 1; do echo; done
if [ -n "$DEBUG" ]; then MODE=--slow; LEVEL=1; fi
LEVEL=2
[ -f x ] && TP=4
read ANSWER
vllm $HOST $GPU $MODE $LEVEL $TP $ANSWER ${NOWHERE} "$(date)" `id` $((1 + 2)) ${#HOST} "${X[@]}" "$HOME/x"
"""
    (command,) = [c for c in read_script(script, "s.sh").commands if c.words[0] == "vllm"]
    told = [str(word) for word in command.words[1:] if not is_open(word)]
    assert told == ["2"]
    marks = [mark for word in command.words for mark in marks_in(word)]
    assert len(marks) == 12
    assert "$(date)" in marks
    assert command.words[-1].endswith("/x")


def test_a_variable_that_a_condition_sets_to_what_it_was_is_known():
    script = 'TP=8\nif [ -z "$TP" ]; then TP=8; fi\nvllm $TP\n'
    assert _by_us(script) == [["8"]]


def test_the_environment_is_what_is_exported_and_what_stands_before_the_command():
    script = "A=1\nexport B=2 C\nC=3\nunset B\nD=4 vllm x\n"
    (command,) = [c for c in read_script(script, "s.sh").commands if c.words[0] == "vllm"]
    assert {item.name: item.value for item in command.environment if not is_open(item.value)} == {"D": "4"}


@pytest.mark.parametrize(
    "script", ["vllm 'open", 'vllm "open', "vllm $(open", "vllm `open", "A=${open", "x=(1 2\nvllm a"]
)
def test_a_script_that_never_closes_what_it_opens_is_said_to_be_unreadable(script: str):
    read = read_script(script, "s.sh")
    assert read.doubts or [c.words for c in read.commands] in ([], [("vllm", "a")])


def test_a_script_that_doubles_a_variable_ends():
    script = "A=xxxxxxxxxxxxxxxx\n" + "A=$A$A\n" * 40 + "vllm $A\n"
    assert read_script(script, "s.sh").doubts


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="ab \n\"'$`(){}[]<>|&;=\\#-+:?@*\t", max_size=60))
def test_no_text_breaks_the_reader(text):
    read = read_script(text, "s.sh")
    assert all(command.words for command in read.commands)


def test_what_a_script_sources_is_run_in_it(tmp_path: Path):
    (tmp_path / "inner.env").write_text("SIZE=4\n")
    (tmp_path / "extra.env").write_text('export VLLM_ONE=1\nEXTRA="--enforce-eager --dtype half"\n. ./inner.env\n')
    script = "source ./extra.env\nsource nowhere/activate\nset -a\nVLLM_TWO=2\nset +a\nTHREE=3\nvllm serve m $EXTRA -tp $SIZE\n"

    def text_of(name: str) -> str | None:
        file = tmp_path / name
        return file.read_text() if file.is_file() else None

    read = read_script(script, "s.sh", sourced=text_of)
    (command,) = read.commands
    assert [list(command.words)[1:]] == _by_bash(script, tmp_path)
    assert {item.name: item.value for item in command.environment} == {"VLLM_ONE": "1", "VLLM_TWO": "2"}
    assert read.doubts == []
    (bare,) = read_script(script, "s.sh").commands
    assert is_open(bare.words[3])


def test_arguments_that_are_set_are_no_options_of_the_shell(tmp_path: Path):
    script = 'set -- serve m -a\nONE=1\nvllm "$@"\n'
    (command,) = read_script(script, "s.sh").commands
    assert [list(command.words)[1:]] == _by_bash(script, tmp_path)
    assert command.environment == ()


def test_a_file_that_sources_itself_ends():
    (command,) = read_script("source me\nvllm serve m\n", "me", sourced=lambda name: "source me\nX=1\n").commands
    assert list(command.words) == ["vllm", "serve", "m"]


def test_what_is_sourced_under_a_condition_stays_open():
    script = "if [ -f x ]; then . ./x; fi\nvllm serve m $EXTRA\n"
    (command,) = [
        one
        for one in read_script(script, "s.sh", sourced=lambda name: "EXTRA=-O0\n").commands
        if one.words[0] == "vllm"
    ]
    assert is_open(command.words[3])
