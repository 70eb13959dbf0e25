"""Single shapes: chains, groups, embedded and cut tracebacks, signs of an end, launches, stages."""

from __future__ import annotations

import pytest

from tests.triage_reading import answer, lines, root

HEAD = "Traceback (most recent call last):"
TREE = '  File "/opt/site-packages/vllm/a.py", line {0}, in f{0}'
CHAIN = "The above exception was the direct cause of the following exception:"
HANDLING = "During handling of the above exception, another exception occurred:"
VERSION = "(APIServer pid=1) INFO 11-29 10:00:00 [api_server.py:1] vLLM API server version 0.16.0"
DIED = "(E pid=1) ERROR 11-29 10:00:03 [m.py:1] Worker proc W-1 died unexpectedly"
UP = "(APIServer pid=1) INFO:     Application startup complete."


def raised(text: str, line: int = 1, process: str = "") -> list[str]:
    return [f"{process}{part}" for part in (HEAD, TREE.format(line), "    code()", text)]


def logged(
    text: str, line: int = 1, head: str = "EngineCore failed to start.", level: str = "ERROR", place: str = "core.py:1"
) -> list[str]:
    prefix = f"(EngineCore_DP0 pid=2) {level} 11-29 10:00:01 [{place}] "
    return [prefix + part for part in (head, *raised(text, line))]


def test_a_chain_of_three_ends_at_its_beginning() -> None:
    log = lines(
        *raised("OSError: first", 1),
        "",
        CHAIN,
        "",
        *raised("KeyError: 2", 2),
        "",
        HANDLING,
        "",
        *raised("ValueError: 3", 3),
    )
    found = answer(log)
    assert (found["root_cause"]["message"], found["root_cause"]["line"]) == ("first", 1)
    assert [failure["exception"] for failure in found["cascade"]] == ["KeyError", "ValueError"]


def test_what_steers_the_flow_is_no_cause() -> None:
    log = lines(*raised("queue.Empty", 1), "", HANDLING, "", *raised("TimeoutError: no answer", 2))
    assert root(log)["exception"] == "TimeoutError"


def test_a_traceback_in_a_message_goes_before_what_was_handled() -> None:
    log = lines(
        *raised("OSError: handled", 1),
        "",
        CHAIN,
        "",
        *raised("RuntimeError: the child said:", 2),
        *raised("NameError: x", 3),
    )
    assert root(log)["exception"] == "NameError"


def test_an_exception_line_in_a_message() -> None:
    found = root(
        lines(
            *raised("RuntimeError: the child said:", 2), "ImportError: cannot import name 'A' from 'vllm.b' (/x/b.py)"
        )
    )
    assert found["exception"] == "ImportError"


def test_a_syntax_error_that_was_printed_without_a_traceback() -> None:
    found = root(
        lines(
            '  File "/opt/site-packages/vllm/b.py", line 7',
            "    x = (",
            "        ^",
            "SyntaxError: '(' was never closed",
        )
    )
    assert (found["exception"], found["path"], found["line"]) == ("SyntaxError", "vllm/b.py", 7)
    assert found["code"] == "x = ("


def test_the_innermost_frame_in_vllm_is_the_place_and_the_true_one_is_told() -> None:
    log = lines(
        HEAD,
        TREE.format(4),
        "    call()",
        '  File "/opt/site-packages/torch/nn/m.py", line 9, in g',
        "RuntimeError: shapes",
    )
    found = root(log)
    assert (found["path"], found["line"], found["function"], found["code"]) == ("vllm/a.py", 4, "f4", "call()")
    assert found["innermost"] == {"path": "torch/nn/m.py", "line": 9}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/opt/venv/lib/python3.12/site-packages/vllm/v1/x.py", "vllm/v1/x.py"),
        ("/usr/local/lib/python3.12/dist-packages/vllm/v1/x.py", "vllm/v1/x.py"),
        ("/workspace/vllm/vllm/v1/x.py", "vllm/v1/x.py"),
        ("/home/me/vllm/lib/python3.12/site-packages/transformers/x.py", "transformers/x.py"),
        ("C:\\venv\\Lib\\site-packages\\vllm\\v1\\x.py", "vllm/v1/x.py"),
        ("/home/me/patches/serve.py", "/home/me/patches/serve.py"),
        ("vllm/v1/x.py", "vllm/v1/x.py"),
        ("uvloop/loop.pyx", "uvloop/loop.pyx"),
    ],
)
def test_paths_are_those_of_the_tree(path: str, expected: str) -> None:
    assert root(lines(HEAD, f'  File "{path}", line 3, in f', "    x", "ValueError: v"))["path"] == expected


