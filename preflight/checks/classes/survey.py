"""One run's view of the tree's classes, made once and shared by the checks of classes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from preflight.checks.classes.needed import Needed
from preflight.checks.classes.protocols import Protocols
from preflight.checks.inference.attributes import Attributes
from preflight.checks.inference.code import Code
from preflight.checks.inference.inference import Inference
from preflight.checks.inference.tracing import Tracing
from preflight.checks.reach import Reach, classes_of, reach_from, reach_of
from preflight.checks.released import released_tree
from preflight.model import Fault, Severity, Span, Step, Value
from preflight.program.facts import FunctionFacts

if TYPE_CHECKING:
    from preflight.checks.classes.overrides import Caller
    from preflight.checks.context import Context
    from preflight.program import Class, Module, Program
    from preflight.program.registry import Registry

#: severities, the gravest first; None is what the rule says
GRAVER = {None: 0, Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}
#: so many modules are looked at with what was read of them kept in memory
PART = 200


@dataclass
class Survey:
    """What the checks of one run share."""

    context: Context
    program: Program
    reach: Reach
    code: Code
    inference: Inference
    attributes: Attributes
    protocols: Protocols = field(init=False)
    tracing: Tracing = field(init=False)
    needed: Needed = field(init=False)
    _callers: dict[str, tuple[Caller, ...]] = field(default_factory=dict)
    _readers: dict[str, tuple[Class, ...]] = field(default_factory=dict)
    _subclasses: dict[Class, tuple[Class, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.protocols = Protocols(self)
        self.tracing = Tracing(self.inference, self.attributes)
        self.needed = Needed(self)

    @property
    def registry(self) -> Registry:
        """The tree's model registry."""
        return self.program.registry_reader.registry()

    # -- which classes ------------------------------------------------------------------------------------------------

    def classes(self) -> Iterator[Class]:
        """The classes of the files to check, and those elsewhere that derive from one of a file to check."""
        own = {module.name for module in self.reach.modules}
        for module in self.reach.modules:
            yield from classes_of(self.program, module)
        for module in self.reach.dependents:
            for cls in classes_of(self.program, module):
                if any(base.module in own for base in cls.mro[1:]):
                    yield cls

    def classes_in(self, module: Module) -> tuple[Class, ...]:
        """The classes that a module defines."""
        return tuple(classes_of(self.program, module))

    def patched(self, *paths: str | None) -> bool:
        """Whether one of these files is not as the release has it."""
        return any(path in self.reach.patched for path in paths)

    @cached_property
    def compared(self) -> bool:
        """Whether the release's own files are known, so that what it has itself can be left out."""
        return released_tree(self.context.tree) is not None

    def registered(self, cls: Class) -> bool:
        """Whether the registry leads to the class."""
        return any(
            entry.name == cls.qualname and entry.module == cls.module for entry in self.registry.entries.values()
        )

    def subclasses(self, cls: Class) -> tuple[Class, ...]:
        """The classes of the tree that derive from ``cls``."""
        known = self._subclasses.get(cls)
        if known is None:
            found = [
                other
                for module in self.program.texts.modules_with(cls.name)
                for other in classes_of(self.program, module)
                if other is not cls and cls in other.mro
            ]
            known = self._subclasses[cls] = tuple(found)
        return known

    def abstract(self, cls: Class) -> bool:
        """Whether objects are made of its subclasses only: no code of the tree seems to make one of it."""
        if self.registered(cls) or not self.subclasses(cls):
            return False
        made = rf"(?<![\w.])(?<!class )(?:\w+\.)*{re.escape(cls.name)}\(".encode()
        return not self.program.texts.matching(made, cls.name)

    def readers(self, name: str) -> tuple[Class, ...]:
        """The classes of the tree one of whose own methods reads ``self.name``."""
        if name not in self._readers:
            found: list[Class] = []
            for module in self.program.texts.matching(rf"\bself\.{re.escape(name)}\b".encode(), name):
                for cls in self.classes_in(module):
                    if self._reads_itself(cls, name):
                        found.append(cls)
            self._readers[name] = tuple(found)
        return self._readers[name]

    def _reads_itself(self, cls: Class, name: str) -> bool:
        for member in cls.methods().values():
            if not isinstance(member.facts, FunctionFacts):
                continue
            method = self.inference.objects.method(cls, member.facts)
            if method is not None and any(
                isinstance(place.node, ast.Attribute)
                and place.node.attr == name
                and isinstance(place.node.value, ast.Name)
                and place.node.value.id == body.self_name
                for body in method.body.all()
                for place in body.reads
            ):
                return True
        return False

    def callers(self, name: str) -> tuple[Caller, ...]:
        """The calls of the tree to methods of this name, on any object but their own."""
        from preflight.checks.classes.overrides import callers_of

        if name not in self._callers:
            self._callers[name] = tuple(callers_of(self.program, name))
        return self._callers[name]

    # -- faults -------------------------------------------------------------------------------------------------------

    def severity(self, certain: bool, *paths: str | None) -> Severity | None:
        """How grave a fault is that needs these files: what a release has itself does not stop a launch that worked
        before, and what only some launches reach is a warning. None: as grave as the rule says."""
        if not self.patched(*paths):
            return Severity.INFO
        return None if certain else Severity.WARNING

    def fault(
        self,
        check: str,
        span: Span,
        message: str,
        *,
        help: str | None = None,
        why: str | None = None,
        severity: Severity | None = None,
        trail: Iterable[Step] = (),
        values: Iterable[Value] = (),
    ) -> Fault:
        """A fault with the lines around its place."""
        return Fault(
            check,
            span,
            message,
            why=why,
            help=help,
            values=tuple(values),
            trail=tuple(trail),
            excerpt=self.code.excerpt(span),
            severity=severity,
        )

    def near(self, name: str, candidates: Iterable[str]) -> str:
        """ "did you mean ...?" for a misspelt name, or nothing."""
        found = self.program.near(name, [other for other in candidates if other != name])
        return f"did you mean {' or '.join(f'`{other}`' for other in found)}?" if found else ""


def survey_of(context: Context, paths: Iterable[str] | None = None) -> Survey:
    """Make the view of a run, or of one that checks these files and no others."""
    program = context.load_program()
    inference = Inference(program, Code(program, context.sources))
    reach = reach_of(context, program) if paths is None else reach_from(context, program, paths)
    return Survey(context, program, reach, inference.code, inference, Attributes(inference))


def parts_of(survey: Survey) -> Iterator[Survey]:
    """The same view in parts, each of which looks at some of the modules: the syntax trees of a whole vLLM would fill
    more than a gigabyte, and so what was read of one part is forgotten before the next."""
    modules = survey.reach.modules
    if len(modules) <= PART:
        yield survey
        return
    for start in range(0, len(modules), PART):
        part = copy(survey)
        part.reach = replace(survey.reach, modules=modules[start : start + PART])
        yield part
        survey.inference.forget()
