"""The answer as JSON. Its shape is public and fixed by the contract; keys beyond those of the contract may be added."""

from __future__ import annotations

import json
from typing import Any

from preflight import __version__
from preflight.model import FORMAT_VERSION
from preflight.triage.failure import Failure
from preflight.triage.report import Triage


def render_json(triage: Triage) -> str:
    """The answer as one JSON object, pure ASCII, with a line feed at the end."""
    return json.dumps(triage_data(triage), indent=2) + "\n"


def triage_data(triage: Triage) -> dict[str, Any]:
    """The answer as the data that is written."""
    return {
        "format_version": FORMAT_VERSION,
        "tool": {"name": "preflight", "version": __version__},
        "stage": triage.stage,
        "root_cause": None if triage.root is None else _root(triage, triage.root),
        "cascade": [_failure(failure) for failure in triage.cascade],
        "noise": [
            {"pattern": seen.pattern, "count": seen.count, "why": seen.why, "log_line": seen.line, "text": seen.text}
            for seen in triage.noise
        ],
        "launches": triage.launches,
        "launch": triage.launch,
        "state": None if triage.state is None else triage.state.value,
        "later": None if triage.later is None else triage.later.value,
        "vllm": triage.vllm,
        "progress": None
        if triage.progress is None
        else {
            "percent": triage.progress.percent,
            "done": triage.progress.done,
            "total": triage.progress.total,
            "elapsed": triage.progress.elapsed,
            "log_line": triage.progress.line,
        },
        "survived": [_failure(failure) for failure in triage.survived],
        "earlier": [{"launch": one.launch, "stage": one.stage, **_failure(one.failure)} for one in triage.earlier],
        "last": {
            "log_line": triage.last_line,
            "text": triage.last_text,
            "time": triage.last_time,
            "process": triage.last_process,
        },
        "ending": triage.ending,
        "notes": list(triage.notes),
    }


def _root(triage: Triage, root: Failure) -> dict[str, Any]:
    advice = triage.advice
    told = _failure(root)
    innermost = root.innermost
    return {
        **{key: told[key] for key in ("exception", "message", "path", "line", "process")},
        "patched": triage.patched,
        "rule": advice.rule if advice is not None else None,
        "command": advice.command if advice is not None else None,
        "log_line": told["log_line"],
        "pid": told["pid"],
        "type": root.type,
        "time": root.time,
        "code": root.code,
        "function": root.place.function if root.place is not None else None,
        "innermost": None if innermost is None else {"path": innermost.path, "line": innermost.line},
        "processes": list(root.processes),
        "second_hand": root.second_hand,
        "cut": root.cut,
        "noise": root.noise,
        "meaning": advice.meaning if advice is not None else None,
        "help": advice.help if advice is not None else None,
        "undecidable": advice.nature if advice is not None else None,
    }


def _failure(failure: Failure) -> dict[str, Any]:
    place = failure.place
    return {
        "exception": failure.exception,
        "message": failure.message,
        "path": place.path if place is not None else None,
        "line": place.line if place is not None else None,
        "process": failure.process,
        "pid": failure.pid,
        "log_line": failure.line,
        "count": failure.count,
    }
