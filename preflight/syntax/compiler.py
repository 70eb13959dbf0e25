"""Compiling sources by the interpreter that will run vLLM: one process for all of them, and nothing is imported or run.

A file can bring that process down (deep nesting overflows the C stack of some Pythons): the file that was being
compiled is then named as the one that did it, and a new process goes on with the next. The checker's own process never
compiles.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from preflight.syntax.child import SCRIPT
from preflight.syntax.process import ChildProcess, NoAnswer, NotStarted

if TYPE_CHECKING:
    from preflight.syntax.source import Source

#: Seconds for one file. The largest source accepted compiles in a fraction of this.
FILE_TIMEOUT = 60.0
#: Seconds an interpreter may take to say its version: a cold start from a network disk is slow.
START_TIMEOUT = 30.0


@dataclass(frozen=True, slots=True)
class CompileError:
    """Why an interpreter refuses a source, in its own words and at its own place (lines and columns from 1)."""

    type: str  #: the exception's class name: SyntaxError, IndentationError, TabError, ValueError, RecursionError, ...
    stage: str  #: "parse", or "compile" when the grammar accepts the text
    message: str
    line: int | None = None
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one source: compiled, refused (``error``), or not answered (``failure`` says in a phrase why).

    ``crashed``: the interpreter itself died of the source by a fault of memory access, as it would on importing it.
    """

    error: CompileError | None = None
    failure: str | None = None
    crashed: bool = False

    @property
    def ok(self) -> bool:
        return self.error is None and self.failure is None


@dataclass(frozen=True, slots=True)
class Interpreter:
    """The Python that compiled.

    ``stand_in``: it is preflight's own, not the one that will run vLLM; ``problem`` says what is wrong with that one.
    """

    path: str
    version: tuple[int, int, int]
    stand_in: bool
    problem: str | None = None

    @property
    def version_text(self) -> str:
        return ".".join(map(str, self.version))


@dataclass(frozen=True, slots=True)
class CompileResult:
    """The outcome of every source, by path, and who compiled them."""

    interpreter: Interpreter
    outcomes: dict[str, Outcome]


class _Unusable(Exception):
    """The interpreter cannot be used; the text is a phrase that says why."""


class Compiler:
    """An interpreter at work. Use it as a context manager; ``compile`` may be called as often as needed.

    ``interpreter`` is the Python that will run vLLM, None when it is not at hand. What cannot be started, is no Python
    3 or does not answer is replaced by preflight's own interpreter, and the property ``interpreter`` says so.
    """

    def __init__(self, interpreter: Path | None = None, file_timeout: float = FILE_TIMEOUT) -> None:
        self._timeout = file_timeout
        self._process: _Process | None = None
        self._wanted = interpreter
        self._interpreter: Interpreter | None = None
        self._path = str(interpreter) if interpreter is not None else sys.executable
        self._start_problem: str | None = None
        try:
            self._process = _Process(self._path)
        except _Unusable as error:
            self._start_problem = str(error)

    def __enter__(self) -> Compiler:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the process."""
        if self._process is not None:
            self._process.end()
            self._process = None

    @property
    def interpreter(self) -> Interpreter:
        """Who compiles. The first call waits for the interpreter's greeting."""
        if self._interpreter is None:
            self._interpreter = self._greet()
        return self._interpreter

    def compile(self, sources: Iterable[bytes], likely_broken: bool = False) -> list[Outcome]:
        """The outcome of each source, in order. The sources are sent ahead, so they should be few or cheap to hold.

        ``likely_broken`` makes it quicker for sources that the grammar refuses, and slower for all others.
        """
        waiting = list(sources)
        outcomes: list[Outcome] = []
        _ = self.interpreter
        while len(outcomes) < len(waiting):
            rest = waiting[len(outcomes) :]
            try:
                process = self._running()
            except _Unusable as error:
                outcomes += [Outcome(failure=f"the interpreter {self._path} {error}")] * len(rest)
                break
            process.send(rest, b"broken" if likely_broken else b"whole")
            for _source in rest:
                outcome = process.answer(self._timeout)
                outcomes.append(outcome)
                if outcome.failure is not None:
                    # the process is gone or stuck with this source; the next ones get a new one
                    self.close()
                    break
        return outcomes

    def _running(self) -> _Process:
        if self._process is None:
            self._process = _Process(self._path)
            self._process.greeting()
        return self._process

    def _greet(self) -> Interpreter:
        problem = self._start_problem
        if problem is None and self._process is not None:
            try:
                version = self._process.greeting()
                return Interpreter(self._path, version, stand_in=self._wanted is None)
            except _Unusable as error:
                problem = str(error)
        self.close()
        self._path = sys.executable
        try:
            self._process = _Process(self._path)
            version = self._process.greeting()
        except _Unusable as error:
            # our own interpreter runs this very line, so only a machine in distress comes here
            raise OSError(f"{self._path} {error}") from error
        return Interpreter(self._path, version, stand_in=True, problem=f"{self._wanted} {problem}")


def compile_all(sources: Sequence[Source], interpreter: Path | None) -> CompileResult:
    """Compiles every source that could be read, by ``interpreter`` or, if that is None or unusable, by our own."""
    readable = [source for source in sources if source.problem is None or source.data]
    with Compiler(interpreter) as compiler:
        outcomes = compiler.compile(source.data for source in readable)
        return CompileResult(
            compiler.interpreter, {source.path: outcome for source, outcome in zip(readable, outcomes, strict=True)}
        )


class _Process:
    """The target interpreter at work on the compile script."""

    def __init__(self, path: str) -> None:
        try:
            self._child = ChildProcess([path, "-I", "-S", "-W", "ignore", "-c", SCRIPT])
        except NotStarted as error:
            raise _Unusable(str(error)) from None
        self._greeted: tuple[int, int, int] | None = None

    def greeting(self) -> tuple[int, int, int]:
        """The version the interpreter says it has. Raises _Unusable."""
        if self._greeted is None:
            try:
                line = self._child.line(START_TIMEOUT)
            except NoAnswer:
                raise _Unusable(f"does not answer within {START_TIMEOUT:.0f} seconds") from None
            words = line.decode("utf-8", "replace").split()
            if len(words) != 4 or words[0] != "preflight" or not all(word.isdigit() for word in words[1:4]):
                said = self._child.last_words()
                raise _Unusable(f"is no Python interpreter{f' (it says: {said})' if said else ''}")
            major, minor, micro = (int(word) for word in words[1:4])
            if major < 3:
                raise _Unusable(f"is Python {major}.{minor}, which runs no vLLM")
            self._greeted = major, minor, micro
        return self._greeted

    def send(self, sources: Iterable[bytes], mode: bytes) -> None:
        for source in sources:
            self._child.send((b"%d %s\n" % (len(source), mode), source))

    def answer(self, timeout: float) -> Outcome:
        """The next outcome, in the order of the sources sent."""
        try:
            line = self._child.line(timeout)
        except NoAnswer:
            return Outcome(failure=f"the interpreter did not finish it within {timeout:.0f} seconds")
        fields = line.decode("utf-8", "replace").rstrip("\n").split("\t")
        if fields == ["ok"]:
            return Outcome()
        if fields[0] != "error" or len(fields) != 8:
            phrase, crashed = self._child.death()
            return Outcome(failure=f"the interpreter {phrase}", crashed=crashed)
        _, kind, stage, *places, message = fields
        line_number, column, end_line, end_column = (int(p) if p.lstrip("-").isdigit() else None for p in places)
        return Outcome(CompileError(kind, stage, message, line_number, column, end_line, end_column))

    def end(self) -> None:
        self._child.end()
