"""Any bytes whatsoever give an answer, which is sound JSON and shows no control characters."""

from __future__ import annotations

import json

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from preflight.triage.source import REFUSED
from tests.triage_reading import LOGS, triage

#: Pieces of logs: what the reader looks for, in any order.
PIECES = [
    "(Worker_TP0 pid=1) ",
    "(EngineCore_DP0 pid=2) ",
    "(APIServer pid=3) ",
    "ERROR 11-29 10:00:00 [core.py:1] ",
    "INFO:     ",
    "vllm-1 | ",
    "[rank0]: ",
    "{",
    '"log": "',
    '"}',
    "Traceback (most recent call last):",
    '  File "/x/vllm/a.py", line 3, in f',
    '  File "b.py", line 4',
    "    code",
    "    ^^^^",
    "ValueError: bad",
    "AssertionError",
    "RuntimeError: Error raised in subprocess:",
    "  + Exception Group Traceback (most recent call last):",
    "  +-+---------------- 1 ----------------",
    "    +----------------------",
    "  | ",
    "    | ",
    "ExceptionGroup: g (2 sub-exceptions)",
    "The above exception was the direct cause of the following exception:",
    "During handling of the above exception, another exception occurred:",
    "Process EngineCore_DP0:",
    "pydantic_core._pydantic_core.ValidationError: 1 validation error for X",
    "  Value error, no [type=value_error, input_value=1]",
    "Loading safetensors checkpoint shards:  83% Completed | 5/6 [00:10<00:02, 2s/it]",
    "vLLM API server version 0.16.0",
    "non-default args: {'model': 'm'}",
    "vllm serve: error: unrecognized arguments: --x",
    "Application startup complete.",
    "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {'E': -9}",
    "Fatal Python error: Segmentation fault",
    "Current thread 0x00 (most recent call first):",
    "terminate called after throwing an instance of 'X'",
    "  what():  w",
    "exit code 137",
    "Killed",
    "\r",
    "\n",
    "\n",
    "\n",
    "\x1b[0m",
    "^[[31m",
    "é",
    "\ud7ff",
    "-" * 90,
    "# preflight launch: vllm serve m",
]

LOG = st.lists(st.sampled_from(PIECES), max_size=80).map(lambda pieces: "".join(pieces).encode())


def check(data: bytes) -> None:
    code, text = triage(data, "--output-format", "json")
    found = json.loads(text)
    assert text.isascii()
    assert code == (found["root_cause"] is not None)
    _, report = triage(data)
    assert report.endswith("\n") and all(char.isprintable() or char == "\n" for char in report)
    last = report.splitlines()[-1]
    assert last.endswith(".")


@given(LOG)
@settings(max_examples=300, deadline=None)
def test_any_order_of_pieces_gives_an_answer(data: bytes) -> None:
    check(data)


@given(st.binary(max_size=400))
@example(b"\n")
@example(b"\xff\xfe\x00")
@example(b"\xfe\xff")
@example(b"\x1f\x8b\x08")
@settings(max_examples=150, deadline=None)
def test_any_bytes_give_an_answer(data: bytes) -> None:
    assume(not data.startswith(tuple(REFUSED)))  # compressed in a way that is named, with the way out
    check(data)


@given(st.sampled_from(sorted(LOGS.glob("*.log"))), st.integers(0, 10**6), st.integers(0, 10**6), st.binary(max_size=6))
@settings(max_examples=150, deadline=None)
def test_a_damaged_log_gives_an_answer(path, start: int, length: int, junk: bytes) -> None:
    data = path.read_bytes()
    at = start % (len(data) + 1)
    check(data[:at] + junk + data[at + length % 2000 :])
