"""The target interpreter at work: in order, isolated from hostile files, and replaced by our own when it is none."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from preflight.syntax.compiler import Compiler, compile_all
from preflight.syntax.source import decode


def script(tmp_path: Path, text: str) -> Path:
    """An executable file that is no Python interpreter, but may act as one."""
    file = tmp_path / "python"
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return file


def test_outcomes_come_in_order_and_say_where() -> None:
    sources = [decode("a.py", b"x = 1\n"), decode("b.py", b"x = (\n"), decode("c.py", b"def f():\n    pass\n")]
    result = compile_all(sources, Path(sys.executable))
    assert [result.outcomes[path].ok for path in ("a.py", "b.py", "c.py")] == [True, False, True]
    error = result.outcomes["b.py"].error
    assert error is not None
    assert (error.type, error.stage, error.line, error.column) == ("SyntaxError", "parse", 1, 5)
    assert (result.interpreter.version, result.interpreter.stand_in) == (sys.version_info[:3], False)


def test_the_compiler_behind_the_grammar_is_told_apart() -> None:
    result = compile_all([decode("a.py", b"return 1\n")], Path(sys.executable))
    error = result.outcomes["a.py"].error
    assert error is not None
    assert (error.stage, error.line) == ("compile", 1)


def test_without_an_interpreter_our_own_stands_in() -> None:
    result = compile_all([decode("a.py", b"x = 1\n")], None)
    assert (result.outcomes["a.py"].ok, result.interpreter.stand_in, result.interpreter.problem) == (True, True, None)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("echo hello", "no Python interpreter"),
        ("exit 3", "no Python interpreter"),
        ("echo preflight 2 7 18", "Python 2.7"),
        ("echo preflight x y z", "no Python interpreter"),
    ],
)
def test_what_is_no_python_3_is_replaced(tmp_path: Path, text: str, word: str) -> None:
    result = compile_all([decode("a.py", b"x = 1\n")], script(tmp_path, text))
    assert (result.outcomes["a.py"].ok, result.interpreter.stand_in) == (True, True)
    assert word in (result.interpreter.problem or "")


def test_a_missing_or_unexecutable_interpreter_is_replaced(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("no program")
    for python in (tmp_path / "absent", plain, tmp_path):
        result = compile_all([decode("a.py", b"x = 1\n")], python)
        assert (result.outcomes["a.py"].ok, result.interpreter.stand_in) == (True, True)
        assert str(python) in (result.interpreter.problem or "")


def test_a_crash_is_the_fault_of_one_file_only(tmp_path: Path) -> None:
    # a stand-in that greets, dies by SIGSEGV on a file that says so, and accepts all others
    program = tmp_path / "fake.py"
    program.write_text(
        "import os, signal, sys\n"
        "print('preflight 3 12 0', flush=True)\n"
        "while head := sys.stdin.buffer.readline():\n"
        "    if b'die' in sys.stdin.buffer.read(int(head.split()[0])):\n"
        "        os.kill(os.getpid(), signal.SIGSEGV)\n"
        "    print('ok', flush=True)\n"
    )
    python = script(tmp_path, f'exec "{sys.executable}" "{program}"')
    with Compiler(python) as compiler:
        outcomes = compiler.compile([b"one", b"die", b"two", b"die", b"three"])
        assert [outcome.ok for outcome in outcomes] == [True, False, True, False, True]
        assert [outcome.crashed for outcome in outcomes] == [False, True, False, True, False]
        assert "SIGSEGV" in (outcomes[1].failure or "")


def test_a_file_without_an_end_is_given_up(tmp_path: Path) -> None:
    program = tmp_path / "fake.py"
    program.write_text(
        "import sys, time\n"
        "print('preflight 3 12 0', flush=True)\n"
        "while head := sys.stdin.buffer.readline():\n"
        "    if b'wait' in sys.stdin.buffer.read(int(head.split()[0])):\n"
        "        time.sleep(600)\n"
        "    print('ok', flush=True)\n"
    )
    python = script(tmp_path, f'exec "{sys.executable}" "{program}"')
    with Compiler(python, file_timeout=1.0) as compiler:
        outcomes = compiler.compile([b"one", b"wait", b"two"])
        assert [outcome.ok for outcome in outcomes] == [True, False, True]
        assert not outcomes[1].crashed
        assert outcomes[1].failure


def test_nothing_of_a_source_is_run(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    source = decode("a.py", f"open({str(mark)!r}, 'w').close()\n".encode())
    assert compile_all([source], Path(sys.executable)).outcomes["a.py"].ok
    assert not mark.exists()


def test_many_sources_do_not_block_the_pipes() -> None:
    # more than a pipe holds in either direction
    sources = [decode(f"{n}.py", b"x = (\n" + b"# filler\n" * 400) for n in range(600)]
    outcomes = compile_all(sources, Path(sys.executable)).outcomes
    assert len(outcomes) == 600
    assert not any(outcome.ok for outcome in outcomes.values())
