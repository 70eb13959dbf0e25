"""The tree that is checked: its files with all overlays, its versions, and which of its files are patched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from preflight.model import FileState, PatchedFile, TreeFacts, Undecided
from preflight.tree.diff import Failure, Marks
from preflight.tree.kinds import EntryPoint, OutsideFile, SourceUnreadable, TreeKind, counted
from preflight.tree.reading import read_bytes, reason
from preflight.tree.reference import Reference
from preflight.tree.scripts.outcome import ScriptFailure


@dataclass(frozen=True, slots=True)
class Tree:
    """A tree, as it was when it was opened. Paths are relative to ``root`` and use ``/``.

    Made by ``open_tree``. ``listing`` are the files that are there (links that lead nowhere included: reading them
    says so), ``layer`` is what is laid over them in memory (None: deleted), ``origins`` the files that this came out
    of, ``marks`` the lines of diffs that made lines of it; ``absent`` is what a sources-only tree leaves out,
    ``reference`` what the files were compared with.
    """

    root: Path  #: the folder that holds ``vllm/``
    kind: TreeKind
    facts: TreeFacts
    packages: tuple[Path, ...] = ()  #: folders where other distributions are, root not among them
    whole_environment: bool = False  #: packages and root hold torch: a package that is not there is not installed
    interpreter: Path | None = None  #: the Python that will run vLLM, if it is at hand
    python_range: str | None = None  #: Requires-Python of vLLM's metadata
    selected: tuple[str, ...] | None = None  #: files of the tree that the user asked for; None: the patched set
    outside: tuple[OutsideFile, ...] = ()  #: Python files given as PATHs that mirror no path of the tree
    entry_points: tuple[EntryPoint, ...] = ()  #: those of the packages among them
    notes: tuple[str, ...] = ()  #: sentences for the report
    undecided: tuple[Undecided, ...] = ()
    compiled: frozenset[str] = frozenset()
    listing: frozenset[str] = frozenset()
    layer: Mapping[str, bytes | None] = field(default_factory=dict)
    origins: Mapping[str, Path] = field(default_factory=dict)
    absent: frozenset[str] = frozenset()
    marks: Mapping[str, Marks] = field(default_factory=dict)
    failures: tuple[Failure, ...] = ()  #: what of the diffs does not apply
    script_failures: tuple[ScriptFailure, ...] = ()  #: steps of patch scripts that do not do what they say
    reference: Reference | None = None
    same: tuple[str, ...] = ()  #: files that were laid over it with the content that the release has
    aside: tuple[str, ...] = ()  #: files of the package that an overlay has and that are no text, so not laid over it

    def files(self) -> Iterable[str]:
        """Every file under ``vllm/``, overlays applied, without ``__pycache__``; sorted."""
        if not self.layer:
            return tuple(sorted(self.listing))
        names = set(self.listing)
        for path, data in self.layer.items():
            (names.discard if data is None else names.add)(path)
        return tuple(sorted(names))

    def exists(self, path: str) -> bool:
        """True if ``path`` is a file under ``vllm/`` (or of an overlay)."""
        if path in self.layer:
            return self.layer[path] is not None
        return path in self.listing

    def read(self, path: str) -> bytes:
        """The file's bytes, overlays first. Raises SourceUnreadable with the reason if they cannot be had."""
        if path in self.layer:
            data = self.layer[path]
            if data is None:
                raise SourceUnreadable(path, "the overlay deletes it")
            return data
        if (outside := self._outside(path)) is not None:
            return outside.data
        if not _is_plain(path):
            raise SourceUnreadable(path, "it is not a path inside the tree")
        try:
            return read_bytes(self.root / path)
        except OSError as error:
            raise SourceUnreadable(path, reason(error)) from None

    def origin(self, path: str) -> Path | None:
        """The file on disk that ``read`` takes the content from, for a fix to be written to; None if it has no file of
        its own (it comes out of a diff, git's index or a released tree)."""
        if path in self.layer:
            return self.origins.get(path)
        if (outside := self._outside(path)) is not None:
            return Path(outside.location) if outside.location else None
        return self.root / path if self.kind is not TreeKind.RELEASED and self.exists(path) else None

    def pristine(self, path: str) -> bytes | None:
        """What the release (or the git base) has in this file, where that is known without a network; else None."""
        return self.reference.content(path) if self.reference is not None and _is_plain(path) else None

    def is_new(self, path: str) -> bool:
        """Whether a file is there that what the tree was compared with certainly does not have."""
        if self.reference is None or not _is_plain(path) or not self.exists(path):
            return False
        return not self.reference.has(path)

    def compiled_modules(self) -> frozenset[str]:
        """The compiled modules that RECORD names, whether they are there or not."""
        return self.compiled

    def patched_python(self) -> tuple[str, ...]:
        """The Python files of the patched set that exist."""
        return tuple(p.path for p in self.facts.patched if p.path.endswith(".py") and self.exists(p.path))

    def with_overlay(
        self,
        changes: Mapping[str, bytes | None],
        origins: Mapping[str, Path] | None = None,
        marks: Mapping[str, Marks] | None = None,
    ) -> Tree:
        """This tree with ``changes`` laid over it: the new content of paths, None for a file that is deleted.

        ``origins`` are the files that contents were read from, ``marks`` the lines of diffs that made theirs. A file
        whose content is then the release's is not patched; a note says so.
        """
        states = {p.path: p.state for p in self.facts.patched}
        same: list[str] = []
        layer = dict(self.layer)
        for path, data in changes.items():
            if data is None:
                if self.exists(path):
                    states[path] = FileState.MISSING
            elif data == self.pristine(path):
                states.pop(path, None)
                same.append(path)
            elif path not in states or data != self._read_or_none(path):
                states[path] = FileState.OVERLAY
            layer[path] = data
        said: list[str] = []
        if same:
            files = ", ".join(same[:3]) + (", ..." if len(same) > 3 else "")
            said.append(
                f"The overlay has {counted(len(same), 'file')} with the release's own content ({files}): not patched."
            )
        patched = tuple(PatchedFile(path, state) for path, state in sorted(states.items()))
        kept = {path: file for path, file in self.origins.items() if path not in changes}
        return replace(
            self,
            facts=replace(self.facts, patched=patched),
            layer=layer,
            origins={**kept, **(origins or {})},
            marks={**{path: made for path, made in self.marks.items() if path not in changes}, **(marks or {})},
            notes=(*self.notes, *said),
            same=tuple(dict.fromkeys([*(path for path in self.same if path not in changes), *same])),
        )

    def _outside(self, path: str) -> OutsideFile | None:
        if path in self.listing:
            return None
        return next((file for file in self.outside if file.path == path), None)

    def _read_or_none(self, path: str) -> bytes | None:
        try:
            return self.read(path)
        except SourceUnreadable:
            return None


def _is_plain(path: str) -> bool:
    """True for a relative path that does not climb."""
    return (
        bool(path)
        and not path.startswith("/")
        and "\0" not in path
        and ".." not in path.split("/")
        and path[1:2] != ":"
    )
