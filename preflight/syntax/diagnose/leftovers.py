"""What tools leave in a file: conflict markers, pieces of diffs, markdown fences, line numbers, prompts, shell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from preflight.syntax.conflicts import find_conflicts
from preflight.syntax.diagnose.model import Candidate
from preflight.syntax.fixes import Patch
from preflight.syntax.scene import Scene
from preflight.syntax.tokens import Kind

_DIFF_HEADER = re.compile(
    r"(?:@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@|diff --git |index [0-9a-f]{6,}|--- (?:a/|/dev/null)|\+\+\+ (?:b/|/dev/null)"
    r"|\\ No newline at end of file)"
)
_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_FENCE = re.compile(r"\s*(?:```|~~~)[\w+-]*\s*$")
_PROMPT = re.compile(r"(?:>>> |\.\.\. |In \[\d+\]: |\$ )")
_LINE_NUMBER = re.compile(r"\s*(\d+)(?:[:|]\s?|\t| {2,4})(.*)$")
_HEREDOC = re.compile(r"\s*(?:EOF|EOT|END|PY|PYEOF|HEREDOC)\s*$")
_ENTITY = re.compile(r"&(lt|gt|amp|quot|#39|#x27|nbsp);")
_ENTITIES = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "#39": "'", "#x27": "'", "nbsp": " "}


def conflict(scene: Scene) -> Iterator[Candidate]:
    """The markers of a merge that was never resolved. One conflict is one fault, with two sides to choose from."""
    for conflict in find_conflicts(scene.index.lines()):
        first, last = scene.index.starts[conflict.first - 1], scene.index.ends[conflict.last - 1]
        if any(token.start < first < token.end for token in scene.tokens if token.kind is Kind.STRING):
            continue  # the text of a string
        for kept in conflict.sides:
            yield Candidate(
                "conflict-marker",
                first,
                last,
                f"a merge conflict was left unresolved (lines {scene.number(first)} to {scene.number(last)})",
                tuple(
                    Patch(scene.index.starts[n - 1], scene.index.offset(n + 1, 1))
                    for n in range(conflict.first, conflict.last + 1)
                    if n not in kept
                ),
                why="git writes both sides of a conflict between these markers, and leaves the choice to a person",
                help="keep one side, or join the two, and take the marker lines away",
                rank=98,
            )
        return


def diff_marks(scene: Scene) -> Iterator[Candidate]:
    """The ``+`` and ``-`` of a diff at the start of lines, with or without its headers."""
    lines = [scene.index.line(n) for n in range(1, len(scene.index) + 1)]
    for anchor in range(max(scene.line - 3, 1), min(scene.line + 3, len(lines)) + 1):
        if not _marked(lines[anchor - 1]):
            continue
        first = last = anchor
        while first > 1 and (_marked(lines[first - 2]) or _bridges(lines, first - 1, -1)):
            first -= 1
        while last < len(lines) and (_marked(lines[last]) or _bridges(lines, last + 1, +1)):
            last += 1
        while not _marked(lines[last - 1]):
            last -= 1
        last = max(last, _hunk_end(lines, first, last))
        while not _marked(lines[first - 1]):
            first += 1
        header = any(_DIFF_HEADER.match(line) for line in lines[first - 1 : last])
        for unindent in (False, True):
            yield _without_marks(scene, lines, first, last, header, unindent)
        return


def _hunk_end(lines: list[str], first: int, last: int) -> int:
    """The line that a pasted hunk goes to by the counts of its own header; 0 if there is none."""
    end = 0
    for number in range(first, last + 1):
        header = _HUNK.match(lines[number - 1])
        if header is None:
            continue
        old, new = (int(count) if count is not None else 1 for count in header.groups())
        end = number
        while (old > 0 or new > 0) and end < len(lines) and lines[end][:1] in (" ", "+", "-", ""):
            old -= lines[end][:1] != "+"
            new -= lines[end][:1] != "-"
            end += 1
    return end


def _without_marks(scene: Scene, lines: list[str], first: int, last: int, header: bool, unindent: bool) -> Candidate:
    repair: list[Patch] = []
    for number in range(first, last + 1):
        line, start = lines[number - 1], scene.index.starts[number - 1]
        if _DIFF_HEADER.match(line) or line.startswith("-"):
            repair.append(Patch(start, scene.index.offset(number + 1, 1)))
        elif line.startswith("+") or (unindent and line.startswith(" ")):
            repair.append(Patch(start, start + 1))
    begin = scene.index.starts[first - 1]
    what = "a piece of a diff stands in the file" if header else "the mark of a diff stands at the start of the line"
    if first != last and not header:
        what = "the marks of a diff stand at the start of the lines"
    more = f" (lines {scene.number(begin)} to {scene.number(scene.index.starts[last - 1])})" if first != last else ""
    return Candidate(
        "diff-marks",
        begin,
        begin + 1 if not header else scene.index.ends[first - 1],
        what + more,
        tuple(repair),
        why="`+` and `-` belong to the diff, not to the code",
        help="take out the `+`, and the lines that begin with `-`",
        sure=True,
        rank=87 if unindent == header else 85,
    )


def _marked(line: str) -> bool:
    return bool(_DIFF_HEADER.match(line)) or (
        line.startswith(("+", "-")) and not line.startswith(("+=", "-=", "->", "---------"))
    )


def _bridges(lines: list[str], number: int, step: int) -> bool:
    """Whether an unmarked line has a marked one within the next few lines beyond it."""
    for distance in range(4):
        at = number + step * distance
        if not 1 <= at <= len(lines):
            return False
        if _marked(lines[at - 1]):
            return True
        if not lines[at - 1].startswith(" ") and lines[at - 1].strip():
            return False
    return False


def whole_lines(scene: Scene) -> Iterator[Candidate]:
    """Lines that are no code at all: a markdown fence, the end of a here-document."""
    for number in range(max(scene.line - 2, 1), min(scene.line + 2, len(scene.index)) + 1):
        line = scene.index.line(number)
        if _FENCE.match(line):
            cause, message = "markdown-fence", "a markdown code fence was pasted in with the code"
        elif _HEREDOC.match(line):
            cause, message = "heredoc-end", f"the line {line.strip()!r} is the end of a shell here-document"
        else:
            continue
        start = scene.index.starts[number - 1]
        fences = [number]
        if cause == "markdown-fence":
            fences += [n for n in _lines_matching(scene, _FENCE) if n != number]
        for chosen in ([number], fences):
            yield Candidate(
                cause,
                start,
                scene.index.ends[number - 1],
                message,
                tuple(
                    Patch(scene.index.starts[n - 1], scene.index.offset(n + 1, 1)) for n in sorted(chosen)
                ),
                help="take the line away",
                sure=len(chosen) <= 2,
                rank=87,
            )  # fmt: skip


def prompts_and_numbers(scene: Scene) -> Iterator[Candidate]:
    """Interpreter prompts or the line numbers of a listing, pasted in with the code."""
    for pattern, cause, message in (
        (_PROMPT, "prompt", "an interpreter's prompt was pasted in with the code"),
        (_LINE_NUMBER, "line-numbers", "the line numbers of a listing were pasted in with the code"),
    ):
        run = _run(scene, pattern, numbered=cause == "line-numbers")
        if not run:
            continue
        repair = []
        for number in run:
            match = pattern.match(scene.index.line(number))
            assert match is not None
            start = scene.index.starts[number - 1]
            width = match.start(2) if cause == "line-numbers" else match.end()
            repair.append(Patch(start, start + width))
        start = scene.index.starts[run[0] - 1]
        yield Candidate(
            cause,
            start,
            start + (repair[0].end - repair[0].start),
            message,
            tuple(repair),
            help="take it out of every line",
            sure=cause == "prompt" or len(run) > 1,
            rank=82,
        )


def entities(scene: Scene) -> Iterator[Candidate]:
    """``&gt;`` and its like, out of a web page."""
    statement = scene.here()
    if statement is None:
        return
    for near in scene.around(before=1, after=1):
        found = list(_ENTITY.finditer(scene.text, near.start, scene.index.ends[near.last_line - 1]))
        if found:
            yield Candidate(
                "html-entity",
                found[0].start(),
                found[0].end(),
                f"{found[0].group()!r} was pasted in from a web page; it stands for {_ENTITIES[found[0].group(1)]!r}",
                tuple(Patch(m.start(), m.end(), _ENTITIES[m.group(1)]) for m in found),
                help="write the character itself",
                sure=True,
                rank=84,
            )


def literal_escapes(scene: Scene) -> Iterator[Candidate]:
    r"""``\n`` and ``\t`` as two characters, where a tool (sed, a string in a script) should have written a line end."""
    for near in scene.around(before=1, after=0):
        end = scene.index.ends[near.last_line - 1]
        escapes = [t for t in scene.tokens if near.start <= t.start < end and t.text == "\\"]
        found = [t for t in escapes if t.end < end and scene.text[t.end] in "nt"]
        if found:
            newline = scene.index.line_end(near.first_line) or "\n"
            letters = [(t, scene.text[t.end]) for t in found]
            spaces = tuple(Patch(t.start, t.end + 1, newline if letter == "n" else "    ") for t, letter in letters)
            tabs = tuple(Patch(t.start, t.end + 1, newline if letter == "n" else "\t") for t, letter in letters)
            # where the escapes were put in without the indent of the next line, or with spaces around them
            trimmed = tuple(Patch(p.start, _behind_spaces(scene.text, p.end), p.new + near.indent) for p in spaces)
            for rank, repair in enumerate((spaces, tabs, trimmed)):
                yield Candidate(
                    "escape-left-in",
                    found[0].start,
                    found[0].end + 1,
                    f"\\{scene.text[found[0].end]} stands in the code as two characters",
                    repair,
                    why="a tool like sed wrote the escape instead of the character it stands for",
                    help="put a real line end there",
                    sure=True,
                    rank=85 - rank,
                )


def _behind_spaces(text: str, at: int) -> int:
    while text[at : at + 1] == " ":
        at += 1
    return at


def not_python(scene: Scene) -> Iterator[Candidate]:
    """The file as a whole is something else."""
    first = scene.index.line(1).strip()
    head = scene.text[:400].lstrip()
    what = None
    if re.match(r"(?:diff --git |--- \S+\s|Index: )", head):
        what = "a diff, not the file that it patches"
    elif re.match(r"<(?:!DOCTYPE|html|\?xml)", head, re.I):
        what = "a web page"
    elif re.match(r"#!.*\b(?:sh|bash|zsh)\b", first):
        what = "a shell script"
    elif re.match(r"(?:404: Not Found|403 Forbidden|Not Found$)", head):
        what = "the error page of a download"
    elif head.startswith("version https://git-lfs"):
        what = "a pointer of git-lfs, not the file itself"
    if what is not None:
        start = len(scene.text) - len(scene.text.lstrip())
        yield Candidate(
            "not-python",
            start,
            start + len(first),
            f"the file is {what}",
            (Patch(0, len(scene.text), ""),),
            why="the file has the name of a Python source and the content of something else",
            help="put the Python source in its place",
            rank=99,
        )


def _lines_matching(scene: Scene, pattern: re.Pattern[str]) -> list[int]:
    return [n for n in range(1, len(scene.index) + 1) if pattern.match(scene.index.line(n))]


def _run(scene: Scene, pattern: re.Pattern[str], numbered: bool) -> list[int]:
    """The lines around the error that the pattern fits; listings must count upward."""
    count = len(scene.index)
    anchor = next(
        (
            n
            for n in (scene.line, scene.line - 1, scene.line + 1)
            if 1 <= n <= count and pattern.match(scene.index.line(n))
        ),
        None,
    )
    if anchor is None:
        return []
    first = last = anchor
    while first > 1 and pattern.match(scene.index.line(first - 1)):
        first -= 1
    while last < count and pattern.match(scene.index.line(last + 1)):
        last += 1
    run = list(range(first, last + 1))
    if numbered:
        values = [int(match.group(1)) for n in run if (match := pattern.match(scene.index.line(n)))]
        if any(after != before + 1 for before, after in pairwise(values)):
            return []
    return run
