"""Which files of a patch repository are patch scripts, and what they do to the tree together."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from preflight.tree.compare import hunks
from preflight.tree.diff import Applied, Mark, Marks
from preflight.tree.gather import Given
from preflight.tree.scripts.diffs import GivenDiff
from preflight.tree.scripts.docker import follow_shell
from preflight.tree.scripts.files import Files
from preflight.tree.scripts.outcome import Made, Outcome, ScriptFailure
from preflight.tree.scripts.printing import MAY_CHANGE
from preflight.tree.scripts.python import LARGEST, follow
from preflight.tree.tree import Tree

_DOCKER = re.compile(r"(?:Docker|Container)file(?:[.\-_].*)?$|.*\.(?:docker|container)file$", re.IGNORECASE)
_NAMES_TREE = re.compile(r"(?:^|/)vllm(?:/|$)|site-packages|dist-packages")
_TOUCHES = re.compile(rb"\bvllm/[\w./-]*\.py\b|(?:site|dist)-packages/vllm\b|vllm\.__(?:file|path)__")
_WRITES = frozenset(
    {
        "write_text",
        "write_bytes",
        "write",
        "writelines",
        "copy",
        "copyfile",
        "copy2",
        "replace",
        "move",
        "remove",
        "unlink",
        "rmtree",
    }
)


@dataclass(slots=True)
class Followed:
    """What the scripts of a repository do. ``scripts`` are the names of those files that are patch scripts, ``used``
    of those that are copied into the tree. ``diffs`` are those that are applied, with what they do (``writes`` has it
    too), ``loose`` those of scripts that could not be followed to their end."""

    writes: dict[str, bytes | None] = field(default_factory=dict)
    marks: dict[str, Marks] = field(default_factory=dict)
    failures: list[ScriptFailure] = field(default_factory=list)
    given_up: list[tuple[str, str, int]] = field(default_factory=list)
    diffs: list[tuple[GivenDiff, Applied]] = field(default_factory=list)
    loose: list[GivenDiff] = field(default_factory=list)
    scripts: set[str] = field(default_factory=set)
    used: set[str] = field(default_factory=set)


def is_shell_or_docker(file: Given) -> bool:
    """Whether a file is a Dockerfile that names files of vLLM's folder, or a shell script that may change files too."""
    if _TOUCHES.search(file.data) is None:
        return False
    if _is_docker(file):
        return True
    text = file.data.decode("utf-8", "replace") if file.file.suffix in (".sh", ".bash") else ""
    return MAY_CHANGE.search(text) is not None


def _is_docker(file: Given) -> bool:
    return _DOCKER.match(file.file.name) is not None


def may_patch(data: bytes) -> bool:
    """Whether a Python file may be a patch script: it names a place in vLLM's folder, and it writes files."""
    if b"vllm" not in data or not re.search(
        rb"\bwrite|\bcopy|\breplace\b|\bmove\b|\bremove\b|\bunlink\b|\brmtree\b", data
    ):
        return False
    if len(data) > LARGEST:
        return _TOUCHES.search(data) is not None
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    names = writes = False
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            names = names or (len(node.value) < 400 and _NAMES_TREE.search(node.value) is not None)
        elif isinstance(node, ast.Attribute) and node.attr in ("__file__", "__path__", "origin"):
            names = names or "vllm" in ast.unparse(node.value) or node.attr == "origin"
        elif isinstance(node, ast.Call):
            called = node.func
            if (isinstance(called, ast.Attribute) and called.attr in _WRITES) or (
                isinstance(called, ast.Name) and called.id == "open" and re.search(r"['\"][wax]", ast.unparse(node))
            ):
                writes = True
            if ast.unparse(called).endswith(("find_spec", "import_module", "getfile")) and "vllm" in ast.unparse(node):
                names = True
    return names and writes


def _edits(data: bytes) -> bool:
    """Whether a script that was not followed to its end replaces text, as one that patches does."""
    return (
        re.search(
            rb"\.replace\(|\bre\.subn?\(|\.sub\(|\.write_text\(|\bshutil\.(?:copy|move|rmtree)|\bunlink\(|\bos\.remove\(",
            data,
        )
        is not None
    )


def follow_scripts(
    tree: Tree,
    shells: Sequence[Given],
    scripts: Sequence[Given],
    known: Mapping[str, bytes],
    lookup: Callable[[str], bytes | None],
) -> Followed:
    """Follow the shell scripts and Dockerfiles, which run some of the Python scripts, then the other Python scripts by
    name. ``known`` are all files at hand by their names. Raises TreeError for a diff that is none."""
    found = Followed()
    files = Files(tree, lookup)
    ran: set[str] = set()
    for file in sorted(shells, key=lambda one: _is_named_by(one, shells)):
        if file.name in ran:
            continue
        text = file.data.decode("utf-8", "replace")
        shell = follow_shell(text, file.name, files, tuple(known), docker=_is_docker(file))
        _keep(found, files, [shell.outcome, *shell.inner])
        found.scripts.update(one.script for one in shell.inner)
        found.used |= shell.used
        found.loose += shell.loose
        ran |= shell.ran
    for file in scripts:
        if file.name in found.scripts:
            continue
        outcome = follow(file.data.decode("utf-8", "replace"), file.name, files)
        if outcome.writes or outcome.failures or (outcome.given_up is not None and _edits(file.data)):
            found.scripts.add(file.name)
            _keep(found, files, [outcome])
    found.diffs = files.diffs
    found.marks = {**files.marks, **found.marks}
    found.writes = {path: data for path, data in files.written.items() if data != files.before(path)}
    return found


def _is_named_by(file: Given, shells: Sequence[Given]) -> bool:
    """Whether another script names this one, and so is likely to run it."""
    name = file.file.name.encode()
    return any(name in other.data for other in shells if other is not file)


def _keep(found: Followed, files: Files, outcomes: Sequence[Outcome]) -> None:
    for outcome in outcomes:
        # of a file that a diff failed on, nothing can be said
        found.failures += [failure for failure in outcome.failures if failure.path not in files.broken]
        if outcome.given_up is not None:
            found.given_up.append((outcome.script, *outcome.given_up))
        for path, made in outcome.made.items():
            data = files.written.get(path)
            before = files.before(path)
            if data is not None and data != before:
                known = found.marks.get(path) or files.marks_of(path)
                found.marks[path] = _marks(before or b"", data, made, outcome.script, known)


def _marks(before: bytes, after: bytes, made: Sequence[Made], script: str, known: Marks) -> Marks:
    """For each line of the file, the line of the script that made it."""
    lines, old = after.decode("utf-8", "replace").splitlines(), before.decode("utf-8", "replace").splitlines()
    marks: list[Mark | None] = [None] * len(lines)
    for begin, end, _, _ in hunks(lines, old):
        for number in range(begin, end):
            text = lines[number].strip()
            exact = [one for one in made if text and any(text == part.strip() for part in one.text.splitlines())]
            loose = [one for one in made if one.text and text and text in one.text] or [
                one for one in made if one.text and any(p.strip() and p.strip() in text for p in one.text.splitlines())
            ]
            step = next(iter(exact or loose or list(made[-1:])), None)
            kept = known[number] if number < len(known) and len(known) == len(lines) else None
            marks[number] = kept or (Mark(script, step.line) if step is not None else None)
    return tuple(marks)
