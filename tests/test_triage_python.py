"""Tracebacks as this Python itself prints them, and any number of them mixed line by line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.triage_reading import answer, root

GROUP = """
def leaf():
    raise KeyError("leaf")
def other():
    raise OSError("other")
errors = []
for function in (leaf, other):
    try:
        function()
    except Exception as error:
        errors.append(error)
raise ExceptionGroup("many", [ExceptionGroup("inner", errors[:1]), errors[1]])
"""
SHAPES = {
    "plain": ("def f():\n    x = None\n    return x.y\nf()", "AttributeError", 3, []),
    "no message": ("def f():\n    assert 1 == 2\nf()", "AssertionError", 2, []),
    "cause": (
        "try:\n    {}['k']\nexcept KeyError as e:\n    raise ValueError('v') from e",
        "KeyError",
        2,
        ["ValueError"],
    ),
    "context": (
        "try:\n    1 / 0\nexcept ArithmeticError:\n    raise ValueError('v')",
        "ZeroDivisionError",
        2,
        ["ValueError"],
    ),
    "context hidden": (
        "try:\n    1 / 0\nexcept ArithmeticError:\n    raise ValueError('v') from None",
        "ValueError",
        4,
        [],
    ),
    "recursion": ("def f(n):\n    return f(n + 1)\nf(0)", "RecursionError", 2, []),
    "class in a module": ("import json\njson.loads('{')", "JSONDecodeError", 355, []),
    "class in a function": (
        "def f():\n    class Inner(Exception):\n        pass\n    raise Inner('i')\nf()",
        "Inner",
        4,
        [],
    ),
    "several lines": ("raise RuntimeError('first\\nsecond: third\\n\\nfourth')", "RuntimeError", 1, []),
    "notes": (
        "try:\n    raise ValueError('v')\nexcept ValueError as e:\n    e.__notes__ = ['a: note']\n    raise",
        "ValueError",
        2,
        [],
    ),
    "embedded": (
        "import subprocess, sys\nr = subprocess.run([sys.executable, '-c', 'import nope'], stderr=-1, text=True)\n"
        "raise RuntimeError(f'Error raised in subprocess:\\n{r.stderr}')",
        "ModuleNotFoundError",
        1,
        ["RuntimeError"],
    ),
    "syntax error": (
        "import pathlib, sys\npathlib.Path('broken.py').write_text('x = 1\\ny = (\\n')\n"
        "sys.path.insert(0, '.')\nimport broken",
        "SyntaxError",
        2,
        [],
    ),
    "process": (
        "import multiprocessing\ndef f():\n    {}['k']\n"
        "p = multiprocessing.get_context('fork').Process(target=f, name='Worker-1')\np.start()\np.join()",
        "KeyError",
        3,
        [],
    ),
}
if sys.version_info >= (3, 11):
    SHAPES["group"] = (GROUP, "KeyError", 3, ["ExceptionGroup", "OSError"])
HANDLED = {
    "thread": "import threading\nt = threading.Thread(target=lambda: 1 / 0)\nt.start()\nt.join()",
    "ignored": "class A:\n    def __del__(self):\n        raise ValueError('v')\na = A()\ndel a",
    "logging": "import logging\nlogging.error('%d', 'x')",
}


def printed(folder: Path, source: str) -> bytes:
    script = folder / "script.py"
    script.write_text(source)
    return subprocess.run(
        [sys.executable, str(script)], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ).stderr


@pytest.mark.parametrize(
    "prefix", ["", "(EngineCore_DP0 pid=7) ", "(E pid=7) ERROR 11-29 10:00:00 [core.py:1] ", "vllm-1  | "]
)
@pytest.mark.parametrize("shape", SHAPES)
def test_what_python_prints_is_understood(tmp_path: Path, shape: str, prefix: str) -> None:
    source, exception, line, followed = SHAPES[shape]
    log = b"".join(prefix.encode() + part + b"\n" for part in printed(tmp_path, source).splitlines())
    found = answer(log)
    cause = found["root_cause"]
    assert cause["exception"] == exception
    # The standard library's own lines differ from one Python to the next.
    assert cause["line"] == line or "/lib/python" in cause["path"]
    assert sorted(failure["exception"] for failure in found["cascade"]) == sorted(followed)
    if shape == "process":
        assert cause["process"] == (prefix[1:].split()[0] if prefix.startswith("(") else "Worker-1")
    if shape == "several lines":
        assert cause["message"] == "first"


@pytest.mark.parametrize("shape", HANDLED)
def test_what_python_went_on_after_is_no_cause(tmp_path: Path, shape: str) -> None:
    log = printed(tmp_path, HANDLED[shape])
    assert b"Traceback" in log
    assert answer(log)["root_cause"] is None


def test_a_crash_of_the_interpreter(tmp_path: Path) -> None:
    found = root(
        printed(tmp_path, "import faulthandler\nfaulthandler.enable()\ndef f():\n    faulthandler._sigsegv()\nf()")
    )
    assert (found["exception"], found["message"], found["line"]) == ("Fatal Python error", "Segmentation fault", 4)


def test_colours_inside_a_traceback() -> None:
    """As Python 3.13 prints it on a terminal."""
    lines = [
        "Traceback (most recent call last):",
        '  File \x1b[35m"/opt/site-packages/vllm/a.py"\x1b[0m, line \x1b[35m4\x1b[0m, in \x1b[35m<module>\x1b[0m',
        "    \x1b[31mf\x1b[0m\x1b[1;31m()\x1b[0m",
        "    \x1b[31m~\x1b[0m\x1b[1;31m^^\x1b[0m",
        '  File \x1b[35m"/opt/site-packages/vllm/b.py"\x1b[0m, line \x1b[35m7\x1b[0m, in \x1b[35mf\x1b[0m',
        "    return \x1b[1;31mx.y\x1b[0m",
        "\x1b[1;35mAttributeError\x1b[0m: \x1b[35m'NoneType' object has no attribute 'y'\x1b[0m",
    ]
    for escape in ("\x1b", "^["):
        found = root("\n".join(lines).replace("\x1b", escape).encode())
        assert (found["path"], found["line"], found["function"]) == ("vllm/b.py", 7, "f")
        assert (found["message"], found["code"]) == ("'NoneType' object has no attribute 'y'", "return x.y")


def traceback_of(worker: int, frames: int, place: str) -> list[str]:
    prefix = f"(Worker_TP{worker} pid={100 + worker}) {place}"
    lines = ["Traceback (most recent call last):"]
    for frame in range(frames):
        lines += [f'  File "/opt/site-packages/vllm/w{worker}.py", line {frame + 1}, in f', "    code()", "    ^^^^^^"]
    return [prefix + line for line in [*lines, f"ValueError: of worker {worker}"]]


@given(
    frames=st.lists(st.integers(1, 5), min_size=2, max_size=5),
    logged=st.booleans(),
    order=st.randoms(use_true_random=False),
)
@settings(max_examples=150, deadline=None)
def test_tracebacks_mixed_line_by_line_are_put_together_again(frames: list[int], logged: bool, order) -> None:
    place = "ERROR 11-29 10:00:00 [w.py:1] " if logged else ""
    streams = [traceback_of(worker, count, place) for worker, count in enumerate(frames)]
    left = [list(stream) for stream in streams]
    mixed: list[str] = []
    while any(left):
        mixed.append(order.choice([stream for stream in left if stream]).pop(0))
    found = answer("\n".join(mixed).encode())
    told = [found["root_cause"], *found["cascade"]]
    assert {(one["message"], one["path"], one["line"], one["process"]) for one in told} == {
        (f"of worker {worker}", f"vllm/w{worker}.py", count, f"Worker_TP{worker}")
        for worker, count in enumerate(frames)
    }
    first = next(line for line in mixed if "Traceback" in line)
    assert first.startswith(f"({found['root_cause']['process']} ")
