"""The program: every module, name and class of a tree, found when asked for."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from preflight.program.cache import FactsCache
from preflight.program.class_maker import ClassMaker
from preflight.program.classes import Class, Member
from preflight.program.conditions import Platform, Truth, parse_expression
from preflight.program.definitions import Definition, Kind, Missing, Resolution
from preflight.program.facts import Expression, FunctionFacts, Hole
from preflight.program.finder import Finder
from preflight.program.importing import Importing
from preflight.program.known import TRANSPARENT_DECORATORS
from preflight.program.modules import Loader, Module
from preflight.program.requirements import Requirements
from preflight.program.resolver import Resolver
from preflight.program.signatures import Signature
from preflight.program.syntax_nodes import dotted

if TYPE_CHECKING:
    from preflight.program.creation import Creation, LazyModules
    from preflight.program.evaluate.evaluator import Evaluator
    from preflight.program.evaluate.values import Frame
    from preflight.program.lazy_packages import LazyPackages
    from preflight.program.model_info import ModelInfos
    from preflight.program.platforms import Platforms
    from preflight.program.plugin_run import PluginRun
    from preflight.program.registry import RegistryReader
    from preflight.program.texts import Texts
    from preflight.program.version_gates import VersionGates
    from preflight.tree import Tree

T = TypeVar("T")


class Program:
    """The tree as Python. Nothing is read before it is asked for, and nothing is parsed twice.

    ``python`` is (major, minor) of the Python that will run vLLM; None takes the tree's own, or this one's.
    ``accelerator`` is the platform as vLLM names it ("cuda", "rocm", "cpu" ...); None reads it from the tree.
    """

    def __init__(
        self,
        tree: Tree,
        cache: FactsCache | None = None,
        python: tuple[int, int] | None = None,
        accelerator: str | None = None,
    ) -> None:
        self.tree = tree
        self.platform = Platform(python=python or _python_of(tree))
        self.finder = Finder(tree, self.platform.python)
        self.loader = Loader(tree, cache if cache is not None else FactsCache(None))
        self.resolver = Resolver(self, self.platform)
        self.classes = ClassMaker(self)
        self.object_class = self.classes.opaque("builtins", "object")
        self.importing = Importing(self)
        self.requirements = Requirements(self)
        self._accelerator = accelerator
        self.environment: Mapping[str, str] = {}  # variables of the launch, for code beside the tree that asks for them
        self._modules: dict[str, Module] = {}
        self._derived: dict[Callable[[Program], Any], Any] = {}

    # What runs code of the tree is loaded when it is asked for: a check of two files seldom needs it.

    @cached_property
    def evaluator(self) -> Evaluator:
        from preflight.program.evaluate.evaluator import Evaluator

        return Evaluator(self)

    @cached_property
    def texts(self) -> Texts:
        from preflight.program.texts import Texts

        return Texts(self)

    @cached_property
    def creation(self) -> Creation:
        from preflight.program.creation import Creation

        return Creation(self)

    @cached_property
    def lazy(self) -> LazyModules:
        from preflight.program.creation import LazyModules

        return LazyModules(self)

    @cached_property
    def gates(self) -> VersionGates:
        from preflight.program.version_gates import VersionGates

        return VersionGates(self, self.environment)

    @cached_property
    def plugin_run(self) -> PluginRun | None:
        """What every launch runs of the plug-ins; None if nothing says how they are entered."""
        from preflight.program.plugin_run import start_of_plugins

        return start_of_plugins(self)

    @cached_property
    def registry_reader(self) -> RegistryReader:
        from preflight.program.registry import RegistryReader

        return RegistryReader(self)

    @cached_property
    def model_infos(self) -> ModelInfos:
        from preflight.program.model_info import ModelInfos

        return ModelInfos(self)

    @cached_property
    def lazy_packages(self) -> LazyPackages:
        from preflight.program.lazy_packages import LazyPackages

        return LazyPackages(self)

    @cached_property
    def platforms(self) -> Platforms:
        from preflight.program.platforms import Platforms, accelerator_of

        return Platforms(self, self._accelerator or accelerator_of(self.tree))

    def beside(self, tree: Tree) -> Program:
        """The program of another tree, such as this one without its patches: same Python, same platform, same cache."""
        return Program(tree, self.loader.cache, self.platform.python, self._accelerator)

    def derived(self, make: Callable[[Program], T]) -> T:
        """What a room above makes of this program, made once. It lives as long as the program does: a table beside the
        program, even a weak one, would keep both alive, since what is derived from a program leads back to it.
        """
        if make not in self._derived:
            self._derived[make] = make(self)
        return self._derived[make]

    # -- modules ------------------------------------------------------------------------------------------------------

    def module(self, name: str) -> Module:
        """The module of this import path; ``module.spec.kind`` says whether there is one."""
        found = self._modules.get(name)
        if found is None:
            found = self._modules[name] = Module(self.finder.find(name), self.loader)
        return found

    def module_at(self, path: str) -> Module | None:
        """The module of a tree-relative file; None if no import path leads to that file."""
        name = self.finder.name_of(path)
        if name is None:
            return None
        module = self.module(name)
        return module if module.path == path else None

    def tree_modules(self) -> Iterator[Module]:
        """Every module of the tree that has source, by path. Asking each for its facts reads the whole tree."""
        for name in self.finder.tree_modules():
            module = self.module(name)
            if module.has_source and module.spec.in_tree:
                yield module

    def syntax_tree(self, module: Module) -> ast.Module | Hole:
        """The syntax tree of a module; only a bounded number is kept."""
        return self.loader.tree(module.spec)

    def function_node(self, module: Module, facts: FunctionFacts) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        """The syntax tree of a function of a module; None if its source cannot be read."""
        return self.loader.function(module.spec, facts)

    def importable(self, name: str) -> Truth:
        """Whether importing the module succeeds, looking a few modules deep; ``importing`` looks all the way."""
        return self.importing.shallow(name)

    # -- names --------------------------------------------------------------------------------------------------------

    def resolve(self, module: str, name: str) -> Resolution:
        """``from module import name``: what it binds."""
        return self.resolver.attribute(module, name)

    def resolve_in(self, module: Module, text: str) -> Resolution:
        """A name or dotted name as code of ``module`` sees it once the module has run."""
        return self.resolver.dotted(module, text)

    def names_of(self, module: str) -> tuple[str, ...]:
        """All names that a module binds, its submodules included: what a near name is looked for in."""
        found = self.module(module)
        namespace = self.resolver.namespace(found)
        names = list(namespace.names) if namespace is not None else []
        names.extend(sorted(self.finder.submodules(module)))
        listed = self.resolver.dunder_all(found) if found.has_source else None
        return tuple(dict.fromkeys([*names, *(listed[0] if listed else ())]))

    def near(self, name: str, candidates: Iterable[str], count: int = 3) -> list[str]:
        """The candidates that a misspelt name may have meant, the nearest first; capital letters count for nothing."""
        import difflib

        spelt: dict[str, list[str]] = {}
        for candidate in candidates:
            spelt.setdefault(candidate.lower(), []).append(candidate)
        found = difflib.get_close_matches(name.lower(), list(spelt), count, 0.75)
        return [candidate for text in found for candidate in spelt[text]][:count]

    def symbols(self, name: str) -> list[Definition]:
        """Where the tree defines ``name`` at a module's top level, by class, function or assignment.

        Files are searched as text first, so that only those which hold the name are read as Python.
        """
        found: list[Definition] = []
        for module in self.texts.modules_with(name):
            bound = self.resolver.bound(module, name)
            for definition in bound.definitions if bound is not None else ():
                if definition.module == module.name and definition.kind is not Kind.MODULE:
                    found.append(definition)
        return found

    def lazy_attribute(self, module: Module, name: str) -> Resolution | None:
        """What the module's own ``__getattr__`` gives for ``name``; None if it has none."""
        bound = self.resolver.bound(module, "__getattr__")
        if bound is None:
            return None
        only = bound.only
        if only is None or not isinstance(only.facts, FunctionFacts):
            return Resolution(unknown=f"{module.name} makes names in its __getattr__")
        return self.lazy.attribute(module, only.facts, name)

    # -- classes ------------------------------------------------------------------------------------------------------

    def class_of(self, definition: Definition) -> Class | None:
        """The class that a definition defines; None for what is no class."""
        return self.classes.of(definition)

    def find_class(self, module: str, name: str) -> Class | Resolution:
        """The class that ``from module import name`` gives, or the resolution that says why there is not just one."""
        found = self.resolve(module, name)
        only = found.only
        cls = self.classes.of(only) if only is not None else None
        return cls if cls is not None else found

    def name_in_class(self, module: Module, cls: Class, name: str) -> Resolution:
        """A name as the statement of ``cls`` sees it when it runs: the classes around it first, then the module."""
        line = cls.facts.first_line if cls.facts is not None else None
        outer = cls.qualname.rpartition(".")[0]
        if outer and "<locals>" not in outer:
            head = name.partition(".")[0]
            found = self.resolver.dotted(module, f"{outer}.{head}")
            if found.definitions:
                return self.resolver.dotted(module, f"{outer}.{name}")
        return self.resolver.dotted(module, name, line)

    def class_member(self, owner: Definition, name: str) -> Resolution:
        """``Class.name`` where it is defined by the class's own body; unknown otherwise."""
        cls = self.classes.of(owner)
        if cls is None:
            return Resolution(unknown=f"what {owner.target} is, is not known")
        member = cls.lookup(name)
        if member is None:
            if name in cls.metaclass_attributes or cls.has(name) is True:
                return Resolution((Definition(Kind.OPAQUE, owner.module, f"{owner.name}.{name}"),))
            if cls.has(name) is False:
                return Resolution(missing=Missing(owner.module, f"{owner.name}.{name}", f"{owner.target} lacks it"))
            return Resolution(unknown=f"{owner.target} is not known in full")
        module = self.module(member.owner.module)
        binding = member.facts
        if binding is None:
            return Resolution((Definition(Kind.OPAQUE, member.owner.module, f"{member.owner.qualname}.{name}"),))
        return self.resolver.binding(module, binding)

    def decorator_targets(self, cls: Class) -> list[Definition]:
        """What the decorators of a class are, as far as they are names or calls of names."""
        facts = cls.facts
        if facts is None:
            return []
        module = self.module(cls.module)
        return [found for decorator in facts.decorators for found in self.decorator(module, decorator)]

    def decorator(self, module: Module, decorator: Expression) -> tuple[Definition, ...]:
        """The definitions that a decorator may be; empty if it is no name or call of a name."""
        node = parse_expression(decorator.text)
        if isinstance(node, ast.Call):
            node = node.func
        name = dotted(node) if node is not None else None
        return self.resolver.dotted(module, name, decorator.line).definitions if name is not None else ()

    def is_transparent(self, definition: Definition) -> bool:
        """Whether a decorator leaves names and signatures as they are."""
        return definition.target in TRANSPARENT_DECORATORS

    def decorate(self, cls: Class) -> object:
        """Let the decorators of a class run on it; what its name stands for behind them."""
        return self.creation.decorate(cls)

    def evaluate(self, module: Module, expression: Expression, frame: Frame | None = None) -> object:
        """The value of a piece of source at a module's level; an ``Unknown`` with the reason where it is not known."""
        from preflight.program.evaluate.values import Raised, Unknown

        try:
            return self.evaluator.ask(lambda: self.evaluator.expression(module, expression, frame))
        except Raised as raised:
            return Unknown(f"it raises {raised}")

    # -- signatures ---------------------------------------------------------------------------------------------------

    def signature(self, module: Module, function: FunctionFacts, owner: Class | None = None) -> Signature:
        """The signature of a function as its callers see it, ``self`` included.

        Decorators of the tree are run; behind one that cannot be followed the signature is not exact.
        """
        from preflight.program.evaluate.values import Function, Raised, Unknown

        decorators = [d for d in function.decorators if d.text not in ("staticmethod", "classmethod", "property")]
        if not decorators:
            return Signature(function.parameters)
        closure = owner.closure if owner is not None else None
        try:
            value = self.evaluator.ask(lambda: self.evaluator.function(module, function, owner, closure))
        except Raised as raised:
            return Signature(function.parameters, False, f"its decorators raise {raised}")
        if isinstance(value, Function) and not value.opaque:
            return Signature(value.parameters)
        reason = value.reason if isinstance(value, Unknown) else "it gives something else than a function"
        return Signature(function.parameters, False, f"what its decorator {decorators[0].text} does: {reason}")

    def member_signature(self, member: Member) -> Signature | None:
        """The signature of a method, ``self`` or ``cls`` included; None for what is no function."""
        from preflight.program.evaluate.values import Function

        if member.signature is not None:
            return member.signature
        changed = member.owner.changed.get(member.name)
        if isinstance(changed, Function):
            return Signature(changed.parameters)
        if isinstance(member.facts, FunctionFacts) and member.kind != "property":
            return self.signature(self.module(member.owner.module), member.facts, member.owner)
        return None

    def constructor(self, cls: Class) -> Signature | None:
        """What a call of the class takes, without ``self``; None where that is not known."""
        if cls.is_enum or not cls.complete:
            return None
        fields = cls.named_tuple_fields()
        if fields is not None:
            return fields.signature()
        new = cls.lookup("__new__")
        init = cls.lookup("__init__")
        if new is not None and (init is None or new.owner.module != "builtins"):
            made = self.member_signature(new)
            if made is None or not (made.takes_any_keyword and made.takes_any_positional):
                return None
        if init is None:
            return None if cls.mro[-2:-1] and cls.mro[-2].module == "builtins" else Signature(())
        signature = self.member_signature(init)
        return signature.bound() if signature is not None else None


def _python_of(tree: Tree) -> tuple[int, int]:
    """The Python that will run the tree: the one its environment has, else this one, if vLLM's metadata allows it."""
    import re
    import sys

    found = re.match(r"(\d+)\.(\d+)", tree.facts.python or "")
    if found is not None:
        return int(found[1]), int(found[2])
    version = sys.version_info[:2]
    for operator, major, minor in re.findall(r"(>=|<=|<)\s*(\d+)\.(\d+)", tree.python_range or ""):
        bound = (int(major), int(minor) - (operator == "<"))
        version = max(version, bound) if operator == ">=" else min(version, bound)
    return version
