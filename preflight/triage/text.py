"""The answer for people: the root cause first, then what it means and what to do, then what followed; a sentence ends
it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from preflight.render.display import Painter, one_line, wrapped
from preflight.triage.advice import Advice
from preflight.triage.failure import Failure, State
from preflight.triage.report import Triage

_INDENT = "  "
#: Of the lists, so many entries are shown; the JSON has all.
_MOST = 12


def render_text(triage: Triage, *, colour: bool, width: int) -> str:
    """The report for a terminal of ``width`` columns."""
    page = _Page(triage, Painter(colour), width)
    blocks = [
        page.root(),
        page.meaning(),
        page.beforehand(),
        page.failures("What followed from it", triage.cascade),
        page.earlier(),
        page.ending(),
        page.failures("Errors after which the launch went on", triage.survived),
        page.noise(),
        page.notes(),
        [page.sentence()],
    ]
    return "\n\n".join("\n".join(block) for block in map(list, blocks) if block) + "\n"


class _Page:
    def __init__(self, triage: Triage, paint: Painter, width: int) -> None:
        self._triage = triage
        self._paint = paint
        self._width = max(width, 40)

    def _wrapped(self, text: str, first: str = _INDENT, rest: str = _INDENT) -> Iterable[str]:
        return wrapped(text, first, rest, self._width)

    def root(self) -> Iterator[str]:
        triage, root = self._triage, self._triage.root
        if root is None:
            return
        title = one_line(f"{root.exception}: {root.message}" if root.exception else root.message)
        label = "root cause"
        first, *rest = self._wrapped(title, f"{label}: ", _INDENT)
        yield self._paint(label, "error") + first.removeprefix(label)
        yield from rest
        if root.place is not None:
            known = {True: " (patched)", False: " (as released)", None: ""}[triage.patched]
            function = f", in {root.place.function}" if root.place.function else ""
            where = self._paint(one_line(f"{root.place.path}:{root.place.line}"), "strong")
            yield f"{_INDENT}{where}{known}{one_line(function)}"
        if root.code:
            yield f"{_INDENT}    {one_line(root.code)[: self._width - 8]}"
        if root.innermost is not None:
            yield f"{_INDENT}raised further in, at {one_line(f'{root.innermost.path}:{root.innermost.line}')}"
        yield f"{_INDENT}{self._where(root)}"
        yield f"{_INDENT}while: {triage.stage}"
        if root.second_hand:
            yield from self._wrapped("This log does not hold the traceback itself; another process tells of it.")
        if root.cut:
            yield from self._wrapped("The log breaks off here; what stands above is all there is.")
        if root.noise:
            yield from self._wrapped("It looks like known noise, but nothing else in the log explains the end.")

    def _where(self, root: Failure) -> str:
        who = _who(root)
        others = [name for name in root.processes if name != root.process]
        alike = f", and alike in {', '.join(others[:6])}{' ...' if len(others) > 6 else ''}" if others else ""
        launch = f", launch {self._triage.launch} of {self._triage.launches}" if self._triage.launches > 1 else ""
        time = f", {root.time}" if root.time else ""
        return one_line(f"log line {root.line}{launch}{time}{f', {who}' if who else ''}{alike}")

    def meaning(self) -> Iterator[str]:
        advice = self._triage.advice
        if advice is None or advice.meaning is None:
            return
        yield from self._wrapped(advice.meaning, "what it means: ")
        if advice.help:
            yield from self._wrapped(advice.help, "what to do: ")

    def beforehand(self) -> Iterator[str]:
        advice = self._triage.advice
        if advice is None:
            return
        if advice.rule is not None:
            yield from self._wrapped(
                f"{advice.rule} ({advice.rule_name}) decides this without a launch. Run before the next one:",
                "beforehand: ",
            )
            yield f"{_INDENT}{_INDENT}{one_line(advice.command or '')}"
            if not advice.whole:
                yield from self._wrapped(_what_is_missing(advice))
        elif advice.nature is not None:
            yield from self._wrapped(f"no static check can decide this ({advice.nature}).", "beforehand: ")
        else:
            cut = self._triage.root is not None and self._triage.root.cut
            why = (
                "not known, since the log breaks off before the exception."
                if cut
                else "no rule of this release decides this."
            )
            yield from self._wrapped(why, "beforehand: ")

    def failures(self, title: str, failures: Sequence[Failure]) -> Iterator[str]:
        if not failures:
            return
        yield f"{title}:"
        for failure in failures[:_MOST]:
            yield self._row(failure)
        if len(failures) > _MOST:
            yield f"{_INDENT}... and {len(failures) - _MOST} more"

    def _row(self, failure: Failure) -> str:
        what = f"{failure.exception}: {failure.message}" if failure.exception else failure.message
        place = f" ({failure.place.path}:{failure.place.line})" if failure.place is not None else ""
        times = f" [{failure.count} times]" if failure.count > 1 else ""
        text = one_line(f"line {failure.line}  {_who(failure) or '-'}  {what}{place}{times}")
        room = self._width - len(_INDENT)
        return _INDENT + (text if len(text) <= room else text[: room - 3] + "...")

    def earlier(self) -> Iterator[str]:
        triage = self._triage
        for one in triage.earlier:
            what = f"{one.failure.exception}: {one.failure.message}" if one.failure.exception else one.failure.message
            yield from self._wrapped(
                f"launch {one.launch} failed too, while: {one.stage} (line {one.failure.line}): {what}", ""
            )
        if triage.later is not None:
            said = {
                State.SERVING: "came up and serves",
                State.STOPPED: "came up and was ended later",
                State.UNFINISHED: "has not failed as far as the log goes, and does not serve yet",
                State.FAILED: "failed",
            }[triage.later]
            yield from self._wrapped(f"This was launch {triage.launch}; the last one, {triage.launches}, {said}.", "")

    def ending(self) -> Iterator[str]:
        """A log that just stops is named as such, with what its last line allows to say."""
        triage = self._triage
        if triage.state is not State.UNFINISHED or not triage.launches:
            return
        when = f" at {triage.last_time}" if triage.last_time else ""
        who = f" by {triage.last_process}" if triage.last_process else ""
        yield from self._wrapped(
            f"The log just stops, in: {triage.stage}. Its last line ({triage.last_line}) was written{when}{who}:", ""
        )
        yield f"{_INDENT}{_INDENT}{one_line(triage.last_text)[: self._width - 4]}"
        if triage.ending is not None:
            yield from self._wrapped(f"`preflight launch` noted: {triage.ending}.", "", "")
            return
        yield from self._wrapped(
            "Nothing in it says why. Either the launch still runs or waits, or it was killed from outside, which no "
            "process can log: exit code 137 and `dmesg` tell of the out-of-memory killer.",
            "",
            "",
        )

    def noise(self) -> Iterator[str]:
        """Set aside, but shown whole where nothing else is left."""
        triage = self._triage
        if not triage.noise:
            return
        if triage.root is None and triage.state is not State.SERVING:
            yield "Set aside as noise; with nothing else in the log, look at it:"
            for seen in triage.noise[:_MOST]:
                yield from self._wrapped(f"line {seen.line} ({seen.count} like it): {seen.text}", _INDENT, _INDENT * 2)
                yield from self._wrapped(seen.why, _INDENT * 2, _INDENT * 2)
        else:
            counts = ", ".join(f"{seen.pattern} {seen.count}" for seen in triage.noise)
            yield from self._wrapped(counts, "set aside as noise: ", _INDENT)

    def notes(self) -> Iterator[str]:
        for note in self._triage.notes:
            yield from self._wrapped(note, "note: ", _INDENT)

    def sentence(self) -> str:
        triage, root = self._triage, self._triage.root
        version = f"vLLM {triage.vllm}: " if triage.vllm else ""
        launches = f"{triage.launches} launch{'es' if triage.launches != 1 else ''}, "
        if triage.state is None:
            return self._paint("The log is empty.", "warning")
        if not triage.launches:
            return self._paint("No line of a vLLM launch was found in it.", "warning")
        if root is None:
            errors = f" ({len(triage.survived)} errors on the way)" if triage.survived else ""
            said = {
                State.SERVING: f"no failure found; it serves{errors}",
                State.STOPPED: "no failure found; it served and was ended",
            }.get(triage.state, f"no failure found; the log stops in: {triage.stage}")
            style = "warning" if triage.state is State.UNFINISHED else "good"
            return self._paint(one_line(f"{version}{launches}{said}."), style)
        place = f" at {root.place.path}:{root.place.line}" if root.place is not None else ""
        if root.exception == "Hang":
            return self._paint(one_line(f"{version}{launches}it hangs in: {triage.stage}."), "error")
        what = root.exception or "an error"
        which = f"launch {triage.launch} " if triage.launches > 1 else ""
        return self._paint(one_line(f"{version}{launches}{which}died in: {triage.stage}, of {what}{place}."), "error")


def _who(failure: Failure) -> str:
    if failure.process is None:
        return ""
    return f"{failure.process} (pid {failure.pid})" if failure.pid is not None else failure.process


def _what_is_missing(advice: Advice) -> str:
    if advice.command is not None and " -- " in advice.command:
        return "The log does not show the whole command line: complete it."
    return "The log does not show the command line: write it behind `--` to have the flags and the model checked too."
