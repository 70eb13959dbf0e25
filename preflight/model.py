"""The shared vocabulary: what a check finds, what a run reports. Frozen, and it imports nothing of ours.

The public shape of these in JSON is fixed by the contract; ``preflight.render.json`` is the only place that writes it.
Lines and columns count from 1, columns count characters (not bytes), an end is the place just behind the last
character.
Paths are relative to the tree (or to the repository, for files that are not of the tree) and use ``/``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

#: The version of the JSON that every command writes; it changes when the shape does.
FORMAT_VERSION = "1.0"


class Severity(str, Enum):
    """How a finding bears on the launch."""

    ERROR = "error"  #: this launch (or any launch that loads the file) cannot succeed
    WARNING = "warning"  #: it fails under a named assumption, or is silently without effect
    INFO = "info"  #: worth knowing, nothing to do before the launch


class Verdict(str, Enum):
    """The answer of a whole run."""

    CLEAR = "clear"
    WOULD_NOT_LAUNCH = "would-not-launch"
    UNDECIDED = "undecided"
    NOT_CHECKED = "not-checked"


class FileState(str, Enum):
    """A file of the patched set against the release."""

    MODIFIED = "modified"
    ADDED = "added"
    MISSING = "missing"
    OVERLAY = "overlay"


@dataclass(frozen=True, slots=True)
class Span:
    """A place in a file. ``line`` None: the file as a whole."""

    path: str
    line: int | None = None
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Lines of a file as they were read, for a report to show. ``title`` says whose they are, if not the file's own."""

    path: str
    first_line: int
    lines: tuple[str, ...]
    title: str | None = None


@dataclass(frozen=True, slots=True)
class Value:
    """A value that took part in a decision, and where it came from."""

    name: str
    value: Any
    origin: str


@dataclass(frozen=True, slots=True)
class Step:
    """One station on the way to the finding; a trail has the outermost first.

    Without a ``function`` it is no call: ``note`` then says what the line has to do with the finding.
    """

    path: str
    line: int
    function: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the characters from ``start`` up to ``end`` (line, column) of ``path`` by ``text``."""

    path: str
    start: tuple[int, int]
    end: tuple[int, int]
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """A repair. ``safe``: it was tried in memory and the file then compiles, with nothing else changed."""

    edits: tuple[Edit, ...]
    safe: bool = True


@dataclass(frozen=True, slots=True)
class Fault:
    """What a check found, before a rule gives it a code, a name and a severity.

    ``check`` is the id of the check that decided it; the rule file that names this check describes it. ``rule`` is set
    only where several rules share a check with different parameters. ``severity`` overrides the rule's own where the
    case is milder than the rule (it holds only under a named assumption). ``message`` is one sentence that stands
    alone.
    """

    check: str
    span: Span
    message: str
    why: str | None = None
    help: str | None = None
    values: tuple[Value, ...] = ()
    trail: tuple[Step, ...] = ()
    fix: Fix | None = None
    excerpt: Excerpt | None = None
    pristine: Excerpt | None = None
    severity: Severity | None = None
    rule: str | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong, at one place, by one rule."""

    rule: str
    name: str
    severity: Severity
    fault: Fault
    fingerprint: str

    @property
    def span(self) -> Span:
        return self.fault.span

    @property
    def message(self) -> str:
        return self.fault.message


@dataclass(frozen=True, slots=True)
class Undecided:
    """A question that the check met and could not answer. ``id`` is stable, ``message`` gives the reason.

    ``decisive``: the verdict hangs on it (without an error elsewhere the run is "undecided", not "clear").
    """

    id: str
    message: str
    path: str | None = None
    line: int | None = None
    count: int = 1
    decisive: bool = False


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence of a check about how it was made, for the notes of the report."""

    text: str


@dataclass(frozen=True, slots=True)
class PatchedFile:
    """A file of the patched set."""

    path: str
    state: FileState


@dataclass(frozen=True, slots=True)
class TreeFacts:
    """The tree as a report names it."""

    site_packages: str
    vllm: str | None = None
    transformers: str | None = None
    python: str | None = None
    patched: tuple[PatchedFile, ...] = ()


@dataclass(frozen=True, slots=True)
class LaunchFacts:
    """The launch as a report names it."""

    model: str | None = None
    architecture: str | None = None
    model_class: str | None = None
    flags: dict[str, Any] = field(default_factory=dict)
    drafter: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class RunError:
    """Why a run ended without a verdict (exit codes 2, 3 and 130)."""

    message: str
    help: str | None = None


@dataclass(frozen=True, slots=True)
class RuleText:
    """What a report says of a rule that it names: SARIF carries it along."""

    code: str
    name: str
    severity: Severity
    summary: str
    what: str
    why: str
    fix: str


@dataclass(frozen=True, slots=True)
class Report:
    """All that a run has to say. Findings are in order (path, line, column, rule)."""

    verdict: Verdict
    tree: TreeFacts | None = None
    launch: LaunchFacts | None = None
    findings: tuple[Finding, ...] = ()
    undecided: tuple[Undecided, ...] = ()
    #: sentences about how the check was made: the reference used, the interpreter used, what was assumed
    notes: tuple[str, ...] = ()
    rules: tuple[RuleText, ...] = ()
    files_checked: int = 0
    seconds: float = 0.0
    error: RunError | None = None

    def count(self, severity: Severity) -> int:
        """How many findings have this severity."""
        return sum(1 for finding in self.findings if finding.severity is severity)
