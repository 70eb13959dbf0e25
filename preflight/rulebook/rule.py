"""A rule as a rule file tells it: data, prose and examples. What decides it is a check; a rule has no code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from preflight.model import RuleText, Severity

#: Codes of this prefix are ours; a later release may give a meaning to any of them.
OUR_PREFIX = "PF"


class Status(str, Enum):
    """Where a rule stands in its life."""

    STABLE = "stable"
    PREVIEW = "preview"  #: new; runs only where --select names it
    REMOVED = "removed"  #: a tombstone: it can be explained, not selected


@dataclass(frozen=True, slots=True)
class Expected:
    """A finding that an example must have. ``line`` None: the finding is about the file as a whole."""

    path: str
    line: int | None


@dataclass(frozen=True, slots=True)
class Example:
    """A miniature tree and what the rule says of it; a page shows it, a test runs it.

    ``release`` is what the miniature release ships, ``files`` is what the patch writes over it, ``missing`` what the
    patch takes away (path -> text, tree-relative). ``workspace`` holds files beside the tree, in the folder where the
    check is run: a patch repository, a checkpoint. ``encoding`` is how the texts of ``files`` become bytes.
    ``bytecode`` holds older sources of files whose byte code is left beside them, with the size and time of the newer.
    """

    title: str
    fails: bool
    expect: tuple[Expected, ...]
    options: tuple[str, ...]
    release: Mapping[str, str]
    files: Mapping[str, str]
    missing: tuple[str, ...]
    workspace: Mapping[str, str]
    bytecode: Mapping[str, str]
    encoding: str
    vllm: str
    transformers: str | None


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. ``check`` is the id of the check that decides it ("": a tombstone's), ``file`` is where it was read."""

    code: str
    name: str
    severity: Severity
    since: str
    status: Status
    check: str
    summary: str
    what: str
    why: str
    fix: str
    applies: Mapping[str, str]
    parameters: Mapping[str, Any]
    examples: tuple[Example, ...]
    file: Path

    @property
    def slug(self) -> str:
        """``PF101-syntax-error``: the stem of the rule's file and of its page."""
        return f"{self.code}-{self.name}"

    @property
    def ours(self) -> bool:
        """Whether the code is of preflight's own prefix, which no rule of a patch repository may take."""
        return self.code.startswith(OUR_PREFIX)

    def applies_to(self, vllm: str | None = None, transformers: str | None = None, python: str | None = None) -> bool:
        """Whether the rule holds for a tree of these versions; one that is None or no version rules nothing out."""
        if not self.applies:
            return True
        from packaging.specifiers import SpecifierSet
        from packaging.version import InvalidVersion, Version

        met = {"vllm": vllm, "transformers": transformers, "python": python}
        for name, specifier in self.applies.items():
            version = met[name]
            if version is None:
                continue
            try:
                if not SpecifierSet(specifier).contains(Version(version), prereleases=True):
                    return False
            except InvalidVersion:
                continue
        return True

    def text(self) -> RuleText:
        """What a report carries along of this rule."""
        return RuleText(self.code, self.name, self.severity, self.summary, self.what, self.why, self.fix)