def test_the_same_exception_of_many_workers_is_told_once() -> None:
    log = lines(
        VERSION,
        *(line for worker in range(8) for line in raised("RuntimeError: no", 1, f"(Worker_TP{worker} pid={worker}) ")),
    )
    found = answer(log)
    assert found["root_cause"]["process"] == "Worker_TP0"
    assert found["root_cause"]["processes"] == [f"Worker_TP{worker}" for worker in range(8)]
    assert found["cascade"] == []


def test_an_exception_without_a_message_has_none() -> None:
    found = root(lines(*raised("AssertionError"), "something else that was printed"))
    assert (found["exception"], found["message"]) == ("AssertionError", "")


def test_a_message_that_begins_on_the_next_line() -> None:
    assert root(lines(*raised("RuntimeError: "), "what it is about"))["message"] == "what it is about"


@pytest.mark.parametrize("level", ["INFO", "WARNING", "DEBUG"])
def test_an_exception_that_was_logged_mildly_was_handled(level: str) -> None:
    found = answer(lines(VERSION, *logged("ValueError: v", level=level, head="went on without it")))
    assert found["root_cause"] is None


def test_a_logged_error_after_which_the_launch_went_on_is_no_cause() -> None:
    error = logged("ValueError: optional", head="could not do something optional", place="x.py:1")
    on = "(EngineCore_DP0 pid=2) INFO 11-29 10:00:02 [core.py:97] Initializing a V1 LLM engine (v0.16.0) with config: x"
    found = answer(lines(VERSION, *error, on))
    assert found["root_cause"] is None
    assert [failure["exception"] for failure in found["survived"]] == ["ValueError"]
    assert root(lines(VERSION, *error))["exception"] == "ValueError"


def test_an_error_that_was_taken_for_survived_is_told_when_only_echoes_are_left() -> None:
    worker = "(Worker_TP1 pid=3) ERROR 11-29 10:00:01 [somewhere.py:1] "
    error = [worker + part for part in ("Could not do it", *raised("ValueError: v"))]
    other = "(Worker_TP0 pid=2) INFO 11-29 10:00:02 [g.py:1] Starting to load model m..."
    echo = raised("RuntimeError: Engine core initialization failed. See root cause above.", 9, "(APIServer pid=1) ")
    found = answer(lines(VERSION, *error, other, *echo))
    assert (found["root_cause"]["exception"], found["root_cause"]["process"]) == ("ValueError", "Worker_TP1")
    assert [failure["exception"] for failure in found["cascade"]] == ["RuntimeError"]


def test_a_certain_failure_goes_before_an_earlier_logged_error() -> None:
    error = logged("ValueError: optional", head="could not do something optional", place="x.py:1")
    assert root(lines(VERSION, *error, *raised("KeyError: 'k'", 2, "(APIServer pid=1) ")))["exception"] == "KeyError"


def test_the_same_exception_after_it_was_survived_counts_anew() -> None:
    log = lines(
        VERSION, *logged("ValueError: v"), UP, *logged("ValueError: v", head="EngineCore encountered a fatal error.")
    )
    found = answer(log)
    assert found["stage"] == "serving"
    assert found["root_cause"]["log_line"] == 12


def test_noise_is_told_as_the_cause_when_nothing_else_is_left() -> None:
    noise = logged("OSError: hub", head="Error retrieving files", place="repo_utils.py:47")
    assert root(lines(VERSION, *noise))["noise"] is True
    assert answer(lines(VERSION, *noise, UP))["root_cause"] is None
    assert root(lines(VERSION, *noise, *raised("KeyError: 'k'")))["exception"] == "KeyError"


def test_a_word_of_noise_in_a_real_error_does_not_hide_it() -> None:
    assert root(lines(VERSION, *raised("ValueError: the flag is deprecated")))["message"] == "the flag is deprecated"


