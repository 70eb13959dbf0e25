"""`preflight launch` with a real process that behaves like a server: it serves, dies, hangs, is killed."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

SERVER = Path(__file__).parent / "launch_server.py"
#: The command line's part, without the gate: what is behind `--` is run.
DRIVER = """
import argparse, os, sys
from preflight.rulebook import load_rulebook
from preflight.supervise.command import add_arguments, run
parser = argparse.ArgumentParser()
add_arguments(parser)
parser.add_argument("--gate", type=int, default=0)
parser.add_argument("--terminal", action="store_true")
at = sys.argv.index("--")
arguments = parser.parse_args(sys.argv[1:at])
def gate(command):
    print("gate:", *command[:1], file=sys.stderr)
    return arguments.gate
sys.exit(run(arguments, command=sys.argv[at + 1:], gate=gate, stdout=sys.stdout, stderr=sys.stderr, environ=os.environ,
             rules=load_rulebook, progress=arguments.terminal))
"""
READY = re.compile(r"ready after .*: http://127\.0\.0\.1:\d+/health answers")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Launched:
    """A running `preflight launch`, whose standard error is read line by line."""

    def __init__(self, process: subprocess.Popen, folder: Path) -> None:
        self.process = process
        self.folder = folder
        self.said: list[str] = []

    def wait_for(self, pattern: str | re.Pattern[str], what: str = "stderr") -> str:
        """Read until a line matches; the test fails when the stream ends before that."""
        stream = self.process.stderr if what == "stderr" else self.process.stdout
        for line in stream:
            self.said.append(line)
            if re.search(pattern, line):
                return line
        raise AssertionError(f"{pattern!r} did not come: {''.join(self.said)}")

    def end(self) -> tuple[int, str, str]:
        """(exit code, the rest of standard output, all of standard error)."""
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, "".join(self.said) + err


@contextmanager
def launched(folder: Path, behaviour: str, *options: str, command: list[str] | None = None) -> Iterator[Launched]:
    words = command or [sys.executable, str(SERVER), behaviour, "--port", str(free_port())]
    process = subprocess.Popen(
        [sys.executable, "-c", DRIVER, *options, "--", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield Launched(process, folder)
    finally:
        if process.poll() is None:
            process.terminate()  # it ends the server, which is no process of its group
        try:
            process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def log_of(folder: Path) -> str:
    (log,) = folder.glob("preflight-launch-*.log")
    return log.read_text()


def test_a_launch_that_dies_is_told_at_once(tmp_path: Path) -> None:
    with launched(tmp_path, "dies") as launch:
        code, out, err = launch.end()
    assert code == 1
    assert "root cause: RuntimeError: Model does not support EAGLE3 interface" in err
    assert "while: loading weights (83 %, 00:41)" in err
    assert "exit code 1" in err
    assert "Model does not support EAGLE3 interface" in out
    log = log_of(tmp_path)
    assert log.startswith("# preflight launch: ")
    assert log.splitlines()[-1].startswith("# preflight launch: the command ended with exit code 1")
    assert "".join(line for line in log.splitlines(keepends=True) if not line.startswith("# ")) == out
    number = int(re.search(r"log line (\d+)", err)[1])
    assert "RuntimeError: Model does not support EAGLE3" in log.splitlines()[number - 1]


def test_a_launch_that_serves_is_told_ready_and_ended_by_a_signal(tmp_path: Path) -> None:
    with launched(tmp_path, "serve") as launch:
        launch.wait_for(READY)
        launch.process.send_signal(signal.SIGTERM)
        code, _, err = launch.end()
    assert code == 0
    assert "ended by SIGTERM" in err and "root cause" not in err


def test_a_launch_that_is_killed_keeps_the_signal_in_its_exit_code(tmp_path: Path) -> None:
    with launched(tmp_path, "killed") as launch:
        code, _, err = launch.end()
    assert code == 128 + signal.SIGKILL
    assert "root cause: Killed" in err
    assert "while: loading weights (83 %, 00:41)" in err


def test_a_launch_that_hangs_is_ended_when_it_is_not_ready_in_time(tmp_path: Path) -> None:
    with launched(tmp_path, "hangs", "--ready-timeout", "1.5") as launch:
        code, _, err = launch.end()
    assert code == 124
    assert "not ready after" in err
    assert "loading weights (83 %, 00:41)" in err.splitlines()[-1]
    assert "not being ready in time" in log_of(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_are_passed_on_each_time(tmp_path: Path, number: signal.Signals) -> None:
    with launched(tmp_path, "counts") as launch:
        launch.wait_for("Application startup complete", "stdout")
        for _ in range(3):
            launch.process.send_signal(number)
            assert number.name in launch.wait_for("got SIG", "stdout")
        code, _, err = launch.end()
    assert code == 0
    assert f"ended by {number.name}" in err


def test_a_command_that_dies_of_a_signal_that_was_passed_on(tmp_path: Path) -> None:
    sleep = [sys.executable, "-c", "import time; print('here', flush=True); time.sleep(600)"]
    with launched(tmp_path, "", command=sleep) as launch:
        launch.wait_for("here", "stdout")
        launch.process.send_signal(signal.SIGTERM)
        code, _, err = launch.end()
    assert code == 128 + signal.SIGTERM
    assert "ended by SIGTERM" in err


def test_what_the_command_leaves_behind_is_ended(tmp_path: Path) -> None:
    with launched(tmp_path, "leaves") as launch:
        left = int(launch.wait_for(r"left \d+", "stdout").split()[1])
        code, _, err = launch.end()
    assert code == 3
    assert "telling the rest to end" in err
    for _ in range(100):
        if not Path(f"/proc/{left}").exists() or "Z" in Path(f"/proc/{left}/stat").read_text().split(")")[1][:3]:
            break
        time.sleep(0.05)
    else:
        raise AssertionError("the child is still there")


def test_output_that_ends_in_the_middle_of_a_line(tmp_path: Path) -> None:
    with launched(tmp_path, "bare") as launch:
        code, out, _ = launch.end()
    assert code == 4
    assert out.endswith("not ended")
    assert "not ended\n# preflight launch: the command ended with exit code 4" in log_of(tmp_path)


def test_the_gate_goes_first(tmp_path: Path) -> None:
    with launched(tmp_path, "dies", "--gate", "1") as launch:
        code, out, err = launch.end()
    assert (code, out) == (1, "")
    assert err.startswith("gate:") and "root cause" not in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("option", [("--log", "gone/kept.log"), ("--log", "."), ("--health-url", "here")])
def test_options_that_cannot_be_followed_are_refused_before_the_gate(tmp_path: Path, option: tuple[str, str]) -> None:
    with launched(tmp_path, "dies", *option) as launch:
        code, out, err = launch.end()
    assert code not in (0, 4) and out == ""
    assert "gate:" not in err and option[1] in err


def test_a_named_log_is_appended_to_and_lines_are_those_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "kept.log").write_text("one\ntwo\n")
    with launched(tmp_path, "dies", "--log", "kept.log") as launch:
        _, _, err = launch.end()
    log = (tmp_path / "kept.log").read_text()
    assert log.startswith("one\ntwo\n# preflight launch: ")
    number = int(re.search(r"log line (\d+)", err)[1])
    assert "RuntimeError: Model does not support EAGLE3" in log.splitlines()[number - 1]


def test_a_log_that_cannot_be_written_does_not_end_the_launch(tmp_path: Path) -> None:
    with launched(tmp_path, "dies", "--log", "/dev/full") as launch:
        code, out, err = launch.end()
    assert code == 1
    assert err.count("cannot be written any more") == 1
    assert "EAGLE3" in out and "root cause: RuntimeError" in err


def test_the_kept_log_says_the_same_to_triage(tmp_path: Path) -> None:
    from tests.triage_reading import root

    with launched(tmp_path, "killed", "--log", "kept.log") as launch:
        launch.end()
    found = root(tmp_path / "kept.log")
    assert (found["exception"], found["undecidable"]) == ("Killed", "memory")


def test_a_terminal_gets_a_progress_line_and_the_log_does_not(tmp_path: Path) -> None:
    with launched(tmp_path, "hangs", "--terminal", "--ready-timeout", "2") as launch:
        _, _, err = launch.end()
    assert "\x1b[Kpreflight: loading weights (83 %, 00:41), " in err.replace("\r", "")
    assert "/health" in err
    assert "\x1b" not in log_of(tmp_path)


def test_a_server_that_is_there_already_is_not_taken_for_the_launch(tmp_path: Path) -> None:
    with launched(tmp_path, "serve") as first:
        url = first.wait_for(READY).split()[-2].removesuffix("/health")
        port = url.rpartition(":")[2]
        with launched(tmp_path, "", command=[sys.executable, str(SERVER), "dies", "--port", port]) as second:
            code, _, err = second.end()
    assert code == 1
    assert "answers at" in err and "already" in err and "ready after" not in err


def test_standard_output_that_nobody_reads_does_not_end_the_launch(tmp_path: Path) -> None:
    with launched(tmp_path, "serve") as launch:
        launch.process.stdout.close()
        launch.wait_for(READY)
        launch.process.send_signal(signal.SIGTERM)
        launch.process.stdout = None
        launch.process.communicate(timeout=60)
    assert launch.process.returncode == 0
    assert "Application startup complete" in log_of(tmp_path)


def test_secrets_of_the_command_are_not_in_the_log(tmp_path: Path) -> None:
    command = [sys.executable, str(SERVER), "dies", "--port", "1", "--api-key", "s3cret"]
    with launched(tmp_path, "", command=command) as launch:
        _, _, err = launch.end()
    assert "s3cret" not in log_of(tmp_path) + err
