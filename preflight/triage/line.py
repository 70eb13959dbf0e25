"""One line of a log -> who wrote it, how serious it is, and the text itself, free of every prefix.

The shapes are those of vLLM 0.5 to 0.33 (``vllm/logging_utils/formatter.py``, ``decorate_logs`` in
``vllm/utils/system_utils.py``, ``_add_prefix`` before that), of torch's and glog's logs, of Ray's log forwarding, and
of what stands between a process and a file: docker compose, Kubernetes (CRI and ``kubectl logs --prefix``), journald.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

#: Real escape sequences, and those that ``cat -v`` or a web console has turned into text.
_ANSI = re.compile(r"(?:\x1b|\^\[)\[[0-9;?]{0,32}[ -/]{0,2}[@-~]|\x1b\][^\x07\x1b]{0,512}(?:\x07|\x1b\\)|\x1b[@-Z\\^_]")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")

#: What the outside puts before a line; several may follow one another.
_OUTER = re.compile(
    r"""
    \[?(?P<date>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)(?:[.,]\d{1,9})?(?:Z|[ ]?[+-]\d\d:?\d\d)?\]?(?:[ \t]{1,8}|$)
        (?:std(?:out|err)[ ][FP](?:[ ]|$))?                                    # Kubernetes: the container runtime
        (?:(?P<unit1>[\w.-]{1,80}[ ][\w.@-]{1,80})\[\d{1,9}\]:(?:[ ]|$))?      # journalctl -o short-iso
    | (?P<month>[A-Z][a-z]{2}[ ][ \d]\d[ ]\d\d:\d\d:\d\d)(?:\.\d{1,9})?[ ]
        (?P<unit2>[\w.-]{1,80}[ ][^\s\[:]{1,80})(?:\[\d{1,9}\])?:(?:[ ]|$)     # syslog, journalctl
    | (?P<pod>\[pod/[\w./-]{1,200}\])(?:[ ]|$)                                 # kubectl logs --prefix
    | (?P<service>[A-Za-z0-9][\w.-]{0,80})[ ]{0,40}\|(?:[ ]|$)                 # docker compose logs
    """,
    re.X,
)
_WHO = (
    r"\((?P<name>[A-Za-z_][\w.:-]{0,60}(?: rank=\d{1,6})?) pid=(?P<pid>\d{1,9})"
    r"(?:, (?:ip|node)=(?P<ip>[\w.:-]{1,64}))?[^)\n]{0,120}\)"
)
_PROCESS = re.compile(rf"{_WHO}(?: |$)")
_RANK = re.compile(r"\[(?P<name>(?:rank|default)\d{1,6})\]:(?:[ ]|$)?")
_LEVELS = "DEBUG|INFO|WARNING|ERROR|CRITICAL|FATAL"
_HEAD = re.compile(
    rf"""
    (?P<level>{_LEVELS})
    (?: [ ]{{1,8}}(?P<time>\d\d-\d\d[ ]\d\d:\d\d:\d\d)(?:[.,]\d{{1,9}})?[ ]
        \[?(?P<place>[^\]\s]{{1,200}}:\d{{1,9}})\](?:[ ]|$)                    # vLLM; before 0.7 without one bracket
      | :[ ]{{1,10}} )                                                         # uvicorn
    """,
    re.X,
)
#: ``VLLM_LOGGING_PREFIX`` puts any text before the level.
_LATE_HEAD = re.compile(
    rf"""
    [^\n]{{1,80}}?\b(?P<level>{_LEVELS})[ ](?P<time>\d\d-\d\d[ ]\d\d:\d\d:\d\d)(?:[.,]\d{{1,9}})?[ ]
    \[(?P<place>[^\]\s]{{1,200}}:\d{{1,9}})\](?:[ ]|$)
    """,
    re.X,
)
_GLOG = re.compile(
    r"\[?(?P<level>[IWEF])\d{4} (?P<time>\d\d:\d\d:\d\d)\.\d{1,9} {1,8}(?:\d{1,9} )?"
    r"(?P<place>[^\]\s]{1,200}:\d{1,9})\](?: |$)"
)
_GLOG_LEVELS = {"I": "INFO", "W": "WARNING", "E": "ERROR", "F": "FATAL"}
#: Ray prints lines that several workers write alike once.
_RAY_SUFFIX = " across cluster]"
_REPEATED = re.compile(r" \[repeated \d{1,9}x across cluster\]$")
_MOST_WRITERS = 1024


class Stream(NamedTuple):
    """What tells one writer from another: two lines of one traceback have the same. ``source`` is the container, the
    pod or the unit, ``node`` the machine or the rank."""

    source: str = ""
    process: str | None = None
    pid: int | None = None
    place: str | None = None
    node: str = ""


_NOBODY = Stream()


@dataclass(slots=True)
class Line:
    """``text`` keeps its indentation, which tracebacks need."""

    number: int
    text: str
    stream: Stream = _NOBODY
    level: str | None = None
    time: str | None = None

    @property
    def source(self) -> str:
        return self.stream.source

    @property
    def process(self) -> str | None:
        return self.stream.process


class LineReader:
    """Takes lines apart. It keeps the prefixes that it met, since a log has few different ones and repeats each."""

    def __init__(self) -> None:
        self._writers: dict[str, tuple[str, int, str]] = {}
        self._head = ""  #: level, time and place of the last line that had them, as text
        self._head_parts: tuple[str | None, str | None, str | None] = (None, None, None)
        # The prefix of the last line, whole, and what it says: the lines of a traceback all have the same.
        self._prefix = ""
        self._last = Line(0, "")

    def read(self, number: int, raw: str) -> Line:
        """The line ``number``, without its line end. Takes anything, raises nothing."""
        last, at = self._last, len(self._prefix)
        if at and raw.startswith(self._prefix) and (last.level is not None or raw.startswith(" ", at)):
            text = raw[at:].rstrip()
            if text.isprintable() and "^[[" not in text and not text.endswith(_RAY_SUFFIX):
                return Line(number, text, last.stream, last.level, last.time)
        text = raw.rstrip()
        if not text:
            return Line(number, text)
        if not text.isprintable() or "^[[" in text:
            text = cleaned(text)
        if text.endswith(_RAY_SUFFIX):
            text = _REPEATED.sub("", text)
        line, at = self._read(number, text)
        if at < len(text):
            self._prefix, self._last = text[:at], line
        return line

    def _read(self, number: int, text: str) -> tuple[Line, int]:
        """(the line, where its text begins)."""
        at, source, time, process, pid, node = 0, "", None, None, None, ""
        if text[:1] not in " (|^":
            at, source, time = _outer(text)
        while text.startswith("(", at):
            end = text.find(")", at) + 1
            known = self._writers.get(text[at:end]) or self._writer(text, at, end)
            if known is None:
                break
            # Of several prefixes the last one wrote the line, the others only passed it on.
            process, pid, node = known
            at = end + 1 if text.startswith(" ", end) else end
        if text.startswith("[", at) and (found := _RANK.match(text, at)) is not None:
            process, node = process or found["name"], found["name"]
            at = found.end()
        if at >= len(text) or text[at] == " ":
            return Line(number, text[at:], Stream(source, process, pid, None, node), None, time), at
        if self._head and text.startswith(self._head, at):
            level, place, stamp = self._head_parts
            at += len(self._head)
        else:
            level, place, stamp, at = self._level(text, at)
        return Line(number, text[at:], Stream(source, process, pid, place, node), level, stamp or time), at

    def _writer(self, text: str, at: int, end: int) -> tuple[str, int, str] | None:
        found = _PROCESS.match(text, at)
        if found is None or found.end() not in (end, end + 1):
            return None
        known = found["name"], int(found["pid"]), found["ip"] or ""
        if len(self._writers) < _MOST_WRITERS:
            self._writers[text[at:end]] = known
        return known

    def _level(self, text: str, at: int) -> tuple[str | None, str | None, str | None, int]:
        found = _HEAD.match(text, at) or _GLOG.match(text, at)
        if found is None and (" ERROR " in text or " INFO " in text or " WARNING " in text):
            found = _LATE_HEAD.match(text, at)
        if found is None:
            return None, None, None, at
        groups = found.groupdict()
        level = _GLOG_LEVELS.get(groups["level"], groups["level"])
        place, time = groups.get("place"), groups.get("time")
        if place is not None and found.end() < len(text):
            self._head, self._head_parts = found.group(), (level, place, time)
        return level, place, time, found.end()


def cleaned(text: str) -> str:
    """``text`` without escape sequences, real ones and those that became text, and without control characters."""
    return _CONTROL.sub("", _ANSI.sub("", text))


def _outer(text: str) -> tuple[int, str, str | None]:
    """(where the line itself begins, its source, its time)."""
    at, source, time = 0, "", None
    for _ in range(4):
        found = _OUTER.match(text, at)
        if found is None:
            break
        time = found["date"] or found["month"] or time
        source += found["pod"] or found["service"] or found["unit1"] or found["unit2"] or ""
        at = found.end()
    return at, source, time


def dull_lines(unless: str) -> re.Pattern[bytes]:
    """Matches a run of whole INFO and DEBUG lines, which is most of every log, but for those whose text begins with
    ``unless``, a regular expression."""
    colour = r"(?:\x1b\[[0-9;]{0,16}m){0,3}"
    outer, process = f"(?x:{_nameless(_OUTER.pattern)})", _nameless(_WHO)
    head = (
        rf"(?:INFO|DEBUG){colour}(?:: {{1,10}}(?! )| {colour}\d\d-\d\d \d\d:\d\d:\d\d{colour} "
        rf"{colour}\[[^\]\n]{{1,80}}\]{colour} )"
    )
    line = rf"{colour}(?:{outer}){{0,4}}(?:{colour}{process}{colour} ?){{0,3}}{colour}{head}(?!(?:{unless}))[^\n\r]*\n"
    return re.compile(f"(?:{line})+".encode())


def _nameless(pattern: str) -> str:
    return re.sub(r"\(\?P<\w+>", "(?:", pattern)


def unpacked(raw: str) -> list[str]:
    """The lines inside a line of JSON: docker's json-file driver, vLLM's ``--log-formatter json``. [raw] for any other.

    A record's level, process and place are written before each of its lines as vLLM's text format has them, so that
    what reads them need not know.
    """
    if not raw.rstrip().endswith("}"):
        return [raw]
    import json

    try:
        record = json.loads(raw)
    except (ValueError, RecursionError):
        return [raw]
    head, parts = "", []
    if isinstance(record.get("log"), str):
        parts = [record["log"]]
    elif isinstance(record.get("message"), str):
        head = f"{record.get('levelname') or record.get('level') or 'INFO'} {_month_time(record.get('asctime'))} "
        head += f"[{record.get('name', 'log')}:0] "
        if (name := record.get("processName")) and isinstance(pid := record.get("process"), int):
            head = f"({name} pid={pid}) {head}"
        parts = [record[key] for key in ("message", "exc_info", "stack_info") if isinstance(record.get(key), str)]
    else:
        return [raw]
    lines = [head + line for part in parts for line in part.splitlines() or [""]]
    # A lone surrogate, which JSON can spell, is nothing that could be written again.
    return [line.encode("utf-8", "replace").decode("utf-8") for line in lines]


def _month_time(stamp: object) -> str:
    found = re.match(r"\d{4}-(\d\d-\d\d)[T ](\d\d:\d\d:\d\d)", stamp) if isinstance(stamp, str) else None
    return f"{found[1]} {found[2]}" if found else "01-01 00:00:00"
