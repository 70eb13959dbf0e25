"""Shell scripts: the words that a program gets, held against bash itself, and what no script tells."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from preflight.launch.sources.found import Assignment, FoundCommand
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


def _commands(script: str) -> list[FoundCommand]:
    read = read_script(
        script,
        "launch.sh",
        environment=(Assignment("GIVEN", "from outside", COMMAND_LINE),),
        arguments=("first", "second one"),
    )
    assert read.doubts == []
    return [command for command in read.commands if command.words[0] == "vllm"]


def _by_us(script: str) -> list[list[str]]:
    return [list(map(str, command.words[1:])) for command in _commands(script)]


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


_VALUES = st.sampled_from(("", "x", "1", "'p q'", '"$B"', "$A", '"${C:-d}"', '"${A}y"', "fp8", '"$GIVEN"'))
_KNOWN = st.sampled_from(
    [
        *('-n "$A"', '-z "$B"', '"$A" = x', '"$A" != "$B"', '"${C:-1}" == 1', "$G", "-n $G", "-n $Z", "$Z = x", ""),
        *('"$G" -gt 2', '"x$A" = "xx"', '"$A"', '! -z "$C"', '"$D" = "$A"', '"$1" = first', "-n = -n", '! "$A" = x'),
    ]
)
_DOUBLE = st.sampled_from(
    [
        *(
            "-n $A",
            "-z $B",
            "$A == x",
            "$A != $B",
            "$A = f* || $B == ?",
            '$A == "f*"',
            "! $A && -n $B",
            "$A",
            "$A == $B",
        ),
        *("( $A == x || -z $B ) && -n $C", "$G -eq 3", "$G -ge 4", "$GIVEN == *outside", "$A == *\n"),
    ]
)
_OPEN = st.sampled_from(
    [
        *("[ -e nowhere ]", '[ -n "$(printf a)" ]', "[[ -d / ]]", "grep -q x /dev/null", '[ "$D" = "$HOME" ]'),
        *(
            "[[ $A =~ x ]]",
            "[ -n x ] | cat",
            '[ "$A" = x -o -z "$A" ]',
            "[[ -v A ]]",
            "[ -n $A ]",
            "[ $A = x ]",
            "[ $A ]",
            '[ "${#}" = 2 ]',
            '[ "$B" -gt 0 ]',
            "(( 1 ))",
            '[ "$N" = 1 ]',
        ),
    ]
)


def _conditions(open_too: bool) -> st.SearchStrategy[str]:
    tests = st.one_of(
        _KNOWN.map(lambda inner: f"[ {inner} ]"),
        _KNOWN.map(lambda inner: f"test {inner}"),
        _DOUBLE.map(lambda inner: f"[[ {inner} ]]"),
        st.sampled_from(("true", "false", ":")),
        *([_OPEN] if open_too else []),
    )
    signed = st.tuples(st.sampled_from(("", "", "! ")), tests).map("".join)
    return st.lists(signed, min_size=1, max_size=3).flatmap(
        lambda parts: st.lists(
            st.sampled_from((" && ", " || ", " &&\n")), min_size=len(parts) - 1, max_size=len(parts) - 1
        ).map(lambda signs: "".join(a + b for a, b in zip(parts, [*signs, ""], strict=True)))
    )


def _statements(open_too: bool) -> st.SearchStrategy[str]:
    name = st.sampled_from("ABCD")
    plain = st.one_of(
        st.tuples(st.sampled_from(("", "export ")), name, st.sampled_from(("=", "+=")), _VALUES).map("".join),
        st.sampled_from(
            [
                *(
                    "vllm $A",
                    'vllm "$A" "$B"',
                    'vllm "${ARGS[@]}"',
                    "vllm x$C ${D:+d}",
                    'ARGS+=(--flag "$A")',
                    "ARGS=(if)",
                ),
                *(': "${D:=--d}"', "A=x B=y", "A=2 vllm $A"),
            ]
        ),
        *(
            [
                st.sampled_from(
                    [
                        *('read -r A <<< "q"', "N=$((1))", "N=0; ((N++))", "eval 'E=x'", "(A=x)", "B=$(printf 1)"),
                        *(
                            "shift",
                            "set -- x",
                            "unset B",
                            "printf -v A z",
                            "f() { B=1; }; f",
                        ),
                        *("for A in 1 x; do vllm $A; done", "case $A in x) B=1;; *) vllm case;; esac"),
                    ]
                )
            ]
            if open_too
            else []
        ),
    )
    condition = _conditions(open_too)

    def deeper(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        body = st.lists(inner, min_size=1, max_size=3).map("\n".join)
        cases = [
            st.tuples(condition, body).map(lambda p: f"if {p[0]}; then\n{p[1]}\nfi"),
            st.tuples(condition, body, body).map(lambda p: f"if {p[0]}\nthen {p[1]}\nelse {p[2]}\nfi"),
            st.tuples(condition, body, condition, body, body).map(
                lambda p: f"if {p[0]}; then\n{p[1]}\nelif {p[2]}; then\n{p[3]}\nelse\n{p[4]}\nfi"
            ),
            st.tuples(condition, st.sampled_from((" && ", " || ")), plain).map("".join),
            st.tuples(condition, st.sampled_from(("&&", "||")), body).map(lambda p: f"{p[0]} {p[1]} {{ {p[2]}\n}}"),
        ]
        if open_too:
            cases += [
                body.map(lambda text: text.replace("vllm", ":")).map(lambda text: f"for R in 1 2; do\n{text}\ndone"),
                body.map(lambda text: f"g() {{\n{text}\n}}\ng second"),
                body.map(lambda text: f"(\n{text}\n)"),
                st.tuples(body, body).map(lambda p: f"case $A in x) {p[0]}\n;; *) {p[1]}\n;; esac"),
            ]
        return st.one_of(cases)

    return st.recursive(plain, deeper, max_leaves=8)


def _scripts(open_too: bool) -> st.SearchStrategy[str]:
    start = "G=3\nZ=\nA=x\nB=\nC=fp8\nD=1\nARGS=(--a)\n"
    tail = '\nvllm $A "$B" ${C} "$D" "${ARGS[@]}"\n'
    return st.lists(_statements(open_too), min_size=1, max_size=5).map(lambda parts: start + "\n".join(parts) + tail)


_RANDOM = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@_RANDOM
@given(script=_scripts(open_too=False))
def test_conditions_of_known_words_are_decided_as_bash_does(script: str, tmp_path: Path):
    commands = _commands(script)
    assert all(command.conditional is None for command in commands)
    assert [list(map(str, command.words[1:])) for command in commands] == _by_bash(script, tmp_path)


@_RANDOM
@given(script=_scripts(open_too=True))
def test_what_bash_runs_is_among_what_is_read(script: str, tmp_path: Path):
    """Whatever is not known: a command under no condition is run with these words, where they are known."""
    commands = _commands(script)
    assert _fits(commands, _by_bash(script, tmp_path))


def _fits(read: list[FoundCommand], ran: list[list[str]]) -> bool:
    """Whether the commands that ran are the ones that were read, leaving out some that stand under a condition, and
    running some again that stand in a loop."""
    at = {0}
    for words in ran:
        behind: set[int] = set()
        for start in at:
            for number in range(len(read)):
                known = [str(word) for word in read[number].words[1:]]
                again = number < start and read[number].conditional is not None
                skipped = all(one.conditional is not None for one in read[start:number])
                if (again or (number >= start and skipped)) and (any(map(is_open, known)) or known == words):
                    behind.add(number + 1)
        at = behind
    return any(all(one.conditional is not None for one in read[start:]) for start in at)


def test_lines_are_those_of_the_words():
    script = '# one\nvllm serve \\\n  M \\\n  --port "8\n0" \\\n  --x\n'
    (command,) = read_script(script, "launch.sh").commands
    assert [(str(word), word.origin.line) for word in command.words] == [
        ("vllm", 2), ("serve", 2), ("M", 3), ("--port", 4), ("8\n0", 4), ("--x", 6),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ('X=1\nARGS="serve m"\nif [ -n "$X" ]; then ARGS+=" --flag"; fi\nvllm $ARGS\n', ["serve", "m", "--flag"]),
        ('X=${X:-}\nARGS="serve m"\nif [ -n "$X" ]; then ARGS+=" --flag"; fi\nvllm $ARGS\n', ["serve", "m"]),
        ('MODE=${MODE:-fast}\n[[ $MODE == f* ]] && A=--fast || A=--slow\nvllm serve m $A\n', ["serve", "m", "--fast"]),
        # who calls it tells: what stands under it stays open
        ('ARGS="serve m"\nif [ -n "$X" ]; then ARGS+=" --flag"; fi\nvllm $ARGS\n', None),
        ('X=$(date)\nif [ "$X" = 1 ]; then A=--flag; fi\nvllm $A\n', None),
        ("X=1\n. ./nowhere.env\nif [ $X = 1 ]; then A=--flag; fi\nvllm $A\n", None),
        ("f() { X=1; }\nif [ -n \"$X\" ]; then A=--flag; fi\nvllm $A\n", None),
        # a shell that may not know the tests of bash
        ("#!/bin/sh\nX=1\nif [[ $X == 1 ]]; then A=--flag; fi\nvllm $A\n", None),
        ("#!/bin/sh\nX=1\nif [ $X = 1 ]; then A=--flag; fi\nvllm $A\n", ["--flag"]),
    ],
)  # fmt: skip
def test_a_condition_decides_where_its_words_are_known(script: str, words: list[str] | None):
    (command,) = [c for c in read_script(script, "s.sh").commands if c.words[0] == "vllm"]
    assert (list(command.words[1:]) == words) if words is not None else is_open(command.words[1])


@pytest.mark.parametrize("text", ["if ", "if [ a ]; then ", "( ", "f() ", "[ a ] && { ", "! ", "{ ", "case x in "])
def test_what_is_nested_without_an_end_is_read(text: str):
    read_script(text * 20_000 + "\nvllm serve m\n", "s.sh")


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