def test_an_error_line_at_the_end_is_better_than_nothing() -> None:
    log = lines(VERSION, "(APIServer pid=1) ERROR 11-29 10:00:03 [x.py:1] The adapter is missing")
    found = root(log)
    assert (found["exception"], found["message"]) == (None, "The adapter is missing")
    assert (
        answer(log + lines("(EngineCore pid=2) INFO 11-29 10:00:04 [g.py:1] Starting to load model m..."))["root_cause"]
        is None
    )


@pytest.mark.parametrize(
    ("line", "exception"),
    [
        ("Killed", "Killed"),
        ("[1]+  4242 Killed                  vllm serve m", "Killed"),
        ("[12345.6] Out of memory: Killed process 4242 (python3) total-vm:1kB", "Killed"),
        ("Reason: OOMKilled", "Killed"),
        ("Nov 29 10:00:00 gpu7 systemd[1]: vllm.service: Main process exited, code=killed, status=9/KILL", "Killed"),
        ("Nov 29 10:00:00 gpu7 systemd[1]: vllm.service: Failed with result 'oom-kill'.", "Killed"),
        ("vllm.service: A process of this unit has been killed by the OOM killer.", "Killed"),
        ("vllm.service: Main process exited, code=dumped, status=11/SEGV", "Aborted"),
        ("vllm-1 exited with code 137", "Killed"),
        ("Exited (137) 3 minutes ago", "Killed"),
        ('{"exitCode":137}', "Killed"),
        ("Process 7 terminated by signal 9", "Killed"),
        ("exited on signal 9 (SIGKILL)", "Killed"),
        ("Signal 9 (SIGKILL) received by PID 4300", "Killed"),
        (f"{DIED} (exit code: -9), shutting down executor.", "Killed"),
        (f"{DIED} (exit code: -11), shutting down executor.", "Segmentation fault"),
        ("run.sh: line 3: 99 Segmentation fault      (core dumped) vllm serve m", "Segmentation fault"),
        ("exit status 139", "Segmentation fault"),
        ("Aborted (core dumped)", "Aborted"),
        ("Bus error (core dumped)", "Bus error"),
        ("Received signal 15, bye", "Terminated"),
        (
            "ERROR:    [Errno 98] error while attempting to bind on address ('0.0.0.0', 80): address already in use",
            "OSError",
        ),
        ("bash: vllm: command not found", "Command not found"),
    ],
)
def test_lines_that_tell_of_an_end(line: str, exception: str) -> None:
    assert root(lines(VERSION, line))["exception"] == exception


@pytest.mark.parametrize(
    "line",
    [
        "throughput: 137 tokens/s",
        "listening on port 137",
        "exit code 0",
        '"OOMKilled": false',
        "10.1.2.137",
        "Killed time",
        "no signal lost",
        "x not found",
    ],
)
def test_lines_that_tell_of_none(line: str) -> None:
    assert answer(lines(VERSION, line))["root_cause"] is None


def test_a_process_that_said_why_goes_before_the_sign_that_it_is_gone() -> None:
    log = lines(VERSION, *logged("KeyError: 'k'"), "vllm-1 exited with code 137")
    assert root(log)["exception"] == "KeyError"


def test_what_was_killed_goes_before_what_its_peers_say() -> None:
    peer = logged(
        "torch.distributed.DistBackendError: NCCL error: Connection closed by peer", head="WorkerProc hit an exception."
    )
    assert root(lines(VERSION, *peer, "kernel: Out of memory: Killed process 7 (W)"))["exception"] == "Killed"


def test_a_server_that_was_told_to_end_has_not_failed() -> None:
    stop = "(APIServer pid=1) INFO:     Shutting down"
    log = lines(
        VERSION,
        UP,
        stop,
        *raised("asyncio.exceptions.CancelledError"),
        *raised("KeyError: 1"),
        "Received signal 15",
        "exit code 137",
    )
    found = answer(log)
    assert (found["root_cause"], found["state"]) == (None, "stopped")


