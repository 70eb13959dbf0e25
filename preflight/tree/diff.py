"""Unified diffs, read with unidiff and applied in memory, exactly: at the lines that the diff names, and nowhere else.

``patch`` would look around and guess; a check must not, since what it then checked need not be what gets applied.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

from preflight.errors import TreeError

if TYPE_CHECKING:
    from unidiff import PatchedFile

_NOTHING = "/dev/null"
#: ``diff -N`` gives a file that is not there the time 0, which is either day, by time zone.
_EPOCH = ("1970-01-01", "1969-12-31")


@dataclass(frozen=True, slots=True)
class Hunk:
    """A hunk: the lines (each with its line end) that it wants at ``start``, and what it makes of them."""

    line: int  #: of its first line in the diff
    start: int  #: the place in the old file, counted from 0
    target: int  #: the place in the new file, counted from 0
    before: tuple[str, ...]
    after: tuple[str, ...]
    lines: tuple[int, ...]  #: for each line of ``before``, its line in the diff
    kept: tuple[bool, ...]  #: for each line of ``before``, whether it stays
    added: tuple[int | None, ...]  #: for each line of ``after``, its line in the diff; None for one that was there
    open_end: bool = True  #: it ends in a line that stays; one that does not belongs at the end of the file


@dataclass(frozen=True, slots=True)
class FileDiff:
    """What a diff does to one file. ``old`` None: the file is new; ``new`` None: it is deleted. Where both are there,
    they are two spellings of one file (``a/x.py`` and ``b/x.py``) unless it is ``renamed``."""

    line: int
    old: str | None
    new: str | None
    hunks: tuple[Hunk, ...]
    renamed: bool = False
    binary: bool = False

    @property
    def name(self) -> str:
        """The file as the diff names it."""
        return self.new or self.old or _NOTHING


class Why(str, Enum):
    """Why a diff does not apply to a file."""

    DIFFERS = "differs"  #: the tree has other text at this place, and the text is nowhere else in the file
    MOVED = "moved"  #: the text is in the file, at other lines
    APPLIED = "already-applied"  #: the tree has the result already
    NO_FILE = "no-file"  #: the file to change is not there
    EXISTS = "exists"  #: the file to create is there
    OVERLAPS = "overlaps"  #: the hunk begins before the end of the one before it
    GOES_ON = "goes-on"  #: the hunk ends with the file that it was made for, and the tree's file goes on behind it


@dataclass(frozen=True, slots=True)
class Failure:
    """A hunk (or a whole file of a diff) that does not apply. Lines count from 1."""

    diff: str
    diff_line: int
    path: str
    why: Why
    tree_line: int | None = None
    wanted: str | None = None  #: the diff's line
    found: str | None = None  #: what the tree has there; None: the file ends before
    moved_to: int | None = None

    before: tuple[str, ...] = ()  #: the lines that the hunk wants

    @property
    def message(self) -> str:
        """One sentence that stands alone, without the place in the diff."""
        if self.why is Why.NO_FILE:
            return f"the diff changes {self.path}, which the tree does not have"
        if self.why is Why.EXISTS:
            return f"the diff creates {self.path}, which the tree has already"
        if self.why is Why.APPLIED:
            return f"the hunk for {self.path} is applied already (at line {self.tree_line})"
        if self.why is Why.OVERLAPS:
            return f"the hunk for {self.path} begins inside the one before it"
        if self.why is Why.GOES_ON:
            return (
                f"the hunk for {self.path} is for the end of the file, and the file goes on at line {self.tree_line}: "
                f"{_shown(self.found)}"
            )
        has = "the file ends before it" if self.found is None else f"the tree has {_shown(self.found)}"
        text = f"the hunk does not apply to {self.path}: line {self.tree_line} should be {_shown(self.wanted)}, {has}"
        return f"{text}; the hunk's lines are at line {self.moved_to}" if self.why is Why.MOVED else text


@dataclass(frozen=True, slots=True)
class Mark:
    """The line of a diff that made a line of a file."""

    diff: str
    line: int


#: for each line of a file, what made it; None for a line that the tree had
Marks = tuple["Mark | None", ...]


@dataclass(frozen=True, slots=True)
class Applied:
    """What a diff makes of a tree: new contents by path (None: deleted), which of its lines the diff made, what failed,
    and what was left aside. A file of which a hunk fails is left as it is, unless the hunk is applied already."""

    changes: dict[str, bytes | None]
    marks: dict[str, Marks]
    failures: tuple[Failure, ...]
    skipped: tuple[str, ...]


_HUNK = re.compile(r"@@ -\d+(,\d+)? \+\d+(,\d+)? @@")


def looks_like_diff(data: bytes) -> bool:
    """True if ``data`` has the headers of a unified diff."""
    head = b"\n" + data[: 1 << 20]
    return b"\ndiff --git " in head or (b"\n--- " in head and b"\n+++ " in head and b"\n@@ -" in head)


def read_diff(data: bytes, name: str) -> tuple[FileDiff, ...]:
    """The files of a unified diff. Raises TreeError, with the line, for what is none."""
    from unidiff import PatchSet
    from unidiff.errors import UnidiffParseError

    if b"\0" in data:
        raise TreeError(f"{name} holds null bytes: it is no unified diff.", "Make it with `git diff` or `diff -u`.")
    place = [0]

    def lines() -> Iterator[str]:
        in_file = False
        for line in _split(data.decode("utf-8", "surrogateescape")):
            place[0] += 1
            if line.startswith("@@@ "):
                raise TreeError(
                    f"{name}, line {place[0]}: is a combined diff of a merge, which cannot be applied.",
                    "Make a diff against one parent: `git diff BASE`.",
                )
            in_file = in_file or line.startswith("+++ ")
            if in_file and line.startswith("@@") and _HUNK.match(line) is None:
                raise TreeError(
                    f"{name}, line {place[0]}: `{line.strip()[:60]}` is no header of a hunk.",
                    "Make the diff again with `git diff` or `diff -u`.",
                )
            yield line

    try:
        patches = PatchSet(lines())
    except UnidiffParseError as error:
        what = " ".join(str(error).split())
        raise TreeError(
            f"{name}, line {place[0]}: is no whole unified diff: {what[:1].lower()}{what[1:]}.",
            "Make it again with `git diff` or `diff -u`; a diff that was cut or edited by hand has wrong line counts.",
        ) from None
    files = tuple(_file(patch, name) for patch in patches)
    if not files:
        raise TreeError(f"{name} holds no unified diff.", "Make it with `git diff` or `diff -u`.")
    return files


def reversed_diff(files: Sequence[FileDiff]) -> tuple[FileDiff, ...]:
    """The diff that takes back what these files of a diff do, in the order of the diff (``patch -R``)."""
    return tuple(
        replace(file, old=file.new, new=file.old, hunks=tuple(map(_reversed_hunk, file.hunks))) for file in files
    )


def _reversed_hunk(hunk: Hunk) -> Hunk:
    kept = iter(line for line, stays in zip(hunk.lines, hunk.kept, strict=True) if stays)
    return replace(
        hunk,
        start=hunk.target,
        target=hunk.start,
        before=hunk.after,
        after=hunk.before,
        lines=tuple(next(kept) if line is None else line for line in hunk.added),
        kept=tuple(line is None for line in hunk.added),
        added=tuple(None if stays else line for line, stays in zip(hunk.lines, hunk.kept, strict=True)),
    )


def apply(
    files: Sequence[FileDiff],
    name: str,
    place: Callable[[Sequence[str]], str | None],
    read: Callable[[str], bytes | None],
    marked: Callable[[str], Marks] = lambda path: (),
) -> Applied:
    """Applies the files of the diff ``name``, in order.

    ``place`` tells the tree's path for the spellings that the diff has of a file (None: it is of no concern here),
    ``read`` gives a file's content or None if there is no such file, ``marked`` which of its lines an earlier diff made
    (empty: none). Failures do not stop it: every hunk is tried.
    """
    changes: dict[str, bytes | None] = {}
    marks: dict[str, Marks] = {}
    failures: list[Failure] = []
    skipped: list[str] = []

    def content(path: str) -> bytes | None:
        return changes[path] if path in changes else read(path)

    for file in files:
        old, new = _placed(file, place)
        path = new or old
        if path is None or file.binary:
            skipped.append(file.name)
            continue
        before = content(old) if old is not None else None
        if old == new and before is None and _creates(file):
            old = None
        if old is not None and before is None:
            failures.append(Failure(name, file.line, old, Why.NO_FILE))
            continue
        if old != new and new is not None and (there := content(new)) is not None:
            after, _, _ = _patched([], (), file, name, path)
            same = old is None and _joined(after) == there
            failures.append(Failure(name, file.line, new, Why.APPLIED if same else Why.EXISTS, tree_line=1))
            continue
        known = () if old is None else marks[old] if old in marks else marked(old)
        after, made, failed = _patched(_split_bytes(before or b""), known, file, name, path)
        failures += failed
        if any(failure.why is not Why.APPLIED for failure in failed):
            continue
        if old is not None and old != new:
            changes[old] = None
        if new is not None:
            changes[new] = _joined(after)
            marks[new] = made
    return Applied(changes, marks, tuple(failures), tuple(skipped))


def _placed(file: FileDiff, place: Callable[[Sequence[str]], str | None]) -> tuple[str | None, str | None]:
    """The tree's paths for the old and the new file; both None if either is of no concern."""
    if file.old is None or file.new is None or file.renamed:
        old = place([file.old]) if file.old is not None else None
        new = place([file.new]) if file.new is not None else None
        left_aside = (old is None) != (file.old is None) or (new is None) != (file.new is None)
        return (None, None) if left_aside else (old, new)
    path = place([file.new, file.old])
    return path, path


