"""One launch from its start to its end: output into the log, to the reader and to the reader's eyes; ready or not."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO

from preflight.supervise.child import GRACE, Child
from preflight.supervise.health import Watch
from preflight.supervise.progress import ProgressLine, duration
from preflight.triage.reader import LogReader
from preflight.triage.report import stage_text

_TICK = 0.25
#: A launch that is told to end because it is not ready in time gets so long to do so.
_PATIENCE = 30.0


@dataclass(frozen=True, slots=True)
class End:
    """How the launch went. ``seconds`` from start to end; ``timed_out``: it was ended for not being ready in time."""

    status: int
    seconds: float
    ready: bool
    timed_out: bool


class Running:
    """Drives ``child`` until it and all that it started have ended.

    ``log`` gets every byte, ``show`` too; ``say`` takes sentences of our own. ``watch`` None: readiness is told by the
    log alone.
    """

    def __init__(
        self,
        child: Child,
        reader: LogReader,
        log: BinaryIO,
        show: Callable[[bytes], None],
        say: Callable[[str], None],
        watch: Watch | None,
        line: ProgressLine,
        ready_timeout: float | None,
    ) -> None:
        self._child = child
        self._reader = reader
        self._log = log
        self._show = show
        self._say = say
        self._watch = watch
        self._line = line
        self._ready_timeout = ready_timeout
        self._started = time.monotonic()
        self._ready = False
        self._timed_out_at: float | None = None
        self._moved = False
        self._log_failed = False
        self.reader_failed = False

    def until_the_end(self) -> End:
        """Returns when nothing of the launch is left."""
        child = self._child
        asked = False
        while True:
            data = child.read(_TICK)
            if data:
                self._take(data)
            if child.ended:
                if child.silent or child.seconds_since_end() > 2 * GRACE:
                    break
                if child.seconds_since_end() > GRACE and not asked:
                    asked = True
                    self._line.clear()
                    self._say("the command has ended, but not all that it started; telling the rest to end")
                    child.send_to_all(signal.SIGTERM)
                continue
            self._look()
        # What has closed its output and lives on holds memory all the same.
        child.send_to_all(signal.SIGTERM if child.silent else signal.SIGKILL)
        status = child.status()
        self._line.clear()
        return End(status, time.monotonic() - self._started, self._ready, self._timed_out_at is not None)

    def _take(self, data: bytes) -> None:
        self._line.clear()
        self._show(data)
        self.keep(data)
        launch = self._reader.current
        if launch is not None and launch.address is not None and self._watch is not None and not self._moved:
            self._moved = True
            self._watch.move(launch.address)

    def keep(self, data: bytes) -> None:
        """Into the log and to the reader. Neither a full disk nor a fault of ours is worth a launch."""
        if not self._log_failed:
            try:
                self._log.write(data)
            except OSError as error:
                self._log_failed = True
                self._say(
                    f"the log cannot be written any more: {error.strerror or error}; the launch goes on without it"
                )
        if not self.reader_failed:
            try:
                self._reader.feed(data)
            except Exception as error:
                self.reader_failed = True
                self._say(f"a fault of preflight itself, {error!r}, ends the reading of the log; the launch goes on")

    def _look(self) -> None:
        """Between two pieces of output: is it ready, is it late, what does the progress line say?"""
        now = time.monotonic()
        launch = self._reader.current
        if not self._ready:
            by_health = self._watch is not None and self._watch.ready_at is not None
            by_log = self._watch is None and launch is not None and launch.serving_line is not None
            if by_health or by_log:
                self._ready = True
                self._line.clear()
                where = f": {self._watch.address.url} answers" if self._watch is not None else ""
                self._say(f"ready after {duration(now - self._started)}{where}")
        if self._ready:
            self._line.clear()
            return
        self._be_patient(now)
        stage = "starting"
        if launch is not None:
            stage = stage_text(launch.stage.name, launch.progress, launch.drafter)
        waiting = f", waiting for {self._watch.address.url}" if self._watch is not None else ""
        self._line.draw(f"{stage}, {duration(now - self._started)}{waiting}")

    def _be_patient(self, now: float) -> None:
        if self._ready_timeout is None:
            return
        if self._timed_out_at is None and now - self._started > self._ready_timeout:
            self._timed_out_at = now
            self._line.clear()
            self._say(f"not ready after {duration(self._ready_timeout)}, telling it to end")
            self._child.send(signal.SIGTERM)
        elif self._timed_out_at is not None and now - self._timed_out_at > _PATIENCE:
            self._child.send_to_all(signal.SIGKILL)
