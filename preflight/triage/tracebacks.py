"""Lines of many processes, mixed -> the exceptions that they raised, with frames, chains and messages inside messages.

The shapes are those of Python's ``traceback`` module (3.8 to 3.14), of exception groups, of a traceback printed
through a logger (each line with its own prefix), of multiprocessing's ``Process X:``, and of Ray, which writes the
remote traceback into the message of the local exception.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from preflight.triage.line import Line, Stream
from preflight.triage.place import place_of

#: Bounds, so that no log can make the reader hold more than a few megabytes.
MOST_FRAMES = 24
MOST_CAUSES = 4
MOST_STREAMS = 1024
MOST_DETAILS = 12
LONGEST_TEXT = 1000
#: So many lines of other streams may stand between two lines of one traceback.
LONGEST_PAUSE = 5000
#: So many lines that do not belong to it may stand inside a traceback, in its own stream.
_MOST_STRANGERS = 20
_MOST_GROUPS = 32
#: So closely behind an exception, in lines of all writers, its message may go on.
_NEAR = 100

HEADER = "Traceback (most recent call last):"
_GROUP_HEADER = f"+ Exception Group {HEADER}"
_FRAME = re.compile(r'\s*File "(?P<path>[^"\n]{1,400})", line (?P<line>\d{1,9})(?:,? in (?P<function>.{1,200}))?$')
_NAME = r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_<][A-Za-z0-9_<>]*){0,12}"
_EXCEPTION = re.compile(rf"(?P<type>{_NAME})(?P<inner>\([\w.]{{1,100}}\))?(?:: ?(?P<message>.*))?$", re.S)
_LONE = re.compile(
    rf"(?P<type>(?:{_NAME}\.)?[A-Z][A-Za-z0-9]*(?:Error|Exception|Exit|Interrupt))"
    r"(?P<inner>\([\w.]{1,100}\))?: ?(?P<message>\S.*)$",
    re.S,
)
_MILD = ("DEBUG", "INFO", "WARNING")
_NOT_TYPES = frozenset({"DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL", "FATAL", "NOTE", "Note"})
_GROUP = re.compile(r"(?P<indent> {0,64})[|+](?P<rule>-?\+?-{4,}(?: (?P<number>\d{1,6}|\.\.\.) -{4,})?)?(?: |$)")
_PROCESS = re.compile(r"Process ([\w.:-]{1,80}):$")
_DIRECT = "The above exception was the direct cause of the following exception"
_CONTEXT = "During handling of the above exception, another exception occurred"
_LISTINGS = ("Call stack:", "Stack (most recent call last):")
_STACK = re.compile(r"(?P<current>Current thread|Thread) 0x[0-9a-f]+.{0,80}\(most recent call first\):")


class Link(Enum):
    """How an exception came out of another one."""

    CAUSE = "cause"  #: ``raise ... from``
    CONTEXT = "context"  #: raised while the other was handled
    MESSAGE = "message"  #: the other is printed inside the message of this one
    MEMBER = "member"  #: the other is a member of this group


class Frame(NamedTuple):
    """``code`` is the line of source that the traceback shows, ``function`` None: the place of a syntax error."""

    path: str
    line: int
    function: str | None
    code: str | None = None


@dataclass(eq=False, slots=True)
class Raised:
    """One exception of a log. ``type`` None: its traceback is cut off before the exception.

    ``start`` is the line of its header, ``line`` the one that names it. ``before`` is what the process wrote just
    before the traceback: a logger's message, ``Process EngineCore_DP0:``, ``Exception ignored in``.
    """

    type: str | None
    message: str
    frames: tuple[Frame, ...]
    start: int
    line: int
    stream: Stream
    process: str | None
    level: str | None
    time: str | None
    before: str
    message_follows: bool = False  #: the first line of the message is empty
    details: list[str] = field(default_factory=list)
    causes: list[tuple[Link, Raised]] = field(default_factory=list)
    effect: Raised | None = None
    part_of: Raised | None = None  #: the exception in whose message, or the group in which, this one is printed
    same: Raised | None = None  #: the earlier exception that this one only repeats

    @property
    def name(self) -> str | None:
        """The class without its modules."""
        return None if self.type is None else self.type.rpartition(".")[2]

    @property
    def first(self) -> Raised:
        """The first print of this exception."""
        return self if self.same is None else self.same

    @property
    def in_tree(self) -> bool:
        """Whether it went through a file of vLLM."""
        return any(place_of(frame.path, frame.line, None).in_tree for frame in self.frames)

    def add_detail(self, text: str) -> None:
        """A line behind the exception, which may be more of its message. Of very many only the first are kept."""
        if len(self.details) < MOST_DETAILS:
            self.details.append(text[:LONGEST_TEXT])

    def add_cause(self, link: Link, cause: Raised) -> None:
        """``cause`` led to this one. Of very many only the first are kept."""
        if len(self.causes) < MOST_CAUSES:
            self.causes.append((link, cause))


@dataclass(slots=True)
class _Stream:
    """What one writer has said so far."""

    open: int = 0
    frames: list[Frame] = field(default_factory=list)
    start: int = 0
    last_line: int = 0
    strangers: int = 0
    head: Line | None = None
    before: str = ""
    before_line: int = 0
    process: str | None = None
    link: Link | None = None
    last: Raised | None = None
    fresh: bool = False  #: nothing else was written since ``last``
    groups: list[tuple[int, Raised]] = field(default_factory=list)
    margin: bool = False  #: an exception group is being printed, behind its bars
    closed_since_open: bool = False
    stack: bool = False  #: the interpreter, about to die, dumps where it was
    listing: bool = False  #: frames that belong to no exception: logging tells where it was called

    def add_frame(self, frame: Frame) -> None:
        """The next frame inwards."""
        self.frames.append(frame)
        if len(self.frames) > MOST_FRAMES:
            del self.frames[MOST_FRAMES // 4]  # a deep recursion: its beginning and its end tell more than its middle
        self.strangers = 0

    def add_code(self, text: str) -> None:
        """What stands under a frame; its first line is the code, others are carets or more of it."""
        if self.frames and self.frames[-1].code is None and text.strip(" ^~"):
            self.frames[-1] = self.frames[-1]._replace(code=text.strip()[:200])


class Tracebacks:
    """Feed it lines in order; ``raised`` is called for every exception when its last line has been read, ``stacked``
    for the innermost frame of a stack that the interpreter dumps when it dies."""

    def __init__(self, raised: Callable[[Raised], None], stacked: Callable[[Line, Frame], None]) -> None:
        self._raised = raised
        self._stacked = stacked
        self._streams: dict[Stream, _Stream] = {}
        #: While any traceback is open, every line may belong to it.
        self.open: dict[Stream, _Stream] = {}
        self._last_key, self._last = Stream(), _Stream()
        self._review = 0  #: the line at which to look again for tracebacks that will not be ended

    def review(self, number: int) -> None:
        """At line ``number``: give up tracebacks that were not gone on with for very long."""
        if number >= self._review:
            self._review = number + LONGEST_PAUSE // 4
            for key, stream in list(self.open.items()):
                if number - stream.last_line > LONGEST_PAUSE:
                    self._abandon(key, stream)

    @property
    def in_frames(self) -> bool:
        """Whether the writer of the last line is in the middle of one plain traceback, so that indented lines that
        follow are frames and code, and can be given to ``more``."""
        stream = self._last
        return stream.open == 1 and not stream.margin and not stream.stack

    def more(self, text: str) -> None:
        """An indented line of the last writer's traceback, which is open."""
        stream = self._last
        if text.startswith('  File "') and (found := _FRAME.match(text)) is not None:
            stream.add_frame(Frame(found["path"], int(found["line"]), found["function"]))
        else:
            stream.add_code(text)

    def reached(self, number: int) -> None:
        """The last writer's traceback goes on up to line ``number``."""
        self._last.last_line = number

    def finish(self) -> None:
        """The log is over: what is still open was cut off."""
        for key, stream in list(self.open.items()):
            self._abandon(key, stream)

    def feed(self, line: Line) -> bool:
        """Whether the line is part of a traceback."""
        key = line.stream
        if key is self._last_key:
            stream = self._last
        else:
            found = self._streams.pop(key, None)
            if found is None and len(self._streams) >= MOST_STREAMS:
                self._forget()
            stream = found or _Stream()
            self._streams[key] = stream  # the last one is the one that was heard last
            self._last_key, self._last = key, stream
        text = line.text
        if not text or text.isspace():
            return stream.open > 0
        grouped = stream.margin or (text[0] == " " and text.endswith(_GROUP_HEADER))
        if grouped and (margin := _GROUP.match(text)) is not None:
            if margin["rule"]:
                self._member(stream, margin)
                return True
            stream.margin = True
            text = text[margin.end() :]
            if not text:
                return True
        if 'File "' in text and (frame := _FRAME.match(text)) is not None:
            self._frame(key, stream, line, frame)
            taken = True
        elif text.endswith(HEADER):
            self._header(key, stream, line, text)
            taken = True
        else:
            stream.stack = False
            stream.listing = text in _LISTINGS or (stream.listing and text[0] in " \t")
            taken = self._inside(key, stream, line, text) if stream.open else self._outside(stream, line, text)
        if taken:
            stream.last_line = line.number
        return taken

    def _header(self, key: Stream, stream: _Stream, line: Line, text: str) -> None:
        ahead = text.removesuffix(HEADER).strip(" +|")
        if ahead and ahead != "Exception Group":
            stream.before, stream.before_line = ahead, line.number
        # One traceback may begin inside another: the first was cut off, or two writers share a stream. The frames then
        # count for both; the innermost one is right for the one that ends first.
        if not stream.open:
            self._begin(key, stream, line)
            if stream.link is None and stream.last is not None and self._goes_on(stream.last, line):
                stream.link = Link.MESSAGE
        stream.open = min(stream.open + 1, 64)
        stream.strangers = 0

    def _begin(self, key: Stream, stream: _Stream, line: Line) -> None:
        stream.start, stream.head, stream.last_line = line.number, line, line.number
        stream.frames = []
        stream.closed_since_open = False
        self.open[key] = stream

    def _frame(self, key: Stream, stream: _Stream, line: Line, found: re.Match[str]) -> None:
        frame = Frame(found["path"], int(found["line"]), found["function"])
        if stream.stack:
            self._stacked(line, frame)
        if stream.stack or stream.listing:
            return
        if not stream.open:
            # No header: the log begins here, or a syntax error was printed, or Ray prints the remote traceback.
            self._begin(key, stream, line)
            stream.open = 1
            if stream.link is None and stream.last is not None and stream.fresh:
                stream.link = Link.MESSAGE
        stream.add_frame(frame)

    def _inside(self, key: Stream, stream: _Stream, line: Line, text: str) -> bool:
        """A line while a traceback is open that is neither header nor frame."""
        if text[0] in " \t":
            stream.add_code(text)
            return True
        found = (_LONE if stream.closed_since_open else _EXCEPTION).match(text)
        if found is not None and _is_type(found["type"]):
            self._close(key, stream, line, found)
            return True
        if (process := _PROCESS.match(text)) is not None:
            stream.process = process[1]
        stream.strangers += 1
        if stream.strangers > _MOST_STRANGERS:
            self._abandon(key, stream)
        return False

    def _outside(self, stream: _Stream, line: Line, text: str) -> bool:
        """A line while no traceback is open, that begins none."""
        if text.startswith((_DIRECT, _CONTEXT)):
            stream.link = Link.CAUSE if text.startswith(_DIRECT) else Link.CONTEXT
            return True
        if (stack := _STACK.match(text)) is not None:
            stream.stack = stack["current"] == "Current thread"
            stream.listing = not stream.stack
            return True
        if (process := _PROCESS.match(text)) is not None:
            stream.process = process[1]
        elif line.level not in _MILD and text[0].isalpha() and (lone := _LONE.match(text)) is not None:
            # An exception without a traceback: somebody printed it, or the log begins with it.
            stream.start, stream.head, stream.frames = line.number, line, []
            if stream.link is None and stream.last is not None and self._goes_on(stream.last, line):
                stream.link = Link.MESSAGE
            self._emit(stream, line, lone)
            return True
        last = stream.last
        if last is not None and stream.link is None and line.number - last.line < _NEAR:
            last.add_detail(text)
        stream.fresh = False
        stream.before, stream.before_line = text[:LONGEST_TEXT], line.number
        return False

    @staticmethod
    def _goes_on(last: Raised, line: Line) -> bool:
        """What stands so closely behind a message that ends with a colon, or is empty, is part of it."""
        return (last.message.endswith(":") or last.message_follows) and line.number - last.line < _NEAR

    def _close(self, key: Stream, stream: _Stream, line: Line, found: re.Match[str]) -> None:
        self._emit(stream, line, found)
        stream.open -= 1
        stream.closed_since_open = True
        if stream.open <= 0:
            stream.open = 0
            stream.frames = []
            self.open.pop(key, None)

    def _emit(self, stream: _Stream, line: Line, found: re.Match[str]) -> None:
        inner = found["inner"]
        # Ray's RayTaskError(ValueError): the class that the user knows is the one in brackets.
        name = inner.strip("()") if inner else found["type"]
        raised = self._made(stream, line, name, (found["message"] or "").strip())
        raised.message_follows = found["message"] is not None and not raised.message
        self._connect(stream, raised)
        stream.last, stream.fresh, stream.link = raised, True, None
        stream.before = ""
        self._raised(raised)

    def _made(self, stream: _Stream, line: Line, type: str | None, message: str) -> Raised:
        head = stream.head or line
        before = stream.before if head.number - stream.before_line <= 50 else ""
        return Raised(
            type=type,
            message=message[:LONGEST_TEXT],
            frames=tuple(stream.frames),
            start=stream.start,
            line=line.number,
            stream=line.stream,
            process=line.process or stream.process,
            level=line.level,
            time=line.time or head.time,
            before=before,
        )

    def _connect(self, stream: _Stream, raised: Raised) -> None:
        last = stream.last
        if last is not None and stream.link in (Link.CAUSE, Link.CONTEXT):
            while last.part_of is not None and last.part_of not in [group for _, group in stream.groups]:
                last = last.part_of
            raised.add_cause(stream.link, last)
            last.effect = raised
            raised.before = raised.before or last.before
            if last.part_of is not None:
                self._put_into(last.part_of, raised, Link.MEMBER)
        elif last is not None and stream.link is Link.MESSAGE:
            self._put_into(last, raised, Link.MESSAGE)
        elif stream.groups:
            self._put_into(stream.groups[-1][1], raised, Link.MEMBER)

    @staticmethod
    def _put_into(whole: Raised, part: Raised, link: Link) -> None:
        whole.first.add_cause(link, part)
        part.effect, part.part_of = whole, whole
        part.before = whole.before or part.before

    def _member(self, stream: _Stream, margin: re.Match[str]) -> None:
        """``+-+---- 1 ----`` opens the group that was printed last, further ones separate its members, a plain rule
        ends it."""
        indent = len(margin["indent"])
        if margin["number"] is None:
            while stream.groups and stream.groups[-1][0] >= indent - 2:
                stream.groups.pop()
            stream.margin = bool(stream.groups)
        elif margin["rule"].startswith("-+") and stream.last is not None and len(stream.groups) < _MOST_GROUPS:
            stream.groups.append((indent, stream.last))
        stream.link = None

    def _abandon(self, key: Stream, stream: _Stream) -> None:
        """The traceback will not be ended: tell what there is of it, unless it was only a copy of one that was."""
        self.open.pop(key, None)
        if not stream.closed_since_open and stream.head is not None:
            head = stream.head
            raised = self._made(stream, Line(stream.last_line, "", head.stream, head.level, head.time), None, "")
            self._connect(stream, raised)
            self._raised(raised)
            stream.last, stream.fresh, stream.link = None, False, None
        stream.open, stream.frames = 0, []

    def _forget(self) -> None:
        """Too many writers: drop the one that was quiet the longest."""
        key = next(iter(self._streams))
        stream = self._streams.pop(key)
        if key in self.open:
            self._abandon(key, stream)


def _is_type(name: str) -> bool:
    """Classes are written with a capital, but for a few old ones, which come with their module (``socket.timeout``)."""
    last = name.rpartition(".")[2]
    return name not in _NOT_TYPES and (last[0].isupper() or "." in name)