def _creates(file: FileDiff) -> bool:
    """True for a diff of a file against nothing (``diff -N`` gives such a file its own name on both sides)."""
    return len(file.hunks) == 1 and not file.hunks[0].before and file.hunks[0].start == 0


def _patched(
    lines: list[str], known: Marks, file: FileDiff, name: str, path: str
) -> tuple[list[str], Marks, list[Failure]]:
    """The lines after all hunks that apply, and what made them; ``known`` is what made the lines before."""
    marks = [*known, *[None] * (len(lines) - len(known))]
    out: list[str] = []
    made: list[Mark | None] = []
    failures: list[Failure] = []
    place = 0
    # without any line of context (``diff -U0``) nothing tells the end of a file from another place
    anchored = any(any(hunk.kept) for hunk in file.hunks)
    for hunk in file.hunks:
        end = hunk.start + len(hunk.before)
        if hunk.start < place:
            failures.append(Failure(name, hunk.line, path, Why.OVERLAPS))
        elif hunk.start > len(lines) or tuple(lines[hunk.start : end]) != hunk.before:
            failures.append(_failure(lines, hunk, name, path))
        elif anchored and not hunk.open_end and end < len(lines):
            there = lines[end]
            failures.append(Failure(name, hunk.line, path, Why.GOES_ON, end + 1, None, there, before=hunk.before))
        else:
            out += [*lines[place : hunk.start], *hunk.after]
            kept = iter(mark for mark, line in zip(marks[hunk.start : end], hunk.kept, strict=True) if line)
            made += marks[place : hunk.start]
            made += [next(kept) if line is None else Mark(name, line) for line in hunk.added]
            place = end
    return out + lines[place:], (*made, *marks[place:]), failures


