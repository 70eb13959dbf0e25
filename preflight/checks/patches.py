"""What of the diffs does not apply to the tree, and where in the tree its lines are now."""

from __future__ import annotations

from collections.abc import Iterator

from preflight.checks.context import Check, Context
from preflight.model import Fault, Span, Value
from preflight.tree import SourceUnreadable
from preflight.tree.diff import Failure, Why

REFUSED = "hunk-refused"
APPLIED = "hunk-already-applied"

#: A line or two may stand in many files; fewer lines that are not blank say nothing of where code has gone.
_TELLING = 3
_WHY = (
    "`git apply` and `patch` refuse it, or put it elsewhere, so the tree that is launched is not the one that was meant"
)


def check_hunks(context: Context) -> Iterator[Fault]:
    """A fault for every hunk, or whole file of a diff, that does not apply strictly."""
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
            yield Fault(
                REFUSED,
                Span(failure.diff, failure.diff_line),
                failure.message,
                why=_WHY,
                help=f"{_elsewhere(context, failure)}make the diff anew against this tree, or name the release that "
                "it was made for: --vllm VERSION",
                values=_values(failure),
            )


CHECKS = (Check(frozenset({REFUSED, APPLIED}), check_hunks),)


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
    named: list[str] = []
    places: list[str] = []
    for path in context.tree.files():
        if not path.endswith(".py") or path == failure.path:
            continue
        if path.rpartition("/")[2] == name:
            named.append(path)
        if telling and (line := _line_of(context, path, text)) is not None:
            places.append(f"{path}:{line}")
    if len(places) == 1:
        return f"its lines are in {places[0]} now; "
    if failure.why is Why.NO_FILE and len(named) == 1:
        return f"the tree has {named[0]}; "
    return ""


def _line_of(context: Context, path: str, text: bytes) -> int | None:
    try:
        data = context.tree.read(path)
    except SourceUnreadable:
        return None
    at = data.find(text)
    return data.count(b"\n", 0, at) + 1 if at >= 0 else None
