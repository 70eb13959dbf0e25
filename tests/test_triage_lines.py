"""A line without its prefixes: whatever stood between the process and the file."""

from __future__ import annotations

import json

import pytest

from preflight.triage.line import LineReader, dull_lines, unpacked

ERROR = "ERROR 11-29 16:45:03 [core.py:1006] it failed"
FACTS = ("ERROR", "core.py:1006", "11-29 16:45:03", "it failed")


def facts(raw: str):
    line = LineReader().read(1, raw)
    return line.level, line.stream.place, line.time, line.text


@pytest.mark.parametrize(
    ("raw", "process", "pid", "source", "node"),
    [
        (ERROR, None, None, "", ""),
        (f"(EngineCore_DP0 pid=12) {ERROR}", "EngineCore_DP0", 12, "", ""),
        (f"(Worker_DP2_TP1_EP5 pid=7) {ERROR}", "Worker_DP2_TP1_EP5", 7, "", ""),
        (f"(VllmWorker rank=1 pid=7) {ERROR}", "VllmWorker rank=1", 7, "", ""),
        (
            f"(EngineCore_DP0 pid=1) (RayWorkerWrapper pid=9, ip=10.0.0.3) {ERROR}",
            "RayWorkerWrapper",
            9,
            "",
            "10.0.0.3",
        ),
        (
            f"\x1b[36m(RayWorkerProc pid=9, ip=10.0.0.3)\x1b[0m {ERROR} [repeated 6x across cluster]",
            "RayWorkerProc",
            9,
            "",
            "10.0.0.3",
        ),
        (f"\x1b[0;36m(APIServer pid=1)\x1b[0;0m {ERROR}", "APIServer", 1, "", ""),
        (f"^[[0;36m(APIServer pid=1)^[[0;0m {ERROR}", "APIServer", 1, "", ""),
        (f"vllm-1      | (APIServer pid=1) {ERROR}", "APIServer", 1, "vllm-1", ""),
        (f"2026-11-29T16:45:03.123456789Z stderr F (APIServer pid=1) {ERROR}", "APIServer", 1, "", ""),
        (f"[pod/vllm-0/server] (APIServer pid=1) {ERROR}", "APIServer", 1, "[pod/vllm-0/server]", ""),
        (f"Nov 29 16:45:03 gpu7 vllm[4242]: (APIServer pid=1) {ERROR}", "APIServer", 1, "gpu7 vllm", ""),
        (f"2026-11-29T16:45:03+0000 gpu7 vllm[4242]: (APIServer pid=1) {ERROR}", "APIServer", 1, "gpu7 vllm", ""),
        (f"[rank3]: {ERROR}", "rank3", None, "", "rank3"),
        (f"my-deployment {ERROR}", None, None, "", ""),
        (f"{ERROR}\r", None, None, "", ""),
    ],
)
def test_prefixes(raw: str, process: str | None, pid: int | None, source: str, node: str) -> None:
    line = LineReader().read(1, raw)
    assert (line.level, line.stream.place, line.time, line.text) == FACTS
    assert (line.process, line.stream.pid, line.source, line.stream.node) == (process, pid, source, node)


def test_prefixes_of_other_loggers() -> None:
    assert facts("INFO:     Application startup complete.") == ("INFO", None, None, "Application startup complete.")
    assert facts("ERROR 04-22 17:52:14 engine.py:366] it failed") == (
        "ERROR",
        "engine.py:366",
        "04-22 17:52:14",
        "it failed",
    )
    assert facts("E1129 16:43:14.726000 22914 torch/x.py:117] [0/0] it failed")[:2] == ("ERROR", "torch/x.py:117")
    assert facts("[rank1]:[E1129 10:45:12.5312 ProcessGroupNCCL.cpp:685] it failed")[:2] == (
        "ERROR",
        "ProcessGroupNCCL.cpp:685",
    )


@pytest.mark.parametrize("text", ['  File "x.py", line 1, in f', "    a | b", "x: int = 1", "(a, b) = c", "", "   "])
def test_indentation_and_code_stay(text: str) -> None:
    reader = LineReader()
    assert reader.read(1, text).text == text.rstrip()
    assert reader.read(1, f"(APIServer pid=1) {text}").text == text.rstrip()
    assert reader.read(2, f"(APIServer pid=1) {text}").text == text.rstrip()


def test_a_repeated_prefix_is_read_as_the_first_time() -> None:
    raws = [
        "(A pid=1) ERROR 11-29 16:45:03 [x.py:1] one",
        "(A pid=1) ERROR 11-29 16:45:03 [x.py:1]",
        "(A pid=1) ERROR 11-29 16:45:03 [x.py:1]   two",
        "(A pid=1) ERROR 11-29 16:45:04 [x.py:1] three",
        "(A pid=1)   four",
        "(A pid=1) five",
        "(A pid=1) ERROR 11-29 16:45:04 [x.py:1] six",
        "(B pid=1) five",
    ]
    together = LineReader()
    for number, raw in enumerate(raws):
        assert together.read(number, raw) == LineReader().read(number, raw)


def test_control_characters_do_not_reach_the_report() -> None:
    assert LineReader().read(1, "a\x00b\x1b]0;title\x07c\x7f\x1b[31md").text == "abcd"


def test_json_lines_are_unpacked() -> None:
    docker = json.dumps({"log": "one\ntwo\n", "stream": "stderr", "time": "2026-11-29T10:00:00Z"})
    assert unpacked(docker) == ["one", "two"]
    record = {
        "asctime": "2026-11-29 10:00:05,1",
        "levelname": "ERROR",
        "name": "vllm.x",
        "processName": "EngineCore",
        "process": 8,
    }
    ours = unpacked(json.dumps({**record, "message": "it failed", "exc_info": "Traceback\nX: y"}))
    line = LineReader().read(1, ours[0])
    assert (line.level, line.process, line.time, line.text) == ("ERROR", "EngineCore", "11-29 10:00:05", "it failed")
    assert [LineReader().read(1, raw).text for raw in ours[1:]] == ["Traceback", "X: y"]
    for other in ("{", "{}", '{"log": 1}', "{'a': 1}", '{"message": {}}', "[" * 100_000 + "}"):
        assert unpacked(other) == [other]
    assert unpacked('{"log": "\\ud800"}') == ["?"]


def test_dull_lines_are_whole_lines_of_mild_levels() -> None:
    dull = dull_lines("Starting|Application")
    run = (
        b"INFO 11-29 16:45:03 [x.py:1] a\n(A pid=1) INFO 11-29 16:45:03 [x.py:1] Error: b\nINFO:     10.0.0.7 - 200\n"
        b"vllm-1 | \x1b[0;36m(A pid=1)\x1b[0;0m \x1b[32mINFO\x1b[0m "
        b"\x1b[90m11-29 16:45:03\x1b[0m \x1b[90m[x.py:1]\x1b[0m c\n"
        b"2026-11-29T16:45:03Z stdout F (A pid=1) DEBUG 11-29 16:45:03 [x.py:1] d\n"
    )
    found = dull.match(run)
    assert found is not None and found.end() == len(run)
    for line in (
        b"ERROR 11-29 16:45:03 [x.py:1] INFO: a\n",
        b"INFO 11-29 16:45:03 [x.py:1] Starting\n",
        b"INFO:     Application startup complete.\n",
        b"INFO 11-29 16:45:03 [x.py:1] not ended",
        b"INFO 11-29 16:45:03 [x.py:1] a\rERROR\n",
        b"print('INFO 11-29 16:45:03 [x.py:1] a')\n",
    ):
        assert dull.match(line) is None