def test_a_client_in_another_container_is_not_the_launch() -> None:
    client = [
        f"app-1  | {line}"
        for line in (HEAD, '  File "/srv/app.py", line 1, in main', "ConnectionRefusedError: [Errno 111]")
    ]
    log = lines(f"vllm-1  | {VERSION}", *client)
    assert answer(log)["root_cause"] is None
    assert answer(lines(*client, f"vllm-1  | {VERSION}", f"vllm-1  | {UP}"))["root_cause"] is None
    vllm = [f"vllm-1  | {line}" for line in raised("KeyError: 'k'", 1, "(APIServer pid=1) ")]
    assert root(log + lines(*vllm))["exception"] == "KeyError"


def test_launches_of_two_containers_are_two() -> None:
    log = lines(*(f"vllm-{number}  | {line}" for line in (VERSION, UP) for number in (1, 2)))
    found = answer(log)
    assert (found["launches"], found["state"]) == (2, "serving")


def test_a_restart_of_the_same_container_is_another_launch() -> None:
    args = "(APIServer pid=1) INFO 11-29 10:00:00 [utils.py:1] non-default args: {'model': 'm'}"
    assert answer(lines(VERSION, args, VERSION, args, UP))["launches"] == 2


def test_an_import_that_fails_before_the_banner_is_a_launch_of_its_own() -> None:
    found = answer(lines(*raised("ImportError: cannot import name 'A' from 'vllm.b' (/x/b.py)"), VERSION, UP))
    assert (found["launches"], found["launch"], found["later"], found["stage"]) == (2, 1, "serving", "imports")


def test_very_many_launches_are_counted_and_the_last_that_failed_is_told() -> None:
    log = b"".join(lines(VERSION, *raised(f"KeyError: {number}", 1, "(APIServer pid=1) ")) for number in range(40))
    found = answer(log + lines(VERSION, UP))
    assert (found["launches"], found["launch"], found["later"]) == (41, 40, "serving")
    assert found["root_cause"]["message"] == "39"
    assert found["earlier"][-1]["message"] == "38"


@pytest.mark.parametrize(
    ("functions", "stage"),
    [
        (["create_engine_config", "create_model_config"], "engine config"),
        (["create_engine_config", "_run_in_subprocess"], "engine config (model inspection)"),
        (["run_engine_core", "init_device"], "worker start"),
        (["run_engine_core", "load_model", "initialize_model", "__init__"], "model construction"),
        (["run_engine_core", "load_model", "load_weights"], "loading weights"),
        (["worker_busy_loop", "determine_available_memory", "profile_run", "forward"], "profiling"),
        (["worker_busy_loop", "compile_or_warm_up_model", "capture_model"], "warm-up"),
        (["run_engine_core"], "engine start"),
        (["main"], "imports"),
    ],
)
def test_stages_out_of_frames(functions: list[str], stage: str) -> None:
    frames = [f'  File "/opt/site-packages/vllm/a.py", line 1, in {name}' for name in functions]
    assert answer(lines(HEAD, *frames, "ValueError: v"))["stage"] == stage


def test_progress_of_the_weights_and_of_the_drafter() -> None:
    bar = "Loading safetensors checkpoint shards:  {0}% Completed | {0}/100 [25:{0}<05:00, 1.0s/it]"
    found = answer(lines(VERSION, bar.format(50), bar.format(83)))
    assert found["stage"] == "loading weights (83 %, 25:83)"
    assert found["progress"] == {"percent": 83, "done": 83, "total": 100, "elapsed": "25:83", "log_line": 3}
    drafter = "(Worker pid=1) INFO 11-29 10:30:00 [gpu_model_runner.py:1] Loading drafter model..."
    assert (
        answer(lines(VERSION, bar.format(99), drafter, bar.format(10)))["stage"]
        == "loading weights (10 %, 25:10, drafter)"
    )


def test_the_stacks_of_other_threads_are_no_exceptions() -> None:
    stack = ["Current thread 0x01 (most recent call first):", '  File "/opt/site-packages/vllm/a.py", line 3 in f', ""]
    other = [
        "Thread 0x02 (most recent call first):",
        '  File "/usr/lib/threading.py", line 359 in wait',
        "",
        "Extension modules: x",
    ]
    found = answer(lines("Fatal Python error: Aborted", "", *stack, *other, "Killed time"))
    assert (found["root_cause"]["path"], found["root_cause"]["line"]) == ("vllm/a.py", 3)
    assert found["cascade"] == []
