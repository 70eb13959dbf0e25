"""Files that the launch given does not load: what is wrong in them stops other launches, not this one.

vLLM imports the file of a model when its registry is asked for an architecture, and no other. A file that only the
registry, or other such files, lead to stays unread by a launch of another architecture (what an error is: a launch that
cannot succeed).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING

from preflight.checks import files, imports, names
from preflight.checks.classes import family
from preflight.checks.classes.ids import REQUIRED
from preflight.checks.reach import imports_from
from preflight.checks.strays import is_stray
from preflight.model import Finding, Severity, Undecided

if TYPE_CHECKING:
    from preflight.checks.context import Context
    from preflight.launch.launch import Launch
    from preflight.program import Module, Program
    from preflight.walk.result import Walk

#: the checks that say what is wrong in a file for whoever loads it
_OF_FILES = frozenset().union(
    *(check.ids for check in (*files.CHECKS, *imports.CHECKS, *names.CHECKS, *family.CHECKS))
) - {REQUIRED}
_OF_TEXTS = frozenset().union(*(check.ids for check in files.CHECKS))
#: nested configs deeper than this belong to nobody's checkpoint
_DEEPEST = 20


def eased(context: Context, launch: Launch, findings: Sequence[Finding]) -> Iterator[Finding]:
    """The findings, with errors in files that this launch certainly does not load as warnings that say so.

    Where the launch's model is not known, all stay as they are.
    """
    # the launch is walked only where there is something to ask of it
    loading = _loading(context, launch) if any(map(_may_be_eased, findings)) else None
    for finding in findings:
        if loading is None or not _may_be_eased(finding) or not loading.never(finding.span.path):
            yield finding
            continue
        said = f"this launch serves {loading.served} and does not load the file: launches that load it die of this"
        yield _as_warning(finding, said)


def strayed(context: Context, findings: Sequence[Finding]) -> Iterator[Finding]:
    """The findings, with errors in new files that no other file names as warnings: whoever imports one would die of it,
    and nobody does. What is wrong in the text of a file by itself is judged where it is found.
    """
    strays = cache(partial(is_stray, context))
    for finding in findings:
        if not _may_be_eased(finding) or finding.fault.check in _OF_TEXTS or not strays(finding.span.path):
            yield finding
            continue
        said = "the release has no such file, and no other file of this tree names it, so a launch does without it"
        yield _as_warning(finding, said)


def _as_warning(finding: Finding, said: str) -> Finding:
    why = f"{finding.fault.why}; {said}" if finding.fault.why else said
    return replace(finding, severity=Severity.WARNING, fault=replace(finding.fault, why=why))


def _may_be_eased(finding: Finding) -> bool:
    return finding.severity is Severity.ERROR and finding.fault.check in _OF_FILES


def _loading(context: Context, launch: Launch) -> Loading | None:
    """What the launch loads; None where it is not known which model it serves."""
    followed = context.follow()
    if followed is None or isinstance(followed, Undecided):
        return None
    walk = followed.walk
    if walk.target is None or walk.target.architecture is None:
        return None
    if launch.drafter is not None and (walk.drafter is None or walk.drafter.architecture is None):
        return None
    return Loading(context.load_program(), walk, launch)


class Loading:
    """Which files of models a launch may load: those of its own architectures and of all that these may ask the
    registry for."""

    def __init__(self, program: Program, walk: Walk, launch: Launch) -> None:
        self._program = program
        registry = program.registry_reader.registry()
        self._registry = registry.module
        self._entries = registry.entries
        self._registered = {entry.module for entry in self._entries.values()}
        described = [one for one in (walk.target, walk.drafter) if one is not None and one.architecture is not None]
        self.served = " with ".join(str(one.architecture) for one in described)
        self._own: set[str] = set()
        self._unread: set[str] = set()
        drafter = launch.drafter.files if launch.drafter is not None else None
        words = {str(one.architecture) for one in described}
        kinds: set[str] = set()
        for model in (launch.model, drafter):
            for key, text in _texts(model.effective if model is not None else None, 0):
                (kinds if key == "model_type" else words).add(text)
        named = {name for name in self._entries if any(_is_of(name, kind) for kind in kinds)}
        self._add((words & self._entries.keys()) | named, _modules_built(walk))

    def _add(self, architectures: set[str], modules: set[str]) -> None:
        """Take what these architectures load, and what their own files name of the registry."""
        waiting = [self._entries[name].module for name in architectures] + list(modules)
        while waiting:
            name = waiting.pop()
            if name in self._own:
                continue
            self._own.add(name)
            if name not in self._registered:
                continue
            text = self._program.texts.of(self._program.module(name))
            quoted = {match.decode("utf-8", "replace") for match in re.findall(rb"[\"'](\w+)[\"']", text)}
            waiting += [self._entries[word].module for word in quoted & self._entries.keys()]

    def never(self, path: str) -> bool:
        """Whether the launch certainly does not load the file of this path: whatever imports it, and what imports
        that, is such a file as well."""
        module = self._program.module_at(path)
        if module is None:
            return False
        seen: set[str] = set()
        waiting = [module]
        while waiting:
            module = waiting.pop()
            if module.name not in seen and module.name not in self._unread:
                seen.add(module.name)
                importers = self._importers(module)
                if importers is None:
                    return False
                waiting += importers
        self._unread |= seen
        return True

    def _importers(self, module: Module) -> list[Module] | None:
        """The modules that have to be loaded for this one to be, unless the registry is asked for it; None where the
        launch may load it anyway."""
        inside = f"{module.name}."
        if module.name in self._own or any(name.startswith(inside) for name in self._own):
            return None
        importers: list[Module] = []
        for other in self._program.texts.modules_with(module.name.rpartition(".")[2]):
            if other.name == module.name or other.name.startswith(inside):
                continue
            if other.hole is not None or imports_from(other, module):
                importers.append(other)  # of a broken file it is not known what it imports
            elif self._may_load(other, module):
                return None
        # what nothing leads to that is seen, something that is not seen may lead to
        return importers if importers or module.name in self._registered else None

    def _may_load(self, other: Module, module: Module) -> bool:
        """Whether a file that does not import the module may do so by a name that it has as a text: the module's name
        behind a dot, and before that nothing, what is put in, or the end of the name of the module's package."""
        if other.name == self._registry:
            return False
        package, _, last = module.name.rpartition(".")
        text = self._program.texts.of(other)
        for found in re.finditer(rb"[\"']([^\"'\n]*)\.%s[\w.]*[\"']" % re.escape(last.encode()), text):
            before = found[1].decode("utf-8", "replace").strip(".")
            if package == before or package.endswith(f".{before}") or before.endswith("}"):
                return True
            if not before and (other.name.startswith(f"{package}.") or package.encode() in text):
                return True
        return False


def _modules_built(walk: Walk) -> set[str]:
    """The modules of the classes that the walk made objects of for the model."""
    from preflight.walk.built import modules_of

    return {built.defined for built in modules_of(walk.model)}


def _texts(value: object, level: int, key: str = "") -> Iterator[tuple[str, str]]:
    """The texts of a config with the keys that they stand under."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, (dict, list)) and level < _DEEPEST:
        for name, item in value.items() if isinstance(value, dict) else ((key, item) for item in value):
            yield from _texts(item, level + 1, str(name))


def _is_of(architecture: str, kind: str) -> bool:
    """Whether an architecture may be that of a model type: of ``qwen2``, Qwen2Model and all Qwen2For..."""
    plain = re.sub(r"[^a-z0-9]", "", kind.lower())
    if not plain or not architecture.lower().startswith(plain):
        return False
    return architecture[len(plain) :].startswith(("For", "Model", "LMHead"))
