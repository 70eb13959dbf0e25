"""Reads a log: bytes in, launches with their outcomes out. What is known so far can be asked for at any time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from preflight.triage.cause import judge
from preflight.triage.launches import MOST_LOOSE, Launch, Launches, Progress, Sign
from preflight.triage.line import Line, LineReader, cleaned, dull_lines, unpacked
from preflight.triage.patterns import Ending, Patterns, Stage, Weight
from preflight.triage.scan import Scanner
from preflight.triage.tracebacks import MOST_FRAMES, Frame, Raised, Tracebacks

#: So many lines behind an exception or another sign are read one by one: its message may go on.
_ATTENTION = 24
_MOST_SIGNS = 40
_FILE = b"  File "
_MILD = ("DEBUG", "INFO", "WARNING")
_LONGEST_ARGUMENTS = 8000

#: Every line that matters, and is no INFO line, has one of these. Short, since many words of the tables share them.
WORDS = (
    "raceback", "rror", "RROR", "RITICAL", "FATAL", "xcept", 'File "', "Process ", "preflight launch", "ailed",
    "illed", "SIG", "NCCL", "Seg", "ignal", "Watchdog", "xit", "died", "bort", "code=dumped", "Bus e", "not found",
    "terminate called", "in use", "hutting", "[shut", "arning", "eprecat", "EPRECAT", "Triton", "gpt_oss",
    "repo_utils", "CUDA runtime", "resource_tracker", "leaked", "destroy_process_group", "core engine proc",
    "shared memory broadcast", "oom-kill", "Waiting for", "version ", "args: ", "oading", "Prefetching", "apturing",
    "rchitecture", "KV cache s", "KV cache m", "nitializing", "tarting", "warming up", "pplication startup",
    "Uvicorn running", "world_size", "world size", "max model len", "init engine", "routes are", "Started a local",
    "usage_lib", "nccl==",
)  # fmt: skip
_VERSION = re.compile(r"(?:API server version|server version|█.* version) v?(?P<version>\d[\w.+-]{0,60})")
_ENGINE_VERSION = re.compile(r"LLM engine \(v(?P<version>[\w.+-]{1,60})\)")
_ARGUMENTS = re.compile(r"(?:non-default )?args: (?P<arguments>(?:\{|Namespace\().*)")
_REFUSAL = re.compile(r"(?P<program>\S*(?:vllm|\.py|api_server)(?: [\w-]{1,40}){0,3}): error: (?P<message>\S.*)")
_ADDRESS = re.compile(r"(?:server|running) .{0,40}?\bon (?P<url>https?://[^\s()]{1,300})")
_OWN = "# preflight launch: "
_OURS = re.compile(rf"{_OWN}(?P<command>.*)")
_PROGRESS = re.compile(
    r"(?P<percent>\d{1,3})%(?: Completed \||\|[^|]{0,200}\|) ?(?P<done>\d{1,7})/(?P<total>\d{1,7}) "
    r"\[(?P<elapsed>[\d:]{1,12})<"
)


@dataclass(slots=True)
class NoiseSeen:
    """How often a pattern was met, and the first line that has it."""

    pattern: str
    why: str
    count: int = 0
    line: int = 0
    text: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """Everything a log says. ``last`` is its last line that is not blank, None for an empty log."""

    launches: tuple[Launch, ...]
    launch_count: int
    noise: tuple[NoiseSeen, ...]
    last: Line | None
    size: int


class LogReader:
    """Feed it the log's bytes, in pieces of any size; ``finish`` ends it."""

    def __init__(self, patterns: Patterns, lines_before: int = 0) -> None:
        """``lines_before``: so many lines of the file stand before the bytes that are fed."""
        self._patterns = patterns
        self._launches = Launches(patterns)
        self._lines = LineReader()
        self._tracebacks = Tracebacks(self._on_raised, self._on_stack)
        self._attention = 0
        self._serving = patterns.stages[-1]
        self._flags = patterns.stage("flags")
        self._noise = {noise.contains: NoiseSeen(noise.contains, noise.why) for noise in patterns.noise}
        self._any_noise = _any_of(self._noise)
        self._endings: dict[str, list[Ending]] = {}
        for ending in patterns.endings:
            self._endings.setdefault(ending.contains, []).append(ending)
        self._any_ending = _any_of(self._endings)
        # What a text may begin with, in one expression; the number of the group says which it was.
        self._beginnings: list[Callable[[Launch, Line], Launch]] = []
        parts: list[str] = []
        for stage in patterns.stages:
            for marker in stage.markers:
                parts.append(marker)
                self._beginnings.append(lambda launch, line, stage=stage: self._reach(launch, stage, line))
        for words, act in (
            (patterns.waiting, self._wait),
            (patterns.shutdown, self._shut_down),
            (("(?:non-default )?args: [{N]", "vLLM (?:API )?server version ", "[ ▄]{0,40}█"), self._opening),
            ((_OWN,), self._ours),
        ):
            parts += words
            self._beginnings += [act] * len(words)
        self._beginning = re.compile("|".join(f"(?P<b{number}>{part})" for number, part in enumerate(parts)))
        dull = dull_lines("|".join(parts))
        self._prefix = b""
        self._scanner = Scanner(self._each, self._many, dull, tuple(word.encode() for word in WORDS), lines_before)

    def feed(self, data: bytes) -> None:
        """The next bytes of the log."""
        self._scanner.feed(data)

    @property
    def current(self) -> Launch | None:
        """The launch that wrote last, as far as it is known now."""
        return self._launches.last

    def failing(self) -> bool:
        """Whether the launch that wrote last has failed, as far as the log goes now."""
        launch = self.current
        return launch is not None and judge(launch, self._patterns).root is not None

    def finish(self) -> Reading:
        """The log is over."""
        number, tail = self._scanner.finish(_OWN.encode())
        self._tracebacks.finish()
        last = self._lines.read(number, tail.decode("utf-8", "replace")) if tail else None
        if last is not None:
            launch = self._launches.current(last.source, number)
            launch.last_line = max(launch.last_line, number)
        launches = tuple(self._launches.kept)
        for launch in launches:
            launch.outcome = judge(launch, self._patterns)
        noise = tuple(seen for seen in self._noise.values() if seen.count)
        count = 0 if all(launch.blank for launch in launches) else self._launches.count
        return Reading(launches, count, noise, last, self._scanner.size)

    # ---- one line

    def _each(self, number: int, raw: bytes) -> bytes | None:
        text = raw.decode("utf-8", "replace")
        beginning = b""
        if text.startswith("{"):
            for part in unpacked(text):
                self._line(self._lines.read(number, part))
        else:
            line = self._lines.read(number, text)
            self._line(line)
            if self._tracebacks.in_frames and (own := line.text.encode()) and raw.endswith(own):
                # The lines of one traceback all have the same prefix, and most of them are frames and their code.
                self._prefix = raw[: len(raw) - len(own)]
                beginning = self._prefix + b"  "
        if self._tracebacks.open:
            self._tracebacks.review(number)
        return beginning if self._tracebacks.open or number < self._attention else None

    def _many(self, number: int, lines: list[bytes]) -> None:
        at = len(self._prefix)
        whole = b"".join(lines)
        coloured = b"\x1b" in whole or b"^[[" in whole  # Python 3.13 colours its tracebacks
        under_frame = True
        for line in lines:
            # Of what stands under a frame only the first line is wanted.
            frame = line.startswith(_FILE, at)
            if frame or under_frame:
                text = line[at:].decode("utf-8", "replace")
                self._tracebacks.more(cleaned(text) if coloured else text)
            under_frame = frame
        self._tracebacks.reached(number + len(lines) - 1)

    def _line(self, line: Line) -> None:
        if self._tracebacks.feed(line):
            return
        text = line.text
        if not text or text.isspace():
            return
        launch = self._launches.current(line.source, line.number)
        launch.last_line = line.number
        launch.last_time = line.time or launch.last_time
        level = line.level
        if level != "ERROR" and level != "WARNING" and (found := self._beginning.match(text)) is not None:
            number = int((found.lastgroup or "b0")[1:])
            launch = self._beginnings[number](launch, line)
        if level == "INFO" or level == "DEBUG":  # the fast way out: most lines leave here
            return
        noisy = self._any_noise.search(f"{line.stream.place} {text}" if line.stream.place else text)
        if noisy is not None:
            self._count_noise(noisy.group(), line)
            return
        if level is None and (refused := _REFUSAL.match(text)) is not None:
            launch = self._launches.open("flags", line)
            launch.exit_line = line.number
            self._sign(launch, Sign("SystemExit", refused["message"], Weight.CERTAIN, line, self._flags))
            return
        self._signs(launch, line)
        if level in ("ERROR", "CRITICAL", "FATAL"):
            launch.loose.append((line, launch.stage))
            if len(launch.loose) > MOST_LOOSE:
                del launch.loose[0]

    def _count_noise(self, pattern: str, line: Line) -> None:
        seen = self._noise[pattern]
        seen.count += 1
        if seen.count == 1:
            place = f"[{line.stream.place}] " if line.stream.place else ""
            seen.line, seen.text = (
                line.number,
                f"{f'{line.level} ' if line.level else ''}{place}{line.text.strip()}"[:500],
            )

    # ---- texts that begin so that they tell how far the launch is

    def _reach(self, launch: Launch, stage: Stage, line: Line) -> Launch:
        if line.text.startswith("Loading drafter"):
            launch.drafter = True
        launch.reach(stage, line)
        if (found := _PROGRESS.search(line.text)) is not None:
            percent = min(int(found["percent"]), 100)
            launch.progress = Progress(percent, int(found["done"]), int(found["total"]), found["elapsed"], line.number)
        if stage is self._serving and launch.serving_line is None:
            launch.serving_line = line.number
        if (address := _ADDRESS.search(line.text)) is not None:
            launch.address = address["url"]
        if launch.version is None and (version := _ENGINE_VERSION.search(line.text)) is not None:
            launch.version = version["version"]
        return launch

    @staticmethod
    def _wait(launch: Launch, line: Line) -> Launch:
        launch.waits += 1
        launch.waiting_line, launch.waiting_time = line.number, line.time
        return launch

    @staticmethod
    def _shut_down(launch: Launch, line: Line) -> Launch:
        if launch.shutdown_line is None:
            launch.shutdown_line = line.number
        return launch

    def _opening(self, launch: Launch, line: Line) -> Launch:
        """Lines that stand once in every launch."""
        if (found := _VERSION.search(line.text)) is not None:
            launch = self._launches.open("version", line)
            launch.version = found["version"]
        elif (found := _ARGUMENTS.match(line.text)) is not None:
            launch = self._launches.open("args", line)
            launch.arguments = found["arguments"] if len(found["arguments"]) <= _LONGEST_ARGUMENTS else None
        else:
            return launch
        launch.last_line = line.number
        launch.reach(self._patterns.stage("engine config"), line)
        return launch

    def _ours(self, launch: Launch, line: Line) -> Launch:
        """What `preflight launch` writes at the beginning and at the end of its log."""
        if (found := _OURS.match(line.text)) is None:
            return launch
        if found["command"].startswith("the command "):
            launch.exit_line, launch.ending = line.number, found["command"]
            return launch
        launch = self._launches.open("command", line)
        launch.command = found["command"]
        return launch

    # ---- signs of an end

    def _signs(self, launch: Launch, line: Line) -> None:
        text = line.text
        if text.lstrip().startswith("what():") and launch.signs and launch.signs[-1].exception == "C++ exception":
            sign = launch.signs[-1]
            launch.signs[-1] = replace(sign, message=f"{sign.message}: {text.partition('what():')[2].strip()}")
            return
        if self._any_ending.search(text) is None:
            return
        for contains, endings in self._endings.items():
            for ending in endings if contains in text else ():
                match = ending.pattern.search(text) if ending.pattern is not None else None
                if ending.pattern is not None and match is None:
                    continue
                groups = {key: value or "" for key, value in match.groupdict().items()} if match is not None else {}
                message = ending.message.format_map(groups) if ending.message else text.strip()
                self._sign(launch, Sign(ending.exception, message[:500], ending.weight, line, launch.stage))
                return

    def _sign(self, launch: Launch, sign: Sign) -> None:
        known = any((sign.exception, sign.message) == (other.exception, other.message) for other in launch.signs)
        if len(launch.signs) < _MOST_SIGNS and not known:
            launch.signs.append(sign)
            self._attention = sign.line.number + _ATTENTION

    # ---- what the tracebacks tell

    def _on_raised(self, raised: Raised) -> None:
        self._attention = raised.line + _ATTENTION
        launch = self._launches.current(raised.stream.source, raised.start)
        launch.last_line = max(launch.last_line, raised.line)
        weight = self._weight(raised)
        logged = raised.level is not None and raised.part_of is None
        noise = logged and self._any_noise.search(f"{raised.stream.place} {raised.before}") is not None
        launch.see(raised, weight, noise)
        # The logger's message above a traceback is no error of its own.
        launch.loose = [entry for entry in launch.loose if entry[0].text.strip() != raised.before.strip()]
        # It came before the launch could name itself; what another container says is none of its business.
        nameless = raised.level is None and raised.process is None and (not raised.stream.source or raised.in_tree)
        if weight is Weight.CERTAIN and nameless and not launch.seen:
            launch.exit_line = raised.line

    def _weight(self, raised: Raised) -> Weight:
        for entry in self._patterns.handled:
            if entry.contains in raised.before:
                return Weight.CERTAIN if entry.fatal else Weight.SPARE
        if raised.level in _MILD:
            return Weight.SPARE
        if raised.level == "ERROR" or not (raised.frames or raised.type is None):
            return Weight.LIKELY
        return Weight.CERTAIN

    def _on_stack(self, line: Line, frame: Frame) -> None:
        launch = self._launches.current(line.source, line.number)
        if launch.signs and len(launch.signs[-1].stack) < MOST_FRAMES:
            launch.signs[-1] = replace(launch.signs[-1], stack=(*launch.signs[-1].stack, frame))


def _any_of(words: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(re.escape(word) for word in sorted(words, key=len, reverse=True)) or r"(?!)")
