"""What the engine does with every class of the registry: it takes it for a ``torch.nn.Module``, and calls its methods.

That no interface of the tree says. It is read off the code of the tree that has a module handed to it, and off the
classes beside it in the registry, all of which bear it out.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from preflight.checks.classes.ids import BROKEN, CANNOT_BIND
from preflight.checks.classes.neighbours import ENOUGH, neighbours
from preflight.checks.classes.overrides import Caller
from preflight.checks.classes.signatures import what_is_wrong
from preflight.checks.inference.callees import is_module, shape_of
from preflight.model import Fault, Step
from preflight.program.extract import dotted
from preflight.program.facts import FunctionFacts

if TYPE_CHECKING:
    from preflight.checks.classes.survey import Survey
    from preflight.program import Class, Member, Module, Program, Signature
    from preflight.program.registry import RegistryEntry

#: the argument of a launch that may leave weights unread, or have them read by other code
_LOAD_FORMAT = "load_format"
#: what asks an object of which class it is
_ASKING = frozenset({"isinstance", "issubclass"})


def check_registered(survey: Survey, entry: RegistryEntry, cls: Class) -> Iterator[Fault]:
    """What keeps the engine from using a class of the registry as it uses those beside it."""
    if cls.facts is None or not cls.complete or cls.replaced_by() is not cls:
        return
    yield from _no_module(survey, entry, cls)
    yield from _uncallable(survey, entry, cls)


def _no_module(survey: Survey, entry: RegistryEntry, cls: Class) -> Iterator[Fault]:
    """A class that is no ``torch.nn.Module``, where its neighbours are."""
    if any(map(is_module, cls.mro)) or not _makes_itself(survey, cls):
        return
    bases = [next(filter(is_module, other.mro), None) for other in neighbours(survey, entry, cls)]
    known = [base for base in bases if base is not None]
    if len(known) < ENOUGH or len(known) < len(bases) or cls.is_subclass(known[0]) is not False:
        return
    yield survey.fault(
        BROKEN,
        cls.span,
        f"{cls.name}, to which the registry leads {entry.architecture}, does not derive from {known[0].target}",
        why="the engine makes a model of it and goes through its modules and parameters, which only a Module has",
        help=f"put {known[0].name} among the bases of {cls.name}, as the registered classes beside it have it",
        severity=survey.severity(_is_served(survey, entry), *(base.path for base in cls.mro)),
        trail=[entry_step(entry)],
    )


def _makes_itself(survey: Survey, cls: Class) -> bool:
    """Whether calling the class gives an object of it: a ``__new__`` of the tree may give one of another class."""
    found = cls.lookup("__new__")
    if found is None or (found.owner.opaque and (found.owner.is_builtin or found.owner.known is not None)):
        return True
    method = survey.inference.objects.method(found.owner, found.facts) if _is_function(found) else None
    if method is None or method.body.yields:
        return False
    values = [node.value for node, _ in method.body.returns]
    made = [
        [binding.value for binding in method.body.names.get(value.id, ())] if isinstance(value, ast.Name) else [value]
        for value in values
    ]
    return bool(made) and all(one and all(map(_is_new_object, one)) for one in made)


def _is_function(member: Member) -> bool:
    return isinstance(member.facts, FunctionFacts)


def _is_new_object(node: ast.expr | None) -> bool:
    """``super().__new__(cls)``."""
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "super().__new__"


# -- methods that are called on a module ------------------------------------------------------------------------------


def _uncallable(survey: Survey, entry: RegistryEntry, cls: Class) -> Iterator[Fault]:
    """Methods that take nothing of what the tree passes to a module's, where the neighbours' take all of it."""
    names = dict.fromkeys(
        name for base in cls.mro if survey.patched(base.path) for name in base.methods() if not name.startswith("__")
    )
    for name in names:
        member = cls.lookup(name)
        taken = _taken(survey, cls, member) if member is not None else None
        if member is None or taken is None or not survey.patched(member.span.path):
            continue
        if not _may_take_none(survey, taken, name):
            continue
        callers = survey.program.derived(ModuleCallers).of(name)
        problems = [problem for caller in callers if (problem := taken.bind(caller.shape)) is not None]
        if not problems or len(problems) != len(callers) or _is_put(survey, name):
            continue
        others = [
            other
            for near in neighbours(survey, entry, cls)
            if (found := near.lookup(name)) is not None and (other := _taken(survey, near, found)) is not None
        ]
        if len(others) < ENOUGH or any(other.bind(caller.shape) for other in others for caller in callers):
            continue
        caller = callers[0]
        yield survey.fault(
            CANNOT_BIND,
            member.span,
            f"{member.owner.name}.{name} cannot take what {caller.path}:{caller.line} passes to a model: "
            f"it {what_is_wrong(problems[0])}",
            why=f"the registry leads {entry.architecture} to {cls.name}: a launch of it that comes there dies",
            help="give it the parameters that are passed",
            severity=survey.severity(_is_served(survey, entry) and _loads_as_usual(survey), member.span.path),
            trail=[Step(one.path, one.line, "", f"calls `{one.text}`") for one in callers[:3]] + [entry_step(entry)],
        )


def _taken(survey: Survey, cls: Class, member: Member) -> Signature | None:
    """What a method takes that is called on an object of the class; None if that is not certain, or is said by an
    interface or a base outside of the tree."""
    name = member.name
    if member.kind != "method" or not member.certain or not isinstance(member.facts, FunctionFacts):
        return None
    if member.facts.decorators or name in member.owner.changed or not survey.inference.in_tree(member.owner):
        return None
    if any(base.own(name) is not None and (base.opaque or survey.protocols.is_interface(base)) for base in cls.mro):
        return None
    if survey.inference.objects.plain_setters(cls, name):
        return None
    signature = survey.program.member_signature(member)
    return signature.bound() if signature is not None and signature.exact else None


def _may_take_none(survey: Survey, taken: Signature, name: str) -> bool:
    """Whether there are calls on what their files annotate as a module, and none of them binds. Of most methods that
    is not so, and the files need not be parsed."""
    found = False
    for caller in survey.callers(name):
        receiver = caller.text.rpartition(f".{name}(")[0]
        module = survey.program.module_at(caller.path) if receiver.isidentifier() else None
        if module is None or not survey.program.derived(ModuleCallers).is_outside(module):
            continue
        if _annotated(survey.program.texts.of(module), receiver.encode()):
            if taken.bind(caller.shape) is None:
                return False
            found = True
    return found


def _is_put(survey: Survey, name: str) -> bool:
    """Whether code of the tree puts something else in the place of a method of this name, on whatever object."""
    by_name = rb"setattr\([^()]*[\"']%s[\"']" % name.encode()
    return any(store.receiver for store in survey.attributes.stores(name)) or bool(
        survey.program.texts.matching(by_name, name)
    )


class ModuleCallers:
    """The calls of methods on what is handed to a function as a ``torch.nn.Module``, outside of the models' files."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._of: dict[str, tuple[Caller, ...]] = {}
        entries = program.registry_reader.registry().entries.values()
        self._packages = tuple({f"{entry.module.rpartition('.')[0]}." for entry in entries})

    def is_outside(self, module: Module) -> bool:
        """Whether a module is none of the packages of the registered models."""
        return not f"{module.name}.".startswith(self._packages)

    def of(self, name: str) -> tuple[Caller, ...]:
        """The calls of a method of this name."""
        if name not in self._of:
            self._of[name] = tuple(
                caller
                for module in self._program.texts.matching(rb"\.%s\(" % name.encode(), name)
                if self.is_outside(module) and _may_call(self._program.texts.of(module), name.encode())
                for caller in self._calls(module, name)
            )
        return self._of[name]

    def _calls(self, module: Module, name: str) -> Iterator[Caller]:
        tree = self._program.syntax_tree(module)
        for node in ast.walk(tree) if isinstance(tree, ast.Module) else ():
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                given = self._modules(module, node)
                for call in _within(node) if given else ():
                    func = call.func
                    if isinstance(func, ast.Attribute) and func.attr == name and dotted(func.value) in given:
                        text = f"{ast.unparse(func)}(...)"
                        yield Caller(shape_of(call), module.path or module.name, call.lineno, text)

    def _modules(self, module: Module, node: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
        """The parameters that are annotated as a module, and of which the function neither asks what they are nor
        makes something else."""
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        found = {one.arg for one in arguments if one.annotation is not None and self._is_module(module, one.annotation)}
        for inner in ast.walk(node) if found else ():
            if isinstance(inner, ast.Name) and not isinstance(inner.ctx, ast.Load):
                found.discard(inner.id)
            elif isinstance(inner, ast.Call) and inner.args and dotted(inner.func) in _ASKING:
                found.discard(dotted(inner.args[0]) or "")
        return found

    def _is_module(self, module: Module, annotation: ast.expr) -> bool:
        name = dotted(annotation)
        if name is None or not name.endswith("Module"):
            return False
        found = [self._program.class_of(one) for one in self._program.resolve_in(module, name).definitions]
        return bool(found) and all(cls is not None and is_module(cls) for cls in found)


def _may_call(text: bytes, name: bytes) -> bool:
    """Whether a name of which a method is called is annotated as a module somewhere in the file: most are not, and
    need not be parsed."""
    receivers = set(re.findall(rb"\b(\w+)\.%s\(" % name, text))
    return any(_annotated(text, receiver) for receiver in receivers)


def _annotated(text: bytes, receiver: bytes) -> bool:
    return re.search(rb"\b%s\s*:\s*[\"']?[\w.]*Module\b" % receiver, text) is not None


def _within(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.Call]:
    """The calls of a function, those of the functions inside of it left out: they have parameters of their own."""
    waiting: list[ast.AST] = list(node.body)
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, ast.Call):
            yield inner
        if not isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            waiting += ast.iter_child_nodes(inner)


# -- the launch -------------------------------------------------------------------------------------------------------


def _is_served(survey: Survey, entry: RegistryEntry) -> bool:
    """Whether the launch, if one is given and its model known, makes a model of this architecture."""
    followed = survey.context.follow()
    walk = getattr(followed, "walk", None)
    served = [one.architecture for one in (walk.target, walk.drafter) if one is not None] if walk is not None else []
    return not served or None in served or entry.architecture in served


def _loads_as_usual(survey: Survey) -> bool:
    """Whether a launch reads the weights as it does by itself."""
    launch = survey.context.launch
    return launch is None or launch.value(_LOAD_FORMAT) == launch.parsed.defaults.get(_LOAD_FORMAT)


def entry_step(entry: RegistryEntry) -> Step:
    """The line of the registry that leads to a class."""
    return Step(entry.span.path, entry.span.line or 1, entry.architecture, "the entry of the registry")
