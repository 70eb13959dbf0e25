"""Parsing by libcst, in a process of its own.

The import of libcst takes longer than all else that a check of a few files does, so it is begun while the tree is still
being opened; and its native parser can bring a process down (deep nesting overflows the C stack), which must not end
the check.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from preflight.syntax.process import ChildProcess, NoAnswer, NotStarted

if TYPE_CHECKING:
    from preflight.syntax.source import Source

#: libcst reads about 20,000 lines a second; above this size it is not asked.
MAX_BYTES = 2 * 1024 * 1024
#: Seconds for one file; the longest model takes a quarter of one.
FILE_TIMEOUT = 10

#: What the process runs. A request is a line with the number of sources, then for each a line with its byte count and
#: as many bytes; the answer is a line for each in their order, ``ok`` or why not. Each is parsed by a fork of the
#: process, as many at once as there are processors: that costs a few milliseconds, and a fork that dies of its source
#: takes nothing with it. The words behind ``-c`` are the folders that preflight itself finds its modules in.
SCRIPT = r"""
import sys
sys.path[:] = sys.argv[2:]
import gc, os, signal
gc.disable()
import libcst
source, answer = sys.stdin.buffer, sys.stdout.buffer
def reply(data):
    try:
        libcst.parse_module(data)
        text = "ok"
    except libcst.ParserSyntaxError as error:
        text = "libcst stops at line %d: %s" % (error.raw_line, error.message)
    except (RecursionError, MemoryError):
        text = "libcst runs out of stack: the code is nested too deeply"
    except BaseException as error:
        text = "libcst fails on it: %s" % error
    return " ".join(text.split()).encode("utf-8", "backslashreplace")[:2000]
def begin(data):
    if not hasattr(os, "fork"):
        return None, reply(data)
    here, there = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(int(sys.argv[1]))
        os.write(there, reply(data))
        os._exit(0)
    os.close(there)
    return child, here
def finish(child, there):
    if child is None:
        return there
    text = os.read(there, 4096)
    os.close(there)
    status = os.waitpid(child, 0)[1]
    return text or b"libcst's process was ended by signal %d" % (status & 127)
most = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
while True:
    head = source.readline()
    if not head:
        break
    begun = []
    for _ in range(int(head)):
        if len(begun) == most:
            answer.write(finish(*begun.pop(0)) + b"\n")
            answer.flush()
        begun.append(begin(source.read(int(source.readline()))))
    for one in begun:
        answer.write(finish(*one) + b"\n")
        answer.flush()
"""


class CstParser:
    """libcst at work. A context manager; its process starts with ``start`` or, at the latest, with ``send``."""

    def __init__(self) -> None:
        self._process: ChildProcess | None = None
        self._trouble: str | None = None  #: why there are no more answers
        self._sent: deque[Source] = deque()  #: what waits for its answer to be asked for
        self._dropped: set[str] = set()

    def __enter__(self) -> CstParser:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.end()
            self._process = None

    def start(self) -> None:
        """Let the process begin with its import. Where it cannot be started, the answers say so."""
        if self._process is None and self._trouble is None:
            command = [sys.executable, "-I", "-S", "-W", "ignore", "-c", SCRIPT, str(FILE_TIMEOUT), *sys.path]
            try:
                self._process = ChildProcess(command)
            except NotStarted as error:
                self._trouble = f"the process for libcst {error}"

    def send(self, sources: Sequence[Source]) -> None:
        """Begin to parse the sources that have a text; ``answers`` has the outcome."""
        self._sent += [source for source in sources if source.text is not None]
        asked = [source.data for source in sources if _is_asked(source)]
        if not asked:
            return
        self.start()
        if self._process is not None:
            self._process.send([b"%d\n" % len(asked)])
            for data in asked:
                self._process.send([b"%d\n" % len(data), data])

    def drop(self, source: Source) -> None:
        """Do not wait for the answer about a source that was sent: Python itself refuses it."""
        self._dropped.add(source.path)

    def answers(self) -> Iterator[tuple[Source, str | None]]:
        """Every source that was sent and not dropped, with why libcst cannot parse it, as a phrase, or None if it
        can."""
        while any(source.path not in self._dropped for source in self._sent):
            source = self._sent.popleft()
            problem = self._problem(source)
            if source.path not in self._dropped:
                yield source, problem
        if self._sent and self._process is not None:  # it still works on what nobody waits for
            self._process.end()
            self._process = None
        self._sent.clear()
        self._dropped.clear()

    def _problem(self, source: Source) -> str | None:
        if not _is_asked(source):
            return f"it has {len(source.data):,} bytes, more than is given to libcst"
        if self._trouble is None and self._process is not None:
            try:
                line = self._process.line(FILE_TIMEOUT + 5.0)
            except NoAnswer:
                self._trouble = "libcst does not answer"
            else:
                if line:
                    reply = line.decode("utf-8", "replace").rstrip("\n")
                    return None if reply == "ok" else reply
                self._trouble = f"the process for libcst {self._process.death()[0]}"
        return self._trouble


def _is_asked(source: Source) -> bool:
    return source.text is not None and len(source.data) <= MAX_BYTES