def _failure(lines: list[str], hunk: Hunk, name: str, path: str) -> Failure:
    """Says why a hunk does not apply: it is applied already, or its lines moved, or they are not there."""
    if hunk.after and tuple(lines[hunk.target : hunk.target + len(hunk.after)]) == hunk.after:
        return Failure(name, hunk.line, path, Why.APPLIED, tree_line=hunk.target + 1, before=hunk.before)
    offset = 0
    while (
        offset < len(hunk.before)
        and hunk.start + offset < len(lines)
        and lines[hunk.start + offset] == hunk.before[offset]
    ):
        offset += 1
    number = hunk.start + offset
    moved = _found(lines, hunk.before, hunk.start)
    return Failure(
        name,
        hunk.lines[offset] if offset < len(hunk.lines) else hunk.line,
        path,
        Why.DIFFERS if moved is None else Why.MOVED,
        tree_line=number + 1,
        wanted=hunk.before[offset] if offset < len(hunk.before) else None,
        found=lines[number] if number < len(lines) else None,
        moved_to=None if moved is None else moved + 1,
        before=hunk.before,
    )


def _found(lines: list[str], wanted: tuple[str, ...], near: int) -> int | None:
    """The place nearest to ``near`` where ``wanted`` stands."""
    if not any(line.strip() for line in wanted):
        return None
    first = wanted[0]
    places = [i for i, line in enumerate(lines) if line == first and tuple(lines[i : i + len(wanted)]) == wanted]
    return min(places, key=lambda i: abs(i - near), default=None)


