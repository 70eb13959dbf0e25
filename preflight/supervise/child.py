"""The command as a child process: its output, the signals that are passed on to it, its end."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from types import FrameType, TracebackType
from typing import Any

from preflight.errors import PreflightError

#: What a supervisor, a terminal or an operator may send. All of it is meant for the command.
_PASSED_ON = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")
_BLOCK = 64 * 1024
#: When the command has ended, what it has started gets so long to end too, and again after SIGTERM.
GRACE = 5.0


class Child:
    """One run of the command.

    It has a session of its own, so that a Ctrl-C at the terminal reaches it once, through us, and not twice; and so
    that what it leaves behind (workers that hold GPU memory) can be found and ended. A context manager: it installs
    the signal handlers (so only in the main thread) and starts the command, and takes the handlers away again.
    """

    def __init__(self, command: Sequence[str], environ: Mapping[str, str]) -> None:
        self._command = list(command)
        self._environ = dict(environ)
        self._process: subprocess.Popen[bytes] | None = None
        self._output = -1
        self._before: dict[signal.Signals, Any] = {}
        self._ended_at: float | None = None
        self._selector = selectors.DefaultSelector()
        self.received: list[signal.Signals] = []  #: the signals that were passed on, in order
        self.silent = False  #: nobody is left who could write

    def __enter__(self) -> Child:
        """Starts the command. Raises PreflightError when it cannot be started."""
        # The handlers come first: a signal between start and handlers would leave the command alone.
        for name in _PASSED_ON:
            number = signal.Signals[name]
            self._before[number] = signal.signal(number, self._pass_on)
        try:
            self._start()
        except OSError as error:
            self._restore()
            raise PreflightError(
                f"The command `{self._command[0]}` cannot be started: {error.strerror or error}.",
                "Write its full path, or make it executable.",
            ) from error
        for number in list(self.received):
            self._deliver(number)
        return self

    def _start(self) -> None:
        self._process = subprocess.Popen(
            self._command,
            # A session of its own cannot read the terminal.
            stdin=subprocess.DEVNULL if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty() else None,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=self._environ,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        self._output = self._process.stdout.fileno()
        self._selector.register(self._output, selectors.EVENT_READ)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._restore()
        if self._process is not None:
            # Still there only after an error of our own: nobody would watch the command any more.
            self.send_to_all(signal.SIGKILL)
            self._process.wait()
            if self._process.stdout is not None:
                self._process.stdout.close()

    def _restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._selector.close()

    def _pass_on(self, number: int, frame: FrameType | None) -> None:
        """Every time a signal comes it is passed on: a second Ctrl-C means more than the first."""
        received = signal.Signals(number)
        self.received.append(received)
        if self._process is not None:
            self._deliver(received)

    def _deliver(self, number: signal.Signals) -> None:
        if number is signal.SIGINT:
            self.send_to_all(number)  # as the terminal would have done
        else:
            self.send(number)

    def send(self, number: signal.Signals) -> None:
        """To the command alone, which tells its own children."""
        if self._process is not None and not self.ended:
            os.kill(self._process.pid, number)

    def send_to_all(self, number: signal.Signals) -> None:
        """To the command and what it started, as far as that has not left its session."""
        # The command is not reaped before we are done, so its number is still its own.
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)

    @property
    def ended(self) -> bool:
        """Whether the command itself has ended; others may still write."""
        if self._ended_at is None and self._process is not None:
            done = self._process.returncode is not None or os.waitid(
                os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT
            )
            if done:
                self._ended_at = time.monotonic()
        return self._ended_at is not None

    def read(self, patience: float) -> bytes:
        """What was written, waiting for it for at most ``patience`` seconds; b"" when nothing came."""
        if self.silent:
            time.sleep(min(patience, 0.05))
            return b""
        if not self._selector.select(patience):
            return b""
        data = os.read(self._output, _BLOCK)
        self.silent = not data
        return data

    def seconds_since_end(self) -> float:
        """0.0 while it runs."""
        return 0.0 if self._ended_at is None else time.monotonic() - self._ended_at

    def status(self) -> int:
        """Reap the command; its exit status, negative for a signal. To be asked once it has ended."""
        assert self._process is not None
        return self._process.wait()


def exit_code(status: int) -> int:
    """The exit code that a shell would give for ``status``: 128 and the number for a signal."""
    return 128 - status if status < 0 else status
