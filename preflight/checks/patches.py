"""What of the diffs and the patch scripts does not apply to the tree, and where in the tree its lines are now."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from preflight.checks.context import Check, Context
from preflight.model import Fault, Severity, Span, Value
from preflight.tree.diff import Failure, Why
from preflight.tree.scripts.outcome import ScriptFailure, ScriptWhy

REFUSED = "hunk-refused"
APPLIED = "hunk-already-applied"
SCRIPT_STOPS = "patch-script-stops"
ANCHOR_MISSING = "patch-anchor-missing"
ANCHOR_REPLACED = "patch-anchor-replaced"
ANCHOR_SEVERAL = "patch-anchor-several"

#: A line or two may stand in many files; fewer lines that are not blank say nothing of where code has gone.
_TELLING = 3
#: So many steps of a kind are named for each script, and the text of so many is looked for in the whole tree.
_NAMED = 100
_LOOKED_FOR = 40
#: Shorter text is looked for nowhere else.
_LONG_ENOUGH = 24
_WHY = (
    "`git apply` and `patch` refuse it, or put it elsewhere, so the tree that is launched is not the one that was meant"
)


def check_hunks(context: Context) -> Iterator[Fault]:
    """A fault for every hunk, or whole file of a diff, that does not apply strictly."""
    looked = 0
    for failure in context.tree.failures:
        if failure.why is Why.APPLIED:
            yield Fault(
                APPLIED,
                Span(failure.diff, failure.diff_line),
                failure.message,
                why="it changes nothing, and `git apply` refuses a diff that has such a hunk",
                help="take the hunk out of the diff, or check the tree without it",
            )
        else:
            looked += 1
            elsewhere = _elsewhere(context, failure) if looked <= _LOOKED_FOR else ""
            yield Fault(
                REFUSED,
                Span(failure.diff, failure.diff_line),
                failure.message,
                why=_WHY,
                help=f"{elsewhere}make the diff anew against this tree, or name the release that it was made for: "
                "--vllm VERSION",
                values=_values(failure),
            )


def check_scripts(context: Context) -> Iterator[Fault]:
    """A fault for every step of a patch script that stops it, or does nothing; of very many, for the first ones."""
    groups: dict[tuple[str, ScriptWhy, bool], list[ScriptFailure]] = {}
    for failure in context.tree.script_failures:
        groups.setdefault((failure.script, failure.why, failure.handled), []).append(failure)
    looked = 0
    for group in groups.values():
        for number, failure in enumerate(group[:_NAMED], 1):
            looked += 1
            fault = _script_fault(context, failure, looked <= _LOOKED_FOR)
            more = len(group) - _NAMED if number == _NAMED else 0
            yield (
                replace(fault, message=f"{fault.message} (and so it is with {more} more steps)") if more > 0 else fault
            )


def _script_fault(context: Context, failure: ScriptFailure, look: bool) -> Fault:
    span = Span(failure.script, failure.line)
    anchor = f"`{_shown(failure.anchor)}`" if failure.anchor is not None else None
    moved = _anchor_elsewhere(context, failure) if look else ""
    if failure.why is ScriptWhy.STOPS:
        if anchor is not None:
            cause = f"{failure.path} has no {anchor}"
        elif failure.path is not None:
            cause = f"the tree has no {failure.path}"
        else:
            cause = failure.reason
        return Fault(
            SCRIPT_STOPS,
            span,
            f"the patch script ends here with an error on this tree: {cause}",
            why=failure.reason if failure.reason != cause else None,
            help=f"{moved}write the step anew for this release, or name the release that it was made for: "
            "--vllm VERSION",
            values=_script_values(failure),
        )
    if failure.why is ScriptWhy.SEVERAL:
        lines = ", ".join(str(line) for line in failure.lines)
        return Fault(
            ANCHOR_SEVERAL,
            span,
            f"{failure.path} has the text that is replaced more than once (lines {lines}): {anchor}",
            why="the step was likely written for one of these places",
            help="take more lines into the text, so that it stands at one place only",
        )
    if failure.why is ScriptWhy.APPLIED:
        return Fault(
            ANCHOR_REPLACED,
            span,
            f"{failure.path} has the replacement already, and not the text to replace: {anchor}",
            why="the step changes nothing in this tree",
            help="take the step out for this release, or check the tree without it",
        )
    what = f"{failure.path} has no {anchor}" if anchor is not None else f"the tree has no {failure.path}"
    return Fault(
        ANCHOR_MISSING,
        span,
        f"this step of the patch script changes nothing: {what}",
        why="the script goes on, so the tree that is launched lacks this part of the patch",
        help=f"{moved}write the step anew for this release, and let it fail where its text is not found",
        values=_script_values(failure),
        severity=Severity.INFO if failure.handled else None,
    )


def _script_values(failure: ScriptFailure) -> tuple[Value, ...]:
    if failure.anchor is None:
        return ()
    return (Value("the script looks for", failure.anchor, f"{failure.script}:{failure.line}"),)


def _shown(text: str | None) -> str:
    lines = [line.strip() for line in (text or "").strip("\n").splitlines() if line.strip()]
    first = lines[0] if lines else (text or "")
    return (first if len(first) <= 70 else first[:67] + "...") + (" ..." if len(lines) > 1 else "")


def _anchor_elsewhere(context: Context, failure: ScriptFailure) -> str:
    """Where a missing anchor stands now, or a missing file is; "" if nowhere, or at many places."""
    if failure.anchor is None:
        name = (failure.path or "").rpartition("/")[2]
        named = [path for path in context.tree.files() if name and path.rpartition("/")[2] == name]
        return f"the tree has {named[0]}; " if len(named) == 1 else ""
    if len(failure.anchor.strip()) < _LONG_ENOUGH:
        return ""
    text = failure.anchor.strip("\n").encode("utf-8", "surrogateescape")
    places = context.load_program().texts.places(text, failure.path or "")
    return f"its text is in {places[0][0]}:{places[0][1]} now; " if len(places) == 1 else ""


def _values(failure: Failure) -> tuple[Value, ...]:
    if failure.wanted is None:
        return ()
    place = f"{failure.path}:{failure.tree_line}"
    return (
        Value("the diff wants", failure.wanted.rstrip("\n"), f"{failure.diff}:{failure.diff_line}"),
        Value("the tree has", None if failure.found is None else failure.found.rstrip("\n"), place),
    )


def _elsewhere(context: Context, failure: Failure) -> str:
    """Where the lines of a hunk are now that are not in their file, or where a file of that name is; "" if nowhere."""
    if failure.why not in (Why.DIFFERS, Why.NO_FILE):
        return ""
    telling = sum(bool(line.strip()) for line in failure.before) >= _TELLING
    text = "".join(failure.before).strip("\n").encode("utf-8", "surrogateescape")
    name = failure.path.rpartition("/")[2]
    places = context.load_program().texts.places(text, failure.path) if telling else []
    if len(places) == 1:
        return f"its lines are in {places[0][0]}:{places[0][1]} now; "
    named = [path for path in context.tree.files() if path.endswith(f"/{name}") and path != failure.path]
    if failure.why is Why.NO_FILE and len(named) == 1:
        return f"the tree has {named[0]}; "
    return ""


CHECKS = (
    Check(frozenset({REFUSED, APPLIED}), check_hunks),
    Check(frozenset({SCRIPT_STOPS, ANCHOR_MISSING, ANCHOR_REPLACED, ANCHOR_SEVERAL}), check_scripts),
)