def _file(patch: PatchedFile, name: str) -> FileDiff:
    info = [str(line) for line in patch.patch_info or ()]
    line = next((part.diff_line_no - 1 for hunk in patch for part in hunk if part.diff_line_no), 1)
    for text in info:
        if text.startswith("copy from "):
            raise TreeError(
                f"{name}, line {line}: copies a file ({text[10:].strip()}), which is not supported.",
                "Make the diff without copies: `git diff --no-renames`.",
            )
    old = _name(patch.source_file)
    new = _name(patch.target_file)
    if (patch.target_timestamp or "").startswith(_EPOCH) and not any(hunk.target_length for hunk in patch):
        new = None
    renamed = any(text.startswith("rename from ") for text in info)
    link = any(text.startswith(("new file mode 120000", "new file mode 160000")) for text in info)
    return FileDiff(line, old, new, tuple(_hunks(patch)), renamed, bool(patch.is_binary_file) or link)


def _hunks(patch: PatchedFile) -> Iterator[Hunk]:
    for hunk in patch:
        before: list[str] = []
        after: list[str] = []
        lines: list[int] = []
        kept: list[bool] = []
        added: list[int | None] = []
        last: tuple[list[str], ...] = ()
        open_end = True
        for part in hunk:
            if part.line_type == "\\":
                for side in last:
                    side[-1] = side[-1].removesuffix("\n")
                continue
            sides = {" ": (before, after), "-": (before,), "+": (after,)}.get(part.line_type)
            if sides is None:
                continue  # an empty line behind the hunk
            open_end = part.line_type == " "
            for side in sides:
                side.append(part.value if part.value.endswith("\n") else part.value + "\n")
            if part.line_type != "+":
                lines.append(part.diff_line_no or 0)
                kept.append(part.line_type == " ")
            if part.line_type != "-":
                added.append(part.diff_line_no if part.line_type == "+" else None)
            last = sides
        first = min((part.diff_line_no for part in hunk if part.diff_line_no), default=1)
        yield Hunk(
            max(first - 1, 1),
            hunk.source_start - (1 if before else 0),
            hunk.target_start - (1 if after else 0),
            tuple(before),
            tuple(after),
            tuple(lines),
            tuple(kept),
            tuple(added),
            open_end,
        )


def _name(text: str) -> str | None:
    """The file that a header names; None for ``/dev/null``. Git writes unusual names in quotes with escapes."""
    text = text.strip()
    if text.startswith('"') and text.endswith('"') and len(text) > 1:
        raw = text[1:-1].encode("utf-8", "surrogateescape")
        text = raw.decode("unicode_escape").encode("latin-1", "replace").decode("utf-8", "surrogateescape")
    return None if text == _NOTHING else text


def _split(text: str) -> list[str]:
    """Lines with their ends; only ``\\n`` ends a line, as in a diff."""
    lines = text.split("\n")
    last = lines.pop()
    return [line + "\n" for line in lines] + ([last] if last else [])


def _split_bytes(data: bytes) -> list[str]:
    return _split(data.decode("utf-8", "surrogateescape"))


def _joined(lines: Sequence[str]) -> bytes:
    return "".join(lines).encode("utf-8", "surrogateescape")


def _shown(line: str | None) -> str:
    return "nothing" if line is None else repr(line.rstrip("\n")[:100])
