"""A child process that answers every request with one line, and the two threads that keep its pipes from blocking."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue


class NotStarted(Exception):
    """The program cannot be started; the text is a phrase that says why."""


class NoAnswer(Exception):
    """No line came in time."""


class ChildProcess:
    """One process. What it says on standard output is read line by line, ahead of those who ask for it."""

    def __init__(self, command: Sequence[str]) -> None:
        try:
            self._child = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,  # so that what it forks can be ended with it
            )
        except FileNotFoundError:
            raise NotStarted("does not exist") from None
        except PermissionError:
            raise NotStarted("is not executable") from None
        except (OSError, ValueError) as error:
            raise NotStarted(f"cannot be started ({getattr(error, 'strerror', None) or error})") from None
        self._answers: SimpleQueue[bytes] = SimpleQueue()
        self._requests: SimpleQueue[bytes | None] = SimpleQueue()
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._read, self._write)]
        for thread in self._threads:
            thread.start()

    def send(self, pieces: Iterable[bytes]) -> None:
        """Queue bytes for its standard input; returns at once."""
        for piece in pieces:
            self._requests.put(piece)

    def line(self, timeout: float) -> bytes:
        """The next line, ``b""`` once the process is gone. Raises NoAnswer after ``timeout`` seconds."""
        try:
            return self._answers.get(timeout=timeout)
        except Empty:
            raise NoAnswer from None

    def death(self) -> tuple[str, bool]:
        """How it ended, as a phrase, and whether by a fault of memory access.

        To be asked when a line was not what was expected.
        """
        try:
            status = self._child.wait(timeout=5)
        except subprocess.TimeoutExpired:
            return "stopped answering", False
        if status >= 0:
            return f"ended with exit status {status}", False
        try:
            name = signal.Signals(-status).name
        except ValueError:
            name = str(-status)
        return f"was ended by the signal {name}", name in ("SIGSEGV", "SIGBUS", "SIGABRT", "SIGILL")

    def last_words(self) -> str:
        """The last line of its standard error, if it has ended."""
        try:
            self._child.wait(timeout=1)
        except subprocess.TimeoutExpired:
            return ""
        assert self._child.stderr is not None
        words = self._child.stderr.read(4096).decode("utf-8", "replace").strip().splitlines()
        return words[-1] if words else ""

    def end(self) -> None:
        """End it, and wait until nothing of it is left."""
        self._requests.put(None)
        if hasattr(os, "killpg"):
            with suppress(ProcessLookupError, PermissionError):  # it has ended, and was waited for
                os.killpg(self._child.pid, signal.SIGKILL)
        self._child.kill()
        self._child.wait()
        for thread in self._threads:
            thread.join()
        for pipe in (self._child.stdout, self._child.stderr):
            if pipe is not None:
                pipe.close()

    def _read(self) -> None:
        assert self._child.stdout is not None
        for line in self._child.stdout:
            self._answers.put(line)
        self._answers.put(b"")  # the child is gone

    def _write(self) -> None:
        pipe = self._child.stdin
        assert pipe is not None
        while (data := self._requests.get()) is not None:
            try:
                pipe.write(data)
                if self._requests.empty():
                    pipe.flush()
            except (OSError, ValueError):  # the child is gone; the reader tells
                break
        with suppress(OSError):
            pipe.close()
